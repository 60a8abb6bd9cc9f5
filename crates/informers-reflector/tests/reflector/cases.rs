//! Field reports, at the level of the reflector.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::{ErrorKind, Scope};
use informers_reflector::{FirstList, Phase};

use crate::server::*;
use crate::sink::MapSink;
use crate::{Run, pass, settle};

#[tokio::test(start_paused = true)]
async fn a03_too_old_inside_a_stream_leads_to_one_list() {
    let run = Run::paged([
        list(100, [("a", 100)]),
        watch([fails(ErrorKind::Expired)]),
        list(200, [("b", 150)]),
        watch([Frame::Hole]),
    ]);
    run.until(4).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 100", "list 100", "watch 200"]);
    assert_eq!(run.sink.contents(), ["b@150"]);
    assert!(run.server.gaps()[1] >= 0.8, "fewer than two requests a second");
    assert!(run.told().is_empty(), "what heals by itself is not told");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a03_a_list_that_is_too_old_as_well_names_no_version() {
    let run = Run::paged([
        list(100, [("a", 100)]),
        watch([fails(ErrorKind::Gone)]),
        refuse(ErrorKind::Expired),
        list(200, [("b", 150)]),
        watch([Frame::Hole]),
    ]);
    run.until(5).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 100", "list 100", "list ", "watch 200"]);
    assert_eq!(run.sink.contents(), ["b@150"]);
    assert!(run.told().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a03_the_same_with_streaming_lists() {
    let run = Run::streaming([
        stream([added("a", 100), mark(100), fails(ErrorKind::Expired)]),
        stream([added("b", 150), mark(200), Frame::Hole]),
    ]);
    run.until(2).await;
    assert_eq!(run.server.asked(), ["stream ", "stream 100"]);
    assert_eq!(run.sink.log(), ["=100 [a@100]", "=200 [b@150]"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a04_a_server_that_is_behind_is_asked_without_a_version() {
    let run = Run::paged([
        list(900, [("a", 900)]),
        watch([fails(ErrorKind::ConnectionLost)]),
        refuse(ErrorKind::TooLargeResourceVersion),
        refuse(ErrorKind::TooLargeResourceVersion),
        list(500, [("a", 400)]),
        watch([Frame::Hole]),
    ]);
    run.until(6).await;
    let asked = run.server.asked();
    assert_eq!(asked[2..], ["watch 900", "list 900", "list ", "watch 500"]);
    assert_eq!(run.sink.contents(), ["a@400"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a05_a_later_list_is_never_older_than_what_was_seen() {
    // The second replica would show `p`, which is deleted; it even answers with the past when told not to.
    let run = Run::paged([
        list(300, [("q", 280)]),
        watch([fails(ErrorKind::Expired)]),
        list(250, [("p", 200), ("q", 240)]),
        list(310, [("q", 280)]),
        watch([Frame::Hole]),
    ]);
    run.until(5).await;
    assert_eq!(
        run.server.asked(),
        ["list 0 limit=500", "watch 300", "list 300", "list  limit=500", "watch 310"]
    );
    assert_eq!(run.sink.log(), ["=300 [q@280]", "=310 [q@280]"], "p never came back");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a05_the_first_list_can_be_the_most_recent_state() {
    let run = Run::with([list(300, []), watch([Frame::Hole])], |builder| {
        builder.streaming_list(false).first_list(FirstList::MostRecent)
    });
    run.until(2).await;
    assert_eq!(run.server.asked(), ["list  limit=500", "watch 300"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a06_a_quiet_watch_goes_on_from_its_last_bookmark() {
    let run = Run::paged([
        list(100, [("a", 5)]),
        watch([bookmark(200), Frame::Sleep(5000), bookmark(300)]),
        watch([Frame::Hole]),
    ]);
    run.until(3).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 100", "watch 300"]);
    assert_eq!(run.sink.log(), ["=100 [a@5]", "bookmark 200", "bookmark 300"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a07_a_watch_that_went_silent_is_given_up_after_its_time() {
    let run = Run::paged([
        list(10, [("a", 10)]),
        watch([modified("a", 11), Frame::Hole]),
        watch([modified("a", 12), Frame::Hole]),
    ]);
    run.until(3).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 10", "watch 11"]);
    let timeout = run.server.timeouts.lock().unwrap()[0].as_secs_f64();
    let silent = run.server.gaps()[1];
    assert!((timeout..timeout + 31.0).contains(&silent), "{silent} of {timeout}");
    assert_eq!(run.sink.contents(), ["a@12"]);
    assert!(run.told().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a07_an_answer_that_never_comes_is_given_up() {
    let run = Run::paged([
        Answer::Hang,
        list(10, [("a", 10)]),
        Answer::Hang,
        watch([modified("a", 11), Frame::Hole]),
    ]);
    run.until(4).await;
    let asked = run.server.asked();
    assert_eq!(asked, ["list 0 limit=500", "list 0 limit=500", "watch 10", "watch 10"]);
    assert_eq!(run.sink.contents(), ["a@11"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a08_every_failure_is_followed_by_another_attempt() {
    let lost = || fails(ErrorKind::ConnectionLost);
    let failures: [(&str, Answer); 8] = [
        ("refused", refuse(ErrorKind::ConnectionRefused)),
        ("reset", refuse(ErrorKind::ConnectionLost)),
        ("500", refuse(ErrorKind::Internal)),
        ("503", refuse(ErrorKind::Unavailable)),
        ("504", refuse(ErrorKind::Timeout)),
        ("odd", refuse(ErrorKind::UnexpectedAnswer)),
        ("closed at once", watch([])),
        ("lost at once", watch([lost()])),
    ];
    for (name, failure) in &failures {
        for healthy in [false, true] {
            let mut answers = Vec::new();
            if !healthy && matches!(failure, Answer::Refuse(_)) {
                answers.extend(vec![failure.clone(); 3]);
            }
            answers.push(list(10, [("a", 10)]));
            if healthy {
                let hour = (0..12).flat_map(|n| [Frame::Sleep(300_000), modified("a", 11 + n)]);
                answers.push(watch(hour));
            }
            let good = answers.len();
            // A refused watch may be followed by a list, which works.
            let relists =
                matches!(failure, Answer::Refuse(error) if error.kind() == ErrorKind::UnexpectedAnswer);
            for _ in 0..3 {
                answers.push(failure.clone());
                if relists {
                    answers.push(list(22, [("a", 22)]));
                }
            }
            answers.push(watch([modified("a", 23), Frame::Hole]));
            let requests = answers.len();
            let run = Run::paged(answers);
            let mut status = run.status.clone();
            let waited = tokio::spawn(async move {
                let mut pauses = Vec::new();
                loop {
                    let status = status.changed().await;
                    match status.phase {
                        Phase::Waiting { until, .. } if pauses.last() != Some(&until) => pauses.push(until),
                        Phase::Stopped => return pauses.len(),
                        _ => {}
                    }
                }
            });
            run.until(requests).await;
            assert_eq!(run.sink.contents(), ["a@23"], "{name}, healthy: {healthy}");
            assert!(run.status().phase.is_watching());
            let gaps: Vec<_> = run.server.gaps()[good..].to_vec();
            let pauses: Vec<_> = gaps.iter().copied().filter(|gap| *gap > 0.0).collect();
            assert!(
                pauses.len() >= 3 && pauses.last() > pauses.first(),
                "{name}, healthy: {healthy}: {gaps:?}"
            );
            run.stop().await;
            assert!(waited.await.unwrap() >= 3, "{name}: each pause shows in the status");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a08_a_lost_watch_is_not_called_watching_while_the_next_does_not_open() {
    let run = Run::paged([
        list(10, [("a", 10)]),
        watch([modified("a", 11), Frame::Sleep(5000), fails(ErrorKind::ConnectionLost)]),
        Answer::Hang,
        watch([modified("a", 12), Frame::Hole]),
    ]);
    run.until(2).await;
    assert!(run.status().phase.is_watching());
    run.until(3).await;
    let phase = run.status().phase;
    assert_eq!(phase.reason().map(informers_core::Error::kind), Some(ErrorKind::ConnectionLost), "{phase:?}");
    run.until(4).await;
    assert!(run.status().phase.is_watching());
    assert_eq!(run.told().len(), 1, "of the watch that did not open, not of the one that was lost");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a08_the_same_for_streaming_lists() {
    for (kind, instead) in [
        (ErrorKind::ConnectionRefused, false),
        (ErrorKind::TooManyRequests, false),
        (ErrorKind::Unauthorized, false),
        (ErrorKind::Unavailable, true),
        (ErrorKind::Internal, true),
    ] {
        // Where a list may work although the stream does not, it is tried at once, each time.
        let failure = if instead { 2 } else { 1 };
        let mut answers = vec![refuse(kind); 3 * failure];
        answers.push(stream([added("a", 1), mark(5), Frame::Hole]));
        let requests = answers.len();
        let run = Run::streaming(answers);
        run.until(requests).await;
        let asked = run.server.asked();
        assert_eq!(asked.iter().filter(|asked| *asked == "stream ").count(), 4, "{kind:?}: {asked:?}");
        let pauses: Vec<_> = run.server.gaps().into_iter().filter(|gap| *gap > 0.0).collect();
        assert!(pauses.len() == 3 && pauses[2] > pauses[0], "{kind:?}: {pauses:?}");
        assert_eq!(run.sink.contents(), ["a@1"]);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a08_a_sink_that_does_not_take_a_list_is_offered_the_next_one() {
    let sink = MapSink::new();
    sink.lock().refuse_commits = 2;
    let answers = [list(10, [("a", 1)]), list(11, [("a", 1)]), list(12, [("a", 1)]), watch([Frame::Hole])];
    let run = Run::over(Server::new(answers), sink, |builder| builder.streaming_list(false));
    run.until(4).await;
    assert_eq!(run.server.asked()[2..], ["list 0 limit=500", "watch 12"]);
    assert_eq!(run.sink.log(), ["=12 [a@1]"]);
    assert_eq!((run.told().len(), run.status().refused), (2, 2));
    assert_eq!(run.told()[0].to_string(), "cannot put the list of things in place");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a09_a_list_is_put_in_place_once_after_its_last_page() {
    let names: Vec<_> = (0..1203).map(|n| format!("o{n:04}")).collect();
    let items = |range: std::ops::Range<usize>| names[range].iter().map(|name| (name.as_str(), 5));
    let run = Run::paged([
        page(70, items(0..500), "t1"),
        page(71, items(500..500), "t2"),
        page(72, items(500..700), "t3"),
        list(73, items(700..1203)),
        watch([Frame::Hole]),
    ]);
    run.until(5).await;
    let asked = run.server.asked();
    assert_eq!(
        asked[1..4],
        ["list continue=t1 limit=500", "list continue=t2 limit=500", "list continue=t3 limit=500"]
    );
    assert_eq!(asked[4], "watch 70", "the first page's version");
    assert_eq!((run.sink.contents().len(), run.sink.log().len()), (1203, 1));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_list_that_is_cut_short_is_not_shown() {
    let lost = error(ErrorKind::ConnectionLost);
    let run = Run::paged([cut_list([("a", 1), ("b", 2)], lost), list(10, [("c", 3)]), watch([Frame::Hole])]);
    run.until(3).await;
    assert_eq!(run.sink.log(), ["=10 [c@3]"]);
    assert!(run.server.gaps()[0] >= 0.8);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a09_nothing_is_ready_before_the_last_page() {
    let run = Run::paged([page(70, [("a", 1)], "t1"), page(70, [("b", 2)], "t2"), Answer::Hang]);
    run.until(3).await;
    assert!(!run.status().synced && run.sink.log().is_empty());
    assert!(run.status().phase.is_listing());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a09_an_expired_token_drops_the_pages_before_it() {
    let run = Run::paged([
        page(70, [("a", 1), ("b", 2)], "t1"),
        refuse(ErrorKind::Expired),
        list(80, [("b", 2), ("c", 3)]),
        watch([Frame::Hole]),
    ]);
    run.until(4).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "list continue=t1 limit=500", "list 0", "watch 80"]);
    assert_eq!(run.sink.log(), ["=80 [b@2 c@3]"]);
    assert!(run.told().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a10_a_streaming_list_without_an_end_is_given_up_and_remembered() {
    let events = || [added("a", 1), added("b", 2), added("c", 3)];
    let chatter = || (0..100).flat_map(|n| [Frame::Sleep(1000), bookmark(10 + n)]);
    let end_every_two_seconds = || stream(events().into_iter().chain([Frame::Sleep(2000)]));
    for (name, streams, bound) in [
        ("hole", vec![stream(events().into_iter().chain([Frame::Hole]))], 11.0),
        ("ends", vec![end_every_two_seconds(), end_every_two_seconds(), end_every_two_seconds()], 7.0),
        ("bookmarks", vec![stream(events().into_iter().chain(chatter()))], 11.0),
        ("silence", vec![stream([Frame::Hole])], 11.0),
        ("no answer", vec![Answer::Hang], 11.0),
    ] {
        let count = streams.len();
        let rest = [
            list(50, [("a", 1), ("b", 2), ("c", 3)]),
            watch([fails(ErrorKind::Expired)]),
            list(60, [("a", 1)]),
            watch([Frame::Hole]),
        ];
        let run = Run::streaming(streams.into_iter().chain(rest));
        run.until(count + 4).await;
        assert!(run.server.requests()[count].at.as_secs_f64() <= bound, "{name}");
        let asked = run.server.asked();
        assert_eq!(asked[count..], ["list 0 limit=500", "watch 50", "list 50", "watch 60"], "{name}");
        assert_eq!(run.sink.log(), ["=50 [a@1 b@2 c@3]", "=60 [a@1]"], "{name}: nothing was half applied");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a10_objects_extend_patience_up_to_a_cap() {
    let slow = (0..400).flat_map(|n| [Frame::Sleep(4000), added(if n % 2 == 0 { "a" } else { "b" }, n + 1)]);
    let run = Run::streaming([stream(slow), list(50, []), watch([Frame::Hole])]);
    run.until(3).await;
    let given_up = run.server.requests()[1].at.as_secs_f64();
    assert!((119.0..=121.0).contains(&given_up), "{given_up}");
    run.stop().await;

    let enough = (0..10).flat_map(|n| [Frame::Sleep(4000), added("a", n + 1)]).chain([mark(10), Frame::Hole]);
    let run = Run::streaming([stream(enough)]);
    let mut status = run.status.clone();
    assert!(status.wait_for(|status| status.synced).await.synced);
    assert_eq!((run.sink.contents(), run.server.asked().len()), (vec!["a@10".to_owned()], 1));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a10_a_refused_streaming_list_is_asked_for_once() {
    for kind in [ErrorKind::Invalid, ErrorKind::BadRequest, ErrorKind::Forbidden, ErrorKind::Other] {
        let run = Run::streaming([
            refuse(kind),
            list(50, []),
            watch([fails(ErrorKind::Expired)]),
            list(60, []),
            watch([Frame::Hole]),
        ]);
        run.until(5).await;
        let asked = run.server.asked();
        assert_eq!(asked, ["stream ", "list 0 limit=500", "watch 50", "list 50", "watch 60"], "{kind:?}");
        assert!(run.told().is_empty(), "{kind:?}");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a11_a_bad_object_costs_that_object_only() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&seen);
    let bad = |kind: fn(informers_core::Item<()>) -> informers_core::Change<()>, name, version| {
        Frame::Events(vec![kind(undecodable(name, version)).into()])
    };
    let answers = [
        list_of(10, [entry("a", 1).into(), undecodable(Some("b"), 2), entry("c", 3).into()]),
        watch([
            modified("a", 11),
            bad(informers_core::Change::modified, Some("c"), 12),
            bad(informers_core::Change::added, None, 13),
            unknown(99),
        ]),
        watch([Frame::Hole]),
    ];
    let run = Run::with(answers, |builder| {
        builder.streaming_list(false).on_undecodable(move |bad| hear.lock().unwrap().push(bad.to_string()))
    });
    run.until(3).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 10", "watch 13"]);
    assert_eq!(run.sink.log(), ["=10 [a@1 c@3]", "~a@11", "~!c@12", "+!?@13"]);
    assert_eq!(seen.lock().unwrap()[0], "cannot decode ns/b (uid uid-b, resource version 2)");
    assert_eq!((seen.lock().unwrap().len(), run.status().undecodable), (3, 3));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_reported_and_the_version_advances() {
    let sink = MapSink::new();
    sink.lock().refused.insert("b");
    let refused = Arc::new(Mutex::new(Vec::new()));
    let hear = Arc::clone(&refused);
    let answers = [list(10, [("a", 1), ("b", 2)]), watch([modified("b", 11)]), watch([Frame::Hole])];
    let run = Run::over(Server::new(answers), sink, |builder| {
        builder
            .streaming_list(false)
            .scope(Scope::namespace("ns"))
            .on_refused(move |error| hear.lock().unwrap().push(error.to_string()))
    });
    run.until(3).await;
    assert_eq!(run.server.asked()[2], "watch 11");
    assert_eq!(*refused.lock().unwrap(), ["ns/b was refused: not wanted", "ns/b was refused: not wanted"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_is_known_is_kept() {
    let run = Run::paged([
        list(10, [("a", 1), ("b", 2)]),
        watch([fails(ErrorKind::Expired)]),
        list(20, [("a", 1), ("b", 12)]),
        watch([added("a", 1), Frame::Hole]),
    ]);
    run.until(2).await;
    let first: Vec<_> = run.sink.lock().objects.values().cloned().collect();
    run.until(4).await;
    settle().await;
    let second: Vec<_> = run.sink.lock().objects.values().cloned().collect();
    assert!(first[0].ptr_eq(&second[0]), "an equal copy was dropped");
    assert!(!first[1].ptr_eq(&second[1]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_closes_at_once_is_paced_and_a_list_checks_the_version_in_the_end() {
    let mut answers = vec![list(10, [])];
    answers.extend(vec![watch([]); 5]);
    answers.extend([list(20, []), watch([Frame::Hole])]);
    let run = Run::paged(answers);
    run.until(8).await;
    let gaps = run.server.gaps();
    assert!(gaps[1] >= 0.8 && gaps[2] >= 1.6 && gaps[3] >= 3.2, "{gaps:?}");
    assert_eq!(run.server.asked()[5..], ["watch 10", "list 10", "watch 20"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn watches_that_bring_something_but_end_at_once_are_paced_and_not_slower_each_time() {
    let mut answers = vec![list(10, [])];
    answers.extend((11..21).map(|version| watch([modified("a", version)])));
    answers.push(watch([Frame::Hole]));
    let run = Run::paged(answers);
    run.until(12).await;
    let gaps = run.server.gaps();
    assert_eq!(gaps[1..3], [0.0, 0.0]);
    assert!(gaps[3..11].iter().all(|gap| (0.8..1.65).contains(gap)), "{gaps:?}");
    assert_eq!(run.server.asked()[11], "watch 20");
    let status = run.status();
    assert!(status.phase.is_watching() && status.failing_since.is_none(), "nothing failed: {status:?}");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn time_outs_of_watches_are_random_between_five_and_ten_minutes() {
    let mut answers = vec![list(10, [])];
    answers.extend((0..40).map(|_| watch([Frame::Sleep(1500)])));
    let run = Run::paged(answers);
    run.until(42).await;
    let timeouts = run.server.timeouts.lock().unwrap().clone();
    let range = Duration::from_secs(300)..=Duration::from_secs(600);
    assert!(timeouts.iter().all(|timeout| range.contains(timeout) && timeout.subsec_nanos() == 0));
    assert!(
        timeouts.iter().max().unwrap().abs_diff(*timeouts.iter().min().unwrap()) > Duration::from_secs(100)
    );
    run.stop().await;
    pass(1).await;
}

//! What client-go's own tests of its reflector assert, written anew. The names are theirs.

use std::time::Duration;

use informers_core::{ErrorKind, Sink};
use informers_reflector::{Backoff, Every, Parity, Reflector};
use tokio_util::sync::CancellationToken;

use crate::server::*;
use crate::sink::MapSink;
use crate::{Run, pass, settle};

fn paged_like_client_go(answers: impl IntoIterator<Item = Answer>) -> Run {
    Run::with(answers, |builder| builder.streaming_list(false).parity(Parity::client_go_0_37()))
}

#[tokio::test(start_paused = true)]
async fn test_close_watch_channel_on_error() {
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let answers = [
            list(1, []),
            watch([added("a", 2), Frame::Sleep(2000), fails(ErrorKind::ConnectionLost)]),
            Answer::Hang,
        ];
        let run = Run::with(answers, |builder| builder.streaming_list(false).parity(parity));
        run.until(2).await;
        assert_eq!(run.server.open_watches(), 1);
        run.until(3).await;
        assert_eq!(run.server.open_watches(), 0, "closed before the next request");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_run_until() {
    let run = paged_like_client_go([list(1, []), watch([added("bar", 2), Frame::Hole])]);
    run.until(2).await;
    settle().await;
    assert_eq!((run.sink.contents(), run.server.open_watches()), (vec!["bar@2".to_owned()], 1));
    let server = run.server.clone();
    run.stop().await;
    assert_eq!(server.open_watches(), 0);
}

#[tokio::test(start_paused = true)]
async fn test_reflector_watch_stopped_before() {
    let server = Server::new([list(1, [])]);
    let cancel = CancellationToken::new();
    cancel.cancel();
    let reflector = Reflector::builder(server.clone(), MapSink::new()).build();
    let status = reflector.status();
    reflector.run(cancel).await;
    assert!(server.requests().is_empty());
    assert!(status.current().phase.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn test_reflector_watch_stopped_after() {
    let run = paged_like_client_go([list(1, []), watch([Frame::Hole])]);
    run.until(2).await;
    let (server, status) = (run.server.clone(), run.status.clone());
    run.stop().await;
    pass(3600).await;
    assert_eq!(server.requests().len(), 2);
    assert!(status.current().phase.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn test_reflector_handle_watch_result_chan_closed_is_a_very_short_watch() {
    let run = paged_like_client_go([list(1, []), watch([]), list(1, []), watch([Frame::Hole])]);
    run.until(4).await;
    assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 1", "list 1", "watch 1"]);
    assert!(run.server.gaps()[1] >= 0.8 && run.told().is_empty());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_reflector_watch_handler() {
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let answers = [
            list(1, [("foo", 1), ("bar", 1)]),
            watch([modified("bar", 55), added("baz", 32), deleted("foo", 64), Frame::Sleep(2000)]),
            watch([Frame::Hole]),
        ];
        let run = Run::with(answers, |builder| builder.streaming_list(false).parity(parity));
        run.until(3).await;
        assert_eq!(run.sink.contents(), ["bar@55", "baz@32"]);
        assert_eq!(run.server.asked()[2], "watch 64");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_reflector_resource_version_update() {
    let run = paged_like_client_go([
        list(5, []),
        watch([
            Frame::Sleep(10),
            added("a", 10),
            Frame::Sleep(10),
            modified("a", 20),
            Frame::Sleep(10),
            bookmark(30),
            Frame::Sleep(10),
            deleted("a", 40),
            Frame::Hole,
        ]),
    ]);
    let mut versions = Vec::new();
    let mut status = run.status.clone();
    while versions.last() != Some(&40) {
        let version = status.changed().await.version.as_number().unwrap_or_default();
        if version > 0 && versions.last() != Some(&version) {
            versions.push(version);
        }
    }
    assert_eq!(versions, [5, 10, 20, 30, 40]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_watch_from_no_version_gives_versions_only_after_its_initial_state() {
    // What a watch shows first is the state in any order, so its versions say nothing.
    let run = paged_like_client_go([
        list(0, []),
        watch([added("a", 9), added("b", 4), Frame::Sleep(2000)]),
        watch([added("a", 9), added("b", 4), modified("b", 12), added("c", 13), Frame::Sleep(2000)]),
        watch([Frame::Hole]),
    ]);
    run.until(4).await;
    assert_eq!(run.server.asked()[1..], ["watch 0", "watch 0", "watch 13"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_reflector_replaces_store_on_unsafe_delete() {
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let unreadable = error(ErrorKind::Internal).with_status(500, "StorageReadError");
        let answers = [
            list(10, [("a", 1), ("b", 2)]),
            watch([Frame::Error(unreadable)]),
            list(20, [("a", 1)]),
            watch([Frame::Hole]),
        ];
        let run = Run::with(answers, |builder| builder.streaming_list(false).parity(parity));
        run.until(4).await;
        assert_eq!(run.sink.log(), ["=10 [a@1 b@2]", "=20 [a@1]"]);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_reflector_watch_list_page_size() {
    for (parity, later) in
        [(Parity::default(), "list 10 limit=4 NotOlderThan"), (Parity::client_go_0_37(), "list 10 limit=4")]
    {
        let answers = [
            list(10, []),
            watch([fails(ErrorKind::Expired)]),
            page(20, [("a", 1)], "t"),
            list(20, [("b", 2)]),
            watch([Frame::Hole]),
        ];
        let run = Run::with(answers, |builder| builder.streaming_list(false).page_size(4).parity(parity));
        run.until(5).await;
        let asked = run.server.asked();
        assert_eq!(asked[..4], ["list 0 limit=4", "watch 10", later, "list continue=t limit=4"]);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_reflector_not_paginating_not_consistent_reads() {
    let run = paged_like_client_go([
        list(10, []),
        watch([fails(ErrorKind::Expired)]),
        list(20, []),
        watch([Frame::Hole]),
    ]);
    run.until(4).await;
    assert_eq!(run.server.asked()[2], "list 10");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_reflector_paginating_non_consistent_reads_if_watch_cache_disabled() {
    let run = paged_like_client_go([
        page(10, [("a", 1)], "t"),
        list(10, []),
        watch([fails(ErrorKind::Expired)]),
        list(20, []),
        watch([Frame::Hole]),
    ]);
    run.until(5).await;
    assert_eq!(run.server.asked()[3], "list 10 limit=500");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_reflector_full_list_if_expired() {
    let run = Run::with(
        [
            list(10, []),
            watch([fails(ErrorKind::Expired)]),
            page(10, [("a", 1)], "t"),
            refuse(ErrorKind::Expired),
            list(10, [("a", 1), ("b", 2)]),
            watch([Frame::Hole]),
        ],
        |builder| builder.streaming_list(false).page_size(4).parity(Parity::client_go_0_37()),
    );
    run.until(6).await;
    assert_eq!(run.server.asked()[2..5], ["list 10 limit=4", "list continue=t limit=4", "list 10"]);
    assert_eq!(run.sink.contents(), ["a@1", "b@2"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_watch_timeout() {
    for (parity, least) in [(Parity::client_go_0_37(), 300), (Parity::default(), 60)] {
        let run = Run::with([list(10, []), watch([Frame::Hole])], |builder| {
            builder.streaming_list(false).min_watch_timeout(Duration::from_secs(60)).parity(parity)
        });
        run.until(2).await;
        let timeout = run.server.timeouts.lock().unwrap()[0].as_secs();
        assert!((least..=2 * least).contains(&timeout));
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_reflector_list_and_watch_init_conn_backoff() {
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let mut answers = vec![list(10, [])];
        answers.extend(vec![refuse(ErrorKind::ConnectionRefused); 7]);
        answers.push(watch([Frame::Hole]));
        let run = Run::with(answers, |builder| {
            builder
                .streaming_list(false)
                .backoff(Backoff {
                    init: Duration::from_millis(10),
                    cap: Duration::from_millis(200),
                    ..Backoff::default()
                })
                .parity(parity)
        });
        run.until(9).await;
        for (gap, base) in run.server.gaps()[1..].iter().zip([0.01, 0.02, 0.04, 0.08, 0.16, 0.2, 0.2]) {
            assert!((base..2.0 * base + 0.002).contains(gap), "{gap} for {base}");
        }
        assert_eq!(run.server.asked()[1..], vec!["watch 10"; 8], "no list");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_no_relist_on_too_many_requests() {
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let mut answers = vec![list(10, [])];
        answers.extend(vec![refuse(ErrorKind::TooManyRequests); 2]);
        answers.extend(vec![watch([fails(ErrorKind::TooManyRequests)]); 2]);
        answers.push(watch([Frame::Hole]));
        let run = Run::with(answers, |builder| builder.streaming_list(false).parity(parity));
        run.until(6).await;
        assert_eq!(run.server.asked()[1..], vec!["watch 10"; 5]);
        let gaps = run.server.gaps();
        assert!(gaps[1] >= 0.8 && gaps[2] >= 1.6 && gaps[3] >= 3.2 && gaps[4] >= 6.4, "{gaps:?}");
        assert!(run.told().is_empty());
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_retry_internal_error() {
    let failing = || watch([Frame::Sleep(1000), fails(ErrorKind::Internal)]);
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let mut answers = vec![list(10, [])];
        answers.extend((0..33).map(|_| failing()));
        let run = Run::with(answers, |builder| {
            builder.streaming_list(false).max_internal_error_retry(Duration::from_secs(30)).parity(parity)
        });
        // The first and 31 retries, one a second; then a pause.
        run.until(33).await;
        assert_eq!(run.server.asked()[1..33], vec!["watch 10"; 32]);
        assert!(run.server.gaps()[1..32].iter().all(|gap| *gap < 1.1));
        pass(1).await;
        assert!(run.status().phase.until().is_some());
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_reflector_resync() {
    // A sink that refuses a resync ends the watch, and a list follows.
    let sink = MapSink::new();
    sink.lock().refuse_resyncs = true;
    let answers = [list(10, []), watch([Frame::Hole]), list(10, []), watch([Frame::Hole])];
    let run = Run::over(Server::new(answers), sink, |builder| {
        builder
            .streaming_list(false)
            .resync(Every::new(Duration::from_secs(5)))
            .parity(Parity::client_go_0_37())
    });
    run.until(4).await;
    assert_eq!(run.server.asked()[2..], ["list 10", "watch 10"]);
    assert_eq!(run.sink.lock().resyncs, [Duration::from_secs(5)]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_new_reflector_with_disablement_watch_list() {
    for (asked, able, streams) in
        [(true, true, true), (true, false, false), (false, true, false), (false, false, false)]
    {
        let mut server = Server::new([Answer::Hang]);
        std::sync::Arc::get_mut(&mut server).unwrap().streaming = able;
        let run = Run::over(server, MapSink::new(), |builder| builder.streaming_list(asked));
        run.until(1).await;
        assert_eq!(run.server.asked()[0].starts_with("stream"), streams);
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn test_watch_list() {
    let hold = || watch([Frame::Hole]);
    /// Name, answers, requests, and what the sink heard.
    type Case = (&'static str, Vec<Answer>, &'static [&'static str], &'static [&'static str]);
    let cases: [Case; 7] = [
        ("no mark, no list", vec![stream([added("a", 1), Frame::Hole])], &["stream "], &[]),
        (
            "any error falls back",
            vec![refuse(ErrorKind::Other), list(1, [("a", 1)]), hold()],
            &["stream ", "list 0 limit=500", "watch 1"],
            &["=1 [a@1]"],
        ),
        (
            "updates and deletes count",
            vec![stream([
                added("a", 1),
                added("b", 2),
                modified("a", 3),
                deleted("b", 4),
                mark(5),
                Frame::Hole,
            ])],
            &["stream "],
            &["=5 [a@3]"],
        ),
        (
            "throttled",
            vec![refuse(ErrorKind::TooManyRequests), stream([added("a", 1), mark(2), Frame::Hole])],
            &["stream ", "stream "],
            &["=2 [a@1]"],
        ),
        (
            "stopped before the mark",
            vec![stream([added("a", 1)]), stream([added("b", 1), mark(2), Frame::Hole])],
            &["stream ", "stream "],
            &["=2 [b@1]"],
        ),
        (
            "stopped after the mark",
            vec![stream([added("a", 1), mark(2), modified("a", 3)]), hold()],
            &["stream ", "watch 3"],
            &["=2 [a@1]", "~a@3"],
        ),
        (
            "a bookmark that is no mark",
            vec![stream([added("a", 1), bookmark(2), added("b", 3), mark(4), Frame::Hole])],
            &["stream "],
            &["=4 [a@1 b@3]"],
        ),
    ];
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        for (name, answers, asked, log) in &cases {
            let run = Run::with(answers.clone(), |builder| builder.parity(parity));
            run.until(asked.len()).await;
            assert_eq!(run.server.asked(), *asked, "{name}");
            assert_eq!(run.sink.log(), *log, "{name}");
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn under_parity_a_streaming_list_is_waited_for_without_limit() {
    let run = Run::like_client_go([stream([added("a", 1), Frame::Sleep(7_200_000), mark(2), Frame::Hole])]);
    let mut status = run.status.clone();
    status.wait_for(|status| status.synced).await;
    assert_eq!((run.server.asked().len(), run.sink.contents()), (1, vec!["a@1".to_owned()]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn under_parity_a_bad_object_fails_the_whole() {
    let run = paged_like_client_go([
        list_of(10, [entry("a", 1).into(), undecodable(Some("b"), 2)]),
        list(10, [("a", 1)]),
        watch([Frame::Events(vec![informers_core::Change::modified(undecodable(Some("a"), 11)).into()])]),
        list(12, [("a", 12)]),
        watch([unknown(13)]),
        list(14, [("a", 12)]),
        watch([Frame::Hole]),
    ]);
    run.until(7).await;
    assert_eq!(
        run.server.asked(),
        ["list 0 limit=500", "list 0 limit=500", "watch 10", "list 10", "watch 12", "list 12", "watch 14"]
    );
    assert_eq!(run.told().len(), 1, "the list, but not what happened inside of watches");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn test_reflector_data_consistency_detector() {
    for (compared, differences) in [(vec![("a", 1), ("b", 2)], 0), (vec![("a", 1), ("b", 3), ("c", 4)], 1)] {
        let answers = [
            stream([added("a", 1), added("b", 2), mark(5), modified("a", 6), Frame::Hole]),
            refuse(ErrorKind::Unavailable),
            list(5, compared),
        ];
        let run = Run::with(answers, |builder| builder.consistency_check(true));
        run.until(3).await;
        assert_eq!(run.server.asked()[1..], vec!["list 5 limit=500 Exact"; 2]);
        assert_eq!(run.told().len(), differences);
        if let Some(told) = run.told().first() {
            assert!(
                told.message().ends_with(
                    "2 objects differ between the streaming list and a list of the same version: ns/b, ns/c"
                ),
                "{told}"
            );
        }
        settle().await;
        assert_eq!(run.sink.contents(), ["a@6", "b@2"], "and the watch goes on");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_sink_of_these_tests_has_no_opinion_of_its_own() {
    // Guards the tests above: what they see as refused is what they made refuse.
    let mut sink = MapSink::new();
    assert!(sink.resync().is_ok() && sink.bookmark(&1.into()).is_ok());
}

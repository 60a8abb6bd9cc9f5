//! 429, and waits that the server asks for.

use std::sync::Arc;
use std::time::Duration;

use informers_core::{Error, ErrorKind};
use informers_reflector::Reflector;
use tokio_util::sync::CancellationToken;

use crate::server::*;
use crate::sink::MapSink;
use crate::{Run, settle};

fn throttled(seconds: Option<u64>) -> Error {
    let error = error(ErrorKind::TooManyRequests);
    seconds.map_or(error.clone(), |seconds| error.with_retry_after(Duration::from_secs(seconds)))
}

#[tokio::test(start_paused = true)]
async fn a16_a_throttled_watch_waits_as_told_and_goes_on_without_a_list() {
    for (told, least, most) in [(Some(3), 3.0, 4.0), (None, 0.8, 1.7), (Some(86_400), 300.0, 391.0)] {
        for in_stream in [false, true] {
            let refusal = match in_stream {
                false => Answer::Refuse(throttled(told)),
                true => watch([Frame::Error(throttled(told))]),
            };
            let run = Run::paged([list(10, [("a", 1)]), refusal, watch([modified("a", 11), Frame::Hole])]);
            run.until(3).await;
            assert_eq!(run.server.asked(), ["list 0 limit=500", "watch 10", "watch 10"]);
            let waited = run.server.gaps()[1];
            assert!((least..most).contains(&waited), "{told:?}: {waited}");
            run.stop().await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a16_a_throttled_page_is_asked_for_again_and_the_pages_before_it_stay() {
    let run = Run::paged([
        page(70, [("a", 1), ("b", 2)], "t1"),
        Answer::Refuse(throttled(Some(3))),
        list(70, [("c", 3)]),
        watch([Frame::Hole]),
    ]);
    run.until(4).await;
    let asked = run.server.asked();
    assert_eq!(asked[1..3], ["list continue=t1 limit=500", "list continue=t1 limit=500"]);
    assert!(run.server.gaps()[1] >= 3.0);
    assert_eq!(run.sink.log(), ["=70 [a@1 b@2 c@3]"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a16_fifty_reflectors_do_not_come_back_together() {
    let mut servers = Vec::new();
    let cancel = CancellationToken::new();
    for seed in 0..50 {
        let server = Server::new([list(10, []), Answer::Refuse(throttled(Some(10))), watch([Frame::Hole])]);
        let builder = Reflector::builder(server.clone(), MapSink::new()).streaming_list(false).seed(seed);
        tokio::spawn(builder.build().run(cancel.clone()));
        servers.push(server);
    }
    let mut waits = Vec::new();
    for server in &servers {
        server.reached(3).await;
        waits.push(server.gaps()[1]);
    }
    waits.sort_by(f64::total_cmp);
    assert!(waits[0] >= 10.0, "no request is earlier than the hint");
    assert!(waits[49] - waits[0] > 2.0, "spread over more than 20 % of the wait: {waits:?}");
    cancel.cancel();
}

#[tokio::test(start_paused = true)]
async fn a16_a_wait_ends_at_once_when_the_reflector_is_stopped() {
    for answers in [
        vec![Answer::Refuse(throttled(Some(300)))],
        vec![list(10, []), Answer::Refuse(throttled(Some(300)))],
        vec![page(10, [("a", 1)], "t"), Answer::Refuse(throttled(Some(300)))],
    ] {
        let requests = answers.len();
        for streaming in [false, true] {
            let run = Run::with(answers.clone(), |builder| builder.streaming_list(streaming));
            if streaming && requests > 1 {
                run.stop().await;
                continue;
            }
            run.until(requests).await;
            let (server, before) = (Arc::clone(&run.server), tokio::time::Instant::now());
            run.stop().await;
            assert_eq!(before.elapsed(), Duration::ZERO);
            settle().await;
            assert_eq!(server.requests().len(), requests);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_another_error_asks_for_is_kept_too() {
    let told = error(ErrorKind::Unavailable).with_retry_after(Duration::from_secs(7));
    let run = Run::paged([Answer::Refuse(told), list(10, []), watch([Frame::Hole])]);
    run.until(3).await;
    assert!((7.0..9.2).contains(&run.server.gaps()[0]));
    run.stop().await;
}

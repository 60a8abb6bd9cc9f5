//! Deviations from client-go, each switched back alone: what happens by default, and what happens then.

use std::time::Duration;

use informers_core::ErrorKind;
use informers_reflector::{Every, Parity, ReflectorBuilder};

use crate::server::*;
use crate::{Run, pass};

/// A run by default, and one with the switch.
fn both(
    switch: fn(&mut Parity) -> &mut bool,
    answers: &[Answer],
    settings: fn(ReflectorBuilder<()>) -> ReflectorBuilder<()>,
) -> [Run; 2] {
    [false, true].map(|on| {
        let mut parity = Parity::default();
        *switch(&mut parity) = on;
        Run::with(answers.to_vec(), |builder| settings(builder.streaming_list(false)).parity(parity))
    })
}

fn plain(builder: ReflectorBuilder<()>) -> ReflectorBuilder<()> {
    builder
}

async fn asked_within(run: Run, seconds: u64) -> Vec<String> {
    pass(seconds).await;
    let asked = run.server.asked();
    run.stop().await;
    asked
}

#[tokio::test(start_paused = true)]
async fn ask_for_streaming_again() {
    let answers =
        [refuse(ErrorKind::Invalid), list(50, []), watch([fails(ErrorKind::Expired)]), Answer::Hang];
    let runs =
        both(|parity| &mut parity.ask_for_streaming_again, &answers, |builder| builder.streaming_list(true));
    for (run, last) in runs.into_iter().zip(["list 50", "stream 50"]) {
        assert_eq!(asked_within(run, 5).await[3], last);
    }
}

#[tokio::test(start_paused = true)]
async fn relist_after_failed_watch() {
    let answers = [list(10, []), watch([fails(ErrorKind::ConnectionLost)]), Answer::Hang];
    let runs = both(|parity| &mut parity.relist_after_failed_watch, &answers, plain);
    for (run, last) in runs.into_iter().zip(["watch 10", "list 10"]) {
        assert_eq!(asked_within(run, 5).await[2], last);
    }
}

#[tokio::test(start_paused = true)]
async fn no_denial_states() {
    let mut answers = vec![refuse(ErrorKind::Forbidden); 4];
    answers.push(Answer::Hang);
    let [ours, theirs] = both(|parity| &mut parity.no_denial_states, &answers, plain);
    assert!(asked_within(ours, 20).await.len() < 4);
    assert_eq!(asked_within(theirs, 20).await.len(), 5);
}

#[tokio::test(start_paused = true)]
async fn no_client_limits() {
    let answers = [Answer::Hang, Answer::Hang];
    let [ours, theirs] = both(|parity| &mut parity.no_client_limits, &answers, plain);
    assert!(asked_within(ours, 3600).await.len() > 1);
    assert_eq!(asked_within(theirs, 3600).await.len(), 1);

    let past = [list(300, []), watch([fails(ErrorKind::Expired)]), list(250, []), Answer::Hang];
    let [ours, theirs] = both(|parity| &mut parity.no_client_limits, &past, plain);
    assert_eq!(asked_within(ours, 5).await[3], "list  limit=500", "not the past");
    assert_eq!(asked_within(theirs, 5).await[3], "watch 250");
}

#[tokio::test(start_paused = true)]
async fn ignore_retry_after() {
    let later = error(ErrorKind::TooManyRequests).with_retry_after(Duration::from_secs(60));
    let answers = [list(10, []), Answer::Refuse(later), Answer::Hang];
    let [ours, theirs] = both(|parity| &mut parity.ignore_retry_after, &answers, plain);
    assert_eq!(asked_within(ours, 30).await.len(), 2);
    assert_eq!(asked_within(theirs, 30).await[2], "watch 10");
}

#[tokio::test(start_paused = true)]
async fn fail_on_bad_objects() {
    let answers = [list_of(10, [entry("a", 1).into(), undecodable(Some("b"), 2)]), Answer::Hang];
    let [ours, theirs] = both(|parity| &mut parity.fail_on_bad_objects, &answers, plain);
    assert_eq!(asked_within(ours, 5).await[1], "watch 10");
    assert_eq!(asked_within(theirs, 5).await[1], "list 0 limit=500");
}

#[tokio::test(start_paused = true)]
async fn fail_on_unknown_events() {
    let answers = [list(10, []), watch([unknown(11), Frame::Hole]), Answer::Hang];
    let [ours, theirs] = both(|parity| &mut parity.fail_on_unknown_events, &answers, plain);
    assert_eq!(asked_within(ours, 5).await.len(), 2);
    assert_eq!(asked_within(theirs, 5).await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn restart_resync() {
    let answers = [
        list(10, []),
        watch([Frame::Sleep(7000), fails(ErrorKind::Expired)]),
        list(20, []),
        watch([Frame::Hole]),
    ];
    let every = |builder: ReflectorBuilder<()>| builder.resync(Every::new(Duration::from_secs(10)));
    let [ours, theirs] = both(|parity| &mut parity.restart_resync, &answers, every);
    pass(12).await;
    assert_eq!((ours.sink.lock().resyncs.len(), theirs.sink.lock().resyncs.len()), (1, 0));
    pass(8).await;
    assert_eq!((ours.sink.lock().resyncs.len(), theirs.sink.lock().resyncs.len()), (2, 1));
    ours.stop().await;
    theirs.stop().await;
}

#[tokio::test(start_paused = true)]
async fn watch_timeout_floor() {
    let answers = [list(10, []), watch([Frame::Hole])];
    let short = |builder: ReflectorBuilder<()>| builder.min_watch_timeout(Duration::from_secs(20));
    for (run, least) in
        both(|parity| &mut parity.watch_timeout_floor, &answers, short).into_iter().zip([20, 300])
    {
        run.until(2).await;
        let timeout = run.server.timeouts.lock().unwrap()[0].as_secs();
        assert!((least..=2 * least).contains(&timeout), "{timeout} s");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn report_like_client_go() {
    let answers = [list(10, []), watch([Frame::Sleep(2000), fails(ErrorKind::Unavailable)]), Answer::Hang];
    for (run, told) in
        both(|parity| &mut parity.report_like_client_go, &answers, plain).into_iter().zip([1, 0])
    {
        run.until(3).await;
        assert_eq!(run.told().len(), told, "of what ended an established watch");
        run.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn list_after_stop() {
    let runs =
        both(|parity| &mut parity.list_after_stop, &[Answer::Hang], |builder| builder.streaming_list(true));
    for (run, asked) in runs.into_iter().zip([1, 2]) {
        run.until(1).await;
        let server = run.server.clone();
        run.stop().await;
        assert_eq!(server.asked().len(), asked, "{:?}", server.asked());
    }
}

//! 403 and 404: states of their own.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_core::ErrorKind;
use informers_reflector::Phase;

use crate::server::*;
use crate::{Run, pass};

fn forbidden(times: usize) -> Vec<Answer> {
    vec![refuse(ErrorKind::Forbidden); times]
}

#[tokio::test(start_paused = true)]
async fn a12_a_watch_that_is_forbidden_from_the_start_is_asked_for_slowly_without_lists() {
    let mut answers = vec![list(10, [("a", 1)])];
    answers.extend(forbidden(5));
    answers.push(watch([modified("a", 11), Frame::Hole]));
    let run = Run::paged(answers);
    run.server.reached(3).await;
    let first_retry = run.server.requests()[2].at;
    pass(300).await;
    let count = run.server.requests().iter().filter(|request| request.at >= first_retry).count();
    assert!(count < 5, "{count} requests in five minutes");
    assert!(matches!(run.status().phase, Phase::Forbidden { .. }));
    assert_eq!(run.told().len(), 1, "one report per change");
    assert_eq!(run.sink.contents(), ["a@1"], "the last contents stay");
    run.until(7).await;
    assert_eq!(run.server.asked()[1..], vec!["watch 10"; 6]);
    let gaps = run.server.gaps();
    assert!(
        (1.0..8.0).contains(&gaps[1]) && (30.0..34.0).contains(&gaps[2]) && (60.0..67.0).contains(&gaps[3])
    );
    assert_eq!(run.sink.contents(), ["a@11"]);
    assert!(run.status().phase.is_watching());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a12_a_permission_that_is_revoked_and_given_again() {
    let healthy = |version| [modified("a", version), Frame::Sleep(600_000), fails(ErrorKind::Forbidden)];
    let mut answers = vec![list(10, [("a", 1)]), watch(healthy(11))];
    answers.extend(forbidden(2));
    answers.push(watch(healthy(12)));
    answers.push(watch([modified("a", 13), Frame::Hole]));
    let run = Run::with(answers, |builder| {
        builder.streaming_list(false).min_watch_timeout(Duration::from_secs(3600))
    });
    run.until(6).await;
    assert_eq!(run.server.asked()[1..], ["watch 10", "watch 11", "watch 11", "watch 11", "watch 12"]);
    assert_eq!(run.told().len(), 2, "each time that it was revoked");
    assert_eq!(run.sink.contents(), ["a@13"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a12_the_log_says_at_once_that_the_permission_is_there() {
    let log = Log::default();
    // With a single subscriber, tracing asks that of the thread which happens to come first to a log line; the
    // other tests' threads have none, and the line would be off for good. With two it asks both.
    let _second = tracing::Dispatch::new(Log::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    let mut answers = vec![list(10, [("a", 1)])];
    answers.extend(forbidden(1));
    answers.push(watch([modified("a", 11), Frame::Hole]));
    let run = Run::paged(answers);
    run.until(2).await;
    assert!(!log.has("the permission to watch is there"));
    run.until(3).await;
    assert!(run.status().phase.is_watching());
    assert!(log.has("the permission to watch is there"), "{log:?}");
    run.stop().await;
}

/// Keeps the messages of the log.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn has(&self, message: &str) -> bool {
        self.0.lock().unwrap().iter().any(|said| said == message)
    }
}

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            self.0.lock().unwrap().push(format!("{value:?}"));
        }
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a12_a_list_that_is_forbidden() {
    // The streaming list is a watch, and may be allowed or not for itself.
    let mut answers = forbidden(5);
    answers.extend([list(10, [("a", 1)]), watch([Frame::Hole])]);
    let run = Run::streaming(answers);
    run.until(7).await;
    let asked = run.server.asked();
    assert_eq!(asked[0], "stream ");
    assert_eq!(asked[1..6], vec!["list 0 limit=500"; 5]);
    assert_eq!(run.told().len(), 1);
    assert!(run.status().phase.is_watching() && run.status().synced);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a29_a_resource_that_does_not_exist_yet_is_awaited_with_ordinary_pauses() {
    let mut answers = vec![refuse(ErrorKind::NotFound); 4];
    answers.extend([list(10, [("a", 1)]), watch([Frame::Hole])]);
    let run = Run::paged(answers);
    run.until(6).await;
    let gaps = run.server.gaps();
    assert!(gaps[..4].iter().all(|gap| (0.8..12.8).contains(gap)), "{gaps:?}");
    assert_eq!(run.told().len(), 1);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a29_a_resource_that_is_removed_empties_the_sink_and_is_looked_for_slowly() {
    let mut answers = vec![list(10, [("a", 1), ("b", 2)]), watch([deleted("a", 11), Frame::Sleep(1500)])];
    answers.extend(vec![refuse(ErrorKind::NotFound); 6]);
    answers.extend([list(5, [("c", 3), ("d", 4)]), watch([Frame::Hole])]);
    let run = Run::paged(answers);
    run.server.reached(5).await;
    pass(1).await;
    assert!(matches!(run.status().phase, Phase::Gone { .. } | Phase::Waiting { .. }));
    pass(30).await;
    assert!(matches!(run.status().phase, Phase::Gone { .. }));
    assert!(run.sink.contents().is_empty());
    run.until(10).await;
    let asked = run.server.asked();
    assert_eq!(asked[2..4], ["watch 11", "list 11"], "a watch says so first, then a list");
    assert_eq!(asked[4..9], vec!["list  limit=500"; 5], "nothing of the old one is asked for");
    let gaps = run.server.gaps();
    assert!(gaps[3..8].iter().all(|gap| *gap >= 30.0), "{gaps:?}");
    assert_eq!(run.sink.log(), ["=10 [a@1 b@2]", "-a@11", "= []", "=5 [c@3 d@4]"]);
    assert_eq!(run.told().len(), 2, "when it was missed first, and when it was certainly gone");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a29_a_single_404_removes_nothing() {
    let run = Run::paged([
        list(10, [("a", 1)]),
        watch([fails(ErrorKind::Expired)]),
        refuse(ErrorKind::NotFound),
        list(20, [("a", 1)]),
        watch([Frame::Hole]),
    ]);
    run.until(5).await;
    assert_eq!(run.sink.log(), ["=10 [a@1]", "=20 [a@1]"]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn unauthorized_is_an_ordinary_failure_and_keeps_the_version() {
    let run = Run::paged([
        list(10, []),
        refuse(ErrorKind::Unauthorized),
        refuse(ErrorKind::Unauthorized),
        watch([Frame::Hole]),
    ]);
    run.until(4).await;
    assert_eq!(run.server.asked()[1..], vec!["watch 10"; 3]);
    assert_eq!(run.told().len(), 2);
    run.stop().await;
}

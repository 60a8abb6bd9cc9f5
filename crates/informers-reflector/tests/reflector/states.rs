//! Status, resyncs, backpressure and the end.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use informers_core::{Change, ErrorKind, Metrics, Scope, Sink, SinkError, Stage};
use informers_reflector::{Every, Phase, Reflector, ResyncSchedule};
use tokio_util::sync::CancellationToken;

use crate::server::*;
use crate::sink::MapSink;
use crate::{Run, pass, settle};

#[tokio::test(start_paused = true)]
async fn the_status_tells_what_goes_on() {
    let run = Run::paged([
        refuse(ErrorKind::Unavailable),
        list(10, [("a", 1)]),
        watch([modified("a", 11), Frame::Sleep(5000), fails(ErrorKind::Internal)]),
        watch([Frame::Hole]),
    ]);
    run.until(1).await;
    let status = run.status();
    assert!(
        matches!(&status.phase, Phase::Waiting { reason, .. } if reason.kind() == ErrorKind::Unavailable)
    );
    assert!(!status.synced && status.last_activity.is_none());
    let mut watch = run.status.clone();
    let status = watch.wait_for(|status| status.phase.is_watching()).await;
    assert!(status.synced && status.last_activity.is_some());
    run.until(3).await;
    assert_eq!(run.status().version, 11.into());
    run.until(4).await;
    let status = run.status();
    assert_eq!((status.lists, status.watches), (2, 2));
    assert_eq!(status.last_error.unwrap().kind(), ErrorKind::Internal);
    assert!(status.phase.is_watching());
    run.stop().await;
    assert!(watch.current().phase.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn two_tasks_can_wait_for_one_status() {
    let run = Run::paged([refuse(ErrorKind::Unavailable), list(10, []), watch([Frame::Hole])]);
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let mut status = run.status.clone();
            tokio::spawn(async move { status.wait_for(|status| status.synced).await.version })
        })
        .collect();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), 10.into());
    }
    run.stop().await;
}

fn seconds(run: &Run) -> Vec<u64> {
    run.sink.lock().resyncs.iter().map(Duration::as_secs).collect()
}

#[tokio::test(start_paused = true)]
async fn resyncs_are_exact_whatever_happens_to_the_watch() {
    let answers = [
        list(10, []),
        watch([Frame::Sleep(14_000), fails(ErrorKind::Expired)]),
        refuse(ErrorKind::Unavailable),
        list(20, []),
        watch([Frame::Sleep(30_000)]),
        watch([Frame::Hole]),
    ];
    let run = Run::with(answers, |builder| {
        builder.streaming_list(false).resync(Every::new(Duration::from_secs(10)))
    });
    pass(65).await;
    assert_eq!(seconds(&run), [10, 20, 30, 40, 50, 60]);
    assert_eq!(run.server.requests().len(), 6, "a resync asks nobody");
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn under_parity_each_list_restarts_the_resyncs() {
    let answers = [
        list(10, []),
        watch([Frame::Sleep(14_000), fails(ErrorKind::Expired)]),
        list(20, []),
        watch([Frame::Hole]),
    ];
    let run = Run::with(answers, |builder| {
        builder
            .streaming_list(false)
            .resync(Every::new(Duration::from_secs(10)))
            .parity(informers_reflector::Parity::client_go_0_37())
    });
    run.until(4).await;
    let listed = run.server.requests()[2].at;
    pass(25).await;
    let resyncs = run.sink.lock().resyncs.clone();
    let expected =
        [Duration::from_secs(10), listed + Duration::from_secs(10), listed + Duration::from_secs(20)];
    for (resync, expected) in resyncs.iter().zip(expected) {
        assert!(resync.abs_diff(expected) < Duration::from_millis(5), "{resyncs:?}");
    }
    assert_eq!(resyncs.len(), 3);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_schedule_can_change_while_the_reflector_sleeps() {
    /// Never due until somebody sets a time.
    #[derive(Clone, Default)]
    struct Settable(Arc<Mutex<Setting>>);
    #[derive(Default)]
    struct Setting {
        at: Option<Instant>,
        changed: bool,
        waker: Option<Waker>,
    }
    impl ResyncSchedule for Settable {
        fn next(&mut self, _: Instant) -> Option<Instant> {
            self.0.lock().unwrap().at
        }
        fn due(&mut self, now: Instant) -> bool {
            let mut state = self.0.lock().unwrap();
            state.at.take_if(|at| *at <= now).is_some()
        }
        fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
            let mut state = self.0.lock().unwrap();
            if std::mem::take(&mut state.changed) {
                return Poll::Ready(());
            }
            state.waker = Some(cx.waker().clone());
            Poll::Pending
        }
    }
    let schedule = Settable::default();
    let run = Run::with([list(10, []), watch([Frame::Hole])], |builder| {
        builder.streaming_list(false).resync(schedule.clone())
    });
    pass(20).await;
    assert!(seconds(&run).is_empty());
    let waker = {
        let mut state = schedule.0.lock().unwrap();
        state.at = Some(tokio::time::Instant::now().into_std() + Duration::from_secs(3));
        state.changed = true;
        state.waker.take()
    };
    waker.unwrap().wake();
    pass(10).await;
    assert_eq!(seconds(&run), [23]);
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_does_not_stop_the_reflector() {
    let run = Run::with([refuse(ErrorKind::Unavailable), list(10, []), watch([Frame::Hole])], |builder| {
        builder.streaming_list(false).watch_error_handler(|error| panic!("{error}"))
    });
    run.until(3).await;
    assert!(run.status().phase.is_watching());
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_closed_sink_ends_the_reflector() {
    let sink = MapSink::new();
    let answers =
        [list(10, []), watch([modified("a", 11), Frame::Sleep(1000), modified("a", 12), Frame::Hole])];
    let run = Run::over(Server::new(answers), sink.clone(), |builder| builder.streaming_list(false));
    run.until(2).await;
    sink.lock().closed = true;
    run.task.await.unwrap();
    assert!(run.status.current().phase.is_stopped());
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_drops_what_was_half_read() {
    let server = Server::new([page(10, [("a", 1)], "t"), Answer::Hang]);
    let sink = MapSink::new();
    let reflector = Reflector::builder(server.clone(), sink.clone()).streaming_list(false).build();
    let status = reflector.status();
    let mut run = Box::pin(reflector.run(CancellationToken::new()));
    tokio::select! {
        () = &mut run => panic!("it ended"),
        () = server.reached(2) => {}
    }
    drop(run);
    assert!(sink.log().is_empty() && status.current().phase.is_stopped());
}

/// Wants nothing while it is full.
#[derive(Clone)]
struct Gated {
    inner: MapSink,
    gate: Arc<Mutex<(bool, Option<Waker>)>>,
}

impl Sink<()> for Gated {
    fn apply(&mut self, change: Change<()>) -> Result<(), SinkError> {
        self.inner.apply(change)
    }
    fn begin(&mut self, scope: &Scope) -> Box<dyn Stage<()> + '_> {
        self.inner.begin(scope)
    }
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut gate = self.gate.lock().unwrap();
        if gate.0 {
            return Poll::Ready(());
        }
        gate.1 = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn a_sink_that_is_not_ready_is_waited_for_between_batches() {
    let sink = Gated { inner: MapSink::new(), gate: Arc::default() };
    let server = Server::new([list(10, []), watch([added("a", 11), added("b", 12), Frame::Hole])]);
    let cancel = CancellationToken::new();
    let reflector = Reflector::builder(server.clone(), sink.clone()).streaming_list(false).build();
    let task = tokio::spawn(reflector.run(cancel.clone()));
    server.reached(2).await;
    pass(3600).await;
    assert_eq!(sink.inner.contents(), Vec::<String>::new());
    assert_eq!(server.requests().len(), 2, "the watch is not given up for the sink's sake");
    let waker = {
        let mut gate = sink.gate.lock().unwrap();
        gate.0 = true;
        gate.1.take()
    };
    waker.unwrap().wake();
    settle().await;
    assert_eq!(sink.inner.contents(), ["a@11", "b@12"]);
    cancel.cancel();
    task.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn measurements_are_taken() {
    #[derive(Default)]
    struct Measured(Mutex<Vec<String>>);
    impl Metrics for Measured {
        fn list_completed(&self, informer: &str, items: u64, _: Duration) {
            self.0.lock().unwrap().push(format!("{informer} listed {items}"));
        }
        fn watch_ended(&self, informer: &str, events: u64, duration: Duration) {
            self.0.lock().unwrap().push(format!("{informer} watched {events} in {duration:?}"));
        }
        fn undecodable(&self, informer: &str) {
            self.0.lock().unwrap().push(format!("{informer} undecodable"));
        }
        fn refused(&self, informer: &str) {
            self.0.lock().unwrap().push(format!("{informer} refused"));
        }
    }
    let measured = Arc::new(Measured::default());
    let sink = MapSink::new();
    sink.lock().refused.insert("no");
    let answers = [
        list_of(10, [entry("a", 1).into(), undecodable(Some("b"), 2)]),
        watch([added("no", 11), Frame::Sleep(2000), modified("a", 12)]),
        watch([Frame::Hole]),
    ];
    let metrics = Arc::clone(&measured);
    let run = Run::over(Server::new(answers), sink, |builder| {
        builder.streaming_list(false).name("mine").metrics(metrics)
    });
    run.until(3).await;
    assert_eq!(
        *measured.0.lock().unwrap(),
        ["mine undecodable", "mine listed 2", "mine refused", "mine watched 2 in 2s"]
    );
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn measurements_that_panic_cost_a_reflector_nothing() {
    #[derive(Default)]
    struct Explosive(Mutex<Vec<&'static str>>);
    impl Explosive {
        fn call(&self, name: &'static str) {
            self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(name);
            panic!("as told by the test");
        }
    }
    impl Metrics for Explosive {
        fn list_completed(&self, _: &str, _: u64, _: Duration) {
            self.call("list");
        }
        fn watch_ended(&self, _: &str, _: u64, _: Duration) {
            self.call("watch");
        }
        fn undecodable(&self, _: &str) {
            self.call("undecodable");
        }
        fn refused(&self, _: &str) {
            self.call("refused");
        }
    }
    let explosive = Arc::new(Explosive::default());
    let sink = MapSink::new();
    sink.lock().refused.insert("no");
    let answers = [
        list_of(10, [entry("a", 1).into(), undecodable(Some("b"), 2)]),
        watch([added("no", 11), Frame::Sleep(2000), modified("a", 12)]),
        watch([modified("a", 13), Frame::Hole]),
    ];
    let metrics = Arc::clone(&explosive);
    let run = Run::over(Server::new(answers), sink, |builder| builder.streaming_list(false).metrics(metrics));
    run.until(3).await;
    settle().await;
    let called = explosive.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    assert_eq!(called, ["undecodable", "list", "refused", "watch"]);
    assert_eq!((run.status().version, run.sink.contents()), (13.into(), vec!["a@13".to_owned()]));
    run.stop().await;
}

#[tokio::test(start_paused = true)]
async fn it_fails_from_the_first_failure_until_it_watches_again() {
    let run = Run::paged([
        refuse(ErrorKind::Unavailable),
        refuse(ErrorKind::ConnectionRefused),
        list(10, []),
        refuse(ErrorKind::Unavailable),
        watch([Frame::Sleep(60_000), fails(ErrorKind::Internal)]),
        watch([Frame::Hole]),
    ]);
    let mut status = run.status.clone();
    assert!(status.current().failing_since.is_none());
    let first = status.wait_for(|status| status.failing_since.is_some()).await.failing_since;
    let second = status.wait_for(|status| status.synced).await;
    assert_eq!(second.failing_since, first, "a list alone is no success");
    let up = status.wait_for(|status| status.phase.is_watching()).await;
    assert_eq!((up.watches, up.failing_since), (2, None));
    let again = status.wait_for(|status| status.failing_since.is_some()).await;
    assert!(again.failing_for(first.unwrap()).unwrap().is_zero() && again.failing_since > first);
    assert_eq!(again.phase.to_string(), "the server fails to serve it");
    let up = status.wait_for(|status| status.watches == 3 && status.phase.is_watching()).await;
    assert_eq!(up.failing_since, None);
    run.stop().await;
    assert_eq!(status.current().failing_since, None);
}

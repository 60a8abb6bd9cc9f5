//! Trackers and lazy values: what client-go's tests of the same names ask, and what is ours.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use informers_shared::synctrack::{AsyncTracker, InProgress, Lazy, SingleFileTracker};

/// Either tracker with one piece of work.
enum Tracker {
    Async(AsyncTracker<String>),
    SingleFile(SingleFileTracker, Option<InProgress>),
}

impl Tracker {
    fn start(&mut self) {
        match self {
            Self::Async(tracker) => tracker.start("key".to_owned()),
            Self::SingleFile(tracker, work) => *work = Some(tracker.start()),
        }
    }

    fn finished(&mut self) {
        match self {
            Self::Async(tracker) => tracker.finished("key"),
            Self::SingleFile(_, work) => drop(work.take()),
        }
    }

    fn upstream_has_synced(&self) {
        match self {
            Self::Async(tracker) => tracker.upstream_has_synced(),
            Self::SingleFile(tracker, _) => tracker.upstream_has_synced(),
        }
    }

    fn has_synced(&self) -> bool {
        match self {
            Self::Async(tracker) => tracker.has_synced(),
            Self::SingleFile(tracker, _) => tracker.has_synced(),
        }
    }
}

fn trackers() -> [Tracker; 2] {
    [Tracker::Async(AsyncTracker::new("a")), Tracker::SingleFile(SingleFileTracker::new("b"), None)]
}

#[test]
fn basic_logic() {
    for upstream in [None, Some("before"), Some("after")] {
        for finish in [false, true] {
            for mut tracker in trackers() {
                assert!(!tracker.has_synced());
                tracker.start();
                if upstream == Some("before") {
                    tracker.upstream_has_synced();
                }
                assert!(!tracker.has_synced(), "there is work");
                if finish {
                    tracker.finished();
                }
                if upstream == Some("after") {
                    assert!(!tracker.has_synced());
                    tracker.upstream_has_synced();
                }
                assert_eq!(tracker.has_synced(), finish && upstream.is_some());
                tracker.start();
                assert_eq!(
                    tracker.has_synced(),
                    finish && upstream.is_some(),
                    "what comes later changes nothing"
                );
            }
        }
    }
}

#[test]
fn async_locking() {
    let tracker = AsyncTracker::new("numbers");
    thread::scope(|scope| {
        for key in 0..11 {
            let tracker = &tracker;
            scope.spawn(move || {
                tracker.start(key);
                thread::scope(|inner| {
                    inner.spawn(|| tracker.finished(&key));
                });
            });
        }
    });
    tracker.upstream_has_synced();
    assert!(tracker.has_synced());
}

#[test]
fn single_file_counting() {
    let tracker = SingleFileTracker::new("hundred");
    let mut work: Vec<_> = (0..100).map(|_| tracker.start()).collect();
    tracker.upstream_has_synced();
    let last = work.pop();
    drop(work);
    assert!(!tracker.has_synced());
    drop(last);
    assert!(tracker.has_synced());
}

#[test]
fn work_that_panics_is_done_too() {
    let tracker = SingleFileTracker::new("shaky");
    let work = tracker.start();
    let worker = thread::spawn(move || {
        let _work = work;
        panic!("as told by the test");
    });
    assert!(worker.join().is_err());
    tracker.upstream_has_synced();
    assert!(tracker.has_synced());
    assert_eq!((tracker.name(), AsyncTracker::<u8>::new("keys").name()), ("shaky", "keys"));
}

#[test]
fn a_key_that_is_started_twice_is_one_piece_of_work() {
    let tracker = AsyncTracker::new("twice");
    tracker.start(7);
    tracker.start(7);
    tracker.finished(&8);
    tracker.finished(&7);
    tracker.upstream_has_synced();
    assert!(tracker.has_synced());
}

#[tokio::test(start_paused = true)]
async fn two_tasks_wait_for_a_tracker_and_one_that_gives_up_disturbs_nobody() {
    let tracker = AsyncTracker::new("keys");
    let single = SingleFileTracker::new("work");
    tracker.start(1);
    let work = single.start();
    let wait = || {
        let (tracker, single) = (tracker.clone(), single.clone());
        tokio::spawn(async move {
            tracker.synced().await;
            single.synced().await;
        })
    };
    let (first, second, gives_up) = (wait(), wait(), wait());
    tokio::task::yield_now().await;
    gives_up.abort();
    assert!(gives_up.await.unwrap_err().is_cancelled());
    tracker.upstream_has_synced();
    single.upstream_has_synced();
    tracker.finished(&1);
    tokio::task::yield_now().await;
    assert!(!first.is_finished() && !second.is_finished());
    drop(work);
    for task in [first, second] {
        tokio::time::timeout(Duration::from_secs(1), task).await.unwrap().unwrap();
    }
}

#[test]
fn lazy() {
    let basis = Arc::new(AtomicU64::new(0));
    let reading = Arc::clone(&basis);
    let value = Lazy::new(move || Ok::<_, Infallible>(reading.load(Ordering::SeqCst)));
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                for _ in 0..100 {
                    let set = basis.fetch_add(1, Ordering::SeqCst) + 1;
                    value.notify();
                    assert!(value.get().unwrap() >= set, "time went backwards");
                }
            });
        }
    });
}

/// A value whose first evaluation waits where the test wants; it is the number of the evaluation.
struct Held {
    lazy: Arc<Lazy<u64, Infallible>>,
    begun: Arc<Barrier>,
    may_end: Arc<Barrier>,
    calls: Arc<AtomicU64>,
}

fn held() -> Held {
    let [begun, may_end] = [(); 2].map(|()| Arc::new(Barrier::new(2)));
    let calls = Arc::new(AtomicU64::new(0));
    let (first_begun, first_may_end, counting) =
        (Arc::clone(&begun), Arc::clone(&may_end), Arc::clone(&calls));
    let lazy = Arc::new(Lazy::new(move || {
        let call = counting.fetch_add(1, Ordering::SeqCst) + 1;
        if call == 1 {
            first_begun.wait();
            first_may_end.wait();
        }
        Ok(call)
    }));
    Held { lazy, begun, may_end, calls }
}

fn get(lazy: &Arc<Lazy<u64, Infallible>>) -> thread::JoinHandle<u64> {
    let lazy = Arc::clone(lazy);
    thread::spawn(move || lazy.get().unwrap())
}

#[test]
fn lazy_throughput() {
    // While one evaluation runs, notifications and the evaluations after them do not wait for it.
    let Held { lazy, begun, may_end, calls } = held();
    let slow = get(&lazy);
    begun.wait();
    for call in 2..=100 {
        lazy.notify();
        assert_eq!(lazy.get(), Ok(call));
    }
    may_end.wait();
    assert_eq!((slow.join().unwrap(), calls.load(Ordering::SeqCst)), (1, 100));
}

#[test]
fn lazy_slow_eval() {
    // The first evaluation ends after the second: what it found is not kept, and nothing is evaluated again.
    let Held { lazy, begun, may_end, calls } = held();
    let slow = get(&lazy);
    begun.wait();
    lazy.notify();
    assert_eq!(lazy.get(), Ok(2));
    may_end.wait();
    assert_eq!(slow.join().unwrap(), 1);
    assert_eq!((lazy.get(), calls.load(Ordering::SeqCst)), (Ok(2), 2));
}

#[test]
fn lazy_slow_eval_2() {
    // The first evaluation ends before the second begins, but after the notification: its value is not kept either.
    let Held { lazy, begun, may_end, calls } = held();
    let slow = get(&lazy);
    begun.wait();
    lazy.notify();
    may_end.wait();
    assert_eq!(slow.join().unwrap(), 1);
    assert_eq!((lazy.get(), lazy.get(), calls.load(Ordering::SeqCst)), (Ok(2), Ok(2), 2));
}

#[test]
fn lazy_only_once() {
    let Held { lazy, begun, may_end, calls } = held();
    lazy.notify();
    let first = get(&lazy);
    begun.wait();
    // These find the evaluation running, or its value.
    let others = [get(&lazy), get(&lazy)];
    may_end.wait();
    assert_eq!(first.join().unwrap(), 1);
    assert_eq!(others.map(|other| other.join().unwrap()), [1, 1]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[test]
fn lazy_error() {
    let succeed = Arc::new(AtomicBool::new(false));
    let deciding = Arc::clone(&succeed);
    let value = Lazy::new(move || if deciding.load(Ordering::SeqCst) { Ok(()) } else { Err("told to fail") });
    assert_eq!(value.get(), Err("told to fail"));
    succeed.store(true, Ordering::SeqCst);
    assert_eq!(value.get(), Ok(()), "an error is not kept");
    succeed.store(false, Ordering::SeqCst);
    assert_eq!(value.get(), Ok(()), "a value is");
}

#[test]
fn an_evaluation_that_panics_is_tried_again() {
    let calls = AtomicU64::new(0);
    let value = Lazy::new(move || {
        assert_ne!(calls.fetch_add(1, Ordering::SeqCst), 0, "as told by the test");
        Ok::<_, Infallible>(7)
    });
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| value.get())).is_err());
    assert_eq!(value.get(), Ok(7));
}

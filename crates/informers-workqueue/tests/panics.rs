//! What users hand in may panic: keys, measurements, and the storage of queued keys.
#![allow(clippy::unwrap_used)] // helpers of tests may panic too

use std::cell::Cell;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use informers_workqueue::{Fifo, Metrics, Storage, Ticket, WorkQueue};
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

/// Panics in every measurement, and counts them.
#[derive(Default)]
struct Broken(AtomicUsize);

impl Broken {
    fn panics(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("no such series");
    }
}

impl Metrics for Broken {
    fn added(&self) {
        self.panics();
    }
    fn depth_increased(&self) {
        self.panics();
    }
    fn depth_decreased(&self) {
        self.panics();
    }
    fn queue_duration(&self, _: Duration) {
        self.panics();
    }
    fn work_duration(&self, _: Duration) {
        self.panics();
    }
    fn unfinished_work(&self, _: Duration) {
        self.panics();
    }
    fn longest_running_processor(&self, _: Duration) {
        self.panics();
    }
    fn retried(&self) {
        self.panics();
    }
}

#[tokio::test(start_paused = true)]
async fn measurements_that_panic_cost_no_key_and_no_drain() {
    let metrics = Arc::new(Broken::default());
    let queue = WorkQueue::builder().metrics(metrics.clone()).build();
    queue.add("a").unwrap();
    queue.add_after("b", Duration::from_secs(1)).unwrap();
    let taken = queue.get().await.unwrap();
    assert_eq!((*taken, queue.processing_len()), ("a", 1));
    queue.report_metrics();
    // A measurement inside the unwinding of a worker's panic would otherwise end the process.
    let worker = tokio::spawn(async move {
        let _taken = taken;
        panic!("on purpose");
    });
    assert!(worker.await.unwrap_err().is_panic());
    assert_eq!(queue.processing_len(), 0);

    assert_eq!(*queue.get().await.unwrap(), "b");
    queue.add("a").unwrap();
    let mut drain = spawn(queue.shut_down_with_drain());
    assert_pending!(drain.poll());
    queue.get().await.unwrap().done();
    assert_ready!(drain.poll()).unwrap();
    // Four of each of three keys, the retry, and two gauges.
    assert_eq!(metrics.0.load(Ordering::SeqCst), 3 * 5 + 1 + 2);
}

/// Its `push` panics while it is told to.
struct Full {
    keys: Fifo,
    is_full: Arc<AtomicBool>,
}

impl Storage<&'static str> for Full {
    fn push(&mut self, ticket: Ticket, key: &&'static str) {
        assert!(!self.is_full.load(Ordering::SeqCst), "no room");
        self.keys.push(ticket, key);
    }
    fn len(&self) -> usize {
        Storage::<&str>::len(&self.keys)
    }
    fn pop(&mut self) -> Option<Ticket> {
        Storage::<&str>::pop(&mut self.keys)
    }
}

#[tokio::test]
async fn a_storage_that_panics_costs_one_turn_and_not_the_key() {
    let is_full = Arc::new(AtomicBool::new(false));
    let queue =
        WorkQueue::builder().storage(Full { keys: Fifo::default(), is_full: is_full.clone() }).build();
    let while_full = |call: &dyn Fn()| {
        is_full.store(true, Ordering::SeqCst);
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        is_full.store(false, Ordering::SeqCst);
    };
    // When it is added.
    while_full(&|| queue.add("a").unwrap());
    assert_eq!(queue.len(), 0);
    queue.add("a").unwrap();
    let taken = queue.get().await.unwrap();
    assert_eq!(*taken, "a");
    // When it is finished and was added meanwhile.
    let key = taken.into_key();
    queue.add(key).unwrap();
    while_full(&|| queue.done(&key).unwrap());
    assert_eq!((queue.len(), queue.processing_len()), (0, 0));
    queue.add(key).unwrap();
    assert_eq!(*queue.get().await.unwrap(), "a");
    queue.shut_down_with_drain().await.unwrap();
}

thread_local! {
    static BROKEN: Cell<bool> = const { Cell::new(false) };
}

/// All have one hash. Comparing and cloning panic while it is told to.
#[derive(Debug)]
struct Touchy(u8);

fn look() {
    assert!(!BROKEN.get(), "cannot be looked at");
}

impl Clone for Touchy {
    fn clone(&self) -> Self {
        look();
        Self(self.0)
    }
}

impl PartialEq for Touchy {
    fn eq(&self, other: &Self) -> bool {
        look();
        self.0 == other.0
    }
}

impl Eq for Touchy {}

impl Hash for Touchy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        0.hash(state);
    }
}

#[tokio::test]
async fn a_key_that_panics_costs_one_turn_and_not_the_queue() {
    let queue = WorkQueue::new();
    let while_broken = |call: &dyn Fn()| {
        BROKEN.set(true);
        assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        BROKEN.set(false);
    };
    queue.add(Touchy(1)).unwrap();
    // Compared when another of its hash is added.
    while_broken(&|| queue.add(Touchy(2)).unwrap());
    assert_eq!(queue.len(), 1);
    // Cloned when it is taken: that turn is lost.
    while_broken(&|| drop(spawn(queue.get()).poll()));
    assert_eq!((queue.len(), queue.processing_len()), (0, 0));
    // Compared when it is finished: it stays taken.
    queue.add(Touchy(1)).unwrap();
    let key = queue.get().await.unwrap().into_key();
    while_broken(&|| queue.done(&key).unwrap());
    assert_eq!(queue.processing_len(), 1);
    queue.done(&key).unwrap();
    queue.add(Touchy(2)).unwrap();
    assert_eq!(queue.get().await.unwrap().0, 2);
    queue.shut_down_with_drain().await.unwrap();
}

//! client-go's tests of the queue by name, written anew from the behaviour. Those of the rate limiters are beside the
//! limiters; `TestParallelizeUntil` is in `parallelize.rs`.

#![allow(clippy::unwrap_used)] // helpers of tests may panic too

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use informers_workqueue::rate_limiter::ItemExponentialFailure;
use informers_workqueue::{Fifo, Metrics, Parity, Storage, Taken, Ticket, WorkQueue};
use tokio::task::JoinSet;
use tokio::time::advance;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Lets every other task come to rest without moving the clock.
async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

#[derive(Clone, Copy)]
enum How {
    ShutDown,
    Drain,
}

async fn shut_down(queue: &WorkQueue<String>, how: How) {
    match how {
        How::ShutDown => drop(queue.shut_down()),
        How::Drain => queue.shut_down_with_drain().await.unwrap(),
    }
}

/// Fifty producers and ten workers, on real threads so that they truly meet.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn basic() {
    for how in [How::ShutDown, How::Drain] {
        let queue = WorkQueue::new();
        let mut producers = JoinSet::new();
        for producer in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move {
                for _ in 0..50 {
                    queue.add(producer.to_string()).unwrap();
                    tokio::task::yield_now().await;
                }
            });
        }
        let running = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
        let mut workers = JoinSet::new();
        for _ in 0..10 {
            let (queue, running) = (queue.clone(), running.clone());
            workers.spawn(async move {
                while let Some(key) = queue.get().await {
                    assert_ne!(*key, "after shutdown");
                    let twice = running.lock().unwrap().insert(key.to_string(), 1);
                    assert_eq!(twice, None, "{key:?} is worked on twice at a time");
                    tokio::task::yield_now().await;
                    running.lock().unwrap().remove(&*key);
                }
            });
        }
        producers.join_all().await;
        shut_down(&queue, how).await;
        queue.add("after shutdown".into()).unwrap_err();
        workers.join_all().await;
        assert_eq!((queue.len(), queue.processing_len()), (0, 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn add_while_processing() {
    for how in [How::ShutDown, How::Drain] {
        let queue = WorkQueue::new();
        let mut producers = JoinSet::new();
        for producer in 0..50 {
            let queue = queue.clone();
            producers.spawn(async move { queue.add(producer.to_string()).unwrap() });
        }
        let mut workers = JoinSet::new();
        for _ in 0..10 {
            let queue = queue.clone();
            workers.spawn(async move {
                let mut counts = HashMap::<String, usize>::new();
                while let Some(key) = queue.get().await {
                    let count = counts.entry(key.to_string()).or_default();
                    *count += 1;
                    if *count < 2 {
                        // Refused once the shutdown has begun.
                        let _ = queue.add(key.to_string());
                    }
                }
            });
        }
        producers.join_all().await;
        shut_down(&queue, how).await;
        workers.join_all().await;
        assert_eq!((queue.len(), queue.processing_len()), (0, 0));
    }
}

#[test]
fn len() {
    let queue = WorkQueue::new();
    for (key, len) in [("foo", 1), ("bar", 2), ("foo", 2)] {
        queue.add(key).unwrap();
        assert_eq!(queue.len(), len);
    }
}

#[tokio::test]
async fn reinsert() {
    let queue = WorkQueue::new();
    queue.add("foo").unwrap();
    let first = queue.get().await.unwrap();
    queue.add("foo").unwrap();
    assert_eq!(queue.len(), 0);
    first.done();
    let second = queue.get().await.unwrap();
    assert_eq!(*second, "foo");
    second.done();
    assert_eq!(queue.len(), 0);
}

#[derive(Default)]
struct Touched {
    fifo: Fifo,
    keys: Arc<Mutex<Vec<&'static str>>>,
}

impl Storage<&'static str> for Touched {
    fn touch(&mut self, _ticket: Ticket, key: &&'static str) {
        self.keys.lock().unwrap().push(key);
    }
    fn push(&mut self, ticket: Ticket, key: &&'static str) {
        self.fifo.push(ticket, key);
    }
    fn len(&self) -> usize {
        Storage::<&'static str>::len(&self.fifo)
    }
    fn pop(&mut self) -> Option<Ticket> {
        Storage::<&'static str>::pop(&mut self.fifo)
    }
}

#[tokio::test]
async fn collapse() {
    let storage = Touched::default();
    let touched = storage.keys.clone();
    let queue = WorkQueue::builder().storage(storage).build();
    queue.add("bar").unwrap();
    queue.add("bar").unwrap();
    queue.get().await.unwrap().done();
    assert_eq!(queue.len(), 0);
    assert_eq!(*touched.lock().unwrap(), ["bar"]);
}

#[tokio::test]
async fn collapse_while_processing() {
    let storage = Touched::default();
    let touched = storage.keys.clone();
    let queue = WorkQueue::builder().storage(storage).build();
    queue.add("foo").unwrap();
    let first = queue.get().await.unwrap();
    queue.add("foo").unwrap();
    queue.add("foo").unwrap();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await.map(Taken::into_key) }
    });
    settle().await;
    assert!(!worker.is_finished(), "the second worker gets the key while it is worked on");
    first.done();
    let key = worker.await.unwrap().unwrap();
    assert_eq!(key, "foo");
    queue.done(&key).unwrap();
    assert_eq!(queue.len(), 0);
    assert!(touched.lock().unwrap().is_empty());
}

#[tokio::test]
async fn queue_drainage_using_shut_down_with_drain() {
    let queue = WorkQueue::new();
    queue.add("foo").unwrap();
    queue.add("bar").unwrap();
    let first = queue.get().await.unwrap();
    let second = queue.get().await.unwrap();
    let drain = tokio::spawn(queue.shut_down_with_drain());
    assert!(queue.get().await.is_none());
    first.done();
    settle().await;
    assert!(!drain.is_finished());
    second.done();
    drain.await.unwrap().unwrap();
}

#[tokio::test]
async fn no_queue_drainage_using_shut_down() {
    let queue = WorkQueue::new();
    queue.add("foo").unwrap();
    let taken = queue.get().await.unwrap();
    queue.shut_down();
    assert_eq!(queue.processing_len(), 1);
    taken.done();
}

#[tokio::test]
async fn force_queue_shutdown_using_shut_down() {
    let queue = WorkQueue::new();
    queue.add("foo").unwrap();
    queue.add("bar").unwrap();
    let _taken = (queue.get().await, queue.get().await);
    let drain = tokio::spawn(queue.shut_down_with_drain());
    settle().await;
    assert!(queue.get().await.is_none());
    assert!(!drain.is_finished());
    queue.shut_down();
    drain.await.unwrap().unwrap_err();
}

#[tokio::test]
async fn queue_drainage_using_shut_down_with_drain_with_dirty_item() {
    for parity in [Parity::default(), Parity::client_go_0_37()] {
        let queue = WorkQueue::builder().parity(parity).build();
        queue.add("foo").unwrap();
        let taken = queue.get().await.unwrap();
        queue.add("foo").unwrap();
        let drain = tokio::spawn(queue.shut_down_with_drain());
        assert!(queue.get().await.is_none());
        taken.done();
        let again = queue.get().await.unwrap();
        settle().await;
        // client-go's drain ends when nothing is worked on, though the key is queued again.
        assert_eq!(drain.is_finished(), parity.drain_in_flight_only);
        again.done();
        assert!(queue.get().await.is_none());
        drain.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn garbage_collection() {
    let queue = WorkQueue::new();
    let key: Arc<str> = "big object".into();
    queue.add(key.clone()).unwrap();
    queue.get().await.unwrap().done();
    assert_eq!(Arc::strong_count(&key), 1);
}

#[tokio::test(start_paused = true)]
async fn simple_queue() {
    let queue = WorkQueue::new();
    queue.add_after("foo", ms(50)).unwrap();
    assert_eq!(queue.len(), 0);
    advance(ms(60)).await;
    assert_eq!(queue.len(), 1);
    queue.get().await.unwrap().done();
    advance(ms(10_000)).await;
    assert_eq!(queue.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn deduping() {
    let queue = WorkQueue::new();
    for delays in [[50, 70], [50, 30]] {
        for delay in delays {
            queue.add_after("foo", ms(delay)).unwrap();
        }
        let earliest = delays[0].min(delays[1]);
        advance(ms(earliest - 1)).await;
        assert_eq!(queue.len(), 0);
        advance(ms(1)).await;
        assert_eq!(queue.len(), 1);
        queue.get().await.unwrap().done();
        advance(ms(100)).await;
        assert_eq!(queue.len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn add_two_fire_early() {
    let queue = WorkQueue::new();
    queue.add_after("first", ms(1000)).unwrap();
    queue.add_after("second", ms(50)).unwrap();
    assert_eq!(queue.len(), 0);
    advance(ms(60)).await;
    assert_eq!(*queue.get().await.unwrap(), "second");
    queue.add_after("third", ms(2000)).unwrap();
    advance(ms(1000)).await;
    assert_eq!(*queue.get().await.unwrap(), "first");
    advance(ms(2000)).await;
    assert_eq!(*queue.get().await.unwrap(), "third");
}

#[tokio::test(start_paused = true)]
async fn copy_shifting() {
    let queue = WorkQueue::new();
    for (key, delay) in [("first", 1000), ("second", 500), ("third", 250)] {
        queue.add_after(key, ms(delay)).unwrap();
    }
    advance(ms(2000)).await;
    assert_eq!(queue.len(), 3);
    for key in ["third", "second", "first"] {
        assert_eq!(*queue.get().await.unwrap(), key);
    }
}

#[tokio::test(start_paused = true)]
async fn rate_limiting_queue() {
    let queue = WorkQueue::builder().rate_limiter(ItemExponentialFailure::new(ms(1), ms(1000))).build();
    assert_eq!(queue.add_rate_limited("one").unwrap(), ms(1));
    assert_eq!(queue.add_rate_limited("one").unwrap(), ms(2));
    assert_eq!(queue.num_requeues(&"one"), 2);
    assert_eq!(queue.add_rate_limited("two").unwrap(), ms(1));
    assert_eq!(queue.add_rate_limited("two").unwrap(), ms(2));
    queue.forget(&"one");
    assert_eq!(queue.num_requeues(&"one"), 0);
    assert_eq!(queue.add_rate_limited("one").unwrap(), ms(1));
    assert_eq!(queue.waiting_len(), 2);
    advance(ms(1)).await;
    assert_eq!(queue.len(), 2);
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Values {
    adds: usize,
    depth: i64,
    queue_durations: Vec<Duration>,
    work_durations: Vec<Duration>,
    unfinished: Vec<Duration>,
    longest: Vec<Duration>,
    retries: usize,
}

#[derive(Default)]
struct Recorder(Mutex<Values>);

impl Recorder {
    fn values(&self) -> Values {
        self.0.lock().unwrap().clone()
    }
}

impl Metrics for Recorder {
    fn added(&self) {
        self.0.lock().unwrap().adds += 1;
    }
    fn depth_increased(&self) {
        self.0.lock().unwrap().depth += 1;
    }
    fn depth_decreased(&self) {
        self.0.lock().unwrap().depth -= 1;
    }
    fn queue_duration(&self, duration: Duration) {
        self.0.lock().unwrap().queue_durations.push(duration);
    }
    fn work_duration(&self, duration: Duration) {
        self.0.lock().unwrap().work_durations.push(duration);
    }
    fn unfinished_work(&self, total: Duration) {
        self.0.lock().unwrap().unfinished.push(total);
    }
    fn longest_running_processor(&self, longest: Duration) {
        self.0.lock().unwrap().longest.push(longest);
    }
    fn retried(&self) {
        self.0.lock().unwrap().retries += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn metrics() {
    let us = Duration::from_micros;
    let recorder = Arc::new(Recorder::default());
    let queue = WorkQueue::builder().metrics(recorder.clone()).build();

    queue.add("foo").unwrap();
    assert_eq!((recorder.values().adds, recorder.values().depth), (1, 1));
    advance(us(50)).await;
    let first = queue.get().await.unwrap();
    assert_eq!(recorder.values().queue_durations, [us(50)]);
    assert_eq!(recorder.values().depth, 0);

    // Adds while it is worked on count once.
    for _ in 0..5 {
        queue.add("foo").unwrap();
    }
    assert_eq!((recorder.values().adds, recorder.values().depth), (2, 1));
    advance(us(25)).await;
    first.done();
    assert_eq!(recorder.values().work_durations, [us(25)]);
    assert_eq!(recorder.values().depth, 1);

    let second = queue.get().await.unwrap();
    assert_eq!(recorder.values().queue_durations, [us(50), us(25)]);
    assert_eq!(recorder.values().depth, 0);
    advance(ms(1)).await;
    queue.report_metrics();
    assert_eq!((recorder.values().unfinished, recorder.values().longest), (vec![ms(1)], vec![ms(1)]));
    second.done();
    assert_eq!(recorder.values().work_durations, [us(25), ms(1)]);
}

#[tokio::test(start_paused = true)]
async fn metrics_of_delayed_adds() {
    let recorder = Arc::new(Recorder::default());
    let queue = WorkQueue::builder().metrics(recorder.clone()).build();
    queue.add_after("a", ms(10)).unwrap();
    queue.add_after("b", Duration::ZERO).unwrap();
    assert_eq!((recorder.values().retries, recorder.values().adds), (2, 1));
    advance(ms(30)).await;
    // Nobody was there when the time came; the time in the queue counts from then all the same.
    queue.report_metrics();
    assert_eq!((recorder.values().adds, recorder.values().depth), (2, 2));
    queue.get().await.unwrap().done();
    queue.get().await.unwrap().done();
    assert_eq!(recorder.values().queue_durations, [ms(30), ms(20)]);
    queue.shut_down();
    queue.add_after("c", ms(1)).unwrap_err();
    assert_eq!(recorder.values().retries, 2);
}

#[tokio::test(start_paused = true)]
async fn metric_shutdown() {
    let recorder = Arc::new(Recorder::default());
    let queue = WorkQueue::builder().metrics(recorder.clone()).build();
    queue.add("slow").unwrap();
    let _working = queue.get().await;
    let mut reports = spawn(queue.report_metrics_until_shut_down(Some(ms(1))));
    assert_pending!(reports.poll());
    advance(ms(1)).await;
    assert!(reports.is_woken());
    assert_pending!(reports.poll());
    assert_eq!(recorder.values().unfinished.len(), 1);
    queue.shut_down();
    assert!(reports.is_woken());
    assert_ready!(reports.poll());
    assert_eq!(recorder.values().unfinished.len(), 1);
}

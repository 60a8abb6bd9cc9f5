//! What happens around the queue's lock: who is woken when it is released, and that nothing of the user's runs under it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fixture::{done, obj, settle, shown};
use informers_core::{Change, Entry, KnownObjects, ObjectKey, Scope, Sink, Transform};
use informers_delta_fifo::{
    Batch, Closed, Consumer, Deleted, Delta, DeltaFifo, Fifo, InOrderQueue, Parity, QueueOptions, QueueSink,
    SharedQueue, delta_fifo, fifo, in_order_queue,
};

type Queue<T> = (SharedQueue<T>, Consumer<T>);

fn queues() -> [Queue<u64>; 3] {
    let options = || QueueOptions::default().with_soft_limit(1);
    [
        in_order_queue(InOrderQueue::atomic(), options()),
        delta_fifo(DeltaFifo::new(), options()),
        fifo(Fifo::new(), options()),
    ]
}

fn take<T>(consumer: &mut Consumer<T>) -> Batch<T> {
    match pin!(consumer.pop()).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(batch)) => batch,
        _ => panic!("nothing to take"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_shortens_the_queue_makes_room_for_each_of_two_others() {
    type Shorten = fn(&SharedQueue<u64>, &mut QueueSink<u64>);
    let ways: [Shorten; 4] = [
        |_, sink| sink.apply(Change::deleted(obj("a", 2))).unwrap(),
        |_, sink| sink.delete(Deleted::observed(obj("a", 2))).unwrap(),
        |_, sink| sink.begin(&Scope::all()).commit(&"2".into()).unwrap(),
        |queue, _| queue.remove_scope(&Scope::all()).unwrap(),
    ];
    for shorten in ways {
        let (queue, _consumer) = fifo(Fifo::new(), QueueOptions::default().with_soft_limit(1));
        let mut sink = queue.sink();
        sink.apply(Change::added(obj("a", 1))).unwrap();
        let waiting = [queue.sink(), queue.sink()]
            .map(|mut sink| tokio::spawn(async move { poll_fn(|cx| sink.poll_ready(cx)).await }));
        settle().await;
        assert!(waiting.iter().all(|task| !task.is_finished()));
        shorten(&queue, &mut sink);
        for task in waiting {
            done(task).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_another_task_puts_back_wakes_the_consumer() {
    for (queue, mut consumer) in queues() {
        queue.sink().apply(Change::added(obj("a", 1))).unwrap();
        let batch = take(&mut consumer);
        let waiting = tokio::spawn(async move { consumer.pop().await.map(|batch| shown(batch.deltas())) });
        settle().await;
        let elsewhere = tokio::spawn(async move { batch.put_back() });
        done(elsewhere).await;
        assert_eq!(done(waiting).await.unwrap(), ["Added(a@1)"]);
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_put_back_after_the_consumer_went_is_dropped_and_ends_the_wait_for_sync() {
    // Only the in-order queue still waits for what was put back; the others count it as done, as client-go does.
    let [in_order, delta_fifo, fifo] = queues();
    for ((queue, mut consumer), synced) in [(in_order, Err(Closed)), (delta_fifo, Ok(())), (fifo, Ok(()))] {
        let waiting = [queue.synced(), queue.synced()].map(|synced| tokio::spawn(synced));
        let mut sink = queue.sink();
        let mut stage = sink.begin(&Scope::all());
        stage.offer(Change::added(obj("a", 1))).unwrap();
        stage.commit(&"1".into()).unwrap();
        let batch = take(&mut consumer);
        settle().await;
        drop(consumer);
        settle().await;
        assert!(waiting.iter().all(|task| !task.is_finished()), "the batch may still be processed");
        done(tokio::spawn(async move { batch.put_back() })).await;
        for task in waiting {
            assert_eq!(done(task).await, synced);
        }
        assert!(queue.is_empty());
    }
}

/// A task of a broken executor, which still counts how often it was woken.
#[derive(Default)]
struct Broken(AtomicUsize);

impl Wake for Broken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("this executor is broken");
    }
}

#[tokio::test(start_paused = true)]
async fn a_waker_that_panics_takes_no_other_wake_up_with_it() {
    type Act = fn(&SharedQueue<u64>, &mut Consumer<u64>);
    let acts: [Act; 2] = [|queue, _| queue.close(), |_, consumer| take(consumer).finish()];
    for act in acts {
        for (queue, mut consumer) in queues() {
            let broken = Arc::new(Broken::default());
            let waker = Waker::from(Arc::clone(&broken));
            queue.sink().apply(Change::added(obj("a", 1))).unwrap();
            let mut first = queue.sink();
            assert!(first.poll_ready(&mut Context::from_waker(&waker)).is_pending());
            let mut second = queue.sink();
            let second = tokio::spawn(async move { poll_fn(|cx| second.poll_ready(cx)).await });
            settle().await;
            act(&queue, &mut consumer);
            assert_eq!(broken.0.load(Ordering::SeqCst), 1);
            done(second).await;
        }
    }
}

/// An object that looks at its queue when it is dropped.
#[derive(Clone)]
struct Curious {
    queue: Arc<OnceLock<SharedQueue<Curious>>>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Curious {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.get() {
            let _ = (queue.len(), queue.is_closed());
        }
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

/// A store that has nothing, so that objects in flight are held by the queue alone.
struct Nothing;

impl KnownObjects<Curious> for Nothing {
    fn known_keys(&self) -> Vec<ObjectKey> {
        Vec::new()
    }

    fn get_known(&self, _: &str) -> Option<Entry<Curious>> {
        None
    }
}

type Make = fn() -> Queue<Curious>;
/// What lets objects fall out of a queue: how many.
type Act = fn(&SharedQueue<Curious>, &mut Consumer<Curious>, &dyn Fn(&str, u64) -> Entry<Curious>) -> usize;

/// Lets objects fall out of a queue, each of which looks at that queue then.
fn fall_out(make: Make, act: Act) {
    let (done, outcome) = mpsc::channel();
    std::thread::spawn(move || {
        let (queue, mut consumer) = make();
        let (own, drops) = (Arc::new(OnceLock::new()), Arc::<AtomicUsize>::default());
        let _ = own.set(queue.clone());
        let object = |name: &str, version: u64| {
            let object = Curious { queue: Arc::clone(&own), drops: Arc::clone(&drops) };
            Entry::new(ObjectKey::cluster(name), "u".into(), version.into(), object)
        };
        let expected = act(&queue, &mut consumer, &object);
        let _ = done.send((drops.load(Ordering::SeqCst), expected));
    });
    // The time only ends a test that would hang.
    let (dropped, expected) =
        outcome.recv_timeout(Duration::from_secs(60)).expect("an object was dropped under the lock");
    assert_eq!(dropped, expected);
}

fn plain_fifo() -> Queue<Curious> {
    fifo(Fifo::new(), QueueOptions::default())
}

fn with_deltas() -> Queue<Curious> {
    delta_fifo(DeltaFifo::new(), QueueOptions::default())
}

fn plain_in_order() -> Queue<Curious> {
    in_order_queue(InOrderQueue::plain(Arc::new(Nothing)), QueueOptions::default())
}

#[test]
fn objects_that_fall_out_of_a_plain_fifo_may_look_at_it() {
    fall_out(plain_fifo, |queue, _, object| {
        let mut sink = queue.sink();
        sink.apply(Change::added(object("a", 1))).unwrap();
        // A newer state, a deletion of each kind, a list without it, a scope that ends.
        sink.apply(Change::modified(object("a", 2))).unwrap();
        sink.apply(Change::deleted(object("a", 3))).unwrap();
        sink.apply(Change::added(object("a", 4))).unwrap();
        sink.delete(Deleted::tombstone(ObjectKey::cluster("a"), Some(object("a", 5)))).unwrap();
        sink.apply(Change::added(object("a", 6))).unwrap();
        sink.begin(&Scope::all()).commit(&"7".into()).unwrap();
        sink.apply(Change::added(object("a", 8))).unwrap();
        queue.remove_scope(&Scope::all()).unwrap();
        7
    });
    fall_out(plain_fifo, |queue, consumer, object| {
        let mut sink = queue.sink();
        sink.apply(Change::added(object("a", 1))).unwrap();
        let batch = take(consumer);
        sink.apply(Change::modified(object("a", 2))).unwrap();
        // Something newer waits.
        batch.put_back();
        queue.add_if_not_present(vec![Delta::Added(object("a", 3)), Delta::SyncAll]).unwrap();
        2
    });
}

#[test]
fn objects_that_fall_out_of_a_delta_fifo_may_look_at_it() {
    fall_out(with_deltas, |queue, consumer, object| {
        let mut sink = queue.sink();
        // Nobody knows it; it is deleted again; a tombstone that a sighting replaces.
        sink.apply(Change::deleted(object("a", 1))).unwrap();
        sink.apply(Change::added(object("b", 2))).unwrap();
        sink.apply(Change::deleted(object("b", 3))).unwrap();
        sink.apply(Change::deleted(object("b", 4))).unwrap();
        sink.apply(Change::added(object("c", 5))).unwrap();
        sink.delete(Deleted::tombstone(ObjectKey::cluster("c"), Some(object("c", 6)))).unwrap();
        sink.apply(Change::deleted(object("c", 7))).unwrap();
        queue.add_if_not_present(vec![Delta::Added(object("d", 8)), Delta::Added(object("e", 9))]).unwrap();
        // The queue remembers the newest state of what is being processed.
        let mut batch = take(consumer);
        drop(batch.take_deltas());
        batch.finish();
        7
    });
}

#[test]
fn objects_that_a_plain_queue_remembers_or_discards_may_look_at_it() {
    fall_out(plain_in_order, |queue, consumer, object| {
        let mut sink = queue.sink();
        for version in [1, 2, 3] {
            sink.apply(Change::added(object("a", version))).unwrap();
        }
        for end in [Batch::finish, Batch::put_back] {
            let mut batch = take(consumer);
            drop(batch.take_deltas());
            end(batch);
        }
        let batch = take(consumer);
        let consumer = std::mem::replace(consumer, plain_in_order().1);
        drop(consumer);
        batch.put_back();
        3
    });
}

#[test]
fn objects_of_a_list_that_is_cut_short_may_look_at_the_queue() {
    const MAKES: [Make; 4] = [
        || in_order_queue(InOrderQueue::atomic().with_parity(parity()), options()),
        || in_order_queue(InOrderQueue::plain(Arc::new(Nothing)).with_parity(parity()), options()),
        || delta_fifo(DeltaFifo::new().with_parity(parity()), options()),
        || fifo(Fifo::new().with_parity(parity()), options()),
    ];
    fn parity() -> Parity {
        Parity::client_go_0_37()
    }
    fn options() -> QueueOptions<Curious> {
        // The second object of a list fails.
        let calls = AtomicUsize::new(0);
        QueueOptions::default().with_transform(Transform::new(move |_: &mut Curious| {
            if calls.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) { Ok(()) } else { Err(std::fmt::Error) }
        }))
    }
    for make in MAKES {
        fall_out(make, |queue, consumer, object| {
            let mut sink = queue.sink();
            let mut stage = sink.begin(&Scope::all());
            for name in ["a", "b", "c"] {
                stage.offer(Change::added(object(name, 1))).unwrap();
            }
            stage.commit(&"1".into()).unwrap_err();
            drop(std::mem::replace(consumer, plain_in_order().1));
            // The first and the failed one were copied to be transformed.
            5
        });
    }
}

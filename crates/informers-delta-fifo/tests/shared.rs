//! The driver: several producers, one consumer, and those who wait.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fixture::{Store, key, nameless, obj, shown, undecodable};
use informers_core::{Change, Scope, Sink};
use informers_delta_fifo::{
    Batch, Closed, Consumer, Deleted, Delta, DeltaFifo, Fifo, InOrderQueue, Outcome, QueueOptions, QueueSink,
    SharedQueue, delta_fifo, fifo, in_order_queue,
};
use tokio::task::JoinHandle;

fn atomic() -> (SharedQueue<u64>, Consumer<u64>) {
    in_order_queue(InOrderQueue::atomic(), QueueOptions::default())
}

fn limited(soft_limit: usize) -> (SharedQueue<u64>, Consumer<u64>) {
    in_order_queue(InOrderQueue::atomic(), QueueOptions::default().with_soft_limit(soft_limit))
}

/// Polls once, with a waker that does nothing.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn take(consumer: &mut Consumer<u64>) -> Batch<u64> {
    match poll_once(consumer.pop_batch()) {
        Poll::Ready(Ok(batch)) => batch,
        other => panic!("nothing to take: {other:?}"),
    }
}

async fn ready(sink: &mut QueueSink<u64>) {
    poll_fn(|cx| sink.poll_ready(cx)).await;
}

fn is_ready(sink: &mut QueueSink<u64>) -> bool {
    poll_once(ready(sink)).is_ready()
}

/// Lets every other task run until it waits.
async fn settle() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

/// The outcome of a task that must not be left waiting. Time is paused: it passes only when all tasks wait.
async fn done<T>(task: JoinHandle<T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), task).await.expect("a wake-up was lost").unwrap()
}

fn commit(sink: &mut QueueSink<u64>, names: &[&str]) {
    let mut stage = sink.begin(&Scope::all());
    for name in names {
        stage.offer(Change::added(obj(name, 1))).unwrap();
    }
    stage.commit(&"9".into()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_waiting_consumer_is_woken_by_each_producer() {
    let (queue, mut consumer) = atomic();
    let task = tokio::spawn(async move {
        let mut all = Vec::new();
        while let Ok(batch) = consumer.pop_batch().await {
            all.extend(shown(batch.deltas()));
        }
        all
    });
    settle().await;
    let producers = ["a", "b"].map(|name| {
        let mut sink = queue.sink();
        tokio::spawn(async move {
            for version in 0..3 {
                sink.apply(Change::added(obj(name, version))).unwrap();
                tokio::task::yield_now().await;
            }
        })
    });
    for producer in producers {
        done(producer).await;
    }
    settle().await;
    assert!(queue.is_empty());
    queue.close();
    let all = done(task).await;
    for name in ["a", "b"] {
        let of_one: Vec<_> = all.iter().filter(|delta| delta.contains(name)).collect();
        assert_eq!(
            of_one,
            [0, 1, 2].map(|version| format!("Added({name}@{version})")).iter().collect::<Vec<_>>()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn every_kind_of_change_wakes_the_consumer() {
    let changes: [fn(&mut QueueSink<u64>); 6] = [
        |sink| sink.apply(Change::modified(obj("a", 1))).unwrap(),
        |sink| sink.apply(Change::deleted(obj("a", 1))).unwrap(),
        |sink| sink.delete(Deleted::tombstone(key("a"), None)).unwrap(),
        |sink| commit(sink, &["a"]),
        |sink| sink.resync().unwrap(),
        |sink| sink.bookmark(&"3".into()).unwrap(),
    ];
    for change in changes {
        let (queue, mut consumer) = atomic();
        let task = tokio::spawn(async move { consumer.pop().await.map(|batch| batch.deltas().len()) });
        settle().await;
        change(&mut queue.sink());
        assert_eq!(done(task).await, Ok(1));
    }
}

#[tokio::test(start_paused = true)]
async fn pop_should_unblock_when_closed() {
    for close in [SharedQueue::close, |queue: &SharedQueue<u64>| queue.clone().close()] {
        for (queue, mut consumer) in [
            atomic(),
            delta_fifo(DeltaFifo::new(), QueueOptions::default()),
            fifo(Fifo::new(), QueueOptions::default()),
        ] {
            let task = tokio::spawn(async move { consumer.pop().await.map(drop) });
            settle().await;
            assert!(!task.is_finished());
            close(&queue);
            assert_eq!(done(task).await, Err(Closed));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn two_producers_wait_for_room_and_both_go_on() {
    let (queue, mut consumer) = limited(3);
    let mut first = queue.sink();
    for version in 0..3 {
        assert!(is_ready(&mut first));
        first.apply(Change::added(obj("a", version))).unwrap();
    }
    let tasks =
        [queue.sink(), queue.sink()].map(|mut sink| tokio::spawn(async move { ready(&mut sink).await }));
    settle().await;
    assert!(tasks.iter().all(|task| !task.is_finished()));
    take(&mut consumer).finish();
    for task in tasks {
        done(task).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_stops_waiting_takes_no_wake_up_from_another() {
    let (queue, mut consumer) = limited(1);
    let mut first = queue.sink();
    first.apply(Change::added(obj("a", 1))).unwrap();
    let mut gone = queue.sink();
    let stays = tokio::spawn({
        let mut sink = queue.sink();
        async move { ready(&mut sink).await }
    });
    let gives_up = tokio::spawn(async move { ready(&mut gone).await });
    settle().await;
    gives_up.abort();
    settle().await;
    // The number of the one who left is used again.
    let mut next = queue.sink();
    let joins = tokio::spawn(async move { ready(&mut next).await });
    settle().await;
    take(&mut consumer).finish();
    done(stays).await;
    done(joins).await;
}

#[tokio::test(start_paused = true)]
async fn closing_lets_producers_find_out() {
    let (queue, _consumer) = limited(1);
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    let tasks = [queue.sink(), queue.sink()].map(|mut sink| {
        tokio::spawn(async move {
            ready(&mut sink).await;
            sink.apply(Change::added(obj("b", 1)))
        })
    });
    settle().await;
    queue.close();
    for task in tasks {
        assert!(done(task).await.unwrap_err().is_closed());
    }
}

#[tokio::test(start_paused = true)]
async fn two_tasks_wait_for_sync_and_both_wake() {
    let (queue, mut consumer) = atomic();
    let tasks = [queue.clone(), queue.clone()].map(|queue| tokio::spawn(async move { queue.synced().await }));
    settle().await;
    commit(&mut queue.sink(), &["a"]);
    let batch = take(&mut consumer);
    settle().await;
    assert!(batch.is_in_initial_list() && !queue.has_synced());
    assert!(tasks.iter().all(|task| !task.is_finished()));
    batch.finish();
    for task in tasks {
        assert_eq!(done(task).await, Ok(()));
    }
    assert_eq!(poll_once(queue.synced()), Poll::Ready(Ok(())));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_sync_learns_that_it_will_not_come() {
    let waits = |queue: &SharedQueue<u64>| {
        [queue.clone(), queue.clone()].map(|queue| tokio::spawn(async move { queue.synced().await }))
    };
    // Closed while empty.
    let (queue, _consumer) = atomic();
    let tasks = waits(&queue);
    settle().await;
    queue.close();
    for task in tasks {
        assert_eq!(done(task).await, Err(Closed));
    }
    // The consumer went away with the list unprocessed.
    let (queue, consumer) = atomic();
    let tasks = waits(&queue);
    commit(&mut queue.sink(), &["a"]);
    settle().await;
    drop(consumer);
    for task in tasks {
        assert_eq!(done(task).await, Err(Closed));
    }
    // Closed with the list still queued: it is processed, and then the queue is synced.
    let (queue, mut consumer) = atomic();
    let tasks = waits(&queue);
    commit(&mut queue.sink(), &["a"]);
    queue.close();
    settle().await;
    take(&mut consumer).finish();
    for task in tasks {
        assert_eq!(done(task).await, Ok(()));
    }
    // Closed with a bookmark in the consumer's hands and nothing else.
    let (queue, mut consumer) = atomic();
    let tasks = waits(&queue);
    queue.sink().bookmark(&"1".into()).unwrap();
    let batch = take(&mut consumer);
    queue.close();
    settle().await;
    assert!(tasks.iter().all(|task| !task.is_finished()));
    batch.finish();
    for task in tasks {
        assert_eq!(done(task).await, Err(Closed));
    }
}

/// Drops a future that takes: never polled, while it waits, and after the wake-up but before the next poll.
fn drop_at_each_await_point<F: Future>(queue: &SharedQueue<u64>, mut take: impl FnMut() -> F) {
    drop(take());
    assert!(poll_once(take()).is_pending());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting = pin!(take());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    queue.sink().apply(Change::added(obj("a", 1))).unwrap();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_dropped_pop_takes_nothing() {
    type Take = fn(&mut Consumer<u64>) -> std::pin::Pin<Box<dyn Future<Output = ()> + '_>>;
    let takes: [Take; 3] = [
        |consumer| Box::pin(async { drop(consumer.pop().await) }),
        |consumer| Box::pin(async { drop(consumer.pop_batch().await) }),
        |consumer| {
            Box::pin(async {
                let never = |_: &[Delta<u64>], _| -> Result<Outcome, ()> { panic!("it was dropped before") };
                let _ = consumer.process(never).await;
            })
        },
    ];
    for take_one in takes {
        for (queue, consumer) in [
            atomic(),
            delta_fifo(DeltaFifo::new(), QueueOptions::default()),
            fifo(Fifo::new(), QueueOptions::default()),
        ] {
            let consumer = std::cell::RefCell::new(consumer);
            drop_at_each_await_point(&queue, || async { take_one(&mut consumer.borrow_mut()).await });
            assert_eq!(queue.len(), 1);
            assert_eq!(shown(take(&mut consumer.borrow_mut()).deltas()), ["Added(a@1)"]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_sync_that_is_dropped_takes_no_wake_up_from_another() {
    let (queue, mut consumer) = atomic();
    let waits = [queue.clone(), queue.clone()].map(|queue| tokio::spawn(async move { queue.synced().await }));
    settle().await;
    let [gives_up, stays] = waits;
    gives_up.abort();
    settle().await;
    // The number of the one who left is used again, and left before the wake-up too.
    drop(queue.synced());
    assert!(poll_once(queue.synced()).is_pending());
    commit(&mut queue.sink(), &["a"]);
    take(&mut consumer).finish();
    assert_eq!(done(stays).await, Ok(()));
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn the_newest_waker_is_the_one_that_counts() {
    let (queue, mut consumer) = atomic();
    let [old, new] = [(); 2].map(|()| Arc::new(Woken::default()));
    {
        let mut pop = pin!(consumer.pop_batch());
        for woken in [&old, &new] {
            let waker = Waker::from(Arc::clone(woken));
            assert!(pop.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        }
        queue.sink().apply(Change::added(obj("a", 1))).unwrap();
    }
    assert_eq!((old.0.load(Ordering::SeqCst), new.0.load(Ordering::SeqCst)), (0, 1));
}

#[test]
fn a_dropped_batch_counts_as_processed() {
    let (queue, mut consumer) = atomic();
    commit(&mut queue.sink(), &["a"]);
    let mut batch = take(&mut consumer);
    assert_eq!(batch.take_deltas().len(), 1);
    assert!(batch.deltas().is_empty() && !queue.has_synced());
    drop(batch);
    assert!(queue.has_synced());

    let (queue, mut consumer) = atomic();
    commit(&mut queue.sink(), &["a"]);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let process = |_: &[Delta<u64>], _| -> Result<Outcome, ()> { panic!("the consumer failed") };
        let _ = poll_once(consumer.process(process));
    }));
    assert!(panicked.is_err() && queue.has_synced());
}

#[test]
fn processing_may_ask_for_another_try() {
    let options = || QueueOptions::default().with_retry_on_error(true);
    for (queue, mut consumer) in [
        in_order_queue(InOrderQueue::atomic(), options()),
        delta_fifo(DeltaFifo::new(), options()),
        fifo(Fifo::new(), options()),
    ] {
        queue.sink().apply(Change::added(obj("a", 1))).unwrap();
        let again = |_: &[Delta<u64>], _| Ok::<_, &str>(Outcome::Requeue);
        assert_eq!(poll_once(consumer.process(again)), Poll::Ready(Ok(Ok(()))));
        assert_eq!(poll_once(consumer.process(|_, _| Err("failed"))), Poll::Ready(Ok(Err("failed"))));
        assert_eq!(queue.len(), 1);
        let done = |deltas: &[Delta<u64>], _| {
            assert_eq!(shown(deltas), ["Added(a@1)"]);
            Ok::<_, &str>(Outcome::Done)
        };
        assert_eq!(poll_once(consumer.process(done)), Poll::Ready(Ok(Ok(()))));
        assert!(queue.is_empty());
    }
    // Without the option a failed batch is gone, as in client-go.
    let (queue, mut consumer) = atomic();
    queue.sink().apply(Change::added(obj("a", 1))).unwrap();
    assert_eq!(poll_once(consumer.process(|_, _| Err("failed"))), Poll::Ready(Ok(Err("failed"))));
    assert!(queue.is_empty());
}

#[test]
fn what_was_taken_may_be_added_again_later_unless_there_is_something_newer() {
    for (queue, mut consumer) in
        [delta_fifo(DeltaFifo::new(), QueueOptions::default()), fifo(Fifo::new(), QueueOptions::default())]
    {
        let mut sink = queue.sink();
        for name in ["a", "b"] {
            sink.apply(Change::added(obj(name, 1))).unwrap();
        }
        let mut failed = [take(&mut consumer), take(&mut consumer)].map(|mut batch| batch.take_deltas());
        sink.apply(Change::modified(obj("b", 2))).unwrap();
        failed.reverse();
        for deltas in failed {
            queue.add_if_not_present(deltas).unwrap();
        }
        assert_eq!(shown(take(&mut consumer).deltas()), ["Updated(b@2)"]);
        let again = take(&mut consumer).take_deltas();
        assert_eq!(shown(&again), ["Added(a@1)"]);
        queue.close();
        assert!(queue.add_if_not_present(again).unwrap_err().is_closed());
    }
    let (queue, _consumer) = atomic();
    let error = queue.add_if_not_present(vec![Delta::Added(obj("a", 1))]).unwrap_err();
    assert!(!error.is_closed(), "{error}");
}

#[test]
fn a_closed_queue_drains_and_takes_nothing() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    queue.close();
    queue.close();
    assert!(queue.is_closed());
    assert!(sink.apply(Change::added(obj("b", 1))).unwrap_err().is_closed());
    assert!(sink.begin(&Scope::all()).commit(&"1".into()).unwrap_err().is_closed());
    assert!(sink.resync().unwrap_err().is_closed() && sink.bookmark(&"1".into()).unwrap_err().is_closed());
    assert!(queue.remove_scope(&Scope::all()).unwrap_err().is_closed());
    assert_eq!(shown(take(&mut consumer).deltas()), ["Added(a@1)"]);
    assert!(matches!(poll_once(consumer.pop_batch()), Poll::Ready(Err(Closed))));
}

#[test]
fn nothing_is_kept_for_a_consumer_who_is_gone() {
    let (queue, consumer) = atomic();
    let mut sink = queue.sink();
    let entry = obj("a", 1);
    sink.apply(Change::added(entry.clone())).unwrap();
    drop(consumer);
    assert!(queue.is_closed() && queue.is_empty());
    assert!(sink.apply(Change::added(entry)).unwrap_err().is_closed());
    assert!(is_ready(&mut sink));
}

#[test]
fn the_soft_limit_counts_a_list_as_one() {
    let (queue, mut consumer) = limited(2);
    let mut sink = queue.sink();
    commit(&mut sink, &["a", "b", "c", "d"]);
    assert!(is_ready(&mut sink));
    {
        sink.apply(Change::added(obj("e", 1))).unwrap();
        let mut stage = sink.begin(&Scope::all());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(stage.poll_ready(&mut cx).is_ready());
    }
    assert!(!is_ready(&mut sink));
    take(&mut consumer).finish();
    assert!(is_ready(&mut sink));
}

#[test]
fn the_default_limit_is_two_batches() {
    let (queue, _consumer) = atomic();
    let mut sink = queue.sink();
    for version in 0..2000 {
        assert!(is_ready(&mut sink));
        sink.apply(Change::added(obj("a", version))).unwrap();
    }
    assert!(!is_ready(&mut sink));
}

#[test]
fn a_stage_that_is_dropped_leaves_everything() {
    let (queue, _consumer) = atomic();
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::all());
    stage.offer(Change::added(obj("a", 1))).unwrap();
    drop(stage);
    assert!(queue.is_empty() && !queue.has_synced());
}

#[test]
fn a_streaming_list_may_change_and_take_back() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    let mut stage = sink.begin(&Scope::namespace("shop"));
    for change in [
        Change::added(obj("shop/a", 1)),
        Change::added(obj("shop/b", 1)),
        Change::added(undecodable("shop/bad", 1)),
        Change::added(obj("shop/c", 1)),
        Change::added(obj("shop/d", 1)),
        Change::modified(obj("shop/c", 2)),
        Change::deleted(obj("shop/a", 2)),
        Change::modified(obj("shop/e", 2)),
        Change::modified(obj("shop/bad", 2)),
        Change::added(obj("shop/a", 3)),
        Change::modified(undecodable("shop/d", 3)),
        Change::deleted(obj("shop/never", 3)),
        Change::deleted(undecodable("shop/e", 3)),
    ] {
        stage.offer(change).unwrap();
    }
    stage.commit(&"4".into()).unwrap();
    let batch = take(&mut consumer);
    let [Delta::ReplacedAll(all)] = batch.deltas() else { panic!("{batch:?}") };
    let items: Vec<_> = all.items.iter().map(|item| format!("{item:?}")).collect();
    assert_eq!(items, ["shop/b@1", "shop/c@2", "shop/d@1", "shop/bad@2", "shop/a@3"]);
    let bad: Vec<_> = all.undecodable.iter().map(|bad| bad.key().unwrap().as_str()).collect();
    assert_eq!(bad, ["shop/d"]);
    assert_eq!((&all.scope, &all.version), (&Scope::namespace("shop"), &"4".into()));
}

#[test]
fn undecodable_objects_travel_in_order() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    sink.apply(Change::modified(undecodable("b", 2))).unwrap();
    sink.apply(Change::deleted(undecodable("c", 3))).unwrap();
    sink.apply(Change::deleted(nameless())).unwrap();
    assert_eq!(
        shown(take(&mut consumer).deltas()),
        ["Added(a@1)", "Undecodable(b@2)", "Deleted(c, Observed)", "Undecodable(?)"]
    );

    // One place for each object: an object without a name has none.
    let (queue, mut consumer) = delta_fifo(DeltaFifo::new(), QueueOptions::default());
    let mut sink = queue.sink();
    let error = sink.apply(Change::added(nameless())).unwrap_err();
    assert_eq!(error.to_string(), "refused: an object without a readable name has no place in the queue");
    assert!(std::error::Error::source(&error).is_some());
    let mut stage = sink.begin(&Scope::all());
    assert!(stage.offer(Change::added(nameless())).is_err());
    stage.offer(Change::added(undecodable("b", 2))).unwrap();
    stage.commit(&"1".into()).unwrap();
    assert_eq!(shown(take(&mut consumer).deltas()), ["Undecodable(b@2)"]);
}

#[test]
fn a_removed_scope_waits_its_turn() {
    let (queue, mut consumer) = atomic();
    queue.sink().apply(Change::added(obj("shop/a", 1))).unwrap();
    queue.remove_scope(&Scope::namespace("shop")).unwrap();
    take(&mut consumer).finish();
    let batch = take(&mut consumer);
    let [Delta::ReplacedAll(all)] = batch.deltas() else { panic!("{batch:?}") };
    assert!(all.items.is_empty() && all.missing == informers_core::Deletion::ScopeRemoved);
}

#[test]
fn the_known_entry_is_that_of_the_store_in_exactly_this_version() {
    let stored = obj("a", 5);
    let store = Store::with([stored.clone()]);
    let (queue, _consumer) =
        in_order_queue(InOrderQueue::atomic(), QueueOptions::default().with_known(store));
    let mut sink = queue.sink();
    assert!(sink.known(&key("a"), &"uid".into(), &"5".into()).unwrap().ptr_eq(&stored));
    assert!(sink.known(&key("a"), &"uid".into(), &"6".into()).is_none());
    assert!(sink.known(&key("a"), &"other".into(), &"5".into()).is_none());
    assert!(sink.begin(&Scope::all()).known(&key("a"), &"uid".into(), &"5".into()).is_some());
}

#[test]
fn no_lock_is_held_while_the_consumer_processes() {
    let (queue, mut consumer) = atomic();
    let mut sink = queue.sink();
    sink.apply(Change::added(obj("a", 1))).unwrap();
    let calls = Mutex::new(Vec::new());
    let process = |deltas: &[Delta<u64>], _| {
        sink.apply(Change::added(obj("b", 1))).unwrap();
        calls.lock().unwrap().push((deltas.len(), queue.len()));
        Ok::<_, ()>(Outcome::Done)
    };
    assert_eq!(poll_once(consumer.process(process)), Poll::Ready(Ok(Ok(()))));
    assert_eq!(*calls.lock().unwrap(), [(1, 1)]);
}

/// Producers and consumer on threads of their own, with real contention; every delta must come out, in the
/// order of its producer, and nobody may be left waiting.
#[test]
fn producers_and_consumer_on_threads() {
    const EACH: u64 = 3000;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_time().build().unwrap();
    for (queue, mut consumer) in [
        in_order_queue(
            InOrderQueue::atomic().with_batch_size(16),
            QueueOptions::default().with_soft_limit(8),
        ),
        delta_fifo(DeltaFifo::new(), QueueOptions::default().with_soft_limit(2)),
    ] {
        let versions = runtime.block_on(async {
            let names = ["a", "b", "c"];
            let producers = names.map(|name| {
                let mut sink = queue.sink();
                tokio::spawn(async move {
                    for version in 0..EACH {
                        ready(&mut sink).await;
                        sink.apply(Change::added(obj(name, version))).unwrap();
                    }
                })
            });
            let consumer = tokio::spawn(async move {
                let mut versions = std::collections::BTreeMap::<String, Vec<u64>>::new();
                while let Ok(batch) = consumer.pop_batch().await {
                    for delta in batch.deltas() {
                        let entry = delta.entry().unwrap();
                        versions.entry(entry.key().to_string()).or_default().push(*entry.object());
                    }
                }
                versions
            });
            // The time only ends a test that would hang.
            let all = async {
                for producer in producers {
                    producer.await.unwrap();
                }
                queue.close();
                consumer.await.unwrap()
            };
            tokio::time::timeout(Duration::from_secs(120), all).await.expect("a wake-up was lost")
        });
        assert_eq!(versions.len(), 3);
        assert!(versions.into_values().all(|versions| versions == (0..EACH).collect::<Vec<_>>()));
    }
}

#[test]
fn an_object_that_a_streaming_list_adds_twice_is_there_once() {
    let machines = [
        in_order_queue(InOrderQueue::plain(Store::with([])), QueueOptions::default()),
        delta_fifo(DeltaFifo::new(), QueueOptions::default()),
    ];
    for (queue, _consumer) in machines {
        let mut sink = queue.sink();
        let mut stage = sink.begin_streaming(&Scope::all());
        for object in [obj("a", 1), obj("b", 2), obj("a", 3)] {
            stage.offer(Change::added(object)).unwrap();
        }
        stage.commit(&"4".into()).unwrap();
        let versions: Vec<_> = queue.snapshot().iter().map(|delta| **delta.entry().unwrap()).collect();
        assert_eq!(versions, [3, 2]);
    }
}

#[test]
fn a_bookmark_tells_of_what_its_producer_lists() {
    let (queue, mut consumer) = atomic();
    let [mut a, mut b] = [queue.sink(), queue.sink()];
    a.bookmark(&"1".into()).unwrap();
    drop(a.begin(&Scope::namespace("a")));
    drop(b.begin_streaming(&Scope::namespace("b")));
    a.bookmark(&"2".into()).unwrap();
    b.bookmark(&"3".into()).unwrap();
    let told: Vec<_> = (0..3).flat_map(|_| shown(take(&mut consumer).deltas())).collect();
    assert_eq!(told, ["Bookmark(1)", "Bookmark(namespace a@2)", "Bookmark(namespace b@3)"]);
}

/// Producers and consumer on threads: what is taken of each object only grows newer, and ends with the newest.
#[test]
fn a_plain_fifo_between_threads_ends_with_the_newest_of_each_object() {
    const EACH: u64 = 500;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(3).enable_time().build().unwrap();
    let (queue, mut consumer) = fifo(Fifo::new(), QueueOptions::default());
    let newest = runtime.block_on(async {
        let producers = ["a", "b"].map(|name| {
            let mut sink = queue.sink();
            tokio::spawn(async move {
                for version in 1..=EACH {
                    sink.apply(Change::added(obj(name, version))).unwrap();
                }
            })
        });
        let consumer = tokio::spawn(async move {
            let mut newest = std::collections::BTreeMap::<String, u64>::new();
            while let Ok(batch) = consumer.pop().await {
                let entry = batch.deltas()[0].entry().unwrap();
                let before = newest.insert(entry.key().to_string(), **entry);
                assert!(before < Some(**entry), "{before:?} before {entry:?}");
            }
            newest
        });
        for producer in producers {
            producer.await.unwrap();
        }
        queue.close();
        tokio::time::timeout(Duration::from_secs(120), consumer).await.expect("a wake-up was lost").unwrap()
    });
    assert_eq!(newest.into_iter().collect::<Vec<_>>(), [("a".to_owned(), EACH), ("b".to_owned(), EACH)]);
}

//! The driver: who waits, who is woken, and what a wait that is dropped leaves behind.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use fixture::{atomic, commit, done, is_ready, key, limited, obj, poll_once, ready, settle, shown, take};
use informers_core::{Change, Sink};
use informers_delta_fifo::{
    Closed, Consumer, Deleted, Delta, DeltaFifo, Fifo, InOrderQueue, Outcome, QueueOptions, QueueSink,
    SharedQueue, delta_fifo, fifo, in_order_queue,
};

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

type Take = fn(&mut Consumer<u64>) -> Pin<Box<dyn Future<Output = ()> + '_>>;

/// Drops a future that takes: never polled, while it waits, and after the wake-up but before the next poll.
fn drop_at_each_await_point(queue: &SharedQueue<u64>, consumer: &mut Consumer<u64>, take: Take) {
    drop(take(consumer));
    assert!(poll_once(take(consumer)).is_pending());
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(Arc::clone(&woken));
    let mut waiting = take(consumer);
    assert!(waiting.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    queue.sink().apply(Change::added(obj("a", 1))).unwrap();
    assert_eq!(woken.0.load(Ordering::SeqCst), 1);
}

#[test]
fn a_dropped_pop_takes_nothing() {
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
        for (queue, mut consumer) in [
            atomic(),
            delta_fifo(DeltaFifo::new(), QueueOptions::default()),
            fifo(Fifo::new(), QueueOptions::default()),
        ] {
            drop_at_each_await_point(&queue, &mut consumer, take_one);
            assert_eq!(queue.len(), 1);
            assert_eq!(shown(take(&mut consumer).deltas()), ["Added(a@1)"]);
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

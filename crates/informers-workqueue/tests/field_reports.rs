//! What users of such queues have reported: delayed and immediate adds of one key (A24), and drains (A25).

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests may panic too

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use informers_workqueue::machine::{Machine, Phase};
use informers_workqueue::{Error, Parity, WorkQueue};
use tokio::task::JoinSet;
use tokio::time::advance;

const HOUR: Duration = Duration::from_secs(3600);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// How the drain ended; fails if it sleeps on.
async fn ended<R>(task: tokio::task::JoinHandle<R>) -> R {
    tokio::time::timeout(100 * HOUR, task).await.expect("the drain sleeps on").unwrap()
}

async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

/// Spawns workers that count what they finish; each key takes the given time.
fn workers(queue: &WorkQueue<&'static str>, count: usize, work: Duration) -> (JoinSet<()>, Arc<AtomicUsize>) {
    let finished = Arc::new(AtomicUsize::new(0));
    let mut workers = JoinSet::new();
    for _ in 0..count {
        let (queue, finished) = (queue.clone(), finished.clone());
        workers.spawn(async move {
            while let Some(key) = queue.get().await {
                tokio::time::sleep(work).await;
                key.done();
                finished.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    (workers, finished)
}

#[tokio::test(start_paused = true)]
async fn a24_an_earlier_delay_wins_and_the_key_runs_once() {
    let queue = WorkQueue::new();
    let (_workers, runs) = workers(&queue, 1, Duration::ZERO);
    queue.add_after("a", 5 * HOUR).unwrap();
    queue.add_after("a", ms(10)).unwrap();
    tokio::time::sleep(ms(20)).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(runs.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a24_an_immediate_add_cancels_the_later_wish() {
    for (parity, expected) in [(Parity::default(), 1), (Parity::client_go_0_37(), 2)] {
        let queue = WorkQueue::builder().parity(parity).build();
        let (_workers, runs) = workers(&queue, 1, Duration::ZERO);
        queue.add_after("a", 5 * HOUR).unwrap();
        queue.add("a").unwrap();
        tokio::time::sleep(6 * HOUR).await;
        assert_eq!(runs.load(Ordering::Relaxed), expected, "{parity:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a24_a_zero_delay_cancels_the_later_wish_too() {
    let queue = WorkQueue::new();
    queue.add_after("a", 5 * HOUR).unwrap();
    queue.add_after("a", Duration::ZERO).unwrap();
    assert_eq!((queue.len(), queue.waiting_len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a24_an_add_while_processing_cancels_the_later_wish() {
    let queue = WorkQueue::new();
    queue.add("a").unwrap();
    let first = queue.get().await.unwrap();
    queue.add_after("a", 5 * HOUR).unwrap();
    assert_eq!(queue.waiting_len(), 1);
    queue.add("a").unwrap();
    first.done();
    queue.get().await.unwrap().done();
    advance(6 * HOUR).await;
    assert_eq!((queue.len(), queue.waiting_len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a24_a_wish_made_while_processing_is_kept() {
    let queue = WorkQueue::new();
    queue.add("a").unwrap();
    let first = queue.get().await.unwrap();
    queue.add_after("a", HOUR).unwrap();
    first.done();
    assert_eq!(queue.len(), 0);
    advance(HOUR).await;
    assert_eq!(queue.len(), 1);
}

#[test]
fn a24_a_million_delayed_adds_of_a_hundred_keys_stay_a_hundred_entries() {
    let t0 = Instant::now();
    let mut machine = Machine::<usize>::default();
    let mut earliest = [Duration::MAX; 100];
    for n in 0..1_000_000_usize {
        let key = n % 100;
        // Mixed delays from 1 s to 1000 s, from a fixed sequence.
        let delay = Duration::from_secs(1 + (n as u64).wrapping_mul(2_654_435_761) % 1000);
        earliest[key] = earliest[key].min(delay);
        machine.add_after(key, delay, t0).unwrap();
        assert!(machine.waiting_len() <= 100);
    }
    assert_eq!(machine.next_deadline(), Some(t0 + earliest.into_iter().min().unwrap()));
    let mut runs = 0;
    while let Some(take) = machine.get(t0 + Duration::from_secs(1000)) {
        machine.finish(take.id, t0 + Duration::from_secs(1000));
        runs += 1;
    }
    assert_eq!((runs, machine.waiting_len()), (100, 0));
}

#[tokio::test(start_paused = true)]
async fn a24_far_wishes_that_are_overtaken_leave_no_timers() {
    let queue = WorkQueue::new();
    let (_workers, runs) = workers(&queue, 4, Duration::ZERO);
    for _ in 0..100 {
        queue.add_after("a", 5 * HOUR).unwrap();
        queue.add("a").unwrap();
        settle().await;
    }
    assert_eq!(runs.load(Ordering::Relaxed), 100);
    assert_eq!(queue.waiting_len(), 0);
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(runs.load(Ordering::Relaxed), 100);
}

/// Three keys queued and two taken when the drain begins.
async fn loaded() -> (WorkQueue<&'static str>, Vec<informers_workqueue::Taken<&'static str>>) {
    let queue = WorkQueue::new();
    for key in ["taken 1", "taken 2", "queued 1", "queued 2", "queued 3"] {
        queue.add(key).unwrap();
    }
    let taken = vec![queue.get().await.unwrap(), queue.get().await.unwrap()];
    (queue, taken)
}

#[tokio::test(start_paused = true)]
async fn a25_drain_waits_for_queued_and_taken_keys() {
    for count in [1, 4] {
        let (queue, taken) = loaded().await;
        let drain = tokio::spawn(queue.shut_down_with_drain());
        settle().await;
        let (workers, finished) = workers(&queue, count, ms(100));
        tokio::time::sleep(ms(350)).await;
        assert_eq!(finished.load(Ordering::Relaxed), 3, "{count} workers");
        assert!(!drain.is_finished(), "the drain ended with two keys taken");
        drop(taken);
        ended(drain).await.unwrap();
        workers.join_all().await;
        assert_eq!((queue.len(), queue.processing_len(), queue.waiting_len()), (0, 0, 0));
        assert_eq!(queue.phase(), Phase::Drained);
    }
}

#[tokio::test(start_paused = true)]
async fn a25_drain_waits_for_queued_keys_when_nothing_is_taken() {
    let queue = WorkQueue::new();
    queue.add("queued").unwrap();
    let drain = tokio::spawn(queue.shut_down_with_drain());
    settle().await;
    assert!(!drain.is_finished());
    queue.get().await.unwrap().done();
    ended(drain).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a25_without_workers_the_deadline_ends_the_drain() {
    let (queue, taken) = loaded().await;
    let begun = tokio::time::Instant::now();
    let end = queue.shut_down_with_drain().within(ms(500)).await;
    assert_eq!(end, Err(Error::DeadlinePassed { queued: 3, processing: 2 }));
    assert_eq!(begun.elapsed(), ms(500));
    drop(taken);
    // The queue stays shut down and what is queued can still be taken.
    assert_eq!(queue.add("late"), Err(Error::ShutDown { key: "late" }));
    assert_eq!(queue.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a25_an_empty_queue_drains_at_once() {
    let queue = WorkQueue::<&str>::new();
    queue.shut_down_with_drain().within(Duration::ZERO).await.unwrap();
    queue.shut_down_with_drain().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a25_every_waiter_of_every_drain_wakes() {
    let queue = WorkQueue::new();
    queue.add("a").unwrap();
    let taken = queue.get().await.unwrap();
    let drains: Vec<_> = (0..3).map(|_| tokio::spawn(queue.shut_down_with_drain())).collect();
    settle().await;
    assert!(drains.iter().all(|drain| !drain.is_finished()));
    taken.done();
    settle().await;
    assert!(drains.iter().all(tokio::task::JoinHandle::is_finished), "a drain sleeps on");
    for drain in drains {
        ended(drain).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a25_idle_workers_all_wake_at_the_shutdown() {
    let queue = WorkQueue::<&str>::new();
    let (workers, _) = workers(&queue, 4, Duration::ZERO);
    settle().await;
    queue.shut_down_with_drain().await.unwrap();
    settle().await;
    assert_eq!(workers.len(), 4);
    workers.join_all().await;
}

#[tokio::test(start_paused = true)]
async fn a25_a_plain_shutdown_releases_every_drain() {
    let (queue, _taken) = loaded().await;
    let drains: Vec<_> = (0..2).map(|_| tokio::spawn(queue.shut_down_with_drain())).collect();
    settle().await;
    queue.shut_down();
    for drain in drains {
        assert_eq!(ended(drain).await, Err(Error::Released { queued: 3, processing: 2 }));
    }
}

#[tokio::test(start_paused = true)]
async fn a25_a_plain_shutdown_before_the_drain_does_not_stop_a_later_one_from_releasing() {
    for (parity, released) in [(Parity::default(), true), (Parity::client_go_0_37(), false)] {
        let queue = WorkQueue::builder().parity(parity).build();
        queue.add("stuck").unwrap();
        let _taken = queue.get().await;
        queue.shut_down();
        let drain = tokio::spawn(queue.shut_down_with_drain());
        settle().await;
        queue.shut_down();
        settle().await;
        assert_eq!(drain.is_finished(), released, "{parity:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a25_a_dirty_key_runs_once_more_and_no_more() {
    let queue = WorkQueue::new();
    queue.add("a").unwrap();
    let taken = queue.get().await.unwrap();
    queue.add("a").unwrap();
    let drain = tokio::spawn(queue.shut_down_with_drain());
    settle().await;
    assert_eq!(queue.add("a"), Err(Error::ShutDown { key: "a" }));
    taken.done();
    settle().await;
    assert!(!drain.is_finished());
    let (workers, finished) = workers(&queue, 4, ms(1));
    ended(drain).await.unwrap();
    workers.join_all().await;
    assert_eq!(finished.load(Ordering::Relaxed), 1);
}

#[tokio::test(start_paused = true)]
async fn a25_done_of_a_foreign_key_neither_queues_nor_ends_a_drain() {
    let queue = WorkQueue::new();
    queue.add("taken").unwrap();
    queue.add("queued").unwrap();
    let taken = queue.get().await.unwrap();
    let drain = tokio::spawn(queue.shut_down_with_drain());
    settle().await;
    assert_eq!(queue.done(&"foreign"), Err(Error::NotTaken { key: "foreign" }));
    assert_eq!(queue.done(&"queued"), Err(Error::NotTaken { key: "queued" }));
    settle().await;
    assert_eq!((queue.len(), drain.is_finished()), (1, false));
    taken.done();
    queue.get().await.unwrap().done();
    ended(drain).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a25_keys_that_wait_at_the_drain_are_given_back_and_never_run() {
    let queue = WorkQueue::new();
    let (workers, finished) = workers(&queue, 2, ms(1));
    queue.add("now").unwrap();
    queue.add_after("later", HOUR).unwrap();
    queue.add_after("sooner", ms(500)).unwrap();
    let drain = queue.shut_down_with_drain();
    assert_eq!(drain.abandoned(), ["sooner", "later"]);
    drain.await.unwrap();
    workers.join_all().await;
    advance(2 * HOUR).await;
    assert_eq!((queue.len(), queue.waiting_len(), finished.load(Ordering::Relaxed)), (0, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a25_a_dropped_drain_leaves_the_queue_shut_down_and_others_waiting() {
    let queue = WorkQueue::new();
    queue.add("a").unwrap();
    let taken = queue.get().await.unwrap();
    let dropped = queue.shut_down_with_drain();
    let kept = tokio::spawn(queue.shut_down_with_drain());
    settle().await;
    drop(dropped);
    assert!(queue.shutting_down());
    taken.done();
    ended(kept).await.unwrap();
}

//! Wake-ups and cancellation of the driver. Every waiter is a spawned task of its own: polling several from one task
//! would hide a lost wake-up.

#![allow(clippy::unwrap_used, clippy::expect_used)] // helpers of tests may panic too

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use informers_workqueue::{Taken, WorkQueue};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::advance;
use tokio_test::task::spawn;
use tokio_test::{assert_pending, assert_ready};

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

async fn settle() {
    for _ in 0..16 {
        tokio::task::yield_now().await;
    }
}

fn getter(queue: &WorkQueue<&'static str>) -> JoinHandle<Option<&'static str>> {
    let queue = queue.clone();
    tokio::spawn(async move { queue.get().await.map(Taken::into_key) })
}

/// What the task gives; fails if it sleeps on. The task is another one than that of the timeout, so the timeout cannot
/// poll it back to life.
async fn ended<R>(task: JoinHandle<R>) -> R {
    tokio::time::timeout(Duration::from_secs(3600), task).await.expect("the task sleeps on").unwrap()
}

#[tokio::test(start_paused = true)]
async fn two_waiting_tasks_each_get_a_key() {
    let queue = WorkQueue::new();
    let (first, second) = (getter(&queue), getter(&queue));
    settle().await;
    queue.add("a").unwrap();
    queue.add("b").unwrap();
    assert_eq!(ended(first).await, Some("a"));
    assert_eq!(ended(second).await, Some("b"));
}

#[tokio::test(start_paused = true)]
async fn two_waiting_tasks_each_get_a_delayed_key() {
    let queue = WorkQueue::new();
    let (first, second) = (getter(&queue), getter(&queue));
    settle().await;
    queue.add_after("a", ms(10)).unwrap();
    queue.add_after("b", ms(20)).unwrap();
    let mut got = [ended(first).await, ended(second).await];
    got.sort_unstable();
    assert_eq!(got, [Some("a"), Some("b")]);
}

#[tokio::test(start_paused = true)]
async fn one_key_wakes_one_of_two_tasks() {
    let queue = WorkQueue::new();
    let mut first = spawn(queue.get());
    let mut second = spawn(queue.get());
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    queue.add("a").unwrap();
    assert!(first.is_woken());
    assert!(!second.is_woken());
}

#[tokio::test(start_paused = true)]
async fn a_notified_get_that_is_dropped_passes_the_key_on() {
    let queue = WorkQueue::new();
    let mut first = spawn(queue.get());
    assert_pending!(first.poll());
    let second = getter(&queue);
    settle().await;
    queue.add("a").unwrap();
    assert!(first.is_woken());
    drop(first);
    assert_eq!(ended(second).await, Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_get_whose_key_was_snatched_waits_on() {
    let queue = WorkQueue::new();
    let mut first = spawn(queue.get());
    assert_pending!(first.poll());
    queue.add("a").unwrap();
    assert_eq!(queue.get().await.map(Taken::into_key), Some("a"));
    assert!(first.is_woken());
    assert_pending!(first.poll());
    queue.add("b").unwrap();
    assert!(first.is_woken());
    assert_eq!(assert_ready!(first.poll()).map(Taken::into_key), Some("b"));
}

#[tokio::test(start_paused = true)]
async fn only_one_waiting_task_keeps_the_time_and_another_takes_over() {
    let queue = WorkQueue::new();
    queue.add_after("a", ms(10)).unwrap();
    let mut first = spawn(queue.get());
    let mut second = spawn(queue.get());
    assert_pending!(first.poll());
    assert_pending!(second.poll());
    // The first one keeps the time. When it goes, the second must be told, or nobody would.
    drop(first);
    assert!(second.is_woken());
    assert_pending!(second.poll());
    advance(ms(10)).await;
    assert!(second.is_woken());
    assert_eq!(assert_ready!(second.poll()).map(Taken::into_key), Some("a"));
}

#[tokio::test(start_paused = true)]
async fn a_key_rather_wakes_a_task_that_keeps_no_time() {
    let queue = WorkQueue::new();
    queue.add_after("later", ms(10)).unwrap();
    let mut timekeeper = spawn(queue.get());
    let mut other = spawn(queue.get());
    assert_pending!(timekeeper.poll());
    assert_pending!(other.poll());
    queue.add("now").unwrap();
    assert!(other.is_woken());
    assert!(!timekeeper.is_woken());
}

#[tokio::test(start_paused = true)]
async fn a_timekeeper_that_gets_a_key_hands_the_time_over() {
    let queue = WorkQueue::new();
    queue.add_after("later", ms(10)).unwrap();
    let tasks = [getter(&queue), getter(&queue)];
    settle().await;
    queue.add("now").unwrap();
    let mut got = Vec::new();
    for task in tasks {
        got.push(ended(task).await);
    }
    got.sort_unstable();
    assert_eq!(got, [Some("later"), Some("now")]);
}

#[tokio::test(start_paused = true)]
async fn an_earlier_delay_is_kept_by_a_task_that_waits_for_a_later_one() {
    let queue = WorkQueue::new();
    queue.add_after("late", ms(1000)).unwrap();
    let task = getter(&queue);
    settle().await;
    queue.add_after("early", ms(10)).unwrap();
    settle().await;
    advance(ms(10)).await;
    settle().await;
    assert!(task.is_finished());
    assert_eq!(ended(task).await, Some("early"));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_key_becomes_ready_while_all_workers_are_busy() {
    let queue = WorkQueue::new();
    queue.add("busy").unwrap();
    let busy = queue.get().await.unwrap();
    queue.add_after("delayed", ms(10)).unwrap();
    advance(ms(10)).await;
    assert_eq!((queue.len(), queue.waiting_len()), (1, 0));
    busy.done();
    assert_eq!(queue.get().await.map(Taken::into_key), Some("delayed"));
}

#[tokio::test(start_paused = true)]
async fn dropping_get_at_any_point_loses_no_key() {
    let queue = WorkQueue::new();
    for key in 0..20 {
        // Dropped unpolled, waiting, notified, and as timekeeper.
        drop(queue.get());
        let mut waiting = spawn(queue.get());
        assert_pending!(waiting.poll());
        queue.add_after(key, ms(5)).unwrap();
        assert_pending!(waiting.poll());
        advance(ms(5)).await;
        assert!(waiting.is_woken());
        drop(waiting);
        assert_eq!(queue.len(), 1);
        assert_eq!(queue.get().await.map(|taken| *taken), Some(key));
    }
    assert_eq!((queue.len(), queue.processing_len(), queue.waiting_len()), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_or_panicking_worker_finishes_its_key() {
    let queue = WorkQueue::new();
    queue.add("panics").unwrap();
    queue.add("hangs").unwrap();
    let panicking = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _taken = queue.get().await;
            queue.add("panics").unwrap();
            panic!("on purpose");
        }
    });
    assert!(panicking.await.unwrap_err().is_panic());
    let hanging = tokio::spawn({
        let queue = queue.clone();
        async move {
            let _taken = queue.get().await;
            std::future::pending::<()>().await;
        }
    });
    settle().await;
    assert_eq!(queue.processing_len(), 1);
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());
    assert_eq!((queue.processing_len(), queue.len()), (0, 1));
    assert_eq!(queue.get().await.map(Taken::into_key), Some("panics"));
}

#[tokio::test(start_paused = true)]
async fn an_explicit_done_outlives_its_guard() {
    let queue = WorkQueue::new();
    queue.add("a").unwrap();
    let first = queue.get().await.unwrap();
    queue.done(&"a").unwrap();
    queue.add("a").unwrap();
    let second = queue.get().await.unwrap();
    drop(first); // must not finish what the second holds
    assert_eq!(queue.processing_len(), 1);
    second.done();
    assert_eq!(queue.processing_len(), 0);
}

#[tokio::test]
async fn a_busy_worker_lets_other_tasks_run() {
    const ENOUGH: u64 = 100_000;
    let queue = WorkQueue::new();
    queue.add(0_u64).unwrap();
    let worker = tokio::spawn({
        let queue = queue.clone();
        async move {
            let mut runs = 0_u64;
            while let Some(key) = queue.get().await {
                runs += 1;
                if runs == ENOUGH {
                    break;
                }
                let _ = queue.add(*key); // always another one
            }
            runs
        }
    });
    // One thread: this line is reached again only if the worker yields.
    tokio::task::yield_now().await;
    queue.shut_down();
    let runs = worker.await.unwrap();
    assert!(runs > 0 && runs < ENOUGH, "the worker ran {runs} times without a pause");
}

/// Many producers, workers that give up waiting, and delays at once: every key runs exactly once and nothing hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_is_lost_between_threads() {
    const KEYS: usize = 2000;
    let queue = WorkQueue::new();
    let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..KEYS).map(|_| AtomicUsize::new(0)).collect());
    let mut workers = JoinSet::new();
    for worker in 0..8 {
        let (queue, runs) = (queue.clone(), Arc::clone(&runs));
        workers.spawn(async move {
            let count = |taken: &Taken<usize>| runs[**taken].fetch_add(1, Ordering::Relaxed);
            loop {
                // Every other worker first waits without patience, and must not take a wake-up with it.
                if worker % 2 == 0 {
                    match spawn(queue.get()).poll() {
                        Poll::Ready(None) => return,
                        Poll::Ready(Some(taken)) => drop(count(&taken)),
                        Poll::Pending => {}
                    }
                    tokio::task::yield_now().await;
                }
                let Some(taken) = queue.get().await else { return };
                count(&taken);
            }
        });
    }
    let mut producers = JoinSet::new();
    for producer in 0..4 {
        let queue = queue.clone();
        producers.spawn(async move {
            for key in (producer..KEYS).step_by(4) {
                if key % 3 == 0 {
                    queue.add_after(key, ms(1 + key as u64 % 5)).unwrap();
                } else {
                    queue.add(key).unwrap();
                }
                if key % 16 == 0 {
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    producers.join_all().await;
    let all_ran = async {
        while runs.iter().any(|runs| runs.load(Ordering::Relaxed) == 0) {
            tokio::task::yield_now().await;
        }
    };
    // Only so that a lost key fails instead of hanging.
    tokio::time::timeout(Duration::from_secs(120), all_ran).await.unwrap();
    queue.shut_down_with_drain().await.unwrap();
    workers.join_all().await;
    assert!(runs.iter().all(|runs| runs.load(Ordering::Relaxed) == 1));
    assert_eq!((queue.len(), queue.processing_len(), queue.waiting_len()), (0, 0, 0));
}

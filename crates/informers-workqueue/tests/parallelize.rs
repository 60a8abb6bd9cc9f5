//! `parallelize_until`: every piece once, cancellation, panics.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use informers_workqueue::{Parallelize, Parallelized, parallelize_until};
use tokio::sync::Mutex;

fn counters(pieces: usize) -> Arc<Vec<AtomicUsize>> {
    Arc::new((0..pieces).map(|_| AtomicUsize::new(0)).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn parallelize_until_visits_each_piece_once() {
    for (pieces, workers, chunk_size) in [(1000, 10, 1), (1000, 10, 10), (1000, 10, 100), (999, 10, 13)] {
        let seen = counters(pieces);
        let work = {
            let seen = seen.clone();
            move |piece: usize| {
                let seen = seen.clone();
                async move {
                    seen[piece].fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        let done = Parallelize::new(workers, pieces).chunk_size(chunk_size).until(pending(), work).await;
        assert_eq!((done.completed, done.panicked, done.skipped), (pieces, 0, 0));
        assert!(seen.iter().all(|seen| seen.load(Ordering::Relaxed) == 1), "chunks of {chunk_size}");
    }
}

#[tokio::test]
async fn no_pieces_no_workers_no_chunk() {
    let nothing = parallelize_until(pending(), 4, 0, |_| async { unreachable!() }).await;
    assert_eq!(nothing, Parallelized::default());
    let done = Parallelize::new(0, 3).chunk_size(0).until(pending(), |_| async {}).await;
    assert_eq!(done.completed, 3);
}

#[tokio::test]
async fn chunks_are_handed_out_in_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let work = {
        let order = order.clone();
        move |piece| {
            let order = order.clone();
            async move { order.lock().await.push(piece) }
        }
    };
    Parallelize::new(1, 10).chunk_size(3).until(pending(), work).await;
    assert_eq!(*order.lock().await, (0..10).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_cancellation_before_the_start_runs_nothing() {
    let done = parallelize_until(async {}, 4, 100, |_| async { unreachable!() }).await;
    assert_eq!((done.completed, done.skipped), (0, 100));
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_lets_begun_pieces_end_and_begins_no_other() {
    let cancel = tokio::time::sleep(Duration::from_millis(25));
    let work = |_| tokio::time::sleep(Duration::from_millis(10));
    let begun = tokio::time::Instant::now();
    let done = Parallelize::new(2, 100).chunk_size(10).until(cancel, work).await;
    assert_eq!((done.completed, done.panicked, done.skipped), (6, 0, 94));
    assert_eq!(begun.elapsed(), Duration::from_millis(30));
}

#[tokio::test]
async fn a_panic_harms_no_other_piece() {
    let seen = counters(100);
    let work = {
        let seen = seen.clone();
        move |piece: usize| {
            assert_ne!(piece, 7, "on purpose, outside the future");
            let seen = seen.clone();
            async move {
                tokio::task::yield_now().await;
                assert_ne!(piece, 50, "on purpose, inside the future");
                seen[piece].fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    let done = Parallelize::new(3, 100).chunk_size(5).until(pending(), work).await;
    assert_eq!((done.completed, done.panicked, done.skipped), (98, 2, 0));
    assert_eq!(seen.iter().map(|seen| seen.load(Ordering::Relaxed)).sum::<usize>(), 98);
}

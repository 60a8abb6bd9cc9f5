//! Many pieces of work, a few workers.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use tokio::task::JoinSet;

/// What [`Parallelize::until`] did.
///
/// ```
/// # tokio_test::block_on(async {
/// let done = informers_workqueue::parallelize_until(std::future::pending(), 4, 10, |_piece| async {}).await;
/// assert_eq!((done.completed, done.panicked, done.skipped), (10, 0, 0));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Parallelized {
    /// Pieces whose future ended.
    pub completed: usize,
    /// Pieces that panicked. The panic hook has reported them.
    pub panicked: usize,
    /// Pieces that were not begun because of the cancellation.
    pub skipped: usize,
}

/// Works on the pieces `0..pieces` with some workers, one piece at a time each; client-go's `ParallelizeUntil`.
/// Short for [`Parallelize::new`] and [`Parallelize::until`].
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// # tokio_test::block_on(async {
/// let sum = Arc::new(AtomicUsize::new(0));
/// informers_workqueue::parallelize_until(std::future::pending(), 4, 10, {
///     let sum = sum.clone();
///     move |piece| {
///         let sum = sum.clone();
///         async move {
///             sum.fetch_add(piece, Ordering::Relaxed);
///         }
///     }
/// })
/// .await;
/// assert_eq!(sum.load(Ordering::Relaxed), 45);
/// # });
/// ```
pub async fn parallelize_until<F, Fut>(
    cancel: impl Future<Output = ()>,
    workers: usize,
    pieces: usize,
    work: F,
) -> Parallelized
where
    F: Fn(usize) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    Parallelize::new(workers, pieces).until(cancel, work).await
}

/// [`parallelize_until`] with a chunk size.
///
/// ```
/// use informers_workqueue::Parallelize;
///
/// # tokio_test::block_on(async {
/// let many = Parallelize::new(8, 100_000).chunk_size(1000);
/// assert_eq!(many.until(std::future::pending(), |_piece| async {}).await.completed, 100_000);
/// # });
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub struct Parallelize {
    workers: usize,
    pieces: usize,
    chunk_size: usize,
}

impl Parallelize {
    /// `pieces` pieces of work on at most `workers` workers. Zero workers are taken as one.
    pub fn new(workers: usize, pieces: usize) -> Self {
        Self { workers: workers.max(1), pieces, chunk_size: 1 }
    }

    /// How many pieces a worker fetches at once. Default 1, zero is taken as 1. Worth raising when the pieces are many
    /// and small.
    pub fn chunk_size(mut self, pieces: usize) -> Self {
        self.chunk_size = pieces.max(1);
        self
    }

    /// Runs the workers as tasks and waits for all of them. Chunks are handed out in order.
    ///
    /// `cancel` is asked before anything begins, and afterwards no worker begins another piece once it has resolved;
    /// pieces that have begun are waited for. A piece that panics counts as panicked and harms no other.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the workers at their next await point.
    ///
    /// # Panics
    /// When polled outside a Tokio runtime.
    pub async fn until<F, Fut>(self, cancel: impl Future<Output = ()>, work: F) -> Parallelized
    where
        F: Fn(usize) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let job = Arc::new(Job {
            work,
            pieces: self.pieces,
            chunk_size: self.chunk_size,
            next: AtomicUsize::new(0),
            cancelled: AtomicBool::new(false),
        });
        let mut cancel = pin!(cancel);
        let mut cancelled = poll_fn(|cx| Poll::Ready(cancel.as_mut().poll(cx).is_ready())).await;
        let mut workers = JoinSet::new();
        if !cancelled {
            for _ in 0..self.workers.min(self.pieces.div_ceil(self.chunk_size)) {
                workers.spawn(Arc::clone(&job).worker());
            }
        }
        let mut total = Parallelized::default();
        poll_fn(|cx| {
            if !cancelled && cancel.as_mut().poll(cx).is_ready() {
                cancelled = true;
                job.cancelled.store(true, Ordering::Release);
            }
            while let Some(ended) = std::task::ready!(workers.poll_join_next(cx)) {
                // A worker catches the panics of its pieces, so it can only fail by the end of the runtime.
                if let Ok((completed, panicked)) = ended {
                    total.completed += completed;
                    total.panicked += panicked;
                }
            }
            Poll::Ready(())
        })
        .await;
        total.skipped = self.pieces - total.completed - total.panicked;
        total
    }
}

struct Job<F> {
    work: F,
    pieces: usize,
    chunk_size: usize,
    next: AtomicUsize,
    cancelled: AtomicBool,
}

impl<F, Fut> Job<F>
where
    F: Fn(usize) -> Fut,
    Fut: Future<Output = ()>,
{
    async fn worker(self: Arc<Self>) -> (usize, usize) {
        let (mut completed, mut panicked) = (0, 0);
        while let Some(start) = self.next_chunk() {
            for piece in start..start.saturating_add(self.chunk_size).min(self.pieces) {
                if self.cancelled.load(Ordering::Acquire) {
                    return (completed, panicked);
                }
                if self.catch(piece).await { completed += 1 } else { panicked += 1 }
            }
        }
        (completed, panicked)
    }

    fn next_chunk(&self) -> Option<usize> {
        let advance = |start: usize| (start < self.pieces).then(|| start.saturating_add(self.chunk_size));
        self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance).ok()
    }

    /// `false` if the piece panicked.
    async fn catch(&self, piece: usize) -> bool {
        let mut running = pin!(async { (self.work)(piece).await });
        poll_fn(|cx: &mut Context<'_>| match catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(cx))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(())) => Poll::Ready(true),
            Err(_panic) => Poll::Ready(false),
        })
        .await
    }
}

//! Waiting until everything is worked off.

use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::time::Sleep;

use super::Handle;
use super::shared::{DrainEnd, clock};
use crate::Error;

/// The future of [`WorkQueue::shut_down_with_drain`](super::WorkQueue::shut_down_with_drain): resolves when the work
/// has ended.
///
/// It borrows nothing and may be moved into a task. Several drains of one queue all end together.
///
/// ```
/// use std::time::Duration;
/// use informers_workqueue::{Error, WorkQueue};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Error<&'static str>> {
/// let queue = WorkQueue::new();
/// queue.add("queued")?;
/// queue.add_after("waiting", Duration::from_secs(60))?;
/// let drain = queue.shut_down_with_drain();
/// assert_eq!(drain.abandoned(), ["waiting"]);
/// queue.get().await.unwrap().done();
/// drain.await?;
/// # Ok(()) }
/// ```
#[must_use = "the shutdown has begun, but nobody waits for the work to end"]
pub struct Drain<T: Clone + Eq + Hash> {
    shared: Handle<T>,
    number: u64,
    abandoned: Vec<T>,
    deadline: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
}

// Nothing is pinned but the timer, which has a box of its own.
impl<T: Clone + Eq + Hash> Unpin for Drain<T> {}

impl<T: Clone + Eq + Hash> Drain<T> {
    pub(super) fn start(shared: &Handle<T>) -> Self {
        let (number, abandoned) = shared.with(|state, now| {
            let abandoned = state.machine.shut_down_with_drain(now);
            (state.drains.register(Waker::noop().clone()), abandoned)
        });
        Self { shared: Arc::clone(shared), number, abandoned, deadline: None, timer: None }
    }

    /// Ends the waiting with [`Error::DeadlinePassed`] once this much time has passed from now. The time is capped at
    /// what the clock can express.
    pub fn within(self, patience: Duration) -> Self {
        match clock().checked_add(patience) {
            Some(deadline) => self.until(deadline),
            None => self,
        }
    }

    /// Ends the waiting with [`Error::DeadlinePassed`] at this moment of Tokio's clock.
    pub fn until(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self.timer = None;
        self
    }

    /// The keys that waited for their time when the shutdown began and will not run, in order of time.
    pub fn abandoned(&self) -> &[T] {
        &self.abandoned
    }
}

impl<T: Clone + Eq + Hash> Future for Drain<T> {
    type Output = Result<(), Error<T>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let number = this.number;
        let (end, queued, processing) = this.shared.with(|state, _| {
            let end = state.drain_ends.get(&number).copied();
            if end.is_none() {
                state.drains.update(number, cx.waker());
            }
            (end, state.machine.len(), state.machine.processing_len())
        });
        match end {
            Some(DrainEnd::Drained) => return Poll::Ready(Ok(())),
            Some(DrainEnd::Released { queued, processing }) => {
                return Poll::Ready(Err(Error::Released { queued, processing }));
            }
            None => {}
        }
        let Some(deadline) = this.deadline else { return Poll::Pending };
        let deadline = tokio::time::Instant::from_std(deadline);
        let timer = this.timer.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(deadline)));
        timer.as_mut().poll(cx).map(|()| Err(Error::DeadlinePassed { queued, processing }))
    }
}

impl<T: Clone + Eq + Hash> Drop for Drain<T> {
    fn drop(&mut self) {
        self.shared.with(|state, _| {
            state.drains.remove(self.number);
            state.drain_ends.remove(&self.number);
        });
    }
}

impl<T: Clone + Eq + Hash + fmt::Debug> fmt::Debug for Drain<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain")
            .field("abandoned", &self.abandoned)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

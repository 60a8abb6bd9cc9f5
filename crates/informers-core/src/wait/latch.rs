//! What is settled once.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll, Waker};

use super::Waiters;
use super::lock::{Mutex, MutexGuard};

/// An outcome that comes once, for which any number of tasks may wait, before and after it came.
///
/// ```
/// use informers_core::wait::Latch;
///
/// # futures_util::FutureExt::now_or_never(async {
/// let synced = Latch::new();
/// assert_eq!(synced.outcome(), None);
/// assert!(synced.settle("synced"));
/// assert!(!synced.settle("stopped"), "the first outcome stays");
/// assert_eq!(synced.settled().await, "synced");
/// # }).unwrap();
/// ```
pub struct Latch<S> {
    state: Mutex<State<S>>,
}

struct State<S> {
    outcome: Option<S>,
    waiters: Waiters,
}

impl<S> Latch<S> {
    /// An open latch.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Mutex::new(State { outcome: None, waiters: Waiters::new() }) }
    }

    /// Settles it and wakes all who wait. Gives `false`, and changes nothing, if it is settled already.
    pub fn settle(&self, outcome: S) -> bool {
        let waiting = {
            let mut state = self.state();
            if state.outcome.is_some() {
                return false;
            }
            state.outcome = Some(outcome);
            state.waiters.take()
        };
        waiting.into_iter().for_each(Waker::wake);
        true
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone> Latch<S> {
    /// The outcome, if it has come.
    #[must_use]
    pub fn outcome(&self) -> Option<S> {
        self.state().outcome.clone()
    }

    /// Waits for the outcome; for ever, if nobody settles it.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing for the others.
    pub fn settled(&self) -> Settled<'_, S> {
        Settled { latch: self, slot: None }
    }
}

impl<S> Default for Latch<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: fmt::Debug> fmt::Debug for Latch<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Latch").field(&self.state().outcome).finish()
    }
}

/// Resolves to the outcome of a [`Latch`]; see [`Latch::settled`].
#[must_use = "futures do nothing unless they are awaited"]
pub struct Settled<'a, S> {
    latch: &'a Latch<S>,
    slot: Option<usize>,
}

impl<S: Clone> Future for Settled<'_, S> {
    type Output = S;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<S> {
        let former = {
            let mut state = self.latch.state();
            if let Some(outcome) = &state.outcome {
                return Poll::Ready(outcome.clone());
            }
            let slot = *self.slot.get_or_insert_with(|| state.waiters.join());
            state.waiters.wait(slot, cx.waker())
        };
        drop(former);
        Poll::Pending
    }
}

impl<S> Drop for Settled<'_, S> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            let former = self.latch.state().waiters.leave(slot);
            drop(former);
        }
    }
}

impl<S> fmt::Debug for Settled<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settled").field("waits", &self.slot.is_some()).finish_non_exhaustive()
    }
}

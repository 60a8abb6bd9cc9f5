//! What is settled once.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll};

use super::lock::{Mutex, MutexGuard};
use super::{Caller, Waiters};

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
        waiting.wake();
        true
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Clone> Latch<S> {
    /// The outcome, if it has come. It is cloned under the latch's lock, so the clone of an `S` must not ask this latch.
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
        Caller::poll(cx, |caller| {
            let mut state = self.latch.state();
            if let Some(outcome) = &state.outcome {
                return Some(Poll::Ready(outcome.clone()));
            }
            let slot = *self.slot.get_or_insert_with(|| state.waiters.join());
            let unused = caller.wait_among(&mut state.waiters, slot)?;
            drop(state);
            drop(unused);
            Some(Poll::Pending)
        })
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

#[cfg(all(test, not(informers_loom)))]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn all_who_wait_are_woken_once_and_the_newest_waker_counts() {
        let latch = Latch::new();
        let woken: [Arc<Woken>; 4] = std::array::from_fn(|_| Arc::default());
        let wakers = woken.each_ref().map(|woken| Waker::from(Arc::clone(woken)));
        let (mut first, mut second) = (pin!(latch.settled()), pin!(latch.settled()));
        let mut gives_up = Box::pin(latch.settled());
        assert!(first.as_mut().poll(&mut Context::from_waker(&wakers[0])).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[1])).is_pending());
        assert!(gives_up.as_mut().poll(&mut Context::from_waker(&wakers[2])).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&wakers[3])).is_pending());
        drop(gives_up);
        assert!(latch.settle(7) && !latch.settle(8));
        assert_eq!(woken.map(|woken| woken.0.load(Ordering::SeqCst)), [1, 0, 0, 1]);
        for waiter in [first, second] {
            assert_eq!(waiter.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(7));
        }
        assert_eq!((latch.outcome(), format!("{latch:?}")), (Some(7), "Latch(Some(7))".to_owned()));
    }

    #[test]
    fn a_number_that_was_left_is_used_again_and_one_that_nobody_has_is_passed_over() {
        let mut waiters = Waiters::new();
        let (first, second) = (waiters.join(), waiters.join());
        assert!(waiters.wait(second, Waker::noop().clone()).is_none());
        assert!(waiters.leave(first).is_none());
        let waker = || Waker::noop().clone();
        assert!(waiters.wait(first, waker()).is_some() && waiters.wait(99, waker()).is_some(), "given back");
        assert_eq!(waiters.take().len(), 1, "who left is not woken");
        assert_eq!(waiters.join(), first);
    }
}

//! Wake-ups on their way from under a lock to behind it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Wakers that were taken out under a lock, to be woken once it is released.
///
/// A waker runs code of its task's executor, which may panic. The panic hook tells of that; it costs neither the others,
/// who are woken all the same, nor whoever wakes them, who has done nothing wrong. All are woken too if this is dropped
/// because something else panicked.
///
/// ```
/// use std::task::Waker;
/// use informers_core::wait::{Waiters, Wakes};
///
/// let mut producers = Waiters::new();
/// let slot = producers.join();
/// let _ = producers.wait(slot, Waker::noop().clone());
///
/// let consumer = Some(Waker::noop().clone());
/// let wakes = Wakes::from(consumer).and(producers.take());
/// assert_eq!(wakes.len(), 2);
/// wakes.wake();
/// ```
#[must_use = "whoever waits is woken when this is dropped, which should not be under a lock"]
#[derive(Debug, Default)]
pub struct Wakes(Vec<Waker>);

impl Wakes {
    /// Nobody.
    #[inline]
    pub const fn none() -> Self {
        Self(Vec::new())
    }

    /// With the others too.
    // Whoever changes what others wait for calls this each time, mostly for nobody.
    #[inline]
    pub fn and(mut self, mut others: Self) -> Self {
        if self.0.is_empty() {
            return others;
        }
        self.0.append(&mut others.0);
        self
    }

    /// Wakes all; the same as dropping it.
    #[inline]
    pub fn wake(self) {
        drop(self);
    }

    /// How many there are to be woken.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is nobody to be woken.
    #[must_use]
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Option<Waker>> for Wakes {
    #[inline]
    fn from(waker: Option<Waker>) -> Self {
        waker.map_or(Self::none(), |waker| Self(vec![waker]))
    }
}

impl FromIterator<Waker> for Wakes {
    fn from_iter<I: IntoIterator<Item = Waker>>(wakers: I) -> Self {
        Self(wakers.into_iter().collect())
    }
}

impl Drop for Wakes {
    #[inline]
    fn drop(&mut self) {
        for waker in self.0.drain(..) {
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
    }
}

#[cfg(all(test, not(informers_loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;
    use crate::wait::Latch;

    /// Counts how often it is woken, and panics if it is told to.
    #[derive(Default)]
    struct Task {
        woken: AtomicUsize,
        panics: bool,
    }

    impl Task {
        fn new(panics: bool) -> Arc<Self> {
            Arc::new(Self { panics, ..Self::default() })
        }

        fn woken(&self) -> usize {
            self.woken.load(Ordering::SeqCst)
        }
    }

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.woken.fetch_add(1, Ordering::SeqCst);
            assert!(!self.panics, "this executor is broken");
        }
    }

    #[test]
    fn a_waker_that_panics_takes_no_other_wake_up_with_it() {
        let tasks = [false, true, false, true, false].map(Task::new);
        let wakes: Wakes = tasks.iter().cloned().map(Waker::from).collect();
        wakes.wake();
        assert_eq!(tasks.each_ref().map(|task| task.woken()), [1; 5]);
    }

    #[test]
    fn who_waits_is_woken_though_something_panics_before() {
        let task = Task::new(true);
        let wakes = Wakes::from(Some(Waker::from(Arc::clone(&task))));
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _wakes = wakes;
            std::panic::panic_any("first");
        }));
        assert_eq!((*unwound.unwrap_err().downcast::<&str>().unwrap(), task.woken()), ("first", 1));
    }

    #[test]
    fn a_latch_wakes_the_others_though_one_waker_panics() {
        use std::pin::pin;
        let latch = Latch::new();
        let tasks = [true, false].map(Task::new);
        let mut waits = [pin!(latch.settled()), pin!(latch.settled())];
        for (wait, task) in waits.iter_mut().zip(&tasks) {
            let waker = Waker::from(Arc::clone(task));
            assert!(wait.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
        }
        assert!(latch.settle(1));
        assert_eq!((tasks.map(|task| task.woken()), latch.outcome()), ([1, 1], Some(1)));
    }
}

//! A task's waker on its way under a lock.

use std::fmt;
use std::task::{Context, Poll, Waker};

use super::Waiters;

/// Whoever polls: its waker is cloned only where it is not waited with already, and never under a lock, since that may run
/// code of an executor.
///
/// ```
/// use std::sync::Mutex;
/// use std::task::{Context, Poll, Waker};
/// use informers_core::wait::Caller;
///
/// #[derive(Default)]
/// struct Shared { ready: bool, consumer: Option<Waker> }
///
/// fn poll_ready(shared: &Mutex<Shared>, cx: &mut Context<'_>) -> Poll<()> {
///     Caller::poll(cx, |caller| {
///         let mut state = shared.lock().unwrap();
///         if state.ready {
///             return Some(Poll::Ready(()));
///         }
///         let former = caller.wait_in(&mut state.consumer)?;
///         drop(state);
///         drop(former);
///         Some(Poll::Pending)
///     })
/// }
///
/// let shared = Mutex::new(Shared::default());
/// let mut cx = Context::from_waker(Waker::noop());
/// assert!(poll_ready(&shared, &mut cx).is_pending());
/// shared.lock().unwrap().ready = true;
/// assert!(poll_ready(&shared, &mut cx).is_ready());
/// ```
pub struct Caller<'a> {
    waker: &'a Waker,
    clone: Option<Waker>,
}

impl<'a> Caller<'a> {
    /// Looks at a condition under its lock, which `look` takes and releases; a second time if the waker has to be cloned,
    /// which the methods of this tell by giving nothing.
    pub fn poll<R>(cx: &Context<'a>, mut look: impl FnMut(&mut Caller<'a>) -> Option<Poll<R>>) -> Poll<R> {
        let mut caller = Self { waker: cx.waker(), clone: None };
        loop {
            if let Some(poll) = look(&mut caller) {
                return poll;
            }
            caller.clone = Some(caller.waker.clone());
        }
    }

    /// Waits in a place for one task. Gives what is to be dropped after the lock is released.
    pub fn wait_in(&mut self, place: &mut Option<Waker>) -> Option<Option<Waker>> {
        if place.as_ref().is_some_and(|present| present.will_wake(self.waker)) {
            return Some(None);
        }
        Some(place.replace(self.clone.take()?))
    }

    /// Waits among others, under a number of its own. Gives what is to be dropped after the lock is released.
    pub fn wait_among(&mut self, waiters: &mut Waiters, at: usize) -> Option<Option<Waker>> {
        if waiters.wakes(at, self.waker) {
            return Some(None);
        }
        Some(waiters.wait(at, self.clone.take()?))
    }
}

impl fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Caller").field("cloned", &self.clone.is_some()).finish_non_exhaustive()
    }
}

#[cfg(all(test, not(informers_loom)))]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    struct Task;

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    #[test]
    fn a_waker_is_cloned_only_where_it_is_not_there_already() {
        let (task, other) = (Arc::new(Task), Arc::new(Task));
        let (waker, another) = (Waker::from(Arc::clone(&task)), Waker::from(Arc::clone(&other)));
        let clones = |of: &Arc<Task>| Arc::strong_count(of) - 2;
        let (mut place, mut waiters) = (None, Waiters::new());
        let slot = waiters.join();
        let mut poll = |waker: &Waker, ready: bool| {
            let mut looks = 0;
            let polled = Caller::poll(&Context::from_waker(waker), |caller| {
                looks += 1;
                if ready {
                    return Some(Poll::Ready(()));
                }
                drop(caller.wait_in(&mut place)?);
                Some(Poll::Pending)
            });
            (polled.is_ready(), looks)
        };
        assert_eq!(poll(&waker, true), (true, 1));
        assert_eq!(clones(&task), 0, "who need not wait leaves nothing");
        assert_eq!(poll(&waker, false), (false, 2));
        assert_eq!(poll(&waker, false), (false, 1), "it is there already");
        assert_eq!((clones(&task), clones(&other)), (1, 0));
        assert_eq!(poll(&another, false), (false, 2), "another task takes its place");
        assert_eq!((clones(&task), clones(&other)), (0, 1));

        let mut poll = |waker: &Waker| {
            let mut looks = 0;
            let polled = Caller::poll(&Context::from_waker(waker), |caller| {
                looks += 1;
                drop(caller.wait_among(&mut waiters, slot)?);
                Some(Poll::<()>::Pending)
            });
            (polled.is_ready(), looks)
        };
        assert_eq!([poll(&waker), poll(&waker), poll(&another)], [(false, 2), (false, 1), (false, 2)]);
        assert_eq!((clones(&task), clones(&other)), (0, 2));
        assert_eq!(waiters.take().len(), 1);
    }
}

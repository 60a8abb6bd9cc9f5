//! Tasks that wait for something that happens to all of them.

use std::task::Waker;

use super::Wakes;

/// The wakers of several tasks, each under its own number, to lie beside a condition under the lock that guards it.
///
/// Whoever looks at the condition and [waits](Self::wait) under one hold of the lock cannot miss a change; whoever
/// changes the condition [takes](Self::take) all who wait and wakes them when the lock is released. A waker may
/// run code when it is cloned, woken or dropped, which is why it is cloned before (a [`Caller`](super::Caller) sees to
/// that), and why those that are not needed any more are given back.
///
/// ```
/// use std::task::Waker;
/// use informers_core::wait::Waiters;
///
/// let mut waiters = Waiters::new();
/// let (first, second) = (waiters.join(), waiters.join());
/// assert!(waiters.wait(first, Waker::noop().clone()).is_none());
/// assert!(waiters.wait(second, Waker::noop().clone()).is_none());
/// assert!(waiters.leave(second).is_some());
/// assert_eq!(waiters.take().len(), 1);
/// assert!(waiters.take().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Waiters {
    slots: Vec<Slot>,
    waiting: usize,
}

#[derive(Debug)]
enum Slot {
    Free,
    Idle,
    Waiting(Waker),
}

impl Waiters {
    /// Nobody.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), waiting: 0 }
    }

    /// A number for one more task. It is taken until [`leave`](Self::leave).
    #[must_use = "the number is taken until it is given back"]
    pub fn join(&mut self) -> usize {
        match self.slots.iter().position(|slot| matches!(slot, Slot::Free)) {
            Some(at) => {
                self.slots[at] = Slot::Idle;
                at
            }
            None => {
                self.slots.push(Slot::Idle);
                self.slots.len() - 1
            }
        }
    }

    /// Frees the number; gives a waker that is not needed any more, to be dropped after the lock is released.
    #[must_use = "drop it after the lock is released"]
    pub fn leave(&mut self, at: usize) -> Option<Waker> {
        self.set(at, Slot::Free)
    }

    /// Has this task woken at the next change, by a waker that was cloned before the lock was taken; gives the one that is
    /// not needed, the former or this, as [`leave`](Self::leave) does. A number that nobody has is passed over.
    #[must_use = "drop it after the lock is released"]
    pub fn wait(&mut self, at: usize, waker: Waker) -> Option<Waker> {
        match self.slots.get(at) {
            Some(Slot::Free) | None => Some(waker),
            Some(Slot::Idle | Slot::Waiting(_)) => self.set(at, Slot::Waiting(waker)),
        }
    }

    /// Whether the task of this number waits already, by a waker that wakes the same.
    #[must_use]
    pub fn wakes(&self, at: usize, waker: &Waker) -> bool {
        matches!(self.slots.get(at), Some(Slot::Waiting(present)) if present.will_wake(waker))
    }

    fn set(&mut self, at: usize, slot: Slot) -> Option<Waker> {
        let place = self.slots.get_mut(at)?;
        self.waiting += usize::from(matches!(slot, Slot::Waiting(_)));
        match std::mem::replace(place, slot) {
            Slot::Waiting(waker) => {
                self.waiting -= 1;
                Some(waker)
            }
            Slot::Free | Slot::Idle => None,
        }
    }

    /// All that wait now, to be woken after the lock is released.
    #[inline]
    pub fn take(&mut self) -> Wakes {
        if self.waiting == 0 { Wakes::none() } else { self.take_some() }
    }

    fn take_some(&mut self) -> Wakes {
        self.waiting = 0;
        let waiting = self.slots.iter_mut().filter(|slot| matches!(slot, Slot::Waiting(_)));
        waiting
            .filter_map(|slot| match std::mem::replace(slot, Slot::Idle) {
                Slot::Waiting(waker) => Some(waker),
                Slot::Free | Slot::Idle => None,
            })
            .collect()
    }
}

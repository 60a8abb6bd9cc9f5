//! Tasks that wait for something that happens to all of them.

use std::task::Waker;

/// Wakers of several tasks, each under its own number. One that is registered under the lock that guards the
/// condition cannot miss a change.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
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
    /// A number for one more waiter.
    pub(crate) fn join(&mut self) -> usize {
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
    pub(crate) fn leave(&mut self, at: usize) -> Option<Waker> {
        self.set(at, Slot::Free)
    }

    /// Has this waiter woken at the next change; gives its former waker as [`leave`](Self::leave) does.
    #[must_use]
    pub(crate) fn wait(&mut self, at: usize, waker: &Waker) -> Option<Waker> {
        if matches!(self.slots.get(at), Some(Slot::Waiting(registered)) if registered.will_wake(waker)) {
            return None;
        }
        self.set(at, Slot::Waiting(waker.clone()))
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
    pub(crate) fn take(&mut self) -> Vec<Waker> {
        if self.waiting == 0 {
            return Vec::new();
        }
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

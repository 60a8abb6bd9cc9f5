//! The tasks that wait, and who is woken.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Waker;

/// Tasks that wait, the longest first.
///
/// A waiter that is notified leaves the list; it then either finds what it waited for, or registers again, or is
/// dropped. Who drops a waiter must ask [`remove`](Self::remove) whether it had been notified, and if so pass the
/// notification on: that is what makes a lost wake-up impossible.
#[derive(Debug, Default)]
pub(super) struct Waiters {
    /// Numbers ascend.
    waiting: VecDeque<(u64, Waker)>,
    numbers: u64,
    /// No longer needed. Dropping a waker may run code of its task, so that waits for the release of the lock.
    retired: Vec<Waker>,
}

impl Waiters {
    /// Whether nobody waits and nothing is left of those who did.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.retired.is_empty()
    }

    pub(super) fn register(&mut self, waker: Waker) -> u64 {
        self.numbers += 1;
        self.waiting.push_back((self.numbers, waker));
        self.numbers
    }

    /// Replaces the waker. `false` if the waiter has been notified since it registered.
    pub(super) fn update(&mut self, number: u64, waker: &Waker) -> bool {
        let Ok(index) = self.index(number) else { return false };
        if let Some((_, present)) = self.waiting.get_mut(index)
            && !present.will_wake(waker)
        {
            self.retired.push(std::mem::replace(present, waker.clone()));
        }
        true
    }

    /// `false` if the waiter has been notified since it registered.
    pub(super) fn remove(&mut self, number: u64) -> bool {
        let removed = self.index(number).ok().and_then(|index| self.waiting.remove(index));
        let Some((_, waker)) = removed else { return false };
        self.retired.push(waker);
        true
    }

    /// Takes out the one that waits the longest, but `last` only if there is no other.
    pub(super) fn pop(&mut self, last: Option<u64>) -> Option<Waker> {
        let skip = self.waiting.len() > 1 && self.waiting.front().map(|&(number, _)| number) == last;
        self.waiting.remove(usize::from(skip)).map(|(_, waker)| waker)
    }

    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Waker> + use<> {
        std::mem::take(&mut self.waiting).into_iter().map(|(_, waker)| waker)
    }

    pub(super) fn first(&self) -> Option<(u64, &Waker)> {
        self.waiting.front().map(|(number, waker)| (*number, waker))
    }

    pub(super) fn waker(&self, number: u64) -> Option<&Waker> {
        let index = self.index(number).ok()?;
        self.waiting.get(index).map(|(_, waker)| waker)
    }

    fn index(&self, number: u64) -> Result<usize, usize> {
        self.waiting.binary_search_by_key(&number, |&(number, _)| number)
    }
}

/// Wakers to be woken, and others to be dropped, once the lock is released.
#[derive(Debug, Default)]
pub(super) struct Wakes {
    first: Option<Waker>,
    more: Vec<Waker>,
    retired: Vec<Waker>,
}

impl Wakes {
    pub(super) fn push(&mut self, waker: Waker) {
        match &self.first {
            None => self.first = Some(waker),
            Some(_) => self.more.push(waker),
        }
    }

    pub(super) fn retire(&mut self, waiters: &mut Waiters) {
        self.retired.append(&mut waiters.retired);
    }

    /// A waker runs code of its task's executor. If that panics, which the panic hook tells of, the others are woken
    /// all the same, and whoever wakes them goes on.
    pub(super) fn wake(self) {
        for waker in self.first.into_iter().chain(self.more) {
            let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
        }
        drop(self.retired);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;

    use super::*;

    struct Task {
        woken: AtomicUsize,
        panics: bool,
    }

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.woken.fetch_add(1, Ordering::SeqCst);
            assert!(!self.panics, "this executor is broken");
        }
    }

    #[test]
    fn a_waker_that_panics_takes_no_other_wake_up_with_it() {
        let tasks =
            [true, false, true, false].map(|panics| Arc::new(Task { woken: AtomicUsize::new(0), panics }));
        let mut wakes = Wakes::default();
        tasks.iter().cloned().map(Waker::from).for_each(|waker| wakes.push(waker));
        wakes.wake();
        assert_eq!(tasks.map(|task| task.woken.load(Ordering::SeqCst)), [1; 4]);
    }
}

//! How a queue ends: at once, or after a drain.

use std::hash::Hash;
use std::time::Instant;

use super::Machine;
use crate::Storage;

/// How far the shutdown of a queue has come.
///
/// ```
/// use informers_workqueue::{WorkQueue, machine::Phase};
///
/// let queue = WorkQueue::<u8>::new();
/// assert_eq!(queue.phase(), Phase::Running);
/// queue.shut_down();
/// assert_eq!(queue.phase(), Phase::ShuttingDown);
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
#[non_exhaustive]
pub enum Phase {
    /// Keys can be added.
    #[default]
    Running,
    /// No key can be added; what is queued is still handed out.
    ShuttingDown,
    /// Like `ShuttingDown`, and somebody waits for the end of the work.
    Draining,
    /// The work that a drain waited for has ended.
    Drained,
}

impl<T, S> Machine<T, S> {
    /// How far the shutdown has come.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Whether adds are refused.
    pub fn shutting_down(&self) -> bool {
        self.phase != Phase::Running
    }
}

impl<T: Eq + Hash + Clone, S: Storage<T>> Machine<T, S> {
    /// Refuses adds from now on, and releases the drains. What is queued is still handed out.
    ///
    /// Gives back the keys that still waited for their time and will not run, in order of time. Calling it again is
    /// harmless (see [`Parity::repeated_shut_down_ignored`](crate::Parity::repeated_shut_down_ignored)).
    pub fn shut_down(&mut self, now: Instant) -> Vec<T> {
        self.advance(now);
        if self.shut_down_before && self.parity.repeated_shut_down_ignored {
            return Vec::new();
        }
        self.shut_down_before = true;
        self.phase = Phase::ShuttingDown;
        self.abandon_waiting()
    }

    /// Like [`shut_down`](Self::shut_down), and goes from [`Phase::Draining`] to [`Phase::Drained`] as soon as no
    /// key is queued or taken (see [`Parity::drain_in_flight_only`](crate::Parity::drain_in_flight_only)), which may be at once.
    pub fn shut_down_with_drain(&mut self, now: Instant) -> Vec<T> {
        self.advance(now);
        self.phase = Phase::Draining;
        let abandoned = self.abandon_waiting();
        self.settle_drain();
        abandoned
    }

    pub(super) fn settle_drain(&mut self) {
        let queued_count = !self.parity.drain_in_flight_only && !self.storage.is_empty();
        if self.phase == Phase::Draining && self.processing == 0 && !queued_count {
            self.phase = Phase::Drained;
        }
    }

    fn abandon_waiting(&mut self) -> Vec<T> {
        let mut abandoned = Vec::new();
        for index in self.delays.take_all() {
            let Some(slot) = self.slots.get(index) else { continue };
            if slot.is_idle() {
                abandoned.extend(self.release(index));
            } else if !slot.dirty {
                abandoned.extend(slot.key().cloned());
            }
        }
        abandoned
    }
}

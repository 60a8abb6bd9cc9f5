//! What happened, for metrics.

use std::time::{Duration, Instant};

use super::Machine;

/// Something that happened and that metrics count. Recorded only if the machine keeps times.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::machine::{Machine, Observation};
///
/// let t0 = Instant::now();
/// let mut machine = Machine::default().keeping_times();
/// machine.add("a", t0).unwrap();
/// machine.get(t0 + Duration::from_secs(2)).unwrap();
/// let taken = Observation::Taken { queued_for: Some(Duration::from_secs(2)) };
/// assert_eq!(machine.take_observations(), [Observation::Added, taken]);
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Observation {
    /// A key became dirty: queued, or marked while it was taken.
    Added,
    /// A key was taken this long after it became dirty.
    Taken {
        /// `None` for a key that was queued twice.
        queued_for: Option<Duration>,
    },
    /// A key was finished this long after it was taken.
    Finished {
        /// The time between take and finish.
        worked_for: Duration,
    },
    /// A delayed add was asked for, whatever its delay.
    Retried,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Times {
    pub(super) added: Option<Instant>,
    pub(super) taken: Option<Instant>,
}

impl<T, S> Machine<T, S> {
    /// Keeps the times of adds and takes, and records [`Observation`]s, which must be collected by
    /// [`take_observations`](Self::take_observations). To be called before the first add.
    #[must_use]
    pub fn keeping_times(mut self) -> Self {
        self.times = Some(Vec::new());
        self
    }

    /// Whether times are kept.
    pub fn keeps_times(&self) -> bool {
        self.times.is_some()
    }

    /// Gives out what happened since the last call, in order.
    pub fn take_observations(&mut self) -> Vec<Observation> {
        std::mem::take(&mut self.observations)
    }

    /// Forgets what happened since the last call; keeps the memory.
    pub(crate) fn discard_observations(&mut self) {
        self.observations.clear();
    }

    pub(super) fn observe(&mut self, observation: Observation) {
        if self.times.is_some() {
            self.observations.push(observation);
        }
    }

    pub(super) fn times_of(&mut self, slot: usize) -> Option<&mut Times> {
        let times = self.times.as_mut()?;
        if times.len() <= slot {
            times.resize(slot + 1, Times::default());
        }
        times.get_mut(slot)
    }
}

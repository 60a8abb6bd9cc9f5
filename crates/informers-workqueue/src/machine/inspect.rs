//! Looking at a queue without changing it.

use std::time::{Duration, Instant};

use super::Machine;
use crate::{QueuedKey, Snapshot, TakenKey, WaitingKey};

impl<T: Clone, S> Machine<T, S> {
    /// All keys with their states. Takes time in proportion to the number of keys.
    pub fn snapshot(&self, now: Instant) -> Snapshot<T> {
        let mut queued = Vec::new();
        let mut processing = Vec::new();
        let mut waiting = Vec::new();
        for (index, key, slot) in self.slots.iter() {
            let times = self.times.as_ref().and_then(|times| times.get(index)).copied().unwrap_or_default();
            let since = |at: Option<Instant>| at.map(|at| now.saturating_duration_since(at));
            if slot.queued > 0 {
                queued.push((slot.push, QueuedKey { key: key.clone(), queued_for: since(times.added) }));
            }
            if slot.processing {
                let taken = TakenKey { key: key.clone(), running_for: since(times.taken), dirty: slot.dirty };
                processing.push((slot.take, taken));
            }
            if let Some(at) = self.delays.time_of(index) {
                let ready_in = at.saturating_duration_since(now);
                waiting.push((at, WaitingKey { key: key.clone(), ready_in }));
            }
        }
        queued.sort_by_key(|&(push, _)| push);
        processing.sort_by_key(|&(take, _)| take);
        waiting.sort_by_key(|&(at, _)| at);
        Snapshot {
            phase: self.phase,
            queued: queued.into_iter().map(|(_, key)| key).collect(),
            processing: processing.into_iter().map(|(_, key)| key).collect(),
            waiting: waiting.into_iter().map(|(_, key)| key).collect(),
        }
    }

    /// How long the taken keys have been worked on: the sum of all, and the longest. Both are zero if times are not
    /// kept. Takes time in proportion to the number of keys.
    pub fn unfinished_work(&self, now: Instant) -> (Duration, Duration) {
        let ages = self.times.iter().flatten().filter_map(|times| times.taken);
        let ages = ages.map(|taken| now.saturating_duration_since(taken));
        ages.fold((Duration::ZERO, Duration::ZERO), |(total, longest), age| {
            (total.saturating_add(age), longest.max(age))
        })
    }
}

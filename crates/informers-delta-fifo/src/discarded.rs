//! What a queue has no use for any more.

use informers_core::{Entry, Undecodable};

use crate::delta::Delta;

/// What fell out of a queue. Dropping the user's objects runs his code, so a shared queue gathers them here and drops
/// them once its lock is released.
#[derive(Debug)]
pub(crate) struct Discarded<T> {
    deltas: Vec<Delta<T>>,
    entries: Vec<Entry<T>>,
}

impl<T> Default for Discarded<T> {
    fn default() -> Self {
        Self { deltas: Vec::new(), entries: Vec::new() }
    }
}

impl<T> Discarded<T> {
    pub(crate) fn delta(&mut self, delta: Delta<T>) {
        self.deltas.push(delta);
    }

    pub(crate) fn deltas(&mut self, deltas: impl IntoIterator<Item = Delta<T>>) {
        self.deltas.extend(deltas);
    }

    pub(crate) fn entries(&mut self, entries: impl IntoIterator<Item = Entry<T>>) {
        self.entries.extend(entries);
    }

    pub(crate) fn undecodable(&mut self, undecodable: Undecodable) {
        self.delta(Delta::Undecodable(Box::new(undecodable)));
    }
}

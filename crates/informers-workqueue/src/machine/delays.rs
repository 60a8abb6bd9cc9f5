//! The wishes for later: one per key, the earliest first.

use std::time::Instant;

const ABSENT: usize = usize::MAX;

/// Keys that wait for their time: a binary heap with at most one entry for each slot, ordered by time and, for equal
/// times, by order of arrival.
#[derive(Debug, Default)]
pub(super) struct Delays {
    heap: Vec<Entry>,
    /// Position in the heap by slot, so that an entry can be moved or removed. Empty until the first delay.
    positions: Vec<usize>,
    arrivals: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: Instant,
    arrival: u64,
    slot: usize,
}

impl Entry {
    fn before(&self, other: &Self) -> bool {
        (self.at, self.arrival) < (other.at, other.arrival)
    }
}

impl Delays {
    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.first().map(|entry| entry.at)
    }

    fn position(&self, slot: usize) -> Option<usize> {
        self.positions.get(slot).copied().filter(|&position| position != ABSENT)
    }

    pub(super) fn contains(&self, slot: usize) -> bool {
        self.position(slot).is_some()
    }

    pub(super) fn time_of(&self, slot: usize) -> Option<Instant> {
        self.position(slot).map(|position| self.heap[position].at)
    }

    /// The earliest wish wins: a later one than the present changes nothing.
    pub(super) fn schedule(&mut self, slot: usize, at: Instant) {
        if let Some(position) = self.position(slot) {
            if at < self.heap[position].at {
                self.heap[position].at = at;
                self.up(position);
            }
            return;
        }
        if self.positions.len() <= slot {
            self.positions.resize(slot + 1, ABSENT);
        }
        let position = self.heap.len();
        self.heap.push(Entry { at, arrival: self.arrivals, slot });
        self.arrivals += 1;
        self.positions[slot] = position;
        self.up(position);
    }

    pub(super) fn cancel(&mut self, slot: usize) {
        if let Some(position) = self.position(slot) {
            self.remove(position);
        }
    }

    /// Takes out the first entry that has come due; a deadline has come when it equals `now`.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<(usize, Instant)> {
        let first = *self.heap.first()?;
        if first.at > now {
            return None;
        }
        self.remove(0);
        Some((first.slot, first.at))
    }

    /// Gives back memory, once no slot is in use.
    pub(super) fn shrink(&mut self) {
        if self.heap.is_empty() {
            self.heap = Vec::new();
            self.positions = Vec::new();
        }
    }

    /// Takes out everything, in order of time.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = usize> + use<> {
        self.positions = Vec::new();
        let mut entries = std::mem::take(&mut self.heap);
        entries.sort_unstable_by_key(|entry| (entry.at, entry.arrival));
        entries.into_iter().map(|entry| entry.slot)
    }

    fn remove(&mut self, position: usize) {
        let removed = self.heap.swap_remove(position);
        self.positions[removed.slot] = ABSENT;
        if let Some(moved) = self.heap.get(position) {
            self.positions[moved.slot] = position;
            let settled = self.up(position);
            self.down(settled);
        }
    }

    fn up(&mut self, mut position: usize) -> usize {
        while position > 0 {
            let parent = (position - 1) / 2;
            if !self.heap[position].before(&self.heap[parent]) {
                break;
            }
            self.swap(position, parent);
            position = parent;
        }
        position
    }

    fn down(&mut self, mut position: usize) {
        loop {
            let (left, right) = (2 * position + 1, 2 * position + 2);
            let Some(left_entry) = self.heap.get(left) else { return };
            let child = match self.heap.get(right) {
                Some(right_entry) if right_entry.before(left_entry) => right,
                _ => left,
            };
            if !self.heap[child].before(&self.heap[position]) {
                return;
            }
            self.swap(position, child);
            position = child;
        }
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.positions[self.heap[a].slot] = a;
        self.positions[self.heap[b].slot] = b;
    }
}

//! A backlog whose length is bounded by the number of distinct objects.

use std::collections::VecDeque;
use std::time::Instant;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;
use informers_core::{Entry, Event, ObjectKey};

use super::{is_initial, objects_of};

/// Keys in the order of their first waiting event, each with one or two events.
///
/// Two only where an object was deleted and another took its name: the deletion, then the addition.
#[derive(Debug)]
pub(crate) struct Coalesced<T> {
    pending: HashMap<ObjectKey, Pending<T>>,
    /// A key stands here once for each turn it was given; a turn that its `Pending` no longer has is over.
    order: VecDeque<(ObjectKey, u64)>,
    next_turn: u64,
    /// How many keys have two events.
    doubled: usize,
}

#[derive(Debug)]
struct Pending<T> {
    turn: u64,
    since: Instant,
    first: Event<T>,
    second: Option<Event<T>>,
}

/// The outcome of merging a later event into a waiting one.
enum Merged<T> {
    One(Event<T>),
    Two(Event<T>, Event<T>),
    Nothing,
}

impl<T> Merged<T> {
    fn initial(&self) -> usize {
        match self {
            Self::One(event) => usize::from(is_initial(event)),
            Self::Two(first, second) => usize::from(is_initial(first)) + usize::from(is_initial(second)),
            Self::Nothing => 0,
        }
    }
}

impl<T> Coalesced<T> {
    pub(crate) fn new() -> Self {
        Self { pending: HashMap::new(), order: VecDeque::new(), next_turn: 0, doubled: 0 }
    }

    pub(crate) fn reserve(&mut self, events: usize) {
        // A resync is mostly about the keys that wait already, and needs no second room for them.
        let keys = events.saturating_sub(self.pending.len());
        self.pending.reserve(keys);
        self.order.reserve(keys);
    }

    /// Gives how many initial additions went into others or cancelled out: the handler will never see them.
    /// What falls out goes to `left`.
    pub(crate) fn push(&mut self, event: Event<T>, now: Instant, left: &mut Vec<Entry<T>>) -> usize {
        match self.pending.entry(event.key().clone()) {
            Slot::Vacant(slot) => {
                let turn = self.next_turn;
                self.next_turn += 1;
                self.order.push_back((slot.key().clone(), turn));
                slot.insert(Pending { turn, since: now, first: event, second: None });
                0
            }
            Slot::Occupied(slot) => {
                let (key, Pending { turn, since, first, second }) = slot.remove_entry();
                let (before, last) = match second {
                    Some(second) => (Some(first), second),
                    None => (None, first),
                };
                let initial = usize::from(is_initial(&last)) + usize::from(is_initial(&event));
                let merged = merge(last, event, left);
                let vanished = initial - merged.initial();
                let (first, second) = match (before, merged) {
                    (None, Merged::One(event)) => (event, None),
                    (None, Merged::Two(first, second)) => {
                        self.doubled += 1;
                        (first, Some(second))
                    }
                    // `last` is an addition here, since only deletions split in two.
                    (Some(before), Merged::One(event) | Merged::Two(_, event)) => (before, Some(event)),
                    (Some(before), Merged::Nothing) => {
                        self.doubled -= 1;
                        (before, None)
                    }
                    (None, Merged::Nothing) => {
                        self.drop_dead_turns();
                        return vanished;
                    }
                };
                self.pending.insert(key, Pending { turn, since, first, second });
                vanished
            }
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Event<T>> {
        while let Some((key, turn)) = self.order.pop_front() {
            let Slot::Occupied(mut slot) = self.pending.entry(key) else { continue };
            if slot.get().turn != turn {
                continue;
            }
            return Some(match slot.get_mut().second.take() {
                None => slot.remove().first,
                Some(second) => {
                    self.doubled -= 1;
                    self.order.push_front((slot.key().clone(), turn));
                    std::mem::replace(&mut slot.get_mut().first, second)
                }
            });
        }
        None
    }

    pub(crate) fn len(&self) -> usize {
        self.pending.len() + self.doubled
    }

    pub(crate) fn capacity(&self) -> usize {
        self.pending.capacity().max(self.order.capacity())
    }

    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.order.iter().find_map(|(key, turn)| {
            self.pending.get(key).filter(|pending| pending.turn == *turn).map(|pending| pending.since)
        })
    }

    #[cfg(test)]
    pub(crate) fn turns(&self) -> usize {
        self.order.len()
    }

    /// Objects that come and go unseen leave their turns behind; they are swept out before they outnumber
    /// the living, so that the queue stays bounded and the cost is spread over the pushes.
    fn drop_dead_turns(&mut self) {
        if self.order.len() > 2 * self.pending.len() + 64 {
            let pending = &self.pending;
            self.order.retain(|(key, turn)| pending.get(key).is_some_and(|pending| pending.turn == *turn));
        }
    }
}

/// Merges a later event into the one that waits, such that a handler that hears the outcome knows the same
/// and was told every `old` before.
fn merge<T>(waiting: Event<T>, later: Event<T>, left: &mut Vec<Entry<T>>) -> Merged<T> {
    match (waiting, later) {
        (Event::Added { object, initial }, Event::Updated { old, new }) => {
            left.extend([object, old]);
            Merged::One(Event::Added { object: new, initial })
        }
        (Event::Added { object, .. }, Event::Deleted { last, .. }) => {
            left.extend([object, last]);
            Merged::Nothing
        }
        (Event::Updated { old, new: between }, Event::Updated { old: same, new }) => {
            left.extend([between, same]);
            Merged::One(Event::Updated { old, new })
        }
        (deleted @ Event::Deleted { .. }, added @ Event::Added { .. }) => Merged::Two(deleted, added),
        // A deletion after updates, and what never comes from one history of an object: the later event counts.
        (waiting, later) => {
            left.extend(objects_of(waiting));
            Merged::One(later)
        }
    }
}

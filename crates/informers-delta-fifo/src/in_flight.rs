//! What the consumer has taken but not finished.

use hashbrown::HashMap;
use informers_core::{Entry, ObjectKey};

use crate::delta::{Delta, newest_copy};
use crate::discarded::Discarded;

/// The keys in the consumer's hands. They are in neither the queue nor, yet, the store, so a replacement
/// that looked only there would miss them and leave a ghost. client-go holds the queue's lock while it
/// processes; this takes the lock's place.
#[derive(Debug)]
pub(crate) struct InFlight<T> {
    next: u64,
    held: Vec<Held<T>>,
}

#[derive(Debug)]
struct Held<T> {
    /// The batch that it was taken with.
    id: u64,
    key: ObjectKey,
    state: State<T>,
}

/// What the store will have when the consumer is done.
#[derive(Debug)]
pub(crate) enum State<T> {
    /// The object, in this state where that is known.
    Present(Option<Entry<T>>),
    Gone,
}

impl<T> InFlight<T> {
    pub(crate) fn new() -> Self {
        Self { next: 0, held: Vec::new() }
    }

    /// Notes what is handed out: keys, each with its deltas.
    pub(crate) fn take<'a>(&mut self, groups: impl Iterator<Item = (ObjectKey, &'a [Delta<T>])>) -> u64
    where
        T: 'a,
    {
        let id = self.next;
        self.next += 1;
        self.held.extend(groups.map(|(key, deltas)| {
            let state = if deltas.last().is_some_and(Delta::is_deletion) {
                State::Gone
            } else {
                State::Present(newest_copy(deltas).flatten().cloned())
            };
            Held { id, key, state }
        }));
        id
    }

    pub(crate) fn finish(&mut self, id: u64, left: &mut Discarded<T>) {
        left.entries(self.held.extract_if(.., |held| held.id == id).filter_map(|held| match held.state {
            State::Present(entry) => entry,
            State::Gone => None,
        }));
    }

    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.iter().any(|(held, _)| held == key)
    }

    pub(crate) fn by_key(&self) -> HashMap<&ObjectKey, &State<T>> {
        self.iter().collect()
    }

    /// The last state of each key, in the order in which these were taken.
    pub(crate) fn newest(&self) -> impl Iterator<Item = (&ObjectKey, &State<T>)> {
        let by_key = self.by_key();
        self.iter()
            .filter(move |(key, state)| by_key.get(key).is_some_and(|last| std::ptr::eq(*last, *state)))
    }

    fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &State<T>)> {
        self.held.iter().map(|held| (&held.key, &held.state))
    }
}

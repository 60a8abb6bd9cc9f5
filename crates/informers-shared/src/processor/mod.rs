//! From deltas to the store and to events: what an informer does with one batch, without task or clock.

#[cfg(test)]
mod tests;

use hashbrown::HashMap;
use informers_core::{Deletion, Entry, Event, ObjectKey, ResourceVersion, Scope};
use informers_delta_fifo::{Deleted, Delta, ReplacedAll};
use informers_store::{StoreWriter, Write};

use crate::undecodable::UndecodableObjects;

/// Applies deltas to the store it owns and says what handlers are to hear of it.
///
/// The events of a call are given out only after the store shows everything they tell of.
pub(crate) struct Processor<T> {
    writer: StoreWriter<T>,
    undecodable: UndecodableObjects,
    /// The scopes whose first list has not come yet.
    unlisted: Vec<Scope>,
}

/// What handlers are to hear of one batch.
pub(crate) struct Outcome<T> {
    /// For every handler.
    pub(crate) events: Vec<Event<T>>,
    /// Unchanged objects, for those whose turn to resync has come; none if it is nobody's turn.
    pub(crate) resync: Option<Vec<Entry<T>>>,
}

/// One pending write, and how the event about it depends on what the store held before.
enum Pending<T> {
    Upsert { entry: Entry<T>, shown_again: bool },
    Delete(Deleted<T>),
}

impl<T: Send + Sync + 'static> Processor<T> {
    pub(crate) fn new(
        writer: StoreWriter<T>,
        undecodable: UndecodableObjects,
        scopes: impl IntoIterator<Item = Scope>,
    ) -> Self {
        Self { writer, undecodable, unlisted: scopes.into_iter().collect() }
    }

    pub(crate) fn writer(&mut self) -> &mut StoreWriter<T> {
        &mut self.writer
    }

    /// Whether the first list of every scope has been applied.
    pub(crate) fn is_synced(&self) -> bool {
        self.unlisted.is_empty()
    }

    /// Applies one batch. `initial`: its additions belong to the first contents.
    pub(crate) fn process(
        &mut self,
        deltas: impl IntoIterator<Item = Delta<T>>,
        initial: bool,
    ) -> Outcome<T> {
        let mut outcome = Outcome { events: Vec::new(), resync: None };
        let mut pending = Vec::new();
        for delta in deltas {
            match delta {
                Delta::Added(entry) | Delta::Updated(entry) | Delta::Replaced(entry) => {
                    pending.push(Pending::Upsert { entry, shown_again: false });
                }
                Delta::Sync(entry) => pending.push(Pending::Upsert { entry, shown_again: true }),
                Delta::Deleted(deleted) => pending.push(Pending::Delete(deleted)),
                Delta::Undecodable(object) => self.undecodable.add(*object),
                Delta::ReplacedAll(list) => {
                    self.write(std::mem::take(&mut pending), initial, &mut outcome);
                    self.replace(*list, &mut outcome.events);
                }
                Delta::SyncAll => {
                    self.write(std::mem::take(&mut pending), initial, &mut outcome);
                    outcome.resync.get_or_insert_default().extend(self.writer.reader().list());
                }
                Delta::Bookmark(version) => {
                    self.write(std::mem::take(&mut pending), initial, &mut outcome);
                    self.writer.set_version(version);
                }
                // A kind of delta that this version does not know says nothing that it could apply.
                _ => {}
            }
        }
        self.write(pending, initial, &mut outcome);
        outcome
    }

    /// Makes all pending writes visible at once, then tells of them.
    fn write(&mut self, pending: Vec<Pending<T>>, initial: bool, outcome: &mut Outcome<T>) {
        if pending.is_empty() {
            return;
        }
        let version = pending.iter().rev().find_map(Pending::version).cloned();
        let writes = pending.iter().map(Pending::write).collect();
        let before = self.writer.apply(writes);
        if let Some(version) = version {
            self.writer.set_version(version);
        }
        for (pending, old) in pending.into_iter().zip(before) {
            match pending {
                Pending::Upsert { entry, shown_again } => {
                    self.undecodable.remove(entry.key());
                    if shown_again
                        && old.as_ref().is_some_and(|old| old.same_version(&entry) || old.ptr_eq(&entry))
                    {
                        outcome.resync.get_or_insert_default().push(entry);
                    } else {
                        tell_upsert(old, entry, initial, &mut outcome.events);
                    }
                }
                Pending::Delete(deleted) => {
                    self.undecodable.remove(&deleted.key);
                    // Of an object that the store never had, nobody was told.
                    if let Some(old) = old {
                        let last = deleted.last.unwrap_or(old);
                        outcome.events.push(Event::Deleted { last, how: deleted.how });
                    }
                }
            }
        }
    }

    /// Puts a list in the place of its scope. Deletions come first, then the list in its order.
    fn replace(&mut self, list: ReplacedAll<T>, events: &mut Vec<Event<T>>) {
        let initial = self.unlisted.contains(&list.scope);
        self.unlisted.retain(|scope| *scope != list.scope);
        self.undecodable.replace(&list);

        let mut gone = self.missing_from(&list);
        let version = list.version.clone();
        let (mut upserts, mut told) = (Vec::new(), Vec::new());
        for entry in last_of_each_key(list.items) {
            let old = self.writer.get(entry.key().as_str());
            match old {
                // The very same state: the entry that everybody holds stays, and nobody is told.
                Some(old) if old.ptr_eq(&entry) || old.same_version(&entry) => {}
                old => {
                    upserts.push(entry.clone());
                    tell_upsert(old, entry, initial, &mut told);
                }
            }
        }
        if self.writer.reader().is_empty() {
            self.writer.replace(upserts, version);
        } else {
            let mut writes: Vec<_> = gone.iter().map(|entry| Write::Remove(entry.key().clone())).collect();
            writes.extend(upserts.into_iter().map(Write::Insert));
            self.writer.apply(writes);
            self.writer.set_version(version);
        }
        gone.sort_by(|a, b| a.key().cmp(b.key()));
        events.extend(gone.into_iter().map(|last| Event::Deleted { last, how: list.missing }));
        events.append(&mut told);
    }

    /// The stored objects that a list proves to be gone.
    fn missing_from(&self, list: &ReplacedAll<T>) -> Vec<Entry<T>> {
        let store = self.writer.reader();
        if store.is_empty() || !list.proves_absence() {
            return Vec::new();
        }
        let listed: hashbrown::HashSet<&ObjectKey> = list.keys().collect();
        let mut gone = Vec::new();
        store.visit(|entry| {
            if list.covers(entry.key()) && !listed.contains(entry.key()) {
                gone.push(entry.clone());
            }
        });
        gone
    }
}

impl<T> Pending<T> {
    fn version(&self) -> Option<&ResourceVersion> {
        let entry = match self {
            Self::Upsert { entry, .. } => Some(entry),
            Self::Delete(deleted) => deleted.last.as_ref(),
        };
        entry.map(Entry::version).filter(|version| !version.is_empty())
    }

    fn write(&self) -> Write<T> {
        match self {
            Self::Upsert { entry, .. } => Write::Insert(entry.clone()),
            Self::Delete(deleted) => Write::Remove(deleted.key.clone()),
        }
    }
}

/// Tells of an object that is now in the store, where `old` was before.
fn tell_upsert<T>(old: Option<Entry<T>>, new: Entry<T>, initial: bool, events: &mut Vec<Event<T>>) {
    match old {
        None => events.push(Event::Added { object: new, initial }),
        Some(old) if is_recreated(&old, &new) => {
            events.push(Event::Deleted { last: old, how: Deletion::Inferred });
            events.push(Event::Added { object: new, initial: false });
        }
        Some(old) if old.same_version(&new) => {}
        Some(old) => events.push(Event::Updated { old, new }),
    }
}

/// Whether another object has taken the name, its predecessor's deletion unseen.
fn is_recreated<T>(old: &Entry<T>, new: &Entry<T>) -> bool {
    !old.uid().is_empty() && !new.uid().is_empty() && old.uid() != new.uid()
}

/// A server may send a key twice in one list; the last one counts, in the place of the first.
fn last_of_each_key<T>(items: Vec<Entry<T>>) -> Vec<Entry<T>> {
    let mut kept: Vec<Entry<T>> = Vec::with_capacity(items.len());
    let mut places: HashMap<ObjectKey, usize> = HashMap::with_capacity(items.len());
    for entry in items {
        match places.entry(entry.key().clone()) {
            hashbrown::hash_map::Entry::Occupied(place) => kept[*place.get()] = entry,
            hashbrown::hash_map::Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(entry);
            }
        }
    }
    kept
}

impl<T> std::fmt::Debug for Processor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").field("unlisted", &self.unlisted).finish_non_exhaustive()
    }
}

//! From deltas to the store and to events: what an informer does with one batch, without task or clock.

#[cfg(test)]
mod tests;
mod versions;

use hashbrown::HashTable;
use informers_core::{Deletion, Entry, Event, ObjectKey, ResourceVersion, Scope};
use informers_delta_fifo::{Bookmark, Deleted, Delta, ReplacedAll};
use informers_store::{StoreWriter, Write};

use self::versions::ScopeVersions;
use crate::Parity;
use crate::undecodable::UndecodableObjects;

/// Applies deltas to the store it owns and says what handlers are to hear of it.
///
/// The events of a call are given out only after the store shows everything they tell of.
pub(crate) struct Processor<T> {
    writer: StoreWriter<T>,
    undecodable: UndecodableObjects,
    /// The scopes whose first list has not come yet.
    unlisted: Vec<Scope>,
    versions: ScopeVersions,
    parity: Parity,
    /// Whether the store is to know its version.
    has_version: bool,
}

/// What handlers are to hear of one batch.
pub(crate) struct Outcome<T> {
    /// What happened, in order, and whom it is told.
    pub(crate) events: Vec<(Audience, Event<T>)>,
    /// Whether the whole store was to be shown again. It may be empty.
    pub(crate) resynced: bool,
}

/// Whom an event is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    Everyone,
    /// Those whose turn to be shown the whole store has come.
    Resyncing,
    /// Those who hear of unchanged objects at the moment.
    Syncing,
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
        let scopes: Vec<_> = scopes.into_iter().collect();
        Self {
            writer,
            undecodable,
            unlisted: scopes.clone(),
            versions: ScopeVersions::new(scopes),
            parity: Parity::default(),
            has_version: true,
        }
    }

    /// With some of client-go's behaviours, behind a queue that keeps lists whole or does not.
    pub(crate) fn with_parity(mut self, parity: Parity, whole_lists: bool) -> Self {
        self.parity = parity;
        self.has_version = whole_lists || !parity.version_only_of_atomic_lists;
        self
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
        let mut outcome = Outcome { events: Vec::new(), resynced: false };
        let mut pending = Vec::new();
        for delta in deltas {
            match delta {
                Delta::Added(entry) | Delta::Updated(entry) | Delta::Replaced(entry) => {
                    pending.push(Pending::Upsert { entry, shown_again: false });
                }
                Delta::Sync(entry) => pending.push(Pending::Upsert { entry, shown_again: true }),
                Delta::Deleted(deleted) => pending.push(Pending::Delete(deleted)),
                Delta::Undecodable(object) => {
                    // A good state that came before it must not clear it when it is written.
                    if pending.iter().any(|before: &Pending<T>| Some(before.key()) == object.key()) {
                        self.write(std::mem::take(&mut pending), initial, &mut outcome.events);
                    }
                    self.undecodable.add(*object);
                }
                Delta::ReplacedAll(list) => {
                    self.write(std::mem::take(&mut pending), initial, &mut outcome.events);
                    self.replace(*list, &mut outcome.events);
                }
                Delta::SyncAll => {
                    self.write(std::mem::take(&mut pending), initial, &mut outcome.events);
                    let shown = self.writer.reader().list();
                    outcome.resynced = true;
                    outcome
                        .events
                        .extend(shown.into_iter().map(|entry| (Audience::Resyncing, shown_again(entry))));
                }
                Delta::Bookmark(bookmark) => {
                    self.write(std::mem::take(&mut pending), initial, &mut outcome.events);
                    let Bookmark { scope, version, .. } = *bookmark;
                    let version = self.note_version(&scope, version);
                    self.writer.set_version(version);
                }
                // A kind of delta that this version does not know says nothing that it could apply.
                _ => {}
            }
        }
        self.write(pending, initial, &mut outcome.events);
        outcome
    }

    /// Makes all pending writes visible at once, then tells of them.
    fn write(&mut self, pending: Vec<Pending<T>>, initial: bool, events: &mut Vec<(Audience, Event<T>)>) {
        if pending.is_empty() {
            return;
        }
        let writes: Vec<_> = pending.iter().map(Pending::write).collect();
        let before = if !self.has_version {
            self.writer.apply_at(writes, ResourceVersion::default())
        } else if self.versions.are_several() {
            for write in &writes {
                if let Write::Insert(entry) | Write::RemoveAs(entry) = write {
                    self.versions.follow(entry.key(), entry.version());
                }
            }
            self.writer.apply_at(writes, self.versions.oldest())
        } else {
            self.writer.apply(writes)
        };
        for (pending, old) in pending.into_iter().zip(before) {
            match pending {
                Pending::Upsert { entry, shown_again: again } => {
                    if again && old.as_ref().is_some_and(|old| old.same_version(&entry) || old.ptr_eq(&entry))
                    {
                        // It may be a stale copy, which being shown again does not repair.
                        events.push((Audience::Syncing, shown_again(entry)));
                    } else {
                        self.undecodable.remove(entry.key());
                        self.tell_upsert(old, entry, initial, events);
                    }
                }
                Pending::Delete(deleted) => {
                    self.undecodable.remove(&deleted.key);
                    // Of an object that the store never had, nobody was told.
                    let last = match old {
                        None if self.parity.deletions_of_unknown => deleted.last,
                        None => None,
                        Some(old) => Some(deleted.last.unwrap_or(old)),
                    };
                    if let Some(last) = last {
                        events.push((Audience::Everyone, Event::Deleted { last, how: deleted.how }));
                    }
                }
            }
        }
    }

    /// Puts a list in the place of its scope. Deletions come first, then the list in its order.
    fn replace(&mut self, list: ReplacedAll<T>, events: &mut Vec<(Audience, Event<T>)>) {
        let initial = self.unlisted.contains(&list.scope);
        self.unlisted.retain(|scope| *scope != list.scope);
        self.undecodable.replace(&list);

        let mut gone = self.missing_from(&list);
        gone.sort_by(|a, b| a.key().cmp(b.key()));
        let version = self.note_version(&list.scope, list.version.clone());
        let items = if self.parity.repeated_list_items { list.items } else { last_of_each_key(list.items) };
        let is_first = self.writer.reader().is_empty();
        // A first list is large, and all of it is new.
        let expected = if is_first { items.len() } else { 0 };
        let mut upserts = Vec::with_capacity(expected);
        events.reserve_exact(gone.len() + expected);
        let removals: Vec<_> = gone.iter().map(|entry| Write::Remove(entry.key().clone())).collect();
        events.extend(
            gone.into_iter().map(|last| (Audience::Everyone, Event::Deleted { last, how: list.missing })),
        );
        for entry in items {
            let old = self.writer.get_by_key(entry.key());
            // The very same state: the entry that everybody holds stays, and nobody is told.
            let unchanged = old.as_ref().is_some_and(|old| old.ptr_eq(&entry) || old.same_version(&entry));
            if !unchanged || self.parity.same_version_updates {
                upserts.push(entry.clone());
                self.tell_upsert(old, entry, initial, events);
            }
        }
        if is_first {
            self.writer.replace(upserts, version);
        } else {
            let writes = removals.into_iter().chain(upserts.into_iter().map(Write::Insert)).collect();
            self.writer.apply_as(writes, version);
        }
    }

    /// Notes the version of one scope, and gives what the store's is with it. The scope that was heard of last does not
    /// speak for the others.
    fn note_version(&mut self, scope: &Scope, version: ResourceVersion) -> ResourceVersion {
        self.versions.set(scope, &version);
        if self.versions.are_several() { self.versions.oldest() } else { version }
    }

    /// Tells of an object that is now in the store, where `old` was before.
    fn tell_upsert(
        &self,
        old: Option<Entry<T>>,
        new: Entry<T>,
        initial: bool,
        events: &mut Vec<(Audience, Event<T>)>,
    ) {
        let mut tell = |event| events.push((Audience::Everyone, event));
        match old {
            None => tell(Event::Added { object: new, initial }),
            Some(old) if is_recreated(&old, &new) && !self.parity.recreation_is_update => {
                tell(Event::Deleted { last: old, how: Deletion::Inferred });
                tell(Event::Added { object: new, initial: false });
            }
            Some(old) if self.parity.same_version_updates && old.version() == new.version() => {
                events.push((Audience::Syncing, Event::Updated { old, new }));
            }
            Some(old) if old.same_version(&new) => {}
            Some(old) => tell(Event::Updated { old, new }),
        }
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
    fn key(&self) -> &ObjectKey {
        match self {
            Self::Upsert { entry, .. } => entry.key(),
            Self::Delete(deleted) => &deleted.key,
        }
    }

    fn write(&self) -> Write<T> {
        match self {
            Self::Upsert { entry, .. } => Write::Insert(entry.clone()),
            // Only what the server itself said of the deletion tells of a version.
            Self::Delete(Deleted { last: Some(last), how: Deletion::Observed, .. }) => {
                Write::RemoveAs(last.clone())
            }
            Self::Delete(deleted) => Write::Remove(deleted.key.clone()),
        }
    }
}

fn shown_again<T>(entry: Entry<T>) -> Event<T> {
    Event::Updated { old: entry.clone(), new: entry }
}

/// Whether another object has taken the name, its predecessor's deletion unseen.
fn is_recreated<T>(old: &Entry<T>, new: &Entry<T>) -> bool {
    !old.uid().is_empty() && !new.uid().is_empty() && old.uid() != new.uid()
}

/// A server may send a key twice in one list; the last one counts, in the place of the first.
///
/// In place, with a small table beside it: what a first list takes and gives back leaves holes among its objects.
fn last_of_each_key<T>(mut items: Vec<Entry<T>>) -> Vec<Entry<T>> {
    let mut places: HashTable<usize> = HashTable::with_capacity(items.len());
    let mut kept = 0;
    for at in 0..items.len() {
        let key = items[at].key();
        match places.find(key.table_hash(), |&place| items[place].key() == key) {
            Some(&place) => items.swap(place, at),
            None => {
                places.insert_unique(key.table_hash(), kept, |&place| items[place].key().table_hash());
                items.swap(kept, at);
                kept += 1;
            }
        }
    }
    items.truncate(kept);
    items
}

impl<T> std::fmt::Debug for Processor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Processor").field("unlisted", &self.unlisted).finish_non_exhaustive()
    }
}

//! The one writer of a store.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use informers_core::{Entry, ObjectKey, ResourceVersion};

use crate::definition::State;
use crate::error::{IndexError, IndexErrors};
use crate::index::PendingIndex;
use crate::parity::Parity;
use crate::primary::Primary;
use crate::shared::{Inner, Shared};
use crate::staging::Stager;
use crate::store::Store;

/// The writer of a store. There is one per store, and whoever owns it decides what the store holds.
///
/// It takes the place of client-go's `ThreadSafeStore` on the writing side: keys come with the entries.
/// Every call is visible as a whole: no reader sees an index out of step with the map. Index functions run
/// before the store is locked, and old objects are dropped after it is unlocked.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::{StoreWriter, Write};
///
/// let mut writer = StoreWriter::new();
/// let store = writer.reader();
/// assert!(writer.insert(Entry::keyed(ObjectKey::new("shop", "web"), "v1")).is_none());
/// let old = writer.apply(vec![
///     Write::Insert(Entry::keyed(ObjectKey::new("shop", "web"), "v2")),
///     Write::Insert(Entry::keyed(ObjectKey::new("shop", "db"), "v1")),
/// ]);
/// assert_eq!(*old[0].as_ref().unwrap().object(), "v1");
/// assert_eq!((*store.get("shop/web").unwrap(), store.len()), ("v2", 2));
/// ```
pub struct StoreWriter<T> {
    shared: Arc<Shared<T>>,
    stager: Stager<T>,
    parity: Parity,
}

/// One write of a batch.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums, reason = "a map has no other writes")]
pub enum Write<T> {
    /// Puts an entry under its key.
    Insert(Entry<T>),
    /// Removes what is under the key.
    Remove(ObjectKey),
}

impl<T> Write<T> {
    /// The key that is written.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Insert(entry) => entry.key(),
            Self::Remove(key) => key,
        }
    }
}

/// What a batch does to the version of the store.
#[derive(Clone, Copy)]
pub(crate) enum Version<'a> {
    /// It follows every inserted entry.
    Follow,
    /// It follows this one only.
    FollowThis(&'a ResourceVersion),
}

impl<T: Send + Sync + 'static> StoreWriter<T> {
    /// The writer of a new, empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::with_parity(Parity::default())
    }

    /// The same with some of client-go's behaviour.
    #[must_use]
    pub fn with_parity(parity: Parity) -> Self {
        Self { shared: Arc::new(Shared::new()), stager: Stager::new(Vec::new()), parity }
    }

    /// A handle for reading.
    #[must_use]
    pub fn reader(&self) -> Store<T> {
        Store::new(Arc::clone(&self.shared))
    }

    /// The entry under a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Entry<T>> {
        self.shared.read().primary.get(self.shared.hash(key), key).cloned()
    }

    /// Puts an entry under its key, and gives what was there.
    pub fn insert(&mut self, entry: Entry<T>) -> Option<Entry<T>> {
        self.commit_one(Write::Insert(entry), Version::Follow)
    }

    /// Removes what is under a key, and gives it. The version of the store stays.
    pub fn remove(&mut self, key: &str) -> Option<Entry<T>> {
        let hash = self.shared.hash(key);
        let removed = {
            let mut inner = self.shared.write();
            let removed = inner.primary.remove(hash, key, |key| self.shared.hash(key))?;
            self.stager.remove(&mut inner.indexes, removed.at);
            removed
        };
        self.finish();
        Some(removed.entry)
    }

    /// Makes several writes visible at once, in this order, and gives what each of them found.
    ///
    /// Readers wait while it runs, some 0.2 µs per write; for the whole content use [`replace`](Self::replace).
    pub fn apply(&mut self, writes: Vec<Write<T>>) -> Vec<Option<Entry<T>>> {
        self.commit(writes, Version::Follow)
    }

    /// Puts these entries in the place of everything, as one change, and sets the version of the store.
    /// Of several entries with one key the last one counts.
    ///
    /// The new content is built beside the old one, so readers are not held up.
    pub fn replace(&mut self, entries: Vec<Entry<T>>, version: ResourceVersion) {
        let mut primary = Primary::with_capacity(entries.len());
        for entry in entries {
            primary.insert(self.shared.hash(entry.key().as_str()), entry);
        }
        let content = primary.entries().snapshot();
        let mut errors = Vec::new();
        let definitions = &self.stager.definitions;
        let indexes = definitions.iter().map(|definition| definition.build(&content, &mut errors)).collect();
        drop(content);
        let old = {
            let mut inner = self.shared.write();
            inner.version = version;
            (
                std::mem::replace(&mut inner.primary, primary),
                std::mem::replace::<Vec<_>>(&mut inner.indexes, indexes),
            )
        };
        drop(old);
        self.report(errors);
    }

    /// Sets the version up to which the store is known to be complete, as a bookmark does.
    pub fn set_version(&mut self, version: ResourceVersion) {
        self.shared.write().version = version;
    }

    /// Fills a pending index with what the store holds, and keeps it up to date from now on. The index
    /// functions run before the store is locked.
    ///
    /// # Errors
    /// Gives the index back if it was defined on another store.
    pub fn install(&mut self, pending: PendingIndex<T>) -> Result<(), PendingIndex<T>> {
        if !pending.belongs_to(&self.shared) {
            return Err(pending);
        }
        let Some(definition) = pending.take() else { return Ok(()) };
        let content = self.shared.read().primary.entries().snapshot();
        let mut errors = Vec::new();
        let postings = definition.build(&content, &mut errors);
        {
            let mut inner = self.shared.write();
            definition.filled_as(inner.indexes.len());
            inner.indexes.push(postings);
        }
        definition.announce(State::Filled);
        self.stager.add(definition);
        self.report(errors);
        Ok(())
    }

    /// What index functions failed to do.
    #[must_use]
    pub fn index_errors(&self) -> IndexErrors {
        self.shared.index_errors().clone()
    }

    pub(crate) fn commit(&mut self, writes: Vec<Write<T>>, version: Version<'_>) -> Vec<Option<Entry<T>>> {
        let mut hashes = Vec::with_capacity(writes.len());
        for write in &writes {
            hashes.push(self.prepare(write));
        }
        let mut old = Vec::with_capacity(writes.len());
        {
            let mut inner = self.shared.write();
            for (write, hash) in writes.into_iter().zip(hashes) {
                old.push(write_one(
                    &self.shared,
                    &mut inner,
                    &mut self.stager,
                    hash,
                    write,
                    version,
                    self.parity,
                ));
            }
            follow_given(&mut inner, version, self.parity);
        }
        self.finish();
        old
    }

    pub(crate) fn commit_one(&mut self, write: Write<T>, version: Version<'_>) -> Option<Entry<T>> {
        let hash = self.prepare(&write);
        let old = {
            let mut inner = self.shared.write();
            let old =
                write_one(&self.shared, &mut inner, &mut self.stager, hash, write, version, self.parity);
            follow_given(&mut inner, version, self.parity);
            old
        };
        self.finish();
        old
    }

    /// Everything that can be done without the lock.
    fn prepare(&mut self, write: &Write<T>) -> u32 {
        if let Write::Insert(entry) = write {
            self.stager.stage(entry);
        }
        self.shared.hash(write.key().as_str())
    }

    fn finish(&mut self) {
        let errors = self.stager.finish();
        self.report(errors);
    }

    fn report(&self, errors: Vec<IndexError>) {
        if !errors.is_empty() {
            self.shared.index_errors().extend(errors);
        }
    }
}

fn write_one<T: Send + Sync + 'static>(
    shared: &Shared<T>,
    inner: &mut Inner<T>,
    stager: &mut Stager<T>,
    hash: u32,
    write: Write<T>,
    version: Version<'_>,
    parity: Parity,
) -> Option<Entry<T>> {
    match write {
        Write::Insert(entry) => {
            if matches!(version, Version::Follow) {
                follow(&mut inner.version, entry.version(), parity);
            }
            // The table's clone keeps the entry alive for the indexes.
            let (at, old) = inner.primary.insert(hash, entry.clone());
            stager.put(&mut inner.indexes, at, &entry);
            old
        }
        Write::Remove(key) => {
            let removed = inner.primary.remove(hash, key.as_str(), |key| shared.hash(key))?;
            stager.remove(&mut inner.indexes, removed.at);
            Some(removed.entry)
        }
    }
}

fn follow_given<T>(inner: &mut Inner<T>, version: Version<'_>, parity: Parity) {
    if let Version::FollowThis(version) = version {
        follow(&mut inner.version, version, parity);
    }
}

fn follow(own: &mut ResourceVersion, new: &ResourceVersion, parity: Parity) {
    let older = || new.compare(own) == Some(Ordering::Less);
    if !new.is_empty() && (parity.version_follows_last_object || !older()) {
        *own = new.clone();
    }
}

impl<T: Send + Sync + 'static> Default for StoreWriter<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for StoreWriter<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreWriter").field("store", &self.reader()).field("parity", &self.parity).finish()
    }
}

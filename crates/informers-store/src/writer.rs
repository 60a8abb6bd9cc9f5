//! The one writer of a store.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use hashbrown::HashMap;
use informers_core::{Entry, ObjectKey, ResourceVersion};

use crate::definition::{AnyDefinition, State};
use crate::error::{IndexError, IndexErrors};
use crate::index::{Built, PendingIndex};
use crate::parity::Parity;
use crate::postings::AnyPostings;
use crate::primary::Primary;
use crate::shared::{Inner, Shared};
use crate::staging::Stager;
use crate::store::Store;
use crate::write::Write;

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

/// From this many writes on, which also change more than an eighth of the store, a list builds new content
/// beside the old one instead of making readers wait. Fewer are committed faster than everything is rebuilt.
const REBUILD: usize = 1000;

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
        self.shared.read_entry(ObjectKey::hash_text(key), key)
    }

    /// The same with a key at hand, whose text need not be hashed.
    #[must_use]
    pub fn get_by_key(&self, key: &ObjectKey) -> Option<Entry<T>> {
        self.shared.read_entry(key.text_hash(), key.as_str())
    }

    /// Puts an entry under its key, and gives what was there.
    pub fn insert(&mut self, entry: Entry<T>) -> Option<Entry<T>> {
        self.stager.stage(&entry);
        let old = insert(&mut self.shared.write(), &mut self.stager, entry, self.parity);
        self.finish();
        old
    }

    /// Removes what is under a key, and gives it. The version of the store stays.
    pub fn remove(&mut self, key: &str) -> Option<Entry<T>> {
        let hash = ObjectKey::hash_text(key);
        let old = remove(&mut self.shared.write(), &mut self.stager, hash, key);
        self.finish();
        old
    }

    /// Makes several writes visible at once, in this order, and gives what each of them found.
    ///
    /// Readers wait while it runs; for the whole content use [`replace`](Self::replace).
    pub fn apply(&mut self, writes: Vec<Write<T>>) -> Vec<Option<Entry<T>>> {
        self.commit(writes, None)
    }

    /// The same, and with them this version of the store, whatever the versions of the objects.
    ///
    /// ```
    /// use informers_core::{Entry, ObjectKey};
    /// use informers_store::{StoreWriter, Write};
    ///
    /// let mut writer = StoreWriter::new();
    /// let web = Entry::new(ObjectKey::new("shop", "web"), "u".into(), "9".into(), ());
    /// // Another part of the collection is known up to 7 only.
    /// assert!(writer.apply_at(vec![Write::Insert(web)], "7".into())[0].is_none());
    /// assert_eq!(writer.reader().version().to_string(), "7");
    /// ```
    pub fn apply_at(&mut self, writes: Vec<Write<T>>, version: ResourceVersion) -> Vec<Option<Entry<T>>> {
        self.commit(writes, Some(version))
    }

    fn commit(&mut self, writes: Vec<Write<T>>, version: Option<ResourceVersion>) -> Vec<Option<Entry<T>>> {
        self.stager.stage_all(&writes);
        let old = commit(&self.shared, &mut self.stager, writes, version, self.parity);
        self.finish();
        old
    }

    /// Makes several writes visible at once, and with them this version of the store: what a list changes. Of
    /// several writes to one key the last one counts.
    ///
    /// Where that is a large part of the store, the new content is built beside the old one, so readers are
    /// not held up.
    ///
    /// ```
    /// use informers_core::{Entry, ObjectKey};
    /// use informers_store::{StoreWriter, Write};
    ///
    /// let mut writer = StoreWriter::new();
    /// writer.insert(Entry::keyed(ObjectKey::new("shop", "web"), 1));
    /// let db = Entry::keyed(ObjectKey::new("shop", "db"), 1);
    /// writer.apply_as(vec![Write::Remove(ObjectKey::new("shop", "web")), Write::Insert(db)], "7".into());
    ///
    /// let store = writer.reader();
    /// assert!(store.contains("shop/db") && store.len() == 1);
    /// assert_eq!(store.version().to_string(), "7");
    /// ```
    pub fn apply_as(&mut self, writes: Vec<Write<T>>, version: ResourceVersion) {
        if writes.len() >= REBUILD.max(self.reader().len() / 8) {
            return self.replace(self.after(writes), version);
        }
        drop(self.commit(writes, Some(version)));
    }

    /// What the store would hold after these writes.
    fn after(&self, writes: Vec<Write<T>>) -> Vec<Entry<T>> {
        let last: HashMap<ObjectKey, usize> =
            writes.iter().enumerate().map(|(at, write)| (write.key().clone(), at)).collect();
        let mut entries = Vec::new();
        self.reader().visit(|entry| {
            if !last.contains_key(entry.key()) {
                entries.push(entry.clone());
            }
        });
        entries.extend(writes.into_iter().enumerate().filter_map(|(at, write)| match write {
            Write::Insert(entry) if last.get(entry.key()) == Some(&at) => Some(entry),
            Write::Insert(_) | Write::Remove(_) | Write::RemoveAs(_) => None,
        }));
        entries
    }

    /// Puts these entries in the place of everything, as one change, and sets the version of the store.
    /// Of several entries with one key the last one counts.
    ///
    /// The new content is built beside the old one, so readers are not held up.
    pub fn replace(&mut self, entries: Vec<Entry<T>>, version: ResourceVersion) {
        let mut content = Content::build(&self.stager.definitions, entries);
        content.exchange(&self.shared, version);
        self.shared.report(content.errors);
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
        let built = pending.build();
        self.install_built(pending, built)
    }

    /// What index functions failed to do.
    #[must_use]
    pub fn index_errors(&self) -> IndexErrors {
        self.shared.index_errors().clone()
    }

    pub(crate) fn definitions(&self) -> &[Arc<dyn AnyDefinition<T>>] {
        &self.stager.definitions
    }

    /// Commits what was staged elsewhere, for these very definitions.
    pub(crate) fn commit_staged(
        &mut self,
        stager: &mut Stager<T>,
        writes: Vec<Write<T>>,
    ) -> Vec<Option<Entry<T>>> {
        commit(&self.shared, stager, writes, None, self.parity)
    }

    pub(crate) fn insert_staged(&mut self, stager: &mut Stager<T>, entry: Entry<T>) -> Option<Entry<T>> {
        insert(&mut self.shared.write(), stager, entry, self.parity)
    }

    /// Installs what was built without the turn to write, unless something was written since.
    pub(crate) fn install_built(
        &mut self,
        pending: PendingIndex<T>,
        built: Built,
    ) -> Result<(), PendingIndex<T>> {
        if self.shared.read().primary.changes() != built.changes {
            return Err(pending);
        }
        let Some(definition) = pending.take() else { return Ok(()) };
        {
            let mut inner = self.shared.write();
            definition.filled_as(inner.indexes.len());
            inner.indexes.push(built.postings);
        }
        definition.announce(State::Filled);
        self.stager.add(definition);
        self.shared.report(built.errors);
        Ok(())
    }

    fn finish(&mut self) {
        let errors = self.stager.finish();
        self.shared.report(errors);
    }
}

/// New content of a store, built without its lock.
pub(crate) struct Content<T> {
    primary: Primary<T>,
    indexes: Vec<Box<dyn AnyPostings>>,
    pub(crate) errors: Vec<IndexError>,
}

impl<T: Send + Sync + 'static> Content<T> {
    pub(crate) fn build(definitions: &[Arc<dyn AnyDefinition<T>>], entries: Vec<Entry<T>>) -> Self {
        let mut primary = Primary::with_capacity(entries.len());
        for entry in entries {
            let at = primary.place(entry.key());
            primary.put(at, entry);
        }
        let all = primary.entries().snapshot();
        let mut errors = Vec::new();
        let indexes = definitions.iter().map(|definition| definition.build(&all, &mut errors)).collect();
        Self { primary, indexes, errors }
    }

    /// Afterwards this is the old content, to be dropped without the lock.
    pub(crate) fn exchange(&mut self, shared: &Shared<T>, version: ResourceVersion) {
        let mut inner = shared.write();
        inner.version = version;
        self.primary.count_changes_from(&inner.primary);
        std::mem::swap(&mut inner.primary, &mut self.primary);
        std::mem::swap(&mut inner.indexes, &mut self.indexes);
    }
}

/// The old entries are kept until the lock is released, so that no object is dropped under it.
fn commit<T: Send + Sync + 'static>(
    shared: &Shared<T>,
    stager: &mut Stager<T>,
    writes: Vec<Write<T>>,
    version: Option<ResourceVersion>,
    parity: Parity,
) -> Vec<Option<Entry<T>>> {
    let mut old = Vec::with_capacity(writes.len());
    let mut final_states = Vec::new();
    let mut inner = shared.write();
    for write in writes {
        old.push(match write {
            Write::Insert(entry) => insert(&mut inner, stager, entry, parity),
            Write::Remove(key) => remove(&mut inner, stager, key.text_hash(), key.as_str()),
            Write::RemoveAs(entry) => {
                follow(&mut inner.version, entry.version(), parity);
                let old = remove(&mut inner, stager, entry.key().text_hash(), entry.key().as_str());
                final_states.push(entry);
                old
            }
        });
    }
    if let Some(version) = version {
        inner.version = version;
    }
    drop(inner);
    old
}

fn insert<T: Send + Sync + 'static>(
    inner: &mut Inner<T>,
    stager: &mut Stager<T>,
    entry: Entry<T>,
    parity: Parity,
) -> Option<Entry<T>> {
    follow(&mut inner.version, entry.version(), parity);
    let at = inner.primary.place(entry.key());
    stager.put(&mut inner.indexes, at, entry.key());
    inner.primary.put(at, entry)
}

fn remove<T: Send + Sync + 'static>(
    inner: &mut Inner<T>,
    stager: &mut Stager<T>,
    hash: u32,
    key: &str,
) -> Option<Entry<T>> {
    let removed = inner.primary.remove(hash, key)?;
    stager.remove(&mut inner.indexes, removed.at);
    Some(removed.entry)
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

//! The handle for reading a store.

use std::any::Any;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use informers_core::{Entry, KnownObjects, ObjectKey, ResourceVersion};

use crate::blocks::Snapshot;
use crate::definition::Definition;
use crate::error::{IndexConflict, IndexErrors};
use crate::index::{Index, PendingIndex};
use crate::shared::Shared;
use crate::values::IndexValues;

/// A handle for reading a store. Cloning it is cheap, and all clones read the same store.
///
/// Reads never wait for index functions and write no cache line that readers on other threads write, save the
/// reference counts of the entries they hand out. What is read is the store's own object, shared and
/// never changed.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::StoreWriter;
///
/// let mut writer = StoreWriter::new();
/// writer.insert(Entry::keyed(ObjectKey::new("shop", "web"), 2));
/// writer.insert(Entry::keyed(ObjectKey::new("shop", "db"), 3));
///
/// let store = writer.reader();
/// let reader = std::thread::spawn(move || {
///     let mut replicas = 0;
///     store.visit(|entry| replicas += entry.object());
///     replicas
/// });
/// assert_eq!(reader.join().unwrap(), 5);
/// ```
pub struct Store<T> {
    shared: Arc<Shared<T>>,
}

impl<T: Send + Sync + 'static> Store<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>) -> Self {
        Self { shared }
    }

    pub(crate) fn shared(&self) -> &Shared<T> {
        &self.shared
    }

    /// The entry under a key, `namespace/name` or `name`. With an [`ObjectKey`] at hand, [`get_by_key`](Self::get_by_key)
    /// need not hash the text.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Entry<T>> {
        self.shared.read_entry(ObjectKey::hash_text(key), key)
    }

    /// The entry under a key (client-go's `GetByKey`). The key brings its hash along, which [`get`](Self::get) works out
    /// from the text.
    ///
    /// ```
    /// use informers_core::{Entry, ObjectKey};
    /// use informers_store::StoreWriter;
    ///
    /// let (mut writer, key) = (StoreWriter::new(), ObjectKey::new("shop", "web"));
    /// writer.insert(Entry::keyed(key.clone(), 2));
    /// assert_eq!(writer.reader().get_by_key(&key).as_deref(), Some(&2));
    /// ```
    #[must_use]
    pub fn get_by_key(&self, key: &ObjectKey) -> Option<Entry<T>> {
        self.shared.read_entry(key.text_hash(), key.as_str())
    }

    /// Whether there is an entry under a key.
    #[must_use]
    pub fn contains(&self, key: &str) -> bool {
        let hash = ObjectKey::hash_text(key);
        self.shared.read().primary.get(hash, key).is_some()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.read().primary.entries().len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The keys of all entries, in any order.
    #[must_use]
    pub fn keys(&self) -> Vec<ObjectKey> {
        let all = self.snapshot();
        let mut keys = Vec::with_capacity(all.len());
        all.visit(|entry| keys.push(entry.key().clone()));
        keys
    }

    /// All entries, in any order.
    #[must_use]
    pub fn list(&self) -> Vec<Entry<T>> {
        self.snapshot().to_vec()
    }

    /// Shows each entry of one moment, in any order, without counting references. No lock is held
    /// meanwhile: `f` may take its time, and may read the store.
    pub fn visit(&self, f: impl FnMut(&Entry<T>)) {
        self.snapshot().visit(f);
    }

    /// The version up to which the store is known to be complete; empty if there is none.
    #[must_use]
    pub fn version(&self) -> ResourceVersion {
        self.shared.read().version.clone()
    }

    /// What index functions failed to do.
    #[must_use]
    pub fn index_errors(&self) -> IndexErrors {
        self.shared.index_errors().clone()
    }

    /// Defines an index: `function` gives the values under which an entry shall be found.
    ///
    /// The handle works at once, by scanning the store. To make it fast, hand the pending index to the
    /// writer, which fills it: [`StoreWriter::install`](crate::StoreWriter::install). If the function fails
    /// or panics for an entry, or the `Hash` or `Eq` of a value of it does, the entry is stored without values in this
    /// index, and reported by [`index_errors`](Self::index_errors).
    ///
    /// With a name the index shows in the view by text, and if its values are strings it can be asked there
    /// (see [`by_index`](Self::by_index)).
    ///
    /// # Errors
    /// If the store has an index of that name.
    pub fn define_index<V, R, F>(
        &self,
        name: Option<&str>,
        function: F,
    ) -> Result<(Index<T, V>, PendingIndex<T>), IndexConflict>
    where
        V: Eq + Hash + Clone + Send + Sync + 'static,
        R: IndexValues<V>,
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
    {
        let definition = Arc::new(Definition::new(name, function));
        if let Some(name) = definition.name() {
            let any: Arc<dyn Any + Send + Sync> = Arc::clone(&definition) as _;
            let of_strings = any.downcast::<Definition<T, String>>().ok();
            let mut inner = self.shared.write();
            if inner.names.contains_key(name) {
                return Err(IndexConflict { name: name.to_string() });
            }
            inner.names.insert(Arc::clone(name), of_strings);
        }
        let pending = PendingIndex::new(Arc::clone(&self.shared), Arc::clone(&definition) as _);
        Ok((Index::new(Arc::clone(&self.shared), definition), pending))
    }

    fn snapshot(&self) -> Snapshot<T> {
        self.shared.read().primary.entries().snapshot()
    }
}

impl<T> Clone for Store<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Store<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("len", &self.len()).field("version", &self.version()).finish()
    }
}

impl<T: Send + Sync + 'static> KnownObjects<T> for Store<T> {
    fn known_keys(&self) -> Vec<ObjectKey> {
        self.keys()
    }

    fn get_known(&self, key: &str) -> Option<Entry<T>> {
        self.get(key)
    }
}

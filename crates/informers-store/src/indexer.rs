//! A store used alone, written by many threads.

use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

use informers_core::{Entry, ObjectKey, ResourceVersion, Transform};

use crate::error::{Error, IndexConflict};
use crate::index::{Index, PendingIndex};
use crate::parity::Parity;
use crate::staging::Stager;
use crate::store::Store;
use crate::values::IndexValues;
use crate::write::Write;
use crate::writer::{Content, StoreWriter};

/// A store used alone, as client-go's `cache.Indexer`: it derives keys from objects, and any number of
/// threads may write.
///
/// For reading it derefs to [`Store`]. Key function, transform and index functions run before a write takes
/// its turn, so nobody waits for them. The one exception: if other writers keep overtaking an index that is
/// being added, they wait while its function sees what is stored.
///
/// ```
/// use informers_core::ObjectKey;
/// use informers_store::Indexer;
///
/// struct Pod { name: &'static str, app: &'static str }
///
/// let pods = Indexer::new(|pod: &Pod| ObjectKey::new("ns1", pod.name));
/// pods.add_index(Some("app"), |pod| Some(pod.app.to_owned())).unwrap();
/// pods.add(Pod { name: "pod1", app: "l1" }).unwrap();
/// pods.add(Pod { name: "pod2", app: "l2" }).unwrap();
///
/// assert_eq!(pods.index_keys("app", "l1").unwrap(), [ObjectKey::new("ns1", "pod1")]);
/// assert_eq!(pods.get("ns1/pod2").unwrap().app, "l2");
/// ```
pub struct Indexer<T> {
    store: Store<T>,
    /// The turn to write. Only the commit itself happens in it.
    writer: Mutex<StoreWriter<T>>,
    /// Staging areas for later use.
    stagers: Mutex<Vec<Stager<T>>>,
    key: Box<dyn Fn(&T) -> ObjectKey + Send + Sync>,
    version: Option<Box<VersionFunction<T>>>,
    transform: Option<Transform<T>>,
}

type VersionFunction<T> = dyn Fn(&T) -> ResourceVersion + Send + Sync;

impl<T: Send + Sync + 'static> Indexer<T> {
    /// An empty indexer that finds the key of an object by `key`.
    pub fn new(key: impl Fn(&T) -> ObjectKey + Send + Sync + 'static) -> Self {
        Self::with_parity(key, Parity::default())
    }

    /// The same with some of client-go's behaviour.
    pub fn with_parity(key: impl Fn(&T) -> ObjectKey + Send + Sync + 'static, parity: Parity) -> Self {
        let writer = StoreWriter::with_parity(parity);
        Self {
            store: writer.reader(),
            writer: Mutex::new(writer),
            stagers: Mutex::default(),
            key: Box::new(key),
            version: None,
            transform: None,
        }
    }

    /// Reads the version of an object by `version`; without it objects have none.
    #[must_use]
    pub fn with_version(mut self, version: impl Fn(&T) -> ResourceVersion + Send + Sync + 'static) -> Self {
        self.version = Some(Box::new(version));
        self
    }

    /// Changes every object before it is stored by add, update and replace; not in transactions.
    #[must_use]
    pub fn with_transform(mut self, transform: Transform<T>) -> Self {
        self.transform = Some(transform);
        self
    }

    /// The entry that this object would become, before any transform.
    #[must_use]
    pub fn entry(&self, object: T) -> Entry<T> {
        let version = self.version.as_ref().map_or_else(Default::default, |version| version(&object));
        Entry::new((self.key)(&object), Default::default(), version, object)
    }

    /// Stores an object, whether or not there is one under its key, and gives the one that was.
    ///
    /// # Errors
    /// If the transform fails; nothing is stored then.
    pub fn add(&self, object: T) -> Result<Option<Entry<T>>, Error> {
        self.add_entry(self.entry(object))
    }

    /// The same as [`add`](Self::add), as in client-go.
    ///
    /// # Errors
    /// If the transform fails; nothing is stored then.
    pub fn update(&self, object: T) -> Result<Option<Entry<T>>, Error> {
        self.add(object)
    }

    /// [`add`](Self::add) for an object that is an entry already.
    ///
    /// # Errors
    /// If the transform fails; nothing is stored then.
    pub fn add_entry(&self, entry: Entry<T>) -> Result<Option<Entry<T>>, Error> {
        let entry = self.transformed(entry)?;
        Ok(self.take_turn(
            entry,
            |stager, entry| stager.stage(entry),
            |writer, stager, entry| writer.insert_staged(stager, entry),
        ))
    }

    /// Removes what is under the key of this object, its final state, and gives it. The version of the store
    /// follows the final state's. Who has no final state calls [`delete_by_key`](Self::delete_by_key).
    pub fn delete(&self, object: T) -> Option<Entry<T>> {
        self.delete_entry(self.entry(object))
    }

    /// [`delete`](Self::delete) for an object that is an entry already.
    pub fn delete_entry(&self, entry: Entry<T>) -> Option<Entry<T>> {
        self.commit(vec![Write::RemoveAs(entry)]).pop().flatten()
    }

    /// Removes what is under a key, and gives it. The version of the store stays.
    ///
    /// ```
    /// use informers_core::ObjectKey;
    /// use informers_store::Indexer;
    ///
    /// let ports = Indexer::new(|port: &u16| ObjectKey::new("ns1", &port.to_string()));
    /// ports.add(80).unwrap();
    /// assert_eq!(ports.delete_by_key(&ObjectKey::new("ns1", "80")).map(|port| *port), Some(80));
    /// assert!(ports.get("ns1/80").is_none());
    /// ```
    pub fn delete_by_key(&self, key: &ObjectKey) -> Option<Entry<T>> {
        self.commit(vec![Write::Remove(key.clone())]).pop().flatten()
    }

    /// Makes several writes visible at once, in this order, and gives what each of them found. Objects are
    /// not transformed.
    pub fn transaction(&self, writes: Vec<Write<T>>) -> Vec<Option<Entry<T>>> {
        self.commit(writes)
    }

    /// Puts these objects in the place of all others, and sets the version of the store. Of several with one
    /// key the last one counts.
    ///
    /// # Errors
    /// If the transform fails for one of them; nothing changes then.
    pub fn replace(&self, objects: Vec<T>, version: ResourceVersion) -> Result<(), Error> {
        self.replace_entries(objects.into_iter().map(|object| self.entry(object)).collect(), version)
    }

    /// [`replace`](Self::replace) for objects that are entries already.
    ///
    /// # Errors
    /// If the transform fails for one of them; nothing changes then.
    pub fn replace_entries(&self, entries: Vec<Entry<T>>, version: ResourceVersion) -> Result<(), Error> {
        let entries = entries.into_iter().map(|entry| self.transformed(entry));
        let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
        let shared = self.store.shared();
        loop {
            let definitions = self.writer().definitions().to_vec();
            let mut content = Content::build(&definitions, entries.clone());
            let writer = self.writer();
            // An index that was added meanwhile is not in the content.
            if writer.definitions().len() == definitions.len() {
                content.exchange(shared, version);
                drop(writer);
                shared.report(content.errors);
                return Ok(());
            }
        }
    }

    /// Sets the version of the store, as a bookmark does.
    pub fn bookmark(&self, version: ResourceVersion) {
        self.writer().set_version(version);
    }

    /// Adds an index over what is stored and what will be; see [`Store::define_index`].
    ///
    /// # Errors
    /// If there is an index of that name.
    pub fn add_index<V, R, F>(&self, name: Option<&str>, function: F) -> Result<Index<T, V>, IndexConflict>
    where
        V: Eq + Hash + Clone + Send + Sync + 'static,
        R: IndexValues<V>,
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
    {
        let (index, pending) = self.store.define_index(name, function)?;
        self.install(vec![pending]);
        Ok(index)
    }

    /// Adds several indexes by text, or none of them if a name is in use (client-go's `AddIndexers`).
    ///
    /// # Errors
    /// If there is an index of one of the names, or a name comes twice.
    pub fn add_indexers<'a, R, F>(
        &self,
        indexers: impl IntoIterator<Item = (&'a str, F)>,
    ) -> Result<(), IndexConflict>
    where
        R: IndexValues<String>,
        F: Fn(&Entry<T>) -> R + Send + Sync + 'static,
    {
        // Those that were defined before a conflict are dropped with the vector, which frees their names.
        let mut pending = Vec::new();
        for (name, function) in indexers {
            pending.push(self.store.define_index(Some(name), function)?.1);
        }
        self.install(pending);
        Ok(())
    }

    fn install(&self, pending: Vec<PendingIndex<T>>) {
        'next: for mut pending in pending {
            for _ in 0..3 {
                let built = pending.build();
                match self.writer().install_built(pending, built) {
                    Ok(()) => continue 'next,
                    Err(overtaken) => pending = overtaken,
                }
            }
            // Writers overtook every attempt: now they wait.
            let _ = self.writer().install(pending);
        }
    }

    fn transformed(&self, entry: Entry<T>) -> Result<Entry<T>, Error> {
        let Some(transform) = &self.transform else { return Ok(entry) };
        let key = entry.key().clone();
        transform.apply(entry).map_err(|source| Error::Transform { key, source })
    }

    fn commit(&self, writes: Vec<Write<T>>) -> Vec<Option<Entry<T>>> {
        self.take_turn(
            writes,
            |stager, writes| stager.stage_all(writes),
            |writer, stager, writes| writer.commit_staged(stager, writes),
        )
    }

    /// Stages a write without the turn and commits it in the turn. If an index was added in between, it is
    /// staged again.
    fn take_turn<W, R>(
        &self,
        write: W,
        stage: impl Fn(&mut Stager<T>, &W),
        commit: impl FnOnce(&mut StoreWriter<T>, &mut Stager<T>, W) -> R,
    ) -> R {
        let mut stager = self.stagers().pop().unwrap_or_else(|| Stager::new(Vec::new()));
        loop {
            stage(&mut stager, &write);
            let mut writer = self.writer();
            let added = writer.definitions()[stager.definitions.len()..].to_vec();
            if added.is_empty() {
                let result = commit(&mut writer, &mut stager, write);
                drop(writer);
                self.store.shared().report(stager.finish());
                self.stagers().push(stager);
                return result;
            }
            drop(writer);
            drop(stager.finish());
            added.into_iter().for_each(|definition| stager.add(definition));
        }
    }

    fn writer(&self) -> MutexGuard<'_, StoreWriter<T>> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stagers(&self) -> MutexGuard<'_, Vec<Stager<T>>> {
        self.stagers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> std::ops::Deref for Indexer<T> {
    type Target = Store<T>;

    fn deref(&self) -> &Store<T> {
        &self.store
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for Indexer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Indexer").field("store", &self.store).finish_non_exhaustive()
    }
}

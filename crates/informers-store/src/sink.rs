//! A store that a reflector feeds directly.

use std::fmt;

use hashbrown::HashMap;
use informers_core::{
    Change, ChangeKind, Entry, Item, ObjectKey, ResourceVersion, Scope, Sink, SinkError, Stage, Uid,
    Undecodable,
};

use crate::store::Store;
use crate::write::Write;
use crate::writer::StoreWriter;

/// Writes what a reflector reads into a store, without a queue or handlers in between.
///
/// An object that cannot be decoded does not push out the copy that the store has: the copy stays, stale,
/// and the object is listed by [`undecodable`](Self::undecodable) until it is repaired or deleted. In a
/// replacement, an item whose very name cannot be read may be any object, so nothing of its scope is taken
/// for deleted then. An object without a name is never stored.
///
/// ```
/// use informers_core::{Change, Entry, ObjectKey, Scope, Sink};
/// use informers_store::{SinkStore, StoreWriter};
///
/// let mut sink = SinkStore::new(StoreWriter::new());
/// let store = sink.reader();
/// let pod = |name: &str| Entry::new(ObjectKey::new("shop", name), "u".into(), "5".into(), ());
///
/// let mut stage = sink.begin(&Scope::all());
/// stage.offer(Change::added(pod("web"))).unwrap();
/// assert!(store.is_empty(), "not visible before the commit");
/// stage.commit(&"7".into()).unwrap();
/// assert_eq!((store.len(), store.version().to_string()), (1, "7".into()));
///
/// sink.apply(Change::deleted(pod("web"))).unwrap();
/// assert!(store.is_empty());
/// ```
pub struct SinkStore<T> {
    writer: StoreWriter<T>,
    undecodable: HashMap<ObjectKey, Undecodable>,
}

impl<T: Send + Sync + 'static> SinkStore<T> {
    /// Feeds the store of this writer.
    #[must_use]
    pub fn new(writer: StoreWriter<T>) -> Self {
        Self { writer, undecodable: HashMap::new() }
    }

    /// A handle for reading the store.
    #[must_use]
    pub fn reader(&self) -> Store<T> {
        self.writer.reader()
    }

    /// The objects of the collection that could not be decoded, sorted by key. What the store holds under
    /// such a key is stale.
    #[must_use]
    pub fn undecodable(&self) -> Vec<Undecodable> {
        let mut all: Vec<_> = self.undecodable.values().cloned().collect();
        all.sort_by(|a, b| a.key().cmp(&b.key()));
        all
    }

    /// Whether what the store holds under this key is stale, since a newer state could not be decoded.
    #[must_use]
    pub fn is_stale(&self, key: &str) -> bool {
        self.undecodable.contains_key(key)
    }

    /// The writer, for installing indexes.
    pub fn writer(&mut self) -> &mut StoreWriter<T> {
        &mut self.writer
    }

    /// Gives the writer back.
    #[must_use]
    pub fn into_writer(self) -> StoreWriter<T> {
        self.writer
    }

    fn known_entry(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        self.writer.get_by_key(key).filter(|entry| entry.is_version(uid, version))
    }
}

impl<T: Send + Sync + 'static> Sink<T> for SinkStore<T> {
    fn apply(&mut self, Change { kind, item }: Change<T>) -> Result<(), SinkError> {
        match (kind, item) {
            (ChangeKind::Deleted, Item::Decoded(entry)) => {
                self.undecodable.remove(entry.key());
                self.writer.apply(vec![Write::RemoveAs(entry)]);
            }
            (ChangeKind::Deleted, Item::Undecodable(bad)) => {
                if let Some(key) = bad.key() {
                    self.undecodable.remove(key);
                    self.writer.remove(key.as_str());
                }
            }
            (_, Item::Decoded(entry)) => {
                self.undecodable.remove(entry.key());
                self.writer.insert(entry);
            }
            (_, Item::Undecodable(bad)) => {
                if let Some(key) = bad.key() {
                    self.undecodable.insert(key.clone(), bad);
                }
            }
        }
        Ok(())
    }

    fn begin(&mut self, scope: &Scope) -> Box<dyn Stage<T> + '_> {
        Box::new(Replacement {
            namespace: scope.namespace_name().map(Into::into),
            target: self,
            staged: HashMap::new(),
            hides_names: false,
        })
    }

    fn bookmark(&mut self, version: &ResourceVersion) -> Result<(), SinkError> {
        self.writer.set_version(version.clone());
        Ok(())
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        self.known_entry(key, uid, version)
    }
}

/// The last good state that was offered of an object, and a later one that could not be decoded.
struct Staged<T> {
    good: Option<Entry<T>>,
    bad: Option<Undecodable>,
}

struct Replacement<'a, T> {
    target: &'a mut SinkStore<T>,
    namespace: Option<Box<str>>,
    staged: HashMap<ObjectKey, Staged<T>>,
    /// Whether an item was offered that may be any object.
    hides_names: bool,
}

impl<T> Replacement<'_, T> {
    fn is_in_scope(&self, key: &ObjectKey) -> bool {
        self.namespace.is_none() || key.namespace() == self.namespace.as_deref()
    }
}

impl<T: Send + Sync + 'static> Stage<T> for Replacement<'_, T> {
    fn offer(&mut self, Change { kind, item }: Change<T>) -> Result<(), SinkError> {
        if let Item::Undecodable(bad) = &item {
            self.hides_names |= bad.hides_a_name();
        }
        let Some(key) = item.key().cloned() else { return Ok(()) };
        if !self.is_in_scope(&key) {
            return Err(SinkError::refused("the object is outside the scope that is replaced").with_key(key));
        }
        match (kind, item) {
            (ChangeKind::Deleted, _) => drop(self.staged.remove(&key)),
            (_, Item::Decoded(entry)) => {
                self.staged.insert(key, Staged { good: Some(entry), bad: None });
            }
            // A streaming list may offer a good state before a bad one.
            (_, Item::Undecodable(bad)) => {
                self.staged.entry(key).or_insert(Staged { good: None, bad: None }).bad = Some(bad);
            }
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>, version: &ResourceVersion) -> Result<(), SinkError> {
        let mut removals = Vec::new();
        if !self.hides_names {
            let store = self.target.writer.reader();
            store.visit(|entry| {
                if self.is_in_scope(entry.key()) && !self.staged.contains_key(entry.key()) {
                    removals.push(Write::Remove(entry.key().clone()));
                }
            });
        }
        let this = &mut *self;
        let (namespace, staged, hides_names) = (&this.namespace, &this.staged, this.hides_names);
        this.target.undecodable.retain(|key, _| {
            let in_scope = namespace.is_none() || key.namespace() == namespace.as_deref();
            !in_scope || hides_names && !staged.contains_key(key)
        });
        let mut writes = removals;
        for (key, Staged { good, bad }) in std::mem::take(&mut this.staged) {
            if let Some(entry) = good {
                let own = this.target.writer.get_by_key(&key);
                if own.is_none_or(|own| !own.ptr_eq(&entry)) {
                    writes.push(Write::Insert(entry));
                }
            }
            if let Some(bad) = bad {
                this.target.undecodable.insert(key, bad);
            }
        }
        this.target.writer.apply_as(writes, version.clone());
        Ok(())
    }

    fn known(&self, key: &ObjectKey, uid: &Uid, version: &ResourceVersion) -> Option<Entry<T>> {
        self.target.known_entry(key, uid, version)
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for SinkStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkStore")
            .field("writer", &self.writer)
            .field("undecodable", &self.undecodable.len())
            .finish()
    }
}

//! Typed handles of indexes.

use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use informers_core::{Entry, ObjectKey};

use crate::blocks::{Picked, Snapshot};
use crate::definition::{AnyDefinition, Definition, State};
use crate::error::{IndexError, NeverFilled};
use crate::postings::{AnyPostings, Postings};
use crate::shared::{Inner, Shared};

/// A handle of one index: which entries have a value.
///
/// Made by [`Store::define_index`](crate::Store::define_index). Until the index is filled (see
/// [`filled`](Self::filled)) every look-up scans the store: right, but slow. Look-ups see the store as it
/// is at one moment, in any order.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::StoreWriter;
///
/// struct Pod { node: Option<String> }
///
/// let mut writer = StoreWriter::new();
/// let (by_node, pending) =
///     writer.reader().define_index(None, |pod: &Entry<Pod>| pod.node.clone()).unwrap();
/// writer.insert(Entry::keyed(ObjectKey::new("shop", "web"), Pod { node: Some("node-1".into()) }));
/// assert_eq!(by_node.get("node-1").len(), 1); // by a scan
/// assert!(writer.install(pending).is_ok());
/// assert!(by_node.is_filled());
/// assert_eq!(by_node.get("node-1").len(), 1); // by the index
/// ```
pub struct Index<T, V> {
    shared: Arc<Shared<T>>,
    definition: Arc<Definition<T, V>>,
}

/// An index that was defined and waits for the writer to fill it: see
/// [`StoreWriter::install`](crate::StoreWriter::install).
///
/// Dropping it gives the index up: its name is free again, its handles go on scanning the store, and those
/// who wait for it learn that it will never be filled.
pub struct PendingIndex<T> {
    shared: Arc<Shared<T>>,
    /// None once it was handed to the writer.
    definition: Option<Arc<dyn AnyDefinition<T>>>,
}

/// Postings that are not in the store yet.
pub(crate) struct Built {
    pub(crate) postings: Box<dyn AnyPostings>,
    pub(crate) errors: Vec<IndexError>,
    /// The state of the store that they belong to.
    pub(crate) changes: u64,
}

impl<T, V> Index<T, V>
where
    T: Send + Sync + 'static,
    V: Eq + Hash + Clone + Send + Sync + 'static,
{
    pub(crate) fn new(shared: Arc<Shared<T>>, definition: Arc<Definition<T, V>>) -> Self {
        Self { shared, definition }
    }

    /// The entries with this value.
    #[must_use]
    pub fn get<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> Vec<Entry<T>>
    where
        V: Borrow<Q>,
    {
        match look_up(&self.shared, &self.definition, value) {
            Ok(hits) => hits.into_vec(),
            Err(all) => self.definition.scan(&all, value),
        }
    }

    /// Shows each entry with this value. No lock is held meanwhile.
    pub fn visit<Q: Eq + Hash + ?Sized>(&self, value: &Q, f: impl FnMut(&Entry<T>))
    where
        V: Borrow<Q>,
    {
        match look_up(&self.shared, &self.definition, value) {
            Ok(hits) => hits.visit(f),
            Err(all) => self.definition.scan(&all, value).iter().for_each(f),
        }
    }

    /// The keys of the entries with this value, sorted.
    #[must_use]
    pub fn keys<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> Vec<ObjectKey>
    where
        V: Borrow<Q>,
    {
        let mut keys = Vec::new();
        self.visit(value, |entry| keys.push(entry.key().clone()));
        keys.sort_unstable();
        keys
    }

    /// How many entries have this value.
    #[must_use]
    pub fn count<Q: Eq + Hash + ?Sized>(&self, value: &Q) -> usize
    where
        V: Borrow<Q>,
    {
        let hash = self.definition.hash(value);
        match with_postings(&self.shared, &self.definition, |_, postings| postings.find(hash, value).len()) {
            Ok(count) => count,
            Err(all) => self.definition.scan(&all, value).len(),
        }
    }

    /// The values that at least one entry has, in any order.
    #[must_use]
    pub fn values(&self) -> Vec<V> {
        values(&self.shared, &self.definition)
    }

    /// The name under which it can be asked for by text, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.definition.name().map(|name| &**name)
    }

    /// Whether look-ups use the index, and scan no more.
    #[must_use]
    pub fn is_filled(&self) -> bool {
        self.definition.outcome().outcome() == Some(State::Filled)
    }

    /// Waits until the index is filled. Any number of tasks may wait.
    ///
    /// # Errors
    /// If the pending index was dropped.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn filled(&self) -> Result<(), NeverFilled> {
        match self.definition.outcome().settled().await {
            State::Filled => Ok(()),
            State::Abandoned => Err(NeverFilled),
        }
    }
}

/// The hits, or everything where the index is not filled yet.
pub(crate) fn look_up<T, V, Q>(
    shared: &Shared<T>,
    definition: &Definition<T, V>,
    value: &Q,
) -> Result<Picked<T>, Snapshot<T>>
where
    T: Send + Sync + 'static,
    V: Eq + Hash + Borrow<Q> + Send + Sync + 'static,
    Q: Eq + Hash + ?Sized,
{
    let hash = definition.hash(value);
    with_postings(shared, definition, |inner, postings| {
        inner.primary.entries().pick(postings.find(hash, value))
    })
}

pub(crate) fn values<T, V>(shared: &Shared<T>, definition: &Definition<T, V>) -> Vec<V>
where
    T: Send + Sync + 'static,
    V: Eq + Hash + Clone + Send + Sync + 'static,
{
    let values = with_postings(shared, definition, |_, postings| postings.values().cloned().collect());
    values.unwrap_or_else(|all| {
        let (mut values, mut own, mut staged) = (hashbrown::HashSet::new(), Vec::new(), Vec::new());
        all.visit(|entry| {
            // What cannot be staged has no values, as it would have none in the filled index.
            let _ = definition.stage(entry, &mut own, &mut staged);
            values.extend(staged.drain(..).filter_map(|(_, value)| value));
        });
        values.into_iter().collect()
    })
}

fn with_postings<T, V, R>(
    shared: &Shared<T>,
    definition: &Definition<T, V>,
    read: impl FnOnce(&Inner<T>, &Postings<V>) -> R,
) -> Result<R, Snapshot<T>>
where
    T: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    let inner = shared.read();
    match postings_in(&inner, definition) {
        Some(postings) => Ok(read(&inner, postings)),
        None => Err(inner.primary.entries().snapshot()),
    }
}

fn postings_in<'a, T, V>(inner: &'a Inner<T>, definition: &Definition<T, V>) -> Option<&'a Postings<V>>
where
    T: Send + Sync + 'static,
    V: Send + Sync + 'static,
{
    inner.indexes.get(definition.number()?)?.as_any().downcast_ref()
}

/// The hits of a filled index.
pub(crate) fn look_up_in<T: Send + Sync + 'static>(
    inner: &Inner<T>,
    definition: &Definition<T, String>,
    value: &str,
) -> Option<Picked<T>> {
    let places = postings_in(inner, definition)?.find(definition.hash(value), value);
    Some(inner.primary.entries().pick(places))
}

impl<T, V> Clone for Index<T, V> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), definition: Arc::clone(&self.definition) }
    }
}

impl<T, V> fmt::Debug for Index<T, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filled = self.definition.outcome().outcome() == Some(State::Filled);
        f.debug_struct("Index").field("name", &self.definition.name()).field("filled", &filled).finish()
    }
}

impl<T: Send + Sync + 'static> PendingIndex<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>, definition: Arc<dyn AnyDefinition<T>>) -> Self {
        Self { shared, definition: Some(definition) }
    }

    pub(crate) fn belongs_to(&self, shared: &Arc<Shared<T>>) -> bool {
        Arc::ptr_eq(&self.shared, shared)
    }

    /// Builds the postings of what the store holds now. Runs the index function.
    pub(crate) fn build(&self) -> Built {
        let (entries, changes) = {
            let inner = self.shared.read();
            (inner.primary.entries().snapshot(), inner.primary.changes())
        };
        let mut errors = Vec::new();
        let postings = match &self.definition {
            Some(definition) => definition.build(&entries, &mut errors),
            None => Box::new(Postings::<()>::with_capacity(0)),
        };
        Built { postings, errors, changes }
    }

    pub(crate) fn take(mut self) -> Option<Arc<dyn AnyDefinition<T>>> {
        self.definition.take()
    }
}

impl<T> Drop for PendingIndex<T> {
    fn drop(&mut self) {
        let Some(definition) = self.definition.take() else { return };
        if let Some(name) = definition.index_name() {
            let named = self.shared.write().names.remove(name);
            drop(named);
        }
        definition.announce(State::Abandoned);
    }
}

impl<T> fmt::Debug for PendingIndex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.definition.as_ref().and_then(|definition| definition.index_name());
        f.debug_struct("PendingIndex").field("name", &name).finish()
    }
}

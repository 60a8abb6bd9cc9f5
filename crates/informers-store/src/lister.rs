//! Listers: reading a store in the words of the API.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use informers_core::{Entry, LabelSelector, ObjectKey};

use crate::store::Store;

/// The name of the index by namespace that listers use where it is there, as in client-go.
pub const NAMESPACE_INDEX: &str = "namespace";

/// The index function of [`NAMESPACE_INDEX`]: the object's namespace, empty for a cluster-scoped object.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::{NAMESPACE_INDEX, StoreWriter, namespace_values};
///
/// let mut writer = StoreWriter::<u8>::new();
/// let (by_namespace, pending) =
///     writer.reader().define_index(Some(NAMESPACE_INDEX), namespace_values).unwrap();
/// assert!(writer.install(pending).is_ok());
/// writer.insert(Entry::keyed(ObjectKey::new("shop", "web"), 1));
/// assert_eq!(by_namespace.count("shop"), 1);
/// ```
pub fn namespace_values<T>(entry: &Entry<T>) -> [String; 1] {
    [entry.key().namespace().unwrap_or_default().to_owned()]
}

type Labels<T> = dyn for<'a> Fn(&'a T) -> Option<&'a BTreeMap<String, String>> + Send + Sync;

/// Reads the objects of one resource from a store: by name, by label, in all namespaces or in one.
///
/// It never asks the server. What it gives is the store's own object, in no order.
///
/// ```
/// use std::collections::BTreeMap;
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::{Lister, StoreWriter};
///
/// struct Pod { labels: BTreeMap<String, String> }
///
/// let mut writer = StoreWriter::new();
/// let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
/// writer.insert(Entry::keyed(ObjectKey::new("shop", "web-0"), Pod { labels }));
///
/// let pods = Lister::new("pods", writer.reader(), |pod: &Pod| Some(&pod.labels));
/// assert_eq!(pods.list(&"app=web".parse().unwrap()).len(), 1);
/// assert_eq!(pods.namespace("shop").get("web-0").unwrap().key().name(), "web-0");
/// let error = pods.namespace("shop").get("web-1").unwrap_err();
/// assert_eq!(error.to_string(), "pods \"shop/web-1\" not found");
/// ```
pub struct Lister<T> {
    store: Store<T>,
    resource: Arc<str>,
    labels: Arc<Labels<T>>,
}

/// A [`Lister`] of one namespace.
pub struct NamespaceLister<T> {
    all: Lister<T>,
    namespace: Box<str>,
}

/// An object that the store does not hold.
///
/// That may be because it does not exist, or because the store does not know of it yet.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{resource} \"{key}\" not found")]
pub struct NotFound {
    resource: Arc<str>,
    key: ObjectKey,
}

impl NotFound {
    /// The resource, as it was named to the lister.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The object.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        &self.key
    }
}

impl<T: Send + Sync + 'static> Lister<T> {
    /// A lister of `resource` (its plural, for error messages) that finds an object's labels by `labels`.
    /// An object for which that is `None` has no labels.
    pub fn new(
        resource: &str,
        store: Store<T>,
        labels: impl for<'a> Fn(&'a T) -> Option<&'a BTreeMap<String, String>> + Send + Sync + 'static,
    ) -> Self {
        Self { store, resource: resource.into(), labels: Arc::new(labels) }
    }

    /// The objects of all namespaces whose labels match. An empty selector reads no labels.
    #[must_use]
    pub fn list(&self, selector: &LabelSelector) -> Vec<Entry<T>> {
        if selector.is_empty() {
            return self.store.list();
        }
        let mut hits = Vec::new();
        self.store.visit(|entry| {
            if self.selects(selector, entry) {
                hits.push(entry.clone());
            }
        });
        hits
    }

    /// The object of this name, for a cluster-scoped resource.
    ///
    /// # Errors
    /// If the store does not hold it.
    pub fn get(&self, name: &str) -> Result<Entry<T>, NotFound> {
        self.find(ObjectKey::cluster(name))
    }

    /// The part in one namespace; the empty name stands for all of them, where only `list` finds anything.
    #[must_use]
    pub fn namespace(&self, namespace: &str) -> NamespaceLister<T> {
        NamespaceLister { all: self.clone(), namespace: namespace.into() }
    }

    fn find(&self, key: ObjectKey) -> Result<Entry<T>, NotFound> {
        self.store.get_by_key(&key).ok_or_else(|| NotFound { resource: Arc::clone(&self.resource), key })
    }

    fn selects(&self, selector: &LabelSelector, entry: &Entry<T>) -> bool {
        match (self.labels)(entry.object()) {
            Some(labels) => selector.matches(labels),
            None => selector.matches_with(|_| None),
        }
    }
}

impl<T: Send + Sync + 'static> NamespaceLister<T> {
    /// The objects of the namespace whose labels match. Uses the index [`NAMESPACE_INDEX`] if the store has
    /// it, else looks at every object.
    #[must_use]
    pub fn list(&self, selector: &LabelSelector) -> Vec<Entry<T>> {
        if self.namespace.is_empty() {
            return self.all.list(selector);
        }
        let selects = |entry: &Entry<T>| selector.is_empty() || self.all.selects(selector, entry);
        if let Ok(mut hits) = self.all.store.by_index(NAMESPACE_INDEX, &self.namespace) {
            hits.retain(selects);
            return hits;
        }
        let mut hits = Vec::new();
        self.all.store.visit(|entry| {
            if entry.key().namespace() == Some(&*self.namespace) && selects(entry) {
                hits.push(entry.clone());
            }
        });
        hits
    }

    /// The object of this name in the namespace.
    ///
    /// # Errors
    /// If the store does not hold it.
    pub fn get(&self, name: &str) -> Result<Entry<T>, NotFound> {
        self.all.find(ObjectKey::new(&self.namespace, name))
    }
}

impl<T> Clone for Lister<T> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            resource: Arc::clone(&self.resource),
            labels: Arc::clone(&self.labels),
        }
    }
}

impl<T> Clone for NamespaceLister<T> {
    fn clone(&self) -> Self {
        Self { all: self.all.clone(), namespace: self.namespace.clone() }
    }
}

impl<T> fmt::Debug for Lister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lister").field("resource", &self.resource).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for NamespaceLister<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NamespaceLister")
            .field("resource", &self.all.resource)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

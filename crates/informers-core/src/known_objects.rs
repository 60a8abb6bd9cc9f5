//! What a queue may ask of the store behind it.

use crate::{Entry, ObjectKey};

/// The objects that the consumer of a queue holds, as client-go's `KnownObjects`
/// (`KeyListerGetter`): with them a queue can tell which objects a replacement leaves out.
///
/// ```
/// use std::collections::HashMap;
/// use informers_core::{Entry, KnownObjects, ObjectKey};
///
/// let known = HashMap::from([(ObjectKey::cluster("a"), Entry::keyed(ObjectKey::cluster("a"), 1))]);
/// assert_eq!(*known.get_known("a").unwrap(), 1);
/// ```
pub trait KnownObjects<T>: Send + Sync {
    /// The keys of all objects, in any order.
    fn known_keys(&self) -> Vec<ObjectKey>;

    /// The object of this key.
    fn get_known(&self, key: &str) -> Option<Entry<T>>;

    /// Whether there is an object of this key. There may be one that [`get_known`](Self::get_known) cannot give,
    /// since it could not be decoded.
    fn knows(&self, key: &str) -> bool {
        self.get_known(key).is_some()
    }
}

impl<T: Send + Sync, S: std::hash::BuildHasher + Send + Sync> KnownObjects<T>
    for std::collections::HashMap<ObjectKey, Entry<T>, S>
{
    fn known_keys(&self) -> Vec<ObjectKey> {
        self.keys().cloned().collect()
    }

    fn get_known(&self, key: &str) -> Option<Entry<T>> {
        self.get(key).cloned()
    }
}

impl<T, K: KnownObjects<T> + ?Sized> KnownObjects<T> for std::sync::Arc<K> {
    fn known_keys(&self) -> Vec<ObjectKey> {
        (**self).known_keys()
    }

    fn get_known(&self, key: &str) -> Option<Entry<T>> {
        (**self).get_known(key)
    }

    fn knows(&self, key: &str) -> bool {
        (**self).knows(key)
    }
}

//! A store that shows its whole content after every change.

use std::fmt;

use informers_core::{Entry, ObjectKey, ResourceVersion};

use crate::error::Error;
use crate::indexer::Indexer;
use crate::store::Store;

/// A store that hands all its entries to a function after every write (client-go's `UndeltaStore`), for
/// consumers that want states, not changes.
///
/// The function runs without a lock. When several threads write at the same time, it may see the same state
/// twice, and the calls may come in another order than the writes. Reads do not call it; for them the store
/// derefs to [`Store`].
///
/// ```
/// use std::sync::Mutex;
/// use std::sync::Arc;
/// use informers_core::ObjectKey;
/// use informers_store::UndeltaStore;
///
/// let sizes = Arc::new(Mutex::new(Vec::new()));
/// let seen = Arc::clone(&sizes);
/// let names = UndeltaStore::new(
///     |name: &&str| ObjectKey::cluster(name),
///     move |all| seen.lock().unwrap().push(all.len()),
/// );
/// names.add("a").unwrap();
/// names.add("b").unwrap();
/// names.delete("a");
/// assert_eq!(*sizes.lock().unwrap(), [1, 2, 1]);
/// ```
pub struct UndeltaStore<T> {
    indexer: Indexer<T>,
    push: Box<dyn Fn(Vec<Entry<T>>) + Send + Sync>,
}

impl<T: Send + Sync + 'static> UndeltaStore<T> {
    /// An empty store that finds keys by `key` and shows its content to `push`.
    pub fn new(
        key: impl Fn(&T) -> ObjectKey + Send + Sync + 'static,
        push: impl Fn(Vec<Entry<T>>) + Send + Sync + 'static,
    ) -> Self {
        Self { indexer: Indexer::new(key), push: Box::new(push) }
    }

    /// Stores an object, and gives the one that was under its key.
    ///
    /// # Errors
    /// As [`Indexer::add`].
    pub fn add(&self, object: T) -> Result<Option<Entry<T>>, Error> {
        self.indexer.add(object).inspect(|_| self.push())
    }

    /// The same as [`add`](Self::add), as in client-go.
    ///
    /// # Errors
    /// As [`Indexer::add`].
    pub fn update(&self, object: T) -> Result<Option<Entry<T>>, Error> {
        self.add(object)
    }

    /// Removes what is under the key of this object, and gives it.
    pub fn delete(&self, object: T) -> Option<Entry<T>> {
        let old = self.indexer.delete(object);
        self.push();
        old
    }

    /// Puts these objects in the place of all others.
    ///
    /// # Errors
    /// As [`Indexer::replace`].
    pub fn replace(&self, objects: Vec<T>, version: ResourceVersion) -> Result<(), Error> {
        self.indexer.replace(objects, version).inspect(|()| self.push())
    }

    fn push(&self) {
        (self.push)(self.indexer.list());
    }
}

impl<T> std::ops::Deref for UndeltaStore<T> {
    type Target = Store<T>;

    fn deref(&self) -> &Store<T> {
        &self.indexer
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for UndeltaStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UndeltaStore").field("indexer", &self.indexer).finish_non_exhaustive()
    }
}

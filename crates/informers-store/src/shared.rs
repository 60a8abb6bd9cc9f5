//! What readers, index handles and the writer share, behind one sharded lock.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_utils::sync::{ShardedLock, ShardedLockReadGuard, ShardedLockWriteGuard};
use informers_core::{Entry, ResourceVersion};

use crate::definition::Definition;
use crate::error::{IndexError, IndexErrors};
use crate::postings::AnyPostings;
use crate::primary::Primary;

/// A reader locks the shard of its thread, so readers write no cache line that another thread reads; the
/// writer locks all shards. No user code runs under it but `Eq`, `Borrow` and, for a list of all values, `Clone`
/// of index values, and nothing of the user's is dropped.
pub(crate) struct Shared<T> {
    inner: ShardedLock<Inner<T>>,
    index_errors: Mutex<IndexErrors>,
}

pub(crate) struct Inner<T> {
    pub(crate) primary: Primary<T>,
    pub(crate) indexes: Vec<Box<dyn AnyPostings>>,
    pub(crate) names: BTreeMap<Arc<str>, Named<T>>,
    pub(crate) version: ResourceVersion,
}

/// An index that can be asked for by name: with text, if its values are strings.
pub(crate) type Named<T> = Option<Arc<Definition<T, String>>>;

impl<T> Shared<T> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            primary: Primary::with_capacity(0),
            indexes: Vec::new(),
            names: BTreeMap::new(),
            version: ResourceVersion::default(),
        };
        Self { inner: ShardedLock::new(inner), index_errors: Mutex::default() }
    }

    // A panic under the lock could only come from the `Eq` or `Clone` of an index value that a reader looks up.
    pub(crate) fn read(&self) -> ShardedLockReadGuard<'_, Inner<T>> {
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub(crate) fn read_entry(&self, hash: u32, key: &str) -> Option<Entry<T>> {
        self.read().primary.get(hash, key).cloned()
    }

    pub(crate) fn write(&self) -> ShardedLockWriteGuard<'_, Inner<T>> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn report(&self, errors: Vec<IndexError>) {
        if !errors.is_empty() {
            self.index_errors().extend(errors);
        }
    }

    pub(crate) fn index_errors(&self) -> std::sync::MutexGuard<'_, IndexErrors> {
        self.index_errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

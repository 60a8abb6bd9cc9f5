//! A store whose entries expire.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use informers_core::{Entry, ObjectKey};

/// A store whose entries expire some time after they were written (client-go's `ExpirationCache`).
///
/// Time is an argument. An expired entry is removed when a read finds it; until then it counts in
/// [`keys`](Self::keys). Any number of threads may read and write.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::ExpiringStore;
///
/// let tokens = ExpiringStore::new(Duration::from_secs(60));
/// let start = Instant::now();
/// tokens.insert(Entry::keyed(ObjectKey::cluster("a"), "secret"), start);
/// assert!(tokens.get("a", start + Duration::from_secs(60)).is_some());
/// assert!(tokens.get("a", start + Duration::from_secs(61)).is_none());
/// ```
pub struct ExpiringStore<T> {
    time_to_live: Duration,
    entries: Mutex<HashMap<ObjectKey, Stamped<T>>>,
}

struct Stamped<T> {
    entry: Entry<T>,
    written: Instant,
}

impl<T> ExpiringStore<T> {
    /// A store whose entries expire when they are older than `time_to_live`; never, if that is zero.
    #[must_use]
    pub fn new(time_to_live: Duration) -> Self {
        Self { time_to_live, entries: Mutex::default() }
    }

    /// Puts an entry under its key, fresh, and gives what was there, expired or not.
    pub fn insert(&self, entry: Entry<T>, now: Instant) -> Option<Entry<T>> {
        let key = entry.key().clone();
        self.entries().insert(key, Stamped { entry, written: now }).map(|old| old.entry)
    }

    /// The entry under a key, unless it is expired; then it is removed.
    pub fn get(&self, key: &str, now: Instant) -> Option<Entry<T>> {
        let mut entries = self.entries();
        let stamped = entries.get(key)?;
        if !self.is_expired(stamped, now) {
            return Some(stamped.entry.clone());
        }
        let expired = entries.remove(key);
        drop(entries);
        drop(expired);
        None
    }

    /// All entries that are not expired, in any order; the others are removed.
    #[must_use]
    pub fn list(&self, now: Instant) -> Vec<Entry<T>> {
        let mut entries = self.entries();
        let expired: Vec<_> = entries.extract_if(|_, stamped| self.is_expired(stamped, now)).collect();
        let list = entries.values().map(|stamped| stamped.entry.clone()).collect();
        drop(entries);
        drop(expired);
        list
    }

    /// The keys of all entries, expired ones included, in any order.
    #[must_use]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.entries().keys().cloned().collect()
    }

    /// Removes what is under a key, and gives it, expired or not.
    pub fn remove(&self, key: &str) -> Option<Entry<T>> {
        self.entries().remove(key).map(|old| old.entry)
    }

    /// Puts these entries, all fresh, in the place of everything.
    pub fn replace(&self, entries: Vec<Entry<T>>, now: Instant) {
        let stamp = |entry: Entry<T>| (entry.key().clone(), Stamped { entry, written: now });
        let new = entries.into_iter().map(stamp).collect();
        let old = std::mem::replace(&mut *self.entries(), new);
        drop(old);
    }

    fn is_expired(&self, stamped: &Stamped<T>, now: Instant) -> bool {
        !self.time_to_live.is_zero() && now.saturating_duration_since(stamped.written) > self.time_to_live
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ObjectKey, Stamped<T>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> fmt::Debug for ExpiringStore<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExpiringStore")
            .field("time_to_live", &self.time_to_live)
            .field("len", &self.entries().len())
            .finish()
    }
}

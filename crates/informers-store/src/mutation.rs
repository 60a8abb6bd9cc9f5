//! An overlay of what this process has just written, over a store that does not show it yet.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use informers_core::{Entry, ObjectKey, ResourceVersion, Uid};

use crate::error::Error;
use crate::store::Store;

/// Shows what this process has just written to the server, until the store has caught up (client-go's
/// `MutationCache`).
///
/// Reads give the newer of the store's and the overlay's object, by
/// [`ResourceVersion::compare`]; where the versions cannot be compared, the store's. The overlay holds the
/// last 100 objects written, for at most five minutes each. Time is an argument.
///
/// Have the informer's handler call [`on_add_or_update`](Self::on_add_or_update) and
/// [`on_delete`](Self::on_delete): the latter keeps a late [`mutation`](Self::mutation) from bringing an
/// object back that was deleted meanwhile.
///
/// ```
/// use std::time::Instant;
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::{MutationCache, StoreWriter};
///
/// let entry = |version: &str| Entry::new(ObjectKey::new("shop", "web"), "u".into(), version.into(), ());
/// let mut writer = StoreWriter::new();
/// writer.insert(entry("5"));
/// let cache = MutationCache::new(writer.reader());
///
/// let now = Instant::now();
/// cache.mutation(entry("6"), now).unwrap(); // the server's answer to our update
/// assert_eq!(cache.get("shop/web", now).unwrap().version().to_string(), "6");
/// writer.insert(entry("7"));
/// assert_eq!(cache.get("shop/web", now).unwrap().version().to_string(), "7");
/// ```
pub struct MutationCache<T> {
    store: Store<T>,
    include_adds: bool,
    time_to_live: Duration,
    overlay: Mutex<Overlay<T>>,
}

/// The objects last used, and the order in which they were.
struct Overlay<T> {
    slots: HashMap<ObjectKey, Slot<T>>,
    uses: BTreeMap<u64, ObjectKey>,
    next_use: u64,
    capacity: usize,
}

struct Slot<T> {
    layer: Layer<T>,
    expires: Option<Instant>,
    used: u64,
}

enum Layer<T> {
    Written(Entry<T>),
    /// The object was deleted in this state; no read sees it.
    Tombstone(Uid, ResourceVersion),
}

impl<T: Send + Sync + 'static> MutationCache<T> {
    /// An overlay of at most 100 objects, for five minutes each, over this store.
    #[must_use]
    pub fn new(store: Store<T>) -> Self {
        let overlay = Overlay { slots: HashMap::new(), uses: BTreeMap::new(), next_use: 0, capacity: 100 };
        Self {
            store,
            include_adds: false,
            time_to_live: Duration::from_secs(5 * 60),
            overlay: Mutex::new(overlay),
        }
    }

    /// With room for this many objects instead of 100.
    #[must_use]
    pub fn with_capacity(self, objects: usize) -> Self {
        self.overlay().capacity = objects;
        self
    }

    /// Keeping objects for this long instead of five minutes.
    #[must_use]
    pub fn with_time_to_live(mut self, time_to_live: Duration) -> Self {
        self.time_to_live = time_to_live;
        self
    }

    /// Shows objects also that the store does not hold at all, as freshly created ones. Then an object that
    /// was deleted by somebody else may show for a while, if nobody calls [`on_delete`](Self::on_delete).
    #[must_use]
    pub fn include_adds(mut self) -> Self {
        self.include_adds = true;
        self
    }

    /// The newer of the store's and the overlay's object. If the store's is as new, the overlay forgets its
    /// own.
    #[must_use]
    pub fn get(&self, key: &str, now: Instant) -> Option<Entry<T>> {
        match self.store.get(key) {
            Some(stored) => self.newer(stored, now),
            None if self.include_adds => self.overlay().written(key, now),
            None => None,
        }
    }

    /// The entries that have `value` in the store's index `name`, each in its newer state, even if that has
    /// another value; with [`include_adds`](Self::include_adds) followed by the overlay's objects that have
    /// the value and are not among them.
    ///
    /// # Errors
    /// As [`Store::by_index`].
    pub fn by_index(&self, name: &str, value: &str, now: Instant) -> Result<Vec<Entry<T>>, Error> {
        let stored = self.store.by_index(name, value)?;
        let listed: hashbrown::HashSet<_> = stored.iter().map(|entry| entry.key().clone()).collect();
        let mut hits: Vec<_> = stored.into_iter().filter_map(|entry| self.newer(entry, now)).collect();
        if self.include_adds {
            let added = self.overlay().all_written(now);
            for entry in added {
                if !listed.contains(entry.key()) && self.store.has_index_value(name, &entry, value) {
                    hits.push(entry);
                }
            }
        }
        Ok(hits)
    }

    /// Notes an object that this process has written, as the server returned it. Ignored if the overlay
    /// knows a newer state, or knows that this object was deleted.
    ///
    /// # Errors
    /// If the overlay holds this object in a version that cannot be compared with this one.
    pub fn mutation(&self, entry: Entry<T>, now: Instant) -> Result<(), Error> {
        let old = {
            let mut overlay = self.overlay();
            let stale = match overlay.layer(entry.key().as_str(), now) {
                None => false,
                Some(layer) => match (compare(entry.version(), layer.version()), layer) {
                    (None, _) => {
                        let (key, version) = (entry.key().clone(), entry.version().clone());
                        return Err(Error::Incomparable { key, version });
                    }
                    (Some(Ordering::Less), _) => true,
                    (Some(Ordering::Equal), Layer::Tombstone(..)) => true,
                    (_, Layer::Tombstone(uid, _)) => uid == entry.uid(),
                    _ => false,
                },
            };
            if stale {
                return Ok(());
            }
            let key = entry.key().clone();
            overlay.put(key, Layer::Written(entry), now.checked_add(self.time_to_live))
        };
        drop(old);
        Ok(())
    }

    /// Forgets the overlay's object if this one, which the informer has seen, is as new.
    pub fn on_add_or_update(&self, entry: &Entry<T>, now: Instant) {
        let old = {
            let mut overlay = self.overlay();
            let superseded = overlay
                .layer(entry.key().as_str(), now)
                .is_some_and(|layer| is_as_new(entry.version(), layer.version()));
            superseded.then(|| overlay.remove(entry.key().as_str()))
        };
        drop(old);
    }

    /// Notes that the informer has seen this object, in its final state, be deleted. If the overlay holds a
    /// newer object of another uid, that one stays.
    pub fn on_delete(&self, entry: &Entry<T>, now: Instant) {
        let old = {
            let mut overlay = self.overlay();
            let keeps = overlay.layer(entry.key().as_str(), now).is_some_and(|layer| {
                !is_as_new(entry.version(), layer.version()) && layer.uid() != entry.uid()
            });
            if keeps {
                return;
            }
            let tombstone = Layer::Tombstone(entry.uid().clone(), entry.version().clone());
            overlay.put(entry.key().clone(), tombstone, now.checked_add(self.time_to_live))
        };
        drop(old);
    }

    /// The newer of a stored object and the overlay's, unless that is its tombstone.
    fn newer(&self, stored: Entry<T>, now: Instant) -> Option<Entry<T>> {
        let mut overlay = self.overlay();
        let key = stored.key().as_str();
        let Some(layer) = overlay.layer(key, now) else { return Some(stored) };
        if compare(layer.version(), stored.version()) == Some(Ordering::Greater) {
            return match layer {
                Layer::Written(entry) => Some(entry.clone()),
                Layer::Tombstone(..) => None,
            };
        }
        let superseded = overlay.remove(key);
        drop(overlay);
        drop(superseded);
        Some(stored)
    }

    fn overlay(&self) -> MutexGuard<'_, Overlay<T>> {
        self.overlay.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// No version is older than any.
fn compare(a: &ResourceVersion, b: &ResourceVersion) -> Option<Ordering> {
    match (a.is_empty(), b.is_empty()) {
        (false, false) if a == b => Some(Ordering::Equal),
        (false, false) => a.compare(b),
        (a_is_empty, b_is_empty) => Some(b_is_empty.cmp(&a_is_empty)),
    }
}

/// Whether what was seen takes the overlay's place; it does where the versions cannot be compared.
fn is_as_new(seen: &ResourceVersion, own: &ResourceVersion) -> bool {
    compare(seen, own) != Some(Ordering::Less)
}

impl<T> Layer<T> {
    fn version(&self) -> &ResourceVersion {
        match self {
            Self::Written(entry) => entry.version(),
            Self::Tombstone(_, version) => version,
        }
    }

    fn uid(&self) -> &Uid {
        match self {
            Self::Written(entry) => entry.uid(),
            Self::Tombstone(uid, _) => uid,
        }
    }
}

impl<T> Overlay<T> {
    /// What is held under a key and has not expired; it counts as used.
    fn layer(&mut self, key: &str, now: Instant) -> Option<&Layer<T>> {
        let slot = self.slots.get_mut(key)?;
        if slot.is_expired(now) {
            return None;
        }
        if let Some(key) = self.uses.remove(&slot.used) {
            self.next_use += 1;
            slot.used = self.next_use;
            self.uses.insert(slot.used, key);
        }
        Some(&slot.layer)
    }

    fn written(&mut self, key: &str, now: Instant) -> Option<Entry<T>> {
        match self.layer(key, now)? {
            Layer::Written(entry) => Some(entry.clone()),
            Layer::Tombstone(..) => None,
        }
    }

    fn all_written(&self, now: Instant) -> Vec<Entry<T>> {
        let live = self.slots.values().filter(|slot| !slot.is_expired(now));
        live.filter_map(|slot| match &slot.layer {
            Layer::Written(entry) => Some(entry.clone()),
            Layer::Tombstone(..) => None,
        })
        .collect()
    }

    /// Gives what had to go for it, to be dropped without the lock.
    fn put(&mut self, key: ObjectKey, layer: Layer<T>, expires: Option<Instant>) -> Vec<Slot<T>> {
        let mut gone: Vec<_> = self.remove(key.as_str()).into_iter().collect();
        self.next_use += 1;
        let used = self.next_use;
        self.uses.insert(used, key.clone());
        self.slots.insert(key, Slot { layer, expires, used });
        while self.slots.len() > self.capacity {
            let Some((_, oldest)) = self.uses.pop_first() else { break };
            gone.extend(self.slots.remove(&oldest));
        }
        gone
    }

    fn remove(&mut self, key: &str) -> Option<Slot<T>> {
        let slot = self.slots.remove(key)?;
        self.uses.remove(&slot.used);
        Some(slot)
    }
}

impl<T> Slot<T> {
    fn is_expired(&self, now: Instant) -> bool {
        self.expires.is_some_and(|expires| now > expires)
    }
}

impl<T: Send + Sync + 'static> fmt::Debug for MutationCache<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MutationCache")
            .field("store", &self.store)
            .field("overlay", &self.overlay().slots.len())
            .finish_non_exhaustive()
    }
}

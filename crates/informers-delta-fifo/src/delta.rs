//! What waits in a queue.

use std::fmt;

use informers_core::{Deletion, Entry, ObjectKey, ResourceVersion, Scope, Undecodable};

/// One change on its way from a reflector to a store.
///
/// The names are those of client-go's `DeltaType`. [`Undecodable`](Self::Undecodable) has no counterpart
/// there: an object that cannot be decoded takes its place in line too, so that the consumer marks the copy
/// it has as stale at the right moment.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_delta_fifo::Delta;
///
/// let delta = Delta::Added(Entry::new(ObjectKey::new("shop", "cart"), "u".into(), "7".into(), ()));
/// assert_eq!(delta.key().unwrap(), "shop/cart");
/// assert_eq!(format!("{delta:?}"), "Added(shop/cart@7)");
/// ```
#[non_exhaustive]
pub enum Delta<T> {
    /// The object was created.
    Added(Entry<T>),
    /// The object was changed.
    Updated(Entry<T>),
    /// The object is gone.
    Deleted(Deleted<T>),
    /// The object is part of a list that replaced everything; it may be unchanged. Not from a queue with
    /// atomic replaces.
    Replaced(Entry<T>),
    /// The object is shown again by a resync, or, from a [`DeltaFifo`](crate::DeltaFifo) without
    /// `Replaced`, by a list.
    Sync(Entry<T>),
    /// An object that exists but cannot be used: it was not decoded, or a transform failed on it. A copy
    /// that the consumer has of it is stale from here on.
    Undecodable(Box<Undecodable>),
    /// A list replaces everything in its scope, all at once. Only from a queue with atomic replaces.
    ReplacedAll(Box<ReplacedAll<T>>),
    /// Every stored object is to be shown again. Only from a queue with atomic replaces.
    SyncAll,
    /// Nothing changed up to this version. Only from a queue with atomic replaces.
    Bookmark(Box<Bookmark>),
}

/// Nothing changed in a scope up to a version.
///
/// ```
/// use informers_core::Scope;
/// use informers_delta_fifo::Bookmark;
///
/// let bookmark = Bookmark::new(Scope::namespace("shop"), "7".into());
/// assert_eq!(bookmark.version, "7".into());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bookmark {
    /// Where nothing changed: what the producer lists.
    pub scope: Scope,
    /// The version up to which the consumer knows that scope, once he is here.
    pub version: ResourceVersion,
}

impl Bookmark {
    /// A bookmark of this scope at this version.
    #[must_use]
    pub fn new(scope: Scope, version: ResourceVersion) -> Self {
        Self { scope, version }
    }
}

/// A deletion: which object, its last state where the queue knows it, and how it became known.
///
/// It stands for both a plain object and a `DeletedFinalStateUnknown` in client-go's `Deleted` delta.
///
/// ```
/// use informers_core::{Deletion, Entry, ObjectKey};
/// use informers_delta_fifo::Deleted;
///
/// let seen = Deleted::observed(Entry::keyed(ObjectKey::cluster("a"), 1));
/// assert!(!seen.is_tombstone());
/// let missed: Deleted<i32> = Deleted::tombstone(ObjectKey::cluster("a"), None);
/// assert_eq!((missed.how, missed.is_tombstone()), (Deletion::Inferred, true));
/// ```
#[allow(clippy::exhaustive_structs, reason = "three facts, made by producers too")]
pub struct Deleted<T> {
    /// The object's key.
    pub key: ObjectKey,
    /// Of an observed deletion the final state, else the last one that the queue knew. It may be missing;
    /// then the stored copy is the last one known.
    pub last: Option<Entry<T>>,
    /// How the deletion became known.
    pub how: Deletion,
}

impl<T> Deleted<T> {
    /// The server said that the object is gone; `last` is its final state.
    #[must_use]
    pub fn observed(last: Entry<T>) -> Self {
        Self { key: last.key().clone(), last: Some(last), how: Deletion::Observed }
    }

    /// The object is missing from a list; `last` is the newest state known of it.
    #[must_use]
    pub fn tombstone(key: ObjectKey, last: Option<Entry<T>>) -> Self {
        Self { key, last, how: Deletion::Inferred }
    }

    /// Whether nobody saw the deletion itself, so that `last` may not be the final state: client-go's
    /// `DeletedFinalStateUnknown`.
    #[must_use]
    pub fn is_tombstone(&self) -> bool {
        self.how != Deletion::Observed
    }
}

/// A list that takes the place of everything in its scope.
///
/// The argument of a queue's `replace`, and what a queue with atomic replaces hands on. The consumer finds
/// out what is missing, since only it knows what the store holds when the replacement's turn comes.
///
/// ```
/// use informers_core::{Entry, ObjectKey, Scope};
/// use informers_delta_fifo::ReplacedAll;
///
/// let list = ReplacedAll::new(Scope::namespace("shop"), "9".into(), vec![
///     Entry::keyed(ObjectKey::new("shop", "cart"), ()),
/// ]);
/// assert!(list.proves_absence());
/// assert!(list.covers(&ObjectKey::new("shop", "till")));
/// assert!(!list.covers(&ObjectKey::new("bank", "till")));
/// ```
#[non_exhaustive]
pub struct ReplacedAll<T> {
    /// What was listed; objects elsewhere are not touched.
    pub scope: Scope,
    /// The version of the list; empty if it has none.
    pub version: ResourceVersion,
    /// The objects, in the order of the list. A key may occur twice if the server sent it twice.
    pub items: Vec<Entry<T>>,
    /// Objects that exist but cannot be used. One with a key keeps the copy that is stored, as stale.
    pub undecodable: Vec<Undecodable>,
    /// How objects that are missing here are gone: inferred, or because their scope is no longer looked at.
    pub missing: Deletion,
}

impl<T> ReplacedAll<T> {
    /// A list of `scope` in which every object could be used.
    #[must_use]
    pub fn new(scope: Scope, version: ResourceVersion, items: Vec<Entry<T>>) -> Self {
        Self { scope, version, items, undecodable: Vec::new(), missing: Deletion::Inferred }
    }

    /// The end of a scope: nothing in it is looked at any more.
    #[must_use]
    pub fn removed(scope: Scope) -> Self {
        let mut all = Self::new(scope, ResourceVersion::default(), Vec::new());
        all.missing = Deletion::ScopeRemoved;
        all
    }

    /// Adds objects that cannot be used.
    #[must_use]
    pub fn with_undecodable(mut self, undecodable: Vec<Undecodable>) -> Self {
        self.undecodable = undecodable;
        self
    }

    /// Whether an object that is missing here is gone. Not so if one of the undecodable objects may be any.
    #[must_use]
    pub fn proves_absence(&self) -> bool {
        !self.undecodable.iter().any(Undecodable::hides_a_name)
    }

    /// Whether an object of this key would belong to this list. Only namespaces are told apart, since a key
    /// says nothing of labels and fields.
    #[must_use]
    pub fn covers(&self, key: &ObjectKey) -> bool {
        self.scope.namespace_name().is_none_or(|namespace| key.namespace() == Some(namespace))
    }

    /// The keys of all objects here, also of those that cannot be used.
    pub fn keys(&self) -> impl Iterator<Item = &ObjectKey> {
        self.items.iter().map(Entry::key).chain(self.undecodable.iter().filter_map(Undecodable::key))
    }
}

impl<T> Delta<T> {
    /// The key of the one object that this is about; none for `ReplacedAll`, `SyncAll` and `Bookmark`, and
    /// for an undecodable object whose name could not be read.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Added(entry) | Self::Updated(entry) | Self::Replaced(entry) | Self::Sync(entry) => {
                Some(entry.key())
            }
            Self::Deleted(deleted) => Some(&deleted.key),
            Self::Undecodable(undecodable) => undecodable.key(),
            Self::ReplacedAll(_) | Self::SyncAll | Self::Bookmark(_) => None,
        }
    }

    /// The state of the object that this brings; for a deletion the last one known.
    #[must_use]
    pub fn entry(&self) -> Option<&Entry<T>> {
        match self {
            Self::Added(entry) | Self::Updated(entry) | Self::Replaced(entry) | Self::Sync(entry) => {
                Some(entry)
            }
            Self::Deleted(deleted) => deleted.last.as_ref(),
            Self::Undecodable(_) | Self::ReplacedAll(_) | Self::SyncAll | Self::Bookmark(_) => None,
        }
    }

    /// Whether this says that one object is gone.
    #[must_use]
    pub fn is_deletion(&self) -> bool {
        matches!(self, Self::Deleted(_))
    }

    /// Whether this is about the whole collection, and so goes in a batch of its own.
    #[must_use]
    pub fn is_collective(&self) -> bool {
        matches!(self, Self::ReplacedAll(_) | Self::SyncAll | Self::Bookmark(_))
    }
}

/// The newest state of one object among its deltas, oldest first: what a deletion of it should carry. None
/// if there are only undecodable ones.
pub(crate) fn newest_copy<T>(deltas: &[Delta<T>]) -> Option<Option<&Entry<T>>> {
    deltas.iter().rev().find(|delta| !matches!(delta, Delta::Undecodable(_))).map(Delta::entry)
}

impl<T> Clone for Delta<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Added(entry) => Self::Added(entry.clone()),
            Self::Updated(entry) => Self::Updated(entry.clone()),
            Self::Deleted(deleted) => Self::Deleted(deleted.clone()),
            Self::Replaced(entry) => Self::Replaced(entry.clone()),
            Self::Sync(entry) => Self::Sync(entry.clone()),
            Self::Undecodable(undecodable) => Self::Undecodable(undecodable.clone()),
            Self::ReplacedAll(all) => Self::ReplacedAll(all.clone()),
            Self::SyncAll => Self::SyncAll,
            Self::Bookmark(bookmark) => Self::Bookmark(bookmark.clone()),
        }
    }
}

impl<T> Clone for Deleted<T> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), last: self.last.clone(), how: self.how }
    }
}

impl<T> Clone for ReplacedAll<T> {
    fn clone(&self) -> Self {
        Self {
            scope: self.scope.clone(),
            version: self.version.clone(),
            items: self.items.clone(),
            undecodable: self.undecodable.clone(),
            missing: self.missing,
        }
    }
}

impl<T> fmt::Debug for Delta<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(entry) => write!(f, "Added({entry:?})"),
            Self::Updated(entry) => write!(f, "Updated({entry:?})"),
            Self::Deleted(deleted) => deleted.fmt(f),
            Self::Replaced(entry) => write!(f, "Replaced({entry:?})"),
            Self::Sync(entry) => write!(f, "Sync({entry:?})"),
            Self::Undecodable(undecodable) => match undecodable.key() {
                Some(key) => write!(f, "Undecodable({key}@{})", undecodable.version()),
                None => f.write_str("Undecodable(?)"),
            },
            Self::ReplacedAll(all) => all.fmt(f),
            Self::SyncAll => f.write_str("SyncAll"),
            Self::Bookmark(bookmark) if bookmark.scope == Scope::all() => {
                write!(f, "Bookmark({})", bookmark.version)
            }
            Self::Bookmark(bookmark) => write!(f, "Bookmark({}@{})", bookmark.scope, bookmark.version),
        }
    }
}

impl<T> fmt::Debug for Deleted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.last {
            Some(last) => write!(f, "Deleted({last:?}, {:?})", self.how),
            None => write!(f, "Deleted({}, {:?})", self.key, self.how),
        }
    }
}

impl<T> fmt::Debug for ReplacedAll<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReplacedAll({}@{}, {} items", self.scope, self.version, self.items.len())?;
        if !self.undecodable.is_empty() {
            write!(f, ", {} undecodable", self.undecodable.len())?;
        }
        f.write_str(")")
    }
}

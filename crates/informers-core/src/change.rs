//! What a watch brings.

use crate::{Item, ResourceVersion};

/// What happened to an object, in the words of the watch API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(clippy::exhaustive_enums, reason = "the watch API has these three for objects")]
pub enum ChangeKind {
    /// The object was created, or moved into the selection.
    Added,
    /// The object was changed.
    Modified,
    /// The object was deleted, or moved out of the selection; the item is its final state.
    Deleted,
}

/// One change of one object.
///
/// ```
/// use informers_core::{Change, ChangeKind, Entry, ObjectKey};
///
/// let change = Change::added(Entry::keyed(ObjectKey::cluster("a"), ()));
/// assert_eq!(change.kind, ChangeKind::Added);
/// ```
#[derive(Debug)]
#[allow(clippy::exhaustive_structs, reason = "a pair, made by every source")]
pub struct Change<T> {
    /// What happened.
    pub kind: ChangeKind,
    /// To which object.
    pub item: Item<T>,
}

impl<T> Change<T> {
    /// The object was created.
    pub fn added(item: impl Into<Item<T>>) -> Self {
        Self { kind: ChangeKind::Added, item: item.into() }
    }

    /// The object was changed.
    pub fn modified(item: impl Into<Item<T>>) -> Self {
        Self { kind: ChangeKind::Modified, item: item.into() }
    }

    /// The object was deleted.
    pub fn deleted(item: impl Into<Item<T>>) -> Self {
        Self { kind: ChangeKind::Deleted, item: item.into() }
    }
}

impl<T> Clone for Change<T> {
    fn clone(&self) -> Self {
        Self { kind: self.kind, item: self.item.clone() }
    }
}

/// One event of a watch.
///
/// An error that the server sends inside a watch is not here: it ends the stream as its error.
#[derive(Debug)]
#[non_exhaustive]
pub enum WatchEvent<T> {
    /// An object changed.
    Change(Change<T>),
    /// Nothing changed up to this version, from which a later watch can go on.
    Bookmark {
        /// The version.
        version: ResourceVersion,
        /// Whether this marks the end of the initial events of a streaming list.
        initial_events_end: bool,
    },
    /// An event of a type that this client does not know.
    Unknown {
        /// The type as the server named it.
        event_type: String,
        /// The version of its object; empty where there is none.
        version: ResourceVersion,
    },
}

impl<T> WatchEvent<T> {
    /// The version up to which the collection is known after this event; empty if the event has none.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        match self {
            Self::Change(change) => change.item.version(),
            Self::Bookmark { version, .. } | Self::Unknown { version, .. } => version,
        }
    }
}

impl<T> Clone for WatchEvent<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Change(change) => Self::Change(change.clone()),
            Self::Bookmark { version, initial_events_end } => {
                Self::Bookmark { version: version.clone(), initial_events_end: *initial_events_end }
            }
            Self::Unknown { event_type, version } => {
                Self::Unknown { event_type: event_type.clone(), version: version.clone() }
            }
        }
    }
}

impl<T> From<Change<T>> for WatchEvent<T> {
    fn from(change: Change<T>) -> Self {
        Self::Change(change)
    }
}

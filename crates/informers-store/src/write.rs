//! What a batch changes.

use informers_core::{Entry, ObjectKey};

/// One write of a batch.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums, reason = "a map has no other writes")]
pub enum Write<T> {
    /// Puts an entry under its key.
    Insert(Entry<T>),
    /// Removes what is under the key. The version of the store stays.
    Remove(ObjectKey),
    /// Removes what is under the key of this entry, which is the object's final state: the version of the
    /// store follows it, even if nothing was there (client-go's `DeleteWithObject`).
    RemoveAs(Entry<T>),
}

impl<T> Write<T> {
    /// The key that is written.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Insert(entry) | Self::RemoveAs(entry) => entry.key(),
            Self::Remove(key) => key,
        }
    }
}

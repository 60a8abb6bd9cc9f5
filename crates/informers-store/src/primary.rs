//! The map from key to entry.

use informers_core::{Entry, ObjectKey};

use crate::blocks::Blocks;
use crate::keys::Keys;
use crate::table::Table;

/// All entries, by key and in a dense order by which indexes name them.
///
/// What a get reads lies close together, since waiting for memory is most of its time: keys bring their hash along, the
/// table answers from one cache line, the text of the keys and the entries' counts are the store's own. What each
/// step gave is in docs/benchmarks.md.
pub(crate) struct Primary<T> {
    table: Table,
    keys: Keys,
    entries: Blocks<T>,
    changes: u64,
}

/// What a removal did: `at` was freed, and the last entry, if it was another one, moved there.
pub(crate) struct Removed<T> {
    pub(crate) at: u32,
    pub(crate) entry: Entry<T>,
}

impl<T> Primary<T> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            table: Table::with_capacity(entries),
            keys: Keys::with_capacity(entries),
            entries: Blocks::with_capacity(entries),
            changes: 0,
        }
    }

    pub(crate) fn entries(&self) -> &Blocks<T> {
        &self.entries
    }

    /// Another number after every change.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Goes on with the numbers of the content that this one replaces.
    pub(crate) fn count_changes_from(&mut self, old: &Self) {
        self.changes = old.changes + 1;
    }

    #[inline]
    pub(crate) fn get(&self, hash: u32, key: &str) -> Option<&Entry<T>> {
        self.entries.get(self.find(hash, key)? as usize)
    }

    #[inline]
    fn find(&self, hash: u32, key: &str) -> Option<u32> {
        self.table.find(hash, |at| self.is(at, key))
    }

    #[inline]
    fn is(&self, at: u32, key: &str) -> bool {
        self.keys.is(at as usize, key).unwrap_or_else(|| self.asked_itself(at, key))
    }

    #[cold]
    fn asked_itself(&self, at: u32, key: &str) -> bool {
        self.entries.get(at as usize).is_some_and(|own| own.key() == key)
    }

    /// The place of this key: one past the last if it is new.
    pub(crate) fn place(&self, key: &ObjectKey) -> u32 {
        self.find(key.text_hash(), key.as_str()).unwrap_or(self.entries.len() as u32)
    }

    /// Puts an entry at the place of its key, and gives what was there. It is kept with a count of its own, close to
    /// those of its neighbours.
    pub(crate) fn put(&mut self, at: u32, entry: Entry<T>) -> Option<Entry<T>> {
        self.changes += 1;
        let entry = entry.with_own_count();
        if (at as usize) < self.entries.len() {
            return self.entries.set(at as usize, entry);
        }
        self.keys.push(entry.key().as_str());
        self.table.insert(entry.key().text_hash(), at);
        self.entries.push(entry);
        None
    }

    pub(crate) fn remove(&mut self, hash: u32, key: &str) -> Option<Removed<T>> {
        let at = self.find(hash, key)?;
        self.changes += 1;
        let last = self.entries.len() as u32 - 1;
        self.table.remove(hash, at);
        let moved = self.entries.get(last as usize)?.key();
        self.table.renumber(moved.text_hash(), last, at);
        self.keys.swap_remove(at as usize, moved.as_str());
        let entry = self.entries.swap_remove(at as usize)?;
        Some(Removed { at, entry })
    }
}

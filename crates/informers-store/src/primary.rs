//! The map from key to entry.

use hashbrown::HashTable;
use informers_core::Entry;

use crate::blocks::Blocks;
use crate::keys::Keys;

/// All entries, by key and in a dense order by which indexes name them.
///
/// What a get reads lies close together, since waiting for memory is most of its time: the table has places in that
/// order, four bytes each, so that for 100 000 objects it fits into a core's own cache; the text of the keys and the
/// entries' counts are the store's own. With objects spread over the heap a get takes 45 ns, where a table of entries
/// that were asked for their keys took 150.
pub(crate) struct Primary<T> {
    table: HashTable<u32>,
    keys: Keys,
    entries: Blocks<T>,
    changes: u64,
}

/// What a removal did: `at` was freed, and the last entry, if it was another one, moved there.
pub(crate) struct Removed<T> {
    pub(crate) at: u32,
    pub(crate) entry: Entry<T>,
}

/// Tables take their bucket from the low bits and their tag from the high ones.
pub(crate) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<T> Primary<T> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            table: HashTable::with_capacity(entries),
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

    pub(crate) fn get(&self, hash: u32, key: &str) -> Option<&Entry<T>> {
        self.find(hash, key).map(|at| self.entries.get(at as usize))
    }

    fn find(&self, hash: u32, key: &str) -> Option<u32> {
        self.table.find(spread(hash), |&at| self.is(at, hash, key)).copied()
    }

    fn is(&self, at: u32, hash: u32, key: &str) -> bool {
        let at = at as usize;
        self.keys.is(at, hash, key).unwrap_or_else(|| self.entries.get(at).key().as_str() == key)
    }

    /// The place of this key: one past the last if it is new.
    pub(crate) fn place(&self, hash: u32, key: &str) -> u32 {
        self.find(hash, key).unwrap_or(self.entries.len() as u32)
    }

    /// Puts an entry at the place of its key, and gives what was there. It is kept with a count of its own, close to
    /// those of its neighbours.
    pub(crate) fn put(&mut self, at: u32, hash: u32, entry: Entry<T>) -> Option<Entry<T>> {
        self.changes += 1;
        let entry = entry.with_own_count();
        if (at as usize) < self.entries.len() {
            return Some(self.entries.set(at as usize, entry));
        }
        self.keys.push(hash, entry.key().as_str());
        self.entries.push(entry);
        let keys = &self.keys;
        self.table.insert_unique(spread(hash), at, |&at| spread(keys.hash(at as usize)));
        None
    }

    pub(crate) fn remove(&mut self, hash: u32, key: &str) -> Option<Removed<T>> {
        let at = self.find(hash, key)?;
        self.changes += 1;
        let last = self.entries.len() as u32 - 1;
        if let Ok(found) = self.table.find_entry(spread(hash), |&own| own == at) {
            found.remove();
        }
        let moved = spread(self.keys.hash(last as usize));
        if let Some(place) = self.table.find_mut(moved, |&own| own == last) {
            *place = at;
        }
        self.keys.swap_remove(at as usize, self.entries.get(last as usize).key().as_str());
        let entry = self.entries.swap_remove(at as usize)?;
        Some(Removed { at, entry })
    }
}

//! The map from key to entry.

use hashbrown::HashTable;
use informers_core::Entry;

use crate::blocks::Blocks;

/// A slot of the table: the entry, its place among all entries, and its hash, so that growing the table
/// follows no pointer.
struct Slot<T> {
    entry: Entry<T>,
    at: u32,
    hash: u32,
}

/// All entries, by key and in a dense order by which indexes name them.
pub(crate) struct Primary<T> {
    table: HashTable<Slot<T>>,
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
        Self { table: HashTable::with_capacity(entries), entries: Blocks::with_capacity(entries), changes: 0 }
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
        self.table.find(spread(hash), |slot| slot.is(hash, key)).map(|slot| &slot.entry)
    }

    /// Gives the place of the entry and what was there before. To be followed by [`list`](Self::list).
    pub(crate) fn insert(&mut self, hash: u32, entry: &Entry<T>) -> (u32, Option<Entry<T>>) {
        self.changes += 1;
        let key = entry.key().as_str();
        if let Some(slot) = self.table.find_mut(spread(hash), |slot| slot.is(hash, key)) {
            let old = std::mem::replace(&mut slot.entry, entry.clone());
            return (slot.at, Some(old));
        }
        let at = self.entries.len() as u32;
        let slot = Slot { entry: entry.clone(), at, hash };
        self.table.insert_unique(spread(hash), slot, |slot| spread(slot.hash));
        (at, None)
    }

    /// Puts an inserted entry at its place, which may be one past the last.
    pub(crate) fn list(&mut self, at: u32, entry: Entry<T>) {
        if at as usize == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries.set(at as usize, entry);
        }
    }

    /// `hash_of` is asked for the entry that moves into the gap.
    pub(crate) fn remove(
        &mut self,
        hash: u32,
        key: &str,
        hash_of: impl Fn(&str) -> u32,
    ) -> Option<Removed<T>> {
        let found = self.table.find_entry(spread(hash), |slot| slot.is(hash, key)).ok()?;
        let (Slot { entry, at, .. }, _) = found.remove();
        self.changes += 1;
        self.entries.swap_remove(at as usize);
        if (at as usize) < self.entries.len() {
            let moved = self.entries.get(at as usize).key().as_str();
            let hash = hash_of(moved);
            if let Some(slot) = self.table.find_mut(spread(hash), |slot| slot.is(hash, moved)) {
                slot.at = at;
            }
        }
        Some(Removed { at, entry })
    }
}

impl<T> Slot<T> {
    fn is(&self, hash: u32, key: &str) -> bool {
        self.hash == hash && self.entry.key().as_str() == key
    }
}

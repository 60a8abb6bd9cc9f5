//! One place per key, and what is known of it.

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;

/// Everything known of one key, except its delay.
///
/// client-go keeps a dirty and a processing set besides the storage; one slot for each key makes that one look-up.
#[derive(Debug)]
pub(super) struct Slot<T> {
    /// `None` while the slot is free.
    key: Option<T>,
    /// The last time it was taken, as a number of all takes.
    pub(super) take: u64,
    /// The last time it was pushed, as a number of all pushes.
    pub(super) push: u64,
    hash: u32,
    /// Tickets in the storage; more than one only when `done` for a key not taken queues it again.
    pub(super) queued: u32,
    pub(super) dirty: bool,
    pub(super) processing: bool,
}

/// Tables take their bucket from the low bits and their tag from the high ones.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

impl<T> Slot<T> {
    fn new(key: T, hash: u32) -> Self {
        Self { key: Some(key), take: 0, push: 0, hash, queued: 0, dirty: false, processing: false }
    }

    pub(super) fn key(&self) -> Option<&T> {
        self.key.as_ref()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queued == 0 && !self.dirty && !self.processing
    }
}

impl<T: Eq> Slot<T> {
    fn is(&self, key: &T) -> bool {
        self.key.as_ref() == Some(key)
    }
}

/// Keys by hash in a slab: everything but an add or a look-up by key goes by index and never hashes.
#[derive(Debug)]
pub(super) struct Slots<T> {
    /// Hashes, so that no slot is looked at in vain, and indices of slots; small, so that the table stays in the cache.
    table: HashTable<(u32, u32)>,
    slots: Vec<Slot<T>>,
    free: Vec<usize>,
    /// The most keys at a time since it was last empty.
    peak: usize,
}

/// Memory for this many keys is kept in any case.
const KEPT: usize = 4096;

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { table: HashTable::new(), slots: Vec::new(), free: Vec::new(), peak: 0 }
    }
}

impl<T> Slots<T> {
    /// The slot, if a key lives in it.
    pub(super) fn get_mut(&mut self, index: usize) -> Option<&mut Slot<T>> {
        self.slots.get_mut(index).filter(|slot| slot.key.is_some())
    }

    pub(super) fn get(&self, index: usize) -> Option<&Slot<T>> {
        self.slots.get(index).filter(|slot| slot.key.is_some())
    }

    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.slots.capacity()
    }

    /// All keys with their slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T, &Slot<T>)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| Some((index, slot.key.as_ref()?, slot)))
    }

    /// Gives back the memory of a burst: if no key is left and fewer than a quarter of the slots were in use since the
    /// last time that none was. `true` if all slots are gone.
    pub(super) fn shrink_if_oversized(&mut self) -> bool {
        if self.free.len() < self.slots.len() {
            return false;
        }
        let peak = std::mem::take(&mut self.peak);
        let oversized = self.slots.len() > KEPT && peak < self.slots.len() / 4;
        if oversized {
            self.table = HashTable::new();
            self.slots = Vec::new();
            self.free = Vec::new();
        }
        oversized
    }

    /// Frees the slot and gives back its key.
    pub(super) fn release(&mut self, index: usize) -> Option<T> {
        let slot = self.slots.get_mut(index)?;
        let key = slot.key.take()?;
        if let Ok(entry) = self.table.find_entry(spread(slot.hash), |&(_, other)| other as usize == index) {
            entry.remove();
        }
        self.free.push(index);
        Some(key)
    }
}

impl<T: Eq> Slots<T> {
    pub(super) fn find(&self, key: &T, hash: u32) -> Option<usize> {
        let is = |&(own, index): &(u32, u32)| own == hash && self.slots[index as usize].is(key);
        self.table.find(spread(hash), is).map(|&(_, index)| index as usize)
    }

    /// The slot of the key, made if there is none; the given key comes back if there was one.
    // Out of line, moving the key in and out again takes a sixth of an add.
    #[inline(always)]
    pub(super) fn find_or_insert(&mut self, key: T, hash: u32) -> (usize, Option<T>) {
        let slots = &mut self.slots;
        let entry = self.table.entry(
            spread(hash),
            |&(own, index)| own == hash && slots[index as usize].is(&key),
            |&(hash, _)| spread(hash),
        );
        match entry {
            Entry::Occupied(occupied) => (occupied.get().1 as usize, Some(key)),
            Entry::Vacant(vacant) => {
                let slot = Slot::new(key, hash);
                let index = if let Some(index) = self.free.pop() {
                    slots[index] = slot;
                    index
                } else {
                    slots.push(slot);
                    slots.len() - 1
                };
                // Beyond four billion keys at a time, further ones are queued without being deduplicated.
                if let Ok(small) = u32::try_from(index) {
                    vacant.insert((hash, small));
                }
                self.peak = self.peak.max(slots.len() - self.free.len());
                (index, None)
            }
        }
    }
}

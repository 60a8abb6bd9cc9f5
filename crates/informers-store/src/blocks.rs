//! A vector of entries in reference-counted blocks, of which a snapshot costs one count per block.

use std::sync::Arc;

use informers_core::Entry;

/// Entries per block. A snapshot of a million entries counts up 16 000 blocks; a write to a block that a
/// snapshot still holds copies 64 pointers.
const BLOCK: usize = 64;

/// The entries lie in the block itself: a get waits for one address less.
type Block<T> = Arc<[Option<Entry<T>>; BLOCK]>;

/// All blocks but the last are full, and none is empty.
pub(crate) struct Blocks<T> {
    blocks: Vec<Block<T>>,
    len: usize,
}

impl<T> Blocks<T> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self { blocks: Vec::with_capacity(entries.div_ceil(BLOCK)), len: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<&Entry<T>> {
        self.blocks.get(at / BLOCK)?[at % BLOCK].as_ref()
    }

    /// Gives back what was there.
    pub(crate) fn set(&mut self, at: usize, entry: Entry<T>) -> Option<Entry<T>> {
        Arc::make_mut(&mut self.blocks[at / BLOCK])[at % BLOCK].replace(entry)
    }

    pub(crate) fn push(&mut self, entry: Entry<T>) {
        if self.len.is_multiple_of(BLOCK) {
            self.blocks.push(Arc::new([const { None }; BLOCK]));
        }
        let at = self.len;
        self.len += 1;
        self.set(at, entry);
    }

    /// Takes one out; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) -> Option<Entry<T>> {
        let last = self.len.checked_sub(1)?;
        let entry = Arc::make_mut(&mut self.blocks[last / BLOCK])[last % BLOCK].take()?;
        self.len = last;
        self.blocks.truncate(last.div_ceil(BLOCK));
        if at == last { Some(entry) } else { self.set(at, entry) }
    }

    pub(crate) fn snapshot(&self) -> Snapshot<T> {
        Snapshot { blocks: self.blocks.clone(), len: self.len }
    }

    /// The entries at these places, as they are now: by whatever counts up less.
    pub(crate) fn pick(&self, places: &[u32]) -> Picked<T> {
        // A block's count is at hand, an entry's mostly is not.
        if places.len() <= BLOCK.max(self.blocks.len() / 8) {
            Picked::Few(places.iter().filter_map(|&at| self.get(at as usize).cloned()).collect())
        } else {
            Picked::Many(self.snapshot(), places.to_vec())
        }
    }
}

/// Entries as they were at one moment.
pub(crate) struct Snapshot<T> {
    blocks: Vec<Block<T>>,
    len: usize,
}

impl<T> Snapshot<T> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn visit(&self, f: impl FnMut(&Entry<T>)) {
        self.blocks.iter().flat_map(|block| block.iter()).flatten().for_each(f);
    }

    pub(crate) fn to_vec(&self) -> Vec<Entry<T>> {
        let mut all = Vec::with_capacity(self.len());
        self.visit(|entry| all.push(entry.clone()));
        all
    }
}

/// Some of the entries as they were at one moment.
pub(crate) enum Picked<T> {
    Few(Vec<Entry<T>>),
    /// By place in the snapshot.
    Many(Snapshot<T>, Vec<u32>),
}

impl<T> Picked<T> {
    pub(crate) fn visit(&self, f: impl FnMut(&Entry<T>)) {
        match self {
            Self::Few(entries) => entries.iter().for_each(f),
            Self::Many(Snapshot { blocks, .. }, places) => {
                let entry = |&at: &u32| blocks[at as usize / BLOCK][at as usize % BLOCK].as_ref();
                places.iter().filter_map(entry).for_each(f);
            }
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Entry<T>> {
        match self {
            Self::Few(entries) => entries,
            Self::Many(_, ref places) => {
                let mut entries = Vec::with_capacity(places.len());
                self.visit(|entry| entries.push(entry.clone()));
                entries
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use informers_core::ObjectKey;

    fn entry(n: usize) -> Entry<usize> {
        Entry::keyed(ObjectKey::cluster(&n.to_string()), n)
    }

    fn content(blocks: &Blocks<usize>) -> Vec<usize> {
        blocks.snapshot().to_vec().iter().map(|entry| *entry.object()).collect()
    }

    #[test]
    fn behaves_as_a_vector_over_block_borders() {
        let mut blocks = Blocks::with_capacity(1);
        let mut model = Vec::new();
        for n in 0..3 * BLOCK + 1 {
            blocks.push(entry(n));
            model.push(n);
        }
        for at in [3 * BLOCK, 0, BLOCK, 2 * BLOCK - 1, 5] {
            assert_eq!(*blocks.swap_remove(at).unwrap(), model.swap_remove(at));
            assert_eq!((content(&blocks), blocks.len()), (model.clone(), model.len()));
        }
        while let Some(last) = model.pop() {
            assert_eq!(*blocks.swap_remove(model.len()).unwrap(), last);
        }
        assert_eq!(blocks.len(), 0);
        assert!(blocks.swap_remove(0).is_none());
    }

    #[test]
    fn a_snapshot_does_not_change() {
        let mut blocks = Blocks::with_capacity(100);
        (0..100).for_each(|n| blocks.push(entry(n)));
        let snapshot = blocks.snapshot();
        blocks.set(3, entry(1000));
        blocks.swap_remove(99);
        blocks.swap_remove(0);
        let seen: Vec<_> = snapshot.to_vec().iter().map(|entry| *entry.object()).collect();
        assert_eq!(seen, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn many_are_picked_from_a_snapshot_and_few_by_themselves() {
        let mut blocks = Blocks::with_capacity(0);
        (0..10 * BLOCK).for_each(|n| blocks.push(entry(n)));
        for places in [vec![], vec![3, 639, 64], (0..640).rev().step_by(2).collect()] {
            let picked = blocks.pick(&places);
            assert_eq!(matches!(picked, Picked::Few(_)), places.len() <= BLOCK);
            let old = blocks.set(639, entry(7)).unwrap();
            let seen: Vec<_> = picked.into_vec().iter().map(|entry| *entry.object() as u32).collect();
            assert_eq!(seen, places);
            blocks.set(639, old);
        }
    }
}

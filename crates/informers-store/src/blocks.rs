//! A vector of entries in reference-counted blocks, of which a snapshot costs one count per block.

use std::sync::Arc;

use informers_core::Entry;

/// Entries per block. A snapshot of a million entries counts up 16 000 blocks; a write to a block that a
/// snapshot still holds copies 64 pointers.
const BLOCK: usize = 64;

type Block<T> = Arc<Vec<Entry<T>>>;

/// All blocks but the last are full, and none is empty but the only one.
pub(crate) enum Blocks<T> {
    /// Most postings are this short; they save a step on the way to their entries.
    One(Block<T>),
    Many(Vec<Block<T>>),
}

impl<T> Blocks<T> {
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self::One(Arc::new(Vec::with_capacity(entries.min(BLOCK))))
    }

    fn blocks(&self) -> &[Block<T>] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }

    fn blocks_mut(&mut self) -> &mut [Block<T>] {
        match self {
            Self::One(block) => std::slice::from_mut(block),
            Self::Many(blocks) => blocks,
        }
    }

    pub(crate) fn len(&self) -> usize {
        let blocks = self.blocks();
        blocks.last().map_or(0, |last| (blocks.len() - 1) * BLOCK + last.len())
    }

    pub(crate) fn get(&self, at: usize) -> &Entry<T> {
        &self.blocks()[at / BLOCK][at % BLOCK]
    }

    /// Gives back what was there.
    pub(crate) fn set(&mut self, at: usize, entry: Entry<T>) -> Entry<T> {
        std::mem::replace(&mut Arc::make_mut(&mut self.blocks_mut()[at / BLOCK])[at % BLOCK], entry)
    }

    pub(crate) fn push(&mut self, entry: Entry<T>) {
        match self {
            Self::One(block) if block.len() == BLOCK => {
                *self = Self::Many(vec![Arc::clone(block), Arc::new(vec![entry])]);
            }
            Self::One(block) => Arc::make_mut(block).push(entry),
            Self::Many(blocks) => match blocks.last_mut() {
                Some(last) if last.len() < BLOCK => Arc::make_mut(last).push(entry),
                _ => blocks.push(Arc::new(vec![entry])),
            },
        }
    }

    /// Takes one out; the last one takes its place.
    pub(crate) fn swap_remove(&mut self, at: usize) -> Option<Entry<T>> {
        let last_block = self.blocks_mut().last_mut()?;
        let last = Arc::make_mut(last_block).pop()?;
        if let Self::Many(blocks) = self {
            blocks.pop_if(|block| block.is_empty());
            if let [only] = blocks.as_slice() {
                *self = Self::One(Arc::clone(only));
            }
        }
        if at == self.len() { Some(last) } else { Some(self.set(at, last)) }
    }

    pub(crate) fn snapshot(&self) -> Snapshot<T> {
        match self {
            Self::One(block) => Snapshot::Block(Arc::clone(block)),
            Self::Many(blocks) => Snapshot::Blocks(blocks.clone()),
        }
    }
}

/// Entries as they were at one moment.
pub(crate) enum Snapshot<T> {
    Empty,
    One(Entry<T>),
    Block(Block<T>),
    Blocks(Vec<Block<T>>),
}

impl<T> Snapshot<T> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One(_) => 1,
            Self::Block(block) => block.len(),
            Self::Blocks(blocks) => blocks.iter().map(|block| block.len()).sum(),
        }
    }

    pub(crate) fn visit(&self, mut f: impl FnMut(&Entry<T>)) {
        match self {
            Self::Empty => {}
            Self::One(entry) => f(entry),
            Self::Block(block) => block.iter().for_each(f),
            Self::Blocks(blocks) => blocks.iter().flat_map(|block| block.iter()).for_each(f),
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<Entry<T>> {
        match self {
            Self::Empty => Vec::new(),
            Self::One(entry) => vec![entry.clone()],
            Self::Block(block) => block.to_vec(),
            Self::Blocks(_) => {
                let mut all = Vec::with_capacity(self.len());
                self.visit(|entry| all.push(entry.clone()));
                all
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
}

//! A map that forgets what was not used for the longest time.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

#[derive(Debug)]
pub(super) struct Recent<K, V> {
    capacity: usize,
    entries: HashMap<K, (u64, V)>,
    /// By the time of their last use, counted in uses.
    order: BTreeMap<u64, K>,
    uses: u64,
}

impl<K: Clone + Eq + Hash, V> Recent<K, V> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), entries: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// What is there under `key`, or `make()`.
    pub(super) fn get_or_insert_with(&mut self, key: &K, make: impl FnOnce() -> V) -> &mut V {
        if !self.entries.contains_key(key)
            && self.entries.len() >= self.capacity
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.entries.remove(&oldest);
        }
        self.uses += 1;
        let (used, value) = self.entries.entry(key.clone()).or_insert_with(|| (self.uses, make()));
        self.order.remove(used);
        *used = self.uses;
        self.order.insert(self.uses, key.clone());
        value
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        assert_eq!(self.entries.len(), self.order.len());
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_not_used_for_the_longest_time_is_forgotten() {
        let mut recent = Recent::new(2);
        for key in ["a", "b", "a", "c", "a", "b"] {
            *recent.get_or_insert_with(&key, || 0) += 1;
            assert!(recent.len() <= 2);
        }
        assert_eq!(*recent.get_or_insert_with(&"a", || 0), 3, "it was used in between");
        assert_eq!(*recent.get_or_insert_with(&"b", || 0), 1, "c pushed it out, and it pushed out c");
        assert_eq!(*recent.get_or_insert_with(&"c", || 0), 0);
    }
}

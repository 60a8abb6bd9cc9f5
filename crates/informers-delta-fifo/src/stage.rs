//! A list while it is being read.

use hashbrown::HashMap;
use informers_core::{ChangeKind, Entry, ObjectKey, Undecodable};

/// The objects of a list. A streaming list may change and take back what it brought before; positions are
/// looked up by key only once it does, so that an ordinary list costs a push for each object.
pub(crate) struct Staged<T> {
    items: Vec<Entry<T>>,
    undecodable: Vec<Undecodable>,
    /// Where the newest copy of each key is. None until it is needed.
    positions: Option<HashMap<ObjectKey, usize>>,
    /// Positions that were taken back.
    removed: Vec<usize>,
}

impl<T> Staged<T> {
    pub(crate) fn new() -> Self {
        Self { items: Vec::new(), undecodable: Vec::new(), positions: None, removed: Vec::new() }
    }

    /// One that takes an addition for a change where the object is there already.
    pub(crate) fn by_key() -> Self {
        Self { positions: Some(HashMap::new()), ..Self::new() }
    }

    pub(crate) fn entry(&mut self, kind: ChangeKind, entry: Entry<T>) {
        match kind {
            ChangeKind::Added if self.positions.is_none() => self.items.push(entry),
            ChangeKind::Added | ChangeKind::Modified => {
                self.undecodable.retain(|bad| bad.key() != Some(entry.key()));
                match self.positions().get(entry.key()).copied() {
                    Some(at) => self.items[at] = entry,
                    None => {
                        let (key, at) = (entry.key().clone(), self.items.len());
                        self.positions().insert(key, at);
                        self.items.push(entry);
                    }
                }
            }
            ChangeKind::Deleted => self.remove(entry.key()),
        }
    }

    /// A good copy that was staged before stays: the consumer keeps it, as stale.
    pub(crate) fn undecodable(&mut self, kind: ChangeKind, undecodable: Undecodable) {
        match (kind, undecodable.key()) {
            (ChangeKind::Deleted, Some(key)) => self.remove(key),
            (ChangeKind::Modified, Some(key)) => {
                self.undecodable.retain(|bad| bad.key() != Some(key));
                self.undecodable.push(undecodable);
            }
            _ => self.undecodable.push(undecodable),
        }
    }

    fn remove(&mut self, key: &ObjectKey) {
        self.undecodable.retain(|bad| bad.key() != Some(key));
        if let Some(at) = self.positions().remove(key) {
            self.removed.push(at);
        }
    }

    fn positions(&mut self) -> &mut HashMap<ObjectKey, usize> {
        self.positions.get_or_insert_with(|| {
            self.items.iter().enumerate().map(|(at, item)| (item.key().clone(), at)).collect()
        })
    }

    /// The objects in the order in which they came first, and those that cannot be used.
    pub(crate) fn finish(mut self) -> (Vec<Entry<T>>, Vec<Undecodable>) {
        if !self.removed.is_empty() {
            self.removed.sort_unstable();
            let mut removed = self.removed.iter().copied().peekable();
            let mut at = 0;
            self.items.retain(|_| {
                let keep = removed.next_if_eq(&at).is_none();
                at += 1;
                keep
            });
        }
        (self.items, self.undecodable)
    }
}

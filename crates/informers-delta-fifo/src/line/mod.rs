//! The places in line of a queue that has one for each object.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use informers_core::ObjectKey;

use crate::delta::Delta;

/// Objects in line, each with its deltas, found by key.
///
/// Objects leave at the front only. So a place is found by the number it was given when it was taken, and nothing but that
/// number is kept beside the line.
pub(crate) struct Line<T> {
    places: VecDeque<Place<T>>,
    /// The number of the first place.
    first: u64,
    /// The numbers of all places, by the hashes of their keys.
    numbers: HashTable<u64>,
}

struct Place<T> {
    key: ObjectKey,
    deltas: Vec<Delta<T>>,
}

impl<T> Line<T> {
    pub(crate) fn new() -> Self {
        Self { places: VecDeque::new(), first: 0, numbers: HashTable::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// What waits of this object, from oldest to newest.
    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&[Delta<T>]> {
        let at = |&number: &u64| (number - self.first) as usize;
        let number = self.numbers.find(key.table_hash(), |number| self.places[at(number)].key == *key)?;
        Some(&self.places[at(number)].deltas)
    }

    pub(crate) fn contains(&self, key: &ObjectKey) -> bool {
        self.get(key).is_some()
    }

    /// The deltas at the object's place, or at a new one at the end. The caller sees to it that they are not left empty.
    pub(crate) fn place_of(&mut self, key: ObjectKey) -> &mut Vec<Delta<T>> {
        let Self { places, first, numbers } = self;
        let at = |&number: &u64| (number - *first) as usize;
        let entry = numbers.entry(
            key.table_hash(),
            |number| places[at(number)].key == key,
            |number| places[at(number)].key.table_hash(),
        );
        let at = match entry {
            Entry::Occupied(present) => at(present.get()),
            Entry::Vacant(vacant) => {
                vacant.insert(*first + places.len() as u64);
                places.push_back(Place { key, deltas: Vec::with_capacity(1) });
                places.len() - 1
            }
        };
        &mut places[at].deltas
    }

    /// Takes the object that waits longest, with its deltas.
    pub(crate) fn pop_front(&mut self) -> Option<(ObjectKey, Vec<Delta<T>>)> {
        let Place { key, deltas } = self.places.pop_front()?;
        if let Ok(number) = self.numbers.find_entry(key.table_hash(), |&number| number == self.first) {
            number.remove();
        }
        self.first += 1;
        Some((key, deltas))
    }

    /// All objects in line.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &[Delta<T>])> {
        self.places.iter().map(|place| (&place.key, place.deltas.as_slice()))
    }

    /// Takes out everything.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Delta<T>> {
        self.numbers.clear();
        self.places.drain(..).flat_map(|place| place.deltas)
    }
}

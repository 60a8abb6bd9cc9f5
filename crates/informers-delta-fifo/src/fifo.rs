//! The queue that hands out the newest state of each object.

use std::collections::BTreeMap;
use std::fmt;

use hashbrown::{HashMap, HashSet};
use informers_core::{Entry, ObjectKey, Undecodable};

use crate::delta::{Deleted, Delta, ReplacedAll};
use crate::discarded::Discarded;
use crate::in_order::Popped;
use crate::parity::Parity;
use crate::population::{Population, Ticket};

/// A queue that hands out each object once, in its newest state, and no deletions: client-go's plain `FIFO`.
///
/// For consumers who want the present and not the history: an object keeps its place in line while newer states take the
/// place of older ones, and one that is deleted leaves the line. Whoever keeps a store needs deletions, and so
/// [`DeltaFifo`](crate::DeltaFifo) or [`InOrderQueue`](crate::InOrderQueue).
///
/// What is popped is the change that came last: [`Delta::Added`], [`Delta::Updated`], [`Delta::Replaced`] from a list, or
/// [`Delta::Undecodable`].
///
/// This is the machine alone: no lock, no waiting. [`fifo`](crate::fifo()) puts it between tasks.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_delta_fifo::{Deleted, Fifo};
///
/// let pod = |name: &str, version: &str| {
///     Entry::new(ObjectKey::new("shop", name), "u".into(), version.into(), ())
/// };
/// let mut queue = Fifo::new();
/// queue.add(pod("cart", "1"));
/// queue.add(pod("till", "2"));
/// queue.update(pod("cart", "3"));
/// queue.delete(Deleted::observed(pod("till", "4")));
///
/// let popped = queue.pop().unwrap();
/// assert_eq!(format!("{:?}", popped.deltas), "[Updated(shop/cart@3)]");
/// queue.finish(popped.ticket);
/// assert!(queue.is_empty());
/// ```
pub struct Fifo<T> {
    items: HashMap<ObjectKey, Item<T>>,
    /// The places that are taken, by their numbers.
    line: BTreeMap<u64, ObjectKey>,
    next_place: u64,
    population: Population,
    parity: Parity,
}

struct Item<T> {
    place: u64,
    newest: Delta<T>,
    /// Whether the queue is not synced before this was processed, or left.
    initial: bool,
}

impl<T> Default for Fifo<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Fifo<T> {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Self {
        Self {
            items: HashMap::new(),
            line: BTreeMap::new(),
            next_place: 0,
            population: Population::default(),
            parity: Parity::default(),
        }
    }

    /// With some of client-go's behaviours instead of our own.
    #[must_use]
    pub fn with_parity(mut self, parity: Parity) -> Self {
        self.parity = parity;
        self
    }

    pub(crate) fn parity(&self) -> Parity {
        self.parity
    }

    /// The object was created.
    pub fn add(&mut self, entry: Entry<T>) {
        self.change(entry.key().clone(), Delta::Added(entry), &mut Discarded::default());
    }

    /// The object was changed.
    pub fn update(&mut self, entry: Entry<T>) {
        self.change(entry.key().clone(), Delta::Updated(entry), &mut Discarded::default());
    }

    /// The object is gone, and leaves the line.
    pub fn delete(&mut self, deleted: Deleted<T>) {
        self.change(deleted.key.clone(), Delta::Deleted(deleted), &mut Discarded::default());
    }

    /// Takes a change of one object.
    pub(crate) fn change(&mut self, key: ObjectKey, delta: Delta<T>, left: &mut Discarded<T>) {
        self.population.changed();
        if delta.is_deletion() {
            self.remove(&key, left);
            left.delta(delta);
        } else {
            self.put(key, delta, false, left);
        }
    }

    /// An object exists in a state that cannot be used.
    ///
    /// # Errors
    /// Gives the object back if it has no key, and so no place in line.
    pub fn mark_undecodable(&mut self, undecodable: Undecodable) -> Result<(), Box<Undecodable>> {
        let undecodable = Box::new(undecodable);
        let Some(key) = undecodable.key().cloned() else { return Err(undecodable) };
        self.change(key, Delta::Undecodable(undecodable), &mut Discarded::default());
        Ok(())
    }

    /// A change came that left nothing to queue.
    pub(crate) fn note_change(&mut self) {
        self.population.changed();
    }

    /// Puts the newest state at the object's place in line, or at the end.
    fn put(&mut self, key: ObjectKey, newest: Delta<T>, initial: bool, left: &mut Discarded<T>) {
        if let Some(item) = self.items.get_mut(&key) {
            left.delta(std::mem::replace(&mut item.newest, newest));
            return;
        }
        self.line.insert(self.next_place, key.clone());
        self.items.insert(key, Item { place: self.next_place, newest, initial });
        self.next_place += 1;
    }

    fn remove(&mut self, key: &ObjectKey, left: &mut Discarded<T>) {
        if let Some(item) = self.items.remove(key) {
            self.line.remove(&item.place);
            self.population.left(usize::from(item.initial));
            left.delta(item.newest);
        }
    }

    /// Puts a list in the place of everything in its scope. What stays keeps its place in line.
    ///
    /// The first replacement of a queue that has had no other change sets what the queue has to go through before it
    /// counts as synced. An empty one has it synced at once.
    pub fn replace(&mut self, all: ReplacedAll<T>) {
        self.replace_with(all, &mut Discarded::default());
    }

    pub(crate) fn replace_with(&mut self, all: ReplacedAll<T>, left: &mut Discarded<T>) {
        if all.proves_absence() {
            let listed: HashSet<&ObjectKey> = all.keys().collect();
            let vanished = |key: &&ObjectKey| all.covers(key) && !listed.contains(*key);
            let gone: Vec<_> = self.items.keys().filter(vanished).cloned().collect();
            gone.iter().for_each(|key| self.remove(key, left));
        }
        let initial = self.population.is_unpopulated();
        for entry in all.items {
            self.put(entry.key().clone(), Delta::Replaced(entry), initial, left);
        }
        for undecodable in all.undecodable {
            match undecodable.key().cloned() {
                Some(key) => self.put(key, Delta::Undecodable(Box::new(undecodable)), initial, left),
                None => left.undecodable(undecodable),
            }
        }
        self.population.replaced(|| self.items.len());
    }

    /// What client-go leaves behind when an item of a list cannot be queued: everything as it was.
    #[allow(clippy::unused_self, reason = "as the other queues do it")]
    pub(crate) fn replace_cut_short(&mut self, all: ReplacedAll<T>, _: usize, left: &mut Discarded<T>) {
        left.delta(Delta::ReplacedAll(Box::new(all)));
    }

    /// Takes the object that waits longest.
    pub fn pop(&mut self) -> Option<Popped<T>> {
        let (_, key) = self.line.pop_first()?;
        let Item { newest, initial, .. } = self.items.remove(&key)?;
        let is_in_initial_list = !self.population.synced();
        let initial = self.population.take(usize::from(initial));
        Some(Popped { deltas: vec![newest], is_in_initial_list, ticket: Ticket { id: 0, taken: 1, initial } })
    }

    /// Notes that a popped object has been processed. The queue counts as synced once this was said of everything in the
    /// initial list that was not deleted before.
    #[allow(clippy::needless_pass_by_value, reason = "a ticket is given back once")]
    pub fn finish(&mut self, ticket: Ticket) {
        self.population.finish(ticket.initial);
    }

    /// It remembers nothing of what it handed out.
    pub(crate) fn finish_with(&mut self, ticket: Ticket, _: &mut Discarded<T>) {
        self.finish(ticket);
    }

    /// Puts an object at the end of the line, unless it is in line already: then what waits is newer, and this is dropped.
    /// client-go had it up to 0.32, for consumers that try again.
    pub fn add_if_not_present(&mut self, delta: Delta<T>) {
        self.offer(vec![delta], &mut Discarded::default());
    }

    pub(crate) fn offer(&mut self, deltas: Vec<Delta<T>>, left: &mut Discarded<T>) {
        for delta in deltas {
            let Some(key) = delta.key().cloned() else {
                left.delta(delta);
                continue;
            };
            self.population.changed();
            if self.items.contains_key(&key) {
                left.delta(delta);
            } else {
                self.put(key, delta, false, left);
            }
        }
    }

    /// Finishes a popped object and puts it at the end of the line again, unless it is in line already.
    pub fn put_back(&mut self, popped: Popped<T>) {
        self.take_back(popped, &mut Discarded::default());
    }

    pub(crate) fn take_back(&mut self, popped: Popped<T>, left: &mut Discarded<T>) {
        self.finish(popped.ticket);
        self.offer(popped.deltas, left);
    }

    /// What waits of this object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Delta<T>> {
        self.items.get(key).map(|item| &item.newest)
    }

    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        self.items.contains_key(key)
    }

    /// Whether everything that belongs to the first population has been processed or deleted. Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.population.synced()
    }

    /// How many objects wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What waits, in line.
    pub fn iter(&self) -> impl Iterator<Item = &Delta<T>> {
        self.line.values().filter_map(|key| self.items.get(key)).map(|item| &item.newest)
    }

    /// Takes out everything that waits, for good.
    pub(crate) fn discard(&mut self, left: &mut Discarded<T>) {
        self.line.clear();
        left.deltas(self.items.drain().map(|(_, item)| item.newest));
    }
}

impl<T> fmt::Debug for Fifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fifo")
            .field("items", &self.iter().collect::<Vec<_>>())
            .field("population", &self.population)
            .finish_non_exhaustive()
    }
}

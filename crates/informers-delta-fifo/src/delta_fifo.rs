//! The queue with one place in line for each object.

use std::fmt;
use std::sync::Arc;

use hashbrown::HashSet;
use informers_core::{Entry, KnownObjects, ObjectKey, Undecodable};

use crate::delta::{Deleted, Delta, ReplacedAll, newest_copy};
use crate::discarded::Discarded;
use crate::in_flight::{InFlight, State};
use crate::in_order::Popped;
use crate::line::Line;
use crate::parity::Parity;
use crate::population::{Population, Ticket};

/// A queue that gathers all changes of an object in one place in line and hands them out together;
/// client-go's `DeltaFIFO`.
///
/// An object keeps its place when more changes come. Nothing is merged but two deletions in a row. With the
/// store behind it the queue tells which objects a list leaves out; it looks at what waits, what the
/// consumer holds and what is stored.
///
/// This is the machine alone: no lock, no waiting. [`delta_fifo`](crate::delta_fifo()) puts it between tasks.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_delta_fifo::{Deleted, DeltaFifo};
///
/// let pod = |version: &str| Entry::new(ObjectKey::new("shop", "cart"), "u".into(), version.into(), ());
/// let mut queue = DeltaFifo::new();
/// queue.add(pod("1"));
/// queue.update(pod("2"));
/// queue.delete(Deleted::observed(pod("3")));
///
/// let popped = queue.pop().unwrap();
/// assert_eq!(format!("{:?}", popped.deltas), "[Added(shop/cart@1), Updated(shop/cart@2), Deleted(shop/cart@3, Observed)]");
/// queue.finish(popped.ticket);
/// assert!(queue.is_empty());
/// ```
pub struct DeltaFifo<T> {
    /// What waits; each object with at least one delta.
    line: Line<T>,
    known: Option<Arc<dyn KnownObjects<T>>>,
    in_flight: InFlight<T>,
    population: Population,
    emit_replaced: bool,
    parity: Parity,
}

impl<T> Default for DeltaFifo<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> DeltaFifo<T> {
    /// A queue without a store behind it: it only knows the objects that wait.
    #[must_use]
    pub fn new() -> Self {
        Self {
            line: Line::new(),
            known: None,
            in_flight: InFlight::new(),
            population: Population::default(),
            emit_replaced: false,
            parity: Parity::default(),
        }
    }

    /// With the store that the consumer fills.
    #[must_use]
    pub fn with_known(mut self, known: Arc<dyn KnownObjects<T>>) -> Self {
        self.known = Some(known);
        self
    }

    /// Whether the objects of a list come as [`Delta::Replaced`]; by default they come as [`Delta::Sync`],
    /// as in client-go, whose informers switch this on.
    #[must_use]
    pub fn with_emit_replaced(mut self, emit_replaced: bool) -> Self {
        self.emit_replaced = emit_replaced;
        self
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

    pub(crate) fn known(&self) -> Option<&Arc<dyn KnownObjects<T>>> {
        self.known.as_ref()
    }

    /// The object was created.
    pub fn add(&mut self, entry: Entry<T>) {
        self.change(entry.key().clone(), Delta::Added(entry), &mut Discarded::default());
    }

    /// The object was changed.
    pub fn update(&mut self, entry: Entry<T>) {
        self.change(entry.key().clone(), Delta::Updated(entry), &mut Discarded::default());
    }

    /// The object is gone. Passed over if the object neither waits nor is in the consumer's hands nor, where
    /// there is a store, is stored.
    pub fn delete(&mut self, deleted: Deleted<T>) {
        self.change(deleted.key.clone(), Delta::Deleted(deleted), &mut Discarded::default());
    }

    /// Takes a change of one object.
    pub(crate) fn change(&mut self, key: ObjectKey, delta: Delta<T>, left: &mut Discarded<T>) {
        self.population.changed();
        if delta.is_deletion() && !self.has(&key) {
            left.delta(delta);
        } else {
            self.push(key, delta, left);
        }
    }

    /// Whether a deletion of this key says anything new.
    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        let stored = || self.known.as_ref().is_some_and(|known| known.knows(key.as_str()));
        self.line.contains(key) || self.in_flight.contains(key) || stored()
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

    fn push(&mut self, key: ObjectKey, delta: Delta<T>, left: &mut Discarded<T>) {
        let deltas = self.line.place_of(key);
        if let (Some(Delta::Deleted(before)), Delta::Deleted(_)) = (deltas.last(), &delta) {
            // The first deletion says more, unless nobody saw it.
            if before.is_tombstone() {
                left.deltas(deltas.pop());
            } else {
                return left.delta(delta);
            }
        }
        deltas.push(delta);
    }

    /// Puts a list in the place of everything in its scope: queues each of its objects, then the deletion of
    /// whatever else waits, is in the consumer's hands or is stored. Undecodable objects without a key only
    /// count for what they hide.
    ///
    /// The first replacement of a queue that has had no other change sets what the queue has to go through
    /// before it counts as synced. An empty one has it synced at once.
    pub fn replace(&mut self, all: ReplacedAll<T>) {
        self.replace_with(all, &mut Discarded::default());
    }

    pub(crate) fn replace_with(&mut self, all: ReplacedAll<T>, left: &mut Discarded<T>) {
        let gone = if all.proves_absence() { self.missing(&all) } else { Vec::new() };
        let listed = if self.population.synced() { 0 } else { all.keys().collect::<HashSet<_>>().len() };
        let initial = listed + gone.len();
        self.push_listed(all.items, left);
        for undecodable in all.undecodable {
            match undecodable.key().cloned() {
                Some(key) => self.push(key, Delta::Undecodable(Box::new(undecodable)), left),
                None => left.undecodable(undecodable),
            }
        }
        for deleted in gone {
            self.push(deleted.key.clone(), Delta::Deleted(deleted), left);
        }
        self.population.replaced(|| initial);
    }

    /// What client-go leaves behind when the item at `failed` cannot be queued: the items before it, in a
    /// queue that is not populated.
    pub(crate) fn replace_cut_short(
        &mut self,
        mut all: ReplacedAll<T>,
        failed: usize,
        left: &mut Discarded<T>,
    ) {
        let listed = all.items.drain(..failed).collect();
        self.push_listed(listed, left);
        left.delta(Delta::ReplacedAll(Box::new(all)));
    }

    fn push_listed(&mut self, items: Vec<Entry<T>>, left: &mut Discarded<T>) {
        for entry in items {
            let key = entry.key().clone();
            let delta = if self.emit_replaced { Delta::Replaced(entry) } else { Delta::Sync(entry) };
            self.push(key, delta, left);
        }
    }

    /// The deletions of what waits, is in flight or is stored, but is not in `all`.
    fn missing(&self, all: &ReplacedAll<T>) -> Vec<Deleted<T>> {
        let listed: HashSet<&ObjectKey> = all.keys().collect();
        let vanished = |key: &ObjectKey| !listed.contains(key) && all.covers(key);
        let stored = |key: &ObjectKey| self.known.as_ref().and_then(|known| known.get_known(key.as_str()));
        let gone = |key: &ObjectKey, last| Deleted { key: key.clone(), last, how: all.missing };

        let mut deletions = Vec::new();
        for (key, deltas) in self.line.iter().filter(|(key, _)| vanished(key)) {
            let last = newest_copy(deltas).map_or_else(|| stored(key), |last| last.cloned());
            deletions.push(gone(key, last));
        }
        let in_flight = self.in_flight.by_key();
        for (key, state) in self.in_flight.newest() {
            if let State::Present(last) = state
                && vanished(key)
                && !self.line.contains(key)
            {
                deletions.push(gone(key, last.clone().or_else(|| stored(key))));
            }
        }
        for key in self.known.iter().flat_map(|known| known.known_keys()) {
            if vanished(&key) && !self.line.contains(&key) && !in_flight.contains_key(&key) {
                deletions.push(gone(&key, stored(&key)));
            }
        }
        deletions
    }

    /// Shows every stored object again, but for those with changes under way, since these are newer than
    /// what is stored. Does nothing without a store.
    pub fn resync(&mut self) {
        let Some(known) = &self.known else { return };
        let mut keys = known.known_keys();
        keys.retain(|key| !self.line.contains(key) && !self.in_flight.contains(key));
        // The store is asked for all of them first: if it panics, nothing was queued of which nobody would be told.
        let settled: Vec<_> =
            keys.into_iter().filter_map(|key| Some((known.get_known(key.as_str())?, key))).collect();
        for (entry, key) in settled {
            // The object is not in line, so there is nothing that could fall out.
            self.push(key, Delta::Sync(entry), &mut Discarded::default());
        }
    }

    /// Takes the object that waits longest, with all its changes.
    pub fn pop(&mut self) -> Option<Popped<T>> {
        let (key, deltas) = self.line.pop_front()?;
        let is_in_initial_list = !self.population.synced();
        let id = self.in_flight.take(std::iter::once((key, &deltas[..])));
        let initial = self.population.take(1);
        if self.parity.synced_before_processing {
            self.population.finish(initial);
        }
        Some(Popped { deltas, is_in_initial_list, ticket: Ticket { id, taken: 1, initial } })
    }

    /// Notes that a popped object has been processed. The queue counts as synced once this was said of
    /// everything in the initial list.
    pub fn finish(&mut self, ticket: Ticket) {
        self.finish_with(ticket, &mut Discarded::default());
    }

    #[allow(clippy::needless_pass_by_value, reason = "a ticket is given back once")]
    pub(crate) fn finish_with(&mut self, ticket: Ticket, left: &mut Discarded<T>) {
        self.in_flight.finish(ticket.id, left);
        if !self.parity.synced_before_processing {
            self.population.finish(ticket.initial);
        }
    }

    /// Puts the deltas of one object at the end of the line, unless it is in line already: then what waits
    /// is newer, and they are dropped. client-go had this up to 0.32, for consumers that try again.
    ///
    /// Deltas of several objects, or of none, are dropped too.
    pub fn add_if_not_present(&mut self, deltas: Vec<Delta<T>>) {
        self.offer(deltas, &mut Discarded::default());
    }

    pub(crate) fn offer(&mut self, deltas: Vec<Delta<T>>, left: &mut Discarded<T>) {
        let Some(key) = deltas.first().and_then(Delta::key).cloned() else { return left.deltas(deltas) };
        self.population.changed();
        if self.line.contains(&key) || deltas.iter().any(|delta| delta.key() != Some(&key)) {
            return left.deltas(deltas);
        }
        *self.line.place_of(key) = deltas;
    }

    /// Finishes a popped object and puts it at the end of the line again, unless it is in line already.
    pub fn put_back(&mut self, popped: Popped<T>) {
        self.take_back(popped, &mut Discarded::default());
    }

    pub(crate) fn take_back(&mut self, popped: Popped<T>, left: &mut Discarded<T>) {
        self.finish_with(popped.ticket, left);
        self.offer(popped.deltas, left);
    }

    /// Whether everything that belongs to the first population has been processed. Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.population.synced()
    }

    /// How many objects wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// The objects that wait, in line, each with its deltas from oldest to newest.
    pub fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &[Delta<T>])> {
        self.line.iter()
    }

    /// Takes out everything that waits, for good.
    pub(crate) fn discard(&mut self, left: &mut Discarded<T>) {
        left.deltas(self.line.drain());
    }
}

impl<T> fmt::Debug for DeltaFifo<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaFifo")
            .field("items", &self.iter().collect::<Vec<_>>())
            .field("population", &self.population)
            .finish_non_exhaustive()
    }
}

//! The queue that hands everything out in the order in which it came.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use informers_core::{Entry, KnownObjects, ObjectKey, ResourceVersion, Scope, Undecodable};

use crate::delta::{Bookmark, Deleted, Delta, ReplacedAll};
use crate::discarded::Discarded;
use crate::in_flight::{InFlight, State};
use crate::parity::Parity;
use crate::population::{Population, Ticket};

/// How many deltas a batch has at most, as in client-go.
const BATCH_SIZE: usize = 1000;

/// A queue of single deltas in the order in which they came; nothing is merged. client-go's `RealFIFO`,
/// its default since 1.36.
///
/// In the usual, atomic mode a list travels as one [`Delta::ReplacedAll`], and the consumer finds out what
/// vanished: it alone knows what the store has when the list's turn comes, so nothing that waited in the
/// queue can be overlooked. In plain mode the queue compares a list with what waits, what the consumer holds
/// and what the store behind it has, and hands out one delta per object.
///
/// This is the machine alone: no lock, no waiting. [`in_order_queue`](crate::in_order_queue) puts it
/// between tasks.
///
/// ```
/// use informers_core::{Entry, ObjectKey, Scope};
/// use informers_delta_fifo::{Delta, InOrderQueue, ReplacedAll};
///
/// let pod = Entry::new(ObjectKey::new("shop", "cart"), "u".into(), "5".into(), ());
/// let mut queue = InOrderQueue::atomic();
/// queue.replace(ReplacedAll::new(Scope::all(), "5".into(), vec![pod]));
/// queue.bookmark(Scope::all(), "6".into());
///
/// let popped = queue.pop_batch().unwrap();
/// assert!(popped.is_in_initial_list && !queue.has_synced());
/// assert!(matches!(&popped.deltas[..], [Delta::ReplacedAll(all)] if all.items.len() == 1));
/// queue.finish(popped.ticket);
/// assert!(queue.has_synced());
/// ```
pub struct InOrderQueue<T> {
    items: VecDeque<Delta<T>>,
    /// The store behind a plain queue; none in atomic mode.
    known: Option<Arc<dyn KnownObjects<T>>>,
    in_flight: InFlight<T>,
    population: Population,
    batch_size: usize,
    bookmarks: bool,
    parity: Parity,
}

/// What a queue hands out at once.
///
/// When it has been processed, its ticket goes back to the queue's `finish`.
#[derive(Debug)]
#[non_exhaustive]
pub struct Popped<T> {
    /// At least one delta, oldest first.
    pub deltas: Vec<Delta<T>>,
    /// Whether the queue was not yet synced when these were taken: client-go's `isInInitialList`.
    pub is_in_initial_list: bool,
    /// To be given back.
    pub ticket: Ticket,
}

impl<T> InOrderQueue<T> {
    /// A queue whose lists and resyncs are one delta each.
    #[must_use]
    pub fn atomic() -> Self {
        Self {
            items: VecDeque::new(),
            known: None,
            in_flight: InFlight::new(),
            population: Population::default(),
            batch_size: BATCH_SIZE,
            bookmarks: true,
            parity: Parity::default(),
        }
    }

    /// A queue that takes lists and resyncs apart, with the store that its consumer fills. There are no
    /// bookmarks in this mode.
    #[must_use]
    pub fn plain(known: Arc<dyn KnownObjects<T>>) -> Self {
        Self { known: Some(known), bookmarks: false, ..Self::atomic() }
    }

    /// With another size of batches than 1000; 0 counts as 1.
    #[must_use]
    pub fn with_batch_size(mut self, batch_size: usize) -> Self {
        self.batch_size = batch_size.max(1);
        self
    }

    /// Whether bookmarks are queued; on by default. A plain queue never does.
    #[must_use]
    pub fn with_bookmarks(mut self, bookmarks: bool) -> Self {
        self.bookmarks = bookmarks && self.known.is_none();
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
        self.change(Delta::Added(entry));
    }

    /// The object was changed.
    pub fn update(&mut self, entry: Entry<T>) {
        self.change(Delta::Updated(entry));
    }

    /// The object is gone. It is queued even if nobody knows the object: whether it does, the consumer finds
    /// out in its turn.
    pub fn delete(&mut self, deleted: Deleted<T>) {
        self.change(Delta::Deleted(deleted));
    }

    /// An object exists in a state that cannot be used.
    pub fn mark_undecodable(&mut self, undecodable: Undecodable) {
        self.change(Delta::Undecodable(Box::new(undecodable)));
    }

    /// Takes a change of one object.
    pub(crate) fn change(&mut self, delta: Delta<T>) {
        self.population.changed();
        self.items.push_back(delta);
    }

    /// A change came that left nothing to queue.
    pub(crate) fn note_change(&mut self) {
        self.population.changed();
    }

    /// Nothing changed in `scope` up to `version`.
    pub fn bookmark(&mut self, scope: Scope, version: ResourceVersion) {
        if self.bookmarks {
            self.items.push_back(Delta::Bookmark(Box::new(Bookmark::new(scope, version))));
        }
    }

    /// Puts a list in the place of everything in its scope.
    ///
    /// The first replacement of a queue that has had no other change sets what the queue has to go through
    /// before it counts as synced: everything that is queued now. An empty list of an atomic queue is one
    /// item like any other, so the queue is synced when it has been processed, not before.
    pub fn replace(&mut self, all: ReplacedAll<T>) {
        if self.known.is_some() {
            let items = all.items.len();
            self.replace_until(items, all, &mut Discarded::default());
        } else {
            self.items.push_back(Delta::ReplacedAll(Box::new(all)));
        }
        self.population.replaced(|| self.items.len());
    }

    /// What client-go leaves behind in plain mode when the item at `failed` cannot be queued: the deletions
    /// and the items before it, in a queue that is not populated.
    pub(crate) fn replace_cut_short(&mut self, all: ReplacedAll<T>, failed: usize, left: &mut Discarded<T>) {
        if self.known.is_some() {
            self.replace_until(failed, all, left);
        } else {
            left.delta(Delta::ReplacedAll(Box::new(all)));
        }
    }

    fn replace_until(&mut self, end: usize, mut all: ReplacedAll<T>, left: &mut Discarded<T>) {
        if all.proves_absence() {
            let missing = self.missing(&all);
            self.items.extend(missing);
        }
        left.entries(all.items.drain(end..));
        self.items.extend(all.items.into_iter().map(Delta::Replaced));
        self.items.extend(all.undecodable.into_iter().map(|bad| Delta::Undecodable(Box::new(bad))));
    }

    /// The deletions of what is queued, in flight or stored, but not in `all`.
    fn missing(&self, all: &ReplacedAll<T>) -> Vec<Delta<T>> {
        let listed: HashSet<&ObjectKey> = all.keys().collect();
        let vanished = |key: &ObjectKey| !listed.contains(key) && all.covers(key);
        let tombstone = |key: &ObjectKey, last: Option<Entry<T>>| {
            Delta::Deleted(Deleted { key: key.clone(), last, how: all.missing })
        };
        let stored = |key: &ObjectKey| self.known.as_ref().and_then(|known| known.get_known(key.as_str()));

        let mut deletions = Vec::new();
        let mut newest: HashMap<&ObjectKey, usize> = HashMap::new();
        let mut in_line = Vec::new();
        for delta in &self.items {
            let Some(key) = delta.key() else { continue };
            let at = *newest.entry(key).or_insert_with(|| {
                in_line.push((key, None));
                in_line.len() - 1
            });
            // An undecodable state does not hide the good one before it.
            let good_before = in_line[at].1.is_some_and(|before: &Delta<T>| !before.is_deletion());
            if !(good_before && matches!(delta, Delta::Undecodable(_))) {
                in_line[at].1 = Some(delta);
            }
        }
        for (key, delta) in &in_line {
            if vanished(key) && !delta.is_some_and(Delta::is_deletion) {
                let last = delta.and_then(Delta::entry).cloned();
                deletions.push(tombstone(key, last.or_else(|| stored(key))));
            }
        }
        let in_flight = self.in_flight.by_key();
        for (key, state) in self.in_flight.newest() {
            if let State::Present(last) = state
                && vanished(key)
                && !newest.contains_key(key)
            {
                deletions.push(tombstone(key, last.clone().or_else(|| stored(key))));
            }
        }
        for key in self.known.iter().flat_map(|known| known.known_keys()) {
            if vanished(&key) && !newest.contains_key(&key) && !in_flight.contains_key(&key) {
                deletions.push(tombstone(&key, stored(&key)));
            }
        }
        deletions
    }

    /// Shows every object again. A plain queue leaves out those with changes under way, since these are
    /// newer than what is stored.
    pub fn resync(&mut self) {
        match &self.known {
            None => self.items.push_back(Delta::SyncAll),
            Some(known) => {
                let settled = self.settled(&**known);
                self.items.extend(settled.into_iter().map(Delta::Sync));
            }
        }
    }

    /// The stored objects that have no changes under way.
    fn settled(&self, known: &dyn KnownObjects<T>) -> Vec<Entry<T>> {
        let queued: HashSet<&ObjectKey> = self.items.iter().filter_map(Delta::key).collect();
        let in_flight = self.in_flight.by_key();
        let mut keys = known.known_keys();
        keys.retain(|key| !queued.contains(key) && !in_flight.contains_key(key));
        keys.iter().filter_map(|key| known.get_known(key.as_str())).collect()
    }

    /// Takes the oldest delta.
    pub fn pop(&mut self) -> Option<Popped<T>> {
        self.take(1)
    }

    /// Takes as many deltas as may be processed together: at most 1000, no key twice, nothing of the initial
    /// list together with what came later. `ReplacedAll`, `SyncAll` and `Bookmark` go alone, and an
    /// undecodable object without a key ends its batch.
    pub fn pop_batch(&mut self) -> Option<Popped<T>> {
        self.take(self.batch_len())
    }

    fn batch_len(&self) -> usize {
        let limit = self.population.limit().unwrap_or(usize::MAX).min(self.batch_size).min(self.items.len());
        if limit <= 1 {
            return limit;
        }
        let mut keys = HashSet::with_capacity(limit);
        for (at, delta) in self.items.iter().take(limit).enumerate() {
            match delta.key() {
                _ if delta.is_collective() => return at.max(1),
                None => return at + 1,
                Some(key) if !keys.insert(key) => return at,
                Some(_) => {}
            }
        }
        limit
    }

    fn take(&mut self, count: usize) -> Option<Popped<T>> {
        let is_in_initial_list = !self.population.synced();
        let deltas: Vec<_> = self.items.drain(..count.min(self.items.len())).collect();
        if deltas.is_empty() {
            return None;
        }
        // An atomic queue never looks for a key, so it need not remember any.
        let of_one = |delta| Some((Delta::key(delta)?.clone(), std::slice::from_ref(delta)));
        let id = match self.known {
            Some(_) => self.in_flight.take(deltas.iter().filter_map(of_one)),
            None => 0,
        };
        let ticket = Ticket { id, taken: deltas.len(), initial: self.population.take(deltas.len()) };
        Some(Popped { deltas, is_in_initial_list, ticket })
    }

    /// Notes that popped deltas have been processed. The queue counts as synced once this was said of
    /// everything in the initial list.
    pub fn finish(&mut self, ticket: Ticket) {
        self.finish_with(ticket, &mut Discarded::default());
    }

    #[allow(clippy::needless_pass_by_value, reason = "a ticket is given back once")]
    pub(crate) fn finish_with(&mut self, ticket: Ticket, left: &mut Discarded<T>) {
        self.in_flight.finish(ticket.id, left);
        if self.parity.bookmark_uses_up_initial_count {
            self.population.finish_any(ticket.taken);
        } else {
            self.population.finish(ticket.initial);
        }
    }

    /// Puts popped deltas back to the head of the queue, as if they had not been taken. If some of them were
    /// moved out, they only count as finished.
    pub fn put_back(&mut self, popped: Popped<T>) {
        self.take_back(popped, &mut Discarded::default());
    }

    pub(crate) fn take_back(&mut self, popped: Popped<T>, left: &mut Discarded<T>) {
        if popped.deltas.len() < popped.ticket.taken {
            left.deltas(popped.deltas);
            return self.finish_with(popped.ticket, left);
        }
        self.in_flight.finish(popped.ticket.id, left);
        self.population.put_back(popped.ticket.initial);
        for delta in popped.deltas.into_iter().rev() {
            self.items.push_front(delta);
        }
    }

    /// Whether everything that belongs to the first population has been processed. Stays true.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.population.synced()
    }

    /// How many deltas wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// What waits, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Delta<T>> {
        self.items.iter()
    }

    /// Takes out everything that waits, for good.
    pub(crate) fn discard(&mut self, left: &mut Discarded<T>) {
        left.deltas(std::mem::take(&mut self.items));
    }
}

impl<T> fmt::Debug for InOrderQueue<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InOrderQueue")
            .field("items", &self.items)
            .field("atomic", &self.known.is_none())
            .field("population", &self.population)
            .finish_non_exhaustive()
    }
}

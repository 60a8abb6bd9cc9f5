//! A queue by priority, with keys.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::PoisonError;
use std::task::{Context, Poll};

use hashbrown::HashMap;
use informers_core::wait::{Caller, Waiters};
use informers_core::{Entry, ObjectKey};

use crate::error::Error;
use crate::lock::{Mutex, MutexGuard};

/// A queue of entries by priority, one per key (client-go's `cache.Heap`).
///
/// The least priority comes out first, and of equal ones the one that went in first. Priorities are computed
/// when an entry is added, without a lock. Any number of tasks may add and pop.
///
/// ```
/// use informers_core::{Entry, ObjectKey};
/// use informers_store::Heap;
///
/// let heap = Heap::new(|entry: &Entry<u32>| *entry.object());
/// let entry = |name: &str, n| Entry::keyed(ObjectKey::cluster(name), n);
/// heap.add_all(vec![entry("a", 3), entry("b", 1), entry("c", 2)]).unwrap();
/// heap.add(entry("a", 0)).unwrap();
/// let popped: Vec<_> = std::iter::from_fn(|| heap.try_pop()).map(|entry| *entry).collect();
/// assert_eq!(popped, [0, 1, 2]);
/// ```
pub struct Heap<T, P> {
    priority: Box<Priority<T, P>>,
    state: Mutex<State<T, P>>,
}

type Priority<T, P> = dyn Fn(&Entry<T>) -> P + Send + Sync;

struct State<T, P> {
    items: HashMap<ObjectKey, Item<T, P>>,
    order: BTreeMap<(P, u64), ObjectKey>,
    next: u64,
    closed: bool,
    /// The pops that found nothing. Each addition wakes all of them, and those that find nothing again wait on: one that is
    /// woken alone might be dropped before it takes anything.
    poppers: Waiters,
}

struct Item<T, P> {
    entry: Entry<T>,
    rank: (P, u64),
}

impl<T, P: Ord + Clone> Heap<T, P> {
    /// An empty heap; `priority` says which entry comes first: the one for which it is least.
    pub fn new(priority: impl Fn(&Entry<T>) -> P + Send + Sync + 'static) -> Self {
        let state = State {
            items: HashMap::new(),
            order: BTreeMap::new(),
            next: 0,
            closed: false,
            poppers: Waiters::new(),
        };
        Self { priority: Box::new(priority), state: Mutex::new(state) }
    }

    /// Adds an entry, or puts it in the place of the one with its key, which is given back.
    ///
    /// # Errors
    /// If the heap is closed.
    pub fn add(&self, entry: Entry<T>) -> Result<Option<Entry<T>>, Error> {
        let priority = (self.priority)(&entry);
        let (old, poppers) = {
            let mut state = self.state();
            let state = state.open()?;
            (state.put(priority, entry), state.poppers.take())
        };
        poppers.wake();
        Ok(old)
    }

    /// Adds several entries at once.
    ///
    /// # Errors
    /// If the heap is closed.
    pub fn add_all(&self, entries: Vec<Entry<T>>) -> Result<(), Error> {
        let entries: Vec<_> = entries.into_iter().map(|entry| ((self.priority)(&entry), entry)).collect();
        let mut old = Vec::new();
        let (done, poppers) = {
            let mut state = self.state();
            let state = state.open()?;
            let put = || old.extend(entries.into_iter().map(|(priority, entry)| state.put(priority, entry)));
            // Those who wait have to hear of what was added before a comparison panicked.
            (catch_unwind(AssertUnwindSafe(put)), state.poppers.take())
        };
        poppers.wake();
        done.unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }

    /// Adds an entry unless there is one with its key. Says whether it was added.
    ///
    /// # Errors
    /// If the heap is closed.
    pub fn add_if_absent(&self, entry: Entry<T>) -> Result<bool, Error> {
        let priority = (self.priority)(&entry);
        let poppers = {
            let mut state = self.state();
            let state = state.open()?;
            if state.items.contains_key(entry.key()) {
                return Ok(false);
            }
            state.put(priority, entry);
            state.poppers.take()
        };
        poppers.wake();
        Ok(true)
    }

    /// Takes the entry of a key out.
    ///
    /// # Errors
    /// If there is none.
    pub fn delete(&self, key: &ObjectKey) -> Result<Entry<T>, Error> {
        let State { items, order, .. } = &mut *self.state();
        if let Some(item) = items.get(key) {
            // First, since a comparison may panic: then the item stays.
            order.remove(&item.rank);
        }
        items.remove(key).map(|item| item.entry).ok_or_else(|| Error::NotInHeap { key: key.clone() })
    }

    /// Takes the first entry out, if there is one.
    pub fn try_pop(&self) -> Option<Entry<T>> {
        self.state().pop()
    }

    /// Takes the first entry out, and waits for one if there is none.
    ///
    /// # Errors
    /// If the heap is closed and empty.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing out.
    pub async fn pop(&self) -> Result<Entry<T>, Error> {
        Pop { heap: self, slot: None }.await
    }

    /// Takes no more entries. Those that are in can be popped; after that every pop fails.
    pub fn close(&self) {
        let poppers = {
            let mut state = self.state();
            state.closed = true;
            state.poppers.take()
        };
        poppers.wake();
    }

    /// Whether it was closed.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// The entry of a key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<Entry<T>> {
        self.state().items.get(key).map(|item| item.entry.clone())
    }

    /// All entries, in the order in which they would come out.
    #[must_use]
    pub fn list(&self) -> Vec<Entry<T>> {
        let state = self.state();
        state.order.values().filter_map(|key| state.items.get(key)).map(|item| item.entry.clone()).collect()
    }

    /// The keys of all entries, in the order in which they would come out.
    #[must_use]
    pub fn keys(&self) -> Vec<ObjectKey> {
        self.state().order.values().cloned().collect()
    }

    /// How many entries there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().items.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, State<T, P>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T, P: Ord + Clone> State<T, P> {
    fn open(&mut self) -> Result<&mut Self, Error> {
        if self.closed { Err(Error::HeapClosed) } else { Ok(self) }
    }

    /// An entry that takes another one's place keeps its turn among equal priorities.
    fn put(&mut self, priority: P, entry: Entry<T>) -> Option<Entry<T>> {
        let key = entry.key().clone();
        let former = self.items.get(&key).map(|item| &item.rank);
        let turn = former.map_or(self.next + 1, |(_, turn)| *turn);
        let rank = (priority, turn);
        // Cloning and comparing priorities is the user's code, and may panic: then the item stays as it was.
        let has_moved = self.order.insert(rank.clone(), key.clone()).is_none();
        if let Some(former) = former.filter(|_| has_moved) {
            self.order.remove(former);
        }
        self.next = self.next.max(turn);
        self.items.insert(key, Item { entry, rank }).map(|old| old.entry)
    }

    fn pop(&mut self) -> Option<Entry<T>> {
        loop {
            let (_, key) = self.order.pop_first()?;
            // A place of which a comparison that panicked took the item away, or gave it another, leads to nothing.
            if let Some(item) = self.items.remove(&key) {
                return Some(item.entry);
            }
        }
    }
}

/// A pop that waits.
struct Pop<'a, T, P: Ord + Clone> {
    heap: &'a Heap<T, P>,
    slot: Option<usize>,
}

impl<T, P: Ord + Clone> Future for Pop<'_, T, P> {
    type Output = Result<Entry<T>, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Caller::poll(cx, |caller| {
            let mut state = self.heap.state();
            if let Some(entry) = state.pop() {
                return Some(Poll::Ready(Ok(entry)));
            }
            if let Err(closed) = state.open() {
                return Some(Poll::Ready(Err(closed)));
            }
            let slot = *self.slot.get_or_insert_with(|| state.poppers.join());
            let unused = caller.wait_among(&mut state.poppers, slot)?;
            drop(state);
            drop(unused);
            Some(Poll::Pending)
        })
    }
}

impl<T, P: Ord + Clone> Drop for Pop<'_, T, P> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            let former = self.heap.state().poppers.leave(slot);
            drop(former);
        }
    }
}

impl<T, P: Ord + Clone> fmt::Debug for Heap<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Heap").field("len", &state.items.len()).field("closed", &state.closed).finish()
    }
}

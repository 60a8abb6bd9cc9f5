//! The queue without IO, clock, task or lock: whoever drives it says what time it is.
//!
//! Use [`WorkQueue`](crate::WorkQueue) unless you drive the queue from your own loop.

mod delays;
mod inspect;
mod observe;
mod shut_down;
mod slots;
#[cfg(test)]
mod tests;

use std::hash::{BuildHasher, Hash};
use std::time::{Duration, Instant};

use hashbrown::DefaultHashBuilder;

use self::delays::Delays;
use self::observe::Times;
use self::slots::Slots;
use crate::{Error, Fifo, Parity, Storage, Ticket};

pub use self::observe::Observation;
pub use self::shut_down::Phase;

/// A delay too long for the clock is cut to this.
const FAR_FUTURE: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A key that was taken, and the number of this take.
///
/// ```
/// use std::time::Instant;
/// use informers_workqueue::machine::Machine;
///
/// let now = Instant::now();
/// let mut machine = Machine::default();
/// machine.add("a", now).unwrap();
/// let take = machine.get(now).unwrap();
/// machine.finish(take.id, now);
/// assert_eq!((take.key, machine.processing_len()), ("a", 0));
/// ```
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Take<T> {
    /// The key.
    pub key: T,
    /// For [`Machine::finish`].
    pub id: TakeId,
}

/// Tells one take of a key from another.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct TakeId {
    slot: usize,
    take: u64,
}

/// Deduplicating, delaying queue.
///
/// A key is dirty from an add until it is taken, and processing from then until it is finished. A dirty key is queued
/// unless it is being processed: so no key is ever worked on twice at a time, and adds meanwhile count as one.
///
/// Every method that takes `now` first queues the delayed keys whose time has come. `now` must not go backwards;
/// if it does, delayed keys only come later.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::machine::Machine;
///
/// let t0 = Instant::now();
/// let mut machine = Machine::<&str>::default();
/// machine.add("a", t0).unwrap();
/// machine.add("a", t0).unwrap(); // merged
/// machine.add_after("b", Duration::from_secs(5), t0).unwrap();
///
/// let take = machine.get(t0).unwrap();
/// assert_eq!(take.key, "a");
/// assert!(machine.get(t0).is_none());
/// machine.done(&"a", t0).unwrap();
///
/// assert_eq!(machine.next_deadline(), Some(t0 + Duration::from_secs(5)));
/// assert_eq!(machine.get(t0 + Duration::from_secs(5)).unwrap().key, "b");
/// ```
#[derive(Debug)]
pub struct Machine<T, S = Fifo> {
    hasher: DefaultHashBuilder,
    slots: Slots<T>,
    storage: S,
    delays: Delays,
    processing: usize,
    phase: Phase,
    shut_down_before: bool,
    takes: u64,
    pushes: u64,
    parity: Parity,
    /// By slot; `None` if times are not kept.
    times: Option<Vec<Times>>,
    observations: Vec<Observation>,
}

/// The hash by which a machine with this hasher finds a key.
pub(crate) fn hash<T: Hash>(hasher: &DefaultHashBuilder, key: &T) -> u32 {
    let hash = hasher.hash_one(key);
    (hash ^ (hash >> 32)) as u32
}

impl<T> Default for Machine<T> {
    fn default() -> Self {
        Self::new(Fifo::default(), Parity::default())
    }
}

impl<T, S> Machine<T, S> {
    /// An empty queue that hands out keys in the order of `storage`.
    pub fn new(storage: S, parity: Parity) -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            slots: Slots::default(),
            storage,
            delays: Delays::default(),
            processing: 0,
            phase: Phase::Running,
            shut_down_before: false,
            takes: 0,
            pushes: 0,
            parity,
            times: None,
            observations: Vec::new(),
        }
    }

    /// For those who hash a key without the lock: see [`hash`].
    pub(crate) fn hasher(&self) -> DefaultHashBuilder {
        self.hasher
    }

    /// Delayed keys whose time has not come, as of the last call with `now`.
    pub fn waiting_len(&self) -> usize {
        self.delays.len()
    }

    /// Keys that are taken and not finished.
    pub fn processing_len(&self) -> usize {
        self.processing
    }

    /// When the first delayed key becomes ready.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.delays.next()
    }

    /// How many times a key was pushed into the storage since the beginning: a driver wakes as many waiters as this
    /// number grew.
    pub fn pushes(&self) -> u64 {
        self.pushes
    }
}

impl<T: Eq + Hash + Clone, S: Storage<T>> Machine<T, S> {
    /// Keys that can be taken: excludes those that are taken and dirty, and those that wait.
    ///
    /// Call [`advance`](Self::advance) first to count the delayed keys whose time has come.
    pub fn len(&self) -> usize {
        self.storage.len()
    }

    /// Whether no key can be taken.
    pub fn is_empty(&self) -> bool {
        self.storage.is_empty()
    }

    /// Queues the delayed keys whose time has come, in the order of their times.
    pub fn advance(&mut self, now: Instant) {
        while let Some((slot, at)) = self.delays.pop_due(now) {
            self.mark_dirty(slot, at);
        }
    }

    /// Marks the key as needing work. A delayed add of the same key that still waits is cancelled
    /// (see [`Parity::add_keeps_waiting`]).
    ///
    /// Gives the key back if the queue knows it already, so that the driver decides where it is dropped.
    ///
    /// # Errors
    /// [`Error::ShutDown`] gives the key back.
    pub fn add(&mut self, key: T, now: Instant) -> Result<Option<T>, Error<T>> {
        let hash = hash(&self.hasher, &key);
        self.add_hashed(key, hash, now)
    }

    /// [`add`](Self::add) of a key that was hashed without the lock.
    pub(crate) fn add_hashed(&mut self, key: T, hash: u32, now: Instant) -> Result<Option<T>, Error<T>> {
        self.advance(now);
        if self.shutting_down() {
            return Err(Error::ShutDown { key });
        }
        Ok(self.add_now(key, hash, now))
    }

    fn add_now(&mut self, key: T, hash: u32, now: Instant) -> Option<T> {
        let (slot, copy) = self.slots.find_or_insert(key, hash);
        if !self.delays.is_empty() && !self.parity.add_keeps_waiting {
            self.delays.cancel(slot);
        }
        self.mark_dirty(slot, now);
        copy
    }

    fn mark_dirty(&mut self, index: usize, at: Instant) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        if slot.dirty {
            if !slot.processing
                && let Some(key) = slot.key()
            {
                self.storage.touch(Ticket(index), key);
            }
            return;
        }
        if slot.processing {
            slot.dirty = true;
        } else {
            self.push(index);
        }
        if let Some(times) = self.times_of(index) {
            times.added.get_or_insert(at);
        }
        self.observe(Observation::Added);
    }

    fn push(&mut self, index: usize) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        // The user's code, if the storage is his. Where it panics, that turn is lost, but not the key: it is dirty only
        // once it is queued, so the next add queues it.
        slot.dirty = false;
        if let Some(key) = slot.key() {
            self.storage.push(Ticket(index), key);
        }
        slot.dirty = true;
        self.pushes += 1;
        slot.push = self.pushes;
        slot.queued += 1;
    }

    /// Adds the key once `delay` has passed; at once if it is zero. Of several delays of one key the earliest wins.
    ///
    /// A key that is queued or taken may wait besides: it then runs once more. Memory is bounded by the number of
    /// distinct keys. Gives the key back like [`add`](Self::add).
    ///
    /// # Errors
    /// [`Error::ShutDown`] gives the key back.
    pub fn add_after(&mut self, key: T, delay: Duration, now: Instant) -> Result<Option<T>, Error<T>> {
        let hash = hash(&self.hasher, &key);
        self.add_hashed_after(key, hash, delay, now)
    }

    /// [`add_after`](Self::add_after) for a key that was hashed without the lock.
    pub(crate) fn add_hashed_after(
        &mut self,
        key: T,
        hash: u32,
        delay: Duration,
        now: Instant,
    ) -> Result<Option<T>, Error<T>> {
        self.advance(now);
        if self.shutting_down() {
            return Err(Error::ShutDown { key });
        }
        self.observe(Observation::Retried);
        if delay.is_zero() {
            return Ok(self.add_now(key, hash, now));
        }
        let at = now.checked_add(delay.min(FAR_FUTURE)).unwrap_or(now);
        let (slot, copy) = self.slots.find_or_insert(key, hash);
        self.delays.schedule(slot, at);
        Ok(copy)
    }

    /// Takes the next key. `None` if none is queued; then, if the queue is shutting down, none will come unless a
    /// taken key was added again before the shutdown.
    pub fn get(&mut self, now: Instant) -> Option<Take<T>> {
        self.advance(now);
        loop {
            let Ticket(index) = self.storage.pop()?;
            let Some(slot) = self.slots.get_mut(index) else { continue };
            let Some(queued) = slot.queued.checked_sub(1) else { continue };
            slot.queued = queued;
            slot.dirty = false;
            let Some(key) = slot.key().cloned() else { continue };
            self.takes += 1;
            slot.take = self.takes;
            if !slot.processing {
                slot.processing = true;
                self.processing += 1;
            }
            if let Some(times) = self.times_of(index) {
                times.taken = Some(now);
                let queued_for = times.added.take().map(|added| now.saturating_duration_since(added));
                self.observe(Observation::Taken { queued_for });
            }
            return Some(Take { key, id: TakeId { slot: index, take: self.takes } });
        }
    }

    /// Finishes the key: it is queued again if it was added meanwhile. Gives back the queue's own copy of the key if
    /// it is no longer needed.
    ///
    /// # Errors
    /// [`Error::NotTaken`] if the key is not taken; nothing changes (see [`Parity::done_of_untaken_requeues`]).
    pub fn done(&mut self, key: &T, now: Instant) -> Result<Option<T>, Error<T>> {
        self.advance(now);
        let slot = self.slots.find(key, hash(&self.hasher, key));
        match slot {
            Some(slot) if self.slots.get(slot).is_some_and(|slot| slot.processing) => {
                Ok(self.finish_slot(slot, now))
            }
            _ if !self.parity.done_of_untaken_requeues => Err(Error::NotTaken { key: key.clone() }),
            Some(slot) => {
                if self.slots.get(slot).is_some_and(|slot| slot.dirty) {
                    self.push(slot);
                }
                self.settle_drain();
                Ok(None)
            }
            None => {
                self.settle_drain();
                Ok(None)
            }
        }
    }

    /// Finishes one take, like [`done`](Self::done) without the look-up by key. Does nothing if that take was
    /// finished already, even if the key was taken again since.
    pub fn finish(&mut self, id: TakeId, now: Instant) -> Option<T> {
        self.advance(now);
        let slot = self.slots.get(id.slot)?;
        if !slot.processing || slot.take != id.take {
            return None;
        }
        self.finish_slot(id.slot, now)
    }

    fn finish_slot(&mut self, index: usize, now: Instant) -> Option<T> {
        if let Some(taken) = self.times_of(index).and_then(|times| times.taken.take()) {
            self.observe(Observation::Finished { worked_for: now.saturating_duration_since(taken) });
        }
        let slot = self.slots.get_mut(index)?;
        slot.processing = false;
        self.processing -= 1;
        let mut freed = None;
        if slot.dirty {
            self.push(index);
        } else if slot.is_idle() && !self.delays.contains(index) {
            freed = self.release(index);
        }
        self.settle_drain();
        freed
    }

    fn release(&mut self, index: usize) -> Option<T> {
        if let Some(times) = self.times_of(index) {
            *times = Times::default();
        }
        let key = self.slots.release(index);
        if self.slots.shrink_if_oversized() {
            self.delays.shrink();
            if let Some(times) = &mut self.times {
                *times = Vec::new();
            }
        }
        key
    }
}

//! Any of the queues behind one driver.

use std::sync::Arc;

use informers_core::{Entry, KnownObjects, ObjectKey, ResourceVersion, Scope, Undecodable};

use crate::delta::{Deleted, Delta, ReplacedAll};
use crate::delta_fifo::DeltaFifo;
use crate::discarded::Discarded;
use crate::fifo::Fifo;
use crate::in_order::{InOrderQueue, Popped};
use crate::parity::Parity;
use crate::population::Ticket;

#[derive(Debug)]
pub(crate) enum Machine<T> {
    InOrder(InOrderQueue<T>),
    DeltaFifo(DeltaFifo<T>),
    Fifo(Fifo<T>),
}

/// The same call on whichever queue it is.
macro_rules! either {
    ($machine:expr, $queue:ident => $call:expr) => {
        match $machine {
            Machine::InOrder($queue) => $call,
            Machine::DeltaFifo($queue) => $call,
            Machine::Fifo($queue) => $call,
        }
    };
}

impl<T> Machine<T> {
    pub(crate) fn parity(&self) -> Parity {
        either!(self, queue => queue.parity())
    }

    pub(crate) fn known(&self) -> Option<&Arc<dyn KnownObjects<T>>> {
        match self {
            Self::InOrder(queue) => queue.known(),
            Self::DeltaFifo(queue) => queue.known(),
            Self::Fifo(_) => None,
        }
    }

    pub(crate) fn add(&mut self, entry: Entry<T>, left: &mut Discarded<T>) {
        self.change(entry.key().clone(), Delta::Added(entry), left);
    }

    pub(crate) fn update(&mut self, entry: Entry<T>, left: &mut Discarded<T>) {
        self.change(entry.key().clone(), Delta::Updated(entry), left);
    }

    pub(crate) fn delete(&mut self, deleted: Deleted<T>, left: &mut Discarded<T>) {
        self.change(deleted.key.clone(), Delta::Deleted(deleted), left);
    }

    fn change(&mut self, key: ObjectKey, delta: Delta<T>, left: &mut Discarded<T>) {
        match self {
            Self::InOrder(queue) => queue.change(delta),
            Self::DeltaFifo(queue) => queue.change(key, delta, left),
            Self::Fifo(queue) => queue.change(key, delta, left),
        }
    }

    /// Gives back an object that has no key, where it finds no place.
    pub(crate) fn mark_undecodable(
        &mut self,
        undecodable: Undecodable,
        left: &mut Discarded<T>,
    ) -> Result<(), Box<Undecodable>> {
        match (self, undecodable.key().cloned()) {
            (Self::InOrder(queue), _) => queue.mark_undecodable(undecodable),
            (_, None) => return Err(Box::new(undecodable)),
            (queue, Some(key)) => queue.change(key, Delta::Undecodable(Box::new(undecodable)), left),
        }
        Ok(())
    }

    /// Whether a deletion of this key would be queued.
    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        match self {
            Self::InOrder(_) => true,
            Self::DeltaFifo(queue) => queue.has(key),
            Self::Fifo(queue) => queue.has(key),
        }
    }

    /// Whether a list becomes one delta per object.
    pub(crate) fn takes_lists_apart(&self) -> bool {
        match self {
            Self::InOrder(queue) => queue.known().is_some(),
            Self::DeltaFifo(_) | Self::Fifo(_) => true,
        }
    }

    /// Whether undecodable objects without a key find a place.
    pub(crate) fn takes_nameless(&self) -> bool {
        matches!(self, Self::InOrder(_))
    }

    pub(crate) fn note_change(&mut self) {
        either!(self, queue => queue.note_change());
    }

    pub(crate) fn replace(&mut self, all: ReplacedAll<T>, left: &mut Discarded<T>) {
        match self {
            Self::InOrder(queue) => queue.replace(all),
            Self::DeltaFifo(queue) => queue.replace_with(all, left),
            Self::Fifo(queue) => queue.replace_with(all, left),
        }
    }

    pub(crate) fn replace_cut_short(&mut self, all: ReplacedAll<T>, failed: usize, left: &mut Discarded<T>) {
        either!(self, queue => queue.replace_cut_short(all, failed, left));
    }

    pub(crate) fn resync(&mut self) {
        match self {
            Self::InOrder(queue) => queue.resync(),
            Self::DeltaFifo(queue) => queue.resync(),
            // It has no store whose objects it could show again.
            Self::Fifo(_) => {}
        }
    }

    pub(crate) fn bookmark(&mut self, scope: Scope, version: ResourceVersion) {
        match self {
            Self::InOrder(queue) => queue.bookmark(scope, version),
            Self::DeltaFifo(_) | Self::Fifo(_) => {}
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Popped<T>> {
        either!(self, queue => queue.pop())
    }

    pub(crate) fn pop_batch(&mut self) -> Option<Popped<T>> {
        match self {
            Self::InOrder(queue) => queue.pop_batch(),
            Self::DeltaFifo(queue) => queue.pop(),
            Self::Fifo(queue) => queue.pop(),
        }
    }

    pub(crate) fn finish(&mut self, ticket: Ticket, left: &mut Discarded<T>) {
        either!(self, queue => queue.finish_with(ticket, left));
    }

    pub(crate) fn put_back(&mut self, popped: Popped<T>, left: &mut Discarded<T>) {
        either!(self, queue => queue.take_back(popped, left));
    }

    /// Adds what has a place of its own and is not in line. Gives back everything if the queue has no such places.
    pub(crate) fn offer(
        &mut self,
        deltas: Vec<Delta<T>>,
        left: &mut Discarded<T>,
    ) -> Result<(), Vec<Delta<T>>> {
        match self {
            Self::InOrder(_) => return Err(deltas),
            Self::DeltaFifo(queue) => queue.offer(deltas, left),
            Self::Fifo(queue) => queue.offer(deltas, left),
        }
        Ok(())
    }

    pub(crate) fn has_synced(&self) -> bool {
        either!(self, queue => queue.has_synced())
    }

    pub(crate) fn len(&self) -> usize {
        either!(self, queue => queue.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        either!(self, queue => queue.is_empty())
    }

    pub(crate) fn snapshot(&self) -> Vec<Delta<T>> {
        match self {
            Self::InOrder(queue) => queue.iter().cloned().collect(),
            Self::DeltaFifo(queue) => queue.iter().flat_map(|(_, deltas)| deltas.iter().cloned()).collect(),
            Self::Fifo(queue) => queue.iter().cloned().collect(),
        }
    }

    pub(crate) fn discard(&mut self, left: &mut Discarded<T>) {
        either!(self, queue => queue.discard(left));
    }
}

//! Any of the queues behind one driver.

use std::sync::Arc;

use informers_core::{Entry, KnownObjects, ObjectKey, ResourceVersion, Scope, Undecodable};

use crate::delta::{Deleted, Delta, ReplacedAll};
use crate::delta_fifo::DeltaFifo;
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

    pub(crate) fn add(&mut self, entry: Entry<T>) {
        either!(self, queue => queue.add(entry));
    }

    pub(crate) fn update(&mut self, entry: Entry<T>) {
        either!(self, queue => queue.update(entry));
    }

    pub(crate) fn delete(&mut self, deleted: Deleted<T>) {
        either!(self, queue => queue.delete(deleted));
    }

    pub(crate) fn mark_undecodable(&mut self, undecodable: Undecodable) -> Result<(), Box<Undecodable>> {
        match self {
            Self::InOrder(queue) => {
                queue.mark_undecodable(undecodable);
                Ok(())
            }
            Self::DeltaFifo(queue) => queue.mark_undecodable(undecodable),
            Self::Fifo(queue) => queue.mark_undecodable(undecodable),
        }
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

    pub(crate) fn replace(&mut self, all: ReplacedAll<T>) {
        either!(self, queue => queue.replace(all));
    }

    pub(crate) fn replace_cut_short(&mut self, all: ReplacedAll<T>, failed: usize) {
        either!(self, queue => queue.replace_cut_short(all, failed));
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

    pub(crate) fn finish(&mut self, ticket: Ticket) {
        either!(self, queue => queue.finish(ticket));
    }

    /// Puts back what was popped; gives what has no place any more, to be dropped after the lock is released.
    pub(crate) fn put_back(&mut self, popped: Popped<T>) -> Vec<Delta<T>> {
        match self {
            Self::InOrder(queue) => {
                queue.put_back(popped);
                Vec::new()
            }
            Self::DeltaFifo(queue) => queue.take_back(popped),
            Self::Fifo(queue) => queue.take_back(popped),
        }
    }

    /// Adds what has a place of its own and is not in line; gives the rest. None if the queue has no such places.
    pub(crate) fn offer(&mut self, deltas: Vec<Delta<T>>) -> Result<Vec<Delta<T>>, Vec<Delta<T>>> {
        match self {
            Self::InOrder(_) => Err(deltas),
            Self::DeltaFifo(queue) => Ok(queue.offer(deltas)),
            Self::Fifo(queue) => Ok(deltas.into_iter().filter_map(|delta| queue.offer(delta)).collect()),
        }
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

    pub(crate) fn discard(&mut self) -> Vec<Delta<T>> {
        either!(self, queue => queue.discard())
    }
}

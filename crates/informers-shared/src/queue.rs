//! Which queue an informer has.

use std::sync::Arc;

use informers_core::{Entry, KnownObjects, ObjectKey};
use informers_delta_fifo::{
    Consumer, DeltaFifo, InOrderQueue, QueueOptions, SharedQueue, delta_fifo, in_order_queue,
};
use informers_store::Store;

use crate::Parity;
use crate::undecodable::UndecodableObjects;

/// Which queue lies between the reader and the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum QueueKind {
    /// Every change in the order in which it came, a list as one change: client-go's `RealFIFO` with
    /// `AtomicFIFO`. The default.
    #[default]
    InOrder,
    /// Every change in the order in which it came, a list as one change per object: client-go's `RealFIFO`
    /// without `AtomicFIFO`.
    PlainInOrder,
    /// One place in line for each object, with all its changes: client-go's `DeltaFIFO`.
    DeltaFifo,
}

impl QueueKind {
    /// Whether a list reaches the store as one change.
    pub(crate) fn keeps_lists_whole(self) -> bool {
        self == Self::InOrder
    }

    /// The queue in front of `store`.
    pub(crate) fn connect<T: Send + Sync + 'static>(
        self,
        store: &Store<T>,
        undecodable: &UndecodableObjects,
        options: QueueOptions<T>,
        parity: &Parity,
    ) -> (SharedQueue<T>, Consumer<T>) {
        let known = Arc::new(Known { store: store.clone(), undecodable: undecodable.clone() });
        match self {
            Self::InOrder => {
                in_order_queue(InOrderQueue::atomic().with_parity(parity.queue), options.with_known(known))
            }
            Self::PlainInOrder => {
                in_order_queue(InOrderQueue::plain(known).with_parity(parity.queue), options)
            }
            Self::DeltaFifo => {
                let queue = DeltaFifo::new().with_known(known).with_emit_replaced(true);
                delta_fifo(queue.with_parity(parity.queue), options)
            }
        }
    }
}

/// What a list may show to be gone: what is stored, and what is known but was never decoded.
struct Known<T: Send + Sync + 'static> {
    store: Store<T>,
    undecodable: UndecodableObjects,
}

impl<T: Send + Sync + 'static> KnownObjects<T> for Known<T> {
    fn known_keys(&self) -> Vec<ObjectKey> {
        let mut keys = self.store.keys();
        keys.extend(self.undecodable.keys().into_iter().filter(|key| !self.store.contains(key.as_str())));
        keys
    }

    fn get_known(&self, key: &str) -> Option<Entry<T>> {
        self.store.get(key)
    }

    fn knows(&self, key: &str) -> bool {
        self.store.contains(key) || self.undecodable.contains(key)
    }
}

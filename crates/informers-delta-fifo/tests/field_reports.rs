//! What went wrong for users of other informers, at the level of the queue.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::sync::Arc;

use fixture::{Store, list, obj, shown};
use informers_core::Deletion;
use informers_delta_fifo::{Deleted, Delta, DeltaFifo, InOrderQueue, Popped};

/// The three ways to queue, with the store that the consumer fills.
enum Queue {
    Atomic(InOrderQueue<u64>),
    Plain(InOrderQueue<u64>),
    DeltaFifo(DeltaFifo<u64>),
}

fn queues() -> [(Queue, Arc<Store>); 3] {
    let stores = [(); 3].map(|()| Store::with([]));
    [
        (Queue::Atomic(InOrderQueue::atomic()), Arc::clone(&stores[0])),
        (Queue::Plain(InOrderQueue::plain(Arc::clone(&stores[1]) as _)), Arc::clone(&stores[1])),
        (Queue::DeltaFifo(DeltaFifo::new().with_known(Arc::clone(&stores[2]) as _)), Arc::clone(&stores[2])),
    ]
}

impl Queue {
    fn update(&mut self, name: &str, version: u64) {
        match self {
            Self::Atomic(queue) | Self::Plain(queue) => queue.update(obj(name, version)),
            Self::DeltaFifo(queue) => queue.update(obj(name, version)),
        }
    }

    fn replace(&mut self, items: &[(&str, u64)]) {
        let all = list(items.iter().map(|(name, version)| obj(name, *version)));
        match self {
            Self::Atomic(queue) | Self::Plain(queue) => queue.replace(all),
            Self::DeltaFifo(queue) => queue.replace(all),
        }
    }

    fn pop(&mut self) -> Option<Popped<u64>> {
        match self {
            Self::Atomic(queue) | Self::Plain(queue) => queue.pop_batch(),
            Self::DeltaFifo(queue) => queue.pop(),
        }
    }

    fn process(&mut self, popped: Popped<u64>, store: &Store) -> Vec<Delta<u64>> {
        store.apply(&popped.deltas);
        match self {
            Self::Atomic(queue) | Self::Plain(queue) => queue.finish(popped.ticket),
            Self::DeltaFifo(queue) => queue.finish(popped.ticket),
        }
        popped.deltas
    }

    fn drain(&mut self, store: &Store) -> Vec<Delta<u64>> {
        std::iter::from_fn(|| {
            let popped = self.pop()?;
            Some(self.process(popped, store))
        })
        .flatten()
        .collect()
    }
}

/// kubernetes/kubernetes#115658: the object still waits when a list without it arrives.
#[test]
fn a01_a_replacement_counts_what_waits_in_the_queue() {
    for (mut queue, store) in queues() {
        queue.replace(&[]);
        queue.drain(&store);
        for version in [11, 12, 13] {
            queue.update("x", version);
        }
        queue.replace(&[]);
        let deltas = queue.drain(&store);
        assert!(store.shown().is_empty());
        if !matches!(queue, Queue::Atomic(_)) {
            // The tombstone holds the last copy.
            assert_eq!(shown(&deltas[3..]), ["Deleted(x@13, Inferred)"]);
        }
    }
}

/// The same, but the consumer has taken the object already: it is neither queued nor stored.
#[test]
fn a01_a_replacement_counts_what_the_consumer_holds() {
    for (mut queue, store) in queues() {
        queue.update("x", 11);
        let popped = queue.pop().unwrap();
        queue.replace(&[]);
        queue.process(popped, &store);
        assert_eq!(store.shown(), ["x@11"]);
        let deltas = queue.drain(&store);
        assert!(store.shown().is_empty());
        if !matches!(queue, Queue::Atomic(_)) {
            assert_eq!(shown(&deltas), ["Deleted(x@11, Inferred)"]);
        }
    }
}

/// Both at once: the tombstone holds what waits, which is newer than what the consumer holds.
#[test]
fn a01_the_tombstone_holds_the_newest_of_all_copies() {
    for (mut queue, store) in queues().into_iter().skip(1) {
        queue.update("x", 11);
        let popped = queue.pop().unwrap();
        queue.update("x", 12);
        queue.replace(&[]);
        queue.process(popped, &store);
        assert_eq!(shown(&queue.drain(&store)), ["Updated(x@12)", "Deleted(x@12, Inferred)"]);
        assert!(store.shown().is_empty());
    }
}

#[test]
fn a01_a_deletion_in_the_consumers_hands_is_not_repeated() {
    for (mut queue, store) in queues().into_iter().skip(1) {
        queue.update("x", 11);
        queue.drain(&store);
        match &mut queue {
            Queue::Atomic(queue) | Queue::Plain(queue) => queue.delete(Deleted::observed(obj("x", 12))),
            Queue::DeltaFifo(queue) => queue.delete(Deleted::observed(obj("x", 12))),
        }
        let popped = queue.pop().unwrap();
        queue.replace(&[]);
        queue.process(popped, &store);
        assert!(queue.pop().is_none());
    }
}

/// fabric8io/kubernetes-client#2994: a deletion found by a list has to reach the store by its key.
#[test]
fn a02_a_deletion_found_by_a_list_reaches_the_store() {
    for (mut queue, store) in queues() {
        queue.replace(&[("a", 1), ("b", 2), ("c", 3)]);
        queue.drain(&store);
        queue.replace(&[("a", 1), ("c", 3)]);
        let deltas = queue.drain(&store);
        assert_eq!(store.shown(), ["a@1", "c@3"]);
        let deleted: Vec<_> = deltas
            .iter()
            .filter_map(|delta| match delta {
                Delta::Deleted(deleted) => Some((deleted.key.as_str(), deleted.last.as_ref()?, deleted.how)),
                Delta::ReplacedAll(all) => {
                    assert_eq!(all.missing, Deletion::Inferred);
                    None
                }
                _ => None,
            })
            .collect();
        match queue {
            // Here the consumer finds out.
            Queue::Atomic(_) => assert!(deleted.is_empty()),
            _ => assert_eq!(deleted, [("b", &obj("b", 2), Deletion::Inferred)]),
        }
    }
}

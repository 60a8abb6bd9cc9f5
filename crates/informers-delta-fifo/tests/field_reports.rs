//! What went wrong for users of other informers, at the level of the queue.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::sync::Arc;

use fixture::{Machine, Store, list, obj, observed, shown};
use informers_core::Deletion;
use informers_delta_fifo::{Delta, DeltaFifo, InOrderQueue, Popped};

/// One of the three ways to queue, with the store that the consumer fills.
struct Queue {
    machine: Box<dyn Machine>,
    store: Arc<Store>,
    /// Whether a list stays one delta.
    atomic: bool,
}

fn queues() -> [Queue; 3] {
    let queue = |atomic, make: fn(Arc<Store>) -> Box<dyn Machine>| {
        let store = Store::with([]);
        Queue { machine: make(Arc::clone(&store)), store, atomic }
    };
    [
        queue(true, |_| Box::new(InOrderQueue::atomic())),
        queue(false, |store| Box::new(InOrderQueue::plain(store))),
        queue(false, |store| Box::new(DeltaFifo::new().with_known(store))),
    ]
}

impl Queue {
    fn update(&mut self, name: &str, version: u64) {
        self.machine.update(obj(name, version));
    }

    fn replace(&mut self, items: &[(&str, u64)]) {
        self.machine.replace(list(items.iter().map(|(name, version)| obj(name, *version))));
    }

    fn pop(&mut self) -> Option<Popped<u64>> {
        self.machine.pop_batch()
    }

    fn process(&mut self, popped: Popped<u64>) -> Vec<Delta<u64>> {
        self.store.apply(&popped.deltas);
        self.machine.finish(popped.ticket);
        popped.deltas
    }

    fn drain(&mut self) -> Vec<Delta<u64>> {
        std::iter::from_fn(|| {
            let popped = self.pop()?;
            Some(self.process(popped))
        })
        .flatten()
        .collect()
    }
}

/// kubernetes/kubernetes#115658: the object still waits when a list without it arrives.
#[test]
fn a01_a_replacement_counts_what_waits_in_the_queue() {
    for mut queue in queues() {
        queue.replace(&[]);
        queue.drain();
        for version in [11, 12, 13] {
            queue.update("x", version);
        }
        queue.replace(&[]);
        let deltas = queue.drain();
        assert!(queue.store.shown().is_empty());
        if !queue.atomic {
            // The tombstone holds the last copy.
            assert_eq!(shown(&deltas[3..]), ["Deleted(x@13, Inferred)"]);
        }
    }
}

/// The same, but the consumer has taken the object already: it is neither queued nor stored.
#[test]
fn a01_a_replacement_counts_what_the_consumer_holds() {
    for mut queue in queues() {
        queue.update("x", 11);
        let popped = queue.pop().unwrap();
        queue.replace(&[]);
        queue.process(popped);
        assert_eq!(queue.store.shown(), ["x@11"]);
        let deltas = queue.drain();
        assert!(queue.store.shown().is_empty());
        if !queue.atomic {
            assert_eq!(shown(&deltas), ["Deleted(x@11, Inferred)"]);
        }
    }
}

/// Both at once: the tombstone holds what waits, which is newer than what the consumer holds.
#[test]
fn a01_the_tombstone_holds_the_newest_of_all_copies() {
    for mut queue in queues().into_iter().skip(1) {
        queue.update("x", 11);
        let popped = queue.pop().unwrap();
        queue.update("x", 12);
        queue.replace(&[]);
        queue.process(popped);
        assert_eq!(shown(&queue.drain()), ["Updated(x@12)", "Deleted(x@12, Inferred)"]);
        assert!(queue.store.shown().is_empty());
    }
}

#[test]
fn a01_a_deletion_in_the_consumers_hands_is_not_repeated() {
    for mut queue in queues().into_iter().skip(1) {
        queue.update("x", 11);
        queue.drain();
        queue.machine.delete(observed("x", 12));
        let popped = queue.pop().unwrap();
        queue.replace(&[]);
        queue.process(popped);
        assert!(queue.pop().is_none());
    }
}

/// fabric8io/kubernetes-client#2994: a deletion found by a list has to reach the store by its key.
#[test]
fn a02_a_deletion_found_by_a_list_reaches_the_store() {
    for mut queue in queues() {
        queue.replace(&[("a", 1), ("b", 2), ("c", 3)]);
        queue.drain();
        queue.replace(&[("a", 1), ("c", 3)]);
        let deltas = queue.drain();
        assert_eq!(queue.store.shown(), ["a@1", "c@3"]);
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
        if queue.atomic {
            assert!(deleted.is_empty(), "here the consumer finds out");
        } else {
            assert_eq!(deleted, [("b", &obj("b", 2), Deletion::Inferred)]);
        }
    }
}

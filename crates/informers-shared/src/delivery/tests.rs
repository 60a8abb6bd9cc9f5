//! What runs around a delivery's lock: nothing of the user's under it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use informers_core::{Deletion, Entry, Event, ObjectKey};

use super::{Delivery, HandlerId};
use crate::BacklogPolicy;

/// An object that asks how its handler is doing when it is dropped.
struct Curious {
    delivery: Arc<OnceLock<Arc<Delivery<Curious>>>>,
    drops: Arc<AtomicUsize>,
}

impl Drop for Curious {
    fn drop(&mut self) {
        if let Some(delivery) = self.delivery.get() {
            let _ = delivery.status(Instant::now());
        }
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

/// Delivers a history in which each object is held by its event alone, and gives how many fell out of the backlog.
fn fallen_out(policy: BacklogPolicy) -> usize {
    let (done, outcome) = mpsc::channel();
    std::thread::spawn(move || {
        let delivery = Delivery::new(HandlerId(1), "handler".to_owned(), None, policy);
        let (own, drops) = (Arc::new(OnceLock::new()), Arc::<AtomicUsize>::default());
        assert!(own.set(Arc::clone(&delivery)).is_ok());
        let object = |name: &str| {
            let object = Curious { delivery: Arc::clone(&own), drops: Arc::clone(&drops) };
            Entry::keyed(ObjectKey::cluster(name), object)
        };
        let added = |name| Event::Added { object: object(name), initial: false };
        let updated = |name| Event::Updated { old: object(name), new: object(name) };
        let deleted = |name| Event::Deleted { last: object(name), how: Deletion::Observed };
        for event in [
            added("first"),
            added("a"),
            updated("a"),
            deleted("a"),
            updated("b"),
            updated("b"),
            deleted("b"),
            added("b"),
            updated("b"),
        ] {
            delivery.deliver(1, [event], Instant::now());
        }
        let _ = done.send(drops.load(Ordering::SeqCst));
    });
    // The time only ends a test that would hang.
    outcome.recv_timeout(Duration::from_secs(60)).expect("an object was dropped under the lock")
}

#[test]
fn objects_that_fall_out_of_a_backlog_may_look_at_it() {
    // Of 13 objects there stay: the first addition, and of b its deletion and its addition.
    assert_eq!(fallen_out(BacklogPolicy::Coalesced), 10);
    assert_eq!(fallen_out(BacklogPolicy::InOrderUpTo { limit: 1 }), 10);
    assert_eq!(fallen_out(BacklogPolicy::InOrder), 0);
    assert_eq!(fallen_out(BacklogPolicy::Dropping { limit: 1 }), 12);
}

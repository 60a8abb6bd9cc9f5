//! Each backlog against the history they were given.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use informers_core::{Deletion, Entry, Event, ObjectKey};
use proptest::prelude::*;

use super::{Backlog, BacklogPolicy, is_initial};

fn entry(key: &str, version: u64) -> Entry<()> {
    Entry::new(ObjectKey::cluster(key), "u".into(), version.into(), ())
}

fn added(key: &str, version: u64, initial: bool) -> Event<()> {
    Event::Added { object: entry(key, version), initial }
}

fn updated(key: &str, old: u64, new: u64) -> Event<()> {
    Event::Updated { old: entry(key, old), new: entry(key, new) }
}

fn deleted(key: &str, version: u64) -> Event<()> {
    Event::Deleted { last: entry(key, version), how: Deletion::Observed }
}

fn drained(policy: BacklogPolicy, events: impl IntoIterator<Item = Event<()>>) -> Vec<String> {
    let mut backlog = Backlog::new(policy);
    for event in events {
        backlog.push(event, Instant::now(), &mut Vec::new());
    }
    std::iter::from_fn(|| backlog.pop()).map(|event| format!("{event:?}")).collect()
}

#[test]
fn in_order_keeps_everything() {
    let events = [added("a", 1, false), updated("a", 1, 2), added("b", 3, false), deleted("a", 4)];
    assert_eq!(
        drained(BacklogPolicy::InOrder, events),
        ["Added(a@1)", "Updated(a@1 -> 2)", "Added(b@3)", "Deleted(a@4, Observed)"]
    );
}

#[test]
fn coalescing_merges_what_an_object_went_through() {
    let coalesced = |events: Vec<Event<()>>| drained(BacklogPolicy::Coalesced, events);
    assert_eq!(coalesced(vec![added("a", 1, true), updated("a", 1, 2)]), ["Added(a@2, initial)"]);
    assert_eq!(coalesced(vec![updated("a", 1, 2), updated("a", 2, 3)]), ["Updated(a@1 -> 3)"]);
    assert_eq!(coalesced(vec![updated("a", 1, 2), deleted("a", 3)]), ["Deleted(a@3, Observed)"]);
    assert!(coalesced(vec![added("a", 1, false), updated("a", 1, 2), deleted("a", 3)]).is_empty());
    assert_eq!(
        coalesced(vec![updated("a", 1, 2), deleted("a", 3), added("a", 4, false), updated("a", 4, 5)]),
        ["Deleted(a@3, Observed)", "Added(a@5)"]
    );
    assert_eq!(
        coalesced(vec![deleted("a", 3), added("a", 4, false), deleted("a", 5)]),
        ["Deleted(a@3, Observed)"]
    );
    assert_eq!(
        coalesced(vec![added("a", 1, false), added("b", 2, false), updated("a", 1, 3)]),
        ["Added(a@3)", "Added(b@2)"]
    );
}

#[test]
fn a_limited_order_merges_what_comes_beyond_it() {
    let policy = BacklogPolicy::InOrderUpTo { limit: 2 };
    let mut backlog = Backlog::new(policy);
    let start = Instant::now();
    for event in [
        added("a", 1, false),
        updated("a", 1, 2),
        // Full from here on.
        updated("a", 2, 3),
        added("b", 4, false),
        updated("a", 3, 5),
        deleted("b", 6),
        added("c", 7, false),
    ] {
        backlog.push(event, start, &mut Vec::new());
    }
    assert_eq!(backlog.len(), 4);
    assert_eq!(format!("{:?}", backlog.pop().unwrap()), "Added(a@1)");
    // There is room again, but c is still behind.
    backlog.push(updated("c", 7, 8), start + Duration::from_secs(1), &mut Vec::new());
    assert_eq!(backlog.oldest(), Some(start));
    let rest: Vec<_> = std::iter::from_fn(|| backlog.pop()).map(|event| format!("{event:?}")).collect();
    assert_eq!(rest, ["Updated(a@1 -> 2)", "Updated(a@2 -> 5)", "Added(c@8)"]);
    // It has caught up, so order counts again.
    backlog.push(updated("c", 8, 9), start, &mut Vec::new());
    backlog.push(updated("c", 9, 10), start, &mut Vec::new());
    assert_eq!((backlog.len(), backlog.dropped()), (2, 0));
}

#[test]
fn dropping_keeps_what_came_first_and_counts_the_rest() {
    let mut backlog = Backlog::new(BacklogPolicy::Dropping { limit: 2 });
    for event in [added("a", 1, true), added("b", 1, true), added("c", 1, true), updated("a", 1, 2)] {
        backlog.push(event, Instant::now(), &mut Vec::new());
    }
    backlog.complete_initial();
    assert_eq!((backlog.len(), backlog.dropped()), (2, 2));
    for key in ["a", "b"] {
        assert!(!backlog.is_synced());
        assert_eq!(backlog.pop().unwrap().key().name(), key);
        backlog.returned_from_initial();
    }
    assert!(backlog.is_synced(), "nobody waits for what was dropped");
    backlog.push(updated("a", 2, 3), Instant::now(), &mut Vec::new());
    drop(backlog.clear());
    assert_eq!((backlog.len(), backlog.dropped()), (0, 2), "the count stays");
    assert_eq!(
        drained(BacklogPolicy::Dropping { limit: 0 }, [added("a", 1, false), added("b", 1, false)]).len(),
        1
    );
}

/// One of each kind, with room for what the tests push.
const POLICIES: [BacklogPolicy; 4] = [
    BacklogPolicy::Coalesced,
    BacklogPolicy::InOrder,
    BacklogPolicy::InOrderUpTo { limit: 20_000 },
    BacklogPolicy::Dropping { limit: 20_000 },
];

#[test]
fn sync_waits_until_the_handler_has_returned() {
    for policy in POLICIES {
        let mut backlog = Backlog::new(policy);
        backlog.push(added("a", 1, true), Instant::now(), &mut Vec::new());
        backlog.complete_initial();
        assert!(!backlog.is_synced());
        assert!(is_initial(&backlog.pop().unwrap()));
        assert!(!backlog.is_synced(), "taken is not yet returned from");
        backlog.returned_from_initial();
        assert!(backlog.is_synced());
    }
}

#[test]
fn an_initial_addition_that_is_cancelled_does_not_hold_up_sync() {
    let mut backlog = Backlog::new(BacklogPolicy::Coalesced);
    backlog.push(added("a", 1, true), Instant::now(), &mut Vec::new());
    backlog.complete_initial();
    backlog.push(deleted("a", 2), Instant::now(), &mut Vec::new());
    assert!(backlog.is_synced());
    assert_eq!(backlog.len(), 0);
}

#[test]
fn objects_that_come_and_go_unseen_leave_nothing_behind() {
    let mut backlog = Backlog::new(BacklogPolicy::Coalesced);
    backlog.push(added("stays", 0, false), Instant::now(), &mut Vec::new());
    for version in 0..100_000 {
        let key = format!("k{version}");
        backlog.push(added(&key, version, false), Instant::now(), &mut Vec::new());
        backlog.push(deleted(&key, version), Instant::now(), &mut Vec::new());
    }
    let super::Events::Coalesced(events) = &backlog.events else { unreachable!() };
    assert!(events.turns() <= 128, "{} turns are left", events.turns());
    assert_eq!(backlog.len(), 1);
}

#[test]
fn the_age_is_that_of_the_event_that_waits_longest() {
    let start = Instant::now();
    for policy in POLICIES {
        let mut backlog = Backlog::new(policy);
        assert_eq!(backlog.oldest(), None);
        backlog.push(updated("a", 1, 2), start, &mut Vec::new());
        backlog.push(updated("a", 2, 3), start + Duration::from_secs(1), &mut Vec::new());
        backlog.push(updated("b", 2, 3), start + Duration::from_secs(2), &mut Vec::new());
        assert_eq!(backlog.oldest(), Some(start));
        backlog.pop();
        assert!(backlog.oldest() > Some(start));
    }
}

proptest! {
    /// Whatever the history and however slow the handler: replaying what it hears gives the present, each
    /// `old` is what it was told last, and never more than two events wait merged for one object.
    #[test]
    fn a_slow_handler_ends_with_the_present(
        steps in prop::collection::vec((0..4u8, 0..4usize, prop::bool::ANY), 0..200),
        policy in prop::sample::select(vec![
            BacklogPolicy::Coalesced,
            BacklogPolicy::InOrder,
            BacklogPolicy::InOrderUpTo { limit: 3 },
        ]),
    ) {
        let mut backlog = Backlog::new(policy);
        let mut present: BTreeMap<String, u64> = BTreeMap::new();
        let mut told: BTreeMap<String, u64> = BTreeMap::new();
        let mut hear = |event: Event<()>| {
            let key = event.key().to_string();
            let number = |entry: &Entry<()>| entry.version().as_number().unwrap();
            match event {
                Event::Added { object, .. } => assert_eq!(told.insert(key, number(&object)), None),
                Event::Updated { old, new } => assert_eq!(told.insert(key, number(&new)), Some(number(&old))),
                Event::Deleted { .. } => assert!(told.remove(&key).is_some()),
            }
        };
        for (version, (action, object, take)) in (1..).zip(steps) {
            let key = format!("k{object}");
            let event = match (action, present.get(&key).copied()) {
                (0, Some(_)) => {
                    present.remove(&key);
                    deleted(&key, version)
                }
                (_, Some(old)) => {
                    present.insert(key.clone(), version);
                    updated(&key, old, version)
                }
                (_, None) => {
                    present.insert(key.clone(), version);
                    added(&key, version, false)
                }
            };
            backlog.push(event, Instant::now(), &mut Vec::new());
            match policy {
                BacklogPolicy::Coalesced => prop_assert!(backlog.len() <= 8),
                BacklogPolicy::InOrderUpTo { limit } => prop_assert!(backlog.len() <= limit + 8),
                _ => {}
            }
            if take && let Some(event) = backlog.pop() {
                hear(event);
            }
        }
        while let Some(event) = backlog.pop() {
            hear(event);
        }
        prop_assert_eq!(told, present);
    }
}

#[test]
fn an_initial_addition_that_comes_twice_is_waited_for_once() {
    for policy in POLICIES {
        let mut backlog = Backlog::new(policy);
        backlog.push(added("a", 1, true), Instant::now(), &mut Vec::new());
        backlog.push(added("a", 2, true), Instant::now(), &mut Vec::new());
        backlog.complete_initial();
        while let Some(event) = backlog.pop() {
            assert!(!backlog.is_synced() && is_initial(&event), "{policy:?}");
            backlog.returned_from_initial();
        }
        assert!(backlog.is_synced(), "{policy:?}");
    }
}

#[test]
fn a_backlog_that_ran_empty_gives_back_what_a_burst_took() {
    for policy in POLICIES {
        let mut backlog = Backlog::new(policy);
        for round in 0..2 {
            for at in 0..10_000 {
                backlog.push(added(&at.to_string(), 1, false), Instant::now(), &mut Vec::new());
            }
            assert_eq!(std::iter::from_fn(|| backlog.pop()).count(), 10_000, "{policy:?}, round {round}");
            assert!(backlog.capacity() <= 1024, "{policy:?} keeps room for {}", backlog.capacity());
        }
    }
}

#[test]
fn room_is_made_once_and_not_again_for_keys_that_wait() {
    let many = 10_000;
    for policy in [BacklogPolicy::Coalesced, BacklogPolicy::InOrder] {
        let mut backlog = Backlog::new(policy);
        backlog.reserve(many);
        let room = backlog.capacity();
        assert!(room >= many, "{policy:?} has room for {room}");
        for at in 0..many {
            backlog.push(added(&at.to_string(), 1, true), Instant::now(), &mut Vec::new());
        }
        assert_eq!(backlog.capacity(), room, "{policy:?}");
        backlog.reserve(many);
        match policy {
            BacklogPolicy::Coalesced => assert_eq!(backlog.capacity(), room),
            _ => assert!(backlog.capacity() >= 2 * many),
        }
    }
}

//! The machine of `DeltaFifo`: what client-go's tests of the same names ask of `DeltaFIFO`, and what is ours.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::sync::Arc;

use fixture::{Store, key, list, nameless, obj, observed, pop, shown, undecodable};
use informers_core::{Entry, Scope};
use informers_delta_fifo::{Deleted, Delta, DeltaFifo, ReplacedAll};

/// What waits, by object.
fn waiting(queue: &DeltaFifo<u64>) -> Vec<Vec<String>> {
    queue.iter().map(|(_, deltas)| shown(deltas)).collect()
}

fn with(store: &Arc<Store>) -> DeltaFifo<u64> {
    let known: Arc<Store> = Arc::clone(store);
    DeltaFifo::new().with_known(known)
}

#[test]
fn replace_with_delete_delta_in() {
    let mut queue = with(&Store::with([obj("foo", 1)]));
    queue.delete(observed("foo", 2));
    queue.replace(list([obj("foo", 3)]));
    assert_eq!(waiting(&queue), [["Deleted(foo@2, Observed)", "Sync(foo@3)"]]);
}

#[test]
fn replace_makes_deletions_for_objects_only_in_queue() {
    type Operations = fn(&mut DeltaFifo<u64>);
    let cases: [(Operations, &[&str]); 6] = [
        (
            |queue| {
                queue.add(obj("foo", 1));
                queue.replace(list([]));
            },
            &["Added(foo@1)", "Deleted(foo@1, Inferred)"],
        ),
        (
            |queue| {
                queue.add(obj("foo", 1));
                queue.replace(list([obj("foo", 1)]));
                queue.replace(list([]));
            },
            &["Added(foo@1)", "Replaced(foo@1)", "Deleted(foo@1, Inferred)"],
        ),
        (
            |queue| {
                queue.add(obj("foo", 1));
                queue.delete(observed("foo", 1));
                queue.replace(list([]));
            },
            &["Added(foo@1)", "Deleted(foo@1, Observed)"],
        ),
        (
            |queue| {
                queue.add(obj("foo", 1));
                queue.replace(list([obj("foo", 1)]));
                queue.replace(list([obj("foo", 1)]));
                queue.replace(list([]));
            },
            &["Added(foo@1)", "Replaced(foo@1)", "Replaced(foo@1)", "Deleted(foo@1, Inferred)"],
        ),
        (
            |queue| {
                queue.add(obj("foo", 1));
                queue.replace(list([]));
                queue.replace(list([]));
            },
            &["Added(foo@1)", "Deleted(foo@1, Inferred)"],
        ),
        (
            |queue| {
                queue.add(obj("foo", 1));
                queue.delete(observed("foo", 1));
                queue.add(obj("foo", 2));
                queue.replace(list([]));
            },
            &["Added(foo@1)", "Deleted(foo@1, Observed)", "Added(foo@2)", "Deleted(foo@2, Inferred)"],
        ),
    ];
    for (operations, expected) in cases {
        for queue in [DeltaFifo::new(), with(&Store::with([]))] {
            let mut queue = queue.with_emit_replaced(true);
            operations(&mut queue);
            assert_eq!(waiting(&queue), [expected]);
        }
    }
}

#[test]
fn add_update() {
    let mut queue = DeltaFifo::new();
    queue.add(obj("foo", 10));
    queue.update(obj("foo", 15));
    assert_eq!(pop(&mut queue), ["Added(foo@10)", "Updated(foo@15)"]);
    assert!(queue.pop().is_none());
}

#[test]
fn enqueueing_no_lister() {
    let mut queue = DeltaFifo::new();
    queue.add(obj("foo", 10));
    queue.update(obj("bar", 15));
    queue.add(obj("qux", 17));
    queue.delete(observed("qux", 18));
    queue.delete(observed("baz", 20));
    assert_eq!(
        waiting(&queue),
        [vec!["Added(foo@10)"], vec!["Updated(bar@15)"], vec!["Added(qux@17)", "Deleted(qux@18, Observed)"]]
    );
}

#[test]
fn enqueueing_with_lister() {
    let mut queue = with(&Store::with([obj("foo", 5), obj("bar", 6), obj("baz", 7)]));
    queue.add(obj("foo", 10));
    queue.update(obj("bar", 15));
    queue.delete(observed("baz", 20));
    assert_eq!(waiting(&queue), [["Added(foo@10)"], ["Updated(bar@15)"], ["Deleted(baz@20, Observed)"]]);
}

#[test]
fn add_replace() {
    let mut queue = DeltaFifo::new();
    queue.add(obj("foo", 10));
    queue.replace(list([obj("foo", 15)]));
    assert_eq!(pop(&mut queue), ["Added(foo@10)", "Sync(foo@15)"]);
    assert!(queue.is_empty());
}

#[test]
fn resync_non_existing() {
    let store = Store::with([obj("foo", 5)]);
    let mut queue = with(&store);
    queue.delete(observed("foo", 10));
    queue.resync();
    assert_eq!(waiting(&queue), [["Deleted(foo@10, Observed)"]]);
}

#[test]
fn resync() {
    let mut queue = with(&Store::with([obj("foo", 5)]));
    queue.resync();
    assert_eq!(waiting(&queue), [["Sync(foo@5)"]]);
}

#[test]
fn delete_existing_non_propagated() {
    let mut queue = with(&Store::with([]));
    queue.add(obj("foo", 5));
    queue.delete(observed("foo", 6));
    assert_eq!(waiting(&queue), [["Added(foo@5)", "Deleted(foo@6, Observed)"]]);
}

#[test]
fn replace_makes_deletions() {
    let store = Store::with([obj("foo", 5), obj("bar", 6), obj("baz", 7)]);
    let mut queue = with(&store);
    queue.delete(observed("baz", 10));
    queue.replace(list([obj("foo", 5)]));
    assert_eq!(
        waiting(&queue),
        [["Deleted(baz@10, Observed)"], ["Sync(foo@5)"], ["Deleted(bar@6, Inferred)"]]
    );

    // A tombstone holds the newest object: that of the queue, not that of the store.
    for (newest, expected) in [
        (None, "Deleted(foo@5, Inferred)"),
        (Some(Delta::Added(obj("foo", 8))), "Deleted(foo@8, Inferred)"),
        (Some(Delta::Updated(obj("foo", 9))), "Deleted(foo@9, Inferred)"),
    ] {
        let mut queue = with(&Store::with([obj("foo", 5)]));
        match newest {
            Some(Delta::Added(entry)) => queue.add(entry),
            Some(Delta::Updated(entry)) => queue.update(entry),
            _ => {}
        }
        queue.replace(list([]));
        assert_eq!(waiting(&queue)[0].last().unwrap(), expected);
    }
}

#[test]
fn replace_makes_deletions_replaced() {
    let store = Store::with([obj("foo", 5), obj("bar", 6), obj("baz", 7)]);
    let mut queue = with(&store).with_emit_replaced(true);
    queue.delete(observed("baz", 10));
    queue.replace(list([obj("foo", 6)]));
    assert_eq!(
        waiting(&queue),
        [["Deleted(baz@10, Observed)"], ["Replaced(foo@6)"], ["Deleted(bar@6, Inferred)"]]
    );
}

#[test]
fn replace_delta_type() {
    for (emit_replaced, expected) in [(true, "Replaced(foo@5)"), (false, "Sync(foo@5)")] {
        let mut queue = with(&Store::with([obj("foo", 5)])).with_emit_replaced(emit_replaced);
        queue.replace(list([obj("foo", 5)]));
        assert_eq!(pop(&mut queue), [expected]);
    }
}

#[test]
fn update_resync_race() {
    let store = Store::with([obj("foo", 5)]);
    let mut queue = with(&store);
    queue.update(obj("foo", 6));
    queue.resync();
    assert_eq!(waiting(&queue), [["Updated(foo@6)"]]);

    // While the consumer holds the newer state, the stored one must not be shown again either.
    let popped = queue.pop().unwrap();
    queue.resync();
    assert!(queue.is_empty());
    store.apply(&popped.deltas);
    queue.finish(popped.ticket);
    queue.resync();
    assert_eq!(waiting(&queue), [["Sync(foo@6)"]]);
}

#[test]
fn has_synced_correct_on_deletion() {
    let mut queue = with(&Store::with([obj("foo", 5), obj("bar", 6), obj("baz", 7)]));
    queue.replace(list([obj("foo", 5)]));
    for expected in ["Sync(foo@5)", "Deleted(bar@6, Inferred)", "Deleted(baz@7, Inferred)"] {
        assert!(!queue.has_synced());
        let popped = queue.pop().unwrap();
        assert!(popped.is_in_initial_list);
        assert_eq!(shown(&popped.deltas), [expected]);
        queue.finish(popped.ticket);
    }
    assert!(queue.has_synced());
}

#[test]
fn detect_line_jumpers() {
    let mut queue = DeltaFifo::new();
    queue.add(obj("foo", 10));
    queue.add(obj("bar", 1));
    queue.add(obj("foo", 11));
    queue.add(obj("foo", 13));
    queue.add(obj("zab", 30));
    let last = |queue: &mut DeltaFifo<u64>| pop(queue).pop().unwrap();
    assert_eq!(last(&mut queue), "Added(foo@13)");
    queue.add(obj("foo", 14));
    assert_eq!(last(&mut queue), "Added(bar@1)");
    assert_eq!(last(&mut queue), "Added(zab@30)");
    assert_eq!(last(&mut queue), "Added(foo@14)");
}

#[test]
fn key_of() {
    assert_eq!(Delta::Added(obj("foo", 1)).key(), Some(&key("foo")));
    assert_eq!(Delta::Deleted(Deleted::<u64>::tombstone(key("bar"), None)).key(), Some(&key("bar")));
    assert_eq!(Delta::<u64>::SyncAll.key(), None);
}

#[test]
fn has_synced() {
    type Action = fn(&mut DeltaFifo<u64>);
    const POP: Action = |queue| drop(pop(queue));
    let cases: [(&[Action], bool); 7] = [
        (&[], false),
        (&[|queue| queue.add(obj("a", 1))], true),
        (&[|queue| queue.replace(list([]))], true),
        (&[|queue| queue.replace(list([obj("a", 1), obj("b", 2)]))], false),
        (&[|queue| queue.replace(list([obj("a", 1), obj("b", 2)])), POP], false),
        (&[|queue| queue.replace(list([obj("a", 1), obj("b", 2)])), POP, POP], true),
        // A key that occurs twice counts once.
        (&[|queue| queue.replace(list([obj("a", 1), obj("a", 2)])), POP], true),
    ];
    for (case, (actions, expected)) in cases.into_iter().enumerate() {
        let mut queue = DeltaFifo::new();
        actions.iter().for_each(|action| action(&mut queue));
        assert_eq!(queue.has_synced(), expected, "case {case}");
    }
}

#[test]
fn an_ignored_deletion_populates() {
    let mut queue: DeltaFifo<u64> = with(&Store::with([]));
    queue.delete(observed("foo", 1));
    assert!(queue.is_empty() && queue.has_synced());
}

#[test]
fn golden_trace() {
    let mut queue = DeltaFifo::new().with_emit_replaced(true);
    queue.add(obj("a", 1));
    queue.delete(observed("a", 2));
    queue.delete(observed("a", 3));
    queue.replace(list([]));
    queue.replace(list([obj("a", 9)]));
    assert_eq!(pop(&mut queue), ["Added(a@1)", "Deleted(a@2, Observed)", "Replaced(a@9)"]);

    // A deletion that was seen takes the place of one that was inferred.
    queue.add(obj("b", 1));
    queue.replace(list([]));
    queue.delete(observed("b", 7));
    assert_eq!(pop(&mut queue), ["Added(b@1)", "Deleted(b@7, Observed)"]);
}

#[test]
fn requeue_on_pop() {
    let mut queue = DeltaFifo::new();
    queue.add(obj("foo", 10));
    queue.add(obj("bar", 1));
    let popped = queue.pop().unwrap();
    queue.put_back(popped);
    assert_eq!(waiting(&queue), [["Added(bar@1)"], ["Added(foo@10)"]]);

    // What came meanwhile is newer.
    pop(&mut queue);
    let popped = queue.pop().unwrap();
    queue.update(obj("foo", 11));
    queue.put_back(popped);
    assert_eq!(waiting(&queue), [["Updated(foo@11)"]]);
}

#[test]
fn add_if_not_present_takes_one_object_only() {
    let mut queue = DeltaFifo::new();
    queue.add_if_not_present(vec![Delta::Added(obj("a", 1)), Delta::Added(obj("b", 1))]);
    queue.add_if_not_present(Vec::new());
    queue.add_if_not_present(vec![Delta::SyncAll]);
    assert!(queue.is_empty());
    queue.add_if_not_present(vec![Delta::Added(obj("a", 1)), Delta::Updated(obj("a", 2))]);
    queue.add_if_not_present(vec![Delta::Updated(obj("a", 0))]);
    assert_eq!(waiting(&queue), [["Added(a@1)", "Updated(a@2)"]]);
}

#[test]
fn a_replacement_touches_its_scope_only() {
    let mut queue = with(&Store::with([obj("shop/a", 1), obj("bank/b", 1)]));
    queue.add(obj("bank/c", 2));
    queue.replace(ReplacedAll::new(Scope::namespace("shop"), "3".into(), Vec::<Entry<u64>>::new()));
    assert_eq!(waiting(&queue), [["Added(bank/c@2)"], ["Deleted(shop/a@1, Inferred)"]]);

    let mut queue = with(&Store::with([obj("shop/a", 1)]));
    queue.replace(ReplacedAll::removed(Scope::namespace("shop")));
    assert_eq!(waiting(&queue), [["Deleted(shop/a@1, ScopeRemoved)"]]);
}

#[test]
fn undecodable_objects_keep_their_place_and_are_no_deletions() {
    let mut queue = with(&Store::with([obj("a", 1), obj("b", 1)])).with_emit_replaced(true);
    queue.update(obj("a", 2));
    queue.mark_undecodable(undecodable("a", 3)).unwrap();
    queue.replace(list([]).with_undecodable(vec![undecodable("b", 4)]));
    assert_eq!(
        waiting(&queue),
        [vec!["Updated(a@2)", "Undecodable(a@3)", "Deleted(a@2, Inferred)"], vec!["Undecodable(b@4)"]]
    );
    // Only undecodable states wait: the last good one is stored.
    queue.replace(list([]));
    assert_eq!(waiting(&queue)[1], ["Undecodable(b@4)", "Deleted(b@1, Inferred)"]);
}

#[test]
fn a_hidden_name_may_be_any_object() {
    let mut queue = with(&Store::with([obj("a", 1)]));
    assert!(queue.mark_undecodable(nameless()).is_err());
    queue.replace(list([]).with_undecodable(vec![nameless()]));
    assert!(queue.is_empty());
}

//! The machine of `Fifo`: what client-go's tests of the same names ask of its plain `FIFO`, and what is ours.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use fixture::{list, nameless, obj, observed, pop, shown, undecodable, waiting};
use informers_core::Scope;
use informers_delta_fifo::{Delta, Fifo, ReplacedAll};

#[test]
fn add_update() {
    let mut queue = Fifo::new();
    queue.add(obj("foo", 10));
    queue.update(obj("foo", 15));
    assert_eq!(waiting(&queue), ["Updated(foo@15)"]);
    assert_eq!(pop(&mut queue), ["Updated(foo@15)"]);
    assert!(queue.pop().is_none() && queue.get("foo").is_none());
}

#[test]
fn add_replace() {
    let mut queue = Fifo::new();
    queue.add(obj("foo", 10));
    queue.replace(list([obj("foo", 15)]));
    assert_eq!(pop(&mut queue), ["Replaced(foo@15)"]);
    assert!(queue.pop().is_none() && queue.get("foo").is_none());
}

#[test]
fn detect_line_jumpers() {
    let mut queue = Fifo::new();
    for object in [obj("foo", 10), obj("bar", 1), obj("foo", 11), obj("foo", 13), obj("zab", 30)] {
        queue.add(object);
    }
    assert_eq!(pop(&mut queue), ["Added(foo@13)"]);
    queue.add(obj("foo", 14));
    for expected in ["Added(bar@1)", "Added(zab@30)", "Added(foo@14)"] {
        assert_eq!(pop(&mut queue), [expected]);
    }
}

#[test]
fn has_synced() {
    type Action = fn(&mut Fifo<u64>);
    let two: Action = |queue| queue.replace(list([obj("a", 1), obj("b", 2)]));
    let take: Action = |queue| drop(pop(queue));
    let cases: [(&[Action], bool); 8] = [
        (&[], false),
        (&[|queue| queue.add(obj("a", 1))], true),
        (&[|queue| queue.replace(list([]))], true),
        (&[two], false),
        (&[two, take], false),
        (&[two, take, take], true),
        // Ours: what is gone need not be waited for, and a later list is not the first.
        (&[two, |queue| queue.delete(observed("a", 3)), take], true),
        (&[two, |queue| queue.replace(list([obj("c", 3)]))], true),
    ];
    for (number, (actions, synced)) in cases.into_iter().enumerate() {
        let mut queue = Fifo::new();
        actions.iter().for_each(|action| action(&mut queue));
        assert_eq!(queue.has_synced(), synced, "case {number}");
    }
    // Taken is not yet processed.
    let mut queue = Fifo::new();
    queue.replace(list([obj("a", 1)]));
    let popped = queue.pop().unwrap();
    assert!(popped.is_in_initial_list && !queue.has_synced());
    queue.finish(popped.ticket);
    assert!(queue.has_synced());
}

#[test]
fn fifo_cache() {
    // As a store: what is put in can be looked up until it is taken, deleted or replaced.
    let mut queue = Fifo::new();
    queue.add(obj("foo", 1));
    assert_eq!(shown(queue.get("foo")), ["Added(foo@1)"]);
    queue.update(obj("foo", 2));
    queue.add(obj("a", 3));
    queue.add(obj("b", 4));
    assert_eq!(waiting(&queue), ["Updated(foo@2)", "Added(a@3)", "Added(b@4)"]);
    queue.delete(observed("foo", 5));
    assert!(queue.get("foo").is_none());
    queue.replace(list([obj("foo", 6), obj("b", 7)]));
    assert_eq!(waiting(&queue), ["Replaced(b@7)", "Replaced(foo@6)"], "what stays keeps its place");
    assert_eq!((queue.len(), queue.is_empty()), (2, false));
}

#[test]
fn an_object_that_comes_again_goes_to_the_end() {
    let mut queue = Fifo::new();
    queue.add(obj("a", 1));
    queue.add(obj("b", 1));
    queue.delete(observed("a", 2));
    queue.add(obj("a", 3));
    assert_eq!(waiting(&queue), ["Added(b@1)", "Added(a@3)"]);
    for version in 4..10_000 {
        queue.delete(observed("a", version));
        queue.add(obj("a", version));
    }
    assert_eq!(queue.len(), 2, "and leaves nothing behind");
}

#[test]
fn what_is_put_back_goes_to_the_end_unless_there_is_something_newer() {
    let mut queue = Fifo::new();
    queue.add(obj("a", 1));
    queue.add(obj("b", 1));
    let popped = queue.pop().unwrap();
    queue.put_back(popped);
    assert_eq!(waiting(&queue), ["Added(b@1)", "Added(a@1)"]);
    let popped = queue.pop().unwrap();
    queue.update(obj("b", 2));
    queue.put_back(popped);
    queue.add_if_not_present(Delta::SyncAll);
    assert_eq!(waiting(&queue), ["Added(a@1)", "Updated(b@2)"]);
}

#[test]
fn a_replacement_touches_its_scope_only() {
    let mut queue = Fifo::new();
    queue.add(obj("bank/a", 1));
    queue.add(obj("shop/b", 1));
    queue.replace(ReplacedAll::removed(Scope::namespace("shop")));
    assert_eq!(waiting(&queue), ["Added(bank/a@1)"]);
}

#[test]
fn an_undecodable_state_is_the_newest_and_a_hidden_name_may_be_any_object() {
    let mut queue = Fifo::new();
    queue.add(obj("a", 1));
    queue.mark_undecodable(undecodable("a", 2)).unwrap();
    assert!(queue.mark_undecodable(nameless()).is_err());
    queue.replace(list([obj("b", 3)]).with_undecodable(vec![nameless(), undecodable("c", 4)]));
    assert_eq!(waiting(&queue), ["Undecodable(a@2)", "Replaced(b@3)", "Undecodable(c@4)"]);
}

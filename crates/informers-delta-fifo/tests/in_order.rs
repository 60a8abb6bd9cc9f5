//! The machine of `InOrderQueue`: what client-go's tests of the same names ask of `RealFIFO`, and what is ours.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod fixture;

use std::sync::Arc;

use fixture::{Store, list, nameless, obj, observed, pop, pop_batch, shown, undecodable, waiting};
use informers_core::{Entry, Scope};
use informers_delta_fifo::{Delta, InOrderQueue, ReplacedAll};

fn plain(items: impl IntoIterator<Item = Entry<u64>>) -> InOrderQueue<u64> {
    InOrderQueue::plain(Store::with(items))
}

#[test]
fn basic() {
    let mut queue = plain([]);
    for version in 0..500 {
        queue.add(obj(&format!("a{}", version % 7), version));
    }
    let versions: Vec<_> = std::iter::from_fn(|| queue.pop_batch())
        .flat_map(|popped| popped.deltas.into_iter().map(|delta| *delta.entry().unwrap().object()))
        .collect();
    assert_eq!(versions, (0..500).collect::<Vec<_>>());
}

#[test]
fn replace_with_delete_delta_in() {
    let mut queue = plain([obj("foo", 1)]);
    queue.delete(observed("foo", 2));
    queue.replace(list([obj("foo", 3)]));
    assert_eq!(waiting(&queue), ["Deleted(foo@2, Observed)", "Replaced(foo@3)"]);
}

#[test]
fn replace_makes_deletions_for_objects_only_in_queue() {
    type Operations = fn(&mut InOrderQueue<u64>);
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
        // There are no bookmarks without atomic replaces.
        (
            |queue| {
                queue.bookmark(Scope::all(), "123".into());
                queue.replace(list([]));
            },
            &[],
        ),
    ];
    for (operations, expected) in cases {
        let mut queue = plain([]).with_bookmarks(true);
        operations(&mut queue);
        assert_eq!(waiting(&queue), expected);
    }
}

#[test]
fn add_update() {
    let mut queue = plain([]);
    queue.add(obj("foo", 10));
    queue.update(obj("foo", 15));
    assert_eq!([pop(&mut queue), pop(&mut queue)], [["Added(foo@10)"], ["Updated(foo@15)"]]);
    assert!(queue.pop().is_none() && queue.pop_batch().is_none());
}

#[test]
fn enqueueing() {
    // Deletions are queued whether anybody knows the object or not.
    for stored in [vec![], vec![obj("foo", 5), obj("baz", 7)]] {
        let mut queue = plain(stored);
        queue.add(obj("foo", 10));
        queue.update(obj("bar", 15));
        queue.delete(observed("baz", 20));
        assert_eq!(waiting(&queue), ["Added(foo@10)", "Updated(bar@15)", "Deleted(baz@20, Observed)"]);
    }
}

#[test]
fn add_replace() {
    let mut queue = plain([]);
    queue.add(obj("foo", 10));
    queue.replace(list([obj("foo", 15)]));
    assert_eq!(waiting(&queue), ["Added(foo@10)", "Replaced(foo@15)"]);
}

#[test]
fn resync_non_existing() {
    let mut queue = plain([obj("foo", 5)]);
    queue.delete(observed("foo", 10));
    queue.resync();
    assert_eq!(waiting(&queue), ["Deleted(foo@10, Observed)"]);
}

#[test]
fn resync() {
    let mut queue = plain([obj("foo", 5)]);
    queue.resync();
    assert_eq!(waiting(&queue), ["Sync(foo@5)"]);
}

#[test]
fn delete_existing_non_propagated() {
    let mut queue = plain([]);
    queue.add(obj("foo", 5));
    queue.delete(observed("foo", 6));
    assert_eq!(waiting(&queue), ["Added(foo@5)", "Deleted(foo@6, Observed)"]);
}

#[test]
fn replace_makes_deletions() {
    let mut queue = plain([obj("foo", 5), obj("bar", 6), obj("baz", 7)]);
    queue.delete(observed("baz", 10));
    queue.replace(list([obj("foo", 5)]));
    // Deletions come before the objects of the list.
    assert_eq!(waiting(&queue), ["Deleted(baz@10, Observed)", "Deleted(bar@6, Inferred)", "Replaced(foo@5)"]);

    // A tombstone holds the newest object, that of the queue.
    let mut queue = plain([obj("foo", 5)]);
    queue.add(obj("foo", 8));
    queue.update(obj("foo", 9));
    queue.replace(list([]));
    assert_eq!(waiting(&queue)[2..], ["Deleted(foo@9, Inferred)"]);
}

#[test]
fn update_resync_race() {
    let store = Store::with([obj("foo", 5)]);
    let mut queue = InOrderQueue::plain(Arc::clone(&store) as _);
    queue.update(obj("foo", 6));
    queue.resync();
    assert_eq!(waiting(&queue), ["Updated(foo@6)"]);

    // While the consumer holds the newer state, the stored one must not be shown again either.
    let popped = queue.pop_batch().unwrap();
    queue.resync();
    assert!(queue.is_empty());
    store.apply(&popped.deltas);
    queue.finish(popped.ticket);
    queue.resync();
    assert_eq!(waiting(&queue), ["Sync(foo@6)"]);
}

#[test]
fn has_synced_correct_on_deletion() {
    let mut queue = plain([obj("foo", 5), obj("bar", 6), obj("baz", 7)]);
    queue.replace(list([obj("foo", 5)]));
    for expected in ["Deleted(bar@6, Inferred)", "Deleted(baz@7, Inferred)", "Replaced(foo@5)"] {
        let popped = queue.pop().unwrap();
        assert!(popped.is_in_initial_list && !queue.has_synced());
        assert_eq!(shown(&popped.deltas), [expected]);
        queue.finish(popped.ticket);
    }
    assert!(queue.has_synced());
}

#[test]
fn detect_line_jumpers() {
    let mut queue = plain([]);
    queue.add(obj("foo", 10));
    queue.add(obj("bar", 1));
    queue.add(obj("foo", 11));
    queue.add(obj("foo", 13));
    queue.add(obj("zab", 30));
    assert_eq!(pop(&mut queue), ["Added(foo@10)"]);
    queue.add(obj("foo", 14));
    let rest: Vec<_> = (0..5).flat_map(|_| pop(&mut queue)).collect();
    assert_eq!(rest, ["Added(bar@1)", "Added(foo@11)", "Added(foo@13)", "Added(zab@30)", "Added(foo@14)"]);
}

#[test]
fn has_synced() {
    type Action = fn(&mut InOrderQueue<u64>);
    const POP: Action = |queue| drop(pop(queue));
    let cases: [(&[Action], bool); 8] = [
        (&[], false),
        (&[|queue| queue.add(obj("a", 1))], true),
        (&[|queue| queue.replace(list([]))], true),
        (&[|queue| queue.replace(list([obj("a", 1), obj("b", 2)]))], false),
        (&[|queue| queue.replace(list([obj("a", 1), obj("b", 2)])), POP], false),
        (&[|queue| queue.replace(list([obj("a", 1), obj("b", 2)])), POP, POP], true),
        // A key that occurs twice counts twice.
        (&[|queue| queue.replace(list([obj("a", 1), obj("a", 2)])), POP], false),
        (&[|queue| queue.replace(list([obj("a", 1), obj("a", 2)])), POP, POP], true),
    ];
    for (case, (actions, expected)) in cases.into_iter().enumerate() {
        let mut queue = plain([]);
        actions.iter().for_each(|action| action(&mut queue));
        assert_eq!(queue.has_synced(), expected, "case {case}");
    }
}

#[test]
fn pop_multiple_delta_in_batch() {
    let names = |count: usize| (0..count).map(|at| obj(&format!("o{at}"), 1));
    // Nothing of the initial list goes together with what came later.
    let mut queue = plain([]);
    queue.replace(list(names(3)));
    queue.add(obj("later", 2));
    assert_eq!(pop_batch(&mut queue).len(), 3);
    assert_eq!(pop_batch(&mut queue), ["Added(later@2)"]);

    // A key comes once.
    for (keys, expected) in [("aa", vec![1, 1]), ("abab", vec![2, 2]), ("abca", vec![3, 1]), ("abc", vec![3])]
    {
        let mut queue = plain([]);
        keys.chars().for_each(|key| queue.update(obj(&key.to_string(), 1)));
        let sizes: Vec<_> =
            std::iter::from_fn(|| queue.pop_batch()).map(|popped| popped.deltas.len()).collect();
        assert_eq!(sizes, expected, "{keys}");
    }

    // There is a largest size, also for the initial list.
    for (count, expected) in [(4, vec![4]), (5, vec![5]), (11, vec![5, 5, 1])] {
        for initial in [false, true] {
            let mut queue = plain([]).with_batch_size(5);
            if initial {
                queue.replace(list(names(count)));
            } else {
                names(count).for_each(|entry| queue.add(entry));
            }
            let sizes = std::iter::from_fn(|| {
                let popped = queue.pop_batch()?;
                assert_eq!(popped.is_in_initial_list, initial);
                queue.finish(popped.ticket);
                Some(popped.deltas.len())
            });
            assert_eq!(sizes.collect::<Vec<_>>(), expected);
        }
    }

    let mut queue = plain([]);
    names(1001).for_each(|entry| queue.add(entry));
    assert_eq!((pop_batch(&mut queue).len(), pop_batch(&mut queue).len()), (1000, 1));
}

#[test]
fn pop_broken_items_in_batch() {
    // An object without a key ends its batch.
    let mut queue = InOrderQueue::atomic();
    queue.mark_undecodable(nameless());
    queue.add(obj("a", 1));
    queue.mark_undecodable(undecodable("b", 2));
    queue.mark_undecodable(nameless());
    queue.add(obj("c", 3));
    assert_eq!(pop_batch(&mut queue), ["Undecodable(?)"]);
    assert_eq!(pop_batch(&mut queue), ["Added(a@1)", "Undecodable(b@2)", "Undecodable(?)"]);
    assert_eq!(pop_batch(&mut queue), ["Added(c@3)"]);
}

#[test]
fn replace_atomic() {
    let mut queue = InOrderQueue::atomic();
    queue.add(obj("foo", 1));
    queue.replace(list([obj("foo", 2), obj("bar", 2)]));
    queue.bookmark(Scope::all(), "101".into());
    queue.replace(list([]));
    queue.delete(observed("bar", 3));
    assert_eq!(
        waiting(&queue),
        [
            "Added(foo@1)",
            "ReplacedAll(all namespaces@100, 2 items)",
            "Bookmark(101)",
            "ReplacedAll(all namespaces@100, 0 items)",
            "Deleted(bar@3, Observed)"
        ]
    );

    let mut queue: InOrderQueue<u64> = InOrderQueue::atomic().with_bookmarks(false);
    queue.bookmark(Scope::all(), "1".into());
    assert!(queue.is_empty());
}

#[test]
fn replace_atomic_pop() {
    let mut queue = InOrderQueue::atomic();
    queue.add(obj("a", 1));
    queue.add(obj("b", 1));
    queue.replace(list([obj("a", 2)]));
    queue.add(obj("c", 3));
    queue.resync();
    queue.bookmark(Scope::all(), "4".into());
    let batches: Vec<_> =
        std::iter::from_fn(|| queue.pop_batch()).map(|popped| shown(&popped.deltas)).collect();
    assert_eq!(
        batches,
        [
            vec!["Added(a@1)", "Added(b@1)"],
            vec!["ReplacedAll(all namespaces@100, 1 items)"],
            vec!["Added(c@3)"],
            vec!["SyncAll"],
            vec!["Bookmark(4)"]
        ]
    );
}

#[test]
fn resync_atomic() {
    let mut queue = InOrderQueue::atomic();
    queue.add(obj("a", 1));
    queue.resync();
    queue.resync();
    assert_eq!(waiting(&queue), ["Added(a@1)", "SyncAll", "SyncAll"]);
}

#[test]
fn golden_trace() {
    let mut queue = InOrderQueue::atomic();
    queue.bookmark(Scope::all(), "5".into());
    assert!(!queue.has_synced());
    queue.replace(list([]));
    for expected in ["Bookmark(5)", "ReplacedAll(all namespaces@100, 0 items)"] {
        assert!(!queue.has_synced());
        let popped = queue.pop_batch().unwrap();
        assert!(popped.is_in_initial_list && !queue.has_synced());
        assert_eq!(shown(&popped.deltas), [expected]);
        queue.finish(popped.ticket);
    }
    assert!(queue.has_synced());
}

#[test]
fn what_is_put_back_comes_again_first() {
    let mut queue = plain([]);
    queue.replace(list([obj("a", 1), obj("b", 1)]));
    let popped = queue.pop_batch().unwrap();
    queue.add(obj("c", 2));
    queue.put_back(popped);
    assert!(!queue.has_synced());
    assert_eq!(pop_batch(&mut queue), ["Replaced(a@1)", "Replaced(b@1)"]);
    assert!(queue.has_synced());

    // What was moved out does not come back, and nobody waits for it.
    let mut queue = InOrderQueue::atomic();
    queue.replace(list([obj("a", 1)]));
    let mut popped = queue.pop_batch().unwrap();
    popped.deltas.clear();
    queue.put_back(popped);
    assert!(queue.has_synced() && queue.is_empty());
}

#[test]
fn a_replacement_touches_its_scope_only() {
    let mut queue = plain([obj("shop/a", 1), obj("bank/b", 1)]);
    queue.add(obj("bank/c", 2));
    queue.add(obj("shop/d", 2));
    queue.replace(ReplacedAll::removed(Scope::namespace("shop")));
    assert_eq!(waiting(&queue)[2..], ["Deleted(shop/d@2, ScopeRemoved)", "Deleted(shop/a@1, ScopeRemoved)"]);
}

#[test]
fn undecodable_objects_keep_their_place_and_are_no_deletions() {
    let mut queue = plain([obj("a", 1), obj("b", 1)]);
    queue.update(obj("a", 2));
    queue.mark_undecodable(undecodable("a", 3));
    queue.replace(list([]).with_undecodable(vec![undecodable("b", 4)]));
    assert_eq!(
        waiting(&queue),
        ["Updated(a@2)", "Undecodable(a@3)", "Deleted(a@2, Inferred)", "Undecodable(b@4)"]
    );
    // Only an undecodable state of b waits: the last good one is stored. One of a came after its deletion.
    queue.mark_undecodable(undecodable("a", 5));
    queue.replace(list([]));
    assert_eq!(waiting(&queue)[5..], ["Deleted(a@1, Inferred)", "Deleted(b@1, Inferred)"]);
}

#[test]
fn a_hidden_name_may_be_any_object() {
    let mut queue = plain([obj("a", 1)]);
    queue.replace(list([obj("b", 2)]).with_undecodable(vec![nameless()]));
    assert_eq!(waiting(&queue), ["Replaced(b@2)", "Undecodable(?)"]);
}

#[test]
fn deltas_are_small() {
    assert!(size_of::<Delta<[u64; 100]>>() <= 48, "{}", size_of::<Delta<[u64; 100]>>());
}

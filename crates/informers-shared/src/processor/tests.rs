//! What a batch does to the store, and what is told of it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use informers_core::{DecodeError, DecodeErrorKind, Deletion, Entry, Event, ObjectKey, Scope, Undecodable};
use informers_delta_fifo::{Bookmark, Deleted, Delta, ReplacedAll};
use informers_store::StoreWriter;

use super::{Audience, Processor};
use crate::Parity;
use crate::undecodable::UndecodableObjects;

struct Bench {
    processor: Processor<u64>,
    undecodable: UndecodableObjects,
}

impl Bench {
    fn new() -> Self {
        Self::of_scopes([Scope::all()])
    }

    /// With these of client-go's behaviours.
    fn like(parity: Parity) -> Self {
        let mut bench = Self::new();
        bench.processor = bench.processor.with_parity(parity, true);
        bench
    }

    fn of_scopes(scopes: impl IntoIterator<Item = Scope>) -> Self {
        let undecodable = UndecodableObjects::default();
        Self { processor: Processor::new(StoreWriter::new(), undecodable.clone(), scopes), undecodable }
    }

    /// What is told of these deltas.
    fn told(&mut self, deltas: impl IntoIterator<Item = Delta<u64>>) -> Vec<String> {
        let events = self.processor.process(deltas, false).events;
        let tell = |(audience, event): (Audience, Event<u64>)| match audience {
            Audience::Everyone => format!("{event:?}"),
            _ if event.is_resync() => format!("Resync({:?})", event.entry()),
            _ => format!("{audience:?}: {event:?}"),
        };
        events.into_iter().map(tell).collect()
    }

    fn list(&mut self, scope: &Scope, version: &str, items: &[Entry<u64>]) -> Vec<String> {
        self.told([replaced(ReplacedAll::new(scope.clone(), version.into(), items.to_vec()))])
    }

    fn stored(&mut self) -> Vec<String> {
        let mut stored: Vec<_> =
            self.processor.writer().reader().list().iter().map(|entry| format!("{entry:?}")).collect();
        stored.sort();
        stored
    }
}

fn replaced(list: ReplacedAll<u64>) -> Delta<u64> {
    Delta::ReplacedAll(Box::new(list))
}

fn bookmark(scope: &Scope, version: &str) -> Delta<u64> {
    Delta::Bookmark(Box::new(Bookmark::new(scope.clone(), version.into())))
}

fn entry(key: &str, uid: &str, version: u64) -> Entry<u64> {
    Entry::new(key.parse().unwrap(), uid.into(), version.into(), version)
}

fn undecodable(key: Option<&str>, kind: DecodeErrorKind) -> Undecodable {
    let object = Undecodable::new(DecodeError::new(kind));
    match key {
        Some(key) => object.with_identity(key.parse().unwrap(), "u".into(), "9".into()),
        None => object,
    }
}

#[test]
fn the_store_shows_a_batch_before_it_is_told() {
    let mut bench = Bench::new();
    let told = bench.told([Delta::Added(entry("a/x", "u", 1)), Delta::Added(entry("a/y", "v", 2))]);
    assert_eq!(told, ["Added(a/x@1)", "Added(a/y@2)"]);
    assert_eq!(bench.stored(), ["a/x@1", "a/y@2"]);
    assert_eq!(bench.processor.writer().reader().version(), "2".into());

    let gone = Deleted::observed(entry("a/x", "u", 4));
    let told = bench.told([Delta::Updated(entry("a/y", "v", 3)), Delta::Deleted(gone)]);
    assert_eq!(told, ["Updated(a/y@2 -> 3)", "Deleted(a/x@4, Observed)"]);
    assert_eq!(bench.stored(), ["a/y@3"]);
    assert_eq!(bench.processor.writer().reader().version(), "4".into());
}

#[test]
fn several_changes_of_one_object_in_a_batch_are_told_in_order() {
    let mut bench = Bench::new();
    let told = bench.told([
        Delta::Added(entry("x", "u", 1)),
        Delta::Updated(entry("x", "u", 2)),
        Delta::Deleted(Deleted::tombstone(ObjectKey::cluster("x"), None)),
    ]);
    assert_eq!(told, ["Added(x@1)", "Updated(x@1 -> 2)", "Deleted(x@2, Inferred)"]);
}

#[test]
fn the_first_list_is_initial_and_makes_it_synced() {
    let mut bench = Bench::new();
    assert!(!bench.processor.is_synced());
    assert_eq!(bench.list(&Scope::all(), "5", &[entry("x", "u", 1)]), ["Added(x@1, initial)"]);
    assert!(bench.processor.is_synced());
    assert_eq!(bench.processor.writer().reader().version(), "5".into());
    assert_eq!(bench.list(&Scope::all(), "6", &[entry("x", "u", 1), entry("y", "v", 6)]), ["Added(y@6)"]);
}

#[test]
fn a02_a_relist_tells_of_what_is_missing_and_of_what_changed_only() {
    let mut bench = Bench::new();
    bench.list(&Scope::all(), "3", &[entry("same", "a", 1), entry("changed", "b", 2), entry("gone", "c", 3)]);
    let kept = bench.processor.writer().get("same").unwrap();

    let told = bench.list(
        &Scope::all(),
        "9",
        &[entry("new", "d", 8), entry("changed", "b", 7), entry("same", "a", 1)],
    );
    assert_eq!(told, ["Deleted(gone@3, Inferred)", "Added(new@8)", "Updated(changed@2 -> 7)"]);
    assert_eq!(bench.stored(), ["changed@7", "new@8", "same@1"]);
    assert!(bench.processor.writer().get("same").unwrap().ptr_eq(&kept), "an unchanged entry stays itself");
}

#[test]
fn an_object_that_was_recreated_while_nobody_watched_is_deleted_and_added() {
    let mut bench = Bench::new();
    bench.list(&Scope::all(), "1", &[entry("x", "old", 1)]);
    let told = bench.list(&Scope::all(), "9", &[entry("x", "new", 8)]);
    assert_eq!(told, ["Deleted(x@1, Inferred)", "Added(x@8)"]);
}

#[test]
fn nobody_hears_of_the_deletion_of_what_was_never_stored() {
    let mut bench = Bench::new();
    assert!(bench.told([Delta::Deleted(Deleted::observed(entry("x", "u", 4)))]).is_empty());
}

#[test]
fn a_key_that_comes_twice_in_a_list_counts_once() {
    let mut bench = Bench::new();
    let told = bench.list(&Scope::all(), "3", &[entry("x", "u", 1), entry("y", "v", 2), entry("x", "u", 3)]);
    assert_eq!(told, ["Added(x@3, initial)", "Added(y@2, initial)"]);
}

#[test]
fn the_same_version_again_is_no_update() {
    let mut bench = Bench::new();
    bench.told([Delta::Added(entry("x", "u", 1))]);
    assert!(bench.told([Delta::Updated(entry("x", "u", 1))]).is_empty());
    assert!(bench.told([Delta::Replaced(entry("x", "u", 1))]).is_empty());
    assert_eq!(bench.told([Delta::Sync(entry("x", "u", 1))]), ["Resync(x@1)"]);
}

#[test]
fn a_resync_shows_everything_that_is_stored_after_what_came_before() {
    let mut bench = Bench::new();
    bench.told([Delta::Added(entry("x", "u", 1))]);
    assert_eq!(
        bench.told([Delta::Updated(entry("x", "u", 2)), Delta::SyncAll]),
        ["Updated(x@1 -> 2)", "Resync(x@2)"]
    );
}

#[test]
fn a_bookmark_moves_the_version_and_is_not_told() {
    let mut bench = Bench::new();
    assert!(bench.told([bookmark(&Scope::all(), "77")]).is_empty());
    assert_eq!(bench.processor.writer().reader().version(), "77".into());
}

#[test]
fn a30_the_version_of_several_scopes_is_the_oldest_of_theirs() {
    let (a, b) = (Scope::namespace("a"), Scope::namespace("b"));
    let mut bench = Bench::of_scopes([a.clone(), b.clone()]);
    let version = |bench: &mut Bench| bench.processor.writer().reader().version().to_string();
    bench.list(&a, "10", &[entry("a/x", "u", 3)]);
    assert_eq!(version(&mut bench), "", "nothing is known of b");
    bench.list(&b, "20", &[entry("b/x", "u", 4)]);
    assert_eq!(version(&mut bench), "10");
    bench.told([Delta::Updated(entry("b/x", "u", 25))]);
    assert_eq!(version(&mut bench), "10", "b says nothing of a");
    bench.told([bookmark(&a, "30")]);
    assert_eq!(version(&mut bench), "25");
    bench.told([Delta::Deleted(Deleted::observed(entry("b/x", "u", 28)))]);
    assert_eq!(version(&mut bench), "28");
    bench.told([bookmark(&b, "40")]);
    assert_eq!(version(&mut bench), "30");
    bench.list(&a, "50", &[]);
    assert_eq!(version(&mut bench), "40");
}

#[test]
fn a30_a_list_of_one_scope_leaves_the_others_alone() {
    let (a, b) = (Scope::namespace("a"), Scope::namespace("b"));
    let mut bench = Bench::of_scopes([a.clone(), b.clone()]);
    assert_eq!(bench.list(&a, "1", &[entry("a/x", "u", 1)]), ["Added(a/x@1, initial)"]);
    assert!(!bench.processor.is_synced(), "the other scope has not been listed");
    assert_eq!(bench.list(&b, "2", &[entry("b/x", "v", 2)]), ["Added(b/x@2, initial)"]);
    assert!(bench.processor.is_synced());
    assert_eq!(bench.list(&a, "3", &[]), ["Deleted(a/x@1, Inferred)"]);
    assert_eq!(bench.told([replaced(ReplacedAll::removed(b))]), ["Deleted(b/x@2, ScopeRemoved)"]);
}

#[test]
fn a11_a_good_copy_stays_stale_until_it_is_repaired_or_gone() {
    let mut bench = Bench::new();
    let names = |bench: &Bench| {
        bench.undecodable.list().iter().map(|o| o.key().unwrap().to_string()).collect::<Vec<_>>()
    };
    bench.list(&Scope::all(), "2", &[entry("x", "u", 1), entry("y", "v", 2)]);

    let bad = || Delta::Undecodable(Box::new(undecodable(Some("x"), DecodeErrorKind::Malformed)));
    assert!(bench.told([bad()]).is_empty());
    assert_eq!(
        (bench.stored(), names(&bench)),
        (vec!["x@1".to_owned(), "y@2".to_owned()], vec!["x".to_owned()])
    );

    let stale = bench.processor.writer().get("x").unwrap();
    assert_eq!(bench.told([Delta::Sync(stale)]), ["Resync(x@1)"]);
    assert_eq!(names(&bench), ["x"], "a resync repairs nothing");

    assert_eq!(bench.told([Delta::Updated(entry("x", "u", 10))]), ["Updated(x@1 -> 10)"]);
    assert!(names(&bench).is_empty(), "it was repaired");

    bench.told([bad()]);
    let gone = Deleted::tombstone(ObjectKey::cluster("x"), None);
    assert_eq!(bench.told([Delta::Deleted(gone)]), ["Deleted(x@10, Inferred)"]);
    assert!(names(&bench).is_empty(), "it is gone");
}

#[test]
fn a11_a_list_keeps_the_good_copy_of_what_it_cannot_decode() {
    let mut bench = Bench::new();
    bench.list(&Scope::all(), "2", &[entry("x", "u", 1), entry("y", "v", 2)]);
    let list = ReplacedAll::new(Scope::all(), "3".into(), vec![])
        .with_undecodable(vec![undecodable(Some("x"), DecodeErrorKind::Malformed)]);
    assert_eq!(bench.told([replaced(list)]), ["Deleted(y@2, Inferred)"]);
    assert_eq!(bench.stored(), ["x@1"]);
    assert_eq!(bench.undecodable.len(), 1);
}

#[test]
fn an_item_that_may_be_anybody_proves_nobody_gone() {
    let mut bench = Bench::new();
    bench.list(&Scope::all(), "2", &[entry("x", "u", 1)]);
    let with = |kind| {
        ReplacedAll::new(Scope::all(), "3".into(), vec![]).with_undecodable(vec![undecodable(None, kind)])
    };
    assert!(bench.told([replaced(with(DecodeErrorKind::Malformed))]).is_empty());
    assert_eq!(bench.stored(), ["x@1"]);
    assert_eq!(bench.told([replaced(with(DecodeErrorKind::Null))]), ["Deleted(x@1, Inferred)"]);
}

#[test]
fn an_object_of_a_warmed_up_store_that_the_first_list_lacks_is_deleted() {
    let mut bench = Bench::new();
    bench.processor.writer().insert(Entry::keyed(ObjectKey::new("default", "mypod"), 0));
    assert_eq!(
        bench.list(&Scope::all(), "2", &[entry("x", "u", 1)]),
        ["Deleted(default/mypod@, Inferred)", "Added(x@1, initial)"]
    );
    assert_eq!(bench.stored(), ["x@1"]);
}

#[test]
fn how_it_became_known_is_passed_on() {
    let mut bench = Bench::new();
    bench.told([Delta::Added(entry("x", "u", 1))]);
    let deleted =
        Deleted { how: Deletion::ScopeRemoved, ..Deleted::tombstone(ObjectKey::cluster("x"), None) };
    assert_eq!(bench.told([Delta::Deleted(deleted)]), ["Deleted(x@1, ScopeRemoved)"]);
}

/// By default, and with this switch alone.
fn both(switch: fn(&mut Parity)) -> [Bench; 2] {
    let mut on = Parity::default();
    switch(&mut on);
    assert_ne!(on, Parity::default());
    [Bench::new(), Bench::like(on)]
}

#[test]
fn client_go_shows_unchanged_objects_to_those_who_resync() {
    let [ours, theirs] = both(|parity| parity.same_version_updates = true);
    for (mut bench, shown) in [(ours, vec![]), (theirs, vec!["Syncing: Updated(x@1 -> 1)"])] {
        let first = entry("x", "u", 1);
        bench.list(&Scope::all(), "1", std::slice::from_ref(&first));
        let again = entry("x", "u", 1);
        assert_eq!(bench.told([Delta::Updated(again.clone())]), shown);
        assert!(bench.processor.writer().get("x").unwrap().ptr_eq(&again), "what came last is stored");
        let listed = entry("x", "u", 1);
        assert_eq!(bench.list(&Scope::all(), "2", std::slice::from_ref(&listed)), shown);
        let kept = if shown.is_empty() { &again } else { &listed };
        assert!(
            bench.processor.writer().get("x").unwrap().ptr_eq(kept),
            "by default a list leaves the entry"
        );
        assert_eq!(bench.told([Delta::Updated(entry("x", "u", 3))]), ["Updated(x@1 -> 3)"]);
    }
}

#[test]
fn client_go_takes_a_recreated_object_for_an_update() {
    let [ours, theirs] = both(|parity| parity.recreation_is_update = true);
    for (mut bench, listed, added) in [
        (ours, vec!["Deleted(x@1, Inferred)", "Added(x@8)"], vec!["Deleted(y@1, Inferred)", "Added(y@9)"]),
        (theirs, vec!["Updated(x@1 -> 8)"], vec!["Updated(y@1 -> 9)"]),
    ] {
        bench.list(&Scope::all(), "1", &[entry("x", "old", 1), entry("y", "old", 1)]);
        let relisted = bench.list(&Scope::all(), "9", &[entry("x", "new", 8), entry("y", "old", 1)]);
        assert_eq!(relisted, listed);
        assert_eq!(bench.told([Delta::Added(entry("y", "new", 9))]), added);
    }
}

#[test]
fn client_go_tells_of_the_deletion_of_unknown_objects() {
    let [ours, theirs] = both(|parity| parity.deletions_of_unknown = true);
    for (mut bench, told) in [(ours, vec![]), (theirs, vec!["Deleted(x@4, Observed)"])] {
        assert_eq!(bench.told([Delta::Deleted(Deleted::observed(entry("x", "u", 4)))]), told);
        assert_eq!(bench.processor.writer().reader().version(), "4".into());
        let unseen = Deleted::tombstone(ObjectKey::cluster("y"), None);
        assert!(bench.told([Delta::Deleted(unseen)]).is_empty(), "there is nothing to show");
    }
}

#[test]
fn client_go_tells_of_each_copy_in_a_list() {
    let [ours, theirs] = both(|parity| parity.repeated_list_items = true);
    for (mut bench, first, second) in [
        (ours, vec!["Added(x@3, initial)"], vec!["Updated(x@3 -> 5)"]),
        (
            theirs,
            vec!["Added(x@1, initial)", "Added(x@3, initial)"],
            vec!["Updated(x@3 -> 4)", "Updated(x@3 -> 5)"],
        ),
    ] {
        assert_eq!(bench.list(&Scope::all(), "3", &[entry("x", "u", 1), entry("x", "u", 3)]), first);
        assert_eq!(bench.stored(), ["x@3"]);
        assert_eq!(bench.list(&Scope::all(), "6", &[entry("x", "u", 4), entry("x", "u", 5)]), second);
        assert_eq!(bench.stored(), ["x@5"]);
    }
}

#[test]
fn client_go_knows_the_stores_version_only_where_lists_stay_whole() {
    let parity = Parity { version_only_of_atomic_lists: true, ..Parity::default() };
    for (parity, whole_lists, known) in [
        (parity, true, "1"),
        (parity, false, ""),
        (Parity::default(), true, "1"),
        (Parity::default(), false, "1"),
    ] {
        let mut bench = Bench::new();
        bench.processor = bench.processor.with_parity(parity, whole_lists);
        bench.told([Delta::Added(entry("x", "u", 1))]);
        assert_eq!(bench.processor.writer().reader().version(), known.into());
    }
}

#[test]
fn the_version_does_not_go_back_but_in_client_go() {
    let with = |store| Processor::new(StoreWriter::with_parity(store), UndecodableObjects::default(), []);
    for (store, version) in
        [(informers_store::Parity::default(), "9"), (informers_store::Parity::client_go_0_37(), "3")]
    {
        let mut processor = with(store);
        processor.process([Delta::Added(entry("x", "u", 9)), Delta::Added(entry("y", "v", 3))], false);
        assert_eq!(processor.writer().reader().version(), version.into());
    }
}

#[test]
fn a_good_state_does_not_hide_the_undecodable_one_that_follows_it_in_a_batch() {
    let mut bench = Bench::new();
    let bad = || Delta::Undecodable(Box::new(undecodable(Some("a/x"), DecodeErrorKind::Malformed)));
    assert_eq!(bench.told([Delta::Added(entry("a/x", "u", 1)), bad()]), ["Added(a/x@1)"]);
    assert_eq!(bench.undecodable.len(), 1, "the copy is stale");
    assert_eq!(bench.told([bad(), Delta::Updated(entry("a/x", "u", 3))]), ["Updated(a/x@1 -> 3)"]);
    assert_eq!(bench.undecodable.len(), 0, "it is repaired");
}

#[test]
fn no_reader_sees_the_version_of_one_scope_for_that_of_the_store() {
    let [a, b] = ["a", "b"].map(Scope::namespace);
    let mut of_two = Bench::of_scopes([a.clone(), b.clone()]);
    of_two.list(&a, "10", &[]);
    of_two.list(&b, "20", &[]);
    let mut of_none = Bench::new();
    let parity = Parity { version_only_of_atomic_lists: true, ..Parity::default() };
    of_none.processor = of_none.processor.with_parity(parity, false);
    for (mut bench, known) in [(of_two, "10"), (of_none, "")] {
        let store = bench.processor.writer().reader();
        let over = Arc::new(AtomicBool::new(false));
        let reader = std::thread::spawn({
            let over = Arc::clone(&over);
            move || {
                let mut seen = BTreeSet::new();
                while !over.load(Ordering::Relaxed) {
                    seen.insert(store.version().to_string());
                }
                seen
            }
        });
        for version in 21..20_000 {
            bench.told([Delta::Updated(entry("b/x", "u", version))]);
        }
        over.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap().iter().all(|seen| seen == known), "the store knows {known:?}");
    }
}

proptest::proptest! {
    #[test]
    fn of_many_repeated_items_the_last_of_each_counts_in_the_place_of_the_first(
        names in proptest::collection::vec(0..20_u8, 0..40),
    ) {
        let names: Vec<_> = names.into_iter().map(|name| format!("x{name}")).collect();
        let items: Vec<_> = names.iter().zip(1..).map(|(name, version)| entry(name, "u", version)).collect();
        let mut expected: Vec<(String, u64)> = Vec::new();
        for (name, version) in names.into_iter().zip(1..) {
            match expected.iter_mut().find(|(known, _)| *known == name) {
                Some((_, last)) => *last = version,
                None => expected.push((name, version)),
            }
        }
        let expected: Vec<_> =
            expected.iter().map(|(name, version)| format!("Added({name}@{version}, initial)")).collect();
        assert_eq!(Bench::new().list(&Scope::all(), "99", &items), expected);
    }
}

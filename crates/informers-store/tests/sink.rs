//! A store fed by a reflector's calls: scopes, atomic replacement, objects that cannot be decoded.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use informers_core::{
    Change, DecodeError, DecodeErrorKind, Entry, Item, ObjectKey, Scope, Sink, SinkError, Undecodable,
};
use informers_store::{SinkStore, StoreWriter};

fn pod(key: &str, version: &str) -> Entry<()> {
    Entry::new(key.parse().unwrap(), "u".into(), version.into(), ())
}

fn bad(key: &str, version: &str) -> Undecodable {
    let error = DecodeError::new(DecodeErrorKind::Malformed).with_path("spec.replicas");
    Undecodable::new(error).with_identity(key.parse().unwrap(), "u".into(), version.into())
}

fn sink() -> SinkStore<()> {
    SinkStore::new(StoreWriter::new())
}

fn replace(sink: &mut SinkStore<()>, scope: &Scope, items: Vec<Item<()>>, version: &str) {
    let mut stage = sink.begin(scope);
    for item in items {
        stage.offer(Change::added(item)).unwrap();
    }
    stage.commit(&version.into()).unwrap();
}

fn content(sink: &SinkStore<()>) -> Vec<String> {
    let mut content: Vec<_> = sink.reader().list().iter().map(|entry| format!("{entry:?}")).collect();
    content.sort();
    content
}

fn undecodable(sink: &SinkStore<()>) -> Vec<String> {
    sink.undecodable().iter().map(|bad| bad.key().map(ToString::to_string).unwrap_or_default()).collect()
}

#[test]
fn a_replacement_touches_its_namespace_only() {
    let mut sink = sink();
    replace(
        &mut sink,
        &Scope::namespace("one"),
        vec![pod("one/a", "1").into(), pod("one/b", "1").into()],
        "2",
    );
    replace(&mut sink, &Scope::namespace("two"), vec![pod("two/a", "3").into()], "3");
    replace(&mut sink, &Scope::namespace("one"), vec![pod("one/b", "4").into()], "5");
    assert_eq!(content(&sink), ["one/b@4", "two/a@3"]);
    assert_eq!(sink.reader().version(), "5".into());
    replace(&mut sink, &Scope::all(), vec![pod("three/a", "6").into()], "7");
    assert_eq!(content(&sink), ["three/a@6"]);
}

#[test]
fn an_object_outside_the_scope_is_refused() {
    let mut sink = sink();
    let mut stage = sink.begin(&Scope::namespace("one"));
    let error = stage.offer(Change::added(pod("two/a", "1"))).unwrap_err();
    assert_eq!(error.to_string(), "two/a was refused: the object is outside the scope that is replaced");
}

#[test]
fn a_dropped_stage_changes_nothing() {
    let mut sink = sink();
    sink.apply(Change::added(pod("a", "1"))).unwrap();
    let mut stage = sink.begin(&Scope::all());
    stage.offer(Change::added(pod("b", "2"))).unwrap();
    stage.offer(Change::added(bad("a", "3"))).unwrap();
    drop(stage);
    assert_eq!((content(&sink), undecodable(&sink)), (vec!["a@1".to_owned()], vec![]));
}

#[test]
fn a_stage_follows_changes_of_a_streaming_list() {
    let mut sink = sink();
    sink.apply(Change::added(pod("d", "1"))).unwrap();
    let mut stage = sink.begin(&Scope::all());
    stage.offer(Change::added(pod("a", "2"))).unwrap();
    stage.offer(Change::added(pod("b", "3"))).unwrap();
    stage.offer(Change::added(pod("c", "3"))).unwrap();
    stage.offer(Change::modified(pod("a", "4"))).unwrap();
    stage.offer(Change::deleted(pod("b", "5"))).unwrap();
    stage.offer(Change::modified(bad("c", "6"))).unwrap();
    stage.commit(&"7".into()).unwrap();
    assert_eq!(content(&sink), ["a@4", "c@3"], "the last good state of c");
    assert_eq!(undecodable(&sink), ["c"]);
}

#[test]
fn known_is_exactly_this_incarnation_and_version() {
    let mut sink = sink();
    sink.apply(Change::added(pod("a", "1"))).unwrap();
    let own = sink.reader().get("a").unwrap();
    let key = ObjectKey::cluster("a");
    assert!(sink.known(&key, &"u".into(), &"1".into()).unwrap().ptr_eq(&own));
    assert!(sink.known(&key, &"u".into(), &"2".into()).is_none());
    assert!(sink.known(&key, &"v".into(), &"1".into()).is_none());
    let mut stage = sink.begin(&Scope::all());
    let known = stage.known(&key, &"u".into(), &"1".into()).unwrap();
    stage.offer(Change::added(known)).unwrap();
    stage.commit(&"9".into()).unwrap();
    assert!(sink.reader().get("a").unwrap().ptr_eq(&own), "an unchanged object keeps its entry");
}

#[test]
fn a_good_copy_stays_until_repair_or_deletion() {
    let mut sink = sink();
    sink.apply(Change::added(pod("a", "1"))).unwrap();
    sink.apply(Change::modified(bad("a", "2"))).unwrap();
    sink.apply(Change::added(bad("new", "3"))).unwrap();
    assert_eq!(
        (content(&sink), undecodable(&sink)),
        (vec!["a@1".to_owned()], vec!["a".into(), "new".into()])
    );
    assert!(sink.is_stale("a"));
    sink.apply(Change::modified(pod("a", "4"))).unwrap();
    assert_eq!((content(&sink), sink.is_stale("a")), (vec!["a@4".to_owned()], false));
    // A deletion counts even if the final state cannot be decoded.
    sink.apply(Change::modified(bad("a", "5"))).unwrap();
    sink.apply(Change::deleted(bad("a", "6"))).unwrap();
    sink.apply(Change::deleted(pod("new", "7"))).unwrap();
    assert_eq!((content(&sink), undecodable(&sink)), (vec![], vec![] as Vec<String>));
}

#[test]
fn a_replacement_with_a_bad_object_keeps_its_good_copy() {
    let mut sink = sink();
    replace(&mut sink, &Scope::all(), vec![pod("a", "1").into(), pod("b", "1").into()], "1");
    replace(&mut sink, &Scope::all(), vec![bad("a", "2").into()], "2");
    assert_eq!((content(&sink), undecodable(&sink)), (vec!["a@1".to_owned()], vec!["a".to_owned()]));
    replace(&mut sink, &Scope::all(), vec![], "3");
    assert_eq!((content(&sink), undecodable(&sink)), (vec![], vec![] as Vec<String>));
}

#[test]
fn an_unreadable_name_keeps_everything_of_its_scope() {
    let mut sink = sink();
    replace(
        &mut sink,
        &Scope::namespace("one"),
        vec![pod("one/a", "1").into(), bad("one/x", "1").into()],
        "1",
    );
    replace(&mut sink, &Scope::namespace("two"), vec![pod("two/a", "1").into()], "1");
    let hidden = || Undecodable::new(DecodeError::new(DecodeErrorKind::Malformed));
    replace(&mut sink, &Scope::namespace("one"), vec![pod("one/b", "2").into(), hidden().into()], "2");
    assert_eq!((content(&sink).len(), undecodable(&sink)), (3, vec!["one/x".to_owned()]));
    // What is no object hides none.
    for kind in [DecodeErrorKind::Null, DecodeErrorKind::Nameless] {
        let nothing = Undecodable::new(DecodeError::new(kind));
        replace(&mut sink, &Scope::namespace("one"), vec![pod("one/b", "2").into(), nothing.into()], "3");
        assert_eq!((content(&sink), undecodable(&sink)), (vec!["one/b@2".into(), "two/a@1".into()], vec![]));
    }
}

#[test]
fn a_large_replacement_of_one_namespace_keeps_the_others() {
    let mut sink = sink();
    let all = |namespace: &str, version: &str| {
        (0..3000).map(|n| pod(&format!("{namespace}/{n}"), version).into()).collect::<Vec<_>>()
    };
    replace(&mut sink, &Scope::namespace("one"), all("one", "1"), "1");
    replace(&mut sink, &Scope::namespace("two"), all("two", "2"), "2");
    replace(&mut sink, &Scope::namespace("one"), all("one", "3").split_off(10), "3");
    let store = sink.reader();
    assert_eq!((store.len(), store.version()), (5990, "3".into()));
    assert!(store.get("one/9").is_none());
    assert_eq!(store.get("one/10").unwrap().version(), &"3".into());
    assert_eq!(store.get("two/9").unwrap().version(), &"2".into());
}

#[test]
fn a_bookmark_moves_the_version() -> Result<(), SinkError> {
    let mut sink = sink();
    sink.bookmark(&"8".into())?;
    assert_eq!(sink.reader().version(), "8".into());
    sink.resync()
}

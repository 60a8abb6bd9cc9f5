//! What client-go's tests of its stores and listers assert, written anew from the behaviour.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;

use informers_core::{Entry, KnownObjects, ObjectKey, Transform};
use informers_store::{
    Error, Indexer, Lister, NAMESPACE_INDEX, NeverFilled, Parity, Store, StoreWriter, Write, namespace_values,
};

#[derive(Clone, Debug, PartialEq)]
struct Pod {
    namespace: String,
    name: String,
    labels: BTreeMap<String, String>,
    version: u64,
}

fn pod(key: &str, labels: &[(&str, &str)]) -> Pod {
    let (namespace, name) = key.split_once('/').unwrap_or(("", key));
    Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        labels: labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        version: 0,
    }
}

fn indexer() -> Indexer<Pod> {
    Indexer::new(|pod: &Pod| ObjectKey::new(&pod.namespace, &pod.name))
}

fn app(entry: &Entry<Pod>) -> Option<String> {
    entry.labels.get("app").cloned()
}

fn keys(keys: &[ObjectKey]) -> Vec<&str> {
    keys.iter().map(ObjectKey::as_str).collect()
}

fn names(entries: &[Entry<Pod>]) -> BTreeSet<&str> {
    entries.iter().map(|entry| entry.key().as_str()).collect()
}

#[test]
fn cache() {
    let store = indexer();
    assert!(store.add(pod("ns/a", &[("v", "1")])).unwrap().is_none());
    assert_eq!(store.get("ns/a").unwrap().labels["v"], "1");
    let old = store.update(pod("ns/a", &[("v", "2")])).unwrap().unwrap();
    assert_eq!((&*old.labels["v"], &*store.get("ns/a").unwrap().labels["v"]), ("1", "2"));
    store.add(pod("ns/b", &[])).unwrap();
    assert_eq!(names(&store.list()), BTreeSet::from(["ns/a", "ns/b"]));
    assert_eq!(store.delete(pod("ns/a", &[])).unwrap().labels["v"], "2");
    assert!(store.get("ns/a").is_none() && !store.contains("ns/a"));
    assert!(store.delete(pod("ns/a", &[])).is_none(), "deleting what is not there is no error");
    // Of two with one key the last one counts.
    store.replace(vec![pod("ns/c", &[]), pod("ns/d", &[("v", "1")]), pod("ns/d", &[])], "5".into()).unwrap();
    assert_eq!(names(&store.list()), BTreeSet::from(["ns/c", "ns/d"]));
    assert!(store.get("ns/d").unwrap().labels.is_empty());
    assert_eq!((store.len(), store.version()), (2, "5".into()));
}

#[derive(Debug, thiserror::Error)]
#[error("labelled to fail")]
struct Refused;

#[test]
fn cache_with_transformer() {
    let strip = Transform::new(|pod: &mut Pod| {
        if pod.labels.contains_key("fail") {
            return Err(Refused);
        }
        pod.labels.clear();
        Ok(())
    });
    let store = indexer().with_transform(strip);
    store.add(pod("a", &[("x", "y")])).unwrap();
    assert!(store.get("a").unwrap().labels.is_empty());
    let error = store.add(pod("b", &[("fail", "")])).unwrap_err();
    assert_eq!(error.to_string(), "cannot store b");
    assert_eq!(error.source().unwrap().to_string(), "cannot transform b");
    // A replacement with a failure in it changes nothing.
    let all = vec![pod("c", &[]), pod("d", &[("fail", "")])];
    assert!(matches!(store.replace(all, "9".into()), Err(Error::Transform { .. })));
    assert_eq!((names(&store.list()), store.version().is_empty()), (BTreeSet::from(["a"]), true));
    // Transactions are not transformed.
    let kept = store.entry(pod("e", &[("x", "y")]));
    store.transaction(vec![Write::Insert(kept)]);
    assert_eq!(store.get("e").unwrap().labels["x"], "y");
}

#[test]
fn index() {
    let store = indexer();
    store.add_indexers([("app", app)]).unwrap();
    let web = pod("ns/web", &[("app", "web")]);
    assert!(store.index("app", &store.entry(web.clone())).unwrap().is_empty());
    store.add(web.clone()).unwrap();
    store.add(pod("ns/db", &[("app", "db")])).unwrap();
    store.add(pod("ns/bare", &[])).unwrap();
    assert_eq!(names(&store.index("app", &store.entry(web.clone())).unwrap()), BTreeSet::from(["ns/web"]));
    store.update(pod("ns/web", &[("app", "db")])).unwrap();
    assert!(store.index("app", &store.entry(web)).unwrap().is_empty());
    assert_eq!(keys(&store.index_keys("app", "db").unwrap()), ["ns/db", "ns/web"]);
}

#[test]
fn get_index_func_values() {
    let store = indexer();
    store.add_index(Some("app"), app).unwrap();
    for (key, app) in [("a", "x"), ("b", "y"), ("c", "x")] {
        store.add(pod(key, &[("app", app)])).unwrap();
    }
    let values = |store: &Store<Pod>| store.list_index_values("app").into_iter().collect::<BTreeSet<_>>();
    assert_eq!(values(&store), BTreeSet::from(["x".to_owned(), "y".to_owned()]));
    store.delete(pod("b", &[]));
    assert_eq!(values(&store), BTreeSet::from(["x".to_owned()]));
    assert!(store.list_index_values("unknown").is_empty());
}

fn names_in(entry: &Entry<Pod>) -> Vec<String> {
    entry.labels.get("users").map(|users| users.split(',').map(str::to_owned).collect()).unwrap_or_default()
}

#[test]
fn multi_index_keys() {
    let store = indexer();
    store.add_index(Some("users"), names_in).unwrap();
    store.add(pod("one", &[("users", "ernie,bert")])).unwrap();
    store.add(pod("two", &[("users", "bert,oscar")])).unwrap();
    store.add(pod("tre", &[("users", "ernie,elmo")])).unwrap();
    let expect = |user: &str, expected: &[&str]| {
        assert_eq!(keys(&store.index_keys("users", user).unwrap()), expected, "{user}");
        assert_eq!(
            names(&store.by_index("users", user).unwrap()),
            expected.iter().copied().collect::<BTreeSet<_>>()
        );
    };
    expect("ernie", &["one", "tre"]);
    expect("bert", &["one", "two"]);
    expect("elmo", &["tre"]);
    expect("nobody", &[]);
    // Those that share a value with an object, each once.
    let like = store.entry(pod("new", &[("users", "ernie,bert,ernie")]));
    assert_eq!(store.index("users", &like).unwrap().len(), 3);
    store.delete(pod("tre", &[]));
    expect("elmo", &[]);
    store.update(pod("two", &[("users", "ernie")])).unwrap();
    expect("bert", &["one"]);
    expect("ernie", &["one", "two"]);
}

#[test]
fn thread_safe_store_delete_removes_empty_sets_from_index() {
    let store = indexer();
    let by_app = store.add_index(None, app).unwrap();
    store.add(pod("a", &[("app", "x")])).unwrap();
    store.delete_by_key(&ObjectKey::cluster("a"));
    assert!(by_app.values().is_empty());
}

#[test]
fn thread_safe_store_add_keeps_non_empty_set_post_delete_from_index() {
    let store = indexer();
    let by_app = store.add_index(None, app).unwrap();
    store.add(pod("a", &[("app", "x")])).unwrap();
    store.add(pod("b", &[("app", "x")])).unwrap();
    store.delete_by_key(&ObjectKey::cluster("a"));
    assert_eq!((by_app.values(), keys(&by_app.keys("x"))), (vec!["x".to_owned()], vec!["b"]));
}

#[test]
fn thread_safe_store_indexing_functions_with_multiple_values() {
    let store = indexer();
    let by_user = store.add_index(None, names_in).unwrap();
    let steps: [(&str, &[&str]); 8] = [
        ("a", &["a"]),
        ("a,b", &["a", "b"]),
        ("b,a", &["a", "b"]),
        ("b", &["b"]),
        ("c,d", &["c", "d"]),
        ("c,c", &["c"]),
        ("", &[""]),
        ("a,", &["", "a"]),
    ];
    for (users, expected) in steps {
        store.add(pod("one", &[("users", users)])).unwrap();
        let mut values = by_user.values();
        values.sort();
        assert_eq!(values, expected, "after {users:?}");
    }
    store.add(pod("one", &[])).unwrap();
    assert!(by_user.values().is_empty() && store.contains("one"));
}

fn versioned(version: &str) -> Entry<()> {
    Entry::new(ObjectKey::cluster("a"), "u".into(), version.into(), ())
}

#[test]
fn thread_safe_store_rv() {
    let mut writer = StoreWriter::with_parity(Parity::client_go_0_37());
    let store = writer.reader();
    assert!(store.version().is_empty());
    writer.insert(versioned("7"));
    assert_eq!(store.version(), "7".into());
    writer.insert(versioned("5"));
    assert_eq!(store.version(), "5".into(), "follows every object");
    writer.insert(Entry::keyed(ObjectKey::cluster("b"), ()));
    assert_eq!(store.version(), "5".into(), "an object without a version says nothing");
    writer.remove("a");
    assert_eq!(store.version(), "5".into());
    writer.apply(vec![Write::RemoveAs(versioned("9"))]);
    assert_eq!(store.version(), "9".into(), "even if there was nothing to delete");
    writer.apply(vec![Write::Insert(versioned("12")), Write::RemoveAs(versioned("11"))]);
    assert_eq!(store.version(), "11".into(), "the last of a transaction");
    writer.replace(vec![versioned("30")], "20".into());
    assert_eq!(store.version(), "20".into());
    writer.set_version("21".into());
    assert_eq!(store.version(), "21".into());
    writer.replace(Vec::new(), "".into());
    assert!(store.version().is_empty());
}

#[test]
fn version_follows_last_object() {
    let mut theirs = Parity::default();
    theirs.version_follows_last_object = true;
    for (parity, version) in [(Parity::default(), "9"), (theirs, "3")] {
        let mut writer = StoreWriter::with_parity(parity);
        writer.insert(versioned("9"));
        writer.apply(vec![Write::RemoveAs(versioned("3"))]);
        assert_eq!(writer.reader().version(), version.into(), "{parity:?}");
    }
}

#[test]
fn the_version_does_not_go_back_by_default() {
    let mut writer = StoreWriter::new();
    let store = writer.reader();
    writer.set_version("10".into());
    writer.insert(versioned("9"));
    assert_eq!(store.version(), "10".into());
    writer.insert(versioned("11"));
    assert_eq!(store.version(), "11".into());
    writer.insert(versioned("other"));
    assert_eq!(store.version(), "other".into(), "where there is no order, the last one counts");
}

#[test]
fn indexer_conflict() {
    let store = indexer();
    store.add_indexers([("app", app), ("other", app)]).unwrap();
    let error = store.add_indexers([("new", app), ("app", app)]).unwrap_err();
    assert_eq!(error.name(), "app");
    assert_eq!(store.indexers(), ["app", "other"], "none of them was added");
    store.add_indexers([("new", app)]).unwrap();
    store.add_indexers([("unused", app)].into_iter().take(0)).unwrap();
    assert_eq!(store.indexers(), ["app", "new", "other"]);
}

#[test]
fn a_late_index_holds_what_was_there() {
    let store = indexer();
    store.add(pod("a", &[("app", "x")])).unwrap();
    store.add_index(Some("app"), app).unwrap();
    assert_eq!(keys(&store.index_keys("app", "x").unwrap()), ["a"]);
    store.replace(vec![pod("b", &[("app", "x")])], "1".into()).unwrap();
    assert_eq!(keys(&store.index_keys("app", "x").unwrap()), ["b"]);
}

#[test]
fn unknown_names_are_errors_that_say_what_there_is() {
    let store = indexer();
    store.add_index(Some("app"), app).unwrap();
    store.add_index(Some("length"), |pod: &Entry<Pod>| Some(pod.name.len())).unwrap();
    let error = store.by_index("node", "x").unwrap_err();
    assert_eq!(error.to_string(), "there is no index \"node\"; indexes: app, length");
    assert!(matches!(store.index_keys("node", "x"), Err(Error::NoSuchIndex { .. })));
    assert!(matches!(store.index("node", &store.entry(pod("a", &[]))), Err(Error::NoSuchIndex { .. })));
    assert!(matches!(store.by_index("length", "1"), Err(Error::NotStrings { .. })));
}

#[test]
fn a_failing_index_function_leaves_the_object_stored_and_reported() {
    let store = indexer();
    let by_app = store.add_index(Some("app"), |pod: &Entry<Pod>| {
        assert!(!pod.labels.contains_key("panic"), "no labels at all");
        if pod.labels.contains_key("error") { Err(Refused) } else { Ok(app(pod)) }
    });
    let by_app = by_app.unwrap();
    store.add(pod("a", &[("app", "x")])).unwrap();
    store.add(pod("b", &[("app", "x"), ("error", "")])).unwrap();
    store.add(pod("c", &[("app", "x"), ("panic", "")])).unwrap();
    assert_eq!((store.len(), keys(&by_app.keys("x"))), (3, vec!["a"]));
    let report = store.index_errors();
    assert_eq!(report.total, 2);
    assert_eq!((report.recent[0].key().as_str(), report.recent[0].index()), ("b", Some("app")));
    assert_eq!(report.recent[0].source().unwrap().to_string(), "labelled to fail");
    assert!(report.recent[1].is_panic() && report.recent[1].to_string().ends_with("no labels at all"));
    // Good again, bad again, gone: the index follows.
    store.add(pod("b", &[("app", "y")])).unwrap();
    assert_eq!(keys(&by_app.keys("y")), ["b"]);
    store.add(pod("b", &[("app", "y"), ("error", "")])).unwrap();
    store.delete(pod("c", &[]));
    assert!(by_app.keys("y").is_empty());
    assert!(matches!(
        store.index("app", &store.entry(pod("n", &[("error", "")]))),
        Err(Error::Index(error)) if error.key().as_str() == "n"
    ));
    // The report is bounded.
    for _ in 0..200 {
        store.add(pod("b", &[("error", "")])).unwrap();
    }
    assert_eq!((store.index_errors().recent.len(), store.index_errors().total), (100, 203));
}

#[test]
fn a_typed_index_is_asked_by_what_its_values_borrow_as() {
    let mut writer = StoreWriter::new();
    let by_name = |entry: &Entry<Pod>| Some((entry.namespace.clone(), entry.labels.len()));
    let (by_name, pending) = writer.reader().define_index(None, by_name).unwrap();
    assert!(writer.install(pending).is_ok());
    writer.insert(Entry::keyed(ObjectKey::new("ns", "a"), pod("ns/a", &[])));
    assert_eq!(by_name.count(&("ns".to_owned(), 0)), 1);
    assert_eq!(by_name.values(), [("ns".to_owned(), 0)]);
}

#[tokio::test]
async fn two_tasks_wait_for_one_index() {
    let mut writer = StoreWriter::new();
    let (by_app, pending) = writer.reader().define_index(Some("app"), app).unwrap();
    let wait = |index: &informers_store::Index<Pod, String>| {
        let index = index.clone();
        tokio::spawn(async move { index.filled().await })
    };
    let (first, second, gives_up) = (wait(&by_app), wait(&by_app), wait(&by_app));
    tokio::task::yield_now().await;
    gives_up.abort();
    assert!(gives_up.await.unwrap_err().is_cancelled());
    drop(by_app.filled());
    assert!(!by_app.is_filled() && !first.is_finished() && !second.is_finished());
    assert!(writer.install(pending).is_ok());
    assert_eq!((first.await.unwrap(), second.await.unwrap()), (Ok(()), Ok(())));
    assert_eq!(by_app.filled().await, Ok(()));
}

#[tokio::test]
async fn a_dropped_pending_index_frees_its_name_and_its_waiters() {
    let mut writer = StoreWriter::new();
    let store = writer.reader();
    let (by_app, pending) = store.define_index(Some("app"), app).unwrap();
    let waiter = tokio::spawn({
        let by_app = by_app.clone();
        async move { by_app.filled().await }
    });
    tokio::task::yield_now().await;
    drop(pending);
    assert_eq!(waiter.await.unwrap(), Err(NeverFilled));
    assert!(store.indexers().is_empty());
    writer.insert(Entry::keyed(ObjectKey::cluster("a"), pod("a", &[("app", "x")])));
    assert_eq!(by_app.count("x"), 1, "it goes on scanning");
    assert!(store.define_index(Some("app"), app).is_ok());
}

#[test]
fn a_pending_index_of_another_store_is_given_back() {
    let (mut one, mut two) = (StoreWriter::new(), StoreWriter::new());
    let (by_app, pending) = one.reader().define_index(Some("app"), app).unwrap();
    let pending = two.install(pending).unwrap_err();
    assert!(one.install(pending).is_ok() && by_app.is_filled());
}

#[test]
fn a_store_is_what_a_queue_knows() {
    let mut writer = StoreWriter::new();
    writer.insert(versioned("7"));
    let known: &dyn KnownObjects<()> = &writer.reader();
    assert_eq!(known.known_keys(), [ObjectKey::cluster("a")]);
    assert_eq!(known.get_known("a").unwrap().version(), &"7".into());
    assert!(known.get_known("b").is_none());
}

fn lister(with_index: bool) -> Lister<Pod> {
    let store = indexer();
    if with_index {
        store.add_index(Some(NAMESPACE_INDEX), namespace_values).unwrap();
    }
    store.add(pod("one/a", &[("app", "web")])).unwrap();
    store.add(pod("one/b", &[])).unwrap();
    store.add(pod("two/a", &[("app", "web")])).unwrap();
    store.add(pod("node", &[("app", "web")])).unwrap();
    Lister::new("pods", (*store).clone(), |pod: &Pod| (!pod.labels.is_empty()).then_some(&pod.labels))
}

#[test]
fn list_all() {
    for pods in [lister(false), lister(true)] {
        let select = |selector: &str| names(&pods.list(&selector.parse().unwrap())).len();
        assert_eq!(select(""), 4);
        assert_eq!(select("app=web"), 3);
        assert_eq!(select("!app"), 1, "no labels are labels without any");
        assert_eq!(select("app=db"), 0);
    }
}

#[test]
fn namespace_list_method() {
    for pods in [lister(false), lister(true)] {
        let select = |namespace: &str, selector: &str| {
            let hits = pods.namespace(namespace).list(&selector.parse().unwrap());
            hits.iter().map(|hit| hit.key().to_string()).collect::<BTreeSet<_>>()
        };
        assert_eq!(select("one", ""), BTreeSet::from(["one/a".to_owned(), "one/b".to_owned()]));
        assert_eq!(select("one", "app=web"), BTreeSet::from(["one/a".to_owned()]));
        assert!(select("none", "").is_empty());
        assert_eq!(select("", "").len(), 4, "the empty name is all namespaces");
    }
}

#[test]
fn lister_get_method() {
    let pods = lister(true);
    assert_eq!(pods.get("node").unwrap().key().as_str(), "node");
    assert_eq!(pods.namespace("two").get("a").unwrap().namespace, "two");
    let error = pods.namespace("two").get("b").unwrap_err();
    assert_eq!((error.resource(), error.key().as_str()), ("pods", "two/b"));
    assert_eq!(pods.get("gone").unwrap_err().to_string(), "pods \"gone\" not found");
}

#[test]
fn what_a_list_changes_is_the_same_whether_committed_or_rebuilt() {
    let numbered = |at: usize, value: usize| Entry::keyed(ObjectKey::cluster(&at.to_string()), value);
    for size in [10, 2_000] {
        let mut writer = StoreWriter::new();
        let store = writer.reader();
        let (by_value, pending) = store.define_index(None, |entry: &Entry<usize>| Some(**entry)).unwrap();
        assert!(writer.install(pending).is_ok());
        writer.replace((0..size).map(|at| numbered(at, 0)).collect(), "1".into());
        let untouched = store.get("0").unwrap();

        let mut writes = Vec::new();
        for at in 1..size {
            writes.push(Write::Insert(numbered(at, 7)));
            match at % 3 {
                0 => writes.push(Write::Remove(ObjectKey::cluster(&at.to_string()))),
                1 => writes.push(Write::Insert(numbered(at, 8))),
                _ => {}
            }
        }
        writer.apply_as(writes, "2".into());
        let left = |rest: usize| (1..size).filter(|at| at % 3 == rest).count();
        assert_eq!(store.len(), 1 + left(1) + left(2), "{size}");
        assert_eq!(
            (by_value.count(&0), by_value.count(&7), by_value.count(&8)),
            (1, left(2), left(1)),
            "{size}"
        );
        assert!(store.get("0").unwrap().ptr_eq(&untouched) && store.version() == "2".into(), "{size}");
    }
}

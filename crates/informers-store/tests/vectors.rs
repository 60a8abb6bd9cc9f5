//! Replays traces of client-go's `Indexer` and `ThreadSafeStore`, and compares everything they show.
//!
//! The traces come from `$INFORMERS_VECTORS`, else from the shared folder beside the workspace, else from
//! the few that are committed.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use informers_core::{Entry, ObjectKey, Transform};
use informers_store::{Error, Indexer, Parity, Store, StoreWriter, Write};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize, Clone, Debug)]
struct Object {
    key: String,
    rv: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(skip)]
    marks: u32,
}

impl Object {
    fn entry(self) -> Entry<Self> {
        Entry::new(key(&self.key), self.uid.as_str().into(), self.rv.as_str().into(), self)
    }

    fn version(&self) -> String {
        if self.marks == 0 { self.rv.clone() } else { format!("{}+{}", self.rv, self.marks) }
    }

    fn reference(&self) -> String {
        format!("{}@{}", self.key, self.version())
    }
}

fn key(text: &str) -> ObjectKey {
    text.parse().unwrap()
}

type IndexFunction = fn(&Entry<Object>) -> Vec<String>;

fn index_function(name: &str) -> IndexFunction {
    match name {
        "namespace" => |object| vec![object.key().namespace().unwrap_or_default().to_owned()],
        "app" => |object| object.labels.get("app").cloned().into_iter().collect(),
        "app-or-empty" => |object| vec![object.labels.get("app").cloned().unwrap_or_default()],
        "groups" => |object| match object.annotations.get("groups") {
            Some(groups) => groups.split(',').map(str::to_owned).collect(),
            None => Vec::new(),
        },
        "none" => |_| Vec::new(),
        other => panic!("unknown index {other}"),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("labelled to fail")]
struct Refused;

fn transform(name: &str) -> Option<Transform<Object>> {
    let fails = match name {
        "none" => return None,
        "mark" => false,
        "fail" => true,
        other => panic!("unknown transform {other}"),
    };
    Some(Transform::new(move |object: &mut Object| {
        if fails && object.labels.get("fail").is_some_and(|value| value == "true") {
            return Err(Refused);
        }
        object.marks += 1;
        Ok(())
    }))
}

/// Both of client-go's types are here: the one that derives keys, and the one that is given them.
enum Component {
    Indexer(Box<Indexer<Object>>),
    Writer(Box<StoreWriter<Object>>),
}

impl Component {
    fn new(config: &Value) -> Self {
        let parity = Parity::client_go_0_37();
        let mut component = match config["impl"].as_str().unwrap() {
            "indexer" => {
                let indexer = Indexer::with_parity(|object: &Object| key(&object.key), parity)
                    .with_version(|object: &Object| object.rv.as_str().into());
                Self::Indexer(Box::new(match transform(config["transform"].as_str().unwrap()) {
                    Some(transform) => indexer.with_transform(transform),
                    None => indexer,
                }))
            }
            "thread-safe-store" => Self::Writer(Box::new(StoreWriter::with_parity(parity))),
            other => panic!("unknown implementation {other}"),
        };
        assert!(component.add_indexers(&strings(&config["indexers"])));
        component
    }

    fn store(&self) -> Store<Object> {
        match self {
            Self::Indexer(indexer) => (***indexer).clone(),
            Self::Writer(writer) => writer.reader(),
        }
    }

    fn add_indexers(&mut self, names: &[String]) -> bool {
        match self {
            Self::Indexer(indexer) => {
                indexer.add_indexers(names.iter().map(|name| (name.as_str(), index_function(name)))).is_ok()
            }
            Self::Writer(writer) => {
                let store = writer.reader();
                let define = |name: &String| store.define_index(Some(name), index_function(name));
                let defined: Result<Vec<_>, _> = names.iter().map(define).collect();
                defined.is_ok_and(|defined| {
                    defined.into_iter().all(|(_, pending)| writer.install(pending).is_ok())
                })
            }
        }
    }

    fn add(&mut self, object: Object) -> Result<(), Error> {
        match self {
            Self::Indexer(indexer) => indexer.add(object).map(drop),
            Self::Writer(writer) => {
                writer.insert(object.entry());
                Ok(())
            }
        }
    }

    fn remove(&mut self, write: Write<Object>) {
        match self {
            Self::Indexer(indexer) => drop(indexer.transaction(vec![write])),
            Self::Writer(writer) => drop(writer.apply(vec![write])),
        }
    }

    fn replace(&mut self, objects: Vec<Object>, version: &str) -> Result<(), Error> {
        match self {
            Self::Indexer(indexer) => indexer.replace(objects, version.into()),
            Self::Writer(writer) => {
                writer.replace(objects.into_iter().map(Object::entry).collect(), version.into());
                Ok(())
            }
        }
    }

    fn transaction(&mut self, writes: Vec<Write<Object>>) {
        match self {
            Self::Indexer(indexer) => drop(indexer.transaction(writes)),
            Self::Writer(writer) => drop(writer.apply(writes)),
        }
    }

    fn bookmark(&mut self, version: &str) {
        match self {
            Self::Indexer(indexer) => indexer.bookmark(version.into()),
            Self::Writer(writer) => writer.set_version(version.into()),
        }
    }
}

fn strings(value: &Value) -> Vec<String> {
    serde_json::from_value(value.clone()).unwrap()
}

fn object(value: &Value) -> Object {
    serde_json::from_value(value.clone()).unwrap()
}

fn objects(value: &Value) -> Vec<Object> {
    serde_json::from_value(value.clone()).unwrap()
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

fn references(entries: &[Entry<Object>]) -> Vec<String> {
    sorted(entries.iter().map(|entry| entry.reference()).collect())
}

fn error_kind(error: &Error) -> &'static str {
    match error {
        Error::NoSuchIndex { .. } => "no-such-index",
        Error::Transform { .. } => "transform",
        other => panic!("unexpected error {other}"),
    }
}

fn answer(result: Result<(), Error>) -> Map<String, Value> {
    let mut out = Map::new();
    if let Err(error) = result {
        out.insert("err".into(), error_kind(&error).into());
    }
    out
}

fn queried(name: &str, result: Result<Vec<String>, Error>) -> Map<String, Value> {
    match result {
        Ok(list) => Map::from_iter([(name.to_owned(), json!(list))]),
        Err(error) => answer(Err(error)),
    }
}

fn found(entry: Option<&Entry<Object>>) -> Map<String, Value> {
    let reference = entry.map(|entry| entry.reference());
    Map::from_iter([("exists".to_owned(), json!(entry.is_some())), ("obj".to_owned(), json!(reference))])
}

fn state(store: &Store<Object>, out: &mut Map<String, Value>) {
    let items: BTreeMap<_, _> =
        store.list().iter().map(|entry| (entry.key().to_string(), entry.version_text())).collect();
    let keys: BTreeSet<_> = store.keys().iter().map(ToString::to_string).collect();
    assert!(items.keys().eq(keys.iter()), "list and keys disagree");
    let mut indexes = BTreeMap::new();
    for name in store.indexers() {
        let mut values = BTreeMap::new();
        for value in store.list_index_values(&name) {
            let keys = store.index_keys(&name, &value).unwrap();
            values.insert(value, keys.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        indexes.insert(name, values);
    }
    out.insert("items".into(), json!(items));
    out.insert("indexes".into(), json!(indexes));
    out.insert("store_rv".into(), json!(store.version().to_string()));
}

trait VersionText {
    fn version_text(&self) -> String;
}

impl VersionText for Entry<Object> {
    fn version_text(&self) -> String {
        Object::version(self.object())
    }
}

fn write_of(txn: &Value) -> Write<Object> {
    let entry = object(&txn["obj"]).entry();
    match txn["type"].as_str().unwrap() {
        "Add" | "Update" => Write::Insert(entry),
        "Delete" => Write::RemoveAs(entry),
        other => panic!("unknown write {other}"),
    }
}

fn replay(component: &mut Component, op: &Value) -> Map<String, Value> {
    let store = component.store();
    let text = |name: &str| op[name].as_str().unwrap();
    let mut out = match text("op") {
        "add" | "update" => answer(component.add(object(&op["obj"]))),
        "delete" if op["obj"].is_null() => {
            component.remove(Write::Remove(key(text("key"))));
            Map::new()
        }
        "delete" => {
            component.remove(Write::RemoveAs(object(&op["obj"]).entry()));
            Map::new()
        }
        "delete_tombstone" => {
            component.remove(Write::Remove(key(op["tombstone"]["key"].as_str().unwrap())));
            Map::new()
        }
        "replace" => {
            let list = match op.get("entries") {
                Some(entries) => {
                    entries.as_array().unwrap().iter().map(|entry| object(&entry["obj"])).collect()
                }
                None => objects(&op["objs"]),
            };
            answer(component.replace(list, text("rv")))
        }
        "transaction" => {
            component.transaction(op["txns"].as_array().unwrap().iter().map(write_of).collect());
            Map::new()
        }
        "bookmark" => {
            component.bookmark(text("rv"));
            Map::new()
        }
        "add_indexers" => {
            let mut out = Map::new();
            if !component.add_indexers(&strings(&op["indexers"])) {
                out.insert("err".into(), "indexer-conflict".into());
            }
            out
        }
        // A store has nobody to show its objects to again.
        "resync" => return Map::new(),
        "get" => return found(store.get(op["obj"]["key"].as_str().unwrap()).as_ref()),
        "get_by_key" => return found(store.get(text("key")).as_ref()),
        "list" => return queried("objs", Ok(references(&store.list()))),
        "list_keys" => {
            return queried("keys", Ok(sorted(store.keys().iter().map(ToString::to_string).collect())));
        }
        "index" => {
            let hits = store.index(text("index"), &object(&op["obj"]).entry());
            return queried("objs", hits.map(|hits| references(&hits)));
        }
        "by_index" => {
            let hits = store.by_index(text("index"), text("value"));
            return queried("objs", hits.map(|hits| references(&hits)));
        }
        "index_keys" => {
            let keys = store.index_keys(text("index"), text("value"));
            return queried("keys", keys.map(|keys| keys.iter().map(ToString::to_string).collect()));
        }
        "list_index_func_values" => {
            return queried("values", Ok(sorted(store.list_index_values(text("index")))));
        }
        "get_indexers" => return queried("indexers", Ok(store.indexers())),
        other => panic!("unknown operation {other}"),
    };
    state(&store, &mut out);
    out
}

/// Whether the trace was replayed, and not skipped.
fn replay_file(path: &Path) -> bool {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!(header["component"], "store", "{}", path.display());
    let config = &header["config"];
    let flags = ["key_errors", "known_faults", "poison", "index_errors", "misuse"];
    if flags.iter().any(|flag| config[flag] == true) {
        return false;
    }
    let mut component = Component::new(config);
    for (number, op) in lines.enumerate() {
        let out = Value::Object(replay(&mut component, &op));
        assert_eq!(out, op["out"], "{} line {}: {op}", path.display(), number + 2);
    }
    true
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> PathBuf {
    if let Some(named) = std::env::var_os("INFORMERS_VECTORS") {
        return PathBuf::from(named).join("store");
    }
    let shared = workspace().join("../shared/oracle/vectors/public/store");
    if shared.is_dir() {
        return shared;
    }
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/store")
}

#[test]
fn vectors_of_client_go_are_replayed() {
    let mut files: Vec<_> = std::fs::read_dir(folder()).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|ending| ending == "jsonl"));
    files.sort();
    assert!(!files.is_empty(), "no traces in {}", folder().display());
    let replayed = files.iter().filter(|file| replay_file(file)).count();
    let (skipped, total) = (files.len() - replayed, files.len());
    assert!(replayed > 0);
    let line = format!("vectors store: replayed {replayed}, skipped {skipped} of {total}\n");
    print!("{line}");
    let target = workspace().join("target");
    std::fs::create_dir_all(&target).unwrap();
    let report = std::fs::OpenOptions::new().create(true).append(true).open(target.join("vectors.txt"));
    report.unwrap().write_all(line.as_bytes()).unwrap();
}

#[test]
fn vectors_committed_here_are_replayed() {
    let committed = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/store");
    let files = std::fs::read_dir(committed).unwrap().map(|file| file.unwrap().path());
    assert!(files.filter(|file| replay_file(file)).count() >= 10);
}

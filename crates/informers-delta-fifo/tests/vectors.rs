//! Replays recorded runs of client-go's queues, with `Parity::client_go_0_37()`.
//!
//! The recordings are those in the folder named by `INFORMERS_VECTORS`, else the full public set where it
//! lies beside the workspace, else the few that are committed here.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the counts are part of the outcome")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use informers_core::{
    Change, Entry, KnownObjects, ObjectKey, Scope, Sink, SinkError, Transform, TransformError,
};
use informers_delta_fifo::{
    Batch, Closed, Consumer, Deleted, Delta, DeltaFifo, InOrderQueue, Parity, QueueOptions, QueueSink,
    SharedQueue, delta_fifo, in_order_queue,
};
use serde_json::{Map, Value, json};

#[derive(Clone)]
struct Object {
    fail: bool,
    /// How often the transform has seen it.
    seen: u32,
}

/// The store behind the queue; lists its keys in order, as that of the recordings does.
#[derive(Default)]
struct Known(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    objects: BTreeMap<ObjectKey, Entry<Object>>,
    /// Keys that are listed, but not found when they are looked up.
    missing: BTreeSet<ObjectKey>,
}

impl KnownObjects<Object> for Known {
    fn known_keys(&self) -> Vec<ObjectKey> {
        let known = self.0.lock().unwrap();
        known.objects.keys().chain(&known.missing).cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn get_known(&self, key: &str) -> Option<Entry<Object>> {
        let known = self.0.lock().unwrap();
        if known.missing.contains(key) { None } else { known.objects.get(key).cloned() }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Component {
    DeltaFifo,
    RealFifo,
}

struct Replay {
    component: Component,
    queue: SharedQueue<Object>,
    consumer: Consumer<Object>,
    sink: QueueSink<Object>,
    known: Option<Arc<Known>>,
}

#[derive(Debug, thiserror::Error)]
#[error("told to fail")]
struct ToldToFail;

fn transform(name: &str) -> Option<Transform<Object>> {
    let fails = match name {
        "none" => return None,
        // The poison itself is not in the traces that are replayed.
        "mark" | "poison" => false,
        "fail" => true,
        other => panic!("unknown transform {other}"),
    };
    Some(Transform::new(move |object: &mut Object| {
        if fails && object.fail {
            return Err(ToldToFail);
        }
        object.seen += 1;
        Ok(())
    }))
}

impl Replay {
    fn new(component: Component, config: &Value) -> Self {
        let parity = Parity::client_go_0_37();
        let text = |name: &str| config[name].as_str().unwrap_or_default();
        let flag = |name: &str| config[name].as_bool().unwrap_or_default();
        // The name of an informer's identifier beats that of the queue, which beats the type's.
        let name =
            [text("identifier"), text("name"), "RealFIFO"].into_iter().find(|name| !name.is_empty()).unwrap();
        let mut options = QueueOptions::default().with_name(name);
        if let Some(transform) = transform(text("transform")) {
            options = options.with_transform(transform);
        }
        let behind = match component {
            Component::DeltaFifo => flag("known_objects"),
            Component::RealFifo => !flag("atomic"),
        };
        let known = behind.then(|| Arc::new(Known::default()));
        let (queue, consumer) = match (component, known.clone()) {
            (Component::DeltaFifo, known) => {
                let mut machine =
                    DeltaFifo::new().with_emit_replaced(flag("emit_replaced")).with_parity(parity);
                if let Some(known) = known {
                    machine = machine.with_known(known);
                }
                delta_fifo(machine, options)
            }
            (Component::RealFifo, Some(known)) => {
                in_order_queue(InOrderQueue::plain(known).with_parity(parity), options)
            }
            (Component::RealFifo, None) => {
                let machine = InOrderQueue::atomic().with_bookmarks(flag("bookmarks"));
                in_order_queue(machine.with_parity(parity), options)
            }
        };
        Self { component, sink: queue.sink(), queue, consumer, known }
    }

    /// Performs one operation and gives what can be observed after it.
    fn perform(&mut self, op: &Value) -> Value {
        let mut out = Map::new();
        let name = op["op"].as_str().unwrap();
        let result = match name {
            "name" => return json!({"name": self.queue.name()}),
            "has_synced" => return json!({"has_synced": self.queue.has_synced()}),
            "known_put" | "known_delete" => {
                let known = self.known.as_ref().unwrap();
                match name {
                    "known_put" => {
                        let entry = entry(&op["obj"]);
                        known.0.lock().unwrap().objects.insert(entry.key().clone(), entry);
                    }
                    _ => {
                        known.0.lock().unwrap().objects.remove(op["key"].as_str().unwrap());
                    }
                }
                return json!({"known": self.stored()});
            }
            "known_fault" => {
                let key: ObjectKey = op["key"].as_str().unwrap().parse().unwrap();
                let missing = &mut self.known.as_ref().unwrap().0.lock().unwrap().missing;
                match op["fault"].as_str().unwrap() {
                    "missing" => missing.insert(key),
                    "none" => missing.remove(&key),
                    other => panic!("unknown fault {other}"),
                };
                return json!({});
            }
            "add" => self.sink.apply(Change::added(entry(&op["obj"]))),
            "update" => self.sink.apply(Change::modified(entry(&op["obj"]))),
            "delete" => self.sink.apply(Change::deleted(entry(&op["obj"]))),
            "delete_tombstone" => {
                let tombstone = &op["tombstone"];
                let last = (!tombstone["obj"].is_null()).then(|| entry(&tombstone["obj"]));
                self.sink
                    .delete(Deleted::tombstone(tombstone["key"].as_str().unwrap().parse().unwrap(), last))
            }
            "replace" => self.replace(op),
            "resync" => self.sink.resync(),
            "bookmark" => self.sink.bookmark(&op["rv"].as_str().unwrap().into()),
            "close" => {
                self.queue.close();
                Ok(())
            }
            "pop" | "pop_batch" => {
                self.pop(name, op, &mut out);
                Ok(())
            }
            other => panic!("unknown operation {other}"),
        };
        if let Err(error) = result {
            out.insert("err".into(), self.error_kind(name, &error).into());
        }
        out.insert("queue".into(), self.waiting());
        out.insert("has_synced".into(), self.queue.has_synced().into());
        out.insert("closed".into(), self.queue.is_closed().into());
        out.into()
    }

    fn replace(&mut self, op: &Value) -> Result<(), SinkError> {
        let mut stage = self.sink.begin(&Scope::all());
        for object in op["objs"].as_array().unwrap() {
            stage.offer(Change::added(entry(object)))?;
        }
        stage.commit(&op["rv"].as_str().unwrap().into())
    }

    fn pop(&mut self, name: &str, op: &Value, out: &mut Map<String, Value>) {
        let mut batch = match take(&mut self.consumer, name) {
            Ok(batch) => batch,
            Err(Closed) => {
                out.insert("err".into(), "closed".into());
                if self.known.is_some() {
                    out.insert("known".into(), self.stored());
                }
                return;
            }
        };
        let initial = batch.is_in_initial_list();
        let deltas = batch.take_deltas();
        match self.component {
            Component::DeltaFifo => {
                out.insert("key".into(), deltas[0].key().unwrap().as_str().into());
            }
            Component::RealFifo => {
                out.insert("callback".into(), if deltas.len() == 1 { "single" } else { "batch" }.into());
            }
        }
        out.insert("deltas".into(), deltas.iter().map(show).collect());
        out.insert("is_in_initial_list".into(), initial.into());
        out.insert("synced_in_process".into(), self.queue.has_synced().into());
        if let Some(during) = op["during"].as_array() {
            for op in during {
                // Of these only the outcome is recorded; the state follows with the pop's.
                let state = self.perform(op);
                let outcome = state.get("err").map_or(json!({}), |error| json!({"err": error}));
                check(&outcome, op, "during a pop");
            }
        }
        match op["process"].as_str().unwrap() {
            "apply" => self.known.iter().for_each(|known| apply(known, &deltas)),
            "skip" => {}
            "error" => {
                out.insert("err".into(), "process".into());
            }
            other => panic!("unknown process {other}"),
        }
        batch.finish();
        if self.known.is_some() {
            out.insert("known".into(), self.stored());
        }
    }

    fn error_kind(&self, op: &str, error: &SinkError) -> &'static str {
        let source = std::error::Error::source(error).expect("a cause");
        assert!(source.is::<TransformError>(), "{error}: {source}");
        match (self.component, op) {
            (Component::DeltaFifo, "replace") => "enqueue",
            _ => "transform",
        }
    }

    fn waiting(&self) -> Value {
        let deltas = self.queue.snapshot();
        match self.component {
            Component::RealFifo => deltas.iter().map(show).collect(),
            Component::DeltaFifo => deltas
                .chunk_by(|a, b| a.key() == b.key())
                .map(|slot| {
                    let deltas: Value = slot.iter().map(show).collect();
                    json!({"key": slot[0].key().unwrap().as_str(), "deltas": deltas})
                })
                .collect(),
        }
    }

    fn stored(&self) -> Value {
        self.known.as_ref().unwrap().0.lock().unwrap().objects.values().map(reference).collect()
    }
}

/// The recordings never pop from an open and empty queue, so nothing has to wait.
fn take(consumer: &mut Consumer<Object>, name: &str) -> Result<Batch<Object>, Closed> {
    let mut cx = Context::from_waker(Waker::noop());
    let polled = match name {
        "pop" => pin!(consumer.pop()).poll(&mut cx),
        _ => pin!(consumer.pop_batch()).poll(&mut cx),
    };
    match polled {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("a pop had to wait"),
    }
}

fn apply(known: &Known, deltas: &[Delta<Object>]) {
    let known = &mut known.0.lock().unwrap().objects;
    for delta in deltas {
        match (delta, delta.entry()) {
            (Delta::Deleted(deleted), _) => {
                known.remove(&deleted.key);
            }
            (_, Some(entry)) => {
                known.insert(entry.key().clone(), entry.clone());
            }
            (_, None) => {}
        }
    }
}

fn entry(object: &Value) -> Entry<Object> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let fail = object["labels"]["fail"] == "true";
    Entry::new(text("key").parse().unwrap(), text("uid").into(), text("rv").into(), Object { fail, seen: 0 })
}

fn reference(entry: &Entry<Object>) -> String {
    let seen = match entry.seen {
        0 => String::new(),
        seen => format!("+{seen}"),
    };
    format!("{entry:?}{seen}")
}

fn show(delta: &Delta<Object>) -> Value {
    let object = |kind: &str, entry: &Entry<Object>| json!({"type": kind, "obj": reference(entry)});
    match delta {
        Delta::Added(entry) => object("Added", entry),
        Delta::Updated(entry) => object("Updated", entry),
        Delta::Replaced(entry) => object("Replaced", entry),
        Delta::Sync(entry) => object("Sync", entry),
        Delta::Deleted(deleted) if deleted.is_tombstone() => {
            let last = deleted.last.as_ref().map(reference);
            json!({"type": "Deleted", "tombstone": deleted.key.as_str(), "obj": last})
        }
        Delta::Deleted(deleted) => object("Deleted", deleted.last.as_ref().unwrap()),
        Delta::ReplacedAll(all) => {
            let objects: Vec<_> = all.items.iter().map(reference).collect();
            json!({"type": "ReplacedAll", "rv": all.version.to_string(), "objs": objects})
        }
        Delta::SyncAll => json!({"type": "SyncAll"}),
        Delta::Bookmark(bookmark) => json!({"type": "Bookmark", "rv": bookmark.version.to_string()}),
        other => panic!("{other:?} has no counterpart in client-go"),
    }
}

fn check(got: &Value, op: &Value, place: &str) {
    let want = &op["out"];
    assert!(got == want, "{place}\noperation {op}\nwant {want}\ngot  {got}");
}

/// Whether a trace was replayed; if not, its callbacks fail in ways that our types rule out.
fn replay(path: &Path, component: Component) -> bool {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    let config = &header["config"];
    // Most traces with one of these flags do make use of it: an entry always has a key, and a look-up cannot fail.
    let key_error = config["key_errors"] == true && text.contains(r#""bad-key":"true""#);
    let fault = config["known_faults"] == true && text.contains(r#""fault":"error""#);
    let poison = config["transform"] == "poison" && text.contains(r#""poison":"true""#);
    if key_error || fault || poison {
        return false;
    }
    let mut replay = Replay::new(component, config);
    for (at, op) in lines.enumerate() {
        check(&replay.perform(&op), &op, &format!("{}:{}", path.display(), at + 2));
    }
    true
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `committed` and `public` are the numbers of traces replayed and skipped in these sets.
fn replay_all(name: &str, component: Component, committed: (usize, usize), public: (usize, usize)) {
    let beside = workspace().join("../shared/oracle/vectors/public").join(name);
    let (folder, expected) = match std::env::var_os("INFORMERS_VECTORS") {
        Some(folder) => (PathBuf::from(folder).join(name), None),
        None if beside.is_dir() => (beside, Some(public)),
        None => (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name), Some(committed)),
    };
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no traces in {}", folder.display());
    let replayed = paths.iter().filter(|path| replay(path, component)).count();
    let skipped = paths.len() - replayed;
    report(&format!("vectors {name}: replayed {replayed}, skipped {skipped} of {}", paths.len()));
    if let Some(expected) = expected {
        assert_eq!((replayed, skipped), expected, "traces replayed and skipped in {}", folder.display());
    }
}

fn report(line: &str) {
    println!("{line}");
    let target = workspace().join("target");
    fs::create_dir_all(&target).unwrap();
    let mut file = fs::File::options().create(true).append(true).open(target.join("vectors.txt")).unwrap();
    writeln!(file, "{line}").unwrap();
}

#[test]
fn vectors_delta_fifo() {
    replay_all("delta-fifo", Component::DeltaFifo, (9, 1), (174, 26));
}

#[test]
fn vectors_real_fifo() {
    replay_all("real-fifo", Component::RealFifo, (9, 1), (160, 40));
}

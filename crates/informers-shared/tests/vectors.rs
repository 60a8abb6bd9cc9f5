//! Replays recorded runs of client-go's shared informers, with `Parity::client_go_0_37()`: requests, what the
//! watch error handler and every event handler heard, who has synced, and what was stored.
//!
//! The recordings are those in the folder named by `INFORMERS_VECTORS`, else the full public set where it
//! lies beside the workspace, else the few that are committed here.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "the counts are part of the outcome")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use informers_core::{
    Change, ChangeKind, Deletion, Entry, Error, ErrorKind, Event, Transform, VersionMatch, WatchEvent,
};
use informers_shared::{HandlerGuard, Parity, QueueKind, ReflectorSettings, SharedInformer};
use informers_testkit::{Call, FakeListWatch, ListAnswer, LiveWatch, WatchAnswer};
use serde_json::{Map, Value, json};

#[derive(Clone)]
struct Object {
    fail: bool,
    /// How often the transform has seen it.
    seen: u32,
}

const ERRORS: [(&str, ErrorKind); 7] = [
    ("expired", ErrorKind::Expired),
    ("gone", ErrorKind::Gone),
    ("too-large-rv", ErrorKind::TooLargeResourceVersion),
    ("internal", ErrorKind::Internal),
    ("too-many-requests", ErrorKind::TooManyRequests),
    ("forbidden", ErrorKind::Forbidden),
    ("connection-refused", ErrorKind::ConnectionRefused),
];

fn error(name: &str) -> Error {
    let (_, kind) = ERRORS.iter().find(|(known, _)| *known == name).expect("a known error");
    Error::new(*kind, "ask the script").with_message(name)
}

/// The request as it is recorded, without its empty members.
fn request(call: &Call) -> Value {
    let fields = match call {
        Call::List(params) => vec![
            ("verb", "list".into()),
            ("limit", params.limit.into()),
            ("continue", params.continue_token().unwrap_or_default().into()),
            ("resource_version", params.version().to_string().into()),
            ("resource_version_match", params.version_match().map_or("", VersionMatch::as_str).into()),
        ],
        Call::Watch(params) => {
            assert!((300..=600).contains(&params.timeout.as_secs()));
            let rule = if params.send_initial_events { "NotOlderThan" } else { "" };
            vec![
                ("verb", "watch".into()),
                ("resource_version", params.version.to_string().into()),
                ("resource_version_match", rule.into()),
                ("allow_watch_bookmarks", true.into()),
                ("send_initial_events", params.send_initial_events.into()),
            ]
        }
        other => panic!("an unknown call {other:?}"),
    };
    let left_out = [json!(""), json!(0), json!(false)];
    let fields = fields.into_iter().filter(|(_, value)| !left_out.contains(value));
    fields.map(|(name, value): (_, Value)| (name.to_owned(), value)).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn entry(object: &Value) -> Entry<Object> {
    let fail = object["labels"]["fail"] == "true";
    let key = text(object, "key").parse().unwrap();
    Entry::new(key, text(object, "uid").into(), text(object, "rv").into(), Object { fail, seen: 0 })
}

fn send(watch: &LiveWatch<Object>, event: &Value) {
    let change = |kind| watch.send(Change { kind, item: entry(&event["obj"]).into() });
    match text(event, "type") {
        "ADDED" => change(ChangeKind::Added),
        "MODIFIED" => change(ChangeKind::Modified),
        "DELETED" => change(ChangeKind::Deleted),
        "BOOKMARK" => watch.send(WatchEvent::Bookmark {
            version: text(event, "rv").into(),
            initial_events_end: event["initial_events_end"] == true,
        }),
        "ERROR" => watch.fail(error(text(event, "error"))),
        other => panic!("an event of type {other}"),
    }
}

#[derive(Debug, thiserror::Error)]
#[error("told to fail")]
struct ToldToFail;

fn transform(name: &str) -> Option<Transform<Object>> {
    let fails = match name {
        "none" => return None,
        "mark" => false,
        "fail" => true,
        other => panic!("an unknown transform {other}"),
    };
    Some(Transform::new(move |object: &mut Object| {
        if fails && object.fail {
            return Err(ToldToFail);
        }
        object.seen += 1;
        Ok(())
    }))
}

fn version(entry: &Entry<Object>) -> String {
    match entry.seen {
        0 => entry.version().to_string(),
        seen => format!("{}+{seen}", entry.version()),
    }
}

fn note(event: &Event<Object>) -> Value {
    match event {
        Event::Added { object, initial } => {
            json!({"type": "add", "rv": version(object), "is_in_initial_list": initial})
        }
        Event::Updated { old, new } => {
            json!({"type": "update", "old_rv": version(old), "rv": version(new)})
        }
        Event::Deleted { last, how: Deletion::Inferred } => {
            json!({"type": "delete", "rv": version(last), "tombstone": true})
        }
        Event::Deleted { last, .. } => json!({"type": "delete", "rv": version(last)}),
    }
}

/// What one handler has heard of each object since this was asked last.
type Notes = Arc<Mutex<BTreeMap<String, Vec<Value>>>>;

struct Replay {
    /// Leaves each request open until the trace answers it.
    server: FakeListWatch<Object>,
    /// How many requests are accounted for.
    requests: usize,
    watch: Option<LiveWatch<Object>>,
    informer: SharedInformer<Object>,
    told: Arc<Mutex<Vec<String>>>,
    /// The handlers that were not removed, and what all were told.
    handlers: BTreeMap<String, HandlerGuard<Object>>,
    notes: BTreeMap<String, Notes>,
}

impl Replay {
    fn new(config: &Value) -> Self {
        let queue = match text(config, "queue") {
            "real-fifo-atomic" => QueueKind::InOrder,
            "real-fifo" => QueueKind::PlainInOrder,
            "delta-fifo" => QueueKind::DeltaFifo,
            other => panic!("an unknown queue {other}"),
        };
        let server = FakeListWatch::new();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let hears = Arc::clone(&told);
        let settings = ReflectorSettings::new()
            .streaming_list(config["watch_list"] == true)
            .watch_error_handler(move |error: &Error| {
                let not_taken = error.action().starts_with("put the list");
                let name = if not_taken { "sync-failed" } else { error.message() };
                hears.lock().unwrap().push(name.to_owned());
            });
        let mut builder = SharedInformer::builder(Arc::new(server.clone()))
            .queue(queue)
            .resync(Duration::from_millis(config["resync_ms"].as_u64().unwrap()))
            .reflector(settings)
            .parity(Parity::client_go_0_37());
        if let Some(transform) = transform(text(config, "transform")) {
            builder = builder.transform(transform);
        }
        let informer = builder.build();
        let (handlers, notes) = (BTreeMap::new(), BTreeMap::new());
        Self { server, requests: 0, watch: None, informer, told, handlers, notes }
    }

    /// Performs one operation and gives what can be observed after it.
    async fn perform(&mut self, operation: &Value) -> Value {
        let mut out = Map::new();
        match text(operation, "op") {
            "add_handler" => {
                if let Err(error) = self.add_handler(operation) {
                    out.insert("err".into(), error.into());
                }
            }
            "remove_handler" => drop(self.handlers.remove(text(operation, "name"))),
            "shut_down_handler" => {
                if let Some(guard) = self.handlers.remove(text(operation, "name")) {
                    guard.close().await;
                }
            }
            "start" => self.informer.start().unwrap(),
            "stop" => {
                self.informer.stop().await;
                out.insert("is_stopped".into(), self.informer.is_stopped().into());
            }
            "list_response" => {
                let items = operation["items"].as_array().into_iter().flatten().map(entry);
                let page = ListAnswer::page(text(operation, "rv"), items);
                self.server.on_list(page.with_continue(text(operation, "continue")));
            }
            "list_error" => {
                self.server.on_list(ListAnswer::refused(error(text(operation, "error"))));
            }
            "watch_reject" => {
                self.server.on_watch(WatchAnswer::refused(error(text(operation, "error"))));
            }
            "watch_accept" => {
                let (answer, watch) = WatchAnswer::live();
                self.watch = Some(watch);
                self.server.on_watch(answer);
            }
            "events" => {
                let watch = self.watch.as_ref().expect("a watch");
                operation["events"].as_array().unwrap().iter().for_each(|event| send(watch, event));
            }
            "watch_close" => self.watch = None,
            "await_request" => drop(self.server.wait_for_calls(self.requests + 1).await),
            "wait" => tokio::time::sleep(Duration::from_millis(operation["ms"].as_u64().unwrap())).await,
            other => panic!("an unknown operation {other}"),
        }
        // Everything rests long before; the clock must not move.
        for _ in 0..300 {
            tokio::task::yield_now().await;
        }
        assert_eq!(self.server.left(), (0, 0), "an answer found no request");
        self.observe(&mut out);
        out.into()
    }

    fn add_handler(&mut self, operation: &Value) -> Result<(), &'static str> {
        let name = text(operation, "name");
        let notes = Notes::default();
        let writing = Arc::clone(&notes);
        let mut handler = self.informer.handler().name(name);
        if let Some(period) = operation["resync_ms"].as_u64() {
            handler = handler.resync(Duration::from_millis(period));
        }
        let guard = handler.on_event(move |event| {
            writing.lock().unwrap().entry(event.key().to_string()).or_default().push(note(&event));
        });
        if let Some(Err(informers_shared::Error::Stopped { .. })) =
            guard.synced().into_future().now_or_never()
        {
            return Err("stopped");
        }
        self.handlers.insert(name.to_owned(), guard);
        self.notes.insert(name.to_owned(), notes);
        Ok(())
    }

    fn observe(&mut self, out: &mut Map<String, Value>) {
        let calls = self.server.calls();
        let requests: Vec<_> = calls[self.requests..].iter().map(request).collect();
        self.requests = calls.len();
        let errors = std::mem::take(&mut *self.told.lock().unwrap());
        let heard =
            self.notes.iter().map(|(name, notes)| (name, std::mem::take(&mut *notes.lock().unwrap())));
        let heard: BTreeMap<_, _> = heard.filter(|(_, notes)| !notes.is_empty()).collect();
        for (name, list) in
            [("requests", json!(requests)), ("watch_errors", json!(errors)), ("notifications", json!(heard))]
        {
            if ![json!([]), json!({})].contains(&list) {
                out.insert(name.into(), list);
            }
        }
        let synced = self.handlers.iter().map(|(name, guard)| (name, guard.synced().is_over()));
        let stored = self.informer.store().list();
        let stored = stored.iter().map(|entry| (entry.key().to_string(), version(entry)));
        let status = self.informer.status();
        let read = status.reflectors.first().map(|(_, reflector)| reflector.version.to_string());
        out.insert("has_synced".into(), self.informer.synced().is_over().into());
        out.insert("handlers_synced".into(), json!(synced.collect::<BTreeMap<_, _>>()));
        out.insert("last_sync_rv".into(), read.unwrap_or_default().into());
        out.insert("store".into(), json!(stored.collect::<BTreeMap<_, _>>()));
        out.insert("store_rv".into(), self.informer.store().version().to_string().into());
    }
}

/// Gives the first difference.
async fn replay(path: &Path) -> Result<(), String> {
    let trace = fs::read_to_string(path).unwrap();
    let mut lines = trace.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let header = lines.next().unwrap();
    assert_eq!(header["component"], "shared-informer", "{}", path.display());
    let mut replay = Replay::new(&header["config"]);
    for (line, operation) in (2..).zip(lines) {
        let got = replay.perform(&operation).await;
        let want = &operation["out"];
        if got != *want {
            let place = format!("{}:{line}", path.display());
            return Err(format!("{place}\nheader {header}\noperation {operation}\nwant {want}\ngot  {got}"));
        }
    }
    Ok(())
}

/// What cannot be replayed: transforms that spoil keys, which an entry always has.
fn is_skipped(path: &Path) -> bool {
    let trace = fs::read_to_string(path).unwrap();
    let header: Value = serde_json::from_str(trace.lines().next().unwrap()).unwrap();
    header["config"]["transform"] == "poison"
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn vectors_shared_informer() {
    const NAME: &str = "shared-informer";
    let beside = workspace().join("../shared/oracle/vectors/public").join(NAME);
    // With how many traces are replayed and skipped in these sets.
    let (folder, expected) = match std::env::var_os("INFORMERS_VECTORS") {
        Some(folder) => (PathBuf::from(folder).join(NAME), None),
        None if beside.is_dir() => (beside, Some((120, 0))),
        None => (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(NAME), Some((14, 0))),
    };
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "no traces in {}", folder.display());
    let (skipped, replayed): (Vec<_>, Vec<_>) = paths.iter().partition(|path| is_skipped(path));
    let differences: Vec<_> = replayed
        .iter()
        .filter_map(|path| {
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            runtime.enable_time().start_paused(true).build().unwrap().block_on(replay(path)).err()
        })
        .collect();
    assert!(differences.is_empty(), "{} traces differ\n{}", differences.len(), differences.join("\n"));
    let (replayed, skipped) = (replayed.len(), skipped.len());
    report(&format!("vectors {NAME}: replayed {replayed}, skipped {skipped} of {}", paths.len()));
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

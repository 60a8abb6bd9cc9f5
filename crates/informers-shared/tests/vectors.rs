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

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt};
use informers_core::{
    Change, ChangeKind, Deletion, Entry, Error, ErrorKind, Event, ListParams, ListPart, ListStream,
    ListTrailer, ListWatch, Transform, VersionMatch, WatchEvent, WatchParams, WatchStream,
};
use informers_shared::{HandlerGuard, Parity, QueueKind, ReflectorSettings, SharedInformer};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, oneshot};

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

type Events = mpsc::UnboundedSender<Result<WatchEvent<Object>, Error>>;

enum Answer {
    List(Vec<Entry<Object>>, ListTrailer),
    Watch(mpsc::UnboundedReceiver<Result<WatchEvent<Object>, Error>>),
    Refusal(Error),
}

/// Leaves each request open until the trace answers it.
#[derive(Default)]
struct Server {
    requests: Mutex<Vec<Value>>,
    open: Mutex<Option<oneshot::Sender<Answer>>>,
    asked: Notify,
}

impl Server {
    async fn ask<const N: usize>(&self, fields: [(&str, Value); N]) -> Answer {
        let left_out = [json!(""), json!(0), json!(false)];
        let fields = fields.into_iter().filter(|(_, value)| !left_out.contains(value));
        let request = fields.map(|(name, value)| (name.to_owned(), value)).collect();
        let (answer, answered) = oneshot::channel();
        self.requests.lock().unwrap().push(request);
        *self.open.lock().unwrap() = Some(answer);
        self.asked.notify_one();
        answered.await.expect("an answer, or the end")
    }

    fn answer(&self, answer: Answer) {
        let open = self.open.lock().unwrap().take().expect("an open request");
        assert!(open.send(answer).is_ok(), "the request was given up");
    }
}

#[async_trait]
impl ListWatch<Object> for Server {
    async fn list(&self, params: ListParams) -> Result<ListStream<Object>, Error> {
        let answer = self.ask([
            ("verb", "list".into()),
            ("limit", params.limit.into()),
            ("continue", params.continue_token().unwrap_or_default().into()),
            ("resource_version", params.version().to_string().into()),
            ("resource_version_match", params.version_match().map_or("", VersionMatch::as_str).into()),
        ]);
        match answer.await {
            Answer::List(items, trailer) => {
                let items = items.into_iter().map(Into::into).collect();
                let parts = [ListPart::Items(items), ListPart::Trailer(trailer)];
                Ok(futures_util::stream::iter(parts.map(Ok)).boxed())
            }
            Answer::Refusal(error) => Err(error),
            Answer::Watch(_) => panic!("a watch in answer to a list"),
        }
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<Object>, Error> {
        assert!((300..=600).contains(&params.timeout.as_secs()));
        let answer = self.ask([
            ("verb", "watch".into()),
            ("resource_version", params.version.to_string().into()),
            ("resource_version_match", if params.send_initial_events { "NotOlderThan" } else { "" }.into()),
            ("allow_watch_bookmarks", true.into()),
            ("send_initial_events", params.send_initial_events.into()),
        ]);
        match answer.await {
            Answer::Watch(events) => {
                let events = futures_util::stream::unfold(events, |mut events| async {
                    let event = events.recv().await?;
                    Some((event.map(|event| vec![event]), events))
                });
                Ok(events.boxed())
            }
            Answer::Refusal(error) => Err(error),
            Answer::List(..) => panic!("a list in answer to a watch"),
        }
    }

    fn description(&self) -> String {
        "the script".into()
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn entry(object: &Value) -> Entry<Object> {
    let fail = object["labels"]["fail"] == "true";
    let key = text(object, "key").parse().unwrap();
    Entry::new(key, text(object, "uid").into(), text(object, "rv").into(), Object { fail, seen: 0 })
}

fn event(event: &Value) -> Result<WatchEvent<Object>, Error> {
    let change = |kind| Ok(Change { kind, item: entry(&event["obj"]).into() }.into());
    match text(event, "type") {
        "ADDED" => change(ChangeKind::Added),
        "MODIFIED" => change(ChangeKind::Modified),
        "DELETED" => change(ChangeKind::Deleted),
        "BOOKMARK" => Ok(WatchEvent::Bookmark {
            version: text(event, "rv").into(),
            initial_events_end: event["initial_events_end"] == true,
        }),
        "ERROR" => Err(error(text(event, "error"))),
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
    server: Arc<Server>,
    informer: SharedInformer<Object>,
    told: Arc<Mutex<Vec<String>>>,
    events: Option<Events>,
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
        let server = Arc::<Server>::default();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let hears = Arc::clone(&told);
        let settings = ReflectorSettings::new()
            .streaming_list(config["watch_list"] == true)
            .watch_error_handler(move |error: &Error| {
                let not_taken = error.action().starts_with("put the list");
                let name = if not_taken { "sync-failed" } else { error.message() };
                hears.lock().unwrap().push(name.to_owned());
            });
        let mut builder = SharedInformer::builder(server.clone())
            .queue(queue)
            .resync(Duration::from_millis(config["resync_ms"].as_u64().unwrap()))
            .reflector(settings)
            .parity(Parity::client_go_0_37());
        if let Some(transform) = transform(text(config, "transform")) {
            builder = builder.transform(transform);
        }
        let informer = builder.build();
        Self { server, informer, told, events: None, handlers: BTreeMap::new(), notes: BTreeMap::new() }
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
                let items = operation["items"].as_array().into_iter().flatten().map(entry).collect();
                let trailer =
                    ListTrailer::new(text(operation, "rv").into()).with_continue(text(operation, "continue"));
                self.server.answer(Answer::List(items, trailer));
            }
            "list_error" | "watch_reject" => {
                self.server.answer(Answer::Refusal(error(text(operation, "error"))));
            }
            "watch_accept" => {
                let (events, receiver) = mpsc::unbounded_channel();
                self.events = Some(events);
                self.server.answer(Answer::Watch(receiver));
            }
            "events" => {
                for one in operation["events"].as_array().unwrap() {
                    // Events behind an error find nobody who listens.
                    let _ = self.events.as_ref().expect("a watch").send(event(one));
                }
            }
            "watch_close" => self.events = None,
            "await_request" => self.server.asked.notified().await,
            "wait" => tokio::time::sleep(Duration::from_millis(operation["ms"].as_u64().unwrap())).await,
            other => panic!("an unknown operation {other}"),
        }
        // Everything rests long before; the clock must not move.
        for _ in 0..300 {
            tokio::task::yield_now().await;
        }
        if text(operation, "op") != "await_request" && !self.server.requests.lock().unwrap().is_empty() {
            // The request is accounted for; the next wait is for a later one.
            self.server.asked.notified().await;
        }
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

    fn observe(&self, out: &mut Map<String, Value>) {
        let requests = std::mem::take(&mut *self.server.requests.lock().unwrap());
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

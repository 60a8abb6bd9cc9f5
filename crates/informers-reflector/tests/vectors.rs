//! Replays what the reflectors of client-go's own informers did: their requests, what their error handlers
//! heard, the version they would go on from, and what they kept.
//!
//! The traces are those of whole informers, of which the reflector's part is compared. They come from the
//! folder in `INFORMERS_VECTORS`, else from the workspace's neighbour, else from the few that are committed.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use informers_core::{
    Change, ChangeKind, Entry, Error, ErrorKind, Item, ListParams, ListPart, ListStream, ListTrailer,
    ListWatch, ResourceVersion, Scope, Sink, SinkError, Stage, VersionMatch, WatchEvent, WatchParams,
    WatchStream,
};
use informers_reflector::{Parity, Reflector, StatusWatch};
use serde_json::{Map, Value, json};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

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

enum Answer {
    List(Vec<Entry<bool>>, ListTrailer),
    Watch(mpsc::UnboundedReceiver<Result<WatchEvent<bool>, Error>>),
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
    async fn ask(&self, request: Value) -> Answer {
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

fn without_empty(fields: &[(&str, Value)]) -> Value {
    let is_empty = |value: &Value| *value == json!("") || *value == json!(0) || *value == json!(false);
    let fields = fields.iter().filter(|(_, value)| !is_empty(value));
    Value::Object(fields.map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
}

#[async_trait]
impl ListWatch<bool> for Server {
    async fn list(&self, params: ListParams) -> Result<ListStream<bool>, Error> {
        let request = without_empty(&[
            ("verb", "list".into()),
            ("limit", params.limit.into()),
            ("continue", params.continue_token().unwrap_or_default().into()),
            ("resource_version", params.version().to_string().into()),
            ("resource_version_match", params.version_match().map_or("", VersionMatch::as_str).into()),
        ]);
        match self.ask(request).await {
            Answer::List(items, trailer) => {
                let items = items.into_iter().map(Into::into).collect();
                let parts = [ListPart::Items(items), ListPart::Trailer(trailer)];
                Ok(futures_util::stream::iter(parts.map(Ok)).boxed())
            }
            Answer::Refusal(error) => Err(error),
            Answer::Watch(_) => panic!("a watch in answer to a list"),
        }
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<bool>, Error> {
        assert!((300..=600).contains(&params.timeout.as_secs()));
        let rule = if params.send_initial_events { "NotOlderThan" } else { "" };
        let request = without_empty(&[
            ("verb", "watch".into()),
            ("resource_version", params.version.to_string().into()),
            ("resource_version_match", rule.into()),
            ("allow_watch_bookmarks", true.into()),
            ("send_initial_events", params.send_initial_events.into()),
        ]);
        match self.ask(request).await {
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

type Store = BTreeMap<String, String>;

/// Refuses what client-go's transformer would fail for, if there is one.
fn check(refusing: bool, change: &Change<bool>) -> Result<(), SinkError> {
    match &change.item {
        Item::Decoded(entry) if refusing && **entry => Err(SinkError::refused("the transform fails")),
        _ => Ok(()),
    }
}

#[derive(Clone, Default)]
struct MapSink {
    store: Arc<Mutex<Store>>,
    refusing: bool,
}

fn keep(store: &mut Store, change: &Change<bool>) {
    let key = change.item.key().unwrap().to_string();
    match change.kind {
        ChangeKind::Deleted => store.remove(&key),
        _ => store.insert(key, change.item.version().to_string()),
    };
}

impl Sink<bool> for MapSink {
    fn apply(&mut self, change: Change<bool>) -> Result<(), SinkError> {
        check(self.refusing, &change)?;
        keep(&mut self.store.lock().unwrap(), &change);
        Ok(())
    }

    fn begin(&mut self, _: &Scope) -> Box<dyn Stage<bool> + '_> {
        Box::new(Replacement { target: self, staged: Store::new() })
    }
}

struct Replacement<'a> {
    target: &'a MapSink,
    staged: Store,
}

impl Stage<bool> for Replacement<'_> {
    fn offer(&mut self, change: Change<bool>) -> Result<(), SinkError> {
        check(self.target.refusing, &change)?;
        keep(&mut self.staged, &change);
        Ok(())
    }

    fn commit(self: Box<Self>, _: &ResourceVersion) -> Result<(), SinkError> {
        *self.target.store.lock().unwrap() = self.staged;
        Ok(())
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn entry(object: &Value) -> Entry<bool> {
    let key = text(object, "key").parse().unwrap();
    let fails = object["labels"]["fail"] == "true";
    Entry::new(key, text(object, "uid").into(), text(object, "rv").into(), fails)
}

fn event(event: &Value) -> Result<WatchEvent<bool>, Error> {
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

struct Replay {
    server: Arc<Server>,
    sink: MapSink,
    told: Arc<Mutex<Vec<String>>>,
    cancel: CancellationToken,
    running: Option<(JoinHandle<()>, StatusWatch)>,
    events: Option<mpsc::UnboundedSender<Result<WatchEvent<bool>, Error>>>,
    streaming: bool,
}

impl Replay {
    fn start(&mut self) {
        let told = Arc::clone(&self.told);
        let reflector = Reflector::builder(self.server.clone(), self.sink.clone())
            .streaming_list(self.streaming)
            .parity(Parity::client_go_0_37())
            .watch_error_handler(move |error: &Error| {
                let not_taken = error.action().starts_with("put the list");
                let name = if not_taken { "sync-failed" } else { error.message() };
                told.lock().unwrap().push(name.to_owned());
            })
            .build();
        let status = reflector.status();
        self.running = Some((tokio::spawn(reflector.run(self.cancel.clone())), status));
    }

    async fn perform(&mut self, operation: &Value) {
        match text(operation, "op") {
            "add_handler" | "remove_handler" | "shut_down_handler" => {}
            "start" => self.start(),
            "stop" => {
                self.cancel.cancel();
                if let Some((task, _)) = &mut self.running {
                    task.await.unwrap();
                }
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
        for _ in 0..30 {
            tokio::task::yield_now().await;
        }
        if text(operation, "op") != "await_request" && !self.server.requests.lock().unwrap().is_empty() {
            // The request is accounted for; the next wait is for a later one.
            self.server.asked.notified().await;
        }
    }

    fn observed(&self) -> Value {
        let version = self.running.as_ref().map(|(_, status)| status.current().version.to_string());
        let mut out = json!({
            "last_sync_rv": version.unwrap_or_default(),
            "store": *self.sink.store.lock().unwrap(),
        });
        for (name, list) in [
            ("requests", std::mem::take(&mut *self.server.requests.lock().unwrap())),
            ("watch_errors", self.told.lock().unwrap().drain(..).map(Value::from).collect()),
        ] {
            if !list.is_empty() {
                out[name] = list.into();
            }
        }
        out
    }
}

/// The reflector's part of what was observed; `+N` counts transforms, which it does not know.
fn expected(out: &Value) -> Value {
    let mut expected = Map::new();
    for name in ["requests", "watch_errors", "last_sync_rv", "store"] {
        if let Some(value) = out.get(name) {
            expected.insert(name.to_owned(), value.clone());
        }
    }
    if let Some(store) = expected["store"].as_object_mut() {
        for version in store.values_mut() {
            *version = version.as_str().unwrap().split('+').next().unwrap().into();
        }
    }
    expected.into()
}

/// The traces, and how many of them must have been replayed; none: that set is not ours to count.
fn traces() -> (Vec<PathBuf>, Option<usize>) {
    let crate_folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let public = crate_folder.join("../../../shared/oracle/vectors/public/shared-informer");
    let (folder, count) = match std::env::var_os("INFORMERS_VECTORS") {
        Some(folder) => (PathBuf::from(folder).join("shared-informer"), None),
        None if public.is_dir() => (public, Some(111)),
        None => (crate_folder.join("tests/vectors/shared-informer"), Some(12)),
    };
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    (files, count)
}

#[tokio::test(start_paused = true)]
async fn vectors_of_client_gos_informers_are_replayed() {
    let mut replayed = 0;
    let (files, count) = traces();
    for file in files {
        let trace = std::fs::read_to_string(&file).unwrap();
        let mut lines = trace.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let header = lines.next().unwrap();
        assert_eq!(header["component"], "shared-informer", "{}", file.display());
        let transform = text(&header["config"], "transform");
        let half_replaces = transform == "fail" && header["config"]["queue"] != "real-fifo-atomic";
        if transform == "poison" || half_replaces {
            // Transforms that spoil keys cannot be written here, and this sink replaces whole or not at all.
            continue;
        }
        let mut replay = Replay {
            server: Arc::default(),
            sink: MapSink { refusing: transform == "fail", ..MapSink::default() },
            told: Arc::default(),
            cancel: CancellationToken::new(),
            running: None,
            events: None,
            streaming: header["config"]["watch_list"] == true,
        };
        for (number, operation) in lines.enumerate() {
            replay.perform(&operation).await;
            let line = number + 2;
            assert_eq!(replay.observed(), expected(&operation["out"]), "{} line {line}", file.display());
        }
        replay.cancel.cancel();
        replayed += 1;
    }
    assert!(replayed > 0);
    if let Some(count) = count {
        assert_eq!(replayed, count, "another number of traces than is committed");
    }
}

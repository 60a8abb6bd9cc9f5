//! Events about objects: what comes to the server, and when.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use informers_client::recorder::{EventType, ObjectReference, Occurrence, Options, Recorder};
use informers_client::{BoxError, Client, Config, HttpBody, HttpService};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::server::status;

/// What the server does with a request.
#[derive(Clone, Copy)]
enum Does {
    /// It cannot be reached.
    Nothing,
    /// It answers with this code and reason.
    Refuses(u16, &'static str),
    /// It answers with this code and asks to wait so many seconds.
    Throttles(u16, u32),
    /// It takes the Event, and its answer is lost.
    TakesUnheard,
    /// Something else answers, and all is well.
    Says(&'static str),
}

#[derive(Clone)]
struct Server(Arc<State>);

struct State {
    seen: Mutex<Vec<Seen>>,
    /// What it does with the next requests; then it takes them.
    script: Mutex<VecDeque<Does>>,
    /// Each request takes one.
    gate: Semaphore,
}

#[derive(Clone, Debug)]
struct Seen {
    request: String,
    content_type: String,
    body: Value,
    at: Instant,
}

#[async_trait::async_trait]
impl HttpService for Server {
    async fn send(&self, request: Request<Bytes>) -> Result<Response<HttpBody>, BoxError> {
        self.0.seen.lock().push(Seen {
            request: format!("{} {}", request.method(), request.uri().path()),
            content_type: request.headers()["content-type"].to_str()?.to_owned(),
            body: serde_json::from_slice(request.body())?,
            at: Instant::now(),
        });
        self.0.gate.acquire().await?.forget();
        let does = self.0.script.lock().pop_front();
        match does {
            None => Ok(Response::new(HttpBody::full(r#"{"kind":"Event","apiVersion":"v1"}"#))),
            Some(Does::Says(body)) => Ok(Response::new(HttpBody::full(body))),
            Some(Does::TakesUnheard) => Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset).into()),
            Some(Does::Throttles(code, seconds)) => {
                let body = HttpBody::full(status(code, "", "not now"));
                let response = Response::builder().status(code).header("content-type", "application/json");
                Ok(response.header("retry-after", seconds).body(body)?)
            }
            Some(Does::Nothing) => Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused).into()),
            Some(Does::Refuses(code, reason)) => {
                let body = HttpBody::full(status(code, reason, "no"));
                Ok(Response::builder().status(code).header("content-type", "application/json").body(body)?)
            }
        }
    }
}

impl Server {
    fn new(script: impl IntoIterator<Item = Does>) -> Self {
        let script = Mutex::new(script.into_iter().collect());
        Self(Arc::new(State { seen: Mutex::default(), script, gate: Semaphore::new(1 << 20) }))
    }

    fn recorder(&self, options: Options) -> Recorder {
        let client = Client::over(self.clone(), Config::for_url("http://in-memory").unwrap()).unwrap();
        Recorder::builder(client, "shop-controller").host("node-1").options(options).start().unwrap()
    }

    fn seen(&self) -> Vec<Seen> {
        self.0.seen.lock().clone()
    }

    fn count(&self) -> usize {
        self.0.seen.lock().len()
    }
}

fn pod() -> ObjectReference {
    ObjectReference::new("v1", "Pod", "shop", "cart-0", "u-1").with_resource_version("7")
}

/// Lets the recorder's task go as far as it can without the time going on.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_created_and_patched_when_it_happens_again() {
    let server = Server::new([]);
    let recorder = server.recorder(Options::default());
    let unhealthy =
        Occurrence::new(pod().with_field_path("spec"), EventType::Warning, "Unhealthy", "no answer")
            .with_annotation("example.com/probe", "80");
    recorder.record(unhealthy.clone());
    recorder.record(unhealthy);
    recorder.normal(&ObjectReference::new("v1", "Node", "", "node-1", "u-n"), "Ready", "it is");
    recorder.close().await;
    let [mut created, patched, about_node] = server.seen().try_into().unwrap();
    assert_eq!(created.request, "POST /api/v1/namespaces/shop/events");
    assert_eq!(created.content_type, "application/json");
    let name = created.body["metadata"]["name"].as_str().unwrap().to_owned();
    assert!(name.starts_with("cart-0."), "{name}");
    let first = created.body["firstTimestamp"].take();
    assert!(first.as_str().unwrap().ends_with('Z') && created.body["lastTimestamp"].take() == first);
    assert_eq!(
        created.body,
        json!({
            "apiVersion": "v1", "kind": "Event", "firstTimestamp": null, "lastTimestamp": null,
            "metadata": {
                "name": name, "namespace": "shop", "annotations": { "example.com/probe": "80" },
            },
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "cart-0", "uid": "u-1",
                "resourceVersion": "7", "fieldPath": "spec",
            },
            "type": "Warning", "reason": "Unhealthy", "message": "no answer", "count": 1,
            "source": { "component": "shop-controller", "host": "node-1" },
            "reportingComponent": "shop-controller", "reportingInstance": "node-1",
        })
    );
    assert_eq!(patched.request, format!("PATCH /api/v1/namespaces/shop/events/{name}"));
    assert_eq!(patched.content_type, "application/strategic-merge-patch+json");
    assert_eq!((&patched.body["count"], &patched.body["message"]), (&json!(2), &json!("no answer")));
    assert!(patched.body["lastTimestamp"].is_string() && patched.body.as_object().unwrap().len() == 3);
    assert_eq!(about_node.request, "POST /api/v1/namespaces/default/events");
    assert_eq!(recorder.counts().written, 3);
}

#[tokio::test(start_paused = true)]
async fn an_event_that_is_gone_is_created_anew_with_its_count() {
    let server = Server::new([]);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "no");
    settle().await;
    server.0.script.lock().push_back(Does::Refuses(404, "NotFound"));
    recorder.warning(&pod(), "Failed", "no");
    recorder.close().await;
    let seen = server.seen();
    assert_eq!((seen.len(), seen[2].request.as_str()), (3, "POST /api/v1/namespaces/shop/events"));
    assert_eq!(seen[2].body["count"], 2);
    assert_eq!(seen[2].body["metadata"]["name"], seen[0].body["metadata"]["name"]);
}

#[tokio::test(start_paused = true)]
async fn similar_events_are_combined_and_spam_is_counted() {
    let server = Server::new([]);
    let recorder = server.recorder(Options::default());
    for number in 0..30 {
        recorder.warning(&pod(), "Failed", format!("no {number}"));
    }
    settle().await;
    let messages: Vec<_> = server.seen().iter().map(|seen| seen.body["message"].to_string()).collect();
    assert_eq!(messages.len(), 25);
    assert_eq!(
        messages.iter().filter(|message| message.contains("(combined from similar events)")).count(),
        16
    );
    assert!(server.seen()[10].request.starts_with("PATCH"));
    assert_eq!((recorder.counts().written, recorder.counts().spam), (25, 5));
    tokio::time::advance(Duration::from_secs(300)).await;
    recorder.warning(&pod(), "Failed", "no 30");
    recorder.close().await;
    assert_eq!(server.seen()[25].body["count"], 22, "spam was counted too");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_reached_is_tried_again_and_at_last_given_up() {
    let server = Server::new([Does::Nothing; 14]);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "one");
    recorder.warning(&pod(), "Failed", "two");
    // The time goes on by itself, since nobody has anything to do.
    tokio::time::sleep(Duration::from_secs(600)).await;
    let seen = server.seen();
    let messages: Vec<_> = seen.iter().map(|seen| seen.body["message"].as_str().unwrap()).collect();
    assert_eq!(messages, [vec!["one"; 12], vec!["two"; 3]].concat());
    let gaps: Vec<_> = seen.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs()).collect();
    assert!(gaps[0] <= 10 && gaps[1..11].iter().all(|gap| *gap == 10), "{gaps:?}");
    assert_eq!(gaps[11], 0, "the next one comes at once");
    assert_eq!((recorder.counts().lost, recorder.counts().written), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_the_server_refuses_is_not_tried_again() {
    let refusals = [
        Does::Refuses(409, "AlreadyExists"),
        Does::Refuses(403, "Forbidden"),
        Does::Refuses(422, "Invalid"),
        Does::Refuses(500, "InternalError"),
    ];
    let server = Server::new(refusals);
    let recorder = server.recorder(Options::default());
    for number in 0..5 {
        recorder.warning(&pod(), "Failed", format!("no {number}"));
    }
    recorder.close().await;
    assert_eq!((server.count(), recorder.counts().rejected, recorder.counts().written), (5, 4, 1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_never_waits_and_what_does_not_fit_is_counted() {
    let server = Server::new([]);
    server.0.gate.forget_permits(1 << 20);
    let recorder = server.recorder(Options { queue: 10, burst: 1000, ..Options::default() });
    recorder.warning(&pod(), "Failed", "in the hands of the task");
    settle().await;
    for number in 0..15 {
        recorder.warning(&pod(), "Failed", format!("no {number}"));
    }
    assert_eq!((server.count(), recorder.counts().overflow), (1, 5));
    server.0.gate.add_permits(100);
    recorder.close().await;
    assert_eq!(recorder.counts().written, 11);
    recorder.warning(&pod(), "Failed", "after the end");
    assert_eq!((server.count(), recorder.counts().overflow), (11, 6));
}

#[tokio::test(start_paused = true)]
async fn all_who_close_wait_for_what_was_recorded() {
    let server = Server::new([]);
    server.0.gate.forget_permits(1 << 20);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "one");
    recorder.warning(&pod(), "Failed", "two");
    let waiting = [0, 1].map(|_| {
        let recorder = recorder.clone();
        tokio::spawn(async move {
            recorder.close().await;
            recorder.counts().written
        })
    });
    settle().await;
    assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
    server.0.gate.add_permits(2);
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap(), 2);
    }
    recorder.close().await;
}

#[tokio::test(start_paused = true)]
async fn closing_gives_a_server_that_is_away_one_more_chance_only() {
    let server = Server::new([Does::Nothing; 100]);
    let recorder = server.recorder(Options::default());
    for number in 0..5 {
        recorder.warning(&pod(), "Failed", format!("no {number}"));
    }
    settle().await;
    assert_eq!(server.count(), 1);
    let start = Instant::now();
    recorder.close().await;
    assert_eq!((start.elapsed(), server.count(), recorder.counts().lost), (Duration::ZERO, 2, 5));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_patience_is_tried_again_when_it_says_so() {
    let refusals =
        [Does::Throttles(429, 7), Does::Throttles(503, 40), Does::Refuses(503, "ServiceUnavailable")];
    let server = Server::new(refusals);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "no");
    tokio::time::sleep(Duration::from_secs(600)).await;
    let seen = server.seen();
    let gaps: Vec<_> = seen.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs()).collect();
    assert_eq!((gaps, recorder.counts().written), (vec![7, 40, 10], 1));
    // Twelve times in all, as if it were not reached.
    server.0.script.lock().extend([Does::Throttles(429, 1); 12]);
    recorder.warning(&pod(), "Failed", "no more");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((server.count(), recorder.counts().lost, recorder.counts().rejected), (16, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn closing_does_not_wait_for_what_a_server_asks_to_wait() {
    let server = Server::new([Does::Throttles(429, 300); 1000]);
    let recorder = server.recorder(Options { burst: 1000, ..Options::default() });
    for number in 0..1000 {
        recorder.warning(&pod(), "Failed", format!("no {number}"));
    }
    let start = Instant::now();
    // While the first one waits for its second try, and before it was tried at all.
    settle().await;
    assert_eq!(server.count(), 1);
    recorder.close().await;
    assert_eq!((start.elapsed(), server.count(), recorder.counts().lost), (Duration::ZERO, 2, 1000));
    let other = server.recorder(Options::default());
    other.warning(&pod(), "Failed", "no");
    other.warning(&pod(), "Failed", "never");
    other.close().await;
    assert_eq!((start.elapsed(), server.count(), other.counts().lost), (Duration::ZERO, 3, 2));
}

#[tokio::test(start_paused = true)]
async fn an_event_whose_first_answer_was_lost_is_written_all_the_same() {
    let server = Server::new([Does::TakesUnheard, Does::Refuses(409, "AlreadyExists")]);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "no");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((server.count(), recorder.counts().written, recorder.counts().rejected), (2, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_event_is_none_of_the_servers() {
    let others = [
        Does::Says("<html>log in, please</html>"),
        Does::Says("{}"),
        Does::Says(r#"{"kind":"Status","apiVersion":"v1","status":"Success"}"#),
    ];
    let server = Server::new(others);
    let recorder = server.recorder(Options { tries: 3, ..Options::default() });
    recorder.warning(&pod(), "Failed", "no");
    recorder.warning(&pod(), "Failed", "yes");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!((server.count(), recorder.counts().lost, recorder.counts().written), (4, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_closed_recorder_takes_nothing_while_it_still_writes() {
    let server = Server::new([]);
    server.0.gate.forget_permits(1 << 20);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "before");
    settle().await;
    let closing = tokio::spawn({
        let recorder = recorder.clone();
        async move { recorder.close().await }
    });
    settle().await;
    recorder.warning(&pod(), "Failed", "after");
    assert_eq!(recorder.counts().overflow, 1);
    server.0.gate.add_permits(100);
    closing.await.unwrap();
    assert_eq!((server.count(), recorder.counts().written), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_overflow_is_warned_of_once_a_minute_and_a_close_is_none() {
    let log = Warnings::default();
    // With a single subscriber, tracing asks that of the thread which happens to come first to a log line.
    let _second = tracing::Dispatch::new(Warnings::default());
    let _guard = tracing::subscriber::set_default(log.clone());
    let server = Server::new([]);
    server.0.gate.forget_permits(1 << 20);
    // None is one.
    let recorder = server.recorder(Options { queue: 0, ..Options::default() });
    recorder.warning(&pod(), "Failed", "in the hands of the task");
    settle().await;
    for expected in [1, 1, 2] {
        for _ in 0..10 {
            recorder.warning(&pod(), "Failed", "waits, or does not fit");
        }
        assert_eq!(log.0.load(Ordering::SeqCst), expected);
        tokio::time::advance(Duration::from_secs(30)).await;
    }
    assert_eq!(recorder.counts().overflow, 29);
    server.0.gate.add_permits(100);
    recorder.close().await;
    tokio::time::advance(Duration::from_secs(600)).await;
    recorder.warning(&pod(), "Failed", "after the end");
    assert_eq!((recorder.counts().overflow, log.0.load(Ordering::SeqCst)), (30, 2));
}

#[tokio::test(start_paused = true)]
async fn a_queue_of_any_length_is_possible() {
    let server = Server::new([]);
    let recorder =
        server.recorder(Options { queue: usize::MAX, remembered: usize::MAX, ..Options::default() });
    recorder.warning(&pod(), "Failed", "no");
    recorder.close().await;
    assert_eq!(recorder.counts().written, 1);
}

/// Counts the warnings about recorders.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl tracing::Subscriber for Warnings {
    fn enabled(&self, about: &tracing::Metadata<'_>) -> bool {
        *about.level() == tracing::Level::WARN && about.target().starts_with("informers_client::recorder")
    }

    fn event(&self, _: &tracing::Event<'_>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_away_long_ago_has_its_chance_when_the_recorder_closes() {
    let server = Server::new([Does::Nothing; 12]);
    let recorder = server.recorder(Options::default());
    recorder.warning(&pod(), "Failed", "one");
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(recorder.counts().lost, 1);
    recorder.warning(&pod(), "Failed", "two");
    recorder.close().await;
    assert_eq!((server.count(), recorder.counts().written), (13, 1));
}

#[tokio::test(start_paused = true)]
async fn the_task_ends_with_the_last_recorder() {
    let server = Server::new([]);
    let recorder = server.recorder(Options::default());
    recorder.clone().warning(&pod(), "Failed", "no");
    assert_eq!(Arc::strong_count(&server.0), 2);
    drop(recorder);
    settle().await;
    assert_eq!((server.count(), Arc::strong_count(&server.0)), (1, 1), "it wrote what it had");
}

#[test]
fn without_a_runtime_there_is_an_error() {
    let client = Client::over(Server::new([]), Config::for_url("http://in-memory").unwrap()).unwrap();
    let error = Recorder::start(client, "x").unwrap_err();
    assert_eq!(
        error.to_string(),
        "event recorder: must be started within a Tokio runtime: its task needs one"
    );
}

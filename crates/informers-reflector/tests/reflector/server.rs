//! A list-watch that answers from a script, and writes down what it was asked.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use informers_core::{
    Change, DecodeError, DecodeErrorKind, Entry, Error, ErrorKind, Item, ListParams, ListPart, ListStream,
    ListTrailer, ListWatch, ObjectKey, Undecodable, VersionMatch, WatchEvent, WatchParams, WatchStream,
};
use tokio::sync::Notify;
use tokio::time::Instant;

pub fn entry(name: &str, version: u64) -> Entry<()> {
    Entry::new(ObjectKey::new("ns", name), format!("uid-{name}").into(), version.into(), ())
}

pub fn undecodable(name: Option<&str>, version: u64) -> Item<()> {
    let bad = Undecodable::new(DecodeError::new(DecodeErrorKind::Malformed).with_path("spec"));
    Item::Undecodable(match name {
        Some(name) => {
            bad.with_identity(ObjectKey::new("ns", name), format!("uid-{name}").into(), version.into())
        }
        None => bad.with_version(version.into()),
    })
}

pub fn error(kind: ErrorKind) -> Error {
    Error::new(kind, "ask for things")
}

/// An answer to one request, or several.
#[derive(Clone)]
pub enum Answer {
    List(List),
    Watch(Vec<Frame>),
    Stream(Vec<Frame>),
    /// To a request of any sort.
    Refuse(Error),
    /// Never answers.
    Hang,
}

#[derive(Clone)]
pub struct List {
    version: u64,
    items: Vec<Item<()>>,
    token: String,
    error: Option<Error>,
}

#[derive(Clone)]
pub enum Frame {
    Events(Vec<WatchEvent<()>>),
    Sleep(u64),
    Error(Error),
    /// The stream stays open and silent.
    Hole,
}

pub fn list<'a>(version: u64, items: impl IntoIterator<Item = (&'a str, u64)>) -> Answer {
    list_of(version, items.into_iter().map(|(name, version)| entry(name, version).into()))
}

pub fn list_of(version: u64, items: impl IntoIterator<Item = Item<()>>) -> Answer {
    Answer::List(List { version, items: items.into_iter().collect(), token: String::new(), error: None })
}

pub fn page<'a>(version: u64, items: impl IntoIterator<Item = (&'a str, u64)>, token: &str) -> Answer {
    match list(version, items) {
        Answer::List(list) => Answer::List(List { token: token.into(), ..list }),
        other => other,
    }
}

/// Some items, then an error instead of the end.
pub fn cut_list<'a>(items: impl IntoIterator<Item = (&'a str, u64)>, error: Error) -> Answer {
    match list(1, items) {
        Answer::List(list) => Answer::List(List { error: Some(error), ..list }),
        other => other,
    }
}

pub fn watch(frames: impl IntoIterator<Item = Frame>) -> Answer {
    Answer::Watch(frames.into_iter().collect())
}

pub fn stream(frames: impl IntoIterator<Item = Frame>) -> Answer {
    Answer::Stream(frames.into_iter().collect())
}

pub fn refuse(kind: ErrorKind) -> Answer {
    Answer::Refuse(error(kind))
}

pub fn added(name: &str, version: u64) -> Frame {
    Frame::Events(vec![Change::added(entry(name, version)).into()])
}

pub fn modified(name: &str, version: u64) -> Frame {
    Frame::Events(vec![Change::modified(entry(name, version)).into()])
}

pub fn deleted(name: &str, version: u64) -> Frame {
    Frame::Events(vec![Change::deleted(entry(name, version)).into()])
}

pub fn bookmark(version: u64) -> Frame {
    Frame::Events(vec![WatchEvent::Bookmark { version: version.into(), initial_events_end: false }])
}

/// The mark that ends the initial events.
pub fn mark(version: u64) -> Frame {
    Frame::Events(vec![WatchEvent::Bookmark { version: version.into(), initial_events_end: true }])
}

pub fn unknown(version: u64) -> Frame {
    Frame::Events(vec![WatchEvent::Unknown { event_type: "PROGRESS".into(), version: version.into() }])
}

pub fn fails(kind: ErrorKind) -> Frame {
    Frame::Error(error(kind))
}

/// What was asked and when, counted from the server's start.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    pub at: Duration,
    pub what: String,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1}s {}", self.at.as_secs_f64(), self.what)
    }
}

pub struct Server {
    start: Instant,
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    wrong: Mutex<Vec<String>>,
    changed: Notify,
    pub streaming: bool,
    pub timeouts: Mutex<Vec<Duration>>,
    /// One more than there are watches that nobody has dropped.
    open: Arc<()>,
}

impl Server {
    pub fn new(answers: impl IntoIterator<Item = Answer>) -> Arc<Self> {
        Arc::new(Self {
            start: Instant::now(),
            answers: Mutex::new(answers.into_iter().collect()),
            requests: Mutex::default(),
            wrong: Mutex::default(),
            changed: Notify::new(),
            streaming: true,
            timeouts: Mutex::default(),
            open: Arc::default(),
        })
    }

    pub fn requests(&self) -> Vec<Request> {
        let wrong = self.wrong.lock().unwrap();
        assert!(wrong.is_empty(), "the script has another answer there: {wrong:?}");
        self.requests.lock().unwrap().clone()
    }

    pub fn asked(&self) -> Vec<String> {
        self.requests().into_iter().map(|request| request.what).collect()
    }

    /// How many watches are open.
    pub fn open_watches(&self) -> usize {
        Arc::strong_count(&self.open) - 1
    }

    /// The times between the requests, in seconds.
    pub fn gaps(&self) -> Vec<f64> {
        self.requests().windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64()).collect()
    }

    /// Waits for this many requests.
    pub async fn reached(&self, requests: usize) {
        loop {
            let changed = self.changed.notified();
            if self.requests().len() >= requests {
                return;
            }
            changed.await;
        }
    }

    /// The answer to a request; none if the script is over.
    fn next(&self, what: String) -> Answer {
        let at = self.start.elapsed();
        self.requests.lock().unwrap().push(Request { at, what });
        self.changed.notify_waiters();
        self.answers.lock().unwrap().pop_front().unwrap_or(Answer::Hang)
    }

    fn wrong(&self, what: &str) {
        let at = self.requests.lock().unwrap().len();
        self.wrong.lock().unwrap().push(format!("request {at}: {what}"));
    }
}

fn play(frames: Vec<Frame>, open: Arc<()>) -> WatchStream<()> {
    let frames = futures_util::stream::unfold((frames.into_iter(), open), |(mut frames, open)| async move {
        loop {
            match frames.next()? {
                Frame::Events(events) => return Some((Ok(events), (frames, open))),
                Frame::Sleep(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                // It stays open after its error; whoever reads it has to close it.
                Frame::Error(error) => return Some((Err(error), (vec![Frame::Hole].into_iter(), open))),
                Frame::Hole => std::future::pending().await,
            }
        }
    });
    frames.boxed()
}

#[async_trait]
impl ListWatch<()> for Server {
    async fn list(&self, params: ListParams) -> Result<ListStream<()>, Error> {
        let mut what = format!("list {}", params.version());
        if let Some(token) = params.continue_token() {
            what = format!("list continue={token}");
        }
        if params.limit > 0 {
            what += &format!(" limit={}", params.limit);
        }
        if let Some(rule) = params.version_match() {
            what += &format!(" {}", VersionMatch::as_str(rule));
        }
        match self.next(what) {
            Answer::List(List { version, items, token, error }) => {
                let last = match error {
                    Some(error) => Err(error),
                    None => Ok(ListPart::Trailer(ListTrailer::new(version.into()).with_continue(token))),
                };
                let parts: Vec<_> =
                    items.chunks(2).map(|batch| Ok(ListPart::Items(batch.to_vec()))).collect();
                Ok(futures_util::stream::iter(parts.into_iter().chain([last])).boxed())
            }
            Answer::Refuse(error) => Err(error),
            Answer::Hang => std::future::pending().await,
            Answer::Watch(_) | Answer::Stream(_) => {
                self.wrong("a list");
                std::future::pending().await
            }
        }
    }

    async fn watch(&self, params: WatchParams) -> Result<WatchStream<()>, Error> {
        let verb = if params.send_initial_events { "stream" } else { "watch" };
        self.timeouts.lock().unwrap().push(params.timeout);
        match self.next(format!("{verb} {}", params.version)) {
            Answer::Watch(frames) if !params.send_initial_events => Ok(play(frames, Arc::clone(&self.open))),
            Answer::Stream(frames) if params.send_initial_events => Ok(play(frames, Arc::clone(&self.open))),
            Answer::Refuse(error) => Err(error),
            Answer::Hang => std::future::pending().await,
            _ => {
                self.wrong(verb);
                std::future::pending().await
            }
        }
    }

    fn supports_streaming_list(&self) -> bool {
        self.streaming
    }

    fn description(&self) -> String {
        "things".into()
    }
}

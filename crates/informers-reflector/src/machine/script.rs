//! Scripts for the machine: what happens, and after `>` what it decides.
//!
//! | line | meaning |
//! |---|---|
//! | `opened` | the server accepted the watch or the streaming list |
//! | `added 5`, `modified 5`, `deleted 5`, `bookmark 5`, `mark 5`, `unknown 5` | an event of that version |
//! | `page 10`, `page 10 more` | a page that was read; there are more |
//! | `end` | the stream ended in good order |
//! | `error Expired` | the request or the stream failed like this |
//! | `refused` | the sink did not take the list |
//! | `after 2s` | time passes |
//! | `deadline` | time passes until the machine's own limit, or until its pause is over |

use std::time::{Duration, Instant};

use informers_core::{Error, ErrorKind, ListTrailer};

use super::{
    AfterPage, Denied, EventKind, Initial, Listing, Memory, Next, Notice, Opening, PageFailure, Rules,
    Streaming, Then, Waiting, Watching,
};
use crate::Backoff;

enum State {
    Next(Next),
    Streaming(Streaming),
    Watching(Watching),
}

pub(super) struct Machine {
    memory: Memory,
    state: State,
    now: Instant,
}

/// Plays the script and compares all that it says.
pub(super) fn check(rules: Rules, script: &str) {
    let backoff = Backoff { jitter: 0.0, ..Backoff::default() };
    let now = Instant::now();
    let mut memory = Memory::new(rules, backoff, fastrand::Rng::with_seed(1));
    let state = State::Next(memory.start(now));
    let mut machine = Machine { memory, state, now };
    let mut played = vec![format!("> {}", machine.describe())];
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    for line in lines.clone().filter(|line| !line.starts_with('>')) {
        played.push(line.to_owned());
        machine.input(line);
        for notice in machine.memory.take_notices() {
            if let Notice::Failed(error) = notice {
                played.push(format!("> tell {:?}", error.kind()));
            }
        }
        played.push(format!("> {}", machine.describe()));
    }
    let expected: Vec<_> = lines.collect();
    // An unchanged description need not be repeated.
    let played = thin_out(played, &expected);
    assert_eq!(played, expected, "\n{}\n", played.join("\n"));
}

/// Leaves out what the script does not mention after an input: that nothing changed.
fn thin_out(played: Vec<String>, expected: &[&str]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    let mut last_description = String::new();
    for line in played {
        let is_description = line.starts_with('>') && !line.starts_with("> tell");
        let mentioned = expected.get(kept.len()).is_some_and(|expected| *expected == line);
        if is_description && line == last_description && !mentioned {
            continue;
        }
        if is_description {
            last_description.clone_from(&line);
        }
        kept.push(line);
    }
    kept
}

fn kind(name: &str) -> ErrorKind {
    let kinds = [
        ErrorKind::Expired,
        ErrorKind::Gone,
        ErrorKind::TooLargeResourceVersion,
        ErrorKind::NotFound,
        ErrorKind::Unauthorized,
        ErrorKind::Forbidden,
        ErrorKind::Invalid,
        ErrorKind::TooManyRequests,
        ErrorKind::Timeout,
        ErrorKind::Internal,
        ErrorKind::Unavailable,
        ErrorKind::ConnectionRefused,
        ErrorKind::ConnectionLost,
        ErrorKind::Other,
    ];
    kinds.into_iter().find(|kind| format!("{kind:?}") == name).unwrap_or_else(|| panic!("no kind {name}"))
}

impl Machine {
    fn input(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (memory, now) = (&mut self.memory, self.now);
        let state = std::mem::replace(&mut self.state, State::Next(Next::Wait(nothing(now))));
        self.state = match (word, state) {
            ("after", state) => {
                let seconds: f64 = rest.trim_end_matches('s').parse().unwrap();
                self.now += Duration::from_secs_f64(seconds);
                state
            }
            ("deadline", state) => {
                let (deadline, next) = pass_deadline(state, memory);
                self.now = deadline;
                State::Next(next(memory, deadline))
            }
            ("opened", State::Next(Next::Stream(mut streaming))) => {
                streaming.opened();
                State::Streaming(streaming)
            }
            ("opened", State::Next(Next::Open(opening))) => State::Watching(opening.opened(now)),
            ("mark", State::Streaming(streaming)) => match streaming.completed(memory, &rest.into(), now) {
                Initial::Complete(streaming) => State::Watching(streaming.taken(memory, rest.into(), now)),
                Initial::Dropped(next) => State::Next(next),
            },
            ("refused", State::Streaming(streaming)) => {
                State::Next(streaming.refused(memory, error(ErrorKind::Other), now))
            }
            ("end", State::Streaming(streaming)) => State::Next(streaming.ended(memory, now)),
            ("end", State::Watching(watching)) => State::Next(watching.ended(memory, now)),
            ("error", state) => State::Next(failed(state, memory, error(kind(rest)), now)),
            ("page", State::Next(Next::List(listing))) => State::Next(page(listing, memory, rest, now)),
            (event, State::Streaming(mut streaming)) => {
                streaming.event(memory, event_kind(event), now);
                State::Streaming(streaming)
            }
            (event, State::Watching(mut watching)) => {
                watching.event(memory, event_kind(event), &rest.into(), now);
                State::Watching(watching)
            }
            (word, _) => panic!("{word} cannot happen here"),
        };
    }

    fn describe(&self) -> String {
        match &self.state {
            State::Next(Next::Stream(streaming)) => format!("stream {}", streaming.params().version),
            State::Next(Next::List(listing)) => {
                let request = listing.request();
                let rule = request.version_match().map_or("", |rule| rule.as_str());
                let text = match request.continue_token() {
                    Some(token) => format!("list {token} limit={} {rule}", request.limit),
                    None => format!("list {} limit={} {rule}", request.version(), request.limit),
                };
                text.trim_end().to_owned()
            }
            State::Next(Next::Open(opening)) => format!("open {}", opening.params().version),
            State::Next(Next::Wait(waiting)) => self.describe_wait(waiting),
            State::Next(Next::Empty(waiting)) => format!("empty, {}", self.describe_wait(waiting)),
            State::Streaming(_) => "streaming".to_owned(),
            State::Watching(_) => format!("watching, at {}", self.memory.version),
        }
        .trim_end()
        .to_owned()
    }

    fn describe_wait(&self, waiting: &Waiting) -> String {
        let then = match waiting.then {
            Then::Sync => "list",
            Then::Watch => "watch",
        };
        match waiting.denied {
            Some(Denied::Forbidden) => format!("forbidden, then {then}"),
            Some(Denied::Gone) => format!("gone, then {then}"),
            None => format!("wait {:?}, then {then}", waiting.until - self.now),
        }
    }
}

fn error(kind: ErrorKind) -> Error {
    Error::new(kind, "ask the script")
}

fn nothing(now: Instant) -> Waiting {
    Waiting { until: now, reason: Some(error(ErrorKind::Other)), denied: None, then: Then::Sync }
}

fn event_kind(word: &str) -> EventKind {
    match word {
        "added" => EventKind::Added,
        "modified" => EventKind::Modified,
        "deleted" => EventKind::Deleted,
        "bookmark" => EventKind::Bookmark,
        "unknown" => EventKind::Unknown,
        other => panic!("{other} is no event"),
    }
}

fn page(listing: Listing, memory: &mut Memory, rest: &str, now: Instant) -> Next {
    let (version, more) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut trailer = ListTrailer::new(version.into());
    if more == "more" {
        trailer = trailer.with_continue("token");
    }
    match listing.page_ended(memory, &trailer, now) {
        AfterPage::NextPage(listing) => Next::List(listing),
        AfterPage::Complete(list) => list.taken(memory, now),
        AfterPage::Dropped(next) => next,
    }
}

fn failed(state: State, memory: &mut Memory, error: Error, now: Instant) -> Next {
    match state {
        State::Next(Next::Stream(streaming)) | State::Streaming(streaming) => {
            streaming.failed(memory, error, now)
        }
        State::Next(Next::Open(opening)) => opening.failed(memory, error, now),
        State::Watching(watching) => watching.failed(memory, error, now),
        State::Next(Next::List(listing)) => match listing.failed(memory, error, true, now) {
            PageFailure::SamePage(listing, _) => Next::List(listing),
            PageFailure::Dropped(next) => next,
        },
        State::Next(_) => panic!("nothing was asked"),
    }
}

type Passed = Box<dyn FnOnce(&mut Memory, Instant) -> Next>;

/// The limit of the state, and what follows when it is passed.
fn pass_deadline(state: State, memory: &Memory) -> (Instant, Passed) {
    let timeout = error(ErrorKind::Timeout);
    let limit = |deadline: Option<Instant>| deadline.expect("there is no limit here");
    match state {
        State::Next(Next::Wait(waiting) | Next::Empty(waiting)) => {
            (waiting.until, Box::new(move |memory, now| waiting.over(memory, now)))
        }
        State::Next(Next::Stream(streaming)) | State::Streaming(streaming) => {
            (limit(streaming.deadline(memory)), Box::new(move |memory, now| streaming.given_up(memory, now)))
        }
        State::Next(Next::Open(opening)) => {
            let deadline = limit(Opening::deadline(&opening, memory));
            (deadline, Box::new(move |memory, now| opening.failed(memory, timeout, now)))
        }
        State::Watching(watching) => {
            let deadline = limit(Watching::deadline(&watching, memory));
            (deadline, Box::new(move |memory, now| watching.failed(memory, timeout, now)))
        }
        State::Next(Next::List(listing)) => {
            let deadline = limit(listing.deadline(memory));
            (
                deadline,
                Box::new(move |memory, now| failed(State::Next(Next::List(listing)), memory, timeout, now)),
            )
        }
    }
}

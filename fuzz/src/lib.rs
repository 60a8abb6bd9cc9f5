//! What must hold for any bytes. Each function panics if it does not.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use informers_client::{ClusterSettings, Config, Credentials, Kubeconfig, Overrides};
use informers_core::{Error, ErrorKind, ListParams, ListTrailer};
use informers_pager::{Advance, Pager, Recovery};
use informers_wire::{
    ListSplitter, RetryAfter, Status, StreamEnd, Warning, WatchFrame, WatchFramer, protobuf,
    retry_after as wait_of,
};

/// Small, so that objects that are too large come up.
const MAX_SIZE: usize = 512;

/// The size of pieces that the first byte stands for, and the rest.
fn pieces(data: &[u8]) -> (usize, &[u8]) {
    match data {
        [] => (1, data),
        [first, rest @ ..] => (usize::from(*first).max(1), rest),
    }
}

/// What a list gives does not depend on how its bytes arrive.
pub fn list_splitter(data: &[u8]) {
    let (size, body) = pieces(data);
    let whole = split_list(body, body.len().max(1));
    assert_eq!(split_list(body, size), whole, "in pieces of {size} bytes");
    let items = whole.iter().filter(|item| item.starts_with("item")).count();
    assert!(items <= body.len());
}

fn split_list(body: &[u8], size: usize) -> Vec<String> {
    let mut splitter = ListSplitter::new().with_max_item_size(MAX_SIZE);
    let mut seen = Vec::new();
    for piece in body.chunks(size) {
        splitter.push(Bytes::copy_from_slice(piece));
        loop {
            match splitter.next_item() {
                Ok(Some(item)) => {
                    assert!(item.len() <= MAX_SIZE);
                    seen.push(format!("item {item:?}"));
                }
                Ok(None) => break,
                Err(informers_wire::Error::TooLarge(_)) => seen.push("too large".to_owned()),
                Err(error) => {
                    seen.push(format!("error {}", kind(&error)));
                    return seen;
                }
            }
        }
    }
    seen.push(match splitter.finish() {
        Ok(trailer) => format!("{trailer:?}"),
        Err(error) => format!("error {}", kind(&error)),
    });
    seen
}

/// Which error it is; places and texts may depend on how the bytes arrived.
fn kind(error: &informers_wire::Error) -> String {
    let text = format!("{error:?}");
    text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}

/// What a watch gives depends neither on how its bytes arrive nor on whether frames are read in one step or two.
pub fn watch_framer(data: &[u8]) {
    let (size, body) = pieces(data);
    let in_two_steps: NextEvent = |framer| match framer.next_frame()? {
        Some(frame) => {
            assert!(frame.len() <= MAX_SIZE);
            WatchFrame::parse(&frame).map(Some)
        }
        None => Ok(None),
    };
    let whole = events(body, body.len().max(1), in_two_steps);
    assert_eq!(events(body, size, in_two_steps), whole, "in pieces of {size} bytes");
    assert_eq!(events(body, size, WatchFramer::next_event), whole, "in one step, in pieces of {size} bytes");
}

type NextEvent = fn(&mut WatchFramer) -> Result<Option<WatchFrame>, informers_wire::Error>;

fn events(body: &[u8], size: usize, next: NextEvent) -> (Vec<String>, bool) {
    let mut framer = WatchFramer::new().with_max_frame_size(MAX_SIZE);
    let mut seen = Vec::new();
    for piece in body.chunks(size) {
        framer.push(Bytes::copy_from_slice(piece));
        loop {
            match next(&mut framer) {
                Ok(Some(event)) => seen.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => {
                    seen.push(kind(&error));
                    if error.is_fatal() {
                        return (seen, false);
                    }
                }
            }
        }
    }
    (seen, framer.finish() == StreamEnd::Clean)
}

/// As [`list_splitter`], of a list in protobuf.
pub fn protobuf_list(data: &[u8]) {
    let (size, body) = pieces(data);
    let whole = split_protobuf(body, body.len().max(1));
    assert_eq!(split_protobuf(body, size), whole, "in pieces of {size} bytes");
    let status = Status::from_body(500, Some("application/vnd.kubernetes.protobuf"), body);
    assert_ne!(status.status, "Success");
    if let Ok(object) = protobuf::object(&Bytes::copy_from_slice(body)) {
        assert!(object.len() < body.len());
    }
}

fn split_protobuf(body: &[u8], size: usize) -> Vec<String> {
    let mut splitter = protobuf::ListSplitter::new().with_max_item_size(MAX_SIZE);
    let mut seen = Vec::new();
    for piece in body.chunks(size) {
        splitter.push(Bytes::copy_from_slice(piece));
        loop {
            match splitter.next_item() {
                Ok(Some(item)) => {
                    assert!(item.len() <= MAX_SIZE);
                    seen.push(format!("item {item:?}, {:?}", protobuf::peek_identity(&item)));
                }
                Ok(None) => break,
                Err(informers_wire::Error::TooLarge(item)) => {
                    assert!(item.size > MAX_SIZE as u64);
                    seen.push(format!("too large: {:?}", item.identity));
                }
                Err(error) => {
                    seen.push(format!("error {}", kind(&error)));
                    return seen;
                }
            }
        }
    }
    seen.push(match splitter.finish() {
        Ok(trailer) => format!("{trailer:?}"),
        Err(error) => format!("error {}", kind(&error)),
    });
    seen
}

/// What a watch in protobuf gives does not depend on how its bytes arrive.
pub fn protobuf_watch(data: &[u8]) {
    let (size, body) = pieces(data);
    let whole = protobuf_events(body, body.len().max(1));
    assert_eq!(protobuf_events(body, size), whole, "in pieces of {size} bytes");
}

fn protobuf_events(body: &[u8], size: usize) -> (Vec<String>, StreamEnd) {
    let mut framer = protobuf::WatchFramer::new().with_max_frame_size(MAX_SIZE);
    let mut seen = Vec::new();
    for piece in body.chunks(size) {
        framer.push(Bytes::copy_from_slice(piece));
        loop {
            match framer.next_event() {
                Ok(Some(event)) => seen.push(format!("{event:?}")),
                Ok(None) => break,
                Err(error) => {
                    seen.push(kind(&error));
                    if error.is_fatal() {
                        return (seen, framer.finish());
                    }
                }
            }
        }
    }
    (seen, framer.finish())
}

/// A kubeconfig is read, or refused with an error that names the file.
pub fn kubeconfig(data: &[u8]) {
    // Relative paths lead nowhere.
    let path = PathBuf::from("/nowhere/kubeconfig");
    let kubeconfig = match Kubeconfig::from_bytes(data, &path) {
        Ok(kubeconfig) => kubeconfig,
        Err(error) => return assert!(error.to_string().contains("/nowhere/kubeconfig"), "{error}"),
    };
    let mut contexts: Vec<Option<String>> = kubeconfig.context_names().into_iter().map(Some).collect();
    contexts.truncate(16);
    contexts.push(None);
    for context in contexts {
        if let Ok(config) = Config::from_kubeconfig(&kubeconfig, context.as_deref()) {
            // Shown whole, with whatever odd text it has.
            let _ = format!("{config:?} {kubeconfig:?}");
        }
        // What a program says holds, whatever the file says.
        let cluster = ClusterSettings::new().with_server("https://here:6443").with_ca_pem("pem");
        let overrides = Overrides::new()
            .with_context(context.unwrap_or_default())
            .with_namespace("there")
            .with_credentials(Credentials::Token("t".into()))
            .with_cluster_settings(cluster);
        if let Ok(config) = Config::from_kubeconfig_with(&kubeconfig, &overrides) {
            assert_eq!((config.server().host(), config.namespace()), (Some("here"), "there"));
            assert_eq!(config.credentials(), &Credentials::Token("t".into()));
        }
    }
}

/// A hint to wait is never longer than the cap, whatever it says.
pub fn retry_after(data: &[u8]) {
    const CAP: Duration = Duration::from_secs(300);
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let text = String::from_utf8_lossy(data);
    let status = Status::from_body(429, Some("application/json"), data);
    for (header, status) in [(Some(&*text), None), (None, Some(&status)), (Some(&*text), Some(&status))] {
        let wait = wait_of(header, status, now, CAP);
        assert!(wait.is_none_or(|wait| wait <= CAP), "{wait:?}");
    }
    if let Some(hint) = RetryAfter::parse(&text) {
        assert!(hint.delay(now, CAP) <= CAP);
    }
}

/// Any header gives some warnings, none larger than the header.
pub fn warning_header(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    for warning in Warning::parse_header(&text) {
        assert!(warning.code <= 999, "{warning:?}");
        // An encoded word may take a byte to a character of three.
        assert!(warning.text.len() <= text.len() * 3, "{warning:?}");
    }
}

/// A walk through pages ends when tokens do, asks for no version with a token, and starts anew only once.
///
/// Each byte is an answer: a page with a token, a last page, or an error.
pub fn continue_loop(data: &[u8]) {
    let first = ListParams::first("5".into()).with_limit(10);
    let mut walk = Pager::new().walk(first.clone());
    let mut restarts = 0;
    let mut asked = HashSet::new();
    for (number, answer) in data.iter().enumerate() {
        let request = walk.request().clone();
        if request.continue_token().is_some() {
            assert!(request.version().is_empty() && request.version_match().is_none(), "{request:?}");
            assert!(
                asked.insert(request.continue_token().map(str::to_owned)),
                "{request:?} was asked for before"
            );
        } else {
            assert_eq!(request.version(), first.version());
        }
        let trailer = ListTrailer::new("7".into());
        walk = match answer {
            0..=127 => match walk.page_ended(&trailer.with_continue(format!("token-{number}"))) {
                Advance::NextPage(walk) => walk,
                Advance::Complete(list) => return assert!(restarts == 1 && list.pages == 1, "{list:?}"),
            },
            128..=191 => {
                let Advance::Complete(list) = walk.page_ended(&trailer) else {
                    panic!("the token was the last")
                };
                return assert!(list.pages as usize <= number + 1, "{list:?}");
            }
            _ => {
                let kind = if *answer < 224 { ErrorKind::Expired } else { ErrorKind::Internal };
                match walk.failed(&Error::new(kind, "list pods")) {
                    Recovery::FullList(walk) => {
                        restarts += 1;
                        assert_eq!((restarts, walk.request().limit, kind), (1, 0, ErrorKind::Expired));
                        walk
                    }
                    Recovery::Failed { .. } => return,
                }
            }
        };
    }
}

//! One frame of a watch: its type and its raw object.

use bytes::Bytes;

use super::envelope::Envelope;
use super::fields::{Fields, Value, text};
use super::identity::{is_annotated, peek_identity};
use super::status;
use crate::object::excerpt;
use crate::{Error, FrameProblem, Identity, MalformedFrame, Status, WatchFrame};

/// The parts of a frame, as far as they are there.
struct Event<'a> {
    event_type: String,
    object: Option<Envelope<'a>>,
    is_whole: bool,
}

impl<'a> Event<'a> {
    fn read(frame: &'a [u8]) -> Self {
        let mut event = Self { event_type: String::new(), object: None, is_whole: true };
        let mut fields = Fields::of(frame);
        for field in fields.by_ref() {
            match field {
                (1, Value::Bytes(event_type)) => event.event_type = text(event_type),
                // An object lies in its envelope, and that in a message of one field.
                (2, Value::Bytes(extension)) => {
                    event.object = Fields::first_bytes(extension, 1).and_then(Envelope::read);
                }
                _ => {}
            }
        }
        event.is_whole = fields.is_whole() && event.object.as_ref().is_none_or(|object| object.is_whole);
        event
    }

    fn raw(&self) -> Option<&'a [u8]> {
        self.object.as_ref()?.raw
    }

    fn named_type(self) -> Option<String> {
        Some(self.event_type).filter(|event_type| !event_type.is_empty())
    }
}

/// Reads a whole frame.
pub(super) fn parse(frame: &Bytes) -> Result<WatchFrame, Error> {
    let event = Event::read(frame);
    if !event.is_whole {
        return Err(malformed(frame, FrameProblem::NotProtobuf));
    }
    let version = |raw| {
        let version = peek_identity(raw).resource_version?;
        (!version.is_empty()).then(|| version.into_owned())
    };
    match (event.event_type.as_str(), event.raw()) {
        ("ADDED", Some(raw)) => Ok(WatchFrame::Added(frame.slice_ref(raw))),
        ("MODIFIED", Some(raw)) => Ok(WatchFrame::Modified(frame.slice_ref(raw))),
        ("DELETED", Some(raw)) => Ok(WatchFrame::Deleted(frame.slice_ref(raw))),
        ("BOOKMARK", Some(raw)) => {
            let version = version(raw).ok_or_else(|| malformed(frame, FrameProblem::NoVersion))?;
            let initial_events_end = is_annotated(raw, "k8s.io/initial-events-end");
            Ok(WatchFrame::Bookmark { version, initial_events_end })
        }
        ("ERROR", raw) => {
            let is_status = event.object.as_ref().is_some_and(|object| object.kind == "Status");
            let status = raw.filter(|_| is_status).map(status::read);
            Ok(WatchFrame::Error(Box::new(status.unwrap_or_else(|| {
                let message = format!("the watch reported an error that is no Status: {}", excerpt(frame));
                Status::new(500, "InternalError", message)
            }))))
        }
        ("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK", None) => {
            Err(malformed(frame, FrameProblem::NoObject))
        }
        ("", _) => Err(malformed(frame, FrameProblem::NoType)),
        (_, raw) => {
            let version = raw.and_then(version);
            Ok(WatchFrame::Unknown { event_type: event.event_type, version })
        }
    }
}

/// What can be told of a frame from its beginning.
pub(super) fn peek_frame(frame: &[u8]) -> (Option<String>, Identity<'static>) {
    let event = Event::read(frame);
    let identity = peek_identity(event.raw().unwrap_or_default()).into_owned();
    (event.named_type(), identity)
}

fn malformed(frame: &[u8], problem: FrameProblem) -> Error {
    let (event_type, identity) = peek_frame(frame);
    let excerpt = excerpt(frame);
    Error::MalformedFrame(Box::new(MalformedFrame { problem, event_type, identity, excerpt }))
}

//! One frame of a watch: its type and its raw object.

use std::borrow::Cow;
use std::ops::Range;

use bytes::Bytes;
use serde::Deserialize;

use crate::identity::peek_identity_at;
use crate::object::{FieldWalker, Step, excerpt, key_is, string};
use crate::{Error, FrameProblem, Identity, MalformedFrame, Status};

/// One event of a watch, with its object still raw.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::WatchFrame;
///
/// let raw = Bytes::from_static(
///     br#"{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"resourceVersion":"77",
///         "annotations":{"k8s.io/initial-events-end":"true"}}}}"#,
/// );
/// let WatchFrame::Bookmark { version, initial_events_end } = WatchFrame::parse(&raw)? else { panic!() };
/// assert_eq!(version, "77");
/// assert!(initial_events_end);
/// # Ok::<(), informers_wire::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchFrame {
    /// `ADDED`: the raw object, a slice of the frame.
    Added(Bytes),
    /// `MODIFIED`: the raw object, a slice of the frame.
    Modified(Bytes),
    /// `DELETED`: the raw object in its last state, a slice of the frame.
    Deleted(Bytes),
    /// `BOOKMARK`: everything up to this version was sent.
    Bookmark {
        /// The version to resume from.
        version: String,
        /// Does it mark the end of the initial events of a streaming list (`k8s.io/initial-events-end`)?
        initial_events_end: bool,
    },
    /// `ERROR`, or a `Status` without the envelope of an event: the watch is over, and this is why.
    Error(Box<Status>),
    /// A type that is not known. Pass over it, and resume behind its version.
    Unknown {
        /// The type as it came.
        event_type: String,
        /// Resource version of its object, if it has one.
        version: Option<String>,
    },
}

impl WatchFrame {
    /// Reads the envelope of a whole frame, as [`WatchFramer`](crate::WatchFramer) gives it. The object is neither
    /// parsed nor copied; `type` may stand before or behind it, and other fields are ignored.
    ///
    /// An `ERROR` whose object is no `Status` becomes one with code 500 and reason `InternalError`.
    ///
    /// # Errors
    /// [`Error::MalformedFrame`], carrying type, name and version as far as they can be read.
    pub fn parse(raw: &Bytes) -> Result<Self, Error> {
        let envelope = FrameEnvelope::read(raw).map_err(|problem| malformed(raw, problem))?;
        let Some(event_type) = envelope.event_type else {
            if envelope.is_status {
                return Ok(Self::Error(Box::new(read_status(raw))));
            }
            return Err(malformed(raw, FrameProblem::NoType));
        };
        let object = envelope.object.filter(|range| raw.get(range.start) == Some(&b'{'));
        match (&*event_type, object) {
            ("ADDED", Some(object)) => Ok(Self::Added(raw.slice(object))),
            ("MODIFIED", Some(object)) => Ok(Self::Modified(raw.slice(object))),
            ("DELETED", Some(object)) => Ok(Self::Deleted(raw.slice(object))),
            ("BOOKMARK", Some(object)) => {
                let identity = peek_identity_at(raw, object.start);
                let version = identity.resource_version.filter(|version| !version.is_empty());
                let version = version.ok_or_else(|| malformed(raw, FrameProblem::NoVersion))?.into_owned();
                let initial_events_end = raw.get(object).is_some_and(ends_initial_events);
                Ok(Self::Bookmark { version, initial_events_end })
            }
            ("ERROR", object) => {
                let object = object.and_then(|range| raw.get(range)).unwrap_or_default();
                Ok(Self::Error(Box::new(read_status(object))))
            }
            ("ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK", None) => {
                Err(malformed(raw, FrameProblem::NoObject))
            }
            (_, object) => Ok(Self::Unknown {
                version: object.and_then(|range| {
                    peek_identity_at(raw, range.start).resource_version.map(Cow::into_owned)
                }),
                event_type: event_type.into_owned(),
            }),
        }
    }
}

/// Reads a frame of the form in which API servers write them, `{"type":"…","object":{…}}`, of which is known where
/// the first container inside it ends: then no byte of the object need be looked at again. None if it is anything
/// else.
pub(crate) fn of_usual_form(raw: &Bytes, inner_end: usize) -> Option<WatchFrame> {
    let change: fn(Bytes) -> WatchFrame;
    let rest = raw.strip_prefix(br#"{"type":""#)?;
    let rest = if let Some(rest) = rest.strip_prefix(b"ADDED") {
        change = WatchFrame::Added;
        rest
    } else if let Some(rest) = rest.strip_prefix(b"MODIFIED") {
        change = WatchFrame::Modified;
        rest
    } else {
        change = WatchFrame::Deleted;
        rest.strip_prefix(b"DELETED")?
    };
    let rest = rest.strip_prefix(br#"","object":"#)?;
    let begin = raw.len() - rest.len();
    (rest.first() == Some(&b'{') && raw.get(inner_end..)? == b"}")
        .then(|| change(raw.slice(begin..inner_end)))
}

/// The fields of a frame, found but not read.
#[derive(Debug, Default)]
struct FrameEnvelope<'a> {
    event_type: Option<Cow<'a, str>>,
    object: Option<Range<usize>>,
    /// Is it a `Status` that lacks the envelope?
    is_status: bool,
}

impl<'a> FrameEnvelope<'a> {
    fn read(raw: &'a [u8]) -> Result<Self, FrameProblem> {
        let mut envelope = Self::default();
        let mut fields = FieldWalker::enter(raw, 0).ok_or(FrameProblem::NotAnObject)?;
        loop {
            let key = match fields.next_key() {
                Step::Key(key) => key,
                Step::End(_) => return Ok(envelope),
                Step::Damaged => return Err(FrameProblem::Syntax),
            };
            let value = fields.value().ok_or(FrameProblem::Syntax)?;
            if key_is(key, "type") {
                envelope.event_type = raw.get(value).and_then(string);
            } else if key_is(key, "object") {
                envelope.object = Some(value);
            } else if key_is(key, "kind") {
                envelope.is_status = raw.get(value).and_then(string).is_some_and(|kind| kind == "Status");
            }
        }
    }
}

/// Type and identity of a frame that may be cut or damaged.
pub(crate) fn peek_frame(raw: &[u8]) -> (Option<String>, Identity<'static>) {
    let mut event_type = None;
    let mut identity = Identity::default();
    if let Some(mut fields) = FieldWalker::enter(raw, 0) {
        while let Step::Key(key) = fields.next_key() {
            if key_is(key, "object") {
                identity = peek_identity_at(raw, fields.position());
            }
            let Some(value) = fields.value() else { break };
            if key_is(key, "type") {
                event_type = raw.get(value).and_then(string).map(Cow::into_owned);
            }
        }
    }
    (event_type, identity.into_owned())
}

pub(crate) fn malformed(raw: &[u8], problem: FrameProblem) -> Error {
    let (event_type, identity) = peek_frame(raw);
    Error::MalformedFrame(Box::new(MalformedFrame { problem, event_type, identity, excerpt: excerpt(raw) }))
}

fn read_status(raw: &[u8]) -> Status {
    Status::from_json(raw).unwrap_or_else(|| {
        let message = format!("the watch reported an error that is no Status: {}", excerpt(raw));
        Status::new(500, "InternalError", message)
    })
}

fn ends_initial_events(object: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Bookmark {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        annotations: Option<Annotations>,
    }
    #[derive(Deserialize)]
    struct Annotations {
        #[serde(rename = "k8s.io/initial-events-end")]
        initial_events_end: Option<String>,
    }
    serde_json::from_slice::<Bookmark>(object)
        .ok()
        .and_then(|bookmark| bookmark.metadata.annotations?.initial_events_end)
        .is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(raw: &str) -> Result<WatchFrame, Error> {
        WatchFrame::parse(&Bytes::copy_from_slice(raw.as_bytes()))
    }

    fn problem(raw: &str) -> MalformedFrame {
        match parse(raw) {
            Err(Error::MalformedFrame(frame)) => *frame,
            other => panic!("{raw}: {other:?}"),
        }
    }

    #[test]
    fn objects_are_slices_of_the_frame() {
        let raw =
            Bytes::from_static(b" { \"object\" : {\"a\":{}} , \"extra\":[1], \"type\" : \"MODIFIED\" } ");
        let WatchFrame::Modified(object) = WatchFrame::parse(&raw).unwrap() else { panic!("not modified") };
        assert_eq!(object, r#"{"a":{}}"#);
        assert!(raw.as_ptr_range().contains(&object.as_ptr()));
    }

    #[test]
    fn the_type_may_be_escaped() {
        assert!(matches!(parse(r#"{"type":"ADD\u0045D","object":{}}"#), Ok(WatchFrame::Added(_))));
    }

    #[test]
    fn bookmarks() {
        for (annotations, end) in [
            (r#","annotations":{"k8s.io/initial-events-end":"true"}"#, true),
            (r#","annotations":{"k8s.io/initial-events-end":"false"}"#, false),
            (r#","annotations":{"x":"true"}"#, false),
            (r#","annotations":null"#, false),
            ("", false),
        ] {
            let raw = format!(
                r#"{{"type":"BOOKMARK","object":{{"metadata":{{"resourceVersion":"5"{annotations}}}}}}}"#
            );
            let expected = WatchFrame::Bookmark { version: "5".to_owned(), initial_events_end: end };
            assert_eq!(parse(&raw).unwrap(), expected, "{raw}");
        }
        let frame = problem(r#"{"type":"BOOKMARK","object":{"metadata":{}}}"#);
        assert_eq!(frame.problem, FrameProblem::NoVersion);
    }

    #[test]
    fn unknown_types_keep_their_version() {
        let frame = parse(r#"{"type":"SYNC","object":{"metadata":{"resourceVersion":"8"}}}"#).unwrap();
        let expected = WatchFrame::Unknown { event_type: "SYNC".to_owned(), version: Some("8".to_owned()) };
        assert_eq!(frame, expected);
        assert!(matches!(parse(r#"{"type":"SYNC"}"#), Ok(WatchFrame::Unknown { version: None, .. })));
    }

    #[test]
    fn a15_errors_with_and_without_envelope() {
        let status = r#"{
  "kind": "Status",
  "apiVersion": "v1",
  "metadata": {},
  "status": "Failure",
  "message": "too old resource version: 5 (9)",
  "reason": "Expired",
  "code": 410
}"#;
        let enveloped = format!(r#"{{"type":"ERROR","object":{status}}}"#);
        for raw in [status, &status.replace('\n', ""), &enveloped] {
            let WatchFrame::Error(status) = parse(raw).unwrap() else { panic!("{raw}") };
            assert!(status.is_expired());
            assert_eq!((status.code, &*status.message), (410, "too old resource version: 5 (9)"));
        }
        for raw in [r#"{"type":"ERROR","object":{"kind":"Pod"}}"#, r#"{"type":"ERROR"}"#] {
            let WatchFrame::Error(status) = parse(raw).unwrap() else { panic!("{raw}") };
            assert!(status.is_internal_error(), "{raw}");
        }
    }

    #[test]
    fn a16_throttling_inside_the_stream_keeps_its_hint() {
        let raw = r#"{"type":"ERROR","object":{"kind":"Status","reason":"TooManyRequests","code":429,
            "details":{"retryAfterSeconds":3}}}"#;
        let WatchFrame::Error(status) = parse(raw).unwrap() else { panic!("no error") };
        assert!(status.is_too_many_requests());
        let (now, cap) = (std::time::SystemTime::UNIX_EPOCH, std::time::Duration::from_secs(300));
        assert_eq!(
            crate::retry_after(None, Some(&status), now, cap),
            Some(std::time::Duration::from_secs(3))
        );
    }

    #[test]
    fn a11_a_malformed_frame_tells_what_is_known() {
        let frame =
            problem(r#"{"type":"MODIFIED","object":{"metadata":{"name":"a","resourceVersion":"6"}},!}"#);
        assert_eq!(frame.problem, FrameProblem::Syntax);
        assert_eq!(frame.event_type.as_deref(), Some("MODIFIED"));
        assert_eq!(frame.identity.resource_version.as_deref(), Some("6"));

        for (raw, expected) in [
            (r#"{"type":"ADDED","object":null}"#, FrameProblem::NoObject),
            (r#"{"type":"ADDED"}"#, FrameProblem::NoObject),
            (r#"{"type":"DELETED","object":[]}"#, FrameProblem::NoObject),
            (r#"{"type":7,"object":{}}"#, FrameProblem::NoType),
            ("{}", FrameProblem::NoType),
            ("[]", FrameProblem::NotAnObject),
            ("", FrameProblem::NotAnObject),
            (r#"{"type":"ADDED","object":{"#, FrameProblem::Syntax),
        ] {
            assert_eq!(problem(raw).problem, expected, "{raw}");
        }
    }
}

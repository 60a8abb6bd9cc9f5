//! What can be wrong with the bytes of a list, a watch or a compressed body.

use std::fmt;

use crate::{Identity, Status};

/// Why bytes could not be understood.
///
/// [`Error::TooLarge`] and [`Error::MalformedFrame`] concern one object: the splitter or framer that gave them has
/// passed that object and goes on ([`Error::is_fatal`] is false). Every other one ends the body.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server answered a list request with a `Status`, although the HTTP status was a success.
    #[error("the list answer is a Status: {0}")]
    Status(Box<Status>),

    /// The body is a JSON object whose kind does not end in `List`, or that has no kind. It is not taken as an
    /// empty list, which would delete everything.
    #[error(
        "the list answer is not a list: its kind is {}; check that the path names a collection",
        kind.as_deref().unwrap_or("missing")
    )]
    NotAList {
        /// The kind in the body, if there was one.
        kind: Option<String>,
    },

    /// The body is a `Table`, the columns that `kubectl get` prints, and holds no objects.
    #[error("the list answer is a Table, not a list; ask for plain JSON in the Accept header")]
    Table,

    /// The body does not begin with a JSON object: HTML of a proxy, plain text, another format.
    #[error("the list answer is not a JSON object; it begins with {excerpt:?}; is a proxy answering?")]
    NotJson {
        /// Its first bytes, at most 200.
        excerpt: String,
    },

    /// The JSON around the items is broken. (The inside of items is not looked at.)
    #[error("the list answer is broken at byte {offset}: expected {expected}, found {found:?}")]
    Syntax {
        /// Offset of the unexpected byte in the whole body.
        offset: u64,
        /// What should have been there.
        expected: &'static str,
        /// The unexpected byte, as a character.
        found: char,
    },

    /// The body ended before its closing brace; the connection was cut.
    #[error("the list answer ends too early, after {bytes} bytes")]
    Truncated {
        /// How many bytes there were.
        bytes: u64,
    },

    /// A field beside the items (`metadata`, `kind`) could not be read.
    #[error("field {field} of the list answer cannot be read")]
    Envelope {
        /// The field.
        field: &'static str,
        /// What is wrong with it.
        source: serde_json::Error,
    },

    /// A field beside the items is larger than the 1 MiB that any of them may have.
    #[error("field {field} of the list answer has {size} bytes, which is absurd")]
    EnvelopeTooLarge {
        /// The field.
        field: &'static str,
        /// Its size in bytes.
        size: u64,
    },

    /// [`ListSplitter::finish`](crate::ListSplitter::finish) was called while items were left to take, so that the
    /// trailer would promise more than the caller has seen.
    #[error("the list was finished before all of its items were taken; call next_item until it gives none")]
    NotDrained,

    /// The body was already given up on; the reason came with an earlier result.
    #[error("this body was given up on after an earlier error")]
    GivenUp,

    /// The body, or a frame of it, does not begin as Kubernetes' protobuf does: JSON, HTML of a proxy, plain text.
    #[error(
        "the answer is not protobuf; it begins with {excerpt:?}; does the server have this resource as JSON alone?"
    )]
    NotProtobuf {
        /// Its first bytes, at most 200.
        excerpt: String,
    },

    /// The message around the items, or around an object, is broken. (The inside of items is not looked at.)
    #[error("the protobuf of the answer is broken at byte {offset}: {problem}")]
    BrokenProtobuf {
        /// Offset in the whole body, behind the damage.
        offset: u64,
        /// What is wrong.
        problem: &'static str,
    },

    /// One item or frame is larger than the configured limit. It was skipped; the next call goes on behind it.
    #[error("{0}; raise the limit if objects of this size are meant to be read")]
    TooLarge(Box<TooLarge>),

    /// One frame of a watch is not a readable event. The frame was passed; the stream can go on behind it.
    #[error("{0}")]
    MalformedFrame(Box<MalformedFrame>),

    /// The server used a `Content-Encoding` that nobody asked for.
    #[error("the answer is encoded as {encoding:?}, which is not understood; only identity and gzip are")]
    UnsupportedEncoding {
        /// The header's value.
        encoding: String,
    },

    /// The compressed body is damaged.
    #[error("the gzip stream is damaged at byte {offset}: {problem}")]
    Gzip {
        /// Offset in the compressed body, near the damage.
        offset: u64,
        /// What is wrong.
        problem: &'static str,
        /// The decompressor's own words, where it was the one to complain.
        source: Option<Box<dyn std::error::Error + Send + Sync>>,
    },
}

impl Error {
    /// Is the body lost, or only one object of it? After an error that is not fatal, go on as if nothing was.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use informers_wire::{Error, WatchFrame};
    ///
    /// let error = WatchFrame::parse(&Bytes::from_static(b"{\"type\":7}")).unwrap_err();
    /// assert!(!error.is_fatal());
    /// assert!(Error::Table.is_fatal());
    /// ```
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::TooLarge(_) | Self::MalformedFrame(_))
    }
}

/// What is known of an item or a frame that was skipped because of its size.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::{Error, WatchFramer};
///
/// let mut framer = WatchFramer::new().with_max_frame_size(80);
/// framer.push(Bytes::from_static(
///     br#"{"type":"ADDED","object":{"metadata":{"name":"big","resourceVersion":"6"},"data":"0123456789012345"}}"#,
/// ));
/// let Err(Error::TooLarge(skipped)) = framer.next_frame() else { panic!() };
/// assert_eq!(skipped.event_type.as_deref(), Some("ADDED"));
/// assert_eq!(skipped.identity.resource_version.as_deref(), Some("6"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// Size of the whole in bytes.
    pub size: u64,
    /// The limit it is over, in bytes.
    pub limit: usize,
    /// Type of the event, for a frame whose type stands before its object.
    pub event_type: Option<String>,
    /// Who it is, as far as the bytes up to the limit tell. With a version here, a watch can resume behind it.
    pub identity: Identity<'static>,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.event_type.is_some() { "event " } else { "object " })?;
        write_name(f, self.event_type.as_deref(), &self.identity)?;
        write!(f, "has {} bytes, over the limit of {}", self.size, self.limit)
    }
}

/// What is known of a frame that is no event.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::{Error, FrameProblem, WatchFrame};
///
/// let frame = Bytes::from_static(br#"{"type":"ADDED","object":"a pod"}"#);
/// let Err(Error::MalformedFrame(frame)) = WatchFrame::parse(&frame) else { panic!() };
/// assert_eq!(frame.problem, FrameProblem::NoObject);
/// assert_eq!(frame.event_type.as_deref(), Some("ADDED"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MalformedFrame {
    /// What is wrong with it.
    pub problem: FrameProblem,
    /// Its `type`, if that could be read.
    pub event_type: Option<String>,
    /// Who the object is, as far as can be told. With a version here, a watch can resume behind it.
    pub identity: Identity<'static>,
    /// The first bytes of the frame, at most 200.
    pub excerpt: String,
}

impl fmt::Display for MalformedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("watch frame ")?;
        write_name(f, self.event_type.as_deref(), &self.identity)?;
        write!(f, "is no event: {}; it begins with {:?}", self.problem, self.excerpt)
    }
}

/// What is wrong with a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum FrameProblem {
    /// Text that is no JSON object, up to the next line break: a proxy's words in the middle of the stream.
    #[error("it is not a JSON object")]
    NotAnObject,
    /// The fields around the object are broken JSON.
    #[error("it is not valid JSON")]
    Syntax,
    /// The message of the event, or the envelope of its object, is broken protobuf.
    #[error("it is not valid protobuf")]
    NotProtobuf,
    /// There is no `type`, or it is no string.
    #[error("it has no type")]
    NoType,
    /// There is no `object`, or it is no JSON object; in protobuf, it has no envelope.
    #[error("it has no object")]
    NoObject,
    /// A bookmark without a resource version.
    #[error("the bookmark has no resource version")]
    NoVersion,
}

fn write_name(f: &mut fmt::Formatter<'_>, event_type: Option<&str>, identity: &Identity<'_>) -> fmt::Result {
    if let Some(event_type) = event_type {
        write!(f, "{event_type} ")?;
    }
    match (&identity.namespace, &identity.name) {
        (Some(namespace), Some(name)) if !namespace.is_empty() => write!(f, "{namespace}/{name} "),
        (_, Some(name)) => write!(f, "{name} "),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_object() {
        let identity = crate::peek_identity(br#"{"metadata":{"name":"cm","namespace":"ns"}}"#).into_owned();
        let error = Error::TooLarge(Box::new(TooLarge {
            size: 30,
            limit: 20,
            event_type: Some("ADDED".to_owned()),
            identity,
        }));
        assert!(
            error.to_string().starts_with("event ADDED ns/cm has 30 bytes, over the limit of 20"),
            "{error}"
        );
        assert_eq!(Error::NotAList { kind: None }.to_string().matches("missing").count(), 1);
    }

    #[test]
    fn errors_cross_threads() {
        fn crosses<T: Send + Sync + 'static>() {}
        crosses::<Error>();
    }
}

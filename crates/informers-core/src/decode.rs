//! From the bytes of one object to an entry.

use std::fmt;
use std::sync::Arc;

use crate::Entry;

/// How the server is asked to represent objects; a decoder reads exactly one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Representation {
    /// Whole objects as JSON.
    Json,
    /// `PartialObjectMetadata` as JSON: the metadata alone, cut down by the server.
    PartialObjectMetadata,
    /// Whole objects as protobuf, for the types that are built into API servers. What `decode` expects is the bare
    /// message of one object, without the envelope (`k8s\0` and what follows) of an answer.
    Protobuf,
}

/// Turns the bytes of one object into an [`Entry`].
///
/// A decoder is a value, handed over with its resource, and may learn from what it reads (a dictionary, a
/// pool of repeated strings). It is shared and may be called from several threads at once.
pub trait Decode<T>: Send + Sync + 'static {
    /// What `decode` expects.
    fn representation(&self) -> Representation {
        Representation::Json
    }

    /// Reads one object.
    ///
    /// # Errors
    /// If the bytes are not an object of this type, or have no name. The caller passes the object over and
    /// reports it; other objects are not affected.
    fn decode(&self, raw: &[u8]) -> Result<Entry<T>, DecodeError>;
}

/// Why an object could not be decoded.
#[derive(Clone, Debug)]
pub struct DecodeError {
    kind: DecodeErrorKind,
    path: Option<String>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// The kinds of objects that cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The bytes are not what the type expects.
    Malformed,
    /// The object is well-formed but has no name, so that nothing can be kept under it.
    Nameless,
    /// A `null` in place of an object.
    Null,
    /// A number, a text, or an array in place of an object.
    NotAnObject,
    /// The object is larger than the client was told to accept.
    TooLarge,
}

impl DecodeError {
    /// An error of this kind.
    #[must_use]
    pub fn new(kind: DecodeErrorKind) -> Self {
        Self { kind, path: None, source: None }
    }

    /// Says at which field it happened, as a path such as `spec.replicas`.
    #[must_use]
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into()).filter(|path| !matches!(path.as_str(), "" | "." | "?"));
        self
    }

    /// Says what the decoder underneath reported.
    #[must_use]
    pub fn with_source(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Arc::new(source));
        self
    }

    /// What is wrong with the object.
    #[must_use]
    pub fn kind(&self) -> DecodeErrorKind {
        self.kind
    }

    /// The field at which it happened, where that is known.
    #[must_use]
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.kind {
            DecodeErrorKind::Malformed => "the object does not have the expected form",
            DecodeErrorKind::Nameless => "the object has no metadata.name",
            DecodeErrorKind::Null => "null in place of an object",
            DecodeErrorKind::NotAnObject => "something else in place of an object",
            DecodeErrorKind::TooLarge => "the object is larger than the limit",
        })?;
        match &self.path {
            Some(path) => write!(f, " at {path}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}

//! An object as it comes from the server: decoded, or not.

use std::fmt;

use bytes::Bytes;

use crate::{DecodeError, DecodeErrorKind, Entry, ObjectKey, ResourceVersion, Uid};

/// One object of a list or a watch event.
///
/// A single bad object never spoils its neighbours, so each carries its own outcome.
#[derive(Debug)]
#[allow(clippy::exhaustive_enums, reason = "an object was decoded or it was not")]
pub enum Item<T> {
    /// A good object.
    Decoded(Entry<T>),
    /// An object that could not be decoded, with what is known of it.
    Undecodable(Undecodable),
}

impl<T> Item<T> {
    /// The object's key, where it could be read.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        match self {
            Self::Decoded(entry) => Some(entry.key()),
            Self::Undecodable(undecodable) => undecodable.key(),
        }
    }

    /// The object's version; empty where it could not be read.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        match self {
            Self::Decoded(entry) => entry.version(),
            Self::Undecodable(undecodable) => undecodable.version(),
        }
    }
}

impl<T> Clone for Item<T> {
    fn clone(&self) -> Self {
        match self {
            Self::Decoded(entry) => Self::Decoded(entry.clone()),
            Self::Undecodable(undecodable) => Self::Undecodable(undecodable.clone()),
        }
    }
}

impl<T> From<Entry<T>> for Item<T> {
    fn from(entry: Entry<T>) -> Self {
        Self::Decoded(entry)
    }
}

impl<T> From<Undecodable> for Item<T> {
    fn from(undecodable: Undecodable) -> Self {
        Self::Undecodable(undecodable)
    }
}

/// An object that could not be decoded: what is known of it, why, and its bytes.
///
/// ```
/// use informers_core::{DecodeError, DecodeErrorKind, ObjectKey, Undecodable};
///
/// let bad = Undecodable::new(DecodeError::new(DecodeErrorKind::Malformed).with_path("spec.replicas"))
///     .with_identity(ObjectKey::new("shop", "web"), "u-1".into(), "7".into());
/// assert_eq!(bad.to_string(), "cannot decode shop/web (uid u-1, resource version 7)");
/// assert_eq!(bad.error().to_string(), "the object does not have the expected form at spec.replicas");
/// ```
#[derive(Clone, Debug)]
pub struct Undecodable {
    key: Option<ObjectKey>,
    uid: Uid,
    version: ResourceVersion,
    error: DecodeError,
    raw: Bytes,
}

impl Undecodable {
    /// An object of which nothing is known but the error.
    #[must_use]
    pub fn new(error: DecodeError) -> Self {
        Self { key: None, uid: Uid::default(), version: ResourceVersion::default(), error, raw: Bytes::new() }
    }

    /// With the identity that could be read in spite of the error.
    #[must_use]
    pub fn with_identity(mut self, key: ObjectKey, uid: Uid, version: ResourceVersion) -> Self {
        self.key = Some(key);
        self.uid = uid;
        self.version = version;
        self
    }

    /// With the version alone, of an object whose name could not be read.
    #[must_use]
    pub fn with_version(mut self, version: ResourceVersion) -> Self {
        self.version = version;
        self
    }

    /// With the bytes that could not be decoded.
    #[must_use]
    pub fn with_raw(mut self, raw: Bytes) -> Self {
        self.raw = raw;
        self
    }

    /// The object's key, where it could be read.
    #[must_use]
    pub fn key(&self) -> Option<&ObjectKey> {
        self.key.as_ref()
    }

    /// The object's uid; empty where it could not be read.
    #[must_use]
    pub fn uid(&self) -> &Uid {
        &self.uid
    }

    /// The object's version; empty where it could not be read.
    #[must_use]
    pub fn version(&self) -> &ResourceVersion {
        &self.version
    }

    /// Why it could not be decoded.
    #[must_use]
    pub fn error(&self) -> &DecodeError {
        &self.error
    }

    /// The object's bytes, as the server sent them; empty if it was too large to be kept.
    #[must_use]
    pub fn raw(&self) -> &Bytes {
        &self.raw
    }

    /// Whether this may be any object of its collection. Then a list with it cannot prove that another
    /// object is gone. A `null`, or anything else that is no object, and an object without a name hide none.
    #[must_use]
    pub fn hides_a_name(&self) -> bool {
        use DecodeErrorKind::{Nameless, NotAnObject, Null};
        self.key.is_none() && !matches!(self.error.kind(), Null | NotAnObject | Nameless)
    }
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            Some(key) => write!(f, "cannot decode {key}")?,
            None => f.write_str("cannot decode an object whose name cannot be read")?,
        }
        let parts = [("uid", self.uid.to_string()), ("resource version", self.version.to_string())];
        let known: Vec<_> = parts.iter().filter(|(_, value)| !value.is_empty()).collect();
        for (at, (name, value)) in known.iter().enumerate() {
            write!(f, "{}{name} {value}", if at == 0 { " (" } else { ", " })?;
        }
        f.write_str(if known.is_empty() { "" } else { ")" })
    }
}

impl std::error::Error for Undecodable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

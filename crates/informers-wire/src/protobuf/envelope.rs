//! What API servers put around every object: `k8s\0` and a message `runtime.Unknown`.

use bytes::Bytes;

use super::fields::{Fields, Value, text};
use crate::Error;
use crate::object::excerpt;

/// What a body begins with.
pub(super) const MAGIC: &[u8; 4] = b"k8s\0";

/// The envelope around an object that lies in memory.
#[derive(Debug, Default)]
pub(super) struct Envelope<'a> {
    pub(super) kind: String,
    /// The message inside.
    pub(super) raw: Option<&'a [u8]>,
    /// Whether nothing of it is cut off or broken, and what is inside is a message as it is.
    pub(super) is_whole: bool,
}

impl<'a> Envelope<'a> {
    /// None if something else is there.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut envelope = Self { is_whole: true, ..Self::default() };
        let mut fields = Fields::of(bytes.strip_prefix(MAGIC)?);
        for field in fields.by_ref() {
            match field {
                (1, Value::Bytes(type_meta)) => envelope.kind = TypeMeta::read(type_meta).kind,
                (2, Value::Bytes(raw)) => envelope.raw = Some(raw),
                (3 | 4, Value::Bytes(form)) => envelope.is_whole &= form.is_empty() || is_protobuf(form),
                _ => {}
            }
        }
        envelope.is_whole &= fields.is_whole();
        Some(envelope)
    }
}

/// Whether a content type says that the message inside is one.
pub(super) fn is_protobuf(content_type: &[u8]) -> bool {
    content_type.starts_with(b"application/vnd.kubernetes.protobuf")
}

/// The kind that an envelope names.
#[derive(Debug, Default)]
pub(super) struct TypeMeta {
    pub(super) api_version: String,
    pub(super) kind: String,
}

impl TypeMeta {
    pub(super) fn read(message: &[u8]) -> Self {
        let mut found = Self::default();
        for field in Fields::of(message) {
            match field {
                (1, Value::Bytes(api_version)) => found.api_version = text(api_version),
                (2, Value::Bytes(kind)) => found.kind = text(kind),
                _ => {}
            }
        }
        found
    }
}

/// The message of an object, out of the body that carries it: a slice of it.
///
/// ```
/// use bytes::Bytes;
/// use informers_wire::protobuf::object;
///
/// let body = Bytes::from_static(b"k8s\0\x0a\x0b\x0a\x02v1\x12\x05Event\x12\x05\x0a\x03\x0a\x01a");
/// assert_eq!(object(&body)?, &b"\x0a\x03\x0a\x01a"[..]);
/// # Ok::<(), informers_wire::Error>(())
/// ```
///
/// # Errors
/// [`Error::NotProtobuf`] if the body begins otherwise, [`Error::BrokenProtobuf`] if it is cut off or holds no
/// message.
pub fn object(body: &Bytes) -> Result<Bytes, Error> {
    let envelope = Envelope::read(body).ok_or_else(|| Error::NotProtobuf { excerpt: excerpt(body) })?;
    match envelope.raw.filter(|_| envelope.is_whole) {
        Some(raw) => Ok(body.slice_ref(raw)),
        None => Err(Error::BrokenProtobuf {
            offset: body.len() as u64,
            problem: "the envelope holds no whole message",
        }),
    }
}

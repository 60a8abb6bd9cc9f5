//! Who is this object? Answered from its raw message, for objects that do not decode.

use super::fields::{Fields, Value};
use crate::Identity;

/// Reads namespace, name, uid and version of an object from its `ObjectMeta`, the first field of every kind that API
/// servers have built in.
///
/// It never fails: of a damaged or cut message it gives what stands before the damage. Where a field occurs twice, the
/// first one counts. API servers write a text that is empty, too, so the namespace of an object of cluster scope is
/// an empty one.
///
/// ```
/// use informers_wire::protobuf::peek_identity;
///
/// let message = b"\x0a\x0d\x0a\x05web-0\x1a\x04shop\x12\x02\x08\x01";
/// let identity = peek_identity(message);
/// assert_eq!(identity.name.as_deref(), Some("web-0"));
/// assert_eq!(identity.namespace.as_deref(), Some("shop"));
/// assert_eq!(identity.uid, None);
/// ```
pub fn peek_identity(raw: &[u8]) -> Identity<'_> {
    let mut identity = Identity::default();
    let Some(metadata) = Fields::first_bytes(raw, 1) else { return identity };
    for field in Fields::of(metadata) {
        let (slot, text) = match field {
            (1, Value::Bytes(text)) => (&mut identity.name, text),
            (3, Value::Bytes(text)) => (&mut identity.namespace, text),
            (5, Value::Bytes(text)) => (&mut identity.uid, text),
            (6, Value::Bytes(text)) => (&mut identity.resource_version, text),
            _ => continue,
        };
        if slot.is_none() {
            *slot = Some(String::from_utf8_lossy(text));
            if identity.is_full() {
                break;
            }
        }
    }
    identity
}

/// Whether the object has this annotation with the value `true`.
pub(super) fn is_annotated(raw: &[u8], name: &str) -> bool {
    let Some(metadata) = Fields::first_bytes(raw, 1) else { return false };
    Fields::of(metadata).any(|field| match field {
        (12, Value::Bytes(entry)) => {
            Fields::first_bytes(entry, 1) == Some(name.as_bytes())
                && Fields::first_bytes(entry, 2) == Some(b"true")
        }
        _ => false,
    })
}

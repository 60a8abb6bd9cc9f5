//! From raw objects to items; a bad one spoils no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use informers_core::{
    Change, ChangeKind, Decode, DecodeError, DecodeErrorKind, Error, Item, ObjectKey, Representation,
    Undecodable, WatchEvent,
};
use informers_wire::{FrameProblem, Identity, TooLarge, WatchFrame};

use super::form::peek_identity;
use crate::answer::status_error;

/// One raw object.
pub(super) fn item<T: 'static>(decoder: &dyn Decode<T>, raw: &Bytes) -> Item<T> {
    let representation = decoder.representation();
    let is_json = representation != Representation::Protobuf;
    if is_json && raw.as_ref() == b"null" {
        return Undecodable::new(DecodeError::new(DecodeErrorKind::Null)).into();
    }
    if is_json && raw.first() != Some(&b'{') {
        let error = DecodeError::new(DecodeErrorKind::NotAnObject);
        return Undecodable::new(error).with_raw(Bytes::copy_from_slice(raw)).into();
    }
    // A decoder is the user's code; its panic is that object's fault.
    let error = match catch_unwind(AssertUnwindSafe(|| decoder.decode(raw))) {
        Ok(Ok(entry)) => return Item::Decoded(entry),
        Ok(Err(error)) => error,
        Err(panic) => DecodeError::new(DecodeErrorKind::Malformed).with_source(DecoderPanicked::new(&*panic)),
    };
    // It may have failed at something else before its name was missed.
    let error = if is_json && error.kind() == DecodeErrorKind::Malformed && is_nameless(raw) {
        DecodeError::new(DecodeErrorKind::Nameless).with_source(error)
    } else {
        error
    };
    // A copy, since a slice would keep the whole piece of the body it came in.
    let undecodable = Undecodable::new(error).with_raw(Bytes::copy_from_slice(raw));
    with_identity(undecodable, &peek_identity(raw, representation)).into()
}

/// Is it well-formed JSON, and has no name?
fn is_nameless(raw: &[u8]) -> bool {
    #[derive(serde::Deserialize)]
    struct Object {
        metadata: Option<Metadata>,
    }
    #[derive(serde::Deserialize)]
    struct Metadata {
        name: Option<String>,
    }
    serde_json::from_slice::<Object>(raw).is_ok_and(|object| {
        object.metadata.and_then(|metadata| metadata.name).is_none_or(|name| name.is_empty())
    })
}

/// An object that was passed over because of its size.
pub(super) fn too_large<T>(too_large: TooLarge) -> Item<T> {
    let identity = too_large.identity.clone();
    let error = DecodeError::new(DecodeErrorKind::TooLarge)
        .with_source(informers_wire::Error::TooLarge(Box::new(too_large)));
    with_identity(Undecodable::new(error), &identity).into()
}

fn with_identity(undecodable: Undecodable, identity: &Identity<'_>) -> Undecodable {
    let text = |part: &Option<std::borrow::Cow<'_, str>>| part.as_deref().unwrap_or_default().to_owned();
    let version = text(&identity.resource_version).into();
    match identity.name.as_deref() {
        Some(name) if !name.is_empty() => {
            let key = ObjectKey::new(&text(&identity.namespace), name);
            undecodable.with_identity(key, text(&identity.uid).into(), version)
        }
        _ => undecodable.with_version(version),
    }
}

/// The events of some frames, and what ended the watch within them.
pub(super) struct Events<T> {
    pub(super) events: Vec<WatchEvent<T>>,
    pub(super) end: Option<Error>,
}

/// How many bytes there are to decode in a frame.
pub(super) fn bytes(frame: &WatchFrame) -> usize {
    match frame {
        WatchFrame::Added(raw) | WatchFrame::Modified(raw) | WatchFrame::Deleted(raw) => raw.len(),
        _ => 0,
    }
}

/// The events of frames. An `ERROR` frame is the last that counts.
pub(super) fn events<T: 'static>(
    decoder: &dyn Decode<T>,
    frames: Vec<Result<WatchFrame, informers_wire::Error>>,
    action: &str,
) -> Events<T> {
    let mut events = Vec::with_capacity(frames.len());
    for frame in frames {
        let change = |kind, raw| WatchEvent::Change(Change { kind, item: item(decoder, &raw) });
        events.push(match frame {
            Ok(WatchFrame::Added(raw)) => change(ChangeKind::Added, raw),
            Ok(WatchFrame::Modified(raw)) => change(ChangeKind::Modified, raw),
            Ok(WatchFrame::Deleted(raw)) => change(ChangeKind::Deleted, raw),
            Ok(WatchFrame::Bookmark { version, initial_events_end }) => {
                WatchEvent::Bookmark { version: version.into(), initial_events_end }
            }
            Ok(WatchFrame::Unknown { event_type, version }) => {
                WatchEvent::Unknown { event_type, version: version.unwrap_or_default().into() }
            }
            Ok(WatchFrame::Error(status)) => {
                let error = status_error(*status, None, action).into_core(action);
                return Events { events, end: Some(error) };
            }
            Ok(other) => {
                tracing::warn!(frame = ?other, "a kind of frame that this version does not know");
                continue;
            }
            Err(error) => damaged(error),
        });
    }
    Events { events, end: None }
}

/// A frame that is no event, or too large: what it was about, as far as it can be told.
fn damaged<T>(error: informers_wire::Error) -> WatchEvent<T> {
    let (event_type, item) = match error {
        informers_wire::Error::TooLarge(frame) => (frame.event_type.clone(), too_large(*frame)),
        informers_wire::Error::MalformedFrame(frame) => {
            let (event_type, identity) = (frame.event_type.clone(), frame.identity.clone());
            let kind = match frame.problem {
                FrameProblem::NoObject => DecodeErrorKind::NotAnObject,
                _ => DecodeErrorKind::Malformed,
            };
            let error = DecodeError::new(kind).with_source(informers_wire::Error::MalformedFrame(frame));
            (event_type, Item::Undecodable(with_identity(Undecodable::new(error), &identity)))
        }
        other => {
            let error = DecodeError::new(DecodeErrorKind::Malformed).with_source(other);
            (None, Item::Undecodable(Undecodable::new(error)))
        }
    };
    let kind = match event_type.as_deref() {
        Some("ADDED") => ChangeKind::Added,
        Some("DELETED") => ChangeKind::Deleted,
        Some("MODIFIED") => ChangeKind::Modified,
        // Of an object that is known by name, something changed.
        None if item.key().is_some() => ChangeKind::Modified,
        other => {
            let event_type = other.unwrap_or("(none)").to_owned();
            if let Item::Undecodable(undecodable) = &item {
                tracing::warn!(
                    event_type,
                    error = undecodable.error() as &dyn std::error::Error,
                    "a frame of the watch cannot be read"
                );
            }
            return WatchEvent::Unknown { event_type, version: item.version().clone() };
        }
    };
    WatchEvent::Change(Change { kind, item })
}

#[derive(Debug, thiserror::Error)]
#[error("the decoder panicked: {0}")]
struct DecoderPanicked(String);

impl DecoderPanicked {
    fn new(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Self(
            text.or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "no message".to_owned()),
        )
    }
}

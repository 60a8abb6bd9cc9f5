//! What depends on the representation of objects: how it is asked for, and how bodies are cut.

use bytes::Bytes;
use http::{Response, header};
use informers_core::Representation;
use informers_wire::{Identity, ListSplitter, ListTrailer, StreamEnd, WatchFrame, WatchFramer, protobuf};

use crate::{ClientError, answer};

pub(crate) const JSON: &str = "application/json";
const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json";
const LIST_OF_METADATA: &str =
    "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The `Accept` header of a list.
pub(super) fn of_list(representation: Representation) -> &'static str {
    match representation {
        Representation::PartialObjectMetadata => LIST_OF_METADATA,
        other => of_objects(other),
    }
}

/// The `Accept` header of a watch, or of one object.
pub(crate) fn of_objects(representation: Representation) -> &'static str {
    match representation {
        Representation::PartialObjectMetadata => METADATA,
        Representation::Protobuf => PROTOBUF,
        _ => JSON,
    }
}

/// Is the answer in a form that was not asked for? What is in none that API servers have is judged by its bytes.
pub(crate) fn check<B>(
    response: &Response<B>,
    representation: Representation,
    action: &str,
) -> Result<(), ClientError> {
    match answer::text(response, header::CONTENT_TYPE) {
        Some(other) if representation == Representation::Protobuf && other.starts_with(JSON) => {
            Err(not_as_protobuf(action.to_owned(), None))
        }
        _ => Ok(()),
    }
}

/// A refusal by a server that has the resource in other forms alone says so in our words.
pub(crate) fn refused(error: ClientError, representation: Representation) -> ClientError {
    match error {
        ClientError::Status { action, status, .. }
            if representation == Representation::Protobuf && status.is_not_acceptable() =>
        {
            not_as_protobuf(action, crate::error::cause(*status))
        }
        error => error,
    }
}

fn not_as_protobuf(action: String, source: Option<crate::error::Cause>) -> ClientError {
    ClientError::InvalidRequest {
        action,
        problem:
            "the server does not serve this resource as protobuf, in which only built-in types are had; \
                  use a decoder that reads JSON, such as JsonDecoder"
                .to_owned(),
        source,
    }
}

/// Who an object is that does not decode.
pub(super) fn peek_identity(raw: &[u8], representation: Representation) -> Identity<'_> {
    match representation {
        Representation::Protobuf => protobuf::peek_identity(raw),
        _ => informers_wire::peek_identity(raw),
    }
}

/// Cuts the body of a list.
pub(super) enum Splitter {
    Json(ListSplitter),
    Protobuf(protobuf::ListSplitter),
}

impl Splitter {
    pub(super) fn new(representation: Representation, max_item_size: usize) -> Self {
        match representation {
            Representation::Protobuf => {
                Self::Protobuf(protobuf::ListSplitter::new().with_max_item_size(max_item_size))
            }
            _ => Self::Json(ListSplitter::new().with_max_item_size(max_item_size)),
        }
    }

    pub(super) fn push(&mut self, chunk: Bytes) {
        match self {
            Self::Json(splitter) => splitter.push(chunk),
            Self::Protobuf(splitter) => splitter.push(chunk),
        }
    }

    pub(super) fn next_item(&mut self) -> Result<Option<Bytes>, informers_wire::Error> {
        match self {
            Self::Json(splitter) => splitter.next_item(),
            Self::Protobuf(splitter) => splitter.next_item(),
        }
    }

    pub(super) fn finish(self) -> Result<ListTrailer, informers_wire::Error> {
        match self {
            Self::Json(splitter) => splitter.finish(),
            Self::Protobuf(splitter) => splitter.finish(),
        }
    }
}

/// Cuts the body of a watch.
pub(super) enum Framer {
    Json(WatchFramer),
    Protobuf(protobuf::WatchFramer),
}

impl Framer {
    pub(super) fn new(representation: Representation, max_frame_size: usize) -> Self {
        match representation {
            Representation::Protobuf => {
                Self::Protobuf(protobuf::WatchFramer::new().with_max_frame_size(max_frame_size))
            }
            _ => Self::Json(WatchFramer::new().with_max_frame_size(max_frame_size)),
        }
    }

    pub(super) fn push(&mut self, chunk: Bytes) {
        match self {
            Self::Json(framer) => framer.push(chunk),
            Self::Protobuf(framer) => framer.push(chunk),
        }
    }

    pub(super) fn next_event(&mut self) -> Result<Option<WatchFrame>, informers_wire::Error> {
        match self {
            Self::Json(framer) => framer.next_event(),
            Self::Protobuf(framer) => framer.next_event(),
        }
    }

    pub(super) fn finish(self) -> StreamEnd {
        match self {
            Self::Json(framer) => framer.finish(),
            Self::Protobuf(framer) => framer.finish(),
        }
    }
}

//! `Status` as a message.

use super::envelope::Envelope;
use super::fields::{Fields, Value, text};
use crate::{Status, StatusCause, StatusDetails};

/// The `Status` in a body; none if it is anything else.
pub(crate) fn status_of(body: &[u8]) -> Option<Status> {
    let envelope = Envelope::read(body)?;
    (envelope.kind == "Status").then(|| read(envelope.raw.unwrap_or_default()))
}

/// The message of a `Status`, as far as it can be read.
pub(super) fn read(message: &[u8]) -> Status {
    let mut status = Status::default();
    for field in Fields::of(message) {
        match field {
            (2, Value::Bytes(value)) => status.status = text(value),
            (3, Value::Bytes(value)) => status.message = text(value),
            (4, Value::Bytes(value)) => status.reason = text(value),
            (5, Value::Bytes(value)) => status.details = Some(details(value)),
            (6, Value::Number(code)) => status.code = u16::try_from(code).unwrap_or(0),
            _ => {}
        }
    }
    status
}

fn details(message: &[u8]) -> StatusDetails {
    let mut details = StatusDetails::default();
    for field in Fields::of(message) {
        match field {
            (1, Value::Bytes(value)) => details.name = text(value),
            (2, Value::Bytes(value)) => details.group = text(value),
            (3, Value::Bytes(value)) => details.kind = text(value),
            (4, Value::Bytes(value)) => details.causes.push(cause(value)),
            (5, Value::Number(seconds)) => {
                let seconds = seconds.cast_signed().max(0);
                details.retry_after_seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
            }
            (6, Value::Bytes(value)) => details.uid = text(value),
            _ => {}
        }
    }
    details
}

fn cause(message: &[u8]) -> StatusCause {
    let mut cause = StatusCause::default();
    for field in Fields::of(message) {
        match field {
            (1, Value::Bytes(value)) => cause.reason = text(value),
            (2, Value::Bytes(value)) => cause.message = text(value),
            (3, Value::Bytes(value)) => cause.field = text(value),
            _ => {}
        }
    }
    cause
}

//! Answers about resources, in the form that the client asked for.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;

use super::accept::Accepted;
use super::encode::Encoder;
use super::table_encode::TableEncoder;
use crate::store::{Frame, Page, ResourceDef, Stored};

/// Writes objects of one resource in the form that was negotiated.
#[derive(Clone, Debug)]
pub(super) enum Output {
    Objects(Encoder),
    Table(TableEncoder),
}

impl Output {
    pub(super) fn new(def: Arc<ResourceDef>, version: &str, accepted: Accepted) -> Self {
        match accepted {
            Accepted::Objects(form) => Self::Objects(Encoder::new(def, version, form)),
            Accepted::Table(include) => Self::Table(TableEncoder::new(def, version, include)),
        }
    }

    pub(super) fn object(&self, object: &Stored) -> Bytes {
        match self {
            Self::Objects(encoder) => encoder.object(object),
            Self::Table(encoder) => encoder.object(object, SystemTime::now()),
        }
    }

    pub(super) fn list(&self, page: &Page) -> Bytes {
        match self {
            Self::Objects(encoder) => encoder.list(page),
            Self::Table(encoder) => encoder.list(page, SystemTime::now()),
        }
    }

    /// Appends the lines of a watch.
    pub(super) fn frames(&mut self, frames: &[Frame], out: &mut Vec<u8>) {
        for frame in frames {
            match self {
                Self::Objects(encoder) => encoder.frame(frame, out),
                Self::Table(encoder) => encoder.frame(frame, SystemTime::now(), out),
            }
        }
    }
}

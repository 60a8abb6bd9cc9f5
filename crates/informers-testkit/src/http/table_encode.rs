//! Tables as bytes.

use std::io::Write as _;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::accept::IncludeObject;
use super::encode::{Encoder, Form, write_frame, write_list_metadata};
use crate::store::{Frame, Page, ResourceDef, Stored};
use crate::table::Printer;

/// Writes objects of one resource as tables.
#[derive(Clone, Debug)]
pub(super) struct TableEncoder {
    printer: Printer,
    /// How a row's object is written, if it is.
    objects: Option<Encoder>,
    /// The columns of a watch are told once.
    told: bool,
}

impl TableEncoder {
    pub(super) fn new(def: Arc<ResourceDef>, version: &str, include: IncludeObject) -> Self {
        let printer = Printer::new(&def, version);
        let objects = match include {
            IncludeObject::None => None,
            IncludeObject::Metadata => Some(Encoder::new(def, version, Form::Metadata)),
            IncludeObject::Object => Some(Encoder::new(def, version, Form::Whole)),
        };
        Self { printer, objects, told: false }
    }

    pub(super) fn list(&self, page: &Page, now: SystemTime) -> Bytes {
        let mut out = Vec::new();
        self.head(&mut out);
        write_list_metadata(page, &mut out);
        self.columns(&mut out);
        for (at, item) in page.items.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            self.row(item, now, &mut out);
        }
        out.extend_from_slice(b"]}");
        out.into()
    }

    pub(super) fn object(&self, object: &Stored, now: SystemTime) -> Bytes {
        let mut out = Vec::new();
        self.one(object, now, &mut out);
        out.into()
    }

    /// Appends one line of a watch.
    pub(super) fn frame(&mut self, frame: &Frame, now: SystemTime, out: &mut Vec<u8>) {
        let this = &*self;
        write_frame(frame, out, |out| match frame {
            Frame::Added(object) | Frame::Modified(object) | Frame::Deleted(object) => {
                this.one(object, now, out);
            }
            Frame::Bookmark { revision, initial_events_end } => {
                this.bookmark(*revision, *initial_events_end, now, out);
            }
            Frame::Error(status) => out.extend_from_slice(&status.to_bytes()),
        });
        self.told |= !matches!(frame, Frame::Error(_));
    }

    fn head(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",");
    }

    fn columns(&self, out: &mut Vec<u8>) {
        let columns = if self.told { Value::Null } else { self.printer.columns() };
        // Writing into memory does not fail.
        let _ = write!(out, ",\"columnDefinitions\":{columns},\"rows\":[");
    }

    fn cells(&self, object: &Map<String, Value>, now: SystemTime, out: &mut Vec<u8>) {
        let cells = Value::Array(self.printer.cells(object, now));
        let _ = write!(out, "{{\"cells\":{cells},\"object\":");
    }

    fn row(&self, object: &Stored, now: SystemTime, out: &mut Vec<u8>) {
        self.cells(&object.value, now, out);
        match &self.objects {
            Some(objects) => objects.write_object(object, out),
            None => out.extend_from_slice(b"null"),
        }
        out.push(b'}');
    }

    fn one(&self, object: &Stored, now: SystemTime, out: &mut Vec<u8>) {
        self.head(out);
        let _ = write!(out, "\"metadata\":{{\"resourceVersion\":\"{}\"}}", object.revision);
        self.columns(out);
        self.row(object, now, out);
        out.extend_from_slice(b"]}");
    }

    fn bookmark(&self, revision: u64, initial_events_end: bool, now: SystemTime, out: &mut Vec<u8>) {
        self.head(out);
        let _ = write!(out, "\"metadata\":{{\"resourceVersion\":\"{revision}\"}}");
        self.columns(out);
        let mut nothing = Map::new();
        nothing.insert("metadata".to_owned(), json!({}));
        self.cells(&nothing, now, out);
        match &self.objects {
            Some(objects) => objects.write_bookmark(revision, initial_events_end, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b"}]}");
    }
}

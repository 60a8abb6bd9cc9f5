//! Objects, lists and watch frames as bytes.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::ACCEPT;

use crate::Status;
use crate::store::{Frame, Page, ResourceDef, Stored};

/// How the client wants to see objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    /// `PartialObjectMetadata`.
    Metadata,
}

impl Form {
    /// The first form in the `Accept` header that this server knows.
    pub(crate) fn negotiate(headers: &HeaderMap) -> Result<Self, Status> {
        let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if accepted.peek().is_none() {
            return Ok(Self::Whole);
        }
        for range in accepted.flat_map(|value| value.split(',')) {
            let mut parts = range.split(';').map(str::trim);
            if !matches!(parts.next(), Some("application/json" | "application/*" | "*/*" | "")) {
                continue;
            }
            match parts.find_map(|part| part.strip_prefix("as=")) {
                None => return Ok(Self::Whole),
                Some("PartialObjectMetadata" | "PartialObjectMetadataList") => return Ok(Self::Metadata),
                Some(_) => {}
            }
        }
        let problem = "406: Not Acceptable\n\nAvailable representations: application/json, \
                       application/json;stream=watch";
        Err(Status::new(406, problem).with_details())
    }
}

/// Writes objects of one resource in one version and form.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    def: Arc<ResourceDef>,
    form: Form,
    /// `{"kind":…,"apiVersion":…,`, which goes before the members of an object.
    head: String,
    list_head: String,
}

impl Encoder {
    pub(crate) fn new(def: Arc<ResourceDef>, version: &str, form: Form) -> Self {
        let api_version = def.api_version(version);
        let head = |kind: &str, api_version: &str| {
            format!("{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",")
        };
        let (one, many) = match form {
            Form::Whole => (head(&def.kind, &api_version), head(&def.list_kind, &api_version)),
            Form::Metadata => (
                head("PartialObjectMetadata", "meta.k8s.io/v1"),
                head("PartialObjectMetadataList", "meta.k8s.io/v1"),
            ),
        };
        Self { def, form, head: one, list_head: many }
    }

    fn members<'a>(&self, object: &'a Stored) -> &'a [u8] {
        let json = match self.form {
            Form::Whole => object.json(),
            Form::Metadata => object.metadata_json(),
        };
        json.get(1..).unwrap_or_default()
    }

    fn write_object(&self, object: &Stored, out: &mut Vec<u8>) {
        out.extend_from_slice(self.head.as_bytes());
        out.extend_from_slice(self.members(object));
    }

    pub(crate) fn object(&self, object: &Stored) -> Bytes {
        let mut out = Vec::new();
        self.write_object(object, &mut out);
        out.into()
    }

    pub(crate) fn list(&self, page: &Page) -> Bytes {
        let size: usize = page.items.iter().map(|item| self.members(item).len() + self.head.len() + 1).sum();
        let mut out = Vec::with_capacity(size + 256);
        out.extend_from_slice(self.list_head.as_bytes());
        // Writing into memory does not fail.
        let _ = write!(out, "\"metadata\":{{\"resourceVersion\":\"{}\"", page.revision);
        if let Some(token) = &page.continue_token {
            let _ = write!(out, ",\"continue\":\"{token}\"");
        }
        if let Some(remaining) = page.remaining {
            let _ = write!(out, ",\"remainingItemCount\":{remaining}");
        }
        out.extend_from_slice(b"},\"items\":[");
        // Lists of built-in kinds leave out what each item is.
        let bare = !self.def.custom && self.form == Form::Whole;
        for (at, item) in page.items.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            if bare {
                out.extend_from_slice(item.json());
            } else {
                self.write_object(item, &mut out);
            }
        }
        out.extend_from_slice(b"]}");
        out.into()
    }

    /// Appends one line of a watch.
    pub(crate) fn frame(&self, frame: &Frame, out: &mut Vec<u8>) {
        let (kind, object) = match frame {
            Frame::Added(object) => ("ADDED", Some(object)),
            Frame::Modified(object) => ("MODIFIED", Some(object)),
            Frame::Deleted(object) => ("DELETED", Some(object)),
            Frame::Bookmark { .. } => ("BOOKMARK", None),
            Frame::Error(_) => ("ERROR", None),
        };
        let _ = write!(out, "{{\"type\":\"{kind}\",\"object\":");
        match (object, frame) {
            (Some(object), _) => self.write_object(object, out),
            (None, Frame::Bookmark { revision, initial_events_end }) => {
                out.extend_from_slice(self.head.as_bytes());
                let _ = write!(out, "\"metadata\":{{\"resourceVersion\":\"{revision}\"");
                if *initial_events_end {
                    out.extend_from_slice(b",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
                }
                out.extend_from_slice(b"}}");
            }
            (None, Frame::Error(status)) => out.extend_from_slice(&status.to_bytes()),
            (None, _) => {}
        }
        out.extend_from_slice(b"}\n");
    }
}

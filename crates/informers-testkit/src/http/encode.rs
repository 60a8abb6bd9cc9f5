//! Objects, lists and watch frames as bytes.

use std::io::Write as _;
use std::sync::Arc;

use bytes::Bytes;

use crate::store::{Frame, Page, ResourceDef, Stored};

/// How the client wants to see objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Whole,
    /// `PartialObjectMetadata`.
    Metadata,
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

    pub(super) fn write_object(&self, object: &Stored, out: &mut Vec<u8>) {
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
        write_list_metadata(page, &mut out);
        out.extend_from_slice(b",\"items\":[");
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
        write_frame(frame, out, |out| match frame {
            Frame::Added(object) | Frame::Modified(object) | Frame::Deleted(object) => {
                self.write_object(object, out);
            }
            Frame::Bookmark { revision, initial_events_end } => {
                self.write_bookmark(*revision, *initial_events_end, out);
            }
            Frame::Error(status) => out.extend_from_slice(&status.to_bytes()),
        });
    }

    /// The object of a bookmark.
    pub(super) fn write_bookmark(&self, revision: u64, initial_events_end: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(self.head.as_bytes());
        let _ = write!(out, "\"metadata\":{{\"resourceVersion\":\"{revision}\"");
        if initial_events_end {
            out.extend_from_slice(b",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
        }
        out.extend_from_slice(b"}}");
    }
}

/// Appends the `metadata` of a list.
pub(super) fn write_list_metadata(page: &Page, out: &mut Vec<u8>) {
    // Writing into memory does not fail.
    let _ = write!(out, "\"metadata\":{{\"resourceVersion\":\"{}\"", page.revision);
    if let Some(token) = &page.continue_token {
        let _ = write!(out, ",\"continue\":\"{token}\"");
    }
    if let Some(remaining) = page.remaining {
        let _ = write!(out, ",\"remainingItemCount\":{remaining}");
    }
    out.push(b'}');
}

/// Appends one line of a watch around an object.
pub(super) fn write_frame(frame: &Frame, out: &mut Vec<u8>, object: impl FnOnce(&mut Vec<u8>)) {
    let kind = match frame {
        Frame::Added(_) => "ADDED",
        Frame::Modified(_) => "MODIFIED",
        Frame::Deleted(_) => "DELETED",
        Frame::Bookmark { .. } => "BOOKMARK",
        Frame::Error(_) => "ERROR",
    };
    let _ = write!(out, "{{\"type\":\"{kind}\",\"object\":");
    object(out);
    out.extend_from_slice(b"}\n");
}

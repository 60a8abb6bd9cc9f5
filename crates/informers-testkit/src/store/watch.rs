//! Watches: a position in a resource's history.

use std::sync::Arc;

use super::list::{no_resource, too_large};
use super::{ListOptions, PastEvent, ResourceDef, Selection, Store, Stored, WatchOptions};
use crate::Status;

/// An open watch. It holds no events: it reads the history from its position, so a slow reader costs
/// nothing and holds up nobody.
#[derive(Debug)]
pub(crate) struct Watch {
    ident: String,
    incarnation: u64,
    selection: Selection,
    /// Everything up to this revision was told.
    position: u64,
    bookmarks: bool,
    /// Frames that are told before anything else.
    first: std::collections::VecDeque<Frame>,
    ended: bool,
}

/// One frame of a watch.
#[derive(Clone, Debug)]
pub(crate) enum Frame {
    Added(Arc<Stored>),
    Modified(Arc<Stored>),
    Deleted(Arc<Stored>),
    Bookmark { revision: u64, initial_events_end: bool },
    Error(Status),
}

/// What a watch has to tell.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) frames: Vec<Frame>,
    /// Nothing more will come.
    pub(crate) ended: bool,
    /// More is there already.
    pub(crate) more: bool,
}

impl Store {
    /// Opens a watch.
    pub(crate) fn watch(&self, def: &ResourceDef, options: &WatchOptions) -> Result<Watch, Status> {
        let ident = def.ident();
        let Some(collection) = self.collections.get(&ident) else {
            return Err(no_resource());
        };
        let mut watch = Watch {
            ident,
            incarnation: collection.incarnation,
            selection: options.selection.clone(),
            position: self.revision,
            bookmarks: options.bookmarks,
            first: std::collections::VecDeque::new(),
            ended: false,
        };
        let version = options.version.unwrap_or_default();
        let initial = options.send_initial_events.unwrap_or(version == 0);
        if initial {
            if version > self.revision {
                watch.fail(too_large(version, self.revision));
                return Ok(watch);
            }
            let list = ListOptions { selection: options.selection.clone(), ..ListOptions::default() };
            watch.first.extend(self.list(def, &list)?.items.into_iter().map(Frame::Added));
            if options.bookmarks {
                watch.first.push_back(Frame::Bookmark { revision: self.revision, initial_events_end: true });
            }
        } else if version > 0 {
            let oldest = self.compacted.max(collection.floor);
            if version < oldest {
                watch.fail(Status::new(410, format!("too old resource version: {version} ({oldest})")));
                return Ok(watch);
            }
            // A version from the future is taken: what happens up to it is not told.
            watch.position = version;
        }
        Ok(watch)
    }

    /// The next frames of a watch, at most `limit` and at least one if there is any.
    pub(crate) fn poll_watch(&self, watch: &mut Watch, limit: usize) -> Batch {
        let mut batch = Batch::default();
        while batch.frames.len() < limit {
            let Some(frame) = watch.first.pop_front() else { break };
            batch.frames.push(frame);
        }
        if !watch.first.is_empty() {
            batch.more = true;
            return batch;
        }
        if watch.ended {
            batch.ended = true;
            return batch;
        }
        let served =
            self.collections.get(&watch.ident).filter(|found| found.incarnation == watch.incarnation);
        let retired = || self.retired.iter().find(|found| found.incarnation == watch.incarnation);
        let Some(collection) = served.or_else(retired) else {
            watch.ended = true;
            batch.ended = true;
            return batch;
        };
        if watch.position < collection.floor {
            let oldest = collection.floor;
            let problem = format!("too old resource version: {} ({oldest})", watch.position);
            batch.frames.push(Frame::Error(Status::new(410, problem)));
            watch.ended = true;
            batch.ended = true;
            return batch;
        }
        let from = collection.history.partition_point(|event| event.revision <= watch.position);
        for event in collection.history.range(from..) {
            if batch.frames.len() >= limit {
                batch.more = true;
                return batch;
            }
            watch.position = event.revision;
            batch.frames.extend(frame(&watch.selection, event));
        }
        watch.position = watch.position.max(self.revision);
        watch.ended = served.is_none();
        batch.ended = watch.ended;
        batch
    }
}

impl Watch {
    fn fail(&mut self, status: Status) {
        self.first.push_back(Frame::Error(status));
        self.ended = true;
    }

    /// A bookmark of where the watch stands, if its reader wants such and has been told everything before.
    pub(crate) fn bookmark(&self) -> Option<Frame> {
        let ready = self.bookmarks && self.first.is_empty() && !self.ended;
        ready.then_some(Frame::Bookmark { revision: self.position, initial_events_end: false })
    }
}

/// What an event is for those who look at a selection only.
fn frame(selection: &Selection, event: &PastEvent) -> Option<Frame> {
    let selected = |object: &Option<Arc<Stored>>| object.clone().filter(|object| selection.matches(object));
    match (selected(&event.old), selected(&event.new)) {
        (None, Some(new)) => Some(Frame::Added(new)),
        (Some(_), Some(new)) => Some(Frame::Modified(new)),
        (Some(_), None) => event.left().map(Frame::Deleted),
        (None, None) => None,
    }
}

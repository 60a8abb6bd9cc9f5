//! Reading a list-watch to the end of what a check wants.

use std::time::Duration;

use futures_util::StreamExt;
use informers_core::{
    ChangeKind, Error, Item, ListParams, ListPart, ListTrailer, ListWatch, ResourceVersion, WatchEvent,
    WatchParams, WatchStream,
};

use super::{Finding, ensure};

/// How long a check waits for an answer. Servers may take three seconds to find a version too large.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) async fn in_time<R>(what: &str, future: impl Future<Output = R>) -> Result<R, Finding> {
    let outcome = tokio::time::timeout(PATIENCE, future).await;
    outcome.map_err(|_| Finding::new(format!("{what}: nothing came within {PATIENCE:?}")))
}

/// One page: names with versions, and its trailer.
pub(super) async fn page<T: 'static>(
    list_watch: &dyn ListWatch<T>,
    params: ListParams,
) -> Result<(Vec<(String, ResourceVersion)>, ListTrailer), Finding> {
    try_page(list_watch, params).await?.map_err(|error| Finding::of("list", error))
}

/// As `page`; a refusal is the inner error.
pub(super) async fn try_page<T: 'static>(
    list_watch: &dyn ListWatch<T>,
    params: ListParams,
) -> Result<Result<(Vec<(String, ResourceVersion)>, ListTrailer), Error>, Finding> {
    let mut parts = match in_time("a list", list_watch.list(params)).await? {
        Ok(parts) => parts,
        Err(error) => return Ok(Err(error)),
    };
    let (mut names, mut trailer) = (Vec::new(), None);
    while let Some(part) = in_time("the rest of a list", parts.next()).await? {
        ensure(trailer.is_none(), || "a list went on after its trailer".to_owned())?;
        match part {
            Ok(ListPart::Items(items)) => {
                for item in &items {
                    names.push(identity(item)?);
                }
            }
            Ok(ListPart::Trailer(found)) => trailer = Some(found),
            Err(error) => return Ok(Err(error)),
        }
    }
    let trailer = trailer.ok_or_else(|| Finding::new("a list ended without a trailer"))?;
    ensure(trailer.version.is_specific(), || format!("a list has the version {:?}", trailer.version))?;
    Ok(Ok((names, trailer)))
}

fn identity<T>(item: &Item<T>) -> Result<(String, ResourceVersion), Finding> {
    let Item::Decoded(entry) = item else {
        return Err(Finding::new("an object could not be decoded"));
    };
    ensure(!entry.version().is_empty(), || format!("{} has no version", entry.key()))?;
    ensure(!entry.uid().is_empty(), || format!("{} has no uid", entry.key()))?;
    Ok((entry.key().name().to_owned(), entry.version().clone()))
}

/// An event as a check compares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Change { kind: ChangeKind, name: String, version: ResourceVersion },
    InitialEventsEnd(ResourceVersion),
}

impl Seen {
    /// `Added name`, or `end`.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Change { kind, name, .. } => format!("{kind:?} {name}"),
            Self::InitialEventsEnd(_) => "end".to_owned(),
        }
    }
}

/// An open watch.
pub(super) struct Watched<T> {
    events: WatchStream<T>,
    read: std::collections::VecDeque<Seen>,
}

impl<T: 'static> Watched<T> {
    pub(super) async fn open(list_watch: &dyn ListWatch<T>, params: WatchParams) -> Result<Self, Finding> {
        let events = in_time("a watch", list_watch.watch(params)).await?;
        let events = events.map_err(|error| Finding::of("watch", error))?;
        Ok(Self { events, read: std::collections::VecDeque::new() })
    }

    /// The next event that is not an ordinary bookmark.
    pub(super) async fn next(&mut self) -> Result<Seen, Finding> {
        loop {
            if let Some(seen) = self.read.pop_front() {
                return Ok(seen);
            }
            let batch = in_time("an event", self.events.next()).await?;
            let batch = batch.ok_or_else(|| Finding::new("the watch ended too early"))?;
            for event in batch.map_err(|error| Finding::of("read a watch", error))? {
                match event {
                    WatchEvent::Change(change) => {
                        let (name, version) = identity(&change.item)?;
                        self.read.push_back(Seen::Change { kind: change.kind, name, version });
                    }
                    WatchEvent::Bookmark { version, initial_events_end: true } => {
                        self.read.push_back(Seen::InitialEventsEnd(version));
                    }
                    WatchEvent::Bookmark { .. } => {}
                    other => return Err(Finding::new(format!("an unknown event: {:?}", other.version()))),
                }
            }
        }
    }

    /// The next events, as texts.
    pub(super) async fn take(&mut self, count: usize) -> Result<Vec<String>, Finding> {
        let mut texts = Vec::new();
        for _ in 0..count {
            texts.push(self.next().await?.text());
        }
        Ok(texts)
    }
}

/// The error that a watch ends with, whether the request is refused or the error comes inside.
pub(super) async fn watch_error<T: 'static>(
    list_watch: &dyn ListWatch<T>,
    params: WatchParams,
) -> Result<Error, Finding> {
    let mut events = match in_time("a watch", list_watch.watch(params)).await? {
        Ok(events) => events,
        Err(error) => return Ok(error),
    };
    loop {
        match in_time("an error", events.next()).await? {
            Some(Ok(events)) => {
                let silent = events.iter().all(|event| matches!(event, WatchEvent::Bookmark { .. }));
                ensure(silent, || "the watch told changes where an error was due".to_owned())?;
            }
            Some(Err(error)) => return Ok(error),
            None => return Err(Finding::new("the watch ended in good order where an error was due")),
        }
    }
}

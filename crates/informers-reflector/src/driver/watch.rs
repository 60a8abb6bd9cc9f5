//! Following a watch.

use futures_util::StreamExt;
use informers_core::{
    ChangeKind, Error, ErrorKind, Item, ListWatch, ResourceVersion, Sink, WatchEvent, WatchStream,
};
use tokio_util::sync::CancellationToken;

use super::list::known;
use super::stream::unknown_event;
use super::waits::{Waited, resyncing, sink_ready};
use super::{Observer, Reflector, Step, Stop, now};
use crate::Phase;
use crate::machine::{EventKind, Memory, Next, Opening, Watching};

impl<T: Send + Sync + 'static> Reflector<T> {
    pub(super) async fn open(&mut self, opening: Opening, cancel: &CancellationToken) -> Step {
        let Self { list_watch, sink, memory, resyncs, observer, .. } = self;
        resyncs.rest_unless(memory, true);
        observer.update(|status| status.watches += 1);
        let request = list_watch.watch(opening.params().clone());
        let deadline = opening.deadline(memory);
        match resyncing(request, &mut **sink, resyncs, observer, cancel, deadline).await? {
            Waited::Done(Ok(stream)) => self.watch(opening.opened(now()), stream, Vec::new(), cancel).await,
            Waited::Done(Err(error)) => Ok(opening.failed(memory, error, now())),
            Waited::TimedOut => {
                let error = Error::new(ErrorKind::Timeout, format!("watch {}", list_watch.description()))
                    .with_message("the server did not answer");
                Ok(opening.failed(memory, error, now()))
            }
            Waited::ResyncRefused(refusal) => Ok(memory.resync_refused(resync_error(refusal), now())),
        }
    }

    /// Delivers what `stream` brings, after the batch that is there already.
    pub(super) async fn watch(
        &mut self,
        mut watching: Watching,
        mut stream: WatchStream<T>,
        batch: Vec<WatchEvent<T>>,
        cancel: &CancellationToken,
    ) -> Step {
        let Self { list_watch, sink, memory, resyncs, observer, .. } = self;
        observer.tell(memory);
        observer.enter(Phase::Watching);
        let mut there = Some(batch).filter(|batch| !batch.is_empty());
        let error = 'watch: loop {
            sink_ready(&mut **sink, cancel).await?;
            watching.listening(now());
            let batch = match there.take() {
                Some(batch) => batch,
                None => {
                    let deadline = watching.deadline(memory);
                    match resyncing(stream.next(), &mut **sink, resyncs, observer, cancel, deadline).await? {
                        Waited::Done(Some(Ok(batch))) => batch,
                        Waited::Done(Some(Err(error))) => break 'watch Some(error),
                        Waited::Done(None) => break 'watch None,
                        Waited::TimedOut => {
                            let action = format!("watch {}", list_watch.description());
                            let silence = "nothing arrived for longer than the watch was to last";
                            break 'watch Some(Error::new(ErrorKind::Timeout, action).with_message(silence));
                        }
                        Waited::ResyncRefused(refusal) => {
                            observer.watch_ended(watching.events(), watching.began());
                            return Ok(memory.resync_refused(resync_error(refusal), now()));
                        }
                    }
                }
            };
            let now = now();
            for event in batch {
                let delivered =
                    deliver(event, &**list_watch, &mut **sink, &mut watching, memory, observer, now)?;
                if let Err(error) = delivered {
                    break 'watch Some(error);
                }
            }
            // That a denial has ended is known with the first event, not when the watch ends.
            observer.tell(memory);
            observer.watch_activity(memory, watching.events());
        };
        observer.activity(memory);
        observer.watch_ended(watching.events(), watching.began());
        let Some(error) = error else { return Ok(watching.ended(memory, now())) };
        let next = watching.failed(memory, error.clone(), now());
        if let Next::Open(_) = next {
            // Until the next one is there nothing is watched, and that may take as long as its time limit.
            observer.enter(Phase::Waiting { reason: error, until: now() });
        }
        Ok(next)
    }
}

/// Gives one event to the sink. The inner error ends the watch.
fn deliver<T: 'static>(
    event: WatchEvent<T>,
    list_watch: &dyn ListWatch<T>,
    sink: &mut dyn Sink<T>,
    watching: &mut Watching,
    memory: &mut Memory,
    observer: &Observer,
    now: std::time::Instant,
) -> Result<Result<(), Error>, Stop> {
    match event {
        WatchEvent::Change(mut change) => {
            match &change.item {
                Item::Undecodable(undecodable) => {
                    observer.undecodable(undecodable);
                    if memory.parity().fail_on_bad_objects {
                        let action = format!("watch {}", list_watch.description());
                        return Ok(Err(Error::new(ErrorKind::Other, action)
                            .with_message("an event cannot be decoded")
                            .with_source(undecodable.clone())));
                    }
                }
                // A change has another version; what is shown again by a watch may be there already.
                Item::Decoded(entry) if change.kind == ChangeKind::Added => {
                    let look_up = |entry: &informers_core::Entry<T>| {
                        sink.known(entry.key(), entry.uid(), entry.version())
                    };
                    if let Some(item) = known(entry, look_up) {
                        change.item = item;
                    }
                }
                Item::Decoded(_) => {}
            }
            let (kind, version) = (change.kind.into(), change.item.version().clone());
            if let Err(refusal) = sink.apply(change) {
                observer.refused(&refusal)?;
            }
            watching.event(memory, kind, &version, now);
        }
        WatchEvent::Bookmark { version, .. } => {
            if let Err(refusal) = sink.bookmark(&version) {
                observer.refused(&refusal)?;
            }
            watching.event(memory, EventKind::Bookmark, &version, now);
        }
        WatchEvent::Unknown { event_type, .. } => {
            if memory.parity().fail_on_unknown_events {
                return Ok(Err(unknown_event(&list_watch.description(), &event_type)));
            }
            observer.unknown_event(&event_type);
            watching.event(memory, EventKind::Unknown, &ResourceVersion::default(), now);
        }
        _ => {}
    }
    Ok(Ok(()))
}

pub(super) fn resync_error(refusal: informers_core::SinkError) -> Error {
    Error::new(ErrorKind::Other, "resync").with_source(refusal)
}

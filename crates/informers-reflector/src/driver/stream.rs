//! Reading a streaming list.

use futures_util::{FutureExt, StreamExt};
use informers_core::{Error, ErrorKind, WatchEvent};
use tokio_util::sync::CancellationToken;

use super::consistency::Streamed;
use super::list::{BadObject, not_taken, offer, undecodable};
use super::waits::{bounded, stage_ready};
use super::{Reflector, Step, Stop, now};
use crate::Phase;
use crate::machine::{EventKind, Initial, Listing, Streaming};

impl<T: Send + Sync + 'static> Reflector<T> {
    pub(super) async fn stream(&mut self, mut streaming: Streaming, cancel: &CancellationToken) -> Step {
        let Self { list_watch, sink, scope, memory, resyncs, observer, consistency_check } = self;
        resyncs.rest_unless(memory, false);
        observer.list_began(Phase::Streaming);
        let began = now();
        let opening = list_watch.watch(streaming.params().clone());
        let Ok(opened) = bounded(opening, cancel, streaming.deadline(memory)).await else {
            if memory.parity().list_after_stop {
                let request = Listing::begin(memory, now()).request().clone();
                drop(list_watch.list(request).now_or_never());
            }
            return Err(Stop);
        };
        let mut stream = match opened {
            Some(Ok(stream)) => stream,
            Some(Err(error)) => return Ok(streaming.failed(memory, error, now())),
            None => return Ok(streaming.given_up(memory, now())),
        };
        streaming.opened();
        let mut streamed = consistency_check.then(Streamed::default);
        let mut items = 0;
        let mut stage = sink.begin_streaming(scope);
        let (version, rest) = 'initial: loop {
            streaming.held_up(stage_ready(&mut *stage, cancel).await?);
            let batch = match bounded(stream.next(), cancel, streaming.deadline(memory)).await? {
                Some(Some(Ok(batch))) => batch,
                Some(Some(Err(error))) => return Ok(streaming.failed(memory, error, now())),
                Some(None) => return Ok(streaming.ended(memory, now())),
                None => return Ok(streaming.given_up(memory, now())),
            };
            observer.activity(memory);
            let now = now();
            let mut batch = batch.into_iter();
            while let Some(event) = batch.next() {
                match event {
                    WatchEvent::Change(change) => {
                        streaming.event(memory, change.kind.into(), now);
                        if let Some(streamed) = &mut streamed {
                            streamed.note(&change);
                        }
                        items += 1;
                        // An object that is refused is missing, also in client-go.
                        if let Err(BadObject::Undecodable(bad)) =
                            offer(&mut *stage, memory, observer, change)?
                        {
                            return Ok(streaming.failed(memory, undecodable(&**list_watch, bad), now));
                        }
                    }
                    WatchEvent::Bookmark { version, initial_events_end: true } => {
                        break 'initial (version, batch);
                    }
                    WatchEvent::Bookmark { .. } => streaming.event(memory, EventKind::Bookmark, now),
                    WatchEvent::Unknown { event_type, .. } => {
                        if memory.parity().fail_on_unknown_events {
                            let error = unknown_event(&list_watch.description(), &event_type);
                            return Ok(streaming.failed(memory, error, now));
                        }
                        observer.unknown_event(&event_type);
                    }
                    _ => {}
                }
            }
            // A stream that always has something never lets the limit come to its turn.
            if streaming.deadline(memory).is_some_and(|deadline| deadline <= now) {
                return Ok(streaming.given_up(memory, now));
            }
        };
        streaming = match streaming.completed(memory, &version, now()) {
            Initial::Complete(streaming) => streaming,
            Initial::Dropped(next) => return Ok(next),
        };
        if let Err(refusal) = stage.commit(&version) {
            observer.refused(&refusal)?;
            let error = not_taken(&**list_watch, refusal);
            return Ok(streaming.refused(memory, error, now()));
        }
        let watching = streaming.taken(memory, version.clone(), now());
        observer.list_taken(memory, items, began);
        resyncs.list_taken();
        if let Some(streamed) = streamed {
            streamed.compare(list_watch, version, observer, cancel).await?;
        }
        self.watch(watching, stream, rest.collect(), cancel).await
    }
}

/// The error by which an event of an unknown type ends a watch under client-go's rules.
pub(super) fn unknown_event(description: &str, event_type: &str) -> Error {
    Error::new(ErrorKind::Other, format!("watch {description}"))
        .with_message(format!("an event of the unknown type {event_type:?}"))
}

//! A watch, in batches of events as they arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use informers_core::{Decode, Error, Resource, WatchEvent};
use informers_wire::{StreamEnd, WatchFrame};

use super::batches::{Batches, Cut, Part};
use super::decode::{self, Events};
use super::form::Framer;
use super::list::stopped;
use crate::chunks::Chunks;
use crate::{ClientError, ConnectionFailure, Limits};

/// The stream behind [`ListWatch::watch`](informers_core::ListWatch::watch).
pub(crate) struct Watch<T: Send + Sync + 'static> {
    batches: Batches<Frames<T>>,
    action: Arc<str>,
    /// The error among the events, which comes after those before it.
    error: Option<Error>,
}

impl<T: Send + Sync + 'static> Watch<T> {
    pub(super) fn new(chunks: Chunks, resource: &Resource<T>, limits: &Limits, action: String) -> Self {
        let action: Arc<str> = action.into();
        let frames = Frames {
            framer: Framer::new(resource.decoder().representation(), limits.object_size),
            decoder: Arc::clone(resource.decoder()),
            action: Arc::clone(&action),
        };
        Self { batches: Batches::new(chunks, frames, limits.decoders), action, error: None }
    }
}

impl<T: Send + Sync + 'static> Stream for Watch<T> {
    type Item = Result<Vec<WatchEvent<T>>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match ready!(this.batches.poll_part(cx)) {
                Some(Ok(Part::Batch(Events { events, end }))) => {
                    if let Some(error) = end {
                        // What the server sent behind its error does not count.
                        this.batches.stop();
                        this.error = Some(error);
                    }
                    if !events.is_empty() {
                        return Poll::Ready(Some(Ok(events)));
                    }
                }
                Some(Ok(Part::End(end))) => return Poll::Ready(end.map(Err)),
                Some(Err(error)) => {
                    let error = stopped(&this.action, error).into_core(&this.action);
                    return Poll::Ready(Some(Err(error)));
                }
                None => return Poll::Ready(this.error.take().map(Err)),
            }
        }
    }
}

/// A watch's body, cut into its frames.
struct Frames<T> {
    framer: Framer,
    decoder: Arc<dyn Decode<T>>,
    action: Arc<str>,
}

impl<T: Send + Sync + 'static> Cut for Frames<T> {
    type Raw = Result<WatchFrame, informers_wire::Error>;
    type Batch = Events<T>;
    /// An error, unless it is a good end.
    type End = Option<Error>;

    const BYTES: usize = 128 << 10;
    const OBJECTS: usize = 256;
    /// Events must not wait for more of them.
    const IS_EAGER: bool = true;

    fn push(&mut self, chunk: Bytes) {
        self.framer.push(chunk);
    }

    fn next(&mut self) -> Result<Option<(Self::Raw, usize)>, Self::End> {
        match self.framer.next_event().transpose() {
            Some(Err(error)) if error.is_fatal() => {
                let error = ClientError::UnexpectedAnswer {
                    action: self.action.to_string(),
                    problem: "the answer is not the watch that was asked for".to_owned(),
                    source: crate::error::cause(error),
                };
                Err(Some(error.into_core(&self.action)))
            }
            frame => Ok(frame.map(|frame| {
                let bytes = frame.as_ref().map_or(0, decode::bytes);
                (frame, bytes)
            })),
        }
    }

    fn decoder(&self) -> impl FnOnce(Vec<Self::Raw>) -> Self::Batch + Send + 'static {
        let (decoder, action) = (Arc::clone(&self.decoder), Arc::clone(&self.action));
        move |batch| decode::events(&*decoder, batch, &action)
    }

    fn finish(self) -> Self::End {
        let action = self.action.to_string();
        let error = match self.framer.finish() {
            StreamEnd::Clean => return None,
            StreamEnd::MidFrame { bytes } => ClientError::Connection {
                action,
                failure: ConnectionFailure::Lost,
                problem: format!("the watch was cut within an event, after {bytes} bytes of it"),
                source: None,
            },
            other => ClientError::UnexpectedAnswer {
                action,
                problem: format!("the watch ended in something that is no event: {other:?}"),
                source: None,
            },
        };
        Some(error.into_core(&self.action))
    }

    fn broke(self, error: ClientError, gracefully: bool) -> Self::End {
        // A server that ends its connections in good order ends its watches so too.
        if gracefully { self.finish() } else { Some(error.into_core(&self.action)) }
    }
}

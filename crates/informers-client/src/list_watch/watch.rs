//! A watch, in batches of events as they arrive.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use informers_core::{Decode, Error, Resource, WatchEvent};
use informers_wire::{StreamEnd, WatchFrame, WatchFramer};

use super::decode::{self, Events};
use super::list::stopped;
use super::pipeline::Pipeline;
use crate::chunks::Chunks;
use crate::{ClientError, ConnectionFailure, Limits};

/// A batch is handed on when it has so many bytes or frames, or when nothing more is there.
const BATCH_BYTES: usize = 256 << 10;
const BATCH_FRAMES: usize = 256;

/// The stream behind [`ListWatch::watch`](informers_core::ListWatch::watch).
pub(crate) struct Watch<T> {
    chunks: Chunks,
    /// Taken when the body has ended.
    framer: Option<WatchFramer>,
    batch: Vec<Result<WatchFrame, informers_wire::Error>>,
    batch_bytes: usize,
    pipeline: Pipeline<Events<T>>,
    decoder: Arc<dyn Decode<T>>,
    action: Arc<str>,
    /// What comes after the last batch, if it is no good end.
    end: Option<Error>,
}

impl<T: Send + Sync + 'static> Watch<T> {
    pub(super) fn new(chunks: Chunks, resource: &Resource<T>, limits: &Limits, action: String) -> Self {
        Self {
            chunks,
            framer: Some(WatchFramer::new().with_max_frame_size(limits.object_size)),
            batch: Vec::new(),
            batch_bytes: 0,
            pipeline: Pipeline::new(limits.decoders),
            decoder: Arc::clone(resource.decoder()),
            action: action.into(),
            end: None,
        }
    }

    /// Takes the frames that are whole. Stops early when the pipeline is full.
    fn frame(&mut self) {
        while !self.pipeline.is_full() {
            let Some(framer) = &mut self.framer else { return };
            let Some(next) = framer.next_event().transpose() else { return };
            self.batch_bytes += next.as_ref().map_or(0, decode::bytes);
            self.batch.push(next);
            if self.batch_bytes >= BATCH_BYTES || self.batch.len() >= BATCH_FRAMES {
                self.flush();
            }
        }
    }

    fn flush(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        let batch = std::mem::take(&mut self.batch);
        let decoder = Arc::clone(&self.decoder);
        let action = Arc::clone(&self.action);
        self.pipeline
            .push(std::mem::take(&mut self.batch_bytes), move || decode::events(&*decoder, batch, &action));
    }

    fn finish(&mut self, ended: Result<StreamEnd, ClientError>) {
        self.flush();
        self.framer = None;
        let action = self.action.to_string();
        let error = match ended {
            Ok(StreamEnd::Clean) => return,
            Ok(StreamEnd::MidFrame { bytes }) => ClientError::Connection {
                action,
                failure: ConnectionFailure::Lost,
                problem: format!("the watch was cut within an event, after {bytes} bytes of it"),
                source: None,
            },
            Ok(other) => ClientError::UnexpectedAnswer {
                action,
                problem: format!("the watch ended in something that is no event: {other:?}"),
                source: None,
            },
            Err(error) => error,
        };
        self.end = Some(error.into_core(&self.action));
    }
}

impl<T: Send + Sync + 'static> Stream for Watch<T> {
    type Item = Result<Vec<WatchEvent<T>>, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            match this.pipeline.poll_next(cx) {
                Poll::Ready(Some(Ok(Events { events, end }))) => {
                    if let Some(end) = end {
                        // What the server sent behind its error does not count.
                        this.framer = None;
                        this.batch.clear();
                        this.pipeline = Pipeline::new(1);
                        this.end = Some(end);
                    }
                    if !events.is_empty() {
                        return Poll::Ready(Some(Ok(events)));
                    }
                    continue;
                }
                Poll::Ready(Some(Err(error))) => {
                    this.framer = None;
                    this.end = None;
                    let error = stopped(&this.action, error).into_core(&this.action);
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) if this.framer.is_none() => return Poll::Ready(this.end.take().map(Err)),
                Poll::Ready(None) => {}
                Poll::Pending if this.framer.is_none() || this.pipeline.is_full() => return Poll::Pending,
                Poll::Pending => {}
            }
            this.frame();
            if this.pipeline.is_full() || this.pipeline.is_unpolled() {
                continue;
            }
            match this.chunks.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    if let Some(framer) = &mut this.framer {
                        framer.push(chunk);
                    }
                    this.frame();
                }
                // A server that ends its connections in good order ends its watches so too.
                Poll::Ready(Some(Err(_))) if this.chunks.was_cut_gracefully() => {
                    if let Some(framer) = this.framer.take() {
                        this.finish(Ok(framer.finish()));
                    }
                }
                Poll::Ready(Some(Err(error))) => this.finish(Err(error)),
                Poll::Ready(None) => {
                    if let Some(framer) = this.framer.take() {
                        this.finish(Ok(framer.finish()));
                    }
                }
                // Events must not wait for more of them.
                Poll::Pending if !this.batch.is_empty() => this.flush(),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

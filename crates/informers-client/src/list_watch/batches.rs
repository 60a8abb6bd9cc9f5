//! A body that is cut into raw objects as it arrives, which are decoded in batches, in order.

use std::task::{Context, Poll};

use bytes::Bytes;

use super::pipeline::{Interrupted, Pipeline};
use crate::ClientError;
use crate::chunks::Chunks;

/// How a body is cut, and how its objects are decoded.
pub(super) trait Cut {
    /// One object, or what is known of one that cannot be cut out.
    type Raw: Send + 'static;
    /// What becomes of a batch.
    type Batch: Send + 'static;
    /// What comes after the last batch.
    type End;

    /// A batch is handed on when it has so many bytes…
    const BYTES: usize;
    /// … or so many objects.
    const OBJECTS: usize;
    /// Whether a smaller one is handed on when nothing more is there for the moment, although another is still
    /// being decoded.
    const IS_EAGER: bool;

    fn push(&mut self, chunk: Bytes);

    /// The next object that is whole, and its size; an end if what follows cannot be read.
    fn next(&mut self) -> Result<Option<(Self::Raw, usize)>, Self::End>;

    /// Decodes a batch, on any thread.
    fn decoder(&self) -> impl FnOnce(Vec<Self::Raw>) -> Self::Batch + Send + 'static;

    /// The body has ended.
    fn finish(self) -> Self::End;

    /// The body broke; `gracefully` if the server had announced that.
    fn broke(self, error: ClientError, gracefully: bool) -> Self::End;
}

/// Batches, then the end.
pub(super) struct Batches<C: Cut> {
    chunks: Chunks,
    /// Taken when the body has ended.
    cut: Option<C>,
    batch: Vec<C::Raw>,
    bytes: usize,
    pipeline: Pipeline<C::Batch>,
    end: Option<C::End>,
}

pub(super) enum Part<C: Cut> {
    Batch(C::Batch),
    End(C::End),
}

impl<C: Cut> Batches<C> {
    pub(super) fn new(chunks: Chunks, cut: C, decoders: usize) -> Self {
        let pipeline = Pipeline::new(decoders);
        Self { chunks, cut: Some(cut), batch: Vec::new(), bytes: 0, pipeline, end: None }
    }

    /// The next part; none behind the end. It fails if the runtime is shutting down, and is over then.
    pub(super) fn poll_part(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Part<C>, Interrupted>>> {
        loop {
            match self.pipeline.poll_next(cx) {
                Poll::Ready(Some(Ok(batch))) => return Poll::Ready(Some(Ok(Part::Batch(batch)))),
                Poll::Ready(Some(Err(error))) => {
                    self.stop();
                    return Poll::Ready(Some(Err(error)));
                }
                Poll::Ready(None) if self.cut.is_none() => {
                    return Poll::Ready(self.end.take().map(|end| Ok(Part::End(end))));
                }
                Poll::Ready(None) => {}
                Poll::Pending if self.cut.is_none() || self.pipeline.is_full() => return Poll::Pending,
                Poll::Pending => {}
            }
            self.fill();
            if self.pipeline.is_full() || self.pipeline.is_unpolled() || self.cut.is_none() {
                continue;
            }
            match self.chunks.poll_chunk(cx) {
                Poll::Ready(Some(Ok(chunk))) => {
                    if let Some(cut) = &mut self.cut {
                        cut.push(chunk);
                    }
                    self.fill();
                }
                Poll::Ready(Some(Err(error))) => {
                    let gracefully = self.chunks.was_cut_gracefully();
                    self.end(|cut| cut.broke(error, gracefully));
                }
                Poll::Ready(None) => self.end(C::finish),
                // Nothing to read: what there is goes on.
                Poll::Pending if !self.batch.is_empty() && (C::IS_EAGER || self.pipeline.is_empty()) => {
                    self.flush();
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Nothing more is to come.
    pub(super) fn stop(&mut self) {
        self.cut = None;
        self.batch.clear();
        self.pipeline = Pipeline::new(1);
        self.end = None;
    }

    /// Takes the objects that are whole, until the pipeline is full.
    fn fill(&mut self) {
        while !self.pipeline.is_full() {
            let Some(cut) = &mut self.cut else { return };
            match cut.next() {
                Ok(None) => return,
                Ok(Some((raw, bytes))) => {
                    self.bytes += bytes;
                    self.batch.push(raw);
                    if self.bytes >= C::BYTES || self.batch.len() >= C::OBJECTS {
                        self.flush();
                    }
                }
                Err(end) => return self.end(|_| end),
            }
        }
    }

    fn flush(&mut self) {
        let Some(cut) = self.cut.as_ref().filter(|_| !self.batch.is_empty()) else { return };
        let (decode, batch) = (cut.decoder(), std::mem::take(&mut self.batch));
        self.pipeline.push(std::mem::take(&mut self.bytes), move || decode(batch));
    }

    fn end(&mut self, end: impl FnOnce(C) -> C::End) {
        self.flush();
        self.end = self.cut.take().map(end);
    }
}

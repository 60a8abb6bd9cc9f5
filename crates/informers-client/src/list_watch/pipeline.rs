//! Decoding on several threads, with the order kept.

use std::collections::VecDeque;
use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::task::{JoinError, JoinHandle};

/// A batch smaller than this, in bytes, is decoded where it was read: handing it over would cost as much.
const INLINE_BYTES: usize = 32 << 10;

/// Batches in the order in which they were read, some of them still being decoded.
pub(super) struct Pipeline<O> {
    batches: VecDeque<Batch<O>>,
    /// How many batches may be there at once; reading stops meanwhile.
    limit: usize,
    is_unpolled: bool,
}

enum Batch<O> {
    Done(O),
    Running(JoinHandle<O>),
}

impl<O: Send + 'static> Pipeline<O> {
    pub(super) fn new(decoders: usize) -> Self {
        // One more than decode at a time, so that none waits for the reader.
        Self { batches: VecDeque::new(), limit: decoders.max(1) + 1, is_unpolled: false }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.batches.len() >= self.limit
    }

    /// Whether the first batch came since the last poll. Nobody is woken for it before it is polled, so the
    /// reader must not rest until then.
    pub(super) fn is_unpolled(&self) -> bool {
        self.is_unpolled
    }

    /// Decodes a batch of `bytes`, here or elsewhere.
    pub(super) fn push(&mut self, bytes: usize, decode: impl FnOnce() -> O + Send + 'static) {
        let batch = if bytes < INLINE_BYTES && self.is_empty() {
            Batch::Done(decode())
        } else {
            Batch::Running(tokio::task::spawn_blocking(decode))
        };
        self.is_unpolled |= self.is_empty();
        self.batches.push_back(batch);
    }

    /// The next batch in order; none if there is none.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<O, JoinError>>> {
        self.is_unpolled = false;
        if let Some(Batch::Running(running)) = self.batches.front_mut() {
            let done = ready!(Pin::new(running).poll(cx));
            self.batches.pop_front();
            return Poll::Ready(Some(done));
        }
        Poll::Ready(match self.batches.pop_front() {
            Some(Batch::Done(output)) => Some(Ok(output)),
            _ => None,
        })
    }
}

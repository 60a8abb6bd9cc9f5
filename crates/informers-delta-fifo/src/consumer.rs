//! The one who takes from a queue.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;

use crate::delta::Delta;
use crate::error::Closed;
use crate::in_order::Popped;
use crate::machine::Machine;
use crate::shared::Shared;

/// Takes from a queue. There is one for each queue, since only then the order means something.
///
/// When it is dropped, the queue is closed and what waits is discarded.
///
/// From [`in_order_queue`](crate::in_order_queue), [`delta_fifo`](crate::delta_fifo()) and [`fifo`](crate::fifo()).
pub struct Consumer<T> {
    shared: Arc<Shared<T>>,
    retry_on_error: bool,
}

/// What becomes of a batch that a function has processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_enums, reason = "it is done, or it is not")]
pub enum Outcome {
    /// It is done with.
    Done,
    /// It goes back into the queue: client-go's `ErrRequeue`, which went away in 0.33.
    Requeue,
}

impl<T> Consumer<T> {
    pub(crate) fn new(shared: Arc<Shared<T>>, retry_on_error: bool) -> Self {
        Self { shared, retry_on_error }
    }

    /// Takes the oldest delta, or all deltas of the object that waits longest; waits while there is none.
    ///
    /// # Errors
    /// If the queue is closed and empty.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    pub async fn pop(&mut self) -> Result<Batch<T>, Closed> {
        self.take(Machine::pop).await
    }

    /// Takes as many deltas as may be processed together, as [`InOrderQueue::pop_batch`] tells; waits while
    /// there is none. From a [`DeltaFifo`] or a [`Fifo`] it takes one object, as [`pop`](Self::pop) does.
    ///
    /// # Errors
    /// If the queue is closed and empty.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing.
    ///
    /// [`InOrderQueue::pop_batch`]: crate::InOrderQueue::pop_batch
    /// [`DeltaFifo`]: crate::DeltaFifo
    /// [`Fifo`]: crate::Fifo
    pub async fn pop_batch(&mut self) -> Result<Batch<T>, Closed> {
        self.take(Machine::pop_batch).await
    }

    async fn take(&mut self, pop: fn(&mut Machine<T>) -> Option<Popped<T>>) -> Result<Batch<T>, Closed> {
        let popped = poll_fn(|cx| self.shared.poll_take(cx, pop)).await?;
        Ok(Batch { shared: Arc::clone(&self.shared), popped: Some(popped) })
    }

    /// Takes as [`pop_batch`](Self::pop_batch) does and gives the deltas to `process`, with whether they
    /// belong to the initial list. Afterwards the batch is finished, or put back if `process` says so, or if
    /// it failed and the queue retries.
    ///
    /// ```
    /// use informers_core::{Change, Entry, ObjectKey, Sink};
    /// use informers_delta_fifo::{DeltaFifo, Outcome, QueueOptions, delta_fifo};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let options = QueueOptions::default().with_retry_on_error(true);
    /// let (queue, mut consumer) = delta_fifo(DeltaFifo::new(), options);
    /// queue.sink().apply(Change::added(Entry::keyed(ObjectKey::cluster("a"), 1))).unwrap();
    ///
    /// assert_eq!(consumer.process(|_, _| Err("disk full")).await, Ok(Err("disk full")));
    /// assert_eq!(consumer.process(|_, _| Ok::<_, ()>(Outcome::Done)).await, Ok(Ok(())));
    /// assert!(queue.is_empty());
    /// # }
    /// ```
    ///
    /// # Errors
    /// The outer one if the queue is closed and empty, the inner one is that of `process`.
    ///
    /// # Cancel safety
    /// A dropped future has taken nothing. If `process` panics, its batch counts as finished.
    pub async fn process<E>(
        &mut self,
        process: impl FnOnce(&[Delta<T>], bool) -> Result<Outcome, E>,
    ) -> Result<Result<(), E>, Closed> {
        let batch = self.pop_batch().await?;
        let result = process(batch.deltas(), batch.is_in_initial_list());
        match &result {
            Ok(Outcome::Done) => batch.finish(),
            Ok(Outcome::Requeue) => batch.put_back(),
            Err(_) if self.retry_on_error => batch.put_back(),
            Err(_) => batch.finish(),
        }
        Ok(result.map(|_| ()))
    }
}

impl<T> Drop for Consumer<T> {
    fn drop(&mut self) {
        self.shared.abandon();
    }
}

impl<T> fmt::Debug for Consumer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Consumer").field("retry_on_error", &self.retry_on_error).finish_non_exhaustive()
    }
}

/// What was taken from a queue. No lock is held while it is being processed.
///
/// It counts as processed when it is finished or dropped: then the queue may count as synced, and does not
/// look for these objects here any more. To have it processed later instead, [`put_back`](Self::put_back).
#[must_use = "a dropped batch counts as processed"]
pub struct Batch<T> {
    shared: Arc<Shared<T>>,
    /// Present until the batch is finished.
    popped: Option<Popped<T>>,
}

impl<T> Batch<T> {
    /// The deltas, oldest first; at least one.
    #[must_use]
    pub fn deltas(&self) -> &[Delta<T>] {
        self.popped.as_ref().map_or(&[], |popped| &popped.deltas)
    }

    /// Takes the deltas out, to be processed by value. The batch has to be kept until that is done.
    #[must_use]
    pub fn take_deltas(&mut self) -> Vec<Delta<T>> {
        self.popped.as_mut().map_or_else(Vec::new, |popped| std::mem::take(&mut popped.deltas))
    }

    /// Whether the queue was not yet synced when these were taken: client-go's `isInInitialList`.
    #[must_use]
    pub fn is_in_initial_list(&self) -> bool {
        self.popped.as_ref().is_some_and(|popped| popped.is_in_initial_list)
    }

    /// Says that everything in here has been processed; the same as dropping it.
    pub fn finish(self) {
        drop(self);
    }

    /// Has everything in here handed out again: by an in-order queue at once, by a
    /// [`DeltaFifo`](crate::DeltaFifo) or a [`Fifo`](crate::Fifo) at the end of the line, unless something newer of the
    /// object is in line already. Deltas that were [taken out](Self::take_deltas) do not come back.
    ///
    /// Any task may do so, also while the consumer waits, which is woken then. If the consumer is gone there is nobody to
    /// take it again, and it is dropped.
    pub fn put_back(mut self) {
        if let Some(popped) = self.popped.take() {
            self.shared.settle(|machine, left| machine.put_back(popped, left));
        }
    }
}

impl<T> Drop for Batch<T> {
    fn drop(&mut self) {
        if let Some(popped) = self.popped.take() {
            self.shared.settle(|machine, left| machine.finish(popped.ticket, left));
        }
    }
}

impl<T> fmt::Debug for Batch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch")
            .field("deltas", &self.deltas())
            .field("is_in_initial_list", &self.is_in_initial_list())
            .finish_non_exhaustive()
    }
}

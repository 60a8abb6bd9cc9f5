//! What can be chosen when a queue is put between tasks.

use std::fmt;
use std::sync::Arc;

use informers_core::{KnownObjects, Transform};

/// How many deltas may wait before producers are asked to pause: twice client-go's size of a batch.
const SOFT_LIMIT: usize = 2000;

/// How a queue stands between its producers and its consumer.
///
/// ```
/// use informers_delta_fifo::QueueOptions;
///
/// let options: QueueOptions<String> = QueueOptions::default().with_name("pods").with_soft_limit(500);
/// ```
pub struct QueueOptions<T> {
    pub(crate) name: Arc<str>,
    pub(crate) known: Option<Arc<dyn KnownObjects<T>>>,
    pub(crate) transform: Option<Transform<T>>,
    pub(crate) soft_limit: usize,
    pub(crate) retry_on_error: bool,
}

impl<T> Default for QueueOptions<T> {
    fn default() -> Self {
        Self {
            name: Arc::from("queue"),
            known: None,
            transform: None,
            soft_limit: SOFT_LIMIT,
            retry_on_error: false,
        }
    }
}

impl<T> QueueOptions<T> {
    /// The name that the queue shows; `queue` by default.
    #[must_use]
    pub fn with_name(mut self, name: &str) -> Self {
        self.name = Arc::from(name);
        self
    }

    /// The objects that [`Sink::known`](informers_core::Sink::known) looks into: the store that the consumer
    /// fills. A plain in-order queue and a [`DeltaFifo`](crate::DeltaFifo) have theirs by default.
    #[must_use]
    pub fn with_known(mut self, known: Arc<dyn KnownObjects<T>>) -> Self {
        self.known = Some(known);
        self
    }

    /// Changes every fresh object once, before it is queued, on the producer's side and under no lock. An
    /// object that came from the known ones has been through it and is left alone.
    #[must_use]
    pub fn with_transform(mut self, transform: Transform<T>) -> Self {
        self.transform = Some(transform);
        self
    }

    /// From how many waiting deltas on producers are asked to pause; 2000 by default, 0 counts as 1. A list
    /// counts as one.
    #[must_use]
    pub fn with_soft_limit(mut self, soft_limit: usize) -> Self {
        self.soft_limit = soft_limit.max(1);
        self
    }

    /// Whether [`Consumer::process`](crate::Consumer::process) puts back what failed to process, as client-go's `RetryOnError` did up
    /// to 0.32. Off by default.
    #[must_use]
    pub fn with_retry_on_error(mut self, retry_on_error: bool) -> Self {
        self.retry_on_error = retry_on_error;
        self
    }
}

impl<T> fmt::Debug for QueueOptions<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueOptions")
            .field("name", &self.name)
            .field("transform", &self.transform)
            .field("soft_limit", &self.soft_limit)
            .field("retry_on_error", &self.retry_on_error)
            .finish_non_exhaustive()
    }
}

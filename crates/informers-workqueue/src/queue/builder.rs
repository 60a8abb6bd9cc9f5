//! Putting a queue together.

use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use super::WorkQueue;
use super::shared::Shared;
use crate::machine::Machine;
use crate::storage::AnyStorage;
use crate::{Fifo, Metrics, Parity, RateLimiter, Storage, rate_limiter};

/// Configures a [`WorkQueue`]; client-go's `TypedRateLimitingQueueConfig` and `TypedQueueConfig` in one.
///
/// ```
/// use informers_workqueue::{Parity, WorkQueue, rate_limiter};
///
/// let queue = WorkQueue::<String>::builder()
///     .name("pods")
///     .rate_limiter(rate_limiter::default_item_based_rate_limiter())
///     .parity(Parity::default())
///     .track_times(true)
///     .build();
/// assert!(queue.is_empty());
/// ```
#[must_use]
pub struct Builder<T> {
    name: Option<String>,
    limiter: Option<Box<dyn RateLimiter<T>>>,
    metrics: Option<Arc<dyn Metrics>>,
    storage: AnyStorage<T>,
    parity: Parity,
    track_times: bool,
}

impl<T> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("name", &self.name)
            .field("parity", &self.parity)
            .field("track_times", &self.track_times)
            .finish_non_exhaustive()
    }
}

impl<T: Clone + Eq + Hash + Send + 'static> Builder<T> {
    pub(super) fn new() -> Self {
        Self {
            name: None,
            limiter: None,
            metrics: None,
            storage: AnyStorage::Fifo(Fifo::default()),
            parity: Parity::default(),
            track_times: false,
        }
    }

    /// A name for debug output. Default: none.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The limiter behind [`WorkQueue::add_rate_limited`]. Default:
    /// [`default_controller_rate_limiter`](rate_limiter::default_controller_rate_limiter).
    pub fn rate_limiter(mut self, limiter: impl RateLimiter<T> + 'static) -> Self {
        self.limiter = Some(Box::new(limiter));
        self
    }

    /// Where measurements go. Default: nowhere, and then no times are kept either.
    pub fn metrics(mut self, metrics: Arc<dyn Metrics>) -> Self {
        self.metrics = Some(metrics);
        self
    }

    /// The order in which queued keys are handed out. Default: [`Fifo`].
    pub fn storage(mut self, storage: impl Storage<T> + Send + 'static) -> Self {
        self.storage = AnyStorage::Custom(Box::new(storage));
        self
    }

    /// Which of client-go's rules to keep where ours differ. Default: none.
    pub fn parity(mut self, parity: Parity) -> Self {
        self.parity = parity;
        self
    }

    /// Whether to keep the ages of keys for [`WorkQueue::snapshot`]; it costs reading the clock in each call. Implied
    /// by metrics. Default `false`.
    pub fn track_times(mut self, track: bool) -> Self {
        self.track_times = track;
        self
    }

    /// Makes the queue.
    pub fn build(self) -> WorkQueue<T> {
        let mut machine = Machine::new(self.storage, self.parity);
        if self.track_times || self.metrics.is_some() {
            machine = machine.keeping_times();
        }
        let limiter =
            self.limiter.unwrap_or_else(|| Box::new(rate_limiter::default_controller_rate_limiter()));
        WorkQueue { shared: Arc::new(Arc::new(Shared::new(machine, limiter, self.metrics, self.name))) }
    }
}

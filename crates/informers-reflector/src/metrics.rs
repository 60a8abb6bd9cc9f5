//! The one place where the user's measurements are called, also by what is built on a reflector.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use informers_core::{Metrics, ResourceVersion};

/// Keeps a panic of the user's [`Metrics`] from the task that measures: it costs the one measurement, and the first one is
/// logged.
///
/// Reflectors and shared informers put it around what they are given. It is for those who measure in a part of their own.
///
/// ```
/// use std::sync::Arc;
/// use informers_core::Metrics;
/// use informers_reflector::GuardedMetrics;
///
/// struct Broken;
/// impl Metrics for Broken {
///     fn refused(&self, informer: &str) {
///         panic!("no counter for {informer}");
///     }
/// }
///
/// GuardedMetrics::new(Arc::new(Broken)).refused("pods");
/// ```
pub struct GuardedMetrics {
    metrics: Arc<dyn Metrics>,
    has_panicked: AtomicBool,
}

impl GuardedMetrics {
    /// Around these measurements.
    #[must_use]
    pub fn new(metrics: Arc<dyn Metrics>) -> Self {
        Self { metrics, has_panicked: AtomicBool::new(false) }
    }

    fn measure(&self, informer: &str, call: impl FnOnce(&dyn Metrics)) {
        let outcome = catch_unwind(AssertUnwindSafe(|| call(&*self.metrics)));
        // One that panics once mostly panics each time, and there are measurements with each batch.
        if outcome.is_err() && !self.has_panicked.swap(true, Ordering::Relaxed) {
            tracing::error!(
                informer,
                "the metrics of an informer panicked; that measurement is lost, and further panics are not reported"
            );
        }
    }
}

impl fmt::Debug for GuardedMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardedMetrics").field("has_panicked", &self.has_panicked).finish_non_exhaustive()
    }
}

impl Metrics for GuardedMetrics {
    fn queued_items(&self, informer: &str, items: usize) {
        self.measure(informer, |metrics| metrics.queued_items(informer, items));
    }

    fn processing_latency(&self, informer: &str, latency: Duration) {
        self.measure(informer, |metrics| metrics.processing_latency(informer, latency));
    }

    fn store_resource_version(&self, informer: &str, version: &ResourceVersion) {
        self.measure(informer, |metrics| metrics.store_resource_version(informer, version));
    }

    fn handler_backlog(&self, informer: &str, handler: &str, events: usize) {
        self.measure(informer, |metrics| metrics.handler_backlog(informer, handler, events));
    }

    fn handler_dropped(&self, informer: &str, handler: &str, events: u64) {
        self.measure(informer, |metrics| metrics.handler_dropped(informer, handler, events));
    }

    fn handler_panicked(&self, informer: &str, handler: &str) {
        self.measure(informer, |metrics| metrics.handler_panicked(informer, handler));
    }

    fn list_completed(&self, informer: &str, items: u64, duration: Duration) {
        self.measure(informer, |metrics| metrics.list_completed(informer, items, duration));
    }

    fn watch_ended(&self, informer: &str, events: u64, duration: Duration) {
        self.measure(informer, |metrics| metrics.watch_ended(informer, events, duration));
    }

    fn undecodable(&self, informer: &str) {
        self.measure(informer, |metrics| metrics.undecodable(informer));
    }

    fn refused(&self, informer: &str) {
        self.measure(informer, |metrics| metrics.refused(informer));
    }
}

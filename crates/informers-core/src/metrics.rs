//! Where an informer tells how it is doing.

use std::time::Duration;

use crate::ResourceVersion;

/// Receives measurements of informers; every method does nothing unless it is overridden.
///
/// `informer` is the name of the informer. Calls are made on the informer's own tasks, so an
/// implementation must return at once. The first three carry client-go's informer metrics.
///
/// An implementation should not panic. Where it does, in a shared informer or in a reflector, that costs the one
/// measurement, and the first is logged.
///
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use informers_core::Metrics;
///
/// #[derive(Default)]
/// struct Relists(AtomicU64);
///
/// impl Metrics for Relists {
///     fn list_completed(&self, _: &str, _: u64, _: std::time::Duration) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
/// # let relists = Relists::default();
/// # relists.list_completed("pods", 3, std::time::Duration::from_millis(5));
/// # assert_eq!(relists.0.load(Ordering::Relaxed), 1);
/// ```
pub trait Metrics: Send + Sync + 'static {
    /// Gauge `queued_items`: how many deltas wait in the queue between reflector and store.
    fn queued_items(&self, informer: &str, items: usize) {
        let _ = (informer, items);
    }

    /// Histogram `processing_latency_seconds`: how long one batch took from the queue to the handlers' backlogs.
    fn processing_latency(&self, informer: &str, latency: Duration) {
        let _ = (informer, latency);
    }

    /// Gauge `store_resource_version`: the version up to which the store is known.
    fn store_resource_version(&self, informer: &str, version: &ResourceVersion) {
        let _ = (informer, version);
    }

    /// Gauge: how many events wait for one handler.
    fn handler_backlog(&self, informer: &str, handler: &str, events: usize) {
        let _ = (informer, handler, events);
    }

    /// Counter: so many events more were dropped, since the backlog of a handler that wants it so was full.
    fn handler_dropped(&self, informer: &str, handler: &str, events: u64) {
        let _ = (informer, handler, events);
    }

    /// Counter: a handler panicked; delivery to it goes on.
    fn handler_panicked(&self, informer: &str, handler: &str) {
        let _ = (informer, handler);
    }

    /// Counter and histogram: a list was read whole, paged or streamed.
    fn list_completed(&self, informer: &str, items: u64, duration: Duration) {
        let _ = (informer, items, duration);
    }

    /// Counter: a watch ended, after this many events.
    fn watch_ended(&self, informer: &str, events: u64, duration: Duration) {
        let _ = (informer, events, duration);
    }

    /// Counter: an object could not be decoded.
    fn undecodable(&self, informer: &str) {
        let _ = informer;
    }

    /// Counter: the sink refused an object.
    fn refused(&self, informer: &str) {
        let _ = informer;
    }
}

/// Measures nothing.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::exhaustive_structs, reason = "there is nothing to add to nothing")]
pub struct NoMetrics;

impl Metrics for NoMetrics {}

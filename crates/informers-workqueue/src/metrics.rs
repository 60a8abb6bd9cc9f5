//! The hook for metrics: one object for each queue, with client-go's names and meanings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use crate::machine::Observation;

/// The subsystem under which Kubernetes components export these metrics.
pub const SUBSYSTEM: &str = "workqueue";
/// Name of the gauge behind [`Metrics::depth_increased`] and [`Metrics::depth_decreased`].
pub const DEPTH: &str = "depth";
/// Name of the counter behind [`Metrics::added`].
pub const ADDS: &str = "adds_total";
/// Name of the histogram behind [`Metrics::queue_duration`].
pub const QUEUE_DURATION: &str = "queue_duration_seconds";
/// Name of the histogram behind [`Metrics::work_duration`].
pub const WORK_DURATION: &str = "work_duration_seconds";
/// Name of the gauge behind [`Metrics::unfinished_work`].
pub const UNFINISHED_WORK: &str = "unfinished_work_seconds";
/// Name of the gauge behind [`Metrics::longest_running_processor`].
pub const LONGEST_RUNNING_PROCESSOR: &str = "longest_running_processor_seconds";
/// Name of the counter behind [`Metrics::retried`].
pub const RETRIES: &str = "retries_total";
/// The upper bounds, in seconds, that Kubernetes components use for both histograms: ten, from 10 ns, each ten times
/// the one before.
pub const DURATION_BUCKETS: [f64; 10] = [1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0];

/// Receives what one queue measures. Every method does nothing by default.
///
/// The methods are called outside the queue's lock, from whatever task used the queue, after the fact: calls that
/// belong to different tasks may arrive in another order than the events happened. They must not block.
///
/// They must not panic either, for that is not caught: it comes out of the queue's method that was called, though the
/// queue itself has done what was asked. The key of an add is queued, but one that [`get`](crate::WorkQueue::get) was
/// taking is lost: it counts as worked on from then on, so it is handed out to nobody, and a drain waits for it in
/// vain. A panic when [`Taken`](crate::Taken) is dropped by another panic ends the process.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// use informers_workqueue::{Metrics, WorkQueue};
///
/// #[derive(Debug, Default)]
/// struct Adds(AtomicUsize);
/// impl Metrics for Adds {
///     fn added(&self) {
///         self.0.fetch_add(1, Ordering::Relaxed);
///     }
/// }
///
/// let adds = Arc::new(Adds::default());
/// let queue = WorkQueue::builder().metrics(adds.clone()).build();
/// queue.add("a")?;
/// queue.add("a")?; // merged, not counted
/// assert_eq!(adds.0.load(Ordering::Relaxed), 1);
/// # Ok::<(), informers_workqueue::Error<&str>>(())
/// ```
pub trait Metrics: Send + Sync {
    /// A key became dirty: it was queued, or it was added while it is being worked on. Also for delayed keys, once
    /// their time has come.
    fn added(&self) {}

    /// The number of dirty keys went up by one.
    fn depth_increased(&self) {}

    /// The number of dirty keys went down by one: a key was taken.
    fn depth_decreased(&self) {}

    /// A key was taken this long after it became dirty. For a delayed key the time counts from the end of its delay.
    fn queue_duration(&self, duration: Duration) {
        let _ = duration;
    }

    /// A key was finished this long after it was taken.
    fn work_duration(&self, duration: Duration) {
        let _ = duration;
    }

    /// The sum of the ages of all keys being worked on. Grows without bound if workers are stuck.
    fn unfinished_work(&self, total: Duration) {
        let _ = total;
    }

    /// The age of the key that has been worked on the longest.
    fn longest_running_processor(&self, longest: Duration) {
        let _ = longest;
    }

    /// A delayed or rate-limited add was asked for, whatever its delay.
    fn retried(&self) {}
}

/// Measures nothing.
///
/// ```
/// use informers_workqueue::metrics::{Metrics, NoMetrics};
///
/// NoMetrics.added();
/// ```
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct NoMetrics;

impl Metrics for NoMetrics {}

pub(crate) fn report(metrics: &Arc<dyn Metrics>, observations: &[Observation]) {
    for observation in observations {
        match *observation {
            Observation::Added => {
                measure(metrics, |metrics| metrics.added());
                measure(metrics, |metrics| metrics.depth_increased());
            }
            Observation::Taken { queued_for } => {
                measure(metrics, |metrics| metrics.depth_decreased());
                if let Some(duration) = queued_for {
                    measure(metrics, |metrics| metrics.queue_duration(duration));
                }
            }
            Observation::Finished { worked_for } => {
                measure(metrics, |metrics| metrics.work_duration(worked_for));
            }
            Observation::Retried => measure(metrics, |metrics| metrics.retried()),
        }
    }
}

/// A measurement that panics, which the panic hook tells of, costs itself only: the key that it is about may be between
/// the queue and its guard, or in a guard that is dropped while its worker panics.
pub(crate) fn measure(metrics: &Arc<dyn Metrics>, call: impl FnOnce(&dyn Metrics)) {
    let _ = catch_unwind(AssertUnwindSafe(|| call(&**metrics)));
}

//! Metrics that have to be asked for.

use std::future::{Future, poll_fn};
use std::hash::Hash;
use std::pin::pin;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::WorkQueue;
use super::shared::Shared;
use crate::metrics;

/// client-go's period.
const DEFAULT_PERIOD: Duration = Duration::from_millis(500);

impl<T: Clone + Eq + Hash> WorkQueue<T> {
    /// Reports the two gauges that grow by themselves, [`unfinished_work`](crate::Metrics::unfinished_work) and
    /// [`longest_running_processor`](crate::Metrics::longest_running_processor), and the delayed keys whose time has
    /// come meanwhile. To be called when metrics are collected, or by
    /// [`report_metrics_until_shut_down`](Self::report_metrics_until_shut_down). Does nothing without metrics.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    /// use std::time::Duration;
    /// use informers_workqueue::{Metrics, WorkQueue};
    ///
    /// #[derive(Debug, Default)]
    /// struct Longest(Mutex<Duration>);
    /// impl Metrics for Longest {
    ///     fn longest_running_processor(&self, longest: Duration) {
    ///         *self.0.lock().unwrap() = longest;
    ///     }
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), informers_workqueue::Error<&'static str>> {
    /// let longest = Arc::new(Longest::default());
    /// let queue = WorkQueue::builder().metrics(longest.clone()).build();
    /// queue.add("slow")?;
    /// let _working = queue.get().await;
    /// tokio::time::advance(Duration::from_secs(7)).await;
    /// queue.report_metrics();
    /// assert_eq!(*longest.0.lock().unwrap(), Duration::from_secs(7));
    /// # Ok(()) }
    /// ```
    pub fn report_metrics(&self) {
        let Some(metrics) = &self.shared.metrics else { return };
        let (total, longest) = self.shared.with_time(|state, now| {
            state.machine.advance(now);
            state.machine.unfinished_work(now)
        });
        metrics::measure(metrics, |metrics| metrics.unfinished_work(total));
        metrics::measure(metrics, |metrics| metrics.longest_running_processor(longest));
    }

    /// Calls [`report_metrics`](Self::report_metrics) each `period` (`None`: 500 ms, as client-go) until the shutdown
    /// begins, then returns. To be spawned by whoever wants gauges without asking. A period of zero is taken as 1 ms.
    ///
    /// # Cancel safety
    /// Dropping it ends the reports.
    ///
    /// # Panics
    /// When polled outside a Tokio runtime with its time driver enabled.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use informers_workqueue::{WorkQueue, metrics::NoMetrics};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tokio::task::JoinError> {
    /// let queue = WorkQueue::<String>::builder().metrics(Arc::new(NoMetrics)).build();
    /// let reports = tokio::spawn({
    ///     let queue = queue.clone();
    ///     async move { queue.report_metrics_until_shut_down(None).await }
    /// });
    /// queue.shut_down();
    /// reports.await
    /// # }
    /// ```
    pub async fn report_metrics_until_shut_down(&self, period: Option<Duration>) {
        let period = period.unwrap_or(DEFAULT_PERIOD).max(Duration::from_millis(1));
        let mut shut_down = ShutDownWaiter { shared: &self.shared, number: None };
        loop {
            let mut timer = pin!(tokio::time::sleep(period));
            let ended = poll_fn(|cx| {
                if shut_down.poll(cx.waker()) {
                    return Poll::Ready(true);
                }
                timer.as_mut().poll(cx).map(|()| false)
            });
            if ended.await {
                return;
            }
            self.report_metrics();
        }
    }
}

struct ShutDownWaiter<'a, T: Clone + Eq + Hash> {
    shared: &'a Shared<T>,
    number: Option<u64>,
}

impl<T: Clone + Eq + Hash> ShutDownWaiter<'_, T> {
    fn poll(&mut self, waker: &Waker) -> bool {
        self.shared.with(|state, _| {
            if state.machine.shutting_down() {
                return true;
            }
            let registered = self.number.is_some_and(|number| state.shut_down_waiters.update(number, waker));
            if !registered {
                self.number = Some(state.shut_down_waiters.register(waker.clone()));
            }
            false
        })
    }
}

impl<T: Clone + Eq + Hash> Drop for ShutDownWaiter<'_, T> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.shared.with(|state, _| state.shut_down_waiters.remove(number));
        }
    }
}

//! Limiters made of limiters.

use std::fmt;
use std::time::{Duration, Instant};

use super::RateLimiter;

/// The longest delay of several limiters; client-go's `TypedMaxOfRateLimiter`.
///
/// Every limiter is asked each time, so a bucket loses a token even if another limiter decides. Without limiters the
/// delay is zero.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter::{Bucket, ItemFastSlow, MaxOf}};
///
/// let limiters: [Box<dyn RateLimiter<&str>>; 2] = [
///     Box::new(ItemFastSlow::new(Duration::from_millis(5), Duration::from_secs(3), 3)),
///     Box::new(Bucket::new(1.0, 1)),
/// ];
/// let limiter = MaxOf::new(limiters);
/// let now = Instant::now();
/// let delays: Vec<_> = (0..3).map(|_| limiter.when(&"a", now).as_millis()).collect();
/// assert_eq!(delays, [5, 1000, 2000]);
/// ```
pub struct MaxOf<T> {
    limiters: Vec<Box<dyn RateLimiter<T>>>,
}

impl<T> MaxOf<T> {
    /// Asks all of these.
    pub fn new(limiters: impl IntoIterator<Item = Box<dyn RateLimiter<T>>>) -> Self {
        Self { limiters: limiters.into_iter().collect() }
    }
}

impl<T> fmt::Debug for MaxOf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MaxOf").field("limiters", &self.limiters.len()).finish_non_exhaustive()
    }
}

impl<T> RateLimiter<T> for MaxOf<T> {
    fn when(&self, item: &T, now: Instant) -> Duration {
        self.limiters.iter().map(|limiter| limiter.when(item, now)).max().unwrap_or_default()
    }

    fn forget(&self, item: &T) {
        for limiter in &self.limiters {
            limiter.forget(item);
        }
    }

    fn num_requeues(&self, item: &T) -> usize {
        self.limiters.iter().map(|limiter| limiter.num_requeues(item)).max().unwrap_or_default()
    }
}

/// Cuts the delays of another limiter; client-go's `TypedWithMaxWaitRateLimiter`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter::{Bucket, WithMaxWait}};
///
/// let limiter = WithMaxWait::new(Bucket::new(0.1, 1), Duration::from_secs(4));
/// let now = Instant::now();
/// assert_eq!(limiter.when(&"a", now), Duration::ZERO);
/// assert_eq!(limiter.when(&"a", now), Duration::from_secs(4)); // the bucket says 10 s
/// ```
#[derive(Debug)]
pub struct WithMaxWait<R> {
    limiter: R,
    max: Duration,
}

impl<R> WithMaxWait<R> {
    /// Delays of `limiter`, at most `max`.
    pub fn new(limiter: R, max: Duration) -> Self {
        Self { limiter, max }
    }
}

impl<T, R: RateLimiter<T>> RateLimiter<T> for WithMaxWait<R> {
    fn when(&self, item: &T, now: Instant) -> Duration {
        self.limiter.when(item, now).min(self.max)
    }

    fn forget(&self, item: &T) {
        self.limiter.forget(item);
    }

    fn num_requeues(&self, item: &T) -> usize {
        self.limiter.num_requeues(item)
    }
}

//! Limiters that count the failures of each key.

use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hashbrown::HashMap;

use super::RateLimiter;

#[derive(Debug)]
struct Failures<T>(Mutex<HashMap<T, usize>>);

impl<T> Default for Failures<T> {
    fn default() -> Self {
        Self(Mutex::new(HashMap::new()))
    }
}

impl<T: Clone + Eq + Hash> Failures<T> {
    fn lock(&self) -> MutexGuard<'_, HashMap<T, usize>> {
        // A count is whole at any moment, whatever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more and gives the count before.
    fn count(&self, item: &T) -> usize {
        let mut failures = self.lock();
        if let Some(count) = failures.get_mut(item) {
            let before = *count;
            *count = before.saturating_add(1);
            return before;
        }
        failures.insert(item.clone(), 1);
        0
    }

    fn forget(&self, item: &T) {
        let removed = self.lock().remove_entry(item);
        drop(removed);
    }

    fn get(&self, item: &T) -> usize {
        self.lock().get(item).copied().unwrap_or(0)
    }
}

/// `base * 2^failures`, at most `max`; client-go's `TypedItemExponentialFailureRateLimiter`.
///
/// The arithmetic is client-go's, in floating point nanoseconds, except at two edges where Go's result depends on
/// the platform: a delay of exactly 2^63 ns is capped like a longer one, and a base of zero stays zero forever.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter::ItemExponentialFailure};
///
/// let limiter = ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_millis(3));
/// let now = Instant::now();
/// let delays: Vec<_> = (0..4).map(|_| limiter.when(&"a", now).as_millis()).collect();
/// assert_eq!(delays, [1, 2, 3, 3]);
/// assert_eq!(limiter.num_requeues(&"a"), 4);
/// limiter.forget(&"a");
/// assert_eq!(limiter.when(&"a", now).as_millis(), 1);
/// ```
#[derive(Debug)]
pub struct ItemExponentialFailure<T> {
    failures: Failures<T>,
    base: Duration,
    max: Duration,
}

impl<T> ItemExponentialFailure<T> {
    /// Delays from `base`, doubling up to `max`.
    pub fn new(base: Duration, max: Duration) -> Self {
        Self { failures: Failures::default(), base, max }
    }
}

impl<T: Clone + Eq + Hash + Send> RateLimiter<T> for ItemExponentialFailure<T> {
    fn when(&self, item: &T, _now: Instant) -> Duration {
        let failures = self.failures.count(item);
        if self.base.is_zero() {
            return Duration::ZERO;
        }
        // Beyond 2^1023 the power is infinite, which is above every cap.
        let exponent = i32::try_from(failures).unwrap_or(i32::MAX).min(1100);
        let backoff = self.base.as_nanos() as f64 * 2f64.powi(exponent);
        if backoff >= i64::MAX as f64 {
            return self.max;
        }
        Duration::from_nanos(backoff as u64).min(self.max)
    }

    fn forget(&self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> usize {
        self.failures.get(item)
    }
}

/// A short delay for the first failures of a key, a long one afterwards; client-go's
/// `TypedItemFastSlowRateLimiter`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter::ItemFastSlow};
///
/// let limiter = ItemFastSlow::new(Duration::from_millis(5), Duration::from_secs(10), 2);
/// let now = Instant::now();
/// let delays: Vec<_> = (0..3).map(|_| limiter.when(&"a", now).as_millis()).collect();
/// assert_eq!(delays, [5, 5, 10_000]);
/// ```
#[derive(Debug)]
pub struct ItemFastSlow<T> {
    failures: Failures<T>,
    fast: Duration,
    slow: Duration,
    max_fast_attempts: usize,
}

impl<T> ItemFastSlow<T> {
    /// `fast` for the first `max_fast_attempts` failures, then `slow`.
    pub fn new(fast: Duration, slow: Duration, max_fast_attempts: usize) -> Self {
        Self { failures: Failures::default(), fast, slow, max_fast_attempts }
    }
}

impl<T: Clone + Eq + Hash + Send> RateLimiter<T> for ItemFastSlow<T> {
    fn when(&self, item: &T, _now: Instant) -> Duration {
        if self.failures.count(item) < self.max_fast_attempts { self.fast } else { self.slow }
    }

    fn forget(&self, item: &T) {
        self.failures.forget(item);
    }

    fn num_requeues(&self, item: &T) -> usize {
        self.failures.get(item)
    }
}

//! How long a key should wait before it is tried again.

mod bucket;
mod combined;
mod per_item;
#[cfg(test)]
mod tests;

use std::hash::Hash;
use std::sync::Arc;
use std::time::{Duration, Instant};

pub use self::bucket::Bucket;
pub use self::combined::{MaxOf, WithMaxWait};
pub use self::per_item::{ItemExponentialFailure, ItemFastSlow};

/// The delay that means never, about 292 years: what a [`Bucket`] says that can give no token.
pub const NEVER: Duration = Duration::from_nanos(i64::MAX as u64);

/// Decides how long a key waits; client-go's `TypedRateLimiter`.
///
/// A limiter only names delays. Nothing waits in it, and forgetting a key does not take it out of a queue.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, WorkQueue};
///
/// /// Always the same delay.
/// #[derive(Debug)]
/// struct Fixed(Duration);
/// impl<T> RateLimiter<T> for Fixed {
///     fn when(&self, _item: &T, _now: Instant) -> Duration {
///         self.0
///     }
///     fn forget(&self, _item: &T) {}
///     fn num_requeues(&self, _item: &T) -> usize {
///         0
///     }
/// }
///
/// let queue = WorkQueue::<String>::builder().rate_limiter(Fixed(Duration::from_secs(1))).build();
/// # drop(queue);
/// ```
pub trait RateLimiter<T>: Send + Sync {
    /// How long the key waits from `now` on. Each call counts as one more failure of the key.
    fn when(&self, item: &T, now: Instant) -> Duration;

    /// Drops what is known of the key: to be called when it succeeded, or when nobody will try it again. Otherwise
    /// the counts of keys that are gone stay in memory.
    fn forget(&self, item: &T);

    /// How many failures of the key are counted.
    fn num_requeues(&self, item: &T) -> usize;
}

impl<T, R: RateLimiter<T> + ?Sized> RateLimiter<T> for Box<R> {
    fn when(&self, item: &T, now: Instant) -> Duration {
        (**self).when(item, now)
    }

    fn forget(&self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> usize {
        (**self).num_requeues(item)
    }
}

impl<T, R: RateLimiter<T> + ?Sized> RateLimiter<T> for Arc<R> {
    fn when(&self, item: &T, now: Instant) -> Duration {
        (**self).when(item, now)
    }

    fn forget(&self, item: &T) {
        (**self).forget(item);
    }

    fn num_requeues(&self, item: &T) -> usize {
        (**self).num_requeues(item)
    }
}

/// The default of controllers: each key backs off from 5 ms, doubling up to 1000 s, and all keys together are retried
/// at most 10 times a second with bursts of 100. client-go's `DefaultTypedControllerRateLimiter`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter};
///
/// let limiter = rate_limiter::default_controller_rate_limiter();
/// let now = Instant::now();
/// assert_eq!(limiter.when(&"a", now), Duration::from_millis(5));
/// assert_eq!(limiter.when(&"a", now), Duration::from_millis(10));
/// ```
pub fn default_controller_rate_limiter<T: Clone + Eq + Hash + Send + 'static>() -> MaxOf<T> {
    let per_item = ItemExponentialFailure::new(Duration::from_millis(5), Duration::from_secs(1000));
    MaxOf::new([Box::new(per_item) as Box<dyn RateLimiter<T>>, Box::new(Bucket::new(10.0, 100))])
}

/// Each key backs off from 1 ms, doubling up to 1000 s; there is no common limit. client-go's
/// `DefaultTypedItemBasedRateLimiter`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter};
///
/// let limiter = rate_limiter::default_item_based_rate_limiter();
/// assert_eq!(limiter.when(&"a", Instant::now()), Duration::from_millis(1));
/// ```
pub fn default_item_based_rate_limiter<T: Clone + Eq + Hash + Send>() -> ItemExponentialFailure<T> {
    ItemExponentialFailure::new(Duration::from_millis(1), Duration::from_secs(1000))
}

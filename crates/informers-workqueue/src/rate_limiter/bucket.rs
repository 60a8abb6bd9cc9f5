//! A token bucket over all keys.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{NEVER, RateLimiter};

const NANOS_PER_SECOND: f64 = 1e9;

/// A token bucket that all keys share; client-go's `TypedBucketRateLimiter` over `golang.org/x/time/rate`.
///
/// Each call takes a token, which may not exist yet: then the delay is the time until it does. So a burst goes through
/// at once, and what follows is spread out at the rate. Counts no failures.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_workqueue::{RateLimiter, rate_limiter::Bucket};
///
/// let limiter = Bucket::new(10.0, 2); // ten a second, bursts of two
/// let now = Instant::now();
/// let delays: Vec<_> = (0..4).map(|_| limiter.when(&"any", now).as_millis()).collect();
/// assert_eq!(delays, [0, 0, 100, 200]);
/// ```
#[derive(Debug)]
pub struct Bucket {
    /// Tokens a second.
    qps: f64,
    burst: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Below zero while tokens are owed.
    tokens: f64,
    last: Option<Instant>,
}

impl Bucket {
    /// A full bucket of `burst` tokens, refilled with `qps` tokens a second.
    ///
    /// With a rate of zero or less (or one that is not a number) the burst is all there is, then the delay is
    /// [`NEVER`]. With a burst of zero it is always [`NEVER`]. With an infinite rate it is always zero.
    pub fn new(qps: f64, burst: usize) -> Self {
        let qps = if qps.is_nan() { 0.0 } else { qps };
        Self { qps, burst, state: Mutex::new(State { tokens: burst as f64, last: None }) }
    }

    /// Takes one token and gives the time until it exists.
    fn reserve(&self, now: Instant) -> Duration {
        if self.qps == f64::INFINITY {
            return Duration::ZERO;
        }
        if self.burst == 0 {
            return NEVER;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let elapsed = state.last.map_or(Duration::ZERO, |last| now.saturating_duration_since(last));
        let gained = if self.qps > 0.0 { elapsed.as_secs_f64() * self.qps } else { 0.0 };
        let tokens = (state.tokens + gained).min(self.burst as f64) - 1.0;
        *state = State { tokens, last: Some(now) };
        if tokens < 0.0 { self.time_for(-tokens) } else { Duration::ZERO }
    }

    fn time_for(&self, tokens: f64) -> Duration {
        if self.qps <= 0.0 {
            return NEVER;
        }
        let nanos = tokens / self.qps * NANOS_PER_SECOND;
        if nanos >= i64::MAX as f64 { NEVER } else { Duration::from_nanos(nanos as u64) }
    }
}

impl<T> RateLimiter<T> for Bucket {
    fn when(&self, _item: &T, now: Instant) -> Duration {
        self.reserve(now)
    }

    fn forget(&self, _item: &T) {}

    fn num_requeues(&self, _item: &T) -> usize {
        0
    }
}

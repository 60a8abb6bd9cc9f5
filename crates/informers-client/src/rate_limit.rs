//! Requests of one client, spread over time.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// The longest time between two requests: so long that it never ends, and short enough to be added to an `Instant`.
const MAX_INTERVAL: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// How many requests a client sends at most, as client-go's `QPS` and `Burst`. Clients have no such limit unless
/// it is set: an API server shares its time among its clients by itself (priority and fairness).
///
/// ```
/// use informers_client::{Config, RateLimit};
///
/// let config = Config::for_url("https://cluster:6443")?.with_rate_limit(RateLimit::per_second(5.0, 10));
/// # Ok::<(), informers_client::ClientError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    interval: Duration,
    burst: u32,
}

impl RateLimit {
    /// `rate` requests a second over any longer time, and after a quiet time `burst` of them at once (at least
    /// one). A rate that is no positive number is no limit; one request in a hundred years is the smallest rate.
    /// Watches count when they are opened, and so does each retry.
    #[must_use]
    pub fn per_second(rate: f32, burst: u32) -> Self {
        let interval = if rate.is_finite() && rate > 0.0 { 1.0 / rate } else { 0.0 };
        Self::every(Duration::try_from_secs_f32(interval).unwrap_or(MAX_INTERVAL), burst)
    }

    fn every(interval: Duration, burst: u32) -> Self {
        Self { interval: interval.min(MAX_INTERVAL), burst: burst.max(1) }
    }
}

/// A token bucket in the form of the time at which it is full again.
#[derive(Debug)]
pub(crate) struct Bucket {
    limit: RateLimit,
    full: Option<Instant>,
}

impl Bucket {
    /// Full at first; an interval of more than a hundred years is one of a hundred.
    pub(crate) fn new(interval: Duration, burst: u32) -> Self {
        Self { limit: RateLimit::every(interval, burst), full: None }
    }

    /// Takes a token if there is one.
    pub(crate) fn try_take(&mut self, now: Instant) -> bool {
        let is_there = self.take(now).is_zero();
        if !is_there {
            self.give_back();
        }
        is_there
    }

    /// Takes a token and says how long to wait for it.
    fn take(&mut self, now: Instant) -> Duration {
        let full = self.full.map_or(now, |full| full.max(now));
        let leeway = self.limit.interval.saturating_mul(self.limit.burst - 1);
        self.full = full.checked_add(self.limit.interval).or(Some(full));
        full.saturating_duration_since(now).saturating_sub(leeway)
    }

    /// Gives a token back that was not used.
    fn give_back(&mut self) {
        self.full = self.full.and_then(|full| full.checked_sub(self.limit.interval));
    }
}

/// Lets requests through one by one.
#[derive(Debug)]
pub(crate) struct Throttle(Mutex<Bucket>);

impl Throttle {
    pub(crate) fn new(limit: RateLimit) -> Self {
        Self(Mutex::new(Bucket { limit, full: None }))
    }

    /// Waits until a request may be sent. Dropping the future gives its place to others.
    pub(crate) async fn pass(&self) {
        let wait = self.0.lock().take(tokio::time::Instant::now().into_std());
        if wait.is_zero() {
            return;
        }
        let mut place = Place { throttle: self, is_used: false };
        tokio::time::sleep(wait).await;
        place.is_used = true;
    }
}

struct Place<'a> {
    throttle: &'a Throttle,
    is_used: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if !self.is_used {
            self.throttle.0.lock().give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(rate: f32, burst: u32) -> Bucket {
        Bucket { limit: RateLimit::per_second(rate, burst), full: None }
    }

    #[test]
    fn a_burst_passes_and_then_the_rate_holds() {
        let mut bucket = bucket(5.0, 3);
        let start = Instant::now();
        let waits: Vec<_> = (0..6).map(|_| bucket.take(start).as_millis()).collect();
        assert_eq!(waits, [0, 0, 0, 200, 400, 600]);
        assert_eq!(bucket.take(start + Duration::from_millis(900)).as_millis(), 0, "300 ms after the last");
        assert_eq!(bucket.take(start + Duration::from_secs(60)).as_millis(), 0);
        let again: Vec<_> =
            (0..3).map(|_| bucket.take(start + Duration::from_secs(60)).as_millis()).collect();
        assert_eq!(again, [0, 0, 200], "no more than the burst was saved up");
    }

    #[test]
    fn odd_limits_do_no_harm() {
        let now = Instant::now();
        for rate in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let mut bucket = bucket(rate, 0);
            assert!((0..100).all(|_| bucket.take(now).is_zero()), "{rate}");
        }
        let mut slow = bucket(f32::MIN_POSITIVE, u32::MAX);
        assert!((0..100).all(|_| slow.take(now).is_zero()), "the burst is there all the same");
        let later = now + Duration::from_secs(365 * 24 * 60 * 60);
        for mut never in [bucket(f32::MIN_POSITIVE, 1), bucket(1e-45, 0), Bucket::new(Duration::MAX, 1)] {
            assert!(never.try_take(now));
            assert!((0..100).all(|_| !never.try_take(later)), "{never:?}");
            let waits: Vec<_> = (0..3).map(|_| never.take(now)).collect();
            assert_eq!(waits, [MAX_INTERVAL, MAX_INTERVAL * 2, MAX_INTERVAL * 3], "each waits for its own");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_gives_his_place_back() {
        let throttle = std::sync::Arc::new(Throttle::new(RateLimit::per_second(1.0, 1)));
        throttle.pass().await;
        let start = tokio::time::Instant::now();
        assert!(tokio::time::timeout(Duration::from_millis(10), throttle.pass()).await.is_err());
        let waiting = [0, 1].map(|_| {
            let throttle = std::sync::Arc::clone(&throttle);
            tokio::spawn(async move { throttle.pass().await })
        });
        for task in waiting {
            task.await.unwrap();
        }
        assert_eq!(start.elapsed().as_millis() / 10, 200, "two seconds for two");
    }
}

//! Growing pauses between attempts.

use std::time::{Duration, Instant};

/// The pauses between failed attempts: they grow by `factor` from `init` to `cap`, each is stretched by up to
/// `jitter` of itself, and they begin anew after `reset`.
///
/// The reset is periodic, as in client-go since 0.36: the first pause that is asked for more than `reset`
/// after the last reset is `init` again, however busy the time between was.
///
/// ```
/// use std::time::Duration;
/// use informers_reflector::Backoff;
///
/// let gentle = Backoff { init: Duration::from_secs(2), ..Backoff::default() };
/// assert_eq!(gentle.cap, Duration::from_secs(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(
    clippy::exhaustive_structs,
    reason = "the parameters of client-go's wait.Backoff, for struct updates"
)]
pub struct Backoff {
    /// The first pause. Default 800 ms.
    pub init: Duration,
    /// No pause is longer, before jitter. Default 30 s.
    pub cap: Duration,
    /// By how much each pause is longer than the one before. Default 2; at most 1 means no growth.
    pub factor: f64,
    /// The largest part of a pause that is added to it at random. Default 1: up to twice as long.
    pub jitter: f64,
    /// After how long the pauses begin anew. Default 2 min; zero means never.
    pub reset: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            init: Duration::from_millis(800),
            cap: Duration::from_secs(30),
            factor: 2.0,
            jitter: 1.0,
            reset: Duration::from_secs(120),
        }
    }
}

/// The pauses of one reflector. All its waits draw from here, so that each makes the next one longer.
#[derive(Debug)]
pub(crate) struct Delays {
    parameters: Backoff,
    next: Duration,
    last_reset: Option<Instant>,
}

impl Delays {
    pub(crate) fn new(parameters: Backoff) -> Self {
        Self { parameters, next: parameters.init.min(parameters.cap), last_reset: None }
    }

    pub(crate) fn next(&mut self, now: Instant, rng: &mut fastrand::Rng) -> Duration {
        let Backoff { init, cap, factor, jitter, reset } = self.parameters;
        let last_reset = *self.last_reset.get_or_insert(now);
        if !reset.is_zero() && now.duration_since(last_reset) > reset {
            self.last_reset = Some(now);
            self.next = init.min(cap);
        }
        let base = self.next;
        if factor > 1.0 {
            self.next = base.try_mul(factor).unwrap_or(cap).min(cap);
        }
        stretch(base, jitter, rng)
    }

    /// The pause that stands at the beginning; the next ones are no longer for it.
    pub(crate) fn least(&self, rng: &mut fastrand::Rng) -> Duration {
        let Backoff { init, cap, jitter, .. } = self.parameters;
        stretch(init.min(cap), jitter, rng)
    }

    /// Starts the clock of the periodic reset.
    pub(crate) fn started(&mut self, now: Instant) {
        self.last_reset.get_or_insert(now);
    }
}

/// `base`, made longer by up to `jitter` of itself.
pub(crate) fn stretch(base: Duration, jitter: f64, rng: &mut fastrand::Rng) -> Duration {
    if jitter > 0.0 { base.try_mul(1.0 + jitter * rng.f64()).unwrap_or(base) } else { base }
}

trait TryMul: Sized {
    /// The product, or none where it is not a duration.
    fn try_mul(self, by: f64) -> Option<Self>;
}

impl TryMul for Duration {
    fn try_mul(self, by: f64) -> Option<Self> {
        Self::try_from_secs_f64(self.as_secs_f64() * by).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_jitter() -> Backoff {
        Backoff { jitter: 0.0, ..Backoff::default() }
    }

    #[test]
    fn pauses_double_up_to_the_cap() {
        let (mut delays, mut rng, now) =
            (Delays::new(without_jitter()), fastrand::Rng::with_seed(1), Instant::now());
        let pauses: Vec<_> = (0..8).map(|_| delays.next(now, &mut rng).as_millis()).collect();
        assert_eq!(pauses, [800, 1600, 3200, 6400, 12800, 25600, 30000, 30000]);
    }

    #[test]
    fn the_reset_is_periodic() {
        let (mut delays, mut rng, start) =
            (Delays::new(without_jitter()), fastrand::Rng::with_seed(1), Instant::now());
        delays.started(start);
        let pauses: Vec<_> =
            (0..9).map(|k| delays.next(start + Duration::from_secs(20 * k), &mut rng).as_millis()).collect();
        assert_eq!(pauses, [800, 1600, 3200, 6400, 12800, 25600, 30000, 800, 1600]);
    }

    #[test]
    fn jitter_only_adds_and_never_doubles() {
        let mut rng = fastrand::Rng::with_seed(7);
        let base = Duration::from_secs(1);
        let all: Vec<_> = (0..1000).map(|_| stretch(base, 1.0, &mut rng)).collect();
        assert!(all.iter().all(|pause| (base..base * 2).contains(pause)));
        assert!(all.iter().max().unwrap().abs_diff(*all.iter().min().unwrap()) > Duration::from_millis(900));
    }
}

//! When the sink shows its objects again.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// Says when [`Sink::resync`](informers_core::Sink::resync) is called. No request is made for it.
///
/// The reflector sleeps until [`next`](Self::next) and then asks whether a resync is [`due`](Self::due),
/// which takes the place of client-go's resync period and `ShouldResync`.
///
/// ```
/// use std::time::{Duration, Instant};
/// use informers_reflector::{Every, ResyncSchedule};
///
/// let start = Instant::now();
/// let mut schedule = Every::new(Duration::from_secs(30));
/// assert_eq!(schedule.next(start), Some(start + Duration::from_secs(30)));
/// assert!(!schedule.due(start + Duration::from_secs(29)));
/// assert!(schedule.due(start + Duration::from_secs(30)));
/// assert_eq!(schedule.next(start + Duration::from_secs(30)), Some(start + Duration::from_secs(60)));
/// ```
pub trait ResyncSchedule: Send {
    /// When to ask next whether a resync is due; none: not before something changes.
    fn next(&mut self, now: Instant) -> Option<Instant>;

    /// Whether a resync is due at `now`. If it says yes, the reflector makes one, and the schedule goes on
    /// to the next.
    fn due(&mut self, now: Instant) -> bool;

    /// Ready when [`next`](Self::next) may have changed and is to be asked again; never by default.
    fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let _ = cx;
        Poll::Pending
    }

    /// Counts from `now` on. Only called under
    /// [`Parity::restart_resync`](crate::Parity::restart_resync), after each list.
    fn restart(&mut self, now: Instant) {
        let _ = now;
    }
}

/// A resync every so often, exactly: what one tick is late does not move the next. Ticks that were missed
/// altogether are made up for by one.
#[derive(Clone, Debug)]
pub struct Every {
    period: Duration,
    next: Option<Instant>,
}

impl Every {
    /// Every `period`, counted from the start of the reflector; zero means never.
    #[must_use]
    pub fn new(period: Duration) -> Self {
        Self { period, next: None }
    }
}

impl ResyncSchedule for Every {
    fn next(&mut self, now: Instant) -> Option<Instant> {
        if self.period.is_zero() {
            return None;
        }
        if self.next.is_none() {
            self.next = now.checked_add(self.period);
        }
        self.next
    }

    fn due(&mut self, now: Instant) -> bool {
        let Some(next) = self.next(now).filter(|&next| next <= now) else { return false };
        let late = now.duration_since(next).as_nanos() % self.period.as_nanos();
        // The remainder is below the period, which fitted into a duration before.
        let late = Duration::from_nanos(u64::try_from(late).unwrap_or(u64::MAX)).min(self.period);
        self.next = now.checked_add(self.period.saturating_sub(late));
        true
    }

    fn restart(&mut self, now: Instant) {
        self.next = now.checked_add(self.period);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_stay_on_the_grid_and_missed_ones_count_once() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut every = Every::new(Duration::from_secs(10));
        assert_eq!(every.next(start), Some(at(10)));
        assert!(every.due(at(13)));
        assert_eq!(every.next(at(13)), Some(at(20)));
        assert!(every.due(at(47)));
        assert!(!every.due(at(47)));
        assert_eq!(every.next(at(47)), Some(at(50)));
    }

    #[test]
    fn zero_means_never() {
        let mut never = Every::new(Duration::ZERO);
        assert_eq!(never.next(Instant::now()), None);
        assert!(!never.due(Instant::now()));
    }
}

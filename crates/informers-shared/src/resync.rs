//! When which handler is due to be shown every object again.

use std::time::{Duration, Instant};

/// How often a handler is shown every object again, without asking the server.
///
/// The period is kept exactly, whatever other handlers ask for and however often the informer lists anew.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resync {
    /// As the informer was told; never, unless it was.
    #[default]
    Inherited,
    /// Never.
    Never,
    /// Once in this period; zero is never.
    Every(Duration),
}

impl Resync {
    /// The period, given that of the informer; none is never.
    pub(crate) fn effective(self, informer: Option<Duration>) -> Option<Duration> {
        match self {
            Self::Inherited => informer,
            Self::Never => None,
            Self::Every(period) => Some(period),
        }
        .filter(|period| !period.is_zero())
    }
}

/// The end of a period; one that no clock can count is as good as never.
pub(crate) fn after(now: Instant, period: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    now.checked_add(period).unwrap_or_else(|| now + CENTURY)
}

/// The next turn of each handler that resyncs.
#[derive(Debug)]
pub(crate) struct ResyncCalendar<Id> {
    turns: Vec<Turn<Id>>,
}

#[derive(Debug)]
struct Turn<Id> {
    handler: Id,
    period: Duration,
    next: Instant,
}

impl<Id: Copy + PartialEq> ResyncCalendar<Id> {
    pub(crate) fn new() -> Self {
        Self { turns: Vec::new() }
    }

    pub(crate) fn add(&mut self, handler: Id, period: Duration, now: Instant) {
        self.turns.push(Turn { handler, period, next: after(now, period) });
    }

    pub(crate) fn remove(&mut self, handler: Id) {
        self.turns.retain(|turn| turn.handler != handler);
    }

    /// When somebody is due next.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.turns.iter().map(|turn| turn.next).min()
    }

    /// Who is due. A turn that was missed is made up for once, and the grid of turns does not shift.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<Id> {
        let mut due = Vec::new();
        for turn in &mut self.turns {
            if turn.next <= now {
                due.push(turn.handler);
                let late = now.duration_since(turn.next).as_nanos() % turn.period.as_nanos();
                // The remainder is below the period, which is a duration.
                let late = Duration::from_nanos(u64::try_from(late).unwrap_or(u64::MAX)).min(turn.period);
                turn.next = after(now, turn.period - late);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The times at which a handler fires within a minute, in seconds.
    fn firing_times(informer: u64, handler: Resync, added_at: u64) -> Vec<u64> {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut calendar = ResyncCalendar::new();
        if let Some(period) = handler.effective(Some(Duration::from_secs(informer))) {
            calendar.add(1, period, at(added_at));
        }
        let mut times = Vec::new();
        while let Some(next) = calendar.next().filter(|next| *next <= at(60)) {
            assert_eq!(calendar.take_due(next), [1]);
            times.push((next - start).as_secs());
        }
        times
    }

    #[test]
    fn a22_periods_are_exact_whatever_the_informer_was_told() {
        let every = |seconds| Resync::Every(Duration::from_secs(seconds));
        assert_eq!(firing_times(0, every(30), 0), [30, 60]);
        assert_eq!(firing_times(20, every(25), 0), [25, 50]);
        assert_eq!(firing_times(20, every(7), 30), [37, 44, 51, 58]);
        assert_eq!(firing_times(20, Resync::Inherited, 0), [20, 40, 60]);
        assert_eq!(firing_times(20, every(0), 0), [0; 0]);
        assert_eq!(firing_times(20, Resync::Never, 0), [0; 0]);
        assert_eq!(firing_times(0, Resync::Inherited, 0), [0; 0]);
    }

    #[test]
    fn a_missed_turn_is_made_up_once_and_the_grid_stays() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut calendar = ResyncCalendar::new();
        calendar.add(1, Duration::from_secs(10), start);
        calendar.add(2, Duration::from_secs(100), start);
        assert_eq!(calendar.take_due(at(35)), [1]);
        assert_eq!(calendar.take_due(at(39)), [0; 0]);
        assert_eq!(calendar.next(), Some(at(40)));
        calendar.remove(1);
        assert_eq!(calendar.next(), Some(at(100)));
    }

    #[test]
    fn periods_out_of_all_measure_do_no_harm() {
        let start = Instant::now();
        let mut calendar = ResyncCalendar::new();
        calendar.add(1, Duration::MAX, start);
        assert!(calendar.take_due(start + Duration::from_secs(3600)).is_empty());
        calendar.add(2, Duration::from_nanos(1), start);
        let now = start + Duration::from_secs(1_000_000);
        assert_eq!(calendar.take_due(now), [2]);
        assert_eq!(calendar.next(), Some(now + Duration::from_nanos(1)));
    }
}

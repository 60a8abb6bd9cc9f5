//! When handlers resync by client-go's rules.

use std::time::{Duration, Instant};

use crate::Resync;
use crate::resync::after;

/// The shortest period that a handler may ask for.
const SHORTEST: Duration = Duration::from_secs(1);

/// One tick for all handlers of an informer: at each, those resync whose own period has passed.
///
/// A handler also counts as resyncing before the first tick that it sees. Zero is no period.
#[derive(Debug)]
pub(crate) struct Ticks<Id> {
    /// What handlers get that ask for nothing.
    informer: Duration,
    /// Between two ticks; fixed at the start.
    period: Duration,
    started: bool,
    next: Option<Instant>,
    handlers: Vec<Handler<Id>>,
}

#[derive(Debug)]
struct Handler<Id> {
    id: Id,
    period: Duration,
    next: Instant,
    resyncing: bool,
}

impl<Id: Copy + PartialEq> Ticks<Id> {
    pub(crate) fn new(informer: Option<Duration>) -> Self {
        let informer = informer.unwrap_or_default();
        Self { informer, period: informer, started: false, next: None, handlers: Vec::new() }
    }

    /// From now on nobody makes the ticks more frequent.
    pub(crate) fn start(&mut self) {
        self.started = true;
    }

    /// Adds a handler and gives the period it has; none is never.
    pub(crate) fn add(&mut self, id: Id, asked: Resync, now: Instant) -> Option<Duration> {
        let asked = asked.effective(Some(self.informer)).unwrap_or_default();
        let asked = if asked.is_zero() { asked } else { asked.max(SHORTEST) };
        // Those who came before keep what they have: each got at least the tick of its time.
        if !asked.is_zero() && asked < self.period && !self.started {
            self.period = asked;
        }
        let never = asked.is_zero() || self.period.is_zero();
        let period = if never { Duration::ZERO } else { asked.max(self.period) };
        self.handlers.push(Handler { id, period, next: after(now, period), resyncing: true });
        Some(period).filter(|period| !period.is_zero())
    }

    pub(crate) fn remove(&mut self, id: Id) {
        self.handlers.retain(|handler| handler.id != id);
    }

    /// When the next tick is.
    pub(crate) fn next(&mut self, now: Instant) -> Option<Instant> {
        if self.period.is_zero() {
            return None;
        }
        Some(*self.next.get_or_insert(after(now, self.period)))
    }

    /// Counts anew from `now`, as after each list.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.next = Some(after(now, self.period));
    }

    /// Makes the tick if it is time for it, and says whether any handler resyncs then.
    pub(crate) fn tick(&mut self, now: Instant) -> bool {
        if self.next(now).is_none_or(|next| next > now) {
            return false;
        }
        self.next = Some(after(now, self.period));
        for handler in &mut self.handlers {
            handler.resyncing = !handler.period.is_zero() && handler.next <= now;
            if handler.resyncing {
                handler.next = after(now, handler.period);
            }
        }
        self.handlers.iter().any(|handler| handler.resyncing)
    }

    /// Who resyncs, until the next tick.
    pub(crate) fn resyncing(&self) -> Vec<Id> {
        self.handlers.iter().filter(|handler| handler.resyncing).map(|handler| handler.id).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn secs(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    const fn every(seconds: u64) -> Resync {
        Resync::Every(secs(seconds))
    }

    #[test]
    fn periods_are_coerced() {
        let start = Instant::now();
        let mut ticks = Ticks::new(Some(secs(12)));
        assert_eq!(ticks.add(1, Resync::Inherited, start), Some(secs(12)));
        assert_eq!(ticks.add(2, every(0), start), None);
        assert_eq!(ticks.add(3, every(20), start), Some(secs(20)));
        assert_eq!(ticks.next(start), Some(start + secs(12)));
        assert_eq!(ticks.add(4, Resync::Every(Duration::from_millis(3)), start), Some(secs(1)));
        ticks.restart(start);
        assert_eq!(ticks.next(start), Some(start + secs(1)), "the shortest period sets the tick");
        ticks.start();
        assert_eq!(ticks.add(5, Resync::Every(Duration::from_millis(3)), start), Some(secs(1)));

        let mut never = Ticks::new(None);
        assert_eq!(never.add(1, every(30), start), None);
        assert_eq!(never.next(start), None);
        never.restart(start);
        assert!(!never.tick(start + secs(60)));
    }

    #[test]
    fn after_the_start_the_tick_stays() {
        let start = Instant::now();
        let mut ticks = Ticks::new(Some(secs(10)));
        ticks.start();
        assert_eq!(ticks.add(1, every(3), start), Some(secs(10)));
        assert_eq!(ticks.next(start), Some(start + secs(10)));
    }

    #[test]
    fn everybody_resyncs_until_the_first_tick_and_then_in_turn() {
        let start = Instant::now();
        let at = |seconds| start + secs(seconds);
        let mut ticks = Ticks::new(Some(secs(2)));
        ticks.add(1, Resync::Inherited, start);
        ticks.add(2, every(3), start);
        ticks.add(3, Resync::Never, start);
        assert_eq!(ticks.resyncing(), [1, 2, 3]);
        ticks.restart(start);
        assert!(!ticks.tick(at(1)));
        assert_eq!(ticks.resyncing(), [1, 2, 3]);
        let mut seen = Vec::new();
        for seconds in [2, 4, 6, 8] {
            assert!(ticks.tick(at(seconds)));
            seen.push(ticks.resyncing());
        }
        assert_eq!(seen, [vec![1], vec![1, 2], vec![1], vec![1, 2]], "3 s are rounded up to two ticks");
        ticks.remove(1);
        assert_eq!(ticks.resyncing(), [2]);
    }
}

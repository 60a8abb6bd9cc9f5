//! The resync calendar as it is shared by the reflector that keeps it and the pipeline that serves it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use informers_core::wait::{Caller, Waiters};
use informers_reflector::ResyncSchedule;

use crate::delivery::HandlerId;
use crate::lock::Mutex;
use crate::resync::ResyncCalendar;
use crate::ticks::Ticks;
use crate::{Parity, Resync};

/// Which handlers resync when, and whose turn has come.
///
/// The reflector keeps the time; at a turn it sends a resync through the queue, so that it takes its place
/// behind what is already on its way, and the pipeline then asks whom it is for.
#[derive(Debug)]
pub(crate) struct SharedCalendar {
    state: Mutex<State>,
    informer: Option<Duration>,
}

#[derive(Debug)]
struct State {
    turns: Turns,
    /// Whose turn has come and was not served yet.
    waiting: Vec<HandlerId>,
    /// Whose turn was the latest one.
    syncing: Vec<HandlerId>,
    /// Newcomers count as syncing.
    newcomers_sync: bool,
    /// Whether a resync is one delta, which asks for those who wait.
    whole_resyncs: bool,
    /// How often the turns changed.
    changes: u64,
    /// The readers of all scopes, which all keep the time.
    readers: Waiters,
}

#[derive(Debug)]
enum Turns {
    Exact(ResyncCalendar<HandlerId>),
    Coerced(Ticks<HandlerId>),
}

impl SharedCalendar {
    /// `informer` is the period of handlers that do not say otherwise; `whole_resyncs`, whether the queue keeps
    /// lists and resyncs whole.
    pub(crate) fn new(informer: Option<Duration>, parity: &Parity, whole_resyncs: bool) -> Arc<Self> {
        let turns = match parity.coerced_resync {
            true => Turns::Coerced(Ticks::new(informer)),
            false => Turns::Exact(ResyncCalendar::new()),
        };
        let state = State {
            turns,
            waiting: Vec::new(),
            syncing: Vec::new(),
            newcomers_sync: parity.same_version_updates,
            whole_resyncs,
            changes: 0,
            readers: Waiters::new(),
        };
        Arc::new(Self { state: Mutex::new(state), informer })
    }

    /// The informer starts.
    pub(crate) fn start(&self) {
        if let Turns::Coerced(ticks) = &mut self.state.lock().turns {
            ticks.start();
        }
    }

    /// Takes note of a new handler and says how often it will resync; none is never.
    pub(crate) fn register(&self, handler: HandlerId, asked: Resync, now: Instant) -> Option<Duration> {
        match &mut self.state.lock().turns {
            Turns::Exact(_) => asked.effective(self.informer),
            Turns::Coerced(ticks) => ticks.add(handler, asked, now),
        }
    }

    /// The handler begins to hear events.
    pub(crate) fn begin(&self, handler: HandlerId, period: Option<Duration>, now: Instant) {
        let mut state = self.state.lock();
        let State { turns, syncing, newcomers_sync, changes, readers, .. } = &mut *state;
        let Turns::Exact(calendar) = turns else { return };
        if *newcomers_sync {
            syncing.push(handler);
        }
        let Some(period) = period else { return };
        calendar.add(handler, period, now);
        *changes += 1;
        let readers = readers.take();
        drop(state);
        readers.wake();
    }

    pub(crate) fn remove(&self, handler: HandlerId) {
        let mut state = self.state.lock();
        match &mut state.turns {
            Turns::Exact(calendar) => calendar.remove(handler),
            Turns::Coerced(ticks) => ticks.remove(handler),
        }
        state.waiting.retain(|waiting| *waiting != handler);
        state.syncing.retain(|syncing| *syncing != handler);
    }

    /// The handlers whose turn has come since this was asked last; for a resync of the whole store.
    pub(crate) fn take_waiting(&self) -> Vec<HandlerId> {
        let mut state = self.state.lock();
        match &state.turns {
            Turns::Exact(_) => std::mem::take(&mut state.waiting),
            Turns::Coerced(ticks) => ticks.resyncing(),
        }
    }

    /// The handlers that resync until the next turn; for a resync that comes object by object.
    pub(crate) fn syncing(&self) -> Vec<HandlerId> {
        let state = self.state.lock();
        match &state.turns {
            Turns::Exact(_) => state.syncing.clone(),
            Turns::Coerced(ticks) => ticks.resyncing(),
        }
    }
}

/// A reader's end of the calendar.
///
/// The readers of all scopes have one, since any of them may be in the midst of a long list, or rest, when a turn
/// comes. Whoever asks first makes the resync, which is of the whole store; for the others it is not due then.
pub(crate) struct CalendarSchedule {
    calendar: Arc<SharedCalendar>,
    slot: usize,
    /// Up to which change this reader knows the turns.
    seen: u64,
}

impl CalendarSchedule {
    pub(crate) fn new(calendar: &Arc<SharedCalendar>) -> Self {
        let mut state = calendar.state.lock();
        let (slot, seen) = (state.readers.join(), state.changes);
        drop(state);
        Self { calendar: Arc::clone(calendar), slot, seen }
    }
}

impl Drop for CalendarSchedule {
    fn drop(&mut self) {
        let former = self.calendar.state.lock().readers.leave(self.slot);
        drop(former);
    }
}

impl ResyncSchedule for CalendarSchedule {
    fn next(&mut self, now: Instant) -> Option<Instant> {
        match &mut self.calendar.state.lock().turns {
            Turns::Exact(calendar) => calendar.next(),
            Turns::Coerced(ticks) => ticks.next(now),
        }
    }

    fn due(&mut self, now: Instant) -> bool {
        let mut state = self.calendar.state.lock();
        let State { turns, waiting, syncing, whole_resyncs, .. } = &mut *state;
        let calendar = match turns {
            Turns::Exact(calendar) => calendar,
            Turns::Coerced(ticks) => return ticks.tick(now),
        };
        let due = calendar.take_due(now);
        if due.is_empty() {
            return false;
        }
        let served = waiting.len();
        for handler in &due {
            if !waiting.contains(handler) {
                waiting.push(*handler);
            }
        }
        *syncing = due;
        // For those who wait already a resync is on its way. A second one behind it would only make the queue
        // longer, without end if the period is shorter than a resync takes.
        !*whole_resyncs || waiting.len() > served
    }

    fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        Caller::poll(cx, |caller| {
            let mut state = self.calendar.state.lock();
            if state.changes != self.seen {
                self.seen = state.changes;
                return Some(Poll::Ready(()));
            }
            let unused = caller.wait_among(&mut state.readers, self.slot)?;
            drop(state);
            drop(unused);
            Some(Poll::Pending)
        })
    }

    fn restart(&mut self, now: Instant) {
        if let Turns::Coerced(ticks) = &mut self.calendar.state.lock().turns {
            ticks.restart(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn resyncs_do_not_pile_up_behind_one_that_waits() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let calendar = SharedCalendar::new(None, &Parity::default(), true);
        let mut schedule = CalendarSchedule::new(&calendar);
        let (often, seldom) = (HandlerId(1), HandlerId(2));
        calendar.begin(often, Some(Duration::from_secs(1)), start);
        calendar.begin(seldom, Some(Duration::from_secs(3)), start);
        assert_eq!([1, 2, 3, 4].map(|seconds| schedule.due(at(seconds))), [true, false, true, false]);
        assert_eq!(calendar.take_waiting(), [often, seldom]);
        assert!(schedule.due(at(5)), "served, so the next turn counts");
        assert_eq!(calendar.take_waiting(), [often]);
    }

    #[test]
    fn of_several_readers_one_makes_each_resync() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let calendar = SharedCalendar::new(None, &Parity::default(), true);
        let mut readers = [(); 2].map(|()| CalendarSchedule::new(&calendar));
        let mut context = Context::from_waker(Waker::noop());
        calendar.begin(HandlerId(1), Some(Duration::from_secs(10)), start);
        assert!(
            readers.iter_mut().all(|reader| reader.poll_changed(&mut context).is_ready()),
            "both are told"
        );
        assert!(readers.iter_mut().all(|reader| reader.poll_changed(&mut context).is_pending()));
        assert_eq!(readers.each_mut().map(|reader| reader.due(at(10))), [true, false]);
        calendar.take_waiting();
        // The first one reads a list and does not ask.
        assert!(readers[1].due(at(20)));
    }
}

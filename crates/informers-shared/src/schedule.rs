//! The resync calendar as it is shared by the reflector that keeps it and the pipeline that serves it.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;
use informers_reflector::ResyncSchedule;
use parking_lot::Mutex;

use crate::delivery::HandlerId;
use crate::resync::ResyncCalendar;

/// Which handlers resync when, and whose turn has come.
///
/// The reflector keeps the time; at a turn it sends a resync through the queue, so that it takes its place
/// behind what is already on its way, and the pipeline then asks whom it is for.
#[derive(Debug)]
pub(crate) struct SharedCalendar {
    state: Mutex<State>,
    reflector: AtomicWaker,
}

#[derive(Debug)]
struct State {
    calendar: ResyncCalendar<HandlerId>,
    waiting_for_resync: Vec<HandlerId>,
    changed: bool,
}

impl SharedCalendar {
    pub(crate) fn new() -> Arc<Self> {
        let state = State { calendar: ResyncCalendar::new(), waiting_for_resync: Vec::new(), changed: false };
        Arc::new(Self { state: Mutex::new(state), reflector: AtomicWaker::new() })
    }

    pub(crate) fn add(&self, handler: HandlerId, period: Duration, now: Instant) {
        let mut state = self.state.lock();
        state.calendar.add(handler, period, now);
        state.changed = true;
        drop(state);
        self.reflector.wake();
    }

    pub(crate) fn remove(&self, handler: HandlerId) {
        let mut state = self.state.lock();
        state.calendar.remove(handler);
        state.waiting_for_resync.retain(|waiting| *waiting != handler);
    }

    /// The handlers whose turn has come since this was asked last.
    pub(crate) fn take_waiting(&self) -> Vec<HandlerId> {
        std::mem::take(&mut self.state.lock().waiting_for_resync)
    }
}

/// The reflector's end of the calendar.
pub(crate) struct CalendarSchedule(pub(crate) Arc<SharedCalendar>);

impl ResyncSchedule for CalendarSchedule {
    fn next(&mut self, _: Instant) -> Option<Instant> {
        self.0.state.lock().calendar.next()
    }

    fn due(&mut self, now: Instant) -> bool {
        let mut state = self.0.state.lock();
        let due = state.calendar.take_due(now);
        for handler in &due {
            if !state.waiting_for_resync.contains(handler) {
                state.waiting_for_resync.push(*handler);
            }
        }
        !due.is_empty()
    }

    fn poll_changed(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.reflector.register(cx.waker());
        match std::mem::take(&mut self.0.state.lock().changed) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

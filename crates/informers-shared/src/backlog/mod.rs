//! The events that wait for one handler.

mod bounded;
mod coalesced;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Instant;

use bounded::{Dropping, InOrderUpTo};
use coalesced::Coalesced;
use informers_core::{Entry, Event};

/// A backlog that has run empty keeps room for this many events. What the first list or a burst took beyond
/// that is given back, since an idle handler may never need it again.
const KEPT: usize = 1024;

/// What happens to events that a handler is too slow for. The store and the other handlers never wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BacklogPolicy {
    /// At most two events wait per object: later ones are merged into them, so that the handler catches up
    /// with the present and memory is bounded by the number of distinct objects. `old` of an update is always what
    /// this handler was told last; an addition and the deletion after it cancel out. The default.
    #[default]
    Coalesced,
    /// Every event waits, in order, without bound, as in client-go.
    InOrder,
    /// Up to `limit` events wait in order; what comes beyond that is merged behind them, as in
    /// [`Coalesced`](Self::Coalesced). Once all that was merged has been taken, events wait in order again. So a handler that
    /// keeps pace hears every event, and memory is bounded by the limit and the number of objects.
    InOrderUpTo {
        /// How many events wait in order; 0 counts as 1.
        limit: usize,
    },
    /// Up to `limit` events wait, in order; later ones are dropped and counted
    /// ([`HandlerStatus::dropped`](crate::HandlerStatus::dropped)).
    ///
    /// For handlers that only want to know that something happened: after a drop an update's `old` may be a state that
    /// the handler was not told, an object may be deleted that it never saw, and one that is gone may seem to
    /// be there. Dropped initial objects do not hold up its [`synced`](crate::HandlerGuard::synced).
    Dropping {
        /// How many events wait; 0 counts as 1.
        limit: usize,
    },
}

/// The waiting events of one handler, and how far it is with its initial ones.
#[derive(Debug)]
pub(crate) struct Backlog<T> {
    events: Events<T>,
    /// Initial additions that the handler has not returned from yet.
    initial_pending: usize,
    /// Whether no further initial additions can come.
    initial_complete: bool,
}

#[derive(Debug)]
enum Events<T> {
    Coalesced(Coalesced<T>),
    InOrder(VecDeque<(Instant, Event<T>)>),
    InOrderUpTo(InOrderUpTo<T>),
    Dropping(Dropping<T>),
}

impl<T> Backlog<T> {
    pub(crate) fn new(policy: BacklogPolicy) -> Self {
        let events = match policy {
            BacklogPolicy::Coalesced => Events::Coalesced(Coalesced::new()),
            BacklogPolicy::InOrder => Events::InOrder(VecDeque::new()),
            BacklogPolicy::InOrderUpTo { limit } => Events::InOrderUpTo(InOrderUpTo::new(limit)),
            BacklogPolicy::Dropping { limit } => Events::Dropping(Dropping::new(limit)),
        };
        Self { events, initial_pending: 0, initial_complete: false }
    }

    /// Makes room for so many further events at once. Growing step by step for a first list would leave a hole in the heap at each step.
    pub(crate) fn reserve(&mut self, events: usize) {
        match &mut self.events {
            Events::Coalesced(own) => own.reserve(events),
            Events::InOrder(own) => own.reserve(events),
            // They rarely have room for all of them.
            Events::InOrderUpTo(_) | Events::Dropping(_) => {}
        }
    }

    /// Puts one event at the end. Objects that fall out go to `left`, to be dropped without a lock.
    pub(crate) fn push(&mut self, event: Event<T>, now: Instant, left: &mut Vec<Entry<T>>) {
        self.initial_pending += usize::from(is_initial(&event));
        match &mut self.events {
            Events::InOrder(events) => events.push_back((now, event)),
            Events::Coalesced(events) => self.initial_pending -= events.push(event, now, left),
            Events::InOrderUpTo(events) => self.initial_pending -= events.push(event, now, left),
            Events::Dropping(events) => self.initial_pending -= events.push(event, now, left),
        }
    }

    /// Takes the first event. [`returned`](Self::returned) must follow once the handler is done with it.
    pub(crate) fn pop(&mut self) -> Option<Event<T>> {
        let event = match &mut self.events {
            Events::Coalesced(events) => events.pop(),
            Events::InOrder(events) => events.pop_front().map(|(_, event)| event),
            Events::InOrderUpTo(events) => events.pop(),
            Events::Dropping(events) => events.pop(),
        };
        if self.len() == 0 && self.capacity() > KEPT {
            drop(self.empty());
        }
        event
    }

    /// Notes that the handler has returned from an event for which [`is_initial`] holds.
    pub(crate) fn returned_from_initial(&mut self) {
        self.initial_pending = self.initial_pending.saturating_sub(1);
    }

    /// Notes that all initial additions have been pushed.
    pub(crate) fn complete_initial(&mut self) {
        self.initial_complete = true;
    }

    /// Whether the handler has returned from every object of its initial set.
    pub(crate) fn is_synced(&self) -> bool {
        self.initial_complete && self.initial_pending == 0
    }

    pub(crate) fn len(&self) -> usize {
        match &self.events {
            Events::Coalesced(events) => events.len(),
            Events::InOrder(events) => events.len(),
            Events::InOrderUpTo(events) => events.len(),
            Events::Dropping(events) => events.len(),
        }
    }

    /// When the event that waits longest was pushed.
    pub(crate) fn oldest(&self) -> Option<Instant> {
        match &self.events {
            Events::Coalesced(events) => events.oldest(),
            Events::InOrder(events) => events.front().map(|(pushed, _)| *pushed),
            Events::InOrderUpTo(events) => events.oldest(),
            Events::Dropping(events) => events.oldest(),
        }
    }

    /// How many events were dropped since there was no room.
    pub(crate) fn dropped(&self) -> u64 {
        match &self.events {
            Events::Coalesced(_) | Events::InOrder(_) | Events::InOrderUpTo(_) => 0,
            Events::Dropping(events) => events.dropped(),
        }
    }

    /// Takes out everything that waits, to be dropped.
    pub(crate) fn clear(&mut self) -> impl Sized + use<T> {
        self.initial_pending = 0;
        self.empty()
    }

    fn empty(&mut self) -> Events<T> {
        let empty = match &self.events {
            Events::Coalesced(_) => Events::Coalesced(Coalesced::new()),
            Events::InOrder(_) => Events::InOrder(VecDeque::new()),
            Events::InOrderUpTo(events) => Events::InOrderUpTo(events.emptied()),
            Events::Dropping(events) => Events::Dropping(events.emptied()),
        };
        std::mem::replace(&mut self.events, empty)
    }

    /// For how many events there is room already.
    fn capacity(&self) -> usize {
        match &self.events {
            Events::Coalesced(events) => events.capacity(),
            Events::InOrder(events) => events.capacity(),
            Events::InOrderUpTo(events) => events.capacity(),
            Events::Dropping(events) => events.capacity(),
        }
    }
}

/// Whether the event counts towards a handler's initial set.
pub(crate) fn is_initial<T>(event: &Event<T>) -> bool {
    matches!(event, Event::Added { initial: true, .. })
}

/// The objects that an event holds.
fn objects_of<T>(event: Event<T>) -> impl Iterator<Item = Entry<T>> {
    let (object, before) = match event {
        Event::Added { object, .. } => (object, None),
        Event::Updated { old, new } => (new, Some(old)),
        Event::Deleted { last, .. } => (last, None),
    };
    before.into_iter().chain([object])
}

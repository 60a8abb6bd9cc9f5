//! Backlogs with a limit: one merges what comes beyond it, one drops it.

use std::collections::VecDeque;
use std::time::Instant;

use informers_core::{Entry, Event};

use super::coalesced::Coalesced;
use super::{is_initial, objects_of};

/// Events in order up to a limit, and behind them, merged, what came while there was no room.
#[derive(Debug)]
pub(crate) struct InOrderUpTo<T> {
    limit: usize,
    line: VecDeque<(Instant, Event<T>)>,
    /// Once something is here, everything goes here until it has been taken: else an object's events would overtake
    /// each other.
    behind: Coalesced<T>,
}

impl<T> InOrderUpTo<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), line: VecDeque::new(), behind: Coalesced::new() }
    }

    /// Gives how many initial additions the handler will never see, as [`Coalesced::push`] does.
    pub(crate) fn push(&mut self, event: Event<T>, now: Instant, left: &mut Vec<Entry<T>>) -> usize {
        if self.behind.len() > 0 || self.line.len() >= self.limit {
            return self.behind.push(event, now, left);
        }
        self.line.push_back((now, event));
        0
    }

    pub(crate) fn pop(&mut self) -> Option<Event<T>> {
        match self.line.pop_front() {
            Some((_, event)) => Some(event),
            None => self.behind.pop(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len() + self.behind.len()
    }

    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.line.front().map(|(pushed, _)| *pushed).or_else(|| self.behind.oldest())
    }

    pub(crate) fn capacity(&self) -> usize {
        self.line.capacity().max(self.behind.capacity())
    }

    pub(crate) fn emptied(&self) -> Self {
        Self::new(self.limit)
    }
}

/// Events in order up to a limit; what comes beyond it is lost.
#[derive(Debug)]
pub(crate) struct Dropping<T> {
    limit: usize,
    line: VecDeque<(Instant, Event<T>)>,
    dropped: u64,
}

impl<T> Dropping<T> {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit: limit.max(1), line: VecDeque::new(), dropped: 0 }
    }

    /// Gives how many initial additions the handler will never see.
    pub(crate) fn push(&mut self, event: Event<T>, now: Instant, left: &mut Vec<Entry<T>>) -> usize {
        if self.line.len() >= self.limit {
            self.dropped += 1;
            let initial = usize::from(is_initial(&event));
            left.extend(objects_of(event));
            return initial;
        }
        self.line.push_back((now, event));
        0
    }

    pub(crate) fn pop(&mut self) -> Option<Event<T>> {
        self.line.pop_front().map(|(_, event)| event)
    }

    pub(crate) fn len(&self) -> usize {
        self.line.len()
    }

    pub(crate) fn oldest(&self) -> Option<Instant> {
        self.line.front().map(|(pushed, _)| *pushed)
    }

    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(crate) fn capacity(&self) -> usize {
        self.line.capacity()
    }

    pub(crate) fn emptied(&self) -> Self {
        Self { dropped: self.dropped, ..Self::new(self.limit) }
    }
}

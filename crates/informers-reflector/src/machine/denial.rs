//! Answers that call for patience: 403, and 404 of the resource itself.

use std::time::Duration;

use super::Then;
use crate::backoff::stretch;

/// What the server denies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The permission.
    Forbidden,
    /// The resource, which was there before.
    Gone,
}

const FIRST_SLOW: Duration = Duration::from_secs(30);
const SLOWEST: Duration = Duration::from_secs(300);

/// A denial that lasts.
#[derive(Debug)]
pub(crate) struct Denial {
    pub(crate) denied: Denied,
    /// What is tried again.
    pub(crate) then: Then,
    next: Duration,
    first: bool,
}

impl Denial {
    pub(crate) fn new(denied: Denied, then: Then) -> Self {
        Self { denied, then, next: FIRST_SLOW, first: true }
    }

    /// Whether nothing was waited for yet.
    pub(crate) fn is_fresh(&self) -> bool {
        self.first
    }

    /// The pause before the next attempt. A permission may have been given just after it was missed, as at
    /// the start of a cluster, so its first pause is short.
    pub(crate) fn pause(&mut self, rng: &mut fastrand::Rng) -> Duration {
        let first = std::mem::replace(&mut self.first, false);
        if first && self.denied == Denied::Forbidden {
            return Duration::from_secs_f64(1.0 + 7.0 * rng.f64());
        }
        let pause = stretch(self.next, 0.1, rng);
        self.next = (self.next * 2).min(SLOWEST);
        pause
    }
}

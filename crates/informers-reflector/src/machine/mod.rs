//! What a reflector decides, without IO, clock or task.
//!
//! Each phase is a type of its own, and what ends a phase consumes it and gives the [`Next`] one:
//!
//! ```text
//!            ┌────────────── Waiting ◄───────────────┐ (any failure)
//!            ▼                  ▲ │                  │
//!  Streaming ──► Watching ──► Opening ──► Watching ──┤
//!     │ refused         ▲                            │
//!     ▼                 │                            │
//!  Listing ──► Opening ─┘                            └─► Streaming or Listing (version expired)
//! ```
//!
//! What outlives a phase is in [`Memory`]. The driver tells what happened and when; the machine never sees
//! an object.

mod denial;
mod internal_errors;
mod listing;
mod memory;
mod recovery;
mod streaming;
mod watching;

#[cfg(test)]
mod script;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use informers_core::Error;

pub(crate) use denial::Denied;
pub(crate) use listing::{AfterPage, Listing, PageFailure};
pub(crate) use memory::{Memory, Rules};
pub(crate) use streaming::{Initial, Streaming};
pub(crate) use watching::{EventKind, Opening, Watching};

/// A watch that ends sooner than this has not worked, unless it brought something.
pub(crate) const BRIEF: Duration = Duration::from_secs(1);

/// What is to be done next.
#[derive(Debug)]
pub(crate) enum Next {
    /// Ask for a streaming list.
    Stream(Streaming),
    /// Ask for the pages of a list.
    List(Listing),
    /// Ask for a watch.
    Open(Opening),
    /// Do nothing for a while.
    Wait(Waiting),
    /// Replace everything by nothing, since the resource is gone; then wait.
    Empty(Waiting),
}

/// A pause.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) until: Instant,
    /// None where nothing failed: watches that work are only paced.
    pub(crate) reason: Option<Error>,
    pub(crate) denied: Option<Denied>,
    pub(crate) then: Then,
}

/// What follows a pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// A list, in the way that fits.
    Sync,
    /// A watch from the last version.
    Watch,
}

impl Waiting {
    /// The pause is over.
    pub(crate) fn over(self, memory: &mut Memory, now: Instant) -> Next {
        match self.then {
            Then::Sync => memory.sync(now),
            Then::Watch => memory.open(now),
        }
    }
}

/// That time, or the far future where `wait` is out of all measure.
fn later(now: Instant, wait: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);
    now + wait.min(FAR)
}

/// Something to be told.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A failure, for the log and for the watch error handler.
    Failed(Error),
    /// A failure that heals by itself or was told before, for the status alone.
    Overcome(Error),
    /// Something strange, for the log.
    Remark(&'static str),
    /// A denial has ended, for the log.
    Recovered(&'static str),
}

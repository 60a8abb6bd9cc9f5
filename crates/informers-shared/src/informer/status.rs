//! How an informer is doing.

use std::time::{Duration, Instant};

use informers_core::{ResourceVersion, Scope};
use informers_reflector::ReflectorStatus;

use crate::delivery::HandlerStatus;

/// How an informer is doing, readable at any time; enough for a readiness probe and for the engineer who
/// wonders why his cache is stale: printed, it is one line that says what it does and what stands in its way.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The informer's name.
    pub name: String,
    /// When this was read.
    pub at: Instant,
    /// Whether it was started.
    pub started: bool,
    /// Whether it has stopped.
    pub stopped: bool,
    /// Whether the store has its first contents.
    pub synced: bool,
    /// How many objects the store holds.
    pub objects: usize,
    /// The version up to which the store is known: of several scopes the oldest of theirs, empty until each of them
    /// was listed, or if they cannot be compared. The reader of each scope has its own.
    pub version: ResourceVersion,
    /// How many objects cannot be decoded.
    pub undecodable: usize,
    /// The reader of each scope: what it does, since when nothing arrived or nothing works, what failed last.
    pub reflectors: Vec<(Scope, ReflectorStatus)>,
    /// The handlers, in the order in which they were added.
    pub handlers: Vec<HandlerStatus>,
}

impl InformerStatus {
    /// For how long the reader that has been failing longest has been failing, when this was read; empty if none fails. A first
    /// list that is still being read is no failure.
    /// What is stored grows stale meanwhile.
    ///
    /// ```
    /// use std::time::Duration;
    /// use informers_shared::InformerStatus;
    ///
    /// /// A liveness probe that leaves a server time to restart.
    /// fn is_alive(status: &InformerStatus) -> bool {
    ///     !status.stopped && !status.failing_for().is_some_and(|failing| failing > Duration::from_secs(300))
    /// }
    /// ```
    #[must_use]
    pub fn failing_for(&self) -> Option<Duration> {
        self.reflectors.iter().filter_map(|(_, reader)| reader.failing_for(self.at)).max()
    }
}

/// What stands in the way of a reader, for an error.
pub(super) fn obstacle(reader: &ReflectorStatus) -> String {
    let phase = &reader.phase;
    if phase.until().is_some() { format!("{phase}; it tries again") } else { phase.to_string() }
}

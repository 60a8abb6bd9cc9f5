//! How an informer is doing.

use informers_core::{ResourceVersion, Scope};
use informers_reflector::{Phase, ReflectorStatus};

use crate::delivery::HandlerStatus;

/// How an informer is doing, readable at any time; enough for a readiness probe and for the engineer who
/// wonders why his cache is stale.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InformerStatus {
    /// The informer's name.
    pub name: String,
    /// Whether it was started.
    pub started: bool,
    /// Whether it has stopped.
    pub stopped: bool,
    /// Whether the store has its first contents.
    pub synced: bool,
    /// How many objects the store holds.
    pub objects: usize,
    /// The version up to which the store is known.
    pub version: ResourceVersion,
    /// How many objects cannot be decoded.
    pub undecodable: usize,
    /// The reader of each scope: what it does, since when nothing arrived, what failed last.
    pub reflectors: Vec<(Scope, ReflectorStatus)>,
    /// The handlers, in the order in which they were added.
    pub handlers: Vec<HandlerStatus>,
}

/// A phase in a few words, for errors.
pub(super) fn doing(phase: &Phase) -> &'static str {
    match phase {
        Phase::Starting => "it has just started",
        Phase::Listing => "it is still reading the list",
        Phase::Streaming => "it is still reading the streaming list",
        Phase::Watching => "it is watching",
        Phase::Waiting { .. } => "the last attempt failed and it waits for the next",
        Phase::Forbidden { .. } => "it is not permitted to read the resource",
        Phase::Gone { .. } => "the server does not know the resource",
        _ => "it has stopped reading",
    }
}

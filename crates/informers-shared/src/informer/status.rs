//! How an informer is doing.

use std::time::Instant;

use informers_core::{ErrorKind, ResourceVersion, Scope};
use informers_reflector::{Phase, ReflectorStatus};

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
    /// The reader of each scope: what it does, since when nothing arrived, what failed last.
    pub reflectors: Vec<(Scope, ReflectorStatus)>,
    /// The handlers, in the order in which they were added.
    pub handlers: Vec<HandlerStatus>,
}

/// What has to change before the next attempt can succeed, in a few words; the error itself says more.
fn waiting_for(failure: ErrorKind) -> &'static str {
    match failure {
        ErrorKind::ConnectionRefused => "the server cannot be reached; it tries again",
        ErrorKind::ConnectionLost => "the connection to the server broke; it tries again",
        ErrorKind::Timeout => "the server does not answer in time; it tries again",
        ErrorKind::Unauthorized => "the server does not accept the credentials; it tries again",
        ErrorKind::Forbidden => "it is not permitted to read the resource",
        ErrorKind::NotFound => "the server does not know the resource; it tries again",
        ErrorKind::TooManyRequests => "the server asks for patience; it tries again",
        ErrorKind::Unavailable | ErrorKind::Internal => "the server fails to serve it; it tries again",
        ErrorKind::Configuration => "the server cannot be talked to as configured; it tries again",
        ErrorKind::UnexpectedAnswer => "the answer is not what was asked for; it tries again",
        _ => "the last attempt failed; it tries again",
    }
}

/// A phase in a few words, for errors.
pub(super) fn doing(phase: &Phase) -> &'static str {
    match phase {
        Phase::Starting => "it has just started",
        Phase::Listing => "it is still reading the list",
        Phase::Streaming => "it is still reading the streaming list",
        Phase::Watching => "it is watching",
        Phase::Waiting { reason, .. } => waiting_for(reason.kind()),
        Phase::Forbidden { .. } => "it is not permitted to read the resource",
        Phase::Gone { .. } => "the server does not know the resource",
        _ => "it has stopped reading",
    }
}

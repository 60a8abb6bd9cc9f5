//! What a reflector does, phase by phase.

use std::fmt;
use std::time::Instant;

use informers_core::{Error, ErrorKind};

/// What a reflector does at the moment.
///
/// ```
/// use std::time::Instant;
/// use informers_core::{Error, ErrorKind};
/// use informers_reflector::Phase;
///
/// let reason = Error::new(ErrorKind::Forbidden, "watch pods");
/// let phase = Phase::Forbidden { reason, until: Instant::now() };
/// assert!(phase.reason().unwrap().is_forbidden() && !phase.is_watching());
/// assert_eq!(phase.to_string(), "not permitted to read the resource");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum Phase {
    /// It has not begun.
    #[default]
    Starting,
    /// It reads a list, in pages where the server gives pages.
    Listing,
    /// It reads the initial events of a streaming list.
    Streaming,
    /// It watches, or its watch ended in good order and the next one is being opened.
    Watching,
    /// It failed and waits for its next attempt.
    Waiting {
        /// What failed.
        reason: Error,
        /// When it tries again.
        until: Instant,
    },
    /// The server denies the permission; the sink keeps its last contents, which grow stale.
    Forbidden {
        /// What the server said.
        reason: Error,
        /// When it tries again.
        until: Instant,
    },
    /// The resource was there and is gone; the sink was emptied.
    Gone {
        /// What the server said.
        reason: Error,
        /// When it tries again.
        until: Instant,
    },
    /// It has ended.
    Stopped,
}

/// In a few words, such as `watching` or `the server cannot be reached`; of a failure they say what has to change before
/// the next attempt can succeed. The [reason](Phase::reason) says more.
impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Starting => "starting",
            Self::Listing => "reading the list",
            Self::Streaming => "reading the streaming list",
            Self::Watching => "watching",
            Self::Waiting { reason, .. } => obstacle(reason.kind()),
            Self::Forbidden { .. } => obstacle(ErrorKind::Forbidden),
            Self::Gone { .. } => "the server does not know the resource any more",
            Self::Stopped => "stopped",
        })
    }
}

fn obstacle(failure: ErrorKind) -> &'static str {
    match failure {
        ErrorKind::ConnectionRefused => "the server cannot be reached",
        ErrorKind::ConnectionLost => "the connection to the server broke",
        ErrorKind::Timeout => "the server does not answer in time",
        ErrorKind::Unauthorized => "no credentials that the server accepts",
        ErrorKind::Forbidden => "not permitted to read the resource",
        ErrorKind::NotFound => "the server does not know the resource",
        ErrorKind::TooManyRequests => "the server asks for patience",
        ErrorKind::Expired | ErrorKind::Gone => "the server does not keep the version any more",
        ErrorKind::TooLargeResourceVersion => "the server is behind the version that was seen",
        ErrorKind::Unavailable | ErrorKind::Internal => "the server fails to serve it",
        ErrorKind::Configuration => "the server cannot be talked to as configured",
        ErrorKind::UnexpectedAnswer => "the answer is not what was asked for",
        _ => "the last attempt failed",
    }
}

impl Phase {
    /// Whether it reads a list, in either way.
    #[must_use]
    pub fn is_listing(&self) -> bool {
        matches!(self, Self::Listing | Self::Streaming)
    }

    /// Whether it watches.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        matches!(self, Self::Watching)
    }

    /// Whether it has ended.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped)
    }

    /// What it is held up by, if it is.
    #[must_use]
    pub fn reason(&self) -> Option<&Error> {
        match self {
            Self::Waiting { reason, .. } | Self::Forbidden { reason, .. } | Self::Gone { reason, .. } => {
                Some(reason)
            }
            _ => None,
        }
    }

    /// When it tries again, if it waits.
    #[must_use]
    pub fn until(&self) -> Option<Instant> {
        match self {
            Self::Waiting { until, .. } | Self::Forbidden { until, .. } | Self::Gone { until, .. } => {
                Some(*until)
            }
            _ => None,
        }
    }
}

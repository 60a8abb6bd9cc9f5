//! What a reflector remembers from phase to phase.

use std::time::{Duration, Instant};

use informers_core::ResourceVersion;

use super::denial::Denial;
use super::internal_errors::InternalErrors;
use super::{Denied, Listing, Next, Notice, Opening, Streaming, Then};
use crate::backoff::Delays;
use crate::{Backoff, FirstList, Parity, StreamingPatience};

/// client-go honours a longer minimum only.
const WATCH_TIMEOUT_FLOOR: Duration = Duration::from_secs(300);

/// The settings that decisions depend on.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) streaming_list: bool,
    pub(crate) first_list: FirstList,
    /// None: client-go's rule.
    pub(crate) page_size: Option<u32>,
    pub(crate) patience: StreamingPatience,
    pub(crate) min_watch_timeout: Duration,
    pub(crate) max_internal_error_retry: Duration,
    pub(crate) parity: Parity,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            streaming_list: true,
            first_list: FirstList::default(),
            page_size: None,
            patience: StreamingPatience::default(),
            min_watch_timeout: WATCH_TIMEOUT_FLOOR,
            max_internal_error_retry: Duration::ZERO,
            parity: Parity::default(),
        }
    }
}

/// What outlives a phase.
#[derive(Debug)]
pub(crate) struct Memory {
    pub(crate) rules: Rules,
    pub(crate) delays: Delays,
    pub(crate) rng: fastrand::Rng,
    /// The version from which to go on; empty before the first list.
    pub(crate) version: ResourceVersion,
    /// The server does not have `version` any more, or not yet: the next list names none.
    pub(crate) version_unavailable: bool,
    /// The server gave pages of a list of any version, so it does not answer such lists from a cache.
    pub(crate) pages_any_version: bool,
    /// The server cannot do streaming lists.
    pub(crate) streaming_refused: bool,
    /// Streaming lists in a row that ended without their mark.
    pub(super) incomplete_streams: u32,
    /// Whether there was a list, ever.
    pub(crate) synced: bool,
    pub(super) denial: Option<Denial>,
    /// How often in a row the server did not know the resource.
    pub(super) not_found: u32,
    /// Watches in a row that ended within a second.
    pub(super) brief_watches: u32,
    /// Watches in a row that brought nothing, for no reason that the server gave.
    pub(super) fruitless_watches: u32,
    pub(super) internal_errors: InternalErrors,
    notices: Vec<Notice>,
}

impl Memory {
    pub(crate) fn new(rules: Rules, backoff: Backoff, rng: fastrand::Rng) -> Self {
        Self {
            rules,
            delays: Delays::new(backoff),
            rng,
            version: ResourceVersion::default(),
            version_unavailable: false,
            pages_any_version: false,
            streaming_refused: false,
            incomplete_streams: 0,
            synced: false,
            denial: None,
            not_found: 0,
            brief_watches: 0,
            fruitless_watches: 0,
            internal_errors: InternalErrors::default(),
            notices: Vec::new(),
        }
    }

    /// What comes first.
    pub(crate) fn start(&mut self, now: Instant) -> Next {
        self.delays.started(now);
        self.sync(now)
    }

    /// A list, streaming where that is possible.
    pub(super) fn sync(&mut self, now: Instant) -> Next {
        let refused = self.streaming_refused && !self.parity().ask_for_streaming_again;
        if self.rules.streaming_list && !refused && !self.is_gone() {
            Next::Stream(Streaming::begin(self, now))
        } else {
            Next::List(Listing::begin(self, now))
        }
    }

    /// A watch from the last version.
    pub(super) fn open(&mut self, now: Instant) -> Next {
        Next::Open(Opening::begin(self, now))
    }

    pub(crate) fn parity(&self) -> Parity {
        self.rules.parity
    }

    pub(super) fn is_gone(&self) -> bool {
        self.denial.as_ref().is_some_and(|denial| denial.denied == Denied::Gone)
    }

    /// A random time between the least one and twice that, in whole seconds.
    pub(super) fn watch_timeout(&mut self) -> Duration {
        let mut least = self.rules.min_watch_timeout;
        if self.parity().watch_timeout_floor {
            least = least.max(WATCH_TIMEOUT_FLOOR);
        }
        let seconds = least.as_secs_f64() * (1.0 + self.rng.f64());
        Duration::from_secs((seconds as u64).max(1))
    }

    /// The sink took a list of this version.
    pub(super) fn list_taken(&mut self, version: ResourceVersion) {
        self.version = version;
        self.version_unavailable = false;
        self.synced = true;
        self.not_found = 0;
        // A denied watch is not granted by a list.
        if let Some(denial) = self.denial.take_if(|denial| denial.then == Then::Sync) {
            self.notice(Notice::Recovered(match denial.denied {
                Denied::Gone => "the resource is back",
                Denied::Forbidden => "the permission to list is there",
            }));
        }
    }

    /// A watch works: it brought something, or lasted.
    pub(super) fn watch_proved(&mut self) {
        self.fruitless_watches = 0;
        self.not_found = 0;
        if self.denial.take().is_some() {
            self.notice(Notice::Recovered("the permission to watch is there"));
        }
    }

    pub(super) fn notice(&mut self, notice: Notice) {
        self.notices.push(notice);
    }

    /// What is to be told since the last call.
    pub(crate) fn take_notices(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.notices)
    }
}

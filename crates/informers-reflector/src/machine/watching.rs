//! Opening and following a watch.

use std::time::{Duration, Instant};

use informers_core::{ChangeKind, Error, ErrorKind, ResourceVersion, WatchParams};

use super::{BRIEF, Memory, Next, Notice, Then, later};

/// So many brief watches in a row are paced even if each of them brought something.
const BRIEF_WATCHES: u32 = 3;
/// How long the answer to a watch may take; servers send it at once.
const OPENING: Duration = Duration::from_secs(60);
/// How long after its time-out a silent watch is given up.
const GRACE: Duration = Duration::from_secs(30);

/// The phase in which a watch is asked for.
#[derive(Debug)]
pub(crate) struct Opening {
    params: WatchParams,
    began: Instant,
}

impl Opening {
    pub(super) fn begin(memory: &mut Memory, now: Instant) -> Self {
        let timeout = memory.watch_timeout();
        Self { params: WatchParams::from_version(memory.version.clone(), timeout), began: now }
    }

    pub(crate) fn params(&self) -> &WatchParams {
        &self.params
    }

    /// When to give it up.
    pub(crate) fn deadline(&self, memory: &Memory) -> Option<Instant> {
        (!memory.parity().no_client_limits).then(|| self.began + OPENING)
    }

    pub(crate) fn opened(self, now: Instant) -> Watching {
        let versions_are_final = self.params.version.is_specific();
        Watching { params: self.params, began: self.began, last_event: now, events: 0, versions_are_final }
    }

    pub(crate) fn failed(self, memory: &mut Memory, error: Error, now: Instant) -> Next {
        memory.watch_failed(error, false, now)
    }
}

/// What an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EventKind {
    Added,
    Modified,
    Deleted,
    Bookmark,
    Unknown,
}

impl From<ChangeKind> for EventKind {
    fn from(kind: ChangeKind) -> Self {
        match kind {
            ChangeKind::Added => Self::Added,
            ChangeKind::Modified => Self::Modified,
            ChangeKind::Deleted => Self::Deleted,
        }
    }
}

/// The phase in which changes arrive.
#[derive(Debug)]
pub(crate) struct Watching {
    params: WatchParams,
    began: Instant,
    last_event: Instant,
    events: u64,
    /// False while the watch may still be showing the state that it began with, in any order, so that no
    /// version of it is one to go on from.
    versions_are_final: bool,
}

impl Watching {
    pub(super) fn handed_over(params: WatchParams, now: Instant) -> Self {
        Self { params, began: now, last_event: now, events: 0, versions_are_final: true }
    }

    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// When to give the watch up, unless something arrives.
    pub(crate) fn deadline(&self, memory: &Memory) -> Option<Instant> {
        let silence = self.params.timeout.saturating_add(GRACE);
        (!memory.parity().no_client_limits).then(|| later(self.last_event, silence))
    }

    /// The sink was busy until now, so silence counts from here.
    pub(crate) fn listening(&mut self, now: Instant) {
        self.last_event = now;
    }

    /// An event arrived, and the sink took it or refused it for good.
    pub(crate) fn event(
        &mut self,
        memory: &mut Memory,
        kind: EventKind,
        version: &ResourceVersion,
        now: Instant,
    ) {
        self.last_event = now;
        if kind == EventKind::Unknown {
            // Anything that is no watch at all shows itself like this, so it does not prove that there is one. Its
            // version does not count either: what is in it is unknown, and better read once more than skipped.
            return;
        }
        if self.events == 0 {
            memory.watch_proved();
        }
        self.events += 1;
        self.versions_are_final |=
            matches!(kind, EventKind::Modified | EventKind::Deleted | EventKind::Bookmark);
        if self.versions_are_final && !version.is_empty() {
            memory.version = version.clone();
        }
    }

    /// The server ended the watch in good order.
    pub(crate) fn ended(self, memory: &mut Memory, now: Instant) -> Next {
        let brief = now.duration_since(self.began) < BRIEF;
        if memory.parity().relist_after_failed_watch {
            if !brief || self.events > 0 {
                return memory.open(now);
            }
            memory.notice(Notice::Remark("a watch ended at once, without any event"));
            return memory.wait(closed_at_once(), Then::Sync, now);
        }
        if !brief {
            memory.brief_watches = 0;
            memory.watch_proved();
            return memory.open(now);
        }
        memory.brief_watches = memory.brief_watches.saturating_add(1);
        if self.events > 0 && memory.brief_watches < BRIEF_WATCHES {
            return memory.open(now);
        }
        memory.notice(Notice::Remark("a watch ended at once"));
        if self.events > 0 {
            return memory.pace(now);
        }
        let then = memory.fruitless();
        memory.wait(closed_at_once(), then, now)
    }

    /// An error ended the watch.
    pub(crate) fn failed(self, memory: &mut Memory, error: Error, now: Instant) -> Next {
        let lost = matches!(error.kind(), ErrorKind::ConnectionLost | ErrorKind::Timeout);
        let worked = self.events > 0 || now.duration_since(self.began) >= BRIEF;
        if worked {
            memory.watch_proved();
        }
        if lost && worked && !memory.parity().relist_after_failed_watch {
            // Connections break; what is missed is read from the last version on.
            memory.notice(Notice::Overcome(error));
            return self.ended(memory, now);
        }
        memory.watch_failed(error, true, now)
    }
}

fn closed_at_once() -> Error {
    Error::new(ErrorKind::ConnectionLost, "watch").with_message("the watch ended at once")
}

//! Reading the initial events of a streaming list.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use informers_core::{Error, ErrorKind, ResourceVersion, WatchParams};

use super::{BRIEF, EventKind, Listing, Memory, Next, Notice, Then, Watching, later};

/// The phase in which the initial events are read.
#[derive(Debug)]
pub(crate) struct Streaming {
    params: WatchParams,
    began: Instant,
    /// When to give it up unless an object arrives, and when to give it up anyway.
    quiet: Instant,
    total: Instant,
    events: u64,
    opened: bool,
    second_attempt: bool,
}

/// What comes of initial events that were read to their mark.
#[derive(Debug)]
pub(crate) enum Initial {
    /// They may be put in place.
    Complete(Streaming),
    /// They are of no use.
    Dropped(Next),
}

impl Streaming {
    pub(super) fn begin(memory: &mut Memory, now: Instant) -> Self {
        let version =
            if memory.version_unavailable { ResourceVersion::default() } else { memory.version.clone() };
        let patience = memory.rules.patience;
        Self {
            params: WatchParams::streaming_list(version, memory.watch_timeout()),
            began: now,
            quiet: later(now, patience.quiet.saturating_mul(2)),
            total: later(now, patience.total),
            events: 0,
            opened: false,
            second_attempt: false,
        }
    }

    fn again(&self, memory: &mut Memory, now: Instant) -> Next {
        // The patience for the whole goes on; it is not given anew by a server that ends its streams.
        Next::Stream(Self {
            total: self.total,
            second_attempt: self.second_attempt,
            ..Self::begin(memory, now)
        })
    }

    pub(crate) fn params(&self) -> &WatchParams {
        &self.params
    }

    pub(crate) fn opened(&mut self) {
        self.opened = true;
    }

    /// When patience ends.
    pub(crate) fn deadline(&self, memory: &Memory) -> Option<Instant> {
        let limited = !memory.parity().ask_for_streaming_again;
        limited.then(|| self.quiet.min(self.total))
    }

    /// Something arrived. Only another object is progress; changes and bookmarks come from servers too that
    /// never send the mark.
    pub(crate) fn event(&mut self, memory: &Memory, kind: EventKind, now: Instant) {
        self.events += 1;
        if kind == EventKind::Added {
            self.quiet = self.quiet.max(later(now, memory.rules.patience.quiet));
        }
    }

    /// Nothing was read for this long because the sink was not ready, which is not the server's fault.
    pub(crate) fn held_up(&mut self, time: Duration) {
        self.quiet += time;
        self.total += time;
    }

    /// The initial events are complete. If their state is older than what was asked for, it is of no use.
    pub(crate) fn completed(self, memory: &mut Memory, version: &ResourceVersion, now: Instant) -> Initial {
        let asked = &self.params.version;
        let older = asked.is_specific() && version.compare(asked) == Some(Ordering::Less);
        if !older || memory.parity().no_client_limits {
            return Initial::Complete(self);
        }
        memory.notice(Notice::Remark("a streaming list older than asked for was not taken"));
        memory.version_unavailable = true;
        Initial::Dropped(self.again(memory, now))
    }

    /// The sink took the state of this version; the stream goes on as a watch.
    pub(crate) fn taken(self, memory: &mut Memory, version: ResourceVersion, now: Instant) -> Watching {
        memory.incomplete_streams = 0;
        memory.list_taken(version);
        Watching::handed_over(self.params, now)
    }

    /// The sink did not take it.
    pub(crate) fn refused(self, memory: &mut Memory, error: Error, now: Instant) -> Next {
        if memory.parity().ask_for_streaming_again {
            memory.notice(Notice::Overcome(error));
            return Next::List(Listing::begin(memory, now));
        }
        memory.fail(error, Then::Sync, now)
    }

    /// Patience has ended.
    pub(crate) fn given_up(self, memory: &mut Memory, now: Instant) -> Next {
        self.list_instead(memory, "the streaming list does not end; listing in pages from now on", now)
    }

    fn list_instead(self, memory: &mut Memory, why: &'static str, now: Instant) -> Next {
        memory.streaming_refused = true;
        memory.notice(Notice::Remark(why));
        Next::List(Listing::begin(memory, now))
    }

    /// The stream ended without the mark.
    pub(crate) fn ended(self, memory: &mut Memory, now: Instant) -> Next {
        if memory.parity().ask_for_streaming_again {
            let useless = self.events == 0 && now.duration_since(self.began) < BRIEF;
            return if useless { Next::List(Listing::begin(memory, now)) } else { self.again(memory, now) };
        }
        memory.incomplete_streams += 1;
        if memory.incomplete_streams >= memory.rules.patience.streams.max(1) {
            memory.incomplete_streams = 0;
            let why = "streaming lists end before they are complete; listing in pages from now on";
            return self.list_instead(memory, why, now);
        }
        self.again(memory, now)
    }

    /// The stream could not be opened, or an error ended it.
    pub(crate) fn failed(mut self, memory: &mut Memory, error: Error, now: Instant) -> Next {
        let like_client_go = memory.parity().ask_for_streaming_again;
        if error.is_expired() || error.is_too_large_resource_version() {
            memory.version_unavailable = true;
            if like_client_go || !self.second_attempt {
                self.second_attempt = true;
                memory.notice(Notice::Overcome(error));
                return self.again(memory, now);
            }
            return memory.list_failed(error, now);
        }
        match error.kind() {
            ErrorKind::ConnectionRefused | ErrorKind::TooManyRequests => {
                let tell = error.kind() == ErrorKind::ConnectionRefused && !like_client_go;
                memory.notice(if tell {
                    Notice::Failed(error.clone())
                } else {
                    Notice::Overcome(error.clone())
                });
                return memory.wait(error, Then::Sync, now);
            }
            _ if like_client_go => memory.notice(Notice::Overcome(error)),
            ErrorKind::ConnectionLost | ErrorKind::Timeout if self.opened => {
                memory.notice(Notice::Overcome(error));
                return self.ended(memory, now);
            }
            ErrorKind::Unauthorized | ErrorKind::Configuration => return memory.list_failed(error, now),
            // The list that follows at once counts and tells a 404; both are one attempt.
            ErrorKind::NotFound
            | ErrorKind::ConnectionLost
            | ErrorKind::Timeout
            | ErrorKind::Internal
            | ErrorKind::Unavailable => {
                memory.notice(Notice::Overcome(error));
            }
            _ => {
                memory.notice(Notice::Overcome(error));
                let why = "the server refuses the streaming list; listing in pages from now on";
                return self.list_instead(memory, why, now);
            }
        }
        Next::List(Listing::begin(memory, now))
    }
}

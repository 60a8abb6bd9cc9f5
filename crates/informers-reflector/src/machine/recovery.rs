//! What follows a failure.

use std::time::{Duration, Instant};

use informers_core::{Error, ErrorKind, ResourceVersion};

use super::denial::Denial;
use super::internal_errors::is_internal;
use super::{Denied, Memory, Next, Notice, Then, Waiting, later};
use crate::backoff::stretch;

/// No server is obeyed for longer.
const LONGEST_TOLD_WAIT: Duration = Duration::from_secs(300);
/// How much longer than told to wait at the most, so that not all come back in the same moment.
const TOLD_WAIT_JITTER: f64 = 0.3;
/// So many watches in a row that bring nothing make the version itself suspect.
const FRUITLESS_WATCHES: u32 = 5;
/// One 404 may come from a proxy that is being reconfigured; a resource is gone only if a second one follows.
const CERTAINLY_NOT_FOUND: u32 = 2;

impl Memory {
    /// How long to wait after `error`.
    fn pause(&mut self, error: &Error, now: Instant) -> Duration {
        let told = error.retry_after().filter(|told| !told.is_zero() && !self.parity().ignore_retry_after);
        let told = told.map(|told| stretch(told.min(LONGEST_TOLD_WAIT), TOLD_WAIT_JITTER, &mut self.rng));
        match told {
            Some(told) if error.kind() == ErrorKind::TooManyRequests => told,
            Some(told) => told.max(self.delays.next(now, &mut self.rng)),
            None => self.delays.next(now, &mut self.rng),
        }
    }

    pub(super) fn wait(&mut self, reason: Error, then: Then, now: Instant) -> Next {
        let until = later(now, self.pause(&reason, now));
        Next::Wait(Waiting { until, reason: Some(reason), denied: None, then })
    }

    /// Watches that end at once but bring something are no failure: they are paced, and what they bring must not
    /// come later and later.
    pub(super) fn pace(&mut self, now: Instant) -> Next {
        let until = later(now, self.delays.least(&mut self.rng));
        Next::Wait(Waiting { until, reason: None, denied: None, then: Then::Watch })
    }

    /// A pause in the middle of a list.
    pub(super) fn pause_until(&mut self, reason: &Error, now: Instant) -> Instant {
        later(now, self.pause(reason, now))
    }

    /// A list failed for good.
    pub(super) fn list_failed(&mut self, error: Error, now: Instant) -> Next {
        if self.parity().no_denial_states {
            return self.fail(error, Then::Sync, now);
        }
        match error.kind() {
            ErrorKind::Forbidden => self.forbidden(error, Then::Sync, now),
            ErrorKind::NotFound => {
                self.not_found = self.not_found.saturating_add(1);
                if self.is_gone() || self.synced && self.not_found >= CERTAINLY_NOT_FOUND {
                    return self.gone(error, now);
                }
                self.not_found(error, now)
            }
            _ => self.fail(error, Then::Sync, now),
        }
    }

    /// A watch could not be opened (`started` is false), or an error ended it.
    pub(super) fn watch_failed(&mut self, error: Error, started: bool, now: Instant) -> Next {
        if error.is_expired() || error.is_too_large_resource_version() {
            self.expected(error.clone(), !started);
            return self.wait(error, Then::Sync, now);
        }
        if started && self.internal_errors.retry(&error, self.rules.max_internal_error_retry, now) {
            self.notice(Notice::Overcome(error));
            return self.open(now);
        }
        let throttled = error.kind() == ErrorKind::TooManyRequests;
        if throttled || error.kind() == ErrorKind::ConnectionRefused && !started {
            // A server that has too much to do, or is not there, must not be asked for lists on top.
            self.notice(if throttled || self.parity().report_like_client_go {
                Notice::Overcome(error.clone())
            } else {
                Notice::Failed(error.clone())
            });
            return self.wait(error, Then::Watch, now);
        }
        if !self.parity().no_denial_states {
            match error.kind() {
                ErrorKind::Forbidden => return self.forbidden(error, Then::Watch, now),
                ErrorKind::NotFound => {
                    self.not_found = self.not_found.saturating_add(1);
                    return self.not_found(error, now);
                }
                _ => {}
            }
        }
        let then = if self.parity().relist_after_failed_watch || spoils_version(&error) {
            Then::Sync
        } else if is_internal(&error) {
            self.fruitless()
        } else {
            Then::Watch
        };
        if started && self.parity().report_like_client_go {
            self.notice(Notice::Overcome(error.clone()));
            return self.wait(error, then, now);
        }
        self.fail(error, then, now)
    }

    /// The sink refused a resync, which under client-go's rules ends the watch.
    pub(crate) fn resync_refused(&mut self, error: Error, now: Instant) -> Next {
        self.notice(Notice::Overcome(error.clone()));
        self.wait(error, Then::Sync, now)
    }

    /// Counts a watch that brought nothing, and says what follows.
    pub(super) fn fruitless(&mut self) -> Then {
        self.fruitless_watches += 1;
        if self.fruitless_watches < FRUITLESS_WATCHES {
            return Then::Watch;
        }
        self.fruitless_watches = 0;
        Then::Sync
    }

    /// An error that is part of normal life. client-go tells of it if a request was refused with it.
    fn expected(&mut self, error: Error, told_by_client_go: bool) {
        let tell = told_by_client_go && self.parity().report_like_client_go;
        self.notice(if tell { Notice::Failed(error) } else { Notice::Overcome(error) });
    }

    /// An ordinary failure.
    pub(super) fn fail(&mut self, error: Error, then: Then, now: Instant) -> Next {
        if !self.is_gone() {
            self.denial = None;
            if error.kind() != ErrorKind::NotFound {
                self.not_found = 0;
            }
        }
        self.notice(Notice::Failed(error.clone()));
        self.wait(error, then, now)
    }

    fn forbidden(&mut self, error: Error, then: Then, now: Instant) -> Next {
        self.deny(Denied::Forbidden, error, then, now)
    }

    /// The server does not know the resource, or not yet.
    fn not_found(&mut self, error: Error, now: Instant) -> Next {
        self.notice(if self.not_found > 1 {
            Notice::Overcome(error.clone())
        } else {
            Notice::Failed(error.clone())
        });
        self.wait(error, Then::Sync, now)
    }

    /// The resource was there and is not any more. Should it come back, it has nothing to do with what was.
    fn gone(&mut self, error: Error, now: Instant) -> Next {
        let news = !self.is_gone();
        self.version = ResourceVersion::default();
        self.version_unavailable = true;
        match self.deny(Denied::Gone, error, Then::Sync, now) {
            Next::Wait(waiting) if news => Next::Empty(waiting),
            next => next,
        }
    }

    fn deny(&mut self, denied: Denied, error: Error, then: Then, now: Instant) -> Next {
        let same = self.denial.take().filter(|denial| denial.denied == denied && denial.then == then);
        let denial = self.denial.insert(same.unwrap_or_else(|| Denial::new(denied, then)));
        let news = denial.is_fresh();
        let pause = denial.pause(&mut self.rng);
        let told = error.retry_after().unwrap_or_default().min(LONGEST_TOLD_WAIT);
        self.notice(if news { Notice::Failed(error.clone()) } else { Notice::Overcome(error.clone()) });
        let until = later(now, pause.max(told));
        Next::Wait(Waiting { until, reason: Some(error), denied: Some(denied), then })
    }
}

/// Whether a watch that failed like this may be due to the version that it started from, or hides that an
/// object cannot be read, so that only a list helps.
fn spoils_version(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::Internal => !is_internal(error),
        ErrorKind::TooManyRequests
        | ErrorKind::Unauthorized
        | ErrorKind::Timeout
        | ErrorKind::Unavailable
        | ErrorKind::ConnectionRefused
        | ErrorKind::ConnectionLost
        | ErrorKind::Configuration => false,
        _ => true,
    }
}

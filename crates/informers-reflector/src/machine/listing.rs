//! Reading a list in pages.

use std::cmp::Ordering;
use std::time::{Duration, Instant};

use informers_core::{Error, ErrorKind, ListParams, ListTrailer, ResourceVersion, VersionMatch};
use informers_pager::{Advance, Completed, Pager, Recovery, Walk};

use super::{Memory, Next, Notice, Then};
use crate::FirstList;

/// client-go's page size.
const PAGE_SIZE: u32 = 500;
/// How long a list may be silent. Servers give up their own lists after a minute.
const SILENCE: Duration = Duration::from_secs(90);

/// The phase in which a list is read, page by page.
#[derive(Debug)]
pub(crate) struct Listing {
    walk: Walk,
    asked: ResourceVersion,
    limit: u32,
    /// The version that was not to be had, so that it is asked for without one.
    instead_of: Option<ResourceVersion>,
    last_part: Instant,
}

/// What follows a page.
#[derive(Debug)]
pub(crate) enum AfterPage {
    /// There is another one.
    NextPage(Listing),
    /// The list is complete and may be put in place.
    Complete(ReadList),
    /// The list is of no use; what was read is to be dropped.
    Dropped(Next),
}

/// What follows an error.
#[derive(Debug)]
pub(crate) enum PageFailure {
    /// The same page is asked for again at that time; what was read stays.
    SamePage(Listing, Instant),
    /// What was read is to be dropped.
    Dropped(Next),
}

/// A list that was read whole.
#[derive(Debug)]
pub(crate) struct ReadList {
    asked: ResourceVersion,
    list: Completed,
}

impl Listing {
    /// Beginning with the first page.
    pub(crate) fn begin(memory: &Memory, now: Instant) -> Self {
        let asked = if memory.version_unavailable {
            ResourceVersion::default()
        } else if memory.version.is_empty() {
            match memory.rules.first_list {
                FirstList::Any => "0".into(),
                FirstList::MostRecent => ResourceVersion::default(),
            }
        } else {
            memory.version.clone()
        };
        let limit = match memory.rules.page_size {
            Some(objects) => objects,
            None if memory.pages_any_version => PAGE_SIZE,
            // A limit would keep the server from answering out of its cache.
            None if asked.is_specific() => 0,
            None => PAGE_SIZE,
        };
        Self::attempt(memory, asked, limit, None, now)
    }

    fn attempt(
        memory: &Memory,
        asked: ResourceVersion,
        limit: u32,
        instead_of: Option<ResourceVersion>,
        now: Instant,
    ) -> Self {
        let mut params = ListParams::first(asked.clone()).with_limit(limit);
        if limit > 0 && asked.is_specific() && !memory.parity().no_client_limits {
            // With a limit and no rule, servers take the version for the exact one, which may be compacted.
            params = params.with_version_match(VersionMatch::NotOlderThan);
        }
        let walk = Pager::new().page_size(limit).walk(params);
        Self { walk, asked, limit, instead_of, last_part: now }
    }

    /// The page to ask for.
    pub(crate) fn request(&self) -> &ListParams {
        self.walk.request()
    }

    /// Something of the page arrived.
    pub(crate) fn part_arrived(&mut self, now: Instant) {
        self.last_part = now;
    }

    /// When to give the page up, unless something arrives.
    pub(crate) fn deadline(&self, memory: &Memory) -> Option<Instant> {
        (!memory.parity().no_client_limits).then(|| self.last_part + SILENCE)
    }

    /// The page was read to its end.
    pub(crate) fn page_ended(self, memory: &mut Memory, trailer: &ListTrailer, now: Instant) -> AfterPage {
        let Self { walk, asked, limit, instead_of, .. } = self;
        match walk.page_ended(trailer) {
            Advance::NextPage(walk) => {
                AfterPage::NextPage(Self { walk, asked, limit, instead_of, last_part: now })
            }
            Advance::Complete(list) => {
                let older = asked.is_specific() && list.version.compare(&asked) == Some(Ordering::Less);
                if older && !memory.parity().no_client_limits {
                    memory.notice(Notice::Remark("a list older than asked for was not taken"));
                    memory.version_unavailable = true;
                    let again =
                        Self::attempt(memory, ResourceVersion::default(), PAGE_SIZE, Some(asked), now);
                    return AfterPage::Dropped(Next::List(again));
                }
                let asked_first = if memory.parity().learn_from_second_attempt {
                    instead_of.unwrap_or(asked)
                } else {
                    asked
                };
                AfterPage::Complete(ReadList { asked: asked_first, list })
            }
        }
    }

    /// The page could not be asked for or read. `untouched`: nothing of this page was offered to anybody.
    pub(crate) fn failed(
        self,
        memory: &mut Memory,
        error: Error,
        untouched: bool,
        now: Instant,
    ) -> PageFailure {
        let Self { walk, asked, limit, instead_of, .. } = self;
        let later_page = walk.request().continue_token().is_some();
        let throttled = error.kind() == ErrorKind::TooManyRequests && !memory.parity().ignore_retry_after;
        if later_page && untouched && throttled {
            let until = memory.pause_until(&error, now);
            memory.notice(Notice::Overcome(error));
            let again = Self { walk, asked, limit, instead_of, last_part: until };
            return PageFailure::SamePage(again, until);
        }
        if let Recovery::FullList(walk) = walk.failed(&error) {
            memory.notice(Notice::Overcome(error));
            let full = Self { walk, asked, limit, instead_of, last_part: now };
            return PageFailure::Dropped(Next::List(full));
        }
        if error.is_expired() || error.is_too_large_resource_version() {
            memory.version_unavailable = true;
            if instead_of.is_none() {
                memory.notice(Notice::Overcome(error));
                let again = Self::attempt(memory, ResourceVersion::default(), limit, Some(asked), now);
                return PageFailure::Dropped(Next::List(again));
            }
        }
        PageFailure::Dropped(memory.list_failed(error, now))
    }
}

impl ReadList {
    /// The version of the list.
    pub(crate) fn version(&self) -> &ResourceVersion {
        &self.list.version
    }

    /// The sink took it.
    pub(crate) fn taken(self, memory: &mut Memory, now: Instant) -> Next {
        self.learn(memory);
        memory.list_taken(self.list.version);
        memory.open(now)
    }

    /// The sink did not take it.
    pub(crate) fn refused(self, memory: &mut Memory, error: Error, now: Instant) -> Next {
        self.learn(memory);
        memory.fail(error, Then::Sync, now)
    }

    /// What the server showed of itself, whatever becomes of the list.
    fn learn(&self, memory: &mut Memory) {
        memory.version_unavailable = false;
        if self.asked.is_any() && self.list.paginated {
            memory.pages_any_version = true;
        }
    }
}

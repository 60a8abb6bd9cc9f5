//! The walk through the pages of one list, without IO.

use informers_core::{Error, ErrorKind, ListParams, ListStart, ListTrailer, ResourceVersion};

/// Where a walk through a list stands: which page is to be asked for.
///
/// It is a machine without IO, so that whoever reads a list can use it page by page and need not hold the
/// list whole. Each step consumes it: [`page_ended`](Self::page_ended) or [`failed`](Self::failed) give the
/// walk that goes on, if one does.
///
/// ```
/// use informers_core::{Error, ErrorKind, ListParams, ListTrailer};
/// use informers_pager::{Advance, Pager, Recovery};
///
/// let walk = Pager::new().walk(ListParams::first("0".into()));
/// assert_eq!(walk.request().limit, 500);
///
/// let trailer = ListTrailer::new("7".into()).with_continue("token");
/// let Advance::NextPage(walk) = walk.page_ended(&trailer) else { panic!("there is a token") };
/// assert_eq!(walk.request().continue_token(), Some("token"));
///
/// // The token has expired: everything is to be read anew, in one page.
/// let Recovery::FullList(walk) = walk.failed(&Error::new(ErrorKind::Expired, "list pods")) else { panic!() };
/// assert_eq!((walk.request().limit, walk.request().version()), (0, "0".into()));
///
/// let Advance::Complete(list) = walk.page_ended(&ListTrailer::new("9".into())) else { panic!() };
/// assert_eq!(list.version, "9".into());
/// assert!(list.paginated);
/// ```
#[derive(Clone, Debug)]
pub struct Walk {
    origin: ListParams,
    request: ListParams,
    rules: WalkRules,
    /// Of the first page.
    version: Option<ResourceVersion>,
    pages: u32,
    paginated: bool,
    full_list: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct WalkRules {
    pub(crate) full_list_if_expired: bool,
    pub(crate) keep_version: bool,
    pub(crate) full_list_is_one_page: bool,
}

/// What follows a page.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums, reason = "a list goes on or it is complete")]
pub enum Advance {
    /// There is another page.
    NextPage(Walk),
    /// That was the last page.
    Complete(Completed),
}

/// What follows an error.
#[derive(Clone, Debug)]
#[allow(clippy::exhaustive_enums, reason = "a failed list can be read anew or not")]
pub enum Recovery {
    /// What was read so far is void: the list is to be read anew, in one page.
    FullList(Walk),
    /// The error is the list's outcome.
    Failed {
        /// Whether a continue token was followed before.
        paginated: bool,
    },
}

/// What is known of a list as a whole, once all its pages are read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Completed {
    /// The version of the list, which is the first page's.
    pub version: ResourceVersion,
    /// Whether a continue token was followed, be it that a full list was read in the end.
    pub paginated: bool,
    /// How many pages the list is made of.
    pub pages: u32,
}

impl Walk {
    pub(crate) fn new(origin: ListParams, rules: WalkRules) -> Self {
        let request = origin.clone();
        Self { origin, request, rules, version: None, pages: 0, paginated: false, full_list: false }
    }

    /// The page to ask for.
    #[must_use]
    pub fn request(&self) -> &ListParams {
        &self.request
    }

    /// The number of this page, counted from 1.
    #[must_use]
    pub fn page(&self) -> u32 {
        self.pages + 1
    }

    /// Whether a continue token was followed to get here.
    #[must_use]
    pub fn is_paginated(&self) -> bool {
        self.paginated
    }

    /// Whether this is the full list that takes the place of an expired one.
    #[must_use]
    pub fn is_full_list(&self) -> bool {
        self.full_list
    }

    /// The page was read to its end.
    #[must_use]
    pub fn page_ended(mut self, trailer: &ListTrailer) -> Advance {
        self.pages += 1;
        let version = self.version.get_or_insert_with(|| trailer.version.clone()).clone();
        let token = trailer.continue_token.as_deref().filter(|token| !token.is_empty());
        match token {
            Some(token) if !(self.full_list && self.rules.full_list_is_one_page) => {
                self.request = self.following(token);
                self.paginated = true;
                Advance::NextPage(self)
            }
            _ => Advance::Complete(Completed { version, paginated: self.paginated, pages: self.pages }),
        }
    }

    fn following(&self, token: &str) -> ListParams {
        let (version, version_match) = (self.origin.version(), self.origin.version_match());
        if !self.rules.keep_version || version.is_empty() && version_match.is_none() {
            return self.request.following(token);
        }
        let start = ListStart::ContinueAt { token: token.to_owned(), version, version_match };
        ListParams { start, limit: self.request.limit }
    }

    /// The page could not be read. Only an expired token has a remedy, and only once: the same list in one
    /// page. `Gone` is not enough, as in client-go.
    #[must_use]
    pub fn failed(self, error: &Error) -> Recovery {
        let expired = error.kind() == ErrorKind::Expired && self.request.continue_token().is_some();
        if !expired || !self.rules.full_list_if_expired || self.full_list {
            return Recovery::Failed { paginated: self.paginated };
        }
        let start =
            ListStart::Version { version: self.origin.version(), version_match: self.origin.version_match() };
        let request = ListParams { start, limit: 0 };
        Recovery::FullList(Self { request, version: None, pages: 0, full_list: true, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Pager, Parity};

    fn next(walk: Walk, token: &str) -> Walk {
        match walk.page_ended(&ListTrailer::new("7".into()).with_continue(token)) {
            Advance::NextPage(walk) => walk,
            Advance::Complete(list) => panic!("ended as {list:?}"),
        }
    }

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "list pods")
    }

    #[test]
    fn a_page_may_be_short_or_empty_and_still_have_a_successor() {
        let mut walk = Pager::new().walk(ListParams::first("0".into()).with_limit(10));
        for page in 2..5 {
            walk = next(walk, &format!("t{page}"));
            assert_eq!(walk.page(), page);
            assert_eq!(
                walk.request(),
                &ListParams::first("".into()).with_limit(10).following(format!("t{page}"))
            );
        }
    }

    #[test]
    fn gone_and_the_first_page_have_no_remedy() {
        let walk = Pager::new().walk(ListParams::first("5".into()));
        assert!(matches!(
            walk.clone().failed(&error(ErrorKind::Expired)),
            Recovery::Failed { paginated: false }
        ));
        let walk = next(walk, "t");
        assert!(matches!(walk.failed(&error(ErrorKind::Gone)), Recovery::Failed { paginated: true }));
    }

    #[test]
    fn the_full_list_is_tried_once_and_its_token_is_followed() {
        let walk = next(Pager::new().walk(ListParams::first("5".into())), "t");
        let Recovery::FullList(walk) = walk.failed(&error(ErrorKind::Expired)) else { panic!() };
        assert_eq!(walk.request(), &ListParams::first("5".into()));
        let walk = next(walk, "u");
        assert!(matches!(walk.failed(&error(ErrorKind::Expired)), Recovery::Failed { paginated: true }));
    }

    #[test]
    fn under_parity_the_full_list_is_complete_whatever_it_says() {
        for one_page in [false, true] {
            let pager = Pager::new().parity(Parity { full_list_is_one_page: one_page, ..Parity::default() });
            let walk = next(pager.walk(ListParams::first("5".into())), "t");
            let Recovery::FullList(walk) = walk.failed(&error(ErrorKind::Expired)) else { panic!() };
            let trailer = ListTrailer::new("9".into()).with_continue("u");
            assert_eq!(matches!(walk.page_ended(&trailer), Advance::Complete(_)), one_page);
        }
    }
}

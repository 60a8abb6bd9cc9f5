//! The parameters of list and watch requests.

use std::time::Duration;

use crate::ResourceVersion;

/// How a list's resource version is meant (`resourceVersionMatch`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum VersionMatch {
    /// The state at exactly that version.
    Exact,
    /// Any state that is not older.
    NotOlderThan,
}

impl VersionMatch {
    /// The value on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::NotOlderThan => "NotOlderThan",
        }
    }
}

/// Which page of a list is asked for.
///
/// A continuation carries its version inside its token, and the server refuses another one beside it; so
/// the two cannot be had together here.
///
/// ```
/// use informers_core::{ListParams, ListStart};
///
/// let first = ListParams::first("0".into()).with_limit(500);
/// let second = first.following("token-of-page-1");
/// assert_eq!(second.limit, 500);
/// assert!(matches!(second.start, ListStart::Continue(ref token) if token == "token-of-page-1"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListStart {
    /// The first page, or the whole list.
    Version {
        /// Empty: the most recent state; `"0"`: any state; else as `version_match` says, not older by default.
        version: ResourceVersion,
        /// How the version is meant.
        version_match: Option<VersionMatch>,
    },
    /// The page after the one that gave this token.
    Continue(String),
    /// As `Continue`, with the version still beside the token, which is what client-go's `EachListItem`
    /// sends. Servers of today accept only `"0"` there.
    ContinueAt {
        /// The token of the page before.
        token: String,
        /// The version of the first request.
        version: ResourceVersion,
        /// How the version is meant.
        version_match: Option<VersionMatch>,
    },
}

/// The parameters of one list request. Namespace and selectors belong to the
/// [`ListWatch`](crate::ListWatch) itself.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "sources outside this crate read every field")]
pub struct ListParams {
    /// Where the page begins.
    pub start: ListStart,
    /// The most items that are wanted in one page; 0 is no limit. The server may give fewer.
    pub limit: u32,
}

impl ListParams {
    /// The list at `version`, in one page. The empty version is the newest, read by a quorum; `"0"` is any that the server has
    /// in its cache, for which it may send everything in one page, whatever the limit.
    #[must_use]
    pub fn first(version: ResourceVersion) -> Self {
        Self { start: ListStart::Version { version, version_match: None }, limit: 0 }
    }

    /// With this limit for a page.
    #[must_use]
    pub fn with_limit(mut self, limit: u32) -> Self {
        self.limit = limit;
        self
    }

    /// With this match rule, if it is a first page.
    #[must_use]
    pub fn with_version_match(mut self, rule: VersionMatch) -> Self {
        if let ListStart::Version { version_match, .. } = &mut self.start {
            *version_match = Some(rule);
        }
        self
    }

    /// The page that follows: token and limit only.
    #[must_use]
    pub fn following(&self, token: impl Into<String>) -> Self {
        Self { start: ListStart::Continue(token.into()), limit: self.limit }
    }

    /// The version that is sent; empty for none.
    #[must_use]
    pub fn version(&self) -> ResourceVersion {
        match &self.start {
            ListStart::Version { version, .. } | ListStart::ContinueAt { version, .. } => version.clone(),
            ListStart::Continue(_) => ResourceVersion::default(),
        }
    }

    /// The match rule that is sent.
    #[must_use]
    pub fn version_match(&self) -> Option<VersionMatch> {
        match &self.start {
            ListStart::Version { version_match, .. } | ListStart::ContinueAt { version_match, .. } => {
                *version_match
            }
            ListStart::Continue(_) => None,
        }
    }

    /// The continue token that is sent.
    #[must_use]
    pub fn continue_token(&self) -> Option<&str> {
        match &self.start {
            ListStart::Version { .. } => None,
            ListStart::Continue(token) | ListStart::ContinueAt { token, .. } => Some(token),
        }
    }
}

/// The parameters of one watch request. Bookmarks are always asked for.
///
/// ```
/// use std::time::Duration;
/// use informers_core::WatchParams;
///
/// let watch = WatchParams::from_version("7".into(), Duration::from_secs(300));
/// assert!(!watch.send_initial_events);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::exhaustive_structs, reason = "sources outside this crate read every field")]
pub struct WatchParams {
    /// Changes after this version. With `send_initial_events`: the initial state is not older than it.
    pub version: ResourceVersion,
    /// Whether the server sends the current state first, ended by a marked bookmark (a streaming list).
    pub send_initial_events: bool,
    /// After how long the server ends the watch in good order.
    pub timeout: Duration,
}

impl WatchParams {
    /// A watch of the changes after `version`.
    #[must_use]
    pub fn from_version(version: ResourceVersion, timeout: Duration) -> Self {
        Self { version, send_initial_events: false, timeout }
    }

    /// A streaming list whose state is not older than `version`, then the changes.
    #[must_use]
    pub fn streaming_list(version: ResourceVersion, timeout: Duration) -> Self {
        Self { version, send_initial_events: true, timeout }
    }
}

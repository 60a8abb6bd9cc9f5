//! What can go wrong while a list is read.

use std::convert::Infallible;

use informers_core::Error;

/// Why a list was not read to its end.
///
/// `E` is the error of the caller's own callback, where there is one.
///
/// ```
/// use std::error::Error as _;
/// use informers_core::{Error, ErrorKind};
/// use informers_pager::PagerError;
///
/// let expired = Error::new(ErrorKind::Expired, "list pods");
/// let error: PagerError = PagerError::Request { page: 2, paginated: true, source: expired };
/// assert_eq!(error.to_string(), "page 2 of the list could not be read");
/// assert_eq!(error.source().unwrap().to_string(), "cannot list pods");
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PagerError<E = Infallible> {
    /// A request failed. The source is the error of the list-watch, unchanged.
    #[error("page {page} of the list could not be read")]
    Request {
        /// The page that failed, counted from 1.
        page: u32,
        /// Whether a continue token was followed before.
        paginated: bool,
        /// What the list-watch said.
        source: Error,
    },
    /// The caller cancelled.
    #[error("the list was cancelled before page {page} was read")]
    Canceled {
        /// The page that was to be read next, counted from 1.
        page: u32,
        /// Whether a continue token was followed before.
        paginated: bool,
    },
    /// The callback failed; no item after this one was handed out.
    #[error("the callback failed for an item of the list")]
    Callback(#[source] E),
}

impl<E> PagerError<E> {
    /// What the list-watch said, if that was it.
    #[must_use]
    pub fn request_error(&self) -> Option<&Error> {
        match self {
            Self::Request { source, .. } => Some(source),
            _ => None,
        }
    }

    /// Whether the caller cancelled.
    #[must_use]
    pub fn is_canceled(&self) -> bool {
        matches!(self, Self::Canceled { .. })
    }
}

impl PagerError {
    /// The same error for a caller whose callback can fail.
    #[must_use]
    pub fn into_callback<E>(self) -> PagerError<E> {
        match self {
            Self::Request { page, paginated, source } => PagerError::Request { page, paginated, source },
            Self::Canceled { page, paginated } => PagerError::Canceled { page, paginated },
            Self::Callback(never) => match never {},
        }
    }
}

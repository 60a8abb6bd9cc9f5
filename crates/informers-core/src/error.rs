//! What can go wrong between an informer and its server.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A failed list or watch.
///
/// It says what was being done, what the server or the connection answered, and how it is to be handled
/// ([`kind`](Self::kind)). A clone shares the contents.
///
/// ```
/// use informers_core::{Error, ErrorKind};
///
/// let error = Error::new(ErrorKind::Forbidden, "list pods in namespace shop")
///     .with_message("pods is forbidden: User \"bob\" cannot list resource \"pods\"")
///     .with_status(403, "Forbidden");
/// assert!(error.is_forbidden());
/// assert_eq!(
///     error.to_string(),
///     "cannot list pods in namespace shop: pods is forbidden: User \"bob\" cannot list resource \"pods\" \
///      (403 Forbidden)"
/// );
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    action: String,
    message: String,
    code: Option<u16>,
    reason: String,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// How an error is to be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The version or continue token is no longer kept: reason `Expired`.
    Expired,
    /// 410 without the reason `Expired`; a reflector treats it the same, a pager does not.
    Gone,
    /// The server does not have this version yet.
    TooLargeResourceVersion,
    /// 404: the resource, namespace or object is not there.
    NotFound,
    /// 401: the credentials are missing, expired or wrong.
    Unauthorized,
    /// 403: the credentials are good but do not allow this.
    Forbidden,
    /// 422: the server understood the request and refuses its contents.
    Invalid,
    /// 400: the server does not understand the request.
    BadRequest,
    /// 409: the object exists already, or was changed meanwhile.
    Conflict,
    /// 429: the server asks for patience.
    TooManyRequests,
    /// 504, or no answer in time.
    Timeout,
    /// 500: the server failed.
    Internal,
    /// 503: the server is not able to serve now.
    Unavailable,
    /// Nothing listens at the server's address.
    ConnectionRefused,
    /// The connection broke: reset, closed in the middle, or silent for too long.
    ConnectionLost,
    /// The answer is not what was asked for, such as a list of another kind.
    UnexpectedAnswer,
    /// The request cannot be made at all as configured; trying again does not help.
    Configuration,
    /// Anything else.
    Other,
}

impl Error {
    /// An error of this kind while doing `action`, such as `list pods in namespace shop`.
    pub fn new(kind: ErrorKind, action: impl Into<String>) -> Self {
        Self(Arc::new(Inner {
            kind,
            action: action.into(),
            message: String::new(),
            code: None,
            reason: String::new(),
            retry_after: None,
            source: None,
        }))
    }

    fn changed(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// With what the server said, or what happened.
    #[must_use]
    pub fn with_message(self, message: impl Into<String>) -> Self {
        self.changed(|inner| inner.message = message.into())
    }

    /// With the HTTP status code and the reason of the server's `Status`; the reason may be empty.
    #[must_use]
    pub fn with_status(self, code: u16, reason: impl Into<String>) -> Self {
        self.changed(|inner| {
            inner.code = Some(code);
            inner.reason = reason.into();
        })
    }

    /// With the time that the server asks to wait.
    #[must_use]
    pub fn with_retry_after(self, wait: Duration) -> Self {
        self.changed(|inner| inner.retry_after = Some(wait))
    }

    /// With what caused it.
    #[must_use]
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.changed(|inner| inner.source = Some(Arc::new(source)))
    }

    /// How it is to be handled.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What was being done, such as `list pods in namespace shop`.
    #[must_use]
    pub fn action(&self) -> &str {
        &self.0.action
    }

    /// What the server said, or what happened; may be empty.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The HTTP status code, if the server answered.
    #[must_use]
    pub fn code(&self) -> Option<u16> {
        self.0.code
    }

    /// The reason in the server's `Status`; empty if there was none.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.0.reason
    }

    /// How long the server asks to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether the version asked for is no longer kept, however the server says so: a new list is needed.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        matches!(self.0.kind, ErrorKind::Expired | ErrorKind::Gone)
    }

    /// Whether the server is behind the version asked for.
    #[must_use]
    pub fn is_too_large_resource_version(&self) -> bool {
        self.0.kind == ErrorKind::TooLargeResourceVersion
    }

    /// Whether the credentials do not allow this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.0.kind == ErrorKind::Forbidden
    }

    /// Whether the credentials were not accepted.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.0.kind == ErrorKind::Unauthorized
    }

    /// Whether what was asked for is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.kind == ErrorKind::NotFound
    }

    /// Whether the same request may succeed later without anybody changing it or its permissions.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::TooManyRequests
                | ErrorKind::Timeout
                | ErrorKind::Internal
                | ErrorKind::Unavailable
                | ErrorKind::ConnectionRefused
                | ErrorKind::ConnectionLost
                | ErrorKind::TooLargeResourceVersion
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        write!(f, "cannot {}", inner.action)?;
        if !inner.message.is_empty() {
            write!(f, ": {}", inner.message)?;
        }
        match (inner.code, inner.reason.as_str()) {
            (Some(code), "") => write!(f, " ({code})"),
            (Some(code), reason) => write!(f, " ({code} {reason})"),
            (None, _) => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("action", &self.0.action)
            .field("message", &self.0.message)
            .field("code", &self.0.code)
            .field("reason", &self.0.reason)
            .field("retry_after", &self.0.retry_after)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

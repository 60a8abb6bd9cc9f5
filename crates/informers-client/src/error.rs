//! What can go wrong between a client and its server.

use std::sync::Arc;
use std::time::Duration;

use informers_core::{DecodeError, Error, ErrorKind};
use informers_wire::Status;

/// An error underneath, shared by all who waited for the same connection.
pub(crate) type Cause = Arc<dyn std::error::Error + Send + Sync>;

pub(crate) fn cause(error: impl std::error::Error + Send + Sync + 'static) -> Option<Cause> {
    Some(Arc::new(error))
}

/// Why a configuration cannot be used or a request failed.
///
/// Every message says its own level only; what caused it is the [`source`](std::error::Error::source). It
/// becomes an [`informers_core::Error`] by `into()`.
///
/// ```
/// use informers_client::{ClientError, Config};
///
/// let error = Config::for_url("ftp://cluster").unwrap_err();
/// assert_eq!(error.to_string(), "server URL `ftp://cluster`: the scheme must be http or https");
/// assert!(!error.is_not_found());
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A setting, a kubeconfig or a certificate cannot be used.
    #[error("{place}: {problem}")]
    Configuration {
        /// The file and field, or the setting.
        place: String,
        /// What is wrong with it, and what to do.
        problem: String,
        /// What caused it.
        #[source]
        source: Option<Cause>,
    },
    /// Credentials could not be had from their source.
    #[error("cannot get credentials: {problem}")]
    Credentials {
        /// What went wrong, and what to do.
        problem: String,
        /// What caused it.
        #[source]
        source: Option<Cause>,
    },
    /// The server was not reached, or the connection to it broke.
    #[error("cannot {action}: {problem}")]
    Connection {
        /// What was being done, such as `list pods in namespace shop`.
        action: String,
        /// What failed.
        failure: ConnectionFailure,
        /// What happened, with the server's URL, and what to do.
        problem: String,
        /// What caused it.
        #[source]
        source: Option<Cause>,
    },
    /// The server answered with an error.
    #[error("cannot {action}: {}", said(status))]
    Status {
        /// What was being done.
        action: String,
        /// What the server said.
        status: Box<Status>,
        /// How long it asks to wait before the next try.
        retry_after: Option<Duration>,
    },
    /// The server's answer is not what was asked for.
    #[error("cannot {action}: {problem}")]
    UnexpectedAnswer {
        /// What was being done.
        action: String,
        /// What is wrong with the answer.
        problem: String,
        /// What caused it.
        #[source]
        source: Option<Cause>,
    },
    /// The object in the answer could not be decoded.
    #[error("cannot {action}: the answer cannot be decoded")]
    Decode {
        /// What was being done.
        action: String,
        /// What is wrong with the object.
        source: DecodeError,
    },
    /// The request cannot be made: a name or a body is wrong.
    #[error("cannot {action}: {problem}")]
    InvalidRequest {
        /// What was being done.
        action: String,
        /// What is wrong.
        problem: String,
        /// What caused it.
        #[source]
        source: Option<Cause>,
    },
    /// The server has no such resource.
    #[error("the server has no resource `{name}`{}", suggested(suggestions))]
    UnknownResource {
        /// What was asked for.
        name: String,
        /// Resources that may have been meant, the likeliest first.
        suggestions: Vec<String>,
    },
}

/// What failed about a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectionFailure {
    /// Nothing listens at the address.
    Refused,
    /// The host's name could not be resolved.
    NameResolution,
    /// The proxy in between refused or failed.
    Proxy,
    /// The certificate of one side was not accepted by the other.
    Certificate,
    /// There is no TLS at the other end, or none that this client speaks.
    Tls,
    /// There was no answer in time.
    Timeout,
    /// The connection broke.
    Lost,
    /// The other end does not speak HTTP.
    Protocol,
    /// Anything else.
    Other,
}

fn said(status: &Status) -> String {
    let message = if status.message.is_empty() { "the server refused" } else { &status.message };
    match status.reason.as_str() {
        "" => format!("{message} ({})", status.code),
        reason => format!("{message} ({} {reason})", status.code),
    }
}

fn suggested(suggestions: &[String]) -> String {
    match suggestions {
        [] => String::new(),
        [one] => format!("; did you mean `{one}`?"),
        several => format!("; did you mean one of {}?", several.join(", ")),
    }
}

impl ClientError {
    pub(crate) fn configuration(place: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Configuration { place: place.into(), problem: problem.into(), source: None }
    }

    pub(crate) fn credentials(problem: impl Into<String>) -> Self {
        Self::Credentials { problem: problem.into(), source: None }
    }

    /// With what caused it.
    pub(crate) fn because(mut self, error: impl std::error::Error + Send + Sync + 'static) -> Self {
        if let Self::Configuration { source, .. }
        | Self::Credentials { source, .. }
        | Self::Connection { source, .. }
        | Self::UnexpectedAnswer { source, .. }
        | Self::InvalidRequest { source, .. } = &mut self
        {
            *source = cause(error);
        }
        self
    }

    /// What the server said, if it answered with an error.
    #[must_use]
    pub fn status(&self) -> Option<&Status> {
        match self {
            Self::Status { status, .. } => Some(status),
            _ => None,
        }
    }

    fn status_is(&self, question: impl FnOnce(&Status) -> bool) -> bool {
        self.status().is_some_and(question)
    }

    /// Whether what was asked for is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.status_is(Status::is_not_found)
    }

    /// Whether the object was changed meanwhile: read it again and repeat the change.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.status_is(Status::is_conflict)
    }

    /// Whether an object of this name exists already.
    #[must_use]
    pub fn is_already_exists(&self) -> bool {
        self.status_is(Status::is_already_exists)
    }

    /// Whether the credentials are good but do not allow this.
    #[must_use]
    pub fn is_forbidden(&self) -> bool {
        self.status_is(Status::is_forbidden)
    }

    /// Whether the credentials are missing, expired or wrong.
    #[must_use]
    pub fn is_unauthorized(&self) -> bool {
        self.status_is(Status::is_unauthorized)
    }

    /// Whether the server refuses the contents of the object.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.status_is(Status::is_invalid)
    }

    /// Whether the server asks for patience.
    #[must_use]
    pub fn is_too_many_requests(&self) -> bool {
        self.status_is(Status::is_too_many_requests)
    }

    /// Whether the version or the continue token is no longer kept.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        self.status_is(|status| status.is_expired() || status.is_gone())
    }

    /// Whether the server is behind the version that was asked for.
    #[must_use]
    pub fn is_too_large_resource_version(&self) -> bool {
        self.status_is(Status::is_too_large_resource_version)
    }

    /// Whether there was no answer in time, or the server said so.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Connection { failure: ConnectionFailure::Timeout, .. })
            || self.status_is(|status| status.is_timeout() || status.is_server_timeout())
    }

    /// How long the server asks to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the same request may succeed later without anybody changing it or its permissions.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { failure, .. } => connection_kind(*failure) != ErrorKind::Configuration,
            Self::Status { status, .. } => matches!(
                status_kind(status),
                ErrorKind::TooManyRequests
                    | ErrorKind::Timeout
                    | ErrorKind::Internal
                    | ErrorKind::Unavailable
                    | ErrorKind::TooLargeResourceVersion
            ),
            _ => false,
        }
    }

    /// The same as an error of a list or watch, for those who handle these.
    pub(crate) fn into_core(self, action: &str) -> Error {
        match self {
            Self::Configuration { place, problem, source } => {
                let error = Error::new(ErrorKind::Configuration, action);
                with_cause(error.with_message(format!("{place}: {problem}")), source)
            }
            Self::Credentials { problem, source } => {
                let error = Error::new(ErrorKind::Unauthorized, action);
                with_cause(error.with_message(format!("no credentials: {problem}")), source)
            }
            Self::Connection { action, failure, problem, source } => {
                with_cause(Error::new(connection_kind(failure), action).with_message(problem), source)
            }
            Self::Status { action, status, retry_after } => {
                let error = Error::new(status_kind(&status), action)
                    .with_message(status.message.clone())
                    .with_status(status.code, status.reason.clone());
                match retry_after {
                    Some(wait) => error.with_retry_after(wait),
                    None => error,
                }
            }
            Self::UnexpectedAnswer { action, problem, source } => {
                with_cause(Error::new(ErrorKind::UnexpectedAnswer, action).with_message(problem), source)
            }
            Self::Decode { action, source } => Error::new(ErrorKind::UnexpectedAnswer, action)
                .with_message("the answer cannot be decoded")
                .with_source(source),
            Self::InvalidRequest { action, problem, source } => {
                with_cause(Error::new(ErrorKind::Configuration, action).with_message(problem), source)
            }
            error @ Self::UnknownResource { .. } => {
                Error::new(ErrorKind::NotFound, action).with_message(error.to_string())
            }
        }
    }
}

fn with_cause(error: Error, source: Option<Cause>) -> Error {
    match source {
        Some(source) => error.with_source(source),
        None => error,
    }
}

fn connection_kind(failure: ConnectionFailure) -> ErrorKind {
    match failure {
        // A name that does not resolve is mostly a resolver that is away for a moment.
        ConnectionFailure::Refused | ConnectionFailure::NameResolution => ErrorKind::ConnectionRefused,
        ConnectionFailure::Timeout => ErrorKind::Timeout,
        ConnectionFailure::Lost | ConnectionFailure::Proxy | ConnectionFailure::Other => {
            ErrorKind::ConnectionLost
        }
        ConnectionFailure::Certificate | ConnectionFailure::Tls => ErrorKind::Configuration,
        ConnectionFailure::Protocol => ErrorKind::UnexpectedAnswer,
    }
}

/// The kind of a server's answer. The more special question comes first: an expired version is a 410 too, a
/// version that is too large a 504.
pub(crate) fn status_kind(status: &Status) -> ErrorKind {
    type Question = fn(&Status) -> bool;
    let kinds: [(Question, ErrorKind); 13] = [
        (Status::is_too_large_resource_version, ErrorKind::TooLargeResourceVersion),
        (Status::is_expired, ErrorKind::Expired),
        (Status::is_gone, ErrorKind::Gone),
        (Status::is_not_found, ErrorKind::NotFound),
        (Status::is_unauthorized, ErrorKind::Unauthorized),
        (Status::is_forbidden, ErrorKind::Forbidden),
        (Status::is_invalid, ErrorKind::Invalid),
        (Status::is_bad_request, ErrorKind::BadRequest),
        (|status| status.is_conflict() || status.is_already_exists(), ErrorKind::Conflict),
        (Status::is_too_many_requests, ErrorKind::TooManyRequests),
        (|status| status.is_timeout() || status.is_server_timeout(), ErrorKind::Timeout),
        (Status::is_service_unavailable, ErrorKind::Unavailable),
        (|status| status.is_internal_error() || status.code == 502, ErrorKind::Internal),
    ];
    let found = kinds.iter().find(|(question, _)| question(status));
    found.map_or(if status.code >= 500 { ErrorKind::Internal } else { ErrorKind::Other }, |(_, kind)| *kind)
}

impl From<ClientError> for Error {
    fn from(error: ClientError) -> Self {
        error.into_core("use the API server")
    }
}

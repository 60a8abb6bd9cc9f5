//! The `Status` objects that an API server answers with.

use std::fmt;
use std::time::Duration;

use informers_core::{Error, ErrorKind};
use serde::Serialize;
use serde_json::Value;

/// A `Status` of the Kubernetes API: what an API server says when it refuses a request.
///
/// The embedded server answers with it, and its in-process calls return it as their error. Shape and wording
/// follow kube-apiserver.
///
/// ```
/// use informers_testkit::Status;
///
/// let busy = Status::new(429, "too many requests, please try again later").with_retry_after(1);
/// assert_eq!(busy.reason(), "TooManyRequests");
/// assert_eq!(busy.to_json()["details"]["retryAfterSeconds"], 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    code: u16,
    reason: String,
    message: String,
    details: Option<Box<Details>>,
    continue_token: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Details {
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    group: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    uid: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    causes: Vec<Cause>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_seconds: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Cause {
    #[serde(skip_serializing_if = "String::is_empty")]
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    field: String,
}

impl Status {
    /// A failure with this HTTP status code; the reason is the one that belongs to the code.
    pub fn new(code: u16, message: impl Into<String>) -> Self {
        let reason = match code {
            400 => "BadRequest",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "NotFound",
            405 => "MethodNotAllowed",
            406 => "NotAcceptable",
            409 => "Conflict",
            410 => "Expired",
            413 => "RequestEntityTooLarge",
            415 => "UnsupportedMediaType",
            422 => "Invalid",
            429 => "TooManyRequests",
            500 => "InternalError",
            503 => "ServiceUnavailable",
            504 => "Timeout",
            _ => "",
        };
        Self { code, reason: reason.to_owned(), message: message.into(), details: None, continue_token: None }
    }

    /// With another reason, such as `Gone` for a 410; may be empty.
    #[must_use]
    pub fn with_reason(mut self, reason: impl Into<String>) -> Self {
        self.reason = reason.into();
        self
    }

    /// With the seconds that the client is asked to wait; sent as `Retry-After` too.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u32) -> Self {
        self.details_mut().retry_after_seconds = Some(seconds);
        self
    }

    /// With the object that it is about: its resource's group, the resource or kind, and its name.
    #[must_use]
    pub fn with_object(mut self, group: &str, kind: &str, name: &str) -> Self {
        let details = self.details_mut();
        details.group = group.to_owned();
        details.kind = kind.to_owned();
        details.name = name.to_owned();
        self
    }

    /// With one more cause: its reason, its message and the field that it is about, which may be empty.
    #[must_use]
    pub fn with_cause(mut self, reason: &str, message: impl Into<String>, field: &str) -> Self {
        self.details_mut().causes.push(Cause {
            reason: reason.to_owned(),
            message: message.into(),
            field: field.to_owned(),
        });
        self
    }

    /// With an empty `details`, which a server sends in some answers.
    pub(crate) fn with_details(mut self) -> Self {
        self.details_mut();
        self
    }

    pub(crate) fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    /// The HTTP status code.
    #[must_use]
    pub fn code(&self) -> u16 {
        self.code
    }

    /// The reason, such as `NotFound`; may be empty.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// The message for people.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The seconds that the client is asked to wait.
    #[must_use]
    pub fn retry_after(&self) -> Option<u32> {
        self.details.as_ref()?.retry_after_seconds
    }

    /// The object as it goes over the wire.
    #[must_use]
    pub fn to_json(&self) -> Value {
        // The parts are strings and numbers, which always have a JSON form.
        serde_json::to_value(self.wire()).unwrap_or_default()
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(&self.wire()).unwrap_or_default()
    }

    /// The error that a client makes of it while doing `action`, such as `list pods`.
    ///
    /// ```
    /// use informers_core::ErrorKind;
    /// use informers_testkit::Status;
    ///
    /// let error = Status::new(410, "too old resource version: 1 (7)").to_error("watch pods");
    /// assert_eq!(error.kind(), ErrorKind::Expired);
    /// ```
    pub fn to_error(&self, action: impl Into<String>) -> Error {
        let causes = self.details.as_deref().map(|details| details.causes.as_slice()).unwrap_or_default();
        let kind = match (self.code, self.reason.as_str()) {
            (504, _) if causes.iter().any(|cause| cause.reason == "ResourceVersionTooLarge") => {
                ErrorKind::TooLargeResourceVersion
            }
            (_, "Expired") => ErrorKind::Expired,
            (410, _) => ErrorKind::Gone,
            (400, _) => ErrorKind::BadRequest,
            (401, _) => ErrorKind::Unauthorized,
            (403, _) => ErrorKind::Forbidden,
            (404, _) => ErrorKind::NotFound,
            (409, _) => ErrorKind::Conflict,
            (422, _) => ErrorKind::Invalid,
            (429, _) => ErrorKind::TooManyRequests,
            (500, _) => ErrorKind::Internal,
            (503, _) => ErrorKind::Unavailable,
            (504, _) => ErrorKind::Timeout,
            _ => ErrorKind::Other,
        };
        let error = Error::new(kind, action).with_message(&self.message).with_status(self.code, &self.reason);
        match self.retry_after() {
            Some(seconds) => error.with_retry_after(Duration::from_secs(seconds.into())),
            None => error,
        }
    }

    fn wire(&self) -> Wire<'_> {
        Wire {
            kind: "Status",
            api_version: "v1",
            metadata: Metadata { continue_token: self.continue_token.as_deref() },
            status: "Failure",
            message: &self.message,
            reason: &self.reason,
            details: self.details.as_deref(),
            code: Some(self.code),
        }
    }

    /// The success that a deletion is answered with.
    pub(crate) fn deleted(group: &str, plural: &str, name: &str, uid: &str) -> Value {
        let details = Details {
            name: name.to_owned(),
            group: group.to_owned(),
            kind: plural.to_owned(),
            uid: uid.to_owned(),
            ..Details::default()
        };
        serde_json::to_value(Wire {
            kind: "Status",
            api_version: "v1",
            metadata: Metadata { continue_token: None },
            status: "Success",
            message: "",
            reason: "",
            details: Some(&details),
            code: None,
        })
        .unwrap_or_default()
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    kind: &'a str,
    api_version: &'a str,
    metadata: Metadata<'a>,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Details>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
}

#[derive(Serialize)]
struct Metadata<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continue_token: Option<&'a str>,
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}", self.message, self.code)?;
        if !self.reason.is_empty() {
            write!(f, " {}", self.reason)?;
        }
        f.write_str(")")
    }
}

impl std::error::Error for Status {}

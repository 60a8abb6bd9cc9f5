//! The Kubernetes API's `Status`: what went wrong, in the server's words.

use std::fmt;

use serde::ser::SerializeStruct;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::protobuf::status_of;

/// A failure as the API server reports it: the body of an error answer, or the object of a watch's `ERROR` event.
///
/// A field that is missing or null on the wire is empty here. Serialising gives the whole API object, with kind
/// and API version. The predicates follow client-go's `api/errors`: a reason that is known decides; for an unknown
/// or empty one the HTTP code does.
///
/// ```
/// use informers_wire::Status;
///
/// let body = r#"{"kind":"Status","apiVersion":"v1","status":"Failure","code":410,"reason":"Expired",
///     "message":"The provided continue parameter is too old"}"#;
/// let status = Status::from_body(410, Some("application/json"), body.as_bytes());
/// assert!(status.is_expired() && !status.is_gone());
/// assert_eq!(status.to_string(), "The provided continue parameter is too old (410 Expired)");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Status {
    /// `Failure`, or `Success` where the server confirms something.
    #[serde(deserialize_with = "null_is_default")]
    pub status: String,
    /// For humans.
    #[serde(deserialize_with = "null_is_default")]
    pub message: String,
    /// For machines: one CamelCase word such as `NotFound`; may be empty.
    #[serde(deserialize_with = "null_is_default")]
    pub reason: String,
    /// The HTTP code that goes with it; 0 if not told.
    #[serde(deserialize_with = "http_code")]
    pub code: u16,
    /// More, depending on the reason.
    pub details: Option<StatusDetails>,
}

/// What a [`Status`] is about.
///
/// ```
/// use informers_wire::{Status, StatusDetails};
///
/// let mut status = Status::new(429, "TooManyRequests", "storage is (re)initializing");
/// let mut details = StatusDetails::default();
/// details.retry_after_seconds = 1;
/// status.details = Some(details);
/// let body = serde_json::to_vec(&status)?;
/// assert_eq!(Status::from_body(429, None, &body), status);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[non_exhaustive]
pub struct StatusDetails {
    /// Name of the object.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its API group.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Its resource (in spite of the name, often the plural such as `pods`).
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its UID.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Single causes, such as one per invalid field.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Seconds to wait before the next try; 0 if not told.
    #[serde(deserialize_with = "seconds", skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// One cause of a [`Status`].
///
/// ```
/// use informers_wire::Status;
///
/// let body = br#"{"kind":"Status","code":504,"details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}"#;
/// let status = Status::from_body(504, None, body);
/// assert!(status.has_cause("ResourceVersionTooLarge") && status.is_too_large_resource_version());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StatusCause {
    /// For machines: one CamelCase word such as `FieldValueInvalid`.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// For humans.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field that caused it, if one did.
    #[serde(deserialize_with = "null_is_default", skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// Reasons that have a meaning of their own; for any other the HTTP code decides.
const KNOWN_REASONS: [&str; 19] = [
    "Unauthorized",
    "Forbidden",
    "NotFound",
    "AlreadyExists",
    "Conflict",
    "Gone",
    "Invalid",
    "ServerTimeout",
    "StorageReadError",
    "Timeout",
    "TooManyRequests",
    "BadRequest",
    "MethodNotAllowed",
    "NotAcceptable",
    "RequestEntityTooLarge",
    "UnsupportedMediaType",
    "InternalError",
    "Expired",
    "ServiceUnavailable",
];

const TOO_LARGE_VERSION_TEXT: &str = "Too large resource version";

impl Status {
    /// How much of a body that is no `Status` goes into the message, in bytes; client-go's bound.
    pub const MAX_BODY_IN_MESSAGE: usize = 2048;

    /// A failure of our own making.
    pub fn new(code: u16, reason: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            status: "Failure".to_owned(),
            message: message.into(),
            reason: reason.into(),
            code,
            details: None,
        }
    }

    /// Reads the body of an HTTP answer that is no success; never fails.
    ///
    /// A `Status`, JSON of any layout or protobuf, is taken as it is; its code, if missing, is the HTTP code. Any other body (HTML
    /// of a proxy, plain text, JSON of another kind) is wrapped: reason by HTTP code, message from its text, made one
    /// line and cut at [`Status::MAX_BODY_IN_MESSAGE`]. Bodies of types that are neither text nor JSON are not quoted. A 409 is
    /// wrapped as `Conflict`; after a create it means `AlreadyExists`.
    ///
    /// ```
    /// use informers_wire::Status;
    ///
    /// let status = Status::from_body(503, Some("text/plain"), b"upstream connect error\n");
    /// assert!(status.is_service_unavailable());
    /// assert_eq!(status.message, "upstream connect error");
    /// ```
    pub fn from_body(code: u16, content_type: Option<&str>, body: &[u8]) -> Self {
        let found = status_of(body).or_else(|| Self::from_json(body));
        if let Some(mut status) = found.filter(|status| status.status != "Success") {
            if status.code == 0 {
                status.code = code;
            }
            return status;
        }
        let quotable = content_type.is_none_or(|content_type| {
            let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
            media_type.is_empty() || media_type.starts_with("text/") || media_type.ends_with("json")
        });
        let text = if quotable { bounded_text(body) } else { String::new() };
        let message = if text.is_empty() {
            format!("the server answered with HTTP status {code} and gave no explanation")
        } else {
            text
        };
        Self::new(code, reason_for_code(code), message)
    }

    /// A JSON object of kind `Status`; none if it is anything else.
    pub(crate) fn from_json(raw: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct Kind {
            kind: String,
        }
        let raw = raw.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(raw);
        let Kind { kind } = serde_json::from_slice(raw).ok()?;
        if kind != "Status" {
            return None;
        }
        serde_json::from_slice(raw).ok()
    }

    /// Is one of the causes of this reason?
    pub fn has_cause(&self, reason: &str) -> bool {
        self.causes().iter().any(|cause| cause.reason == reason)
    }

    /// The requested version, or the continue token, is too old: list again. Decided by the reason alone.
    pub fn is_expired(&self) -> bool {
        self.reason == "Expired"
    }

    /// 410 without the reason `Expired`; the reflector takes it as expired too.
    pub fn is_gone(&self) -> bool {
        self.is("Gone", 410)
    }

    /// The server is behind the requested version. Servers say it in three ways: a cause of type
    /// `ResourceVersionTooLarge`, a timeout with a cause of that text, a timeout with that text in its message.
    pub fn is_too_large_resource_version(&self) -> bool {
        self.has_cause("ResourceVersionTooLarge")
            || (self.is_timeout()
                && (self.causes().iter().any(|cause| cause.message == TOO_LARGE_VERSION_TEXT)
                    || self.message.contains(TOO_LARGE_VERSION_TEXT)))
    }

    /// The object, or the resource itself, does not exist (404).
    pub fn is_not_found(&self) -> bool {
        self.is("NotFound", 404)
    }

    /// The credentials are good, but do not suffice (403).
    pub fn is_forbidden(&self) -> bool {
        self.is("Forbidden", 403)
    }

    /// The credentials are missing or not accepted (401).
    pub fn is_unauthorized(&self) -> bool {
        self.is("Unauthorized", 401)
    }

    /// The server gave up in time (504).
    pub fn is_timeout(&self) -> bool {
        self.is("Timeout", 504)
    }

    /// The server could not do it in time and says when to come back. Decided by the reason alone.
    pub fn is_server_timeout(&self) -> bool {
        self.reason == "ServerTimeout"
    }

    /// Something broke in the server (500).
    pub fn is_internal_error(&self) -> bool {
        self.is("InternalError", 500)
    }

    /// The object was changed by somebody else meanwhile (409).
    pub fn is_conflict(&self) -> bool {
        self.is("Conflict", 409)
    }

    /// The object to be created exists. Decided by the reason alone.
    pub fn is_already_exists(&self) -> bool {
        self.reason == "AlreadyExists"
    }

    /// The server sheds load (429), whatever the reason says.
    pub fn is_too_many_requests(&self) -> bool {
        self.reason == "TooManyRequests" || self.code == 429
    }

    /// The request was too large (413), whatever the reason says.
    pub fn is_request_entity_too_large(&self) -> bool {
        self.reason == "RequestEntityTooLarge" || self.code == 413
    }

    /// The server, or the one behind it, is not there (503).
    pub fn is_service_unavailable(&self) -> bool {
        self.is("ServiceUnavailable", 503)
    }

    /// The object failed validation (422).
    pub fn is_invalid(&self) -> bool {
        self.is("Invalid", 422)
    }

    /// The request made no sense (400).
    pub fn is_bad_request(&self) -> bool {
        self.is("BadRequest", 400)
    }

    /// The resource does not know the verb (405).
    pub fn is_method_not_supported(&self) -> bool {
        self.is("MethodNotAllowed", 405)
    }

    /// None of the representations asked for exists (406).
    pub fn is_not_acceptable(&self) -> bool {
        self.is("NotAcceptable", 406)
    }

    /// The representation that was sent is not understood (415).
    pub fn is_unsupported_media_type(&self) -> bool {
        self.is("UnsupportedMediaType", 415)
    }

    /// An object in storage cannot be read. Decided by the reason alone.
    pub fn is_store_read_error(&self) -> bool {
        self.reason == "StorageReadError"
    }

    fn is(&self, reason: &str, code: u16) -> bool {
        self.reason == reason || (self.code == code && !KNOWN_REASONS.contains(&&*self.reason))
    }

    fn causes(&self) -> &[StatusCause] {
        self.details.as_ref().map_or(&[], |details| &details.causes)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = if self.message.is_empty() { "the server gave no message" } else { &self.message };
        match (self.code, &*self.reason) {
            (0, "") => f.write_str(message),
            (0, reason) => write!(f, "{message} ({reason})"),
            (code, "") => write!(f, "{message} ({code})"),
            (code, reason) => write!(f, "{message} ({code} {reason})"),
        }
    }
}

impl std::error::Error for Status {}

impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ListMeta {}
        let mut object = serializer.serialize_struct("Status", 8)?;
        object.serialize_field("kind", "Status")?;
        object.serialize_field("apiVersion", "v1")?;
        object.serialize_field("metadata", &ListMeta {})?;
        object.serialize_field("status", &self.status)?;
        object.serialize_field("message", &self.message)?;
        object.serialize_field("reason", &self.reason)?;
        if let Some(details) = &self.details {
            object.serialize_field("details", details)?;
        }
        object.serialize_field("code", &self.code)?;
        object.end()
    }
}

fn reason_for_code(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "NotFound",
        405 => "MethodNotAllowed",
        406 => "NotAcceptable",
        409 => "Conflict",
        413 => "RequestEntityTooLarge",
        415 => "UnsupportedMediaType",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        500.. => "InternalError",
        // 410 among them: whether it means Gone or Expired, only the server can say.
        _ => "",
    }
}

/// The beginning of a body as one line: it goes into messages and logs.
fn bounded_text(body: &[u8]) -> String {
    let cut = body.get(..Status::MAX_BODY_IN_MESSAGE).unwrap_or(body);
    // The cut may fall into a character; lossy decoding puts one replacement there, which is dropped again.
    let text = String::from_utf8_lossy(cut);
    let text = if cut.len() < body.len() { text.trim_end_matches('\u{FFFD}') } else { &*text };
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn null_is_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn http_code<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u16, D::Error> {
    let code: i64 = null_is_default(deserializer)?;
    Ok(u16::try_from(code).unwrap_or(0))
}

fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let seconds: i64 = null_is_default(deserializer)?;
    Ok(u32::try_from(seconds.max(0)).unwrap_or(u32::MAX))
}

fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}

#[cfg(test)]
mod tests;

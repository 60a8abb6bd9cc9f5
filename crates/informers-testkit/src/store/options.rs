//! The options of list and watch requests, checked as kube-apiserver checks them.

use std::time::Duration;

use super::fields::Selection;
use super::resource::invalid;
use crate::Status;

/// How a list's version is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    Exact,
    NotOlderThan,
}

/// A checked list request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListOptions {
    pub(crate) selection: Selection,
    pub(crate) version: Option<u64>,
    pub(crate) version_match: Option<Match>,
    pub(crate) limit: usize,
    pub(crate) continue_token: Option<String>,
}

/// A checked watch request.
#[derive(Clone, Debug, Default)]
pub(crate) struct WatchOptions {
    pub(crate) selection: Selection,
    pub(crate) version: Option<u64>,
    pub(crate) bookmarks: bool,
    /// Whether a streaming list is asked for.
    pub(crate) send_initial_events: Option<bool>,
    pub(crate) timeout: Option<Duration>,
}

/// The parameters as they stand in the query.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawOptions<'a> {
    pub(crate) resource_version: &'a str,
    pub(crate) resource_version_match: &'a str,
    pub(crate) continue_token: &'a str,
    pub(crate) limit: &'a str,
    pub(crate) timeout_seconds: &'a str,
    pub(crate) allow_watch_bookmarks: &'a str,
    pub(crate) send_initial_events: Option<&'a str>,
}

const FORBIDDEN: &str = "FieldValueForbidden";
const NEEDS_NOT_OLDER_THAN: &str = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";

fn forbidden(field: &str, problem: &str) -> Status {
    invalid("meta.k8s.io", "ListOptions", "", field, FORBIDDEN, &format!("Forbidden: {problem}"))
}

fn unsupported_match(value: &str, supported: &str) -> Status {
    let problem = format!("Unsupported value: {value:?}: supported values: {supported}");
    invalid("meta.k8s.io", "ListOptions", "", "resourceVersionMatch", "FieldValueNotSupported", &problem)
}

/// The number in a query parameter; empty is none.
fn number(text: &str) -> Result<Option<i64>, Status> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        Status::new(400, format!("strconv.ParseInt: parsing {text:?}: {}", number_problem(text)))
    })
}

pub(crate) fn number_problem(text: &str) -> &'static str {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { "value out of range" } else { "invalid syntax" }
}

/// `true` as Go writes it: everything but a false value, as kube-apiserver reads booleans in queries.
fn boolean(text: &str) -> bool {
    !matches!(text.to_ascii_lowercase().as_str(), "" | "0" | "false")
}

fn version(text: &str) -> Result<Option<u64>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        format!(
            "resourceVersion: Invalid value: {text:?}: strconv.ParseUint: parsing {text:?}: {}",
            number_problem(text)
        )
    })
}

/// The version in a get request.
pub(crate) fn get_version(text: &str) -> Result<Option<u64>, Status> {
    version(text).map_err(|problem| Status::new(400, format!("invalid resource version: {problem}")))
}

impl RawOptions<'_> {
    pub(crate) fn list(&self, selection: Selection) -> Result<ListOptions, Status> {
        let limit = number(self.limit)?.unwrap_or_default();
        number(self.timeout_seconds)?;
        if self.send_initial_events.is_some() {
            return Err(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
        }
        let field = "resourceVersionMatch";
        let rule = self.resource_version_match;
        if !rule.is_empty() {
            if self.resource_version.is_empty() {
                let problem = "resourceVersionMatch is forbidden unless resourceVersion is provided";
                return Err(forbidden(field, problem));
            }
            if !self.continue_token.is_empty() {
                let problem = "resourceVersionMatch is forbidden when continue is provided";
                return Err(forbidden(field, problem));
            }
        }
        let version_match = match rule {
            "" => None,
            "Exact" if self.resource_version == "0" => {
                let problem = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
                return Err(forbidden(field, problem));
            }
            "Exact" => Some(Match::Exact),
            "NotOlderThan" => Some(Match::NotOlderThan),
            other => return Err(unsupported_match(other, "\"Exact\", \"NotOlderThan\", \"\"")),
        };
        let version = get_version(self.resource_version)?;
        let continue_token = Some(self.continue_token).filter(|token| !token.is_empty()).map(str::to_owned);
        Ok(ListOptions {
            selection,
            version,
            version_match,
            limit: usize::try_from(limit).unwrap_or_default(),
            continue_token,
        })
    }

    pub(crate) fn watch(&self, selection: Selection) -> Result<WatchOptions, Status> {
        number(self.limit)?;
        let timeout = number(self.timeout_seconds)?;
        let bookmarks = boolean(self.allow_watch_bookmarks);
        let send_initial_events = self.send_initial_events.map(boolean);
        let field = "resourceVersionMatch";
        match (send_initial_events, self.resource_version_match) {
            (None, "") | (Some(_), "NotOlderThan") => {}
            (None, _) => {
                let problem =
                    "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
                return Err(forbidden(field, problem));
            }
            (Some(_), "") => return Err(forbidden(field, NEEDS_NOT_OLDER_THAN)),
            (Some(_), rule) => {
                let missing = format!("Forbidden: {NEEDS_NOT_OLDER_THAN}");
                let unsupported = format!("Unsupported value: {rule:?}: supported values: \"NotOlderThan\"");
                let message = format!(
                    "ListOptions.meta.k8s.io \"\" is invalid: [{field}: {missing}, {field}: {unsupported}]"
                );
                return Err(Status::new(422, message)
                    .with_object("meta.k8s.io", "ListOptions", "")
                    .with_cause(FORBIDDEN, missing, field)
                    .with_cause("FieldValueNotSupported", unsupported, field));
            }
        }
        let version =
            version(self.resource_version).map_err(|problem| Status::new(500, problem).with_reason(""))?;
        let timeout = timeout
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|&seconds| seconds > 0)
            .map(Duration::from_secs);
        Ok(WatchOptions { selection, version, bookmarks, send_initial_events, timeout })
    }
}

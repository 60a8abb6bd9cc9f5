//! When may the next request go out? Read from `Retry-After` and from a `Status`.

use std::time::{Duration, SystemTime};

use crate::Status;

/// A server's wish when to come back.
///
/// client-go reads whole seconds only; dates, which gateways send, are read here as well.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use informers_wire::RetryAfter;
///
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
/// let cap = Duration::from_secs(300);
/// let by_date = RetryAfter::parse("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
/// assert_eq!(by_date.delay(now, cap), Duration::from_secs(7));
/// assert_eq!(RetryAfter::parse("86400").unwrap().delay(now, cap), cap);
/// assert_eq!(RetryAfter::parse("soon"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// After this long.
    Delay(Duration),
    /// At this time of the server's clock.
    At(SystemTime),
}

impl RetryAfter {
    /// Reads the value of a `Retry-After` header: whole seconds (0 is allowed, more than fit become the longest
    /// delay) or an HTTP date in any of its three forms. Anything else is no hint.
    pub fn parse(header: &str) -> Option<Self> {
        let header = header.trim();
        if !header.is_empty() && header.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(Self::Delay(Duration::from_secs(header.parse().unwrap_or(u64::MAX))));
        }
        httpdate::parse_http_date(header).ok().map(Self::At)
    }

    /// Reads `details.retryAfterSeconds` of a `Status`. Zero counts only with the reason `ServerTimeout`, as in
    /// client-go; otherwise it means that nothing was said.
    pub fn from_status(status: &Status) -> Option<Self> {
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0 || status.is_server_timeout()).then(|| Self::Delay(Duration::from_secs(seconds.into())))
    }

    /// How long to wait from `now`, at most `cap`; zero for a date that is past.
    pub fn delay(self, now: SystemTime, cap: Duration) -> Duration {
        let wished = match self {
            Self::Delay(delay) => delay,
            Self::At(time) => time.duration_since(now).unwrap_or_default(),
        };
        wished.min(cap)
    }
}

/// The wait that a failed answer asks for, at most `cap`: the longer one if header and `Status` both tell, none if
/// neither does.
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use informers_wire::{Status, retry_after};
///
/// let status = Status::from_body(429, None, br#"{"kind":"Status","details":{"retryAfterSeconds":5}}"#);
/// let wait = |header| retry_after(header, Some(&status), SystemTime::UNIX_EPOCH, Duration::from_secs(300));
/// assert_eq!(wait(Some("3")), Some(Duration::from_secs(5)));
/// assert_eq!(wait(Some("8")), Some(Duration::from_secs(8)));
/// ```
pub fn retry_after(
    header: Option<&str>,
    status: Option<&Status>,
    now: SystemTime,
    cap: Duration,
) -> Option<Duration> {
    let header = header.and_then(RetryAfter::parse);
    let status = status.and_then(RetryAfter::from_status);
    // Options order with none first.
    header.map(|hint| hint.delay(now, cap)).max(status.map(|hint| hint.delay(now, cap)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CAP: Duration = Duration::from_secs(300);

    fn wait(header: &str) -> Option<Duration> {
        // 1994-11-06 08:49:30 UTC
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        retry_after(Some(header), None, now, CAP)
    }

    #[test]
    fn a16_hints_in_every_form() {
        for (header, seconds) in [
            ("3", 3),
            (" 3 ", 3),
            ("0", 0),
            ("86400", 300),
            ("99999999999999999999999", 300),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 7),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 7),
            ("Sun Nov  6 08:49:37 1994", 7),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0),
            ("Mon, 06 Nov 2034 08:00:00 GMT", 300),
        ] {
            assert_eq!(wait(header), Some(Duration::from_secs(seconds)), "{header:?}");
        }
    }

    #[test]
    fn a16_no_hint() {
        for header in ["", "soon", "-3", "1.5", "+2", "3s", "Sun, 99 Nov 1994 08:49:37 GMT"] {
            assert_eq!(wait(header), None, "{header:?}");
        }
        assert_eq!(retry_after(None, None, SystemTime::UNIX_EPOCH, CAP), None);
    }

    #[test]
    fn a16_hints_of_a_status() {
        let status = |reason: &str, details: &str| {
            let body = format!(r#"{{"kind":"Status","reason":"{reason}","details":{details}}}"#);
            Status::from_body(429, None, body.as_bytes())
        };
        let hint = |reason, details| {
            retry_after(None, Some(&status(reason, details)), SystemTime::UNIX_EPOCH, CAP)
                .map(|wait| wait.as_secs())
        };
        assert_eq!(hint("TooManyRequests", r#"{"retryAfterSeconds":2}"#), Some(2));
        assert_eq!(hint("TooManyRequests", r#"{"retryAfterSeconds":86400}"#), Some(300));
        assert_eq!(hint("TooManyRequests", "{}"), None);
        assert_eq!(hint("TooManyRequests", "null"), None);
        assert_eq!(hint("ServerTimeout", "{}"), Some(0));
    }
}

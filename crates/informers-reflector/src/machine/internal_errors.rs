//! For how long internal errors of the server are answered by another watch at once.

use std::time::{Duration, Instant};

use informers_core::{Error, ErrorKind};

/// A row of errors that is interrupted for this long is a new row.
const ROW: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(crate) struct InternalErrors {
    row: Option<(Instant, Instant)>,
}

impl InternalErrors {
    /// Whether `error` is worth another watch at once: the row of internal errors that it belongs to is not
    /// older than `limit`.
    pub(crate) fn retry(&mut self, error: &Error, limit: Duration, now: Instant) -> bool {
        if limit.is_zero() || !is_internal(error) {
            return false;
        }
        let first = match self.row {
            Some((first, last)) if now.duration_since(last) < ROW => first,
            _ => now,
        };
        let retry = now.duration_since(first) <= limit;
        self.row = retry.then_some((first, now));
        retry
    }
}

/// Other reasons travel with the code 500 too, and are not for trying again.
pub(crate) fn is_internal(error: &Error) -> bool {
    error.kind() == ErrorKind::Internal && matches!(error.reason(), "" | "InternalError")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn internal() -> Error {
        Error::new(ErrorKind::Internal, "watch pods").with_status(500, "InternalError")
    }

    fn retries(limit: u64, at: impl IntoIterator<Item = u64>) -> Vec<bool> {
        let (mut errors, start) = (InternalErrors::default(), Instant::now());
        let limit = Duration::from_secs(limit);
        at.into_iter()
            .map(|second| errors.retry(&internal(), limit, start + Duration::from_secs(second)))
            .collect()
    }

    #[test]
    fn one_a_second_for_thirty_seconds_is_31_retries() {
        assert_eq!(retries(30, 0..32).iter().filter(|&&retry| retry).count(), 31);
        assert_eq!(retries(30, 0..32).last(), Some(&false));
    }

    #[test]
    fn none_without_a_limit() {
        assert_eq!(retries(0, [0]), [false]);
    }

    #[test]
    fn a_minute_without_errors_begins_a_new_row() {
        assert_eq!(retries(30, [0, 20, 80, 110, 111]), [true, true, true, true, false]);
    }

    #[test]
    fn other_errors_are_never_retried() {
        let mut errors = InternalErrors::default();
        let storage = Error::new(ErrorKind::Internal, "watch pods").with_status(500, "StorageReadError");
        let forbidden = Error::new(ErrorKind::Forbidden, "watch pods");
        let limit = Duration::from_secs(30);
        assert!(!errors.retry(&storage, limit, Instant::now()));
        assert!(!errors.retry(&forbidden, limit, Instant::now()));
    }

    #[test]
    fn other_errors_do_not_interrupt_a_row() {
        let (mut errors, start) = (InternalErrors::default(), Instant::now());
        let limit = Duration::from_secs(1);
        let unavailable = Error::new(ErrorKind::Unavailable, "watch pods");
        let at = |tenths: u64| start + Duration::from_millis(100 * tenths);
        assert!(errors.retry(&internal(), limit, at(0)));
        assert!(!errors.retry(&unavailable, limit, at(5)));
        assert!(errors.retry(&internal(), limit, at(10)));
        assert!(!errors.retry(&internal(), limit, at(11)), "the row began with the first");
    }
}

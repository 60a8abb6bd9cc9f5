//! Times as they stand in credentials and objects (RFC 3339).

use std::time::SystemTime;

use jiff::Timestamp;

/// Reads `2026-01-31T12:00:00.5+01:00`; none if it is something else.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    text.parse::<Timestamp>().ok().map(SystemTime::from)
}

/// As `2026-01-31T12:00:00Z`, without fractions, as `metav1.Time` is written. Times before 1970 are written as 1970.
pub(crate) fn format(time: SystemTime) -> String {
    let time = Timestamp::try_from(time.max(SystemTime::UNIX_EPOCH)).unwrap_or(Timestamp::MAX);
    format!("{time:.0}")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        // A day of each week of four centuries, at odd seconds.
        for day in (0..146_097).step_by(7) {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400 + day % 86_400);
            let text = format(time);
            assert_eq!(parse(&text), Some(time), "{text}");
        }
        assert_eq!(format(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(
            format(SystemTime::UNIX_EPOCH + Duration::from_millis(951_825_600_999)),
            "2000-02-29T12:00:00Z"
        );
        let beyond = SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert_eq!(format(beyond), "9999-12-30T22:00:00Z", "the last second that can be written");
    }

    #[test]
    fn times_are_read_with_their_zones() {
        let seconds =
            |text: &str| Some(parse(text)?.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs());
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-01-31T12:00:00.5+01:00", Some(1_769_857_200)),
            ("2026-01-31T06:30:00-04:30", Some(1_769_857_200)),
            ("2026-02-01T11:59:00+23:59", Some(1_769_860_800)),
            ("2038-01-19t03:14:08z", Some(2_147_483_648)),
            ("2026-13-01T00:00:00Z", None),
            ("2026-02-29T00:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01", None),
            ("-1-01-01T00:00:00Z", None),
            ("99999999999999999999-01-01T00:00:00Z", None),
            ("2026-01-31T12:00:00+26:00", None),
            ("2026-01-31T12:00:00+01:60", None),
            ("2026-01-31T12:00:00+-1:00", None),
            ("2026-01-31T12:00:00-00:9223372036854775807", None),
            ("yesterday", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        // What expired long ago has expired.
        assert!(parse("1969-12-31T23:59:59Z").unwrap() < SystemTime::UNIX_EPOCH);
    }
}

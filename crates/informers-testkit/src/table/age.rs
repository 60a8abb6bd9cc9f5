//! How long ago something was, for people.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;

/// The time since an RFC 3339 timestamp, such as `5m12s`; none if it is not one.
pub(super) fn age(timestamp: &str, now: SystemTime) -> Option<String> {
    let then = parse(timestamp)?;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let seconds = i64::try_from(now).ok()? - then;
    // Clocks differ a little.
    if seconds < -1 {
        return Some("<invalid>".to_owned());
    }
    Some(human(Duration::from_secs(seconds.try_into().unwrap_or_default())))
}

/// The time between two timestamps.
pub(super) fn between(start: &str, end: &str) -> Option<String> {
    let seconds = parse(end)? - parse(start)?;
    Some(human(Duration::from_secs(seconds.try_into().ok()?)))
}

/// Two or three significant figures of a duration.
fn human(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let (days, years) = (hours / 24, hours / 24 / 365);
    let two = |large: u64, unit: char, small: u64, small_unit: char| match small {
        0 => format!("{large}{unit}"),
        small => format!("{large}{unit}{small}{small_unit}"),
    };
    match () {
        () if seconds < 120 => format!("{seconds}s"),
        () if minutes < 10 => two(minutes, 'm', seconds % 60, 's'),
        () if minutes < 180 => format!("{minutes}m"),
        () if hours < 8 => two(hours, 'h', minutes % 60, 'm'),
        () if hours < 48 => format!("{hours}h"),
        () if days < 8 => two(days, 'd', hours % 24, 'h'),
        () if years < 2 => format!("{days}d"),
        () if years < 8 => two(years, 'y', days % 365, 'd'),
        () => format!("{years}y"),
    }
}

/// Seconds since 1970 of a timestamp such as `2026-01-02T03:04:05Z`; fractions of seconds are passed over.
pub(super) fn parse(timestamp: &str) -> Option<i64> {
    timestamp.parse::<Timestamp>().ok().map(Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_short() {
        let then = "2026-01-01T00:00:00Z";
        let start = parse(then).unwrap();
        for (seconds, text) in [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            let now = UNIX_EPOCH + Duration::from_secs((start + seconds) as u64);
            assert_eq!(age(then, now).unwrap(), text, "{seconds}");
        }
        assert_eq!(between("2026-01-01T00:00:00Z", "2026-01-01T00:01:30.123456Z").unwrap(), "90s");
    }

    #[test]
    fn timestamps_are_read() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T00:00:00Z", Some(951_782_400)),
            ("2100-03-01T00:00:00.5Z", Some(4_107_542_400)),
            ("2100-13-01T00:00:00Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(parse(text), seconds, "{text}");
        }
    }
}

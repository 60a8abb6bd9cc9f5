//! Times as they stand in credentials and objects (RFC 3339).

use std::time::{Duration, SystemTime};

/// Reads `2026-01-31T12:00:00.5+01:00`; none if it is something else or before 1970.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let (date, rest) = text.split_once(['T', 't', ' '])?;
    let zone_at = rest.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = rest.split_at(zone_at);
    let numbers = |text: &str, separator: char| -> Option<[i64; 3]> {
        let parts: Option<Vec<i64>> = text.split(separator).map(|part| part.parse().ok()).collect();
        parts?.try_into().ok()
    };
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, second] = numbers(time.split('.').next()?, ':')?;
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (hours, minutes) = zone.get(1..)?.split_once(':')?;
            let (hours, minutes) = (hours.parse::<i64>().ok()?, minutes.parse::<i64>().ok()?);
            if !(0..24).contains(&hours) || !(0..60).contains(&minutes) {
                return None;
            }
            let seconds = hours * 3600 + minutes * 60;
            if zone.starts_with('-') { -seconds } else { seconds }
        }
    };
    let in_range = (1..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    if !in_range {
        return None;
    }
    // Days since 1970 in the proleptic Gregorian calendar, whose year begins in March here.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset;
    Some(SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(seconds).ok()?))
}

/// As `2026-01-31T12:00:00Z`, without fractions, as `metav1.Time` is written. Times before 1970 are written as 1970.
pub(crate) fn format(time: SystemTime) -> String {
    let seconds = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // As above, with the year beginning in March.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        // Every day of four centuries, at odd seconds.
        for day in 0..146_097 {
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(day * 86_400 + day % 86_400);
            let text = format(time);
            assert_eq!(parse(&text), Some(time), "{text}");
        }
        assert_eq!(format(SystemTime::UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(
            format(SystemTime::UNIX_EPOCH + Duration::from_millis(951_825_600_999)),
            "2000-02-29T12:00:00Z"
        );
    }

    fn seconds(text: &str) -> Option<u64> {
        Some(parse(text)?.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs())
    }

    #[test]
    fn times_are_read_with_their_zones() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2000-02-29T12:00:00Z", Some(951_825_600)),
            ("2026-01-31T12:00:00.5+01:00", Some(1_769_857_200)),
            ("2026-01-31T06:30:00-04:30", Some(1_769_857_200)),
            ("2038-01-19t03:14:08z", Some(2_147_483_648)),
            ("1969-12-31T23:59:59Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("2026-01-01T00:00:00", None),
            ("2026-01-01", None),
            ("-1-01-01T00:00:00Z", None),
            ("99999999999999999999-01-01T00:00:00Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }

    #[test]
    fn absurd_zones_are_no_times() {
        for zone in ["+24:00", "-24:00", "+01:60", "+-1:00", "-01:-1", "+9223372036854775807:00"] {
            assert_eq!(seconds(&format!("2026-01-31T12:00:00{zone}")), None, "{zone}");
        }
        for minutes in ["9223372036854775807", "-9223372036854775808", "153722867280912930"] {
            assert_eq!(seconds(&format!("2026-01-31T12:00:00-00:{minutes}")), None, "{minutes}");
        }
        assert_eq!(seconds("2026-02-01T11:59:00+23:59"), Some(1_769_860_800));
    }
}

//! Parses durations, percentages and counts.

use jiff::SignedDuration;

/// Maximum duration in nanoseconds: a week.
const LONGEST: i128 = 7 * 24 * 3600 * 1_000_000_000;

/// A positive duration in nanoseconds: `3s`, `500ms`, `1min 30s`.
pub fn nanoseconds(text: &str) -> Result<i64, String> {
    let form = "write a time such as \"3s\", \"500ms\" or \"5min\"";
    let duration: SignedDuration = text.parse().map_err(|_| form.to_owned())?;
    match i64::try_from(duration.as_nanos()) {
        Ok(time) if time > 0 && i128::from(time) <= LONGEST => Ok(time),
        _ => Err("a time must be longer than 0 and at most a week".to_owned()),
    }
}

/// A percentage: `10%`.
pub(super) fn percent(text: &str) -> Result<u8, String> {
    let number = text.strip_suffix('%').and_then(|number| number.trim_end().parse().ok());
    number
        .filter(|&percent: &u8| percent <= 100)
        .ok_or_else(|| "write a percentage from \"0%\" to \"100%\"".to_owned())
}

/// A positive number: `1000`.
pub(super) fn count(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    number
        .filter(|&number: &u32| number > 0)
        .ok_or_else(|| "write a whole number from 1 on, such as \"1000\"".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(nanoseconds("3s"), Ok(3_000_000_000));
        assert_eq!(nanoseconds("500ms"), Ok(500_000_000));
        assert_eq!(nanoseconds("1min 30s"), Ok(90_000_000_000));
        assert_eq!(nanoseconds("5 minutes"), Ok(300_000_000_000));
        for wrong in ["", "3", "0s", "-3s", "8d", "500h", "99999999999h", "soon", "3s3s"] {
            assert!(nanoseconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn counts() {
        assert_eq!([count("1"), count("1000")], [Ok(1), Ok(1000)]);
        for wrong in ["", "0", "-1", "1.5", "many", "99999999999"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares() {
        assert_eq!((percent("0%"), percent("10%"), percent("100 %")), (Ok(0), Ok(10), Ok(100)));
        for wrong in ["10", "101%", "300%", "-1%", "%", "ten%"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }
}

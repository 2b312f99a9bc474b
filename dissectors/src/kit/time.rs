//! The capture's clock.

use serde::{Deserialize, Serialize};

/// A time in the capture, in nanoseconds since 1970. There is no other clock in this crate.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Time(pub i64);

/// Now, and how long a response may take.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Now.
    pub now: Time,
    /// How long a response, or the rest of one, may take, in nanoseconds.
    pub timeout: i64,
}

impl Clock {
    /// Repeats prolong the wait for a response up to so many timeouts.
    const MOST_TIMEOUTS: i64 = 3;

    /// Whether the response to what was sent then is overdue.
    pub fn is_over(self, sent: Time) -> bool {
        self.now.since(sent) >= self.timeout
    }

    /// Whether a request still waits that was first sent at `first`, and last at `last`: each repeat prolongs the wait.
    /// This has a limit, since a client that asks a dead server every second sends several requests.
    pub fn waits(self, first: Time, last: Time) -> bool {
        !self.is_over(last) && self.now.since(first) / Clock::MOST_TIMEOUTS < self.timeout
    }
}

impl Time {
    /// Nanoseconds: packets in opposite directions that are at most this far apart may have been
    /// recorded in the wrong order.
    pub const MOMENT: i64 = 5_000_000;
    /// Nanoseconds within which copies of a response, and its parts, follow each other.
    pub const SOON: i64 = 500_000_000;
    /// Nanoseconds of a day.
    const DAY: i64 = 86_400_000_000_000;

    /// Nanoseconds from `earlier` to this; 0 if the capture's clock went backwards.
    pub fn since(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0).max(0)
    }

    /// So many nanoseconds after this.
    pub fn after(self, nanoseconds: i64) -> Time {
        Time(self.0.saturating_add(nanoseconds))
    }

    /// The Gregorian date in UTC: year, month, day. 64-bit nanoseconds reach from 1677 to 2262, so a
    /// year has always four digits.
    pub fn date(self) -> (u32, u32, u32) {
        // Counted from 0000-03-01, so that a leap day is the last day of its year, and of its 400
        // years.
        let day = self.0.div_euclid(Time::DAY) + 719_468;
        let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
        let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year + year / 4 - year / 100);
        let march_month = (5 * of_year + 2) / 153;
        let of_month = of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = era * 400 + year + i64::from(month <= 2);
        (year as u32, month as u32, of_month as u32)
    }

    /// For people: in UTC, with milliseconds.
    pub fn utc(self) -> String {
        let milliseconds = self.0.rem_euclid(Time::DAY) / 1_000_000 % 1_000;
        format!("{}.{milliseconds:03}", self.utc_second())
    }

    /// For people: in UTC, to the second.
    pub fn utc_second(self) -> String {
        let ((year, month, day), second) =
            (self.date(), self.0.rem_euclid(Time::DAY) / 1_000_000_000);
        let (hours, minutes, seconds) = (second / 3600, second / 60 % 60, second % 60);
        format!("{year:04}-{month:02}-{day:02} {hours:02}:{minutes:02}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_for_people_are_in_utc() {
        assert_eq!(Time(1_709_210_096_789_000_000).utc(), "2024-02-29 12:34:56.789");
        assert_eq!(Time(-1_000_000).utc(), "1969-12-31 23:59:59.999");
        assert_eq!(Time(-1_000_000).utc_second(), "1969-12-31 23:59:59");
    }
}

//! Times of the capture as UTC text, fast: neighbouring messages usually have the same second.

use std::sync::OnceLock;

use dissectors::kit::Time;

use crate::report::digits::{six, three};
use crate::report::put;

const SECONDS_PER_DAY: i64 = 86_400;
const NANOSECONDS: i64 = 1_000_000_000;

/// Writes times as RFC 3339 and remembers the last second it wrote.
#[derive(Clone, Debug)]
pub(crate) struct Clock {
    /// The second since 1970 in `text`.
    second: i64,
    /// `YYYY-MM-DDTHH:MM:SS`.
    text: [u8; 19],
}

/// A time as [`Clock::rfc3339`] writes it.
#[cfg(feature = "commands")]
pub(super) fn rfc3339(time: Time, digits: u8) -> String {
    super::to_text(|out| Clock::default().rfc3339(time, digits, out))
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { second: 0, text: *b"1970-01-01T00:00:00" }
    }
}

impl Clock {
    /// `YYYY-MM-DDTHH:MM:SS.ffffffZ`, with 6 or 9 digits after the point.
    #[inline]
    pub(crate) fn rfc3339(&mut self, time: Time, digits: u8, out: &mut Vec<u8>) {
        self.turn_to(time);
        out.extend_from_slice(&self.text);
        fraction(time, digits, out);
        out.push(b'Z');
    }

    /// `HH:MM:SS.ffffff`.
    pub(super) fn time_of_day(&mut self, time: Time, digits: u8, out: &mut Vec<u8>) {
        self.turn_to(time);
        out.extend_from_slice(&self.text[11..]);
        fraction(time, digits, out);
    }

    /// `HH:MM:SS`.
    pub(super) fn seconds_of_day(&mut self, time: Time, out: &mut Vec<u8>) {
        self.turn_to(time);
        out.extend_from_slice(&self.text[11..]);
    }

    /// `YYYY-MM-DD`.
    pub(super) fn date(&mut self, time: Time, out: &mut Vec<u8>) {
        self.turn_to(time);
        out.extend_from_slice(&self.text[..10]);
    }

    #[inline]
    fn turn_to(&mut self, time: Time) {
        let second = time.0.div_euclid(NANOSECONDS);
        if second == self.second {
            return;
        }
        if day(time) != self.second.div_euclid(SECONDS_PER_DAY) {
            let (year, month, day) = time.date();
            self.two(0, year / 100);
            self.two(2, year % 100);
            self.two(5, month);
            self.two(8, day);
        }
        let of_day = second.rem_euclid(SECONDS_PER_DAY) as u32;
        self.two(11, of_day / 3600);
        self.two(14, of_day / 60 % 60);
        self.two(17, of_day % 60);
        self.second = second;
    }

    fn two(&mut self, at: usize, value: u32) {
        self.text[at] = b'0' + (value / 10 % 10) as u8;
        self.text[at + 1] = b'0' + (value % 10) as u8;
    }
}

/// How times are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeStyle {
    /// In UTC.
    #[default]
    Utc,
    /// In the time zone of `TZ`, or of the system.
    Local,
    /// Seconds since the first message shown.
    Relative,
    /// Seconds since the message shown before.
    Delta,
    /// Seconds since 1970.
    Epoch,
}

/// The time zone of `TZ`, or of the system, read once: later, a live capture can read no files.
pub(crate) fn local_zone() -> jiff::tz::TimeZone {
    static ZONE: OnceLock<jiff::tz::TimeZone> = OnceLock::new();
    ZONE.get_or_init(jiff::tz::TimeZone::system).clone()
}

/// Formats times in the user's style.
pub struct TimeFormatter {
    style: TimeStyle,
    clock: Clock,
    zone: jiff::tz::TimeZone,
    first: Option<Time>,
    last: Option<Time>,
}

impl Default for TimeFormatter {
    fn default() -> TimeFormatter {
        TimeFormatter::new(TimeStyle::Utc)
    }
}

impl TimeFormatter {
    /// In this style.
    pub fn new(style: TimeStyle) -> TimeFormatter {
        let zone = match style {
            TimeStyle::Local => local_zone(),
            _ => jiff::tz::TimeZone::UTC,
        };
        TimeFormatter { style, clock: Clock::default(), zone, first: None, last: None }
    }

    /// Relative to this time, until another was seen.
    #[must_use]
    pub fn since(self, first: Option<Time>) -> TimeFormatter {
        TimeFormatter { first, last: first, ..self }
    }

    /// Later times are relative to this one.
    pub(super) fn seen(&mut self, time: Time) {
        self.first.get_or_insert(time);
        self.last = Some(time);
    }

    fn local(&self, time: Time) -> jiff::Zoned {
        let time = jiff::Timestamp::from_nanosecond(time.0.into()).unwrap_or_default();
        time.to_zoned(self.zone.clone())
    }

    /// The day and its zone, as a heading for the times of [`TimeFormatter::brief`]; empty if these need
    /// none.
    pub(super) fn day(&mut self, time: Time, out: &mut Vec<u8>) {
        match self.style {
            TimeStyle::Utc => {
                self.clock.date(time, out);
                out.extend_from_slice(b" UTC");
            }
            TimeStyle::Local => put(out, format_args!("{}", self.local(time).strftime("%F %Z"))),
            TimeStyle::Relative | TimeStyle::Delta | TimeStyle::Epoch => {}
        }
    }

    /// The time under a heading with the day.
    pub(super) fn brief(&mut self, time: Time, digits: u8, out: &mut Vec<u8>) {
        match self.style {
            TimeStyle::Utc => self.clock.time_of_day(time, digits, out),
            TimeStyle::Local => {
                put(out, format_args!("{}", self.local(time).strftime("%T")));
                fraction(time, digits, out);
            }
            _ => self.whole(time, digits, out),
        }
    }

    /// The day, the time to the second, and its zone. In UTC for relative styles, as their
    /// reference.
    pub(super) fn moment(&mut self, time: Time, out: &mut Vec<u8>) {
        match self.style {
            TimeStyle::Local => put(out, format_args!("{}", self.local(time).strftime("%F %T %Z"))),
            TimeStyle::Epoch => put(out, format_args!("{}", time.0.div_euclid(NANOSECONDS))),
            TimeStyle::Utc | TimeStyle::Relative | TimeStyle::Delta => {
                self.clock.date(time, out);
                out.push(b' ');
                self.clock.seconds_of_day(time, out);
                out.extend_from_slice(b" UTC");
            }
        }
    }

    /// The time in a list, with this number of digits of a second: without the day and the zone.
    pub fn of_row(&mut self, time: Time, digits: u8) -> String {
        let mut out = Vec::new();
        self.brief(time, digits, &mut out);
        String::from_utf8_lossy(&out).into_owned()
    }

    /// The time; in the delta style, the next one is relative to it.
    pub(super) fn next(&mut self, time: Time, digits: u8, out: &mut Vec<u8>) {
        self.whole(time, digits, out);
        self.seen(time);
    }

    /// The same to the second, unless the style counts seconds, and its suffix.
    pub(super) fn second(&mut self, time: Time, digits: u8) -> (String, String) {
        let mut out = Vec::new();
        let zone = match self.style {
            TimeStyle::Utc => " UTC".to_owned(),
            TimeStyle::Local => format!(" {}", self.local(time).strftime("%Z")),
            TimeStyle::Relative | TimeStyle::Delta | TimeStyle::Epoch => " s".to_owned(),
        };
        match self.style {
            TimeStyle::Utc | TimeStyle::Local => self.second_of_day(time, &mut out),
            _ => self.next(time, digits, &mut out),
        }
        (String::from_utf8_lossy(&out).into_owned(), zone)
    }

    /// The time of day to the second: local, or, in any other style, in UTC.
    pub fn second_of_day(&mut self, time: Time, out: &mut Vec<u8>) {
        match self.style {
            TimeStyle::Local => put(out, format_args!("{}", self.local(time).strftime("%T"))),
            _ => self.clock.seconds_of_day(time, out),
        }
    }

    /// The date and the time of day to the second, unless the style counts seconds.
    pub(super) fn date_and_second(&mut self, time: Time, digits: u8, out: &mut Vec<u8>) {
        match self.style {
            TimeStyle::Local => put(out, format_args!("{}", self.local(time).strftime("%F %T"))),
            TimeStyle::Utc => {
                self.clock.date(time, out);
                out.push(b' ');
                self.clock.seconds_of_day(time, out);
            }
            _ => self.next(time, digits, out),
        }
    }

    /// The time by itself.
    pub(super) fn whole(&mut self, time: Time, digits: u8, out: &mut Vec<u8>) {
        let since = match self.style {
            TimeStyle::Utc => return self.clock.rfc3339(time, digits, out),
            TimeStyle::Local => {
                let local = self.local(time);
                put(out, format_args!("{}", local.strftime("%FT%T")));
                fraction(time, digits, out);
                return put(out, format_args!("{}", local.strftime("%:z")));
            }
            TimeStyle::Relative => time.since(self.first.unwrap_or(time)),
            TimeStyle::Delta => time.since(self.last.unwrap_or(time)),
            TimeStyle::Epoch => time.0,
        };
        if since < 0 {
            out.push(b'-');
        }
        put(out, format_args!("{}", since.unsigned_abs() / NANOSECONDS as u64));
        fraction(Time((since.unsigned_abs() % NANOSECONDS as u64) as i64), digits, out);
    }
}

/// Days since 1970-01-01.
pub(super) fn day(time: Time) -> i64 {
    time.0.div_euclid(NANOSECONDS * SECONDS_PER_DAY)
}

/// The point and the digits after it, truncated.
#[inline]
fn fraction(time: Time, digits: u8, out: &mut Vec<u8>) {
    let nanoseconds = time.0.rem_euclid(NANOSECONDS) as u32;
    out.push(b'.');
    six(out, nanoseconds / 1000);
    if digits > 6 {
        three(out, nanoseconds % 1000);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rfc3339(clock: &mut Clock, time: i64, digits: u8) -> String {
        let mut out = Vec::new();
        clock.rfc3339(Time(time), digits, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    fn by_jiff(time: i64, digits: u8) -> String {
        let time = jiff::Timestamp::from_nanosecond(time.into()).expect("in range");
        // jiff rounds towards zero, which is up before 1970: truncated here.
        let text = format!("{time:.9}");
        let digits = text.len() - 1 - (9 - usize::from(digits));
        format!("{}Z", &text[..digits])
    }

    #[test]
    fn minimum_and_maximum_of_64_bits() {
        let clock = &mut Clock::default();
        assert_eq!(rfc3339(clock, 0, 6), "1970-01-01T00:00:00.000000Z");
        assert_eq!(rfc3339(clock, -1, 9), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(rfc3339(clock, -1, 6), "1969-12-31T23:59:59.999999Z");
        assert_eq!(rfc3339(clock, i64::MIN, 9), "1677-09-21T00:12:43.145224192Z");
        assert_eq!(rfc3339(clock, i64::MAX, 9), "2262-04-11T23:47:16.854775807Z");
        assert_eq!(rfc3339(clock, 951_782_400_000_000_000, 6), "2000-02-29T00:00:00.000000Z");
    }

    #[test]
    fn the_parts_of_a_time() {
        let (clock, mut out) = (&mut Clock::default(), Vec::new());
        clock.date(Time(1_795_168_800_123_456_789), &mut out);
        out.push(b' ');
        clock.time_of_day(Time(1_795_168_800_123_456_789), 6, &mut out);
        assert_eq!(out, b"2026-11-20 10:00:00.123456");
    }

    proptest! {
        #[test]
        fn agrees_with_jiff(times: Vec<i64>, steps: Vec<i32>, nano: bool) {
            let (clock, digits) = (&mut Clock::default(), if nano { 9 } else { 6 });
            for time in times {
                prop_assert_eq!(rfc3339(clock, time, digits), by_jiff(time, digits));
            }
            let mut time = 1_795_168_800_123_456_789;
            for step in steps {
                time += i64::from(step);
                prop_assert_eq!(rfc3339(clock, time, digits), by_jiff(time, digits));
            }
        }
    }
}

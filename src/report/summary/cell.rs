//! One cell of a table, in each format.

use std::cmp::Ordering;

use dissectors::kit::Time;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::super::clock::{Clock, TimeFormatter};
use super::super::flows::string;
use crate::text::{brief_span, escaped, grouped};

/// The value of a row in a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SummaryCell {
    /// A name or an address; `None`: unknown.
    Text(Option<String>),
    /// A count; `None`: unknown.
    Count(Option<u64>),
    /// A count, and the number for which it is unknown.
    Known(u64, u64),
    /// Bytes.
    Bytes(u64),
    /// Nanoseconds, shown as seconds; `None`: no measurements.
    Span(Option<u64>),
    /// A time.
    Time(Option<Time>),
    /// A number per second; `None`: unknown.
    Rate(Option<f64>),
    /// A port.
    Port(u16),
    /// Counts by name.
    Counts(Vec<(String, u64)>),
    /// Names.
    Names(Vec<&'static str>),
    /// A ratio, for people.
    Share(u64, u64),
}

impl SummaryCell {
    /// For people.
    pub(super) fn text(&self, times: &mut ShownTimes) -> String {
        let absent = || "-".to_owned();
        match self {
            SummaryCell::Text(text) => {
                text.as_deref().map_or_else(absent, |text| escaped(text).into_owned())
            }
            SummaryCell::Port(port) => port.to_string(),
            SummaryCell::Count(count) => count.map_or_else(absent, grouped),
            SummaryCell::Known(count, 0) => grouped(*count),
            SummaryCell::Known(count, more) => format!("{}, {} ?", grouped(*count), grouped(*more)),
            SummaryCell::Bytes(0) => absent(),
            SummaryCell::Bytes(count) => format!("{} B", grouped(*count)),
            SummaryCell::Span(span) => span.map_or_else(absent, brief_span),
            SummaryCell::Time(time) => time.map_or_else(absent, |time| times.text(time)),
            SummaryCell::Rate(rate) => rate.map_or_else(absent, rate_in_words),
            SummaryCell::Counts(counts) => {
                let each = |(name, count): &(String, u64)| format!("{name} {}", grouped(*count));
                counts.iter().map(each).collect::<Vec<_>>().join(", ")
            }
            SummaryCell::Names(names) if names.is_empty() => absent(),
            SummaryCell::Names(names) => names.join(", "),
            SummaryCell::Share(_, 0) => absent(),
            // Rounded down, so that 100 % means all.
            SummaryCell::Share(some, all) => {
                let tenths = u128::from(*some) * 1000 / u128::from(*all);
                format!("{}.{} %", tenths / 10, tenths % 10)
            }
        }
    }

    /// For CSV: empty if unknown.
    pub(super) fn csv(&self, digits: u8, stamp: &mut TimeFormatter) -> String {
        match self {
            SummaryCell::Text(text) => text.clone().unwrap_or_default(),
            SummaryCell::Counts(counts) => {
                let each = |(name, count): &(String, u64)| format!("{name}={count}");
                counts.iter().map(each).collect::<Vec<_>>().join(" ")
            }
            SummaryCell::Names(names) => names.join(", "),
            SummaryCell::Time(time) => {
                time.map_or_else(String::new, |it| string(|out| stamp.next(it, digits, out)))
            }
            SummaryCell::Count(None) | SummaryCell::Span(None) | SummaryCell::Rate(None) => {
                String::new()
            }
            cell => serde_json::to_string(&cell.json(digits)).unwrap_or_default(),
        }
    }

    /// For JSON.
    pub(super) fn json(&self, digits: u8) -> JsonCell<'_> {
        JsonCell { cell: self, digits }
    }

    /// The order of two cells: larger counts and durations, earlier times and texts first; unknown
    /// values last.
    pub(super) fn compare(&self, other: &SummaryCell) -> Ordering {
        fn larger_first<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Ordering {
            b.partial_cmp(&a).unwrap_or(Ordering::Equal)
        }
        fn smaller_first<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
            b.is_some().cmp(&a.is_some()).then(a.cmp(&b))
        }
        match (self, other) {
            (SummaryCell::Text(a), SummaryCell::Text(b)) => smaller_first(a.as_ref(), b.as_ref()),
            (SummaryCell::Time(a), SummaryCell::Time(b)) => smaller_first(a.as_ref(), b.as_ref()),
            (SummaryCell::Count(a), SummaryCell::Count(b))
            | (SummaryCell::Span(a), SummaryCell::Span(b)) => larger_first(*a, *b),
            (SummaryCell::Port(a), SummaryCell::Port(b)) => a.cmp(b),
            (SummaryCell::Rate(a), SummaryCell::Rate(b)) => larger_first(*a, *b),
            (SummaryCell::Bytes(a), SummaryCell::Bytes(b))
            | (SummaryCell::Known(a, _), SummaryCell::Known(b, _)) => b.cmp(a),
            _ => Ordering::Equal,
        }
    }

    /// Whether it is right-aligned.
    pub(super) fn is_number(&self) -> bool {
        !matches!(
            self,
            SummaryCell::Text(_)
                | SummaryCell::Counts(_)
                | SummaryCell::Names(_)
                | SummaryCell::Time(_)
        )
    }
}

/// A cell as JSON.
pub(super) struct JsonCell<'c> {
    cell: &'c SummaryCell,
    digits: u8,
}

impl Serialize for JsonCell<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.cell {
            SummaryCell::Text(text) => text.serialize(to),
            SummaryCell::Count(count) => count.serialize(to),
            SummaryCell::Bytes(count) | SummaryCell::Known(count, _) => count.serialize(to),
            SummaryCell::Span(span) => span.map(|span| span as f64 / 1e9).serialize(to),
            SummaryCell::Time(time) => time.map(|time| rfc3339(time, self.digits)).serialize(to),
            // More digits would exceed the precision of a rate.
            SummaryCell::Rate(rate) => rate.map(|it| (it * 1000.0).round() / 1000.0).serialize(to),
            SummaryCell::Port(port) => port.serialize(to),
            SummaryCell::Counts(counts) => {
                let mut map = to.serialize_map(Some(counts.len()))?;
                counts.iter().try_for_each(|(name, count)| map.serialize_entry(name, count))?;
                map.end()
            }
            SummaryCell::Names(names) => names.serialize(to),
            SummaryCell::Share(some, all) => {
                (*all > 0).then(|| *some as f64 / *all as f64).serialize(to)
            }
        }
    }
}

fn rfc3339(time: Time, digits: u8) -> String {
    string(|out| Clock::default().rfc3339(time, digits, out))
}

/// A rate in the first unit in which it is at least 1.
fn rate_in_words(per_second: f64) -> String {
    let units = [("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    // Rounded first: what would be shown as less than 1 is shown in the next unit.
    let shown = units.map(|(unit, seconds)| (unit, (per_second * seconds * 10.0).round() / 10.0));
    let [.., last] = shown;
    let (unit, rate) = shown.into_iter().find(|(_, rate)| *rate >= 1.0).unwrap_or(last);
    match rate {
        100.0.. => format!("{}/{unit}", grouped(rate.round() as u64)),
        _ => format!("{rate:.1}/{unit}"),
    }
}

/// How times are shown to people.
pub(super) struct ShownTimes {
    pub(super) stamp: TimeFormatter,
    pub(super) digits: u8,
    /// With the date, because the capture spans several days.
    pub(super) has_date: bool,
}

impl ShownTimes {
    fn text(&mut self, time: Time) -> String {
        match self.has_date {
            true => string(|out| self.stamp.date_and_second(time, self.digits, out)),
            false => self.stamp.second(time, self.digits).0,
        }
    }
}

/// A number of bytes in few digits.
pub(super) fn bytes(count: u64) -> String {
    let of = |unit: u64| count as f64 / unit as f64;
    match count {
        0..1000 => format!("{count} B"),
        1000..1_000_000 => format!("{:.1} kB", of(1000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", of(1_000_000)),
        _ => format!("{:.1} GB", of(1_000_000_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::TimeStyle;
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([12, 1500, 3_200_000].map(bytes), ["12 B", "1.5 kB", "3.2 MB"]);
        let mut times = ShownTimes { stamp: TimeFormatter::default(), digits: 6, has_date: false };
        let shown = [(9999, 10_000), (3, 3), (0, 0)];
        let shown = shown.map(|(some, all)| SummaryCell::Share(some, all).text(&mut times));
        assert_eq!(shown, ["99.9 %", "100.0 %", "-"], "not all is not 100 %");
        let rates = [1510.0, 1.0, 0.997, 0.2, 1.0 / 60.0, 1.0 / 300.0, 1.0 / 7200.0, 1e-6, 0.0];
        let expected = [
            "1,510/s", "1.0/s", "1.0/s", "12.0/min", "1.0/min", "12.0/h", "12.0/d", "0.1/d",
            "0.0/d",
        ];
        assert_eq!(rates.map(rate_in_words), expected);
    }

    #[test]
    fn times_have_a_date_where_they_need_one() {
        let time = Time(1_795_168_800_123_456_789);
        let shown = |style, has_date| {
            let stamp = TimeFormatter::new(style).since(Some(Time(time.0 - 90_000_000_000)));
            ShownTimes { stamp, digits: 6, has_date }.text(time)
        };
        assert_eq!(shown(TimeStyle::Utc, false), "10:00:00");
        assert_eq!(shown(TimeStyle::Utc, true), "2026-11-20 10:00:00");
        assert_eq!(shown(TimeStyle::Relative, true), shown(TimeStyle::Relative, false));
    }
}

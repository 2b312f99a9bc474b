//! One cell of a table, in each format.

use std::cmp::Ordering;

use dissectors::kit::Time;
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::super::clock::{Clock, Stamp};
use super::super::flows::{self, string};
use crate::text::{escaped, grouped, shortened};

/// Characters of a text in a table for people.
const WIDE: usize = 48;

/// What a row has in a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    /// A name, an address: `None`, not known.
    Text(Option<String>),
    /// A count: `None`, not known.
    Count(Option<u64>),
    /// Bytes.
    Bytes(u64),
    /// Nanoseconds, shown as seconds: `None`, none were measured.
    Span(Option<u64>),
    /// A time.
    Time(Option<Time>),
    /// A number that is no count.
    Number(Option<f64>),
    /// A port.
    Port(u16),
    /// Counts by name.
    Counts(Vec<(String, u64)>),
    /// Names.
    Names(Vec<&'static str>),
    /// So many of so many: for people.
    Share(u64, u64),
}

impl Cell {
    /// For people.
    pub(super) fn text(&self) -> String {
        let absent = || "-".to_owned();
        match self {
            Cell::Text(text) => text
                .as_deref()
                .map_or_else(absent, |text| shortened(&escaped(text), WIDE).into_owned()),
            Cell::Port(port) => port.to_string(),
            Cell::Count(count) => count.map_or_else(absent, grouped),
            Cell::Bytes(0) => absent(),
            Cell::Bytes(count) => format!("{} B", grouped(*count)),
            Cell::Span(span) => span.map_or_else(absent, flows::span),
            Cell::Time(time) => time.map_or_else(absent, |time| {
                string(|out| Clock::default().seconds_of_day(time, out))
            }),
            Cell::Number(number) => number.map_or_else(absent, |it| format!("{it:.1}")),
            Cell::Counts(counts) => {
                let each = |(name, count): &(String, u64)| format!("{name} {}", grouped(*count));
                counts.iter().map(each).collect::<Vec<_>>().join(", ")
            }
            Cell::Names(names) if names.is_empty() => absent(),
            Cell::Names(names) => names.join(", "),
            Cell::Share(_, 0) => absent(),
            // Rounded down: 100 % means all.
            Cell::Share(some, all) => {
                let tenths = u128::from(*some) * 1000 / u128::from(*all);
                format!("{}.{} %", tenths / 10, tenths % 10)
            }
        }
    }

    /// For CSV: nothing where nothing is known.
    pub(super) fn csv(&self, digits: u8, stamp: &mut Stamp) -> String {
        match self {
            Cell::Text(text) => text.clone().unwrap_or_default(),
            Cell::Counts(counts) => {
                let each = |(name, count): &(String, u64)| format!("{name}={count}");
                counts.iter().map(each).collect::<Vec<_>>().join(" ")
            }
            Cell::Names(names) => names.join(", "),
            Cell::Time(time) => {
                time.map_or_else(String::new, |it| string(|out| stamp.next(it, digits, out)))
            }
            Cell::Count(None) | Cell::Span(None) | Cell::Number(None) => String::new(),
            cell => serde_json::to_string(&cell.json(digits)).unwrap_or_default(),
        }
    }

    /// For JSON.
    pub(super) fn json(&self, digits: u8) -> Json<'_> {
        Json { cell: self, digits }
    }

    /// Which of two comes first: larger counts and spans, earlier times and texts; what is not known is
    /// last.
    pub(super) fn compare(&self, other: &Cell) -> Ordering {
        fn larger_first<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Ordering {
            b.partial_cmp(&a).unwrap_or(Ordering::Equal)
        }
        fn smaller_first<T: Ord>(a: Option<T>, b: Option<T>) -> Ordering {
            b.is_some().cmp(&a.is_some()).then(a.cmp(&b))
        }
        match (self, other) {
            (Cell::Text(a), Cell::Text(b)) => smaller_first(a.as_ref(), b.as_ref()),
            (Cell::Time(a), Cell::Time(b)) => smaller_first(a.as_ref(), b.as_ref()),
            (Cell::Count(a), Cell::Count(b)) | (Cell::Span(a), Cell::Span(b)) => {
                larger_first(*a, *b)
            }
            (Cell::Port(a), Cell::Port(b)) => a.cmp(b),
            (Cell::Number(a), Cell::Number(b)) => larger_first(*a, *b),
            (Cell::Bytes(a), Cell::Bytes(b)) => b.cmp(a),
            _ => Ordering::Equal,
        }
    }

    /// Whether it is to the right of its column.
    pub(super) fn is_number(&self) -> bool {
        !matches!(self, Cell::Text(_) | Cell::Counts(_) | Cell::Names(_) | Cell::Time(_))
    }
}

/// A cell as JSON.
pub(super) struct Json<'c> {
    cell: &'c Cell,
    digits: u8,
}

impl Serialize for Json<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.cell {
            Cell::Text(text) => text.serialize(to),
            Cell::Count(count) => count.serialize(to),
            Cell::Bytes(count) => count.serialize(to),
            Cell::Span(span) => span.map(|span| span as f64 / 1e9).serialize(to),
            Cell::Time(time) => time.map(|time| rfc3339(time, self.digits)).serialize(to),
            // More digits would promise what a rate does not keep.
            Cell::Number(number) => number.map(|it| (it * 1000.0).round() / 1000.0).serialize(to),
            Cell::Port(port) => port.serialize(to),
            Cell::Counts(counts) => {
                let mut map = to.serialize_map(Some(counts.len()))?;
                counts.iter().try_for_each(|(name, count)| map.serialize_entry(name, count))?;
                map.end()
            }
            Cell::Names(names) => names.serialize(to),
            Cell::Share(some, all) => (*all > 0).then(|| *some as f64 / *all as f64).serialize(to),
        }
    }
}

fn rfc3339(time: Time, digits: u8) -> String {
    string(|out| Clock::default().rfc3339(time, digits, out))
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
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!([12, 1500, 3_200_000].map(bytes), ["12 B", "1.5 kB", "3.2 MB"]);
        assert_eq!(Cell::Share(9999, 10_000).text(), "99.9 %", "not all is not 100 %");
        assert_eq!(Cell::Share(3, 3).text(), "100.0 %");
        assert_eq!(Cell::Share(0, 0).text(), "-");
    }
}

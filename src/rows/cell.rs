//! The value of a row in a column, and the kinds of values.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use dissectors::kit::{Severity, Time, Verdict};

use crate::check::weight;
use crate::flows::ResponseTimes;

/// The kind of a column's values. Integers are signed, because several engines have no others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// An object of JSON, as text.
    Json,
    /// Numbers by name: an object of JSON, as text.
    Counts,
    /// A whole number that identifies something.
    Integer,
    /// An amount.
    Count,
    /// An amount of bytes.
    Bytes,
    /// A duration.
    Seconds,
    /// A number per second.
    Rate,
    /// Nanoseconds since 1970, in UTC.
    Time,
    /// Whole numbers.
    Integers,
    /// Texts.
    Texts,
}

impl Kind {
    /// The name of its type.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Json | Kind::Counts => "JSON",
            Kind::Integer | Kind::Count | Kind::Bytes => "integer",
            Kind::Seconds | Kind::Rate => "number",
            Kind::Time => "time",
            Kind::Integers => "list of integers",
            Kind::Texts => "list of texts",
        }
    }

    /// Whether it is a number.
    pub fn is_number(self) -> bool {
        matches!(self.name(), "integer" | "number")
    }

    /// Whether larger values come first.
    pub(super) fn is_amount(self) -> bool {
        matches!(self, Kind::Count | Kind::Bytes | Kind::Seconds | Kind::Rate)
    }
}

/// The value of a row in a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'r> {
    /// None.
    Absent,
    /// Text.
    Text(Cow<'r, str>),
    /// An object of JSON.
    Json(&'r str),
    /// An address with its port.
    End(SocketAddr),
    /// An address.
    Address(IpAddr),
    /// A whole number.
    Integer(i64),
    /// Counts of both ends of a flow; scripts see their sum.
    Sides([u64; 2]),
    /// A part and the whole; only for people.
    Portion(u64, u64),
    /// Nanoseconds, written as seconds.
    Seconds(i64),
    /// A number per second.
    Rate(f64),
    /// A time.
    Time(Time),
    /// Whole numbers.
    Integers(&'r [i64]),
    /// Texts.
    Texts(Cow<'r, [Arc<str>]>),
    /// Numbers by name.
    Counts(Vec<(String, u64)>),
    /// The severity of the gravest of several findings, and their number; scripts see the severity.
    Severity(Severity, Verdict, u64),
}

impl Cell<'_> {
    /// The order of two values of a column of this kind: larger amounts and graver findings first, earlier times,
    /// smaller numbers and texts first, or reversed; rows without a value are last.
    pub fn compare(&self, other: &Cell<'_>, kind: Kind, is_reversed: bool) -> Ordering {
        let ascending = match (self, other) {
            (Cell::Absent, Cell::Absent) => return Ordering::Equal,
            (Cell::Absent, _) => return Ordering::Greater,
            (_, Cell::Absent) => return Ordering::Less,
            (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
            (Cell::End(a), Cell::End(b)) => a.cmp(b),
            (Cell::Address(a), Cell::Address(b)) => a.cmp(b),
            (Cell::Integer(a), Cell::Integer(b)) | (Cell::Seconds(a), Cell::Seconds(b)) => a.cmp(b),
            (Cell::Sides(a), Cell::Sides(b)) => sum(*a).cmp(&sum(*b)),
            (Cell::Rate(a), Cell::Rate(b)) => a.total_cmp(b),
            (Cell::Time(a), Cell::Time(b)) => a.cmp(b),
            (Cell::Severity(a, as_a, times), Cell::Severity(b, as_b, others)) => {
                (weight(*b, *as_b), others).cmp(&(weight(*a, *as_a), times))
            }
            _ => Ordering::Equal,
        };
        if kind.is_amount() == is_reversed { ascending } else { ascending.reverse() }
    }
}

/// The sum of two counts.
pub(crate) fn sum([a, b]: [u64; 2]) -> u64 {
    a.saturating_add(b)
}

/// The median, the 95th percentile, or the maximum of response times.
pub(super) fn nth(times: &ResponseTimes, nth: usize) -> Cell<'static> {
    of_three(times.of_half_most_all(), nth)
}

/// The same of known ones.
pub(super) fn of_three(times: Option<[u64; 3]>, nth: usize) -> Cell<'static> {
    let time = times.and_then(|times| times.get(nth).copied());
    time.map(|time| Cell::Seconds(i64::try_from(time).unwrap_or(i64::MAX))).into()
}

/// A name, if it is known: then it is not empty.
pub(super) fn named(name: &str) -> Option<&str> {
    Some(name).filter(|name| !name.is_empty())
}

impl<'r> From<&'r str> for Cell<'r> {
    fn from(text: &'r str) -> Cell<'r> {
        Cell::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Cell<'_> {
    fn from(text: String) -> Self {
        Cell::Text(Cow::Owned(text))
    }
}

impl<'r, T: Into<Cell<'r>>> From<Option<T>> for Cell<'r> {
    fn from(value: Option<T>) -> Cell<'r> {
        value.map_or(Cell::Absent, Into::into)
    }
}

macro_rules! cells {
    ($($from:ty, $value:ident => $cell:expr;)+) => {
        $(impl From<$from> for Cell<'_> {
            fn from($value: $from) -> Self {
                $cell
            }
        })+
    };
}

cells! {
    u16, number => Cell::Integer(number.into());
    u32, number => Cell::Integer(number.into());
    u64, number => Cell::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    i64, number => Cell::Integer(number);
    usize, number => Cell::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    SocketAddr, end => Cell::End(end);
    IpAddr, address => Cell::Address(address);
    Time, time => Cell::Time(time);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_descending_and_other_values_ascending() {
        let order = |a: Cell<'_>, b: Cell<'_>, kind| {
            [false, true].map(|is_reversed| a.compare(&b, kind, is_reversed))
        };
        let (first, last) = ([Ordering::Less, Ordering::Greater], [Ordering::Less; 2]);
        assert_eq!(order(9_u64.into(), 5_u64.into(), Kind::Count), first);
        assert_eq!(order(5_u64.into(), 9_u64.into(), Kind::Integer), first);
        assert_eq!(order("a".into(), "b".into(), Kind::Text), first);
        assert_eq!(order(Cell::Rate(0.5), Cell::Rate(0.25), Kind::Rate), first);
        assert_eq!(order(Cell::Sides([1, 8]), Cell::Sides([7, 1]), Kind::Count), first);
        assert_eq!(order(Time(1).into(), Time(2).into(), Kind::Time), first);
        let found = |severity, verdict, times| Cell::Severity(severity, verdict, times);
        let (unsure, warning) = (Verdict::Inconclusive, Severity::Warning);
        let (error, count) = (found(Severity::Error, unsure, 9), found(warning, Verdict::Fail, 1));
        assert_eq!(order(count.clone(), error, Kind::Text), first);
        assert_eq!(order(found(warning, Verdict::Fail, 2), count, Kind::Text), first);
        assert_eq!(order(7_u64.into(), Cell::Absent, Kind::Count), last, "unknown ones are last");
    }
}

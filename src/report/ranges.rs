//! Ranges of numbers in the languages of firewalls.

use std::ops::RangeInclusive;

/// The operators of a language.
pub(super) struct Comparison {
    pub(super) equals: &'static str,
    pub(super) and: &'static str,
}

/// The first and the last value, each so much greater.
fn bounds<T: Copy + Into<u32>>(range: &RangeInclusive<T>, plus: u32) -> [u32; 2] {
    [*range.start(), *range.end()].map(|it| it.into() + plus)
}

/// A range of values, each so much greater: one number if it is one.
pub(super) fn spelled<T: Copy + Into<u32>>(
    range: &RangeInclusive<T>,
    plus: u32,
    between: &str,
) -> String {
    let [from, to] = bounds(range, plus);
    if from == to { from.to_string() } else { format!("{from}{between}{to}") }
}

/// That a number in the packet is in this range, of values that are so much less.
pub(super) fn within<T: Copy + Into<u32>>(
    comparison: &Comparison,
    number: &str,
    range: &RangeInclusive<T>,
    plus: u32,
) -> String {
    let ([from, to], Comparison { equals, and }) = (bounds(range, plus), comparison);
    match from == to {
        true => format!("{number} {equals} {from}"),
        false => format!("{number} >= {from} {and} {number} <= {to}"),
    }
}

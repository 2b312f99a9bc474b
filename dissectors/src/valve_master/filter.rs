//! The filter of a query: the specification's table of conditions, and how conditions are combined.

use crate::kit::{Pair, Pairs, Reader, Sink, Span};

use super::conditions::{TABLE, XASH3D, find};
use super::endpoint::{self, Endpoint, count};
use super::fields as f;
use super::{rules, selects};

/// The properties of a filter that the conversation and the other fields of the query need.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FilterSummary {
    /// It has a key that only Xash3D's clients send.
    pub(super) xash3d: bool,
    /// The key that Xash3D's masters repeat in their reply.
    pub(super) key: Option<u32>,
    /// What the addresses of the reply must be.
    pub(super) addresses: WantedAddresses,
    /// A server's description of itself may contradict it.
    pub(super) is_comparable: bool,
    /// It is valid.
    pub(super) is_valid: bool,
}

/// What the conditions about addresses ask for, outside of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WantedAddresses {
    /// One server of each address.
    pub(super) one_each: bool,
    /// This address; and this port, unless it is 0.
    pub(super) only: Option<Endpoint>,
}

/// Limit: nested conditions of a master query | {} | deeper ones are shown side by side
const DEEPEST: usize = 16;

/// The first fault in a filter's grammar.
struct Fault {
    at: Span,
    what: String,
}

/// Reads the filter in the next `length` bytes, and the zero after it, if any. `lost`: the recording lost the end of the
/// query.
pub(super) fn read<S: Sink>(
    r: &mut Reader<'_, S>,
    length: usize,
    terminated: bool,
    lost: bool,
) -> FilterSummary {
    let at = Span::new(r.at(), r.at() + length);
    let mut read = FilterSummary::default();
    r.open_text(&f::FILTER, length);
    // What is cut off after them changes nothing about whole conditions.
    r.sink.whole_elements(lost);
    let fault = conditions(r, length, terminated, &mut read);
    r.sink.whole_elements(false);
    if terminated {
        r.leaf(&f::TERMINATOR, 1, 0);
    }
    r.close();
    read.is_valid = fault.is_none();
    if lost && !terminated {
        rules::filter_lost(at, r.sink);
    } else if terminated || read.is_valid {
        let at = fault.as_ref().map_or(at, |fault| fault.at);
        rules::filter_grammar(fault.map(|fault| fault.what), at, r.sink);
    }
    read
}

fn conditions<S: Sink>(
    r: &mut Reader<'_, S>,
    length: usize,
    terminated: bool,
    read: &mut FilterSummary,
) -> Option<Fault> {
    let text = r.peek().get(..length).unwrap_or_default();
    let end = Span::new(r.at(), r.at() + text.len()).end;
    let mut groups = Groups::default();
    let mut fault = None;
    for pair in Pairs::new(text, r.at()) {
        let taken = taken(&pair);
        if groups.depth == 0 {
            match (pair.key, pair.text()) {
                (b"collapse_addr_hash", b"1") => read.addresses.one_each = true,
                (b"gameaddr", text) => read.addresses.only = address_of(text),
                _ => {}
            }
        }
        read.is_comparable |= selects::is_comparable(&pair);
        if taken.is_some() {
            groups.counting.get_or_insert_with(|| FilterCount::of(text));
        }
        if groups.opens(taken).is_some() {
            r.open(if pair.key == b"nor" { &f::NOR } else { &f::NAND });
        }
        r.pair(&f::CONDITION_FIELDS, &pair);
        for _ in 0..groups.take(taken, pair.at()) {
            r.close();
        }

        if let Some(wrong) = wrong(&pair, taken) {
            fault.get_or_insert_with(|| {
                let what = format!("{wrong}: {}", shown(&pair));
                Fault { at: pair.at(), what }
            });
            continue;
        }
        let condition = find(TABLE, pair.key);
        let xash3d = condition.is_none() && find(XASH3D, pair.key).is_some();
        read.xash3d |= xash3d;
        if xash3d && pair.key == b"key" {
            read.key = hexadecimal(pair.text());
        }
        let cut = !terminated && pair.at().end == end;
        if !cut {
            rules::filter_key(condition.is_some(), xash3d, &pair, r.sink);
            if let Some(condition) = condition {
                rules::filter_value(condition.values, &pair, r.sink);
            }
        }
    }
    for _ in 0..groups.depth {
        r.close();
    }
    fault.or(groups.unfilled())
}

/// The number of conditions in the group that a pair opens, if it is a number.
fn taken(pair: &Pair<'_>) -> Option<Option<u32>> {
    matches!(pair.key, b"nor" | b"nand").then(|| count(pair.text()))
}

/// The fault of a pair. `taken`: the number of conditions of a group, if it is a number.
fn wrong(pair: &Pair<'_>, taken: Option<Option<u32>>) -> Option<&'static str> {
    if !pair.opened {
        Some("it does not begin with a backslash")
    } else if pair.key.is_empty() {
        Some("a key is empty")
    } else if pair.value.is_none() {
        Some("a key has no value")
    } else if taken == Some(None) {
        Some("a group does not say how many conditions it takes")
    } else {
        None
    }
}

/// The text of the pair in the filter.
fn shown(pair: &Pair<'_>) -> String {
    let before = if pair.opened { "\\" } else { "" };
    let value = pair.value.map(|value| format!("\\{}", value.escape_ascii())).unwrap_or_default();
    format!("{before}{}{value}", pair.key.escape_ascii())
}

/// An address with a port, or without one.
fn address_of(text: &[u8]) -> Option<Endpoint> {
    let alone = || endpoint::address(text).map(|[a, b, c, d]| [a, b, c, d, 0, 0]);
    endpoint::parse(text).or_else(alone)
}

fn hexadecimal(text: &[u8]) -> Option<u32> {
    let text = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    u32::from_str_radix(text, 16).ok()
}

/// How a nested group is counted in the group around it. The specification does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilterCount {
    /// As one condition.
    One,
    /// As itself and all its conditions, as Valve's own clients count: "the entire length".
    Whole,
}

impl FilterCount {
    /// The way of counting in which all groups are complete: the first, unless only the second
    /// works.
    fn of(text: &[u8]) -> FilterCount {
        let fits = |counting| {
            let mut groups = Groups { counting: Some(counting), ..Groups::default() };
            for pair in Pairs::new(text, 0) {
                groups.take(taken(&pair), pair.at());
            }
            groups.depth == 0 && !groups.crossed
        };
        if !fits(FilterCount::One) && fits(FilterCount::Whole) {
            FilterCount::Whole
        } else {
            FilterCount::One
        }
    }
}

/// A group whose conditions have not all come.
#[derive(Clone, Copy, Default)]
struct OpenGroup {
    /// The number of its conditions.
    taken: u32,
    /// The number of those that have not come.
    left: u32,
    /// The pair that opened it.
    at: Span,
}

/// The open groups.
#[derive(Default)]
struct Groups {
    /// DecodeContext from the first group on.
    counting: Option<FilterCount>,
    open: [OpenGroup; DEEPEST],
    depth: usize,
    /// A group would end before another one inside it.
    crossed: bool,
}

impl Groups {
    /// The number of conditions of the group that a pair opens, if it opens one.
    fn opens(&self, taken: Option<Option<u32>>) -> Option<u32> {
        taken.flatten().filter(|_| self.depth < DEEPEST)
    }

    /// Adds a pair. Returns how many groups end with it.
    fn take(&mut self, taken: Option<Option<u32>>, at: Span) -> usize {
        let opens = self.opens(taken);
        if opens.is_none() || self.counting == Some(FilterCount::Whole) {
            self.count();
        }
        if let (Some(taken), Some(group)) = (opens, self.open.get_mut(self.depth)) {
            *group = OpenGroup { taken, left: taken, at };
            self.depth += 1;
        }
        self.filled()
    }

    /// Counts a condition in the innermost group, or in all.
    fn count(&mut self) {
        let innermost = self.depth.saturating_sub(1);
        let first = if self.counting == Some(FilterCount::Whole) { 0 } else { innermost };
        for group in self.open.get_mut(first..self.depth).unwrap_or_default() {
            group.left = group.left.saturating_sub(1);
        }
    }

    /// The number of complete groups that end here. Each may complete the group around it.
    fn filled(&mut self) -> usize {
        let before = self.depth;
        while self.innermost().is_some_and(|group| group.left == 0) {
            self.depth -= 1;
            if self.counting == Some(FilterCount::One) {
                self.count();
            }
        }
        let open = self.open.get(..self.depth).unwrap_or_default();
        self.crossed |= open.iter().any(|group| group.left == 0);
        before - self.depth
    }

    fn innermost(&self) -> Option<&OpenGroup> {
        self.open.get(self.depth.checked_sub(1)?)
    }

    /// The innermost incomplete group at the end of the filter.
    fn unfilled(&self) -> Option<Fault> {
        let &OpenGroup { taken, left, at } = self.innermost()?;
        let found = taken.saturating_sub(left);
        let s = if taken == 1 { "" } else { "s" };
        let what = format!("a group takes {taken} condition{s}, and has {found}");
        Some(Fault { at, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::valve_master::conditions::meaning;

    #[test]
    fn conditions_have_the_meaning_in_the_table() {
        let meaning = |key: &str, value: &str| meaning(key.as_bytes(), value.as_bytes());
        assert_eq!(meaning("empty", "1").unwrap(), "servers that are not empty");
        assert_eq!(meaning("full", "1").unwrap(), "servers that are not full");
        assert_eq!(meaning("noplayers", "1").unwrap(), "servers that are empty");
        assert_eq!(meaning("napp", "500").unwrap(), "servers that are not running game 500");
        assert_eq!(meaning("gameaddr", "10.0.0.2").unwrap(), "servers on the address 10.0.0.2");
        assert_eq!(meaning("empty", "0"), None);
        assert_eq!(meaning("emtpy", "1"), None);
    }

    #[test]
    fn every_row_of_the_specification_is_there() {
        assert_eq!(TABLE.len(), 22);
        for (at, condition) in TABLE.iter().enumerate() {
            assert!(TABLE[..at].iter().all(|other| other.key != condition.key));
        }
    }
}

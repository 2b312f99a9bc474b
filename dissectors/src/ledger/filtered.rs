//! Lists that were requested with a filter, and what listed servers say of themselves soon after.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::net::SocketAddr;

use super::{Basis, CrossFlowBreach, Detail, Ledger, Listed, MINUTE, listed};
use crate::Id;
use crate::kit::{Evidence, KeyLookup, ListFilter, Map, Masters, Pair, Pairs, Role, Rule};

/// Bytes of filters that count as one entry.
const ENTRY: usize = 32;

/// So many servers of removed lists may be left.
const TIDIED: usize = 1 << 10;

/// Maximum number of bytes of a server's value that are shown.
const SHOWN: usize = 64;

/// The filtered lists of the last minute.
#[derive(Clone, Default)]
pub(super) struct FilteredLists {
    lists: VecDeque<FilteredList>,
    /// The number of the first of them.
    first: u64,
    /// The number of the latest list of each server that has said nothing since.
    servers: Map<u64, u64>,
    /// The number of servers when those of removed lists were last removed, too.
    tidied: usize,
    /// The size of all filters.
    bytes: usize,
}

/// A list that was requested with a filter.
#[derive(Clone)]
struct FilteredList {
    rule: &'static Rule,
    selects: ListFilter,
    /// The values of [`Masters::narrowed`]: the filter, and what is as in a list of all servers.
    asked: Vec<Vec<u8>>,
    basis: Basis,
    /// A server that it has is known to be one that was asked for, or not to be one.
    is_compared: bool,
    /// The first server that the filter excludes, and what it says.
    excluded: Option<String>,
    /// The number of further ones.
    others: usize,
}

impl FilteredList {
    fn filter(&self) -> &[u8] {
        self.asked.first().map_or(&[], Vec::as_slice)
    }

    /// Whether the filter includes a server that describes itself so.
    fn includes(&self, value_of: &KeyLookup<'_>) -> Option<bool> {
        (self.selects.selects)(&self.asked, value_of)
    }

    /// The values because of which the filter excludes a server: those that are compared with the first
    /// condition that it does not meet.
    fn contradiction(&self, description: &Description<'_>) -> String {
        let looked_up = RefCell::new(Vec::new());
        let value_of = |key: &str| {
            let pair = description.pair(key);
            looked_up.borrow_mut().extend(pair);
            pair.map(|pair| pair.text())
        };
        let (mut asked, mut rest) = (self.asked.clone(), self.filter());
        while let Some(first) = (self.selects.first_condition)(rest) {
            if let Some(filter) = asked.first_mut() {
                *filter = first.to_vec();
            }
            looked_up.borrow_mut().clear();
            if (self.selects.selects)(&asked, &value_of) == Some(false) {
                break;
            }
            rest = rest.get(first.len()..).unwrap_or_default();
        }
        shown(looked_up.into_inner().into_iter())
    }
}

/// What a server says of itself. It has few keys, and a filter may ask for them thousands of times.
struct Description<'a>(Vec<Pair<'a>>);

impl<'a> Description<'a> {
    fn of(text: &'a [u8]) -> Description<'a> {
        Description(Pairs::new(text, 0).collect())
    }

    fn pair(&self, key: &str) -> Option<Pair<'a>> {
        self.0.iter().find(|pair| pair.key == key.as_bytes()).copied()
    }
}

/// Keys and values, for people.
fn shown<'a>(pairs: impl Iterator<Item = Pair<'a>>) -> String {
    let each = pairs.map(|pair| {
        let value = pair.text().get(..SHOWN).unwrap_or(pair.text());
        format!("\\{}\\{}", pair.key.escape_ascii(), value.escape_ascii())
    });
    each.collect()
}

/// The masters of the protocol that has this rule, and how a list of them is narrowed.
fn masters(rule: &Rule) -> Option<(&'static Masters, ListFilter)> {
    let masters = Id::of_rule(rule)?.info().masters?;
    Some((masters, masters.selects?))
}

impl FilteredLists {
    /// The number of entries that its memory stands for.
    pub(super) fn entries(&self) -> usize {
        self.lists.len() + self.servers.len() + self.bytes / ENTRY
    }

    /// Removes the oldest list.
    fn pop(&mut self) -> Option<FilteredList> {
        let list = self.lists.pop_front()?;
        self.first += 1;
        self.bytes -= list.filter().len();
        // In time that does not depend on the number of lists.
        if self.lists.is_empty() || self.servers.len() > 2 * self.tidied + TIDIED {
            self.servers.retain(|_, number| *number >= self.first);
            self.tidied = self.servers.len();
        }
        Some(list)
    }

    /// The latest list with a server that has said nothing since.
    fn of(&mut self, server: SocketAddr) -> Option<&mut FilteredList> {
        let number = *self.servers.get(&u64::from_ne_bytes(listed(server)))?;
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.lists.get_mut(at)
    }
}

impl Ledger {
    /// A client receives a list that it requested with this filter.
    pub(super) fn list_filtered(
        &mut self,
        servers: &[Listed],
        rule: &'static Rule,
        filter: &[u8],
        basis: Basis,
    ) {
        self.settle_filtered(Some(&basis));
        let Some((masters, selects)) = masters(rule) else { return };
        if servers.is_empty() || !self.has_room(self.filtered.entries(), |_| false) {
            return;
        }
        let rest = masters.narrowed.iter().skip(1).map(|(_, all)| all.as_bytes().to_vec());
        let asked = std::iter::once(filter.to_vec()).chain(rest).collect();
        let (is_compared, excluded, others) = (false, None, 0);
        let list = FilteredList { rule, selects, asked, basis, is_compared, excluded, others };
        let number = self.filtered.first + self.filtered.lists.len() as u64;
        self.filtered.bytes += filter.len();
        self.filtered.lists.push_back(list);
        for server in servers {
            let server = u64::from_ne_bytes(*server);
            let is_known = |it: &Ledger| it.filtered.servers.contains_key(&server);
            if !self.has_room(self.filtered.entries(), is_known) {
                return;
            }
            self.filtered.servers.insert(server, number);
        }
    }

    /// A server describes itself: its first description after a list counts.
    pub(super) fn described(&mut self, text: &[u8], basis: &Basis) {
        let (server, time) = (basis.seen.from, basis.seen.mark.time);
        let Some(list) = self.filtered.of(server) else { return };
        let waited = time.since(list.basis.seen.mark.time);
        if waited > MINUTE {
            return;
        }
        let description = Description::of(text);
        let value_of = |key: &str| description.pair(key).map(|pair| pair.text());
        let Some(is_included) = list.includes(&value_of) else { return };
        list.is_compared = true;
        if !is_included && list.excluded.is_none() {
            let waited = waited as f64 / 1e9;
            let filter = shown(Pairs::new(list.filter(), 0));
            let says = list.contradiction(&description);
            list.excluded = Some(format!(
                "{server} was listed for {filter}, and says {says} {waited:.1} s later"
            ));
        } else if !is_included {
            list.others += 1;
        }
        self.filtered.servers.remove(&u64::from_ne_bytes(listed(server)));
    }

    /// Reports the lists that nothing can contradict any more at the time of this list, or all.
    pub(super) fn settle_filtered(&mut self, now: Option<&Basis>) {
        let is_over = |list: &FilteredList| {
            now.is_none_or(|now| now.seen.mark.time.since(list.basis.seen.mark.time) > MINUTE)
        };
        while self.filtered.lists.front().is_some_and(is_over) {
            let Some(FilteredList { rule, basis, is_compared, excluded, others, .. }) =
                self.filtered.pop()
            else {
                return;
            };
            let Some(mut detail) = excluded else {
                if is_compared {
                    self.rule(rule, true, basis, Role::Master, String::new);
                }
                continue;
            };
            if others > 0 {
                detail += &format!(", and {others} more");
            }
            if self.has_room(self.breaches.len(), |_| false) {
                let (evidence, detail) = (Evidence::default(), Detail::Text(detail));
                let breach = CrossFlowBreach::of(rule, evidence, basis, Role::Master, detail);
                self.breaches.push(CrossFlowBreach { is_note: true, ..breach });
            }
        }
    }
}

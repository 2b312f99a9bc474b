//! Ignored rules, found by rule and host: a configuration may have tens of thousands.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use dissectors::kit::{Code, Rule};

use crate::filter::{Network, Networks};

/// An ignored rule.
#[derive(Clone, Copy, Debug)]
pub struct Ignore {
    /// Which rule.
    pub rule: &'static Rule,
    /// Only breaches by this host; all breaches if `None`.
    pub host: Option<Network>,
}

/// Ignored rules.
#[derive(Clone, Debug, Default)]
pub struct Ignores {
    /// Those of which all breaches are ignored.
    all: BTreeSet<Code>,
    /// Those of which breaches by these hosts are ignored.
    hosts: BTreeMap<Code, Networks>,
}

impl Ignores {
    /// Keeps only those of some rules.
    pub fn retain(&mut self, mut is_kept: impl FnMut(Code) -> bool) {
        self.all.retain(|code| is_kept(*code));
        self.hosts.retain(|code, _| is_kept(*code));
    }

    /// Whether all breaches of a rule are ignored.
    pub(super) fn have_all_of(&self, rule: &Rule) -> bool {
        self.all.contains(&rule.code)
    }

    /// Whether breaches of a rule by this host are ignored, and not all of them.
    pub(super) fn have(&self, rule: &Rule, party: Option<SocketAddr>) -> bool {
        let hosts = self.hosts.get(&rule.code);
        hosts.zip(party).is_some_and(|(hosts, party)| hosts.contain(party))
    }

    /// Whether there are breaches that are ignored only for some hosts.
    pub(super) fn have_hosts(&self) -> bool {
        !self.hosts.is_empty()
    }
}

impl Extend<Ignore> for Ignores {
    fn extend<I: IntoIterator<Item = Ignore>>(&mut self, ignores: I) {
        for Ignore { rule, host } in ignores {
            match host {
                None => _ = self.all.insert(rule.code),
                Some(host) => self.hosts.entry(rule.code).or_default().insert(host),
            }
        }
    }
}

impl FromIterator<Ignore> for Ignores {
    fn from_iter<I: IntoIterator<Item = Ignore>>(ignores: I) -> Ignores {
        let mut all = Ignores::default();
        all.extend(ignores);
        all
    }
}

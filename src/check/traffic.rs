//! Whether a capture has any of the selected traffic, and what it contains instead.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use super::{Host, RuleOutcome, RuleStatus, Selection};
use crate::session::{Totals, Traffic};

/// Maximum number of hosts that are named.
const NAMED: usize = 6;

/// Whether any message is from or to the selected host.
#[derive(Clone, Debug, Default)]
pub(super) struct HeardHosts {
    met: bool,
    /// Otherwise, the lowest addresses of other hosts: one more than is named.
    hosts: BTreeSet<IpAddr>,
}

impl HeardHosts {
    /// A message went from one end to the other.
    pub(super) fn look_for(&mut self, host: Host, ends: [SocketAddr; 2]) {
        self.met |= ends.into_iter().any(|end| host.contains(end));
        if !self.met {
            self.hosts.extend(ends.map(|end| end.ip()));
            self.trim();
        }
    }

    fn trim(&mut self) {
        while self.hosts.len() > NAMED + 1 {
            self.hosts.pop_last();
        }
    }

    /// The text if a capture has none of the selected traffic, with what it contains.
    pub(super) fn lacking(
        &self,
        selection: &Selection,
        rules: &[RuleOutcome],
        traffic: &Traffic,
        read: &Totals,
    ) -> Option<String> {
        let messages = traffic.messages;
        if messages == 0 {
            return read
                .no_traffic()
                .or_else(|| Some(format!("{} packets, no message", read.packets)));
        }
        let of = Vec::from_iter(traffic.protocols().map(|id| id.info().id)).join(", ");
        let s = if messages == 1 { "" } else { "s" };
        if let Some(host) = selection.host.filter(|_| !self.met) {
            return Some(format!(
                "no message from or to {host}; {messages} message{s} of {of}, between {}",
                self.named_hosts()
            ));
        }
        let idle = rules.iter().all(|rule| rule.status() == RuleStatus::NotExercised);
        idle.then(|| {
            let rules = match rules.len() {
                1 => "the rule that was selected was not exercised".to_owned(),
                many => format!("none of {many} rules was exercised"),
            };
            format!("{rules}; {messages} message{s} of {of}")
        })
    }

    fn named_hosts(&self) -> String {
        let mut names: Vec<_> = self.hosts.iter().take(NAMED).map(IpAddr::to_string).collect();
        if self.hosts.len() > NAMED {
            names.push("others".to_owned());
        }
        names.join(", ")
    }
}

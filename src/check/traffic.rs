//! Whether a capture has any of the selected traffic, and what it contains instead.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use super::{Host, RuleOutcome, RuleStatus, Selection};
use crate::session::{MessageEvent, Totals, Traffic};

/// Maximum number of hosts that are named.
const NAMED: usize = 6;

/// Whether any message is from or to the selected host, and whether the filter selects any.
#[derive(Clone, Debug, Default)]
pub(super) struct SelectedTraffic {
    met: bool,
    /// Otherwise, the lowest addresses of other hosts: one more than is named.
    hosts: BTreeSet<IpAddr>,
    is_filtered_in: bool,
}

impl SelectedTraffic {
    /// The next message.
    pub(super) fn message(&mut self, selection: &Selection, message: &MessageEvent<'_>) {
        if message.context().copy_of.is_some() {
            return;
        }
        if let Some(host) = selection.host {
            self.look_for(host, message.ends());
        }
        if let (Some(filter), false) = (&selection.filter, self.is_filtered_in) {
            self.is_filtered_in = message.is_wanted(filter);
        }
    }

    fn look_for(&mut self, host: Host, ends: [SocketAddr; 2]) {
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
        if selection.filter.is_some() && !self.is_filtered_in {
            let typed = selection.typed.as_deref().unwrap_or("the filter");
            return Some(format!("no message matches {typed}; {messages} message{s} of {of}"));
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

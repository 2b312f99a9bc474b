//! Whether a capture holds anything of what was asked for, and what it holds instead.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;

use super::{Fared, Host, RuleOutcome, Selection};
use crate::session::{FlowContext, Totals};

/// Hosts that are named.
const NAMED: usize = 6;

/// What messages there were.
#[derive(Clone, Debug, Default)]
pub(super) struct Traffic {
    /// Of which protocols: a bit each, in the order of [`Id::ALL`].
    protocols: u32,
    /// One was from or to the host that is asked for.
    met: bool,
    /// Where a host is asked for, the lowest addresses of those that there are: one more than is named.
    hosts: BTreeSet<IpAddr>,
}

impl Traffic {
    #[inline]
    pub(super) fn message(
        &mut self,
        flow_context: Option<&FlowContext>,
        host: Option<Host>,
        ends: [SocketAddr; 2],
    ) {
        if let Some(id) = flow_context.and_then(|flow_context| flow_context.protocol) {
            self.protocols |= 1 << id as u32;
        }
        if let Some(host) = host {
            self.look_for(host, ends);
        }
    }

    #[cold]
    fn look_for(&mut self, host: Host, ends: [SocketAddr; 2]) {
        self.met |= ends.into_iter().any(|end| host.is(end));
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

    pub(super) fn join(&mut self, other: Traffic) {
        self.protocols |= other.protocols;
        self.met |= other.met;
        self.hosts.extend(other.hosts);
        self.trim();
    }

    /// That nothing of what was asked for is there, and what is.
    pub(super) fn lacking(
        &self,
        selection: &Selection,
        rules: &[RuleOutcome],
        messages: u64,
        read: &Totals,
    ) -> Option<String> {
        if messages == 0 {
            return read
                .no_traffic()
                .or_else(|| Some(format!("{} packets, no message", read.packets)));
        }
        let of = self.protocols();
        let s = if messages == 1 { "" } else { "s" };
        if let Some(host) = selection.host.filter(|_| !self.met) {
            return Some(format!(
                "no message from or to {host}; {messages} message{s} of {of}, between {}",
                self.named_hosts()
            ));
        }
        let idle = rules.iter().all(|rule| rule.fared() == Fared::NotExercised);
        idle.then(|| {
            let rules = match rules.len() {
                1 => "the rule that was selected was not exercised".to_owned(),
                many => format!("none of {many} rules was exercised"),
            };
            format!("{rules}; {messages} message{s} of {of}")
        })
    }

    fn protocols(&self) -> String {
        let there = Id::ALL.iter().filter(|&&id| self.protocols & 1 << id as u32 != 0);
        there.map(|id| id.info().id).collect::<Vec<_>>().join(", ")
    }

    fn named_hosts(&self) -> String {
        let mut names: Vec<_> = self.hosts.iter().take(NAMED).map(IpAddr::to_string).collect();
        if self.hosts.len() > NAMED {
            names.push("others".to_owned());
        }
        names.join(", ")
    }
}

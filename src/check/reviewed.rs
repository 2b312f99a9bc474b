//! The findings of flows that only the whole capture shows.

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::kit::{Map, Rule, Severity, Verdict};
use dissectors::ledger::{Ledger, LedgerSettings};

use crate::flows::{FindingCounts, FlowRow};
use crate::session::{Event, FlowContext, HeardServer, Needs, Totals};

use super::{Checker, Selection, weight};

/// What the whole capture shows about the findings of its flows.
#[derive(Clone, Debug, Default)]
pub struct ReviewedFlows {
    /// The recorder dropped packets, or seems to have.
    pub(super) dropped: bool,
    /// Servers that do not answer and are heard in other flows, with the number of findings that this proves.
    heard: Map<(SocketAddr, Id), u64>,
    /// Findings that several flows together show, by the flow's number.
    flows: Map<u32, ReviewedFlow>,
}

/// A flow with findings that only several flows together show.
#[derive(Clone, Debug)]
pub struct ReviewedFlow {
    /// Its ends.
    pub ends: [SocketAddr; 2],
    /// Its protocol.
    pub protocol: Option<Id>,
    /// The findings.
    pub findings: FindingCounts,
    /// Their number, with all that are inconclusive.
    pub all: u64,
    /// How grave the gravest of them is, as `weight` has it.
    pub worst: u8,
}

impl ReviewedFlows {
    /// Counts a finding that several flows together show. `if_heard`: see [`FindingCounts::count`].
    pub(super) fn count(
        &mut self,
        rule: &Rule,
        severity: Severity,
        verdict: Verdict,
        if_heard: bool,
        context: &FlowContext,
    ) {
        if context.flow.number == 0 {
            return;
        }
        let flow = self.flows.entry(context.flow.number).or_insert_with(|| ReviewedFlow {
            ends: context.flow.ends,
            protocol: context.protocol,
            findings: FindingCounts::default(),
            all: 0,
            worst: 0,
        });
        flow.findings.count(rule, verdict, if_heard);
        flow.all += 1;
        flow.worst = flow.worst.max(weight(severity, verdict));
    }

    /// These servers are heard in other flows.
    pub(super) fn hear(&mut self, heard: &[HeardServer]) {
        for HeardServer { server, rules } in heard {
            for (rule, times) in rules {
                if let Some(id) = Id::of_rule(rule) {
                    *self.heard.entry((*server, id)).or_default() += times;
                }
            }
        }
    }

    /// Settles which findings of a flow are proven.
    pub fn settle(&self, row: &mut FlowRow) {
        if let Some(flow) = self.flows.get(&row.flow) {
            row.findings.add(flow.findings);
        }
        let is_heard = Id::named(row.protocol)
            .is_some_and(|id| row.ends.iter().any(|end| self.heard.contains_key(&(*end, id))));
        row.findings.settle(self.dropped, is_heard);
    }

    /// Whether the recorder dropped packets, or seems to have.
    pub fn dropped(&self) -> bool {
        self.dropped
    }

    /// The flows with findings that only several flows together show, with their numbers, in no order.
    pub fn flows(&self) -> impl Iterator<Item = (u32, &ReviewedFlow)> {
        self.flows.iter().map(|(&number, flow)| (number, flow))
    }

    /// Servers that do not answer and are heard in other flows, with the number of findings that this proves, in no
    /// order.
    pub fn heard(&self) -> impl Iterator<Item = (SocketAddr, Id, u64)> {
        self.heard.iter().map(|(&(server, id), &times)| (server, id, times))
    }
}

/// Collects what only the whole capture shows, for tables that count findings and list none.
#[derive(Clone)]
pub struct Reviewer {
    ledger: Ledger,
    settings: LedgerSettings,
    /// The user states that the capture is complete.
    complete: bool,
}

impl Reviewer {
    /// With these settings for rules that span flows; `complete`: the user states that the capture is complete.
    pub fn new(settings: LedgerSettings, complete: bool) -> Reviewer {
        Reviewer { ledger: Ledger::new(settings), settings, complete }
    }

    /// The events that it needs.
    pub fn needs(settings: &LedgerSettings) -> Needs {
        Needs { traffic: Some(settings.most), cross_flow: true, hosts: true, ..Needs::default() }
    }

    /// The next event of the capture.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        if let Event::CrossFlow(it) = event {
            self.ledger.cross_flow(it);
        }
    }

    /// The capture was read. Returns the results for its flows, and the attacks that its traffic proves, a sentence
    /// each.
    pub fn end(self, read: &mut Totals) -> (ReviewedFlows, Vec<String>) {
        let checker = Checker::new(Selection::default(), self.settings, self.complete);
        let outcome = Checker { ledger: self.ledger, ..checker }.outcome(Vec::new(), read);
        let attacks = outcome.attacks();
        (outcome.reviewed, attacks)
    }
}

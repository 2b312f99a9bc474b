//! What counts where a display filter selects messages: these, the exchanges that begin with one of them, and what is
//! wrong with them.

use std::collections::VecDeque;

use dissectors::kit::{CrossFlowEvent, Finding, Map, Time, Unmatched, Verdict};

use crate::flows::{ExchangeCounts, FindingCounts, FlowRow};
use crate::session::{Checked, CheckedEvent, CrossFlow, MessageEvent};

/// Maximum number of selected requests per flow that later messages may belong to.
const OPEN: usize = 1 << 6;

/// The beginnings of exchanges are known to a microsecond.
const EXACTLY: u64 = 1_000;

/// The flows with a selected message that have not ended.
#[derive(Clone, Default)]
pub(super) struct Selection(Map<u32, SelectedFlow>);

/// What was selected of a flow.
#[derive(Clone, Default)]
struct SelectedFlow {
    exchanges: ExchangeCounts,
    findings: u64,
    /// Its exchanges, the latest ones last.
    begun: VecDeque<BegunExchange>,
    /// The packets of its requests, the latest ones last.
    requests: VecDeque<u64>,
}

/// An exchange that began with a selected request.
#[derive(Clone, Copy)]
struct BegunExchange {
    began: Time,
    is_answered: bool,
}

impl Selection {
    /// A message, selected or not: it may answer one that is.
    pub(super) fn message(&mut self, event: &MessageEvent<'_>, is_selected: bool) {
        let number = event.context().flow.number;
        let flow = match is_selected {
            true => Some(self.0.entry(number).or_default()),
            false => self.0.get_mut(&number),
        };
        if let Some(flow) = flow.filter(|_| event.context().copy_of.is_none()) {
            flow.message(event, is_selected);
        }
    }

    /// Results about earlier messages: those of selected requests count.
    pub(super) fn checked(&mut self, event: &CheckedEvent<'_>) {
        if let Some(flow) = self.0.get_mut(&event.context().flow.number) {
            flow.recalled(&event.checked());
        }
    }

    /// A selected request has no response: a finding, unless it is reported as an event because another flow may have one.
    pub(super) fn cross_flow(&mut self, it: &CrossFlow<'_>) {
        if let CrossFlowEvent::Unanswered(Unmatched {
            rules, evidence, due: true, parts: None, ..
        }) = it.event
            && evidence.suffices(rules.answered.needs)
            && let Some(flow) = self.0.get_mut(&it.basis.flow)
        {
            flow.findings += u64::from(flow.requests.contains(&it.basis.seen.mark.frame));
        }
    }

    /// A flow has ended: with the counts of what was selected of it. `None`: nothing was.
    pub(super) fn of_flow(&mut self, row: &FlowRow) -> Option<FlowRow> {
        let SelectedFlow { exchanges, findings, .. } = self.0.remove(&row.flow)?;
        let findings = FindingCounts { proven: findings, ..FindingCounts::default() };
        Some(FlowRow { exchanges, findings, ..row.clone() })
    }
}

impl SelectedFlow {
    fn message(&mut self, event: &MessageEvent<'_>, is_selected: bool) {
        let (effect, checked) = (event.exchange(), event.checked());
        if is_selected {
            let own = checked.findings.iter().filter(|found| found.mark.is_none());
            self.findings += certain(own);
            let left_out = checked.left_out.iter().filter(|it| it.side.is_none());
            let proven = left_out.filter(|it| it.verdict != Verdict::Inconclusive);
            self.findings += proven.map(|it| it.times).sum::<u64>();
        }
        if effect.reopens {
            // The challenge was not all that was requested.
            let latest = self.begun.iter_mut().rev().find(|exchange| exchange.is_answered);
            if let Some(exchange) = latest {
                exchange.is_answered = false;
                self.exchanges.answered -= 1;
            }
        }
        if effect.begins && is_selected {
            let began = event.time();
            push(&mut self.begun, BegunExchange { began, is_answered: false });
            self.exchanges.asked += 1;
        }
        if is_selected && event.message().purpose.is_request() {
            push(&mut self.requests, event.payload().frame);
        }
        if effect.answers
            && let Some(reply) = event.reply()
        {
            let waits = |exchange: &&mut BegunExchange| {
                !exchange.is_answered && exchange.began.0.abs_diff(reply.began.0) < EXACTLY
            };
            if let Some(exchange) = self.begun.iter_mut().find(waits) {
                exchange.is_answered = true;
                self.exchanges.answered += 1;
            }
        }
        self.recalled(&checked);
    }

    /// What is wrong with earlier messages.
    fn recalled(&mut self, checked: &Checked<'_>) {
        let requests = &self.requests;
        let is_selected =
            |found: &&Finding| found.mark.is_some_and(|mark| requests.contains(&mark.frame));
        self.findings += certain(checked.findings.iter().filter(is_selected));
    }
}

/// The number of proven findings.
fn certain<'f>(findings: impl Iterator<Item = &'f Finding>) -> u64 {
    findings.filter(|found| found.verdict != Verdict::Inconclusive).count() as u64
}

/// Adds one to the latest ones.
fn push<T>(latest: &mut VecDeque<T>, one: T) {
    if latest.len() >= OPEN {
        latest.pop_front();
    }
    latest.push_back(one);
}

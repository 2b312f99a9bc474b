//! What protocols report while they decode.

use std::net::SocketAddr;

use dissectors::kit::{
    CrossFlowEvent, Evidence, FlowFacts, ListRules, Mark, Message, Payload, Reply, Rule,
    SeenMessage, Sending, Sink, Span, Time, Verdict,
};
use dissectors::ledger::{Basis, GROUPS, MINUTE, listed};

use super::FieldSink;
use super::Recorder;
use crate::flows::ExchangeEffect;
use crate::session::engine::shard_range::shard_of;
use crate::session::events::StoredParts;
use crate::session::{Findings, Messages};

/// The group of the two hosts of a message: one thread decodes all messages of a group.
#[inline]
pub(super) fn group_of(payload: &Payload<'_>) -> usize {
    shard_of(payload.from.ip(), payload.to.ip(), GROUPS)
}

impl<F: FieldSink> Sink for Recorder<F> {
    dissectors::forward_fields!(gate);
    #[inline]
    fn begins(&mut self, message: &'static Message) -> bool {
        self.is_ruled_out = self.is_ruled_out || self.rules_out(Some(message));
        // A filter may need fields that events do not.
        let are_fields_read = self.filter.is_some()
            || self.needs.fields.is_some_and(|limits| limits.of.has(message)[0]);
        self.gate.is_shut = self.is_ruled_out || !are_fields_read;
        !self.is_unchecked()
    }
    #[inline]
    fn checked(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        at: Span,
        detail: impl FnOnce() -> String,
    ) {
        if self.is_unchecked() {
            return;
        }
        if ok {
            self.passed(rule, None, 1);
        } else if self.broken(rule, None) {
            self.results.checked(rule, false, at, detail);
        }
    }
    #[inline]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        if !self.is_unchecked() {
            self.passed(rule, None, times);
        }
    }
    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        self.counts.findings.count(rule, Verdict::Note, false);
        let is_wanted = match self.needs.findings {
            Findings::None => false,
            Findings::OfMessages => !self.is_ruled_out,
            Findings::All { .. } => self.needs_text(rule, Verdict::Note, None),
        };
        if is_wanted {
            self.results.noted(rule, at, detail);
        } else {
            self.results.round_kept(rule);
            self.results.count(rule, Verdict::Note, 1);
        }
    }
    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        if ok {
            self.passed(rule, Some(mark.side), 1);
        } else if self.broken(rule, Some((evidence, mark))) {
            self.results.recalled(rule, false, evidence, mark, detail);
        }
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.results.evidence(evidence);
    }
    fn claims_number(&mut self, number: u32) {
        self.results.claims_number(number);
    }
    fn whole_elements(&mut self, are: bool) {
        self.results.whole_elements(are);
    }
    #[inline(always)]
    fn listed(&mut self, server: SocketAddr) {
        let number = listed(server);
        if self.needs.cross_flow {
            self.batch.lists(number);
        }
        if self.needs.servers {
            self.batch.message_lists(number, server);
        }
    }
    fn cross_flow(&mut self, event: CrossFlowEvent, seen: SeenMessage) {
        self.cross_flow_with(event, seen, b"");
    }
    fn cross_flow_with(&mut self, event: CrossFlowEvent, seen: SeenMessage, text: &[u8]) {
        if let CrossFlowEvent::Listed(ListRules { filtered: Some(_), .. }) = event {
            self.describe_until(seen.mark.time.after(MINUTE));
        }
        let is_needed = match event {
            CrossFlowEvent::StrayPart(_) => self.needs.elsewhere,
            CrossFlowEvent::Unanswered(_) | CrossFlowEvent::Unasked(_) => {
                self.needs.cross_flow || self.needs.elsewhere
            }
            _ => self.needs.cross_flow,
        };
        if let Some(context) = self.batch.context().filter(|_| is_needed) {
            let FlowFacts { number: flow, began, lossy, .. } = context.flow;
            let (order, basis) = (context.moment, Basis { seen, flow, began, lossy });
            self.batch.push_cross_flow(order, event, basis, text);
        }
    }
    #[inline]
    fn describes(&mut self, seen: SeenMessage, text: impl FnOnce() -> Vec<u8>) {
        if seen.mark.time <= self.described_until {
            self.cross_flow_with(CrossFlowEvent::Described, seen, &text());
        }
    }
    fn unless_explained(
        &mut self,
        rule: &'static Rule,
        at: Option<Span>,
        event: CrossFlowEvent,
        seen: SeenMessage,
        detail: impl FnOnce() -> String,
    ) {
        if self.needs.cross_flow {
            if at.is_none() {
                self.unanswered(rule, event.evidence(), &seen.mark);
            }
            let (evidence, time) = (event.evidence(), seen.mark.time);
            let before = at.is_none().then_some((evidence, time));
            let time = before.map(|(_, time)| time);
            let event = event.with(self.results.in_rounds(rule, evidence, time));
            self.results.round_broken(rule, before);
            return self.cross_flow(event, seen);
        }
        self.cross_flow(event, seen);
        match at {
            Some(at) => self.checked(rule, false, at, detail),
            None => self.recalled(rule, false, event.evidence(), &seen.mark, detail),
        }
    }
    #[inline]
    fn asks(&mut self, what: &'static str, payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            traffic.loads.asks(group_of(payload), what, payload);
        }
    }
    #[inline]
    fn joins(&mut self, what: &'static str, payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            traffic.loads.joins(group_of(payload), what, payload);
        }
    }
    #[inline]
    fn other_packet(&mut self, payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            traffic.loads.other(group_of(payload), payload);
        }
    }
    #[inline]
    fn begins_to_play(&mut self, payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            let ends = [payload.from, payload.to];
            traffic.loads.begins_to_play(group_of(payload), ends);
        }
    }
    #[inline]
    fn reflects(&mut self, what: &'static str, asked: u32, payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            traffic.loads.reflects(group_of(payload), what, asked, payload);
        }
    }
    #[inline]
    fn serves(&mut self, times: [Time; 2], payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            let ends = [payload.to, payload.from];
            traffic.loads.returned(group_of(payload), ends, times, payload.time);
        }
    }
    #[inline]
    fn returns_challenge(&mut self, times: [Time; 2], payload: &Payload<'_>) {
        if let Some(traffic) = &mut self.traffic {
            let ends = [payload.from, payload.to];
            traffic.loads.returned(group_of(payload), ends, times, payload.time);
        }
    }
    #[inline]
    fn answers(&mut self, reply: Reply) {
        self.reply = Some(reply);
    }
    #[inline]
    fn sent(&mut self, sending: Sending) {
        self.sending = sending;
    }
    fn optional(&mut self) {
        self.is_optional = true;
    }
    #[inline]
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        let sending = std::mem::take(&mut self.sending);
        // A copy that the network or the recorder made is not another request.
        let copy_of = self.batch.context().and_then(|context| context.copy_of);
        let asks = copy_of.map_or(sending, Sending::Again);
        let effect = match copy_of {
            Some(_) => ExchangeEffect::default(),
            None => self.count(message, sending, payload),
        };
        if self.traffic.is_some() {
            self.count_traffic(message, effect, payload);
        }
        let has_findings = self.results.has_found() || self.batch.has_found();
        let is_wanted = match self.needs.messages {
            Messages::None => false,
            Messages::WithFindings => has_findings,
            Messages::All => true,
        };
        if !is_wanted {
            self.batch.forget_listed();
            self.next_message();
            return;
        }
        let library = self.library(message, asks, payload);
        if self.filter.is_some() {
            if !self.is_filtered_in(message, payload) {
                self.results.clear();
                self.batch.forget_listed();
                self.next_message();
                return;
            }
            self.selected += 1;
        }
        if self.results.has_found() {
            self.batch.take_found(&mut self.results);
        }
        let [with_fields, with_bytes] =
            self.needs.fields.map_or([false; 2], |limits| limits.of.has(message));
        let with_bytes = with_bytes || self.batch.has_findings();
        let with_pieces = with_bytes || self.needs.fields.is_some();
        let fields = if with_fields { self.gate.fields.tree() } else { None };
        let kept = StoredParts {
            bytes: with_bytes,
            pieces: with_pieces,
            fields: fields.map(|tree| tree.view()),
            reply: self.reply.as_ref(),
            sending,
            is_optional: self.is_optional,
            effect,
            library,
        };
        self.batch.push_message(message, payload, kept);
        self.next_message();
    }
}

//! The sink of a session's protocols: counts, and writes a batch of events.
//!
//! Counts of a flow do not depend on which events are needed.

mod sink;

use dissectors::Id;
use dissectors::kit::{
    Blind, Clock, CrossFlowEvent, Evidence, LeftOut, Mark, Message, Payload, Purpose, Reply, Role,
    Rule, RuleCounts, RuleResults, SeenMessage, Sending, Side, Sink, Time, Tree, Verdict,
};
use dissectors::ledger::{Basis, Loads};

use super::early_filter::EarlyFilter;
use super::gate::Gate;
use super::listed_counts::ListedCounts;
use crate::flows::{Asked, ExchangeEffect, FlowMut, FlowRow, MessageCounts, OpenExchanges};
use crate::message::MessageRef;
use crate::session::{
    Batch, Checked, DatagramEvent, Datagrams, EventOrder, FileEvent, Findings, FlowContext,
    IcmpEvent, Needs, Options, PassedRule, Requests, Traffic, UnansweredRequest,
};

/// Maximum number of findings per rule and verdict with a text, if not all have one.
const IN_WORDS: u64 = RuleResults::MOST;

/// Keeps the fields of the current message, or drops them.
pub(super) trait FieldSink: Sink {
    /// The tree of fields, if kept.
    fn tree(&mut self) -> Option<&mut Tree>;
}

impl FieldSink for Tree {
    #[inline(always)]
    fn tree(&mut self) -> Option<&mut Tree> {
        Some(self)
    }
}

impl FieldSink for Blind {
    #[inline(always)]
    fn tree(&mut self) -> Option<&mut Tree> {
        None
    }
}

/// Receives everything that a session's protocols report.
pub(super) struct Recorder<F> {
    gate: Gate<F>,
    needs: Needs,
    filter: Option<EarlyFilter>,
    /// How many messages or datagrams it has selected.
    selected: u64,
    /// The filter rejects all messages of the current flow.
    is_unwanted: bool,
    /// The filter rejects the current message.
    is_ruled_out: bool,
    /// Results of rules matter for all messages, also those that the filter rejects.
    counts_rules: bool,
    results: RuleResults,
    pub(super) batch: Batch,
    counts: MessageCounts,
    /// The exchanges of the current flow.
    exchanges: OpenExchanges,
    /// What rows of flows need of its requests, if needed.
    asked: Asked,
    listed: ListedCounts,
    /// The request of the current message.
    reply: Option<Reply>,
    /// How the current message relates to earlier requests, if it is a request.
    sending: Sending,
    /// The message is a request that its server need not answer.
    is_optional: bool,
    /// The counts of all messages, if needed.
    traffic: Option<Box<Traffic>>,
    /// The current message answers a request to which a response is due.
    responds: bool,
    /// What servers say of themselves matters until then, since lists were requested with a filter.
    described_until: Time,
    /// How long a response may take, in nanoseconds.
    answer_timeout: i64,
}

impl<F: FieldSink> Recorder<F> {
    pub(super) fn new(fields: F, options: &Options) -> Recorder<F> {
        let (needs, abuse) = (options.needs, options.settings.abuse);
        let results = RuleResults::new(options.severities.clone());
        let traffic = |most| Traffic::new(Requests::new(most), Loads::new(most, abuse));
        let keeps_all = needs.findings == Findings::All { in_words: true };
        Recorder {
            gate: Gate { fields, is_shut: false },
            needs,
            filter: options.filter.clone().map(EarlyFilter::new),
            selected: 0,
            is_unwanted: false,
            is_ruled_out: false,
            counts_rules: needs.count_rules(),
            results: if keeps_all { results.keeping_all() } else { results },
            batch: Batch::default(),
            counts: MessageCounts::default(),
            exchanges: OpenExchanges::default(),
            asked: Asked::default(),
            listed: ListedCounts::default(),
            reply: None,
            sending: Sending::New,
            is_optional: false,
            traffic: needs.traffic.map(|most| Box::new(traffic(most))),
            responds: false,
            described_until: Time(i64::MIN),
            answer_timeout: options.settings.answer_timeout,
        }
    }

    /// What servers say of themselves matters until this time.
    pub(super) fn describe_until(&mut self, time: Time) {
        if self.needs.cross_flow {
            self.described_until = self.described_until.max(time);
        }
    }

    /// The results of rules, and the counts of messages.
    pub(super) fn into_counts(self) -> (RuleCounts, Traffic) {
        let traffic = self.traffic.map(|traffic| *traffic).unwrap_or_default();
        (self.results.into_counts(), traffic)
    }

    /// How many messages or datagrams the filter, if any, has selected.
    pub(super) fn selected(&self) -> u64 {
        self.selected
    }

    /// Bytes of a stream are missing that its receiver has acknowledged.
    pub(super) fn lacks_acknowledged(&mut self) {
        self.traffic.iter_mut().for_each(|traffic| traffic.gaps += 1);
    }

    /// The counts of messages so far, if needed.
    pub(super) fn traffic(&self) -> Option<&Traffic> {
        self.traffic.as_deref()
    }

    /// The following events belong to this flow.
    #[inline]
    pub(super) fn flow_context(&mut self, context: FlowContext) {
        self.batch.set_context(context);
        if self.needs.flow_details {
            self.listed.clear();
        }
        self.sending = Sending::New;
        self.batch.forget_listed();
        self.is_unwanted = self.rules_out(None);
        self.next_message();
    }

    /// The following events belong to another message of the same flow.
    #[inline]
    fn next_message(&mut self) {
        self.reply = None;
        self.is_optional = false;
        self.is_ruled_out = self.is_unwanted;
        self.gate.is_shut = self.is_unwanted;
        if let Some(tree) = self.gate.fields.tree() {
            tree.clear();
        }
    }

    /// Whether the filter, if any, rejects all messages of the current flow, or this one.
    #[inline]
    fn rules_out(&mut self, message: Option<&'static Message>) -> bool {
        match (&mut self.filter, self.batch.context()) {
            (Some(filter), Some(context)) => filter.rules_out(context, message),
            _ => false,
        }
    }

    /// Whether the results of the current message are not needed.
    #[inline]
    fn is_unchecked(&self) -> bool {
        self.is_ruled_out && !self.counts_rules
    }

    /// Ends a group of events; returns the counts since `flow_context`.
    pub(super) fn settle(&mut self) -> MessageCounts {
        if let Some(tree) = self.gate.fields.tree() {
            tree.clear();
        }
        self.reply = None;
        if self.responds {
            self.responds_without_message();
        }
        if self.results.has_found() {
            match self.needs.findings {
                Findings::All { .. } => self.batch.take_found(&mut self.results),
                // They belong to no complete message.
                Findings::OfMessages | Findings::None => self.results.clear(),
            }
        }
        if self.batch.has_found() {
            self.batch.push_found();
        }
        std::mem::take(&mut self.counts)
    }

    /// The following messages are of this flow, until [`Recorder::settle_in`].
    #[inline]
    pub(super) fn count_in(&mut self, flow: &mut FlowMut<'_>) {
        let clock = Clock { now: flow.last(), timeout: self.answer_timeout };
        self.results.enter_flow(flow.take_rounds(), clock);
        self.exchanges = flow.exchanges;
        self.asked = flow.asked();
    }

    /// What was found since the last message is about this payload, which completes no message.
    #[inline]
    pub(super) fn without_message(&mut self, payload: &Payload<'_>) {
        if self.results.has_found() {
            let unmarked = self.results.findings.iter_mut().filter(|found| found.mark.is_none());
            unmarked.for_each(|found| found.mark = Some(payload.mark()));
        }
    }

    /// Ends a group of events; adds the counts to the flow.
    #[inline]
    pub(super) fn settle_in(&mut self, flow: &mut FlowMut<'_>) {
        flow.count_reported(self.settle());
        if let Some(rounds) = self.results.leave_flow() {
            flow.set_rounds(rounds);
        }
        flow.exchanges = self.exchanges;
        flow.set_asked(self.asked);
        flow.count_details(|detail| self.listed.add_to(detail));
    }

    /// The following packets are from another file.
    pub(super) fn file(&mut self, order: EventOrder, event: FileEvent) {
        if self.needs.files {
            self.batch.push_file(order, event);
        }
    }

    /// An ICMP error quotes an earlier message.
    pub(super) fn icmp(&mut self, order: EventOrder, icmp: impl FnOnce() -> IcmpEvent) {
        if self.needs.icmp {
            self.batch.push_icmp(order, icmp());
        }
    }

    /// Whether refused connections are needed.
    #[inline]
    pub(super) fn wants_refusals(&self) -> bool {
        self.needs.refusals
    }

    /// Whether packets without a message to this port are looked at.
    #[inline]
    pub(super) fn looks_at(&self, payload: &Payload<'_>) -> bool {
        let traffic = self.traffic.as_ref();
        traffic.is_some_and(|traffic| traffic.loads.looks_at(sink::group_of(payload), payload.to))
    }

    /// A single datagram; `id`: its protocol, identified by its bytes. Beside messages, these are counted,
    /// and not datagrams.
    #[inline]
    pub(super) fn datagram(
        &mut self,
        order: EventOrder,
        datagram: DatagramEvent<'_>,
        id: impl FnOnce() -> Option<Id>,
    ) {
        let mut traffic = self.traffic.as_mut().filter(|_| self.needs.datagrams == Datagrams::Only);
        let is_asked = self.filter.is_some() || traffic.is_some();
        let protocol = if is_asked { id() } else { None };
        let is_copy = datagram.headers.is_copy;
        if let (Some(traffic), Some(_), false) = (&mut traffic, protocol, is_copy) {
            traffic.message(protocol, ExchangeEffect::default());
        }
        let is_wanted = self.filter.as_ref().is_none_or(|it| {
            let kind = protocol.and_then(|id| Some(id.outline(datagram.bytes)?.message));
            let undecoded = MessageRef::undecoded(datagram.payload());
            it.filter.matches(&MessageRef { protocol, kind, ..undecoded })
        });
        if is_wanted {
            self.selected += u64::from(self.filter.is_some() && !is_copy);
            self.batch.push_datagram(order, datagram.headers, datagram.bytes);
        }
    }

    /// A server announces a port, in a message of which no flow is kept.
    pub(super) fn announced(&mut self, order: EventOrder, port: u16, seen: SeenMessage) {
        let basis = Basis { seen, flow: 0, began: false, lossy: false };
        self.batch.push_cross_flow(order, CrossFlowEvent::Announced(port), basis, b"");
    }

    /// A flow has ended.
    #[inline]
    pub(super) fn flow_ended(&mut self, order: EventOrder, row: impl FnOnce() -> FlowRow) {
        if self.needs.flows {
            self.batch.push_row(order, row());
        }
    }

    /// A rule passed this many times: for an earlier message of this side, or for the current one.
    #[inline]
    fn passed(&mut self, rule: &'static Rule, side: Option<Side>, times: u32) {
        if rule.requires_response && times > 0 {
            self.request_answered(side);
        }
        if self.needs.passes.has(rule) {
            self.results.round_kept(rule);
            self.note_pass(rule, side, times);
        } else {
            self.results.kept(rule, times);
        }
    }

    fn request_answered(&mut self, side: Option<Side>) {
        match (&mut self.traffic, side) {
            (None, _) => {}
            (Some(_), None) => self.responds = true,
            (Some(traffic), Some(side)) => {
                if let Some(context) = self.batch.context() {
                    let [_, server] = context.flow.ends_from(side);
                    traffic.requests.responds(server, context.protocol);
                }
            }
        }
    }

    /// A request was answered without a message: by the end with the role of the asked party.
    #[cold]
    fn responds_without_message(&mut self) {
        self.responds = false;
        let (Some(traffic), Some(context)) = (&mut self.traffic, self.batch.context()) else {
            return;
        };
        let asked = |role: &Option<Role>| matches!(role, Some(Role::Server | Role::Master));
        let side = context.roles.iter().position(asked).unwrap_or(1);
        traffic.requests.responds(context.flow.ends[side], context.protocol);
    }

    #[cold]
    fn note_pass(&mut self, rule: &'static Rule, side: Option<Side>, times: u32) {
        let times = u64::from(times);
        let same = |it: &&mut PassedRule| it.rule == rule && it.side == side;
        match self.batch.passes_now().iter_mut().find(same) {
            Some(passes) => passes.times += times,
            None => self.batch.found().passes.push(PassedRule { rule, side, times }),
        }
    }

    /// A rule was broken, by an earlier message if there is evidence for it. Returns whether the
    /// finding needs a text.
    #[cold]
    fn broken(&mut self, rule: &'static Rule, recalled: Option<(Evidence, &Mark)>) -> bool {
        let before = recalled.map(|(evidence, mark)| (evidence, mark.time));
        let verdict = self.results.verdict(rule, before);
        let if_heard = before.is_some_and(|(it, _)| self.results.is_proven_if_heard(rule, it));
        self.counts.findings.count(rule, verdict, if_heard);
        let is_certain = verdict != Verdict::Inconclusive;
        if rule.requires_response
            && let (Some((evidence, mark)), Some(traffic), Some(context)) =
                (recalled, &mut self.traffic, self.batch.context())
        {
            traffic.requests.unanswered(context, evidence, mark, if_heard.then_some(rule));
        }
        if let Some((evidence, mark)) = recalled {
            self.unanswered(rule, evidence, mark);
        }
        let is_wanted = match self.needs.findings {
            Findings::None => false,
            Findings::OfMessages => is_certain && recalled.is_none() && !self.is_ruled_out,
            Findings::All { .. } => {
                self.needs_text(rule, verdict, recalled.map(|(_, mark)| mark.side))
            }
        };
        if !is_wanted {
            self.results.count_breach(rule, before);
        }
        is_wanted
    }

    /// If the rule demands a response: the request with this mark was not answered.
    fn unanswered(&mut self, rule: &'static Rule, evidence: Evidence, mark: &Mark) {
        if self.needs.unanswered
            && rule.requires_response
            && let Some(context) = self.batch.context()
        {
            let (moment, digits) = (context.moment, context.digits);
            let is_certain = evidence.waited || evidence.refused || self.results.is_complete();
            let (frame, time) = (mark.frame, mark.time);
            let request = UnansweredRequest { frame, time, digits, is_certain };
            self.batch.push_unanswered(moment, request);
        }
    }

    /// Whether a finding needs a text; counts it if not.
    fn needs_text(&mut self, rule: &'static Rule, verdict: Verdict, side: Option<Side>) -> bool {
        let in_words = self.results.counts(rule).of(verdict) < IN_WORDS
            || self.needs.findings == (Findings::All { in_words: true });
        if !in_words {
            let severity = self.results.severity(rule, verdict);
            self.batch.leave_out(LeftOut { rule, verdict, severity, side, times: 1 });
        }
        in_words
    }

    /// Counts a message for the capture, unless it is a duplicate.
    fn count_traffic(&mut self, message: &Message, effect: ExchangeEffect, payload: &Payload<'_>) {
        let responds = std::mem::take(&mut self.responds);
        let (Some(traffic), Some(context)) = (&mut self.traffic, self.batch.context()) else {
            return;
        };
        if context.copy_of.is_none() {
            traffic.message(context.protocol, effect);
            let to_client = matches!(message.purpose, Purpose::Response | Purpose::ClientChallenge);
            if message.speaker == Role::Server && !to_client {
                traffic.requests.hears(payload.from.ip());
            }
            if responds {
                traffic.requests.responds(payload.from, context.protocol);
            }
            if matches!(message.purpose, Purpose::Query | Purpose::ChallengeRequest) {
                traffic.probed.asks(payload.from.ip(), payload.to, payload.time);
            }
        }
    }

    /// Whether the filter, if any, selects the current message.
    fn is_filtered_in(&mut self, message: &'static Message, payload: &Payload<'_>) -> bool {
        let (Some(filter), Some(context)) = (&self.filter, self.batch.context()) else {
            return true;
        };
        if self.is_ruled_out {
            return false;
        }
        let left_out = Vec::from_iter(self.results.left_out());
        let findings = &self.results.findings;
        filter.filter.matches(&MessageRef {
            protocol: context.protocol,
            kind: Some(message),
            payload: *payload,
            tree: self.gate.fields.tree().map(|tree| tree.view()),
            reply: self.reply.as_ref(),
            copy_of: context.copy_of,
            checked: Checked { findings, left_out: &left_out, passes: &[] },
        })
    }

    /// Counts a message of a flow. Returns its effect on the flow's exchanges.
    #[inline]
    fn count(
        &mut self,
        message: &'static Message,
        sending: Sending,
        payload: &Payload<'_>,
    ) -> ExchangeEffect {
        if matches!(message.speaker, Role::Client | Role::Server | Role::Master) {
            self.counts.spoke = Some((payload.side, message.speaker));
        }
        let effect =
            self.exchanges.message(message, sending, self.reply.as_ref(), payload.transport);
        if self.needs.flows {
            self.asked.message(message, effect);
        }
        if self.needs.flow_details {
            self.listed.messages[payload.side.index()] += 1;
            if let Some(reply) = self.reply {
                self.listed.times.push(payload.time.since(reply.sent).max(0).unsigned_abs());
            }
        }
        effect
    }

    /// The library whose habit this message completes.
    #[inline]
    fn library(
        &mut self,
        message: &'static Message,
        sending: Sending,
        payload: &Payload<'_>,
    ) -> Option<&'static str> {
        let is_asking = message.speaker == Role::Client && self.needs.flows;
        let protocol = self.batch.context()?.protocol.filter(|_| is_asking);
        let habits = protocol?.info().habits;
        self.asked.library(habits, sending, payload)
    }
}

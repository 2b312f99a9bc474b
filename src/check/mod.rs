//! From judgements to verdicts: who broke what, where, and how every rule of the catalogue fared.
//!
//! A [`Checker`] looks on while a session reads a capture. It keeps what was found, bounded, and the
//! counts of every rule; [`Checker::outcome`] is what all reports of `gamewire check` are written
//! from.

mod baseline;
mod fingerprint;
mod found;
mod outcome;
mod parties;
mod parts;
mod requests;
mod selection;
mod traffic;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::{
    CODES, CrossFlowEvent, Evidence, Finding, FlowFacts, Judge, Mark, Message, Needs, Payload,
    Rule, Seen, Severity, Side, Sink, Span, Verdict, Who,
};
use dissectors::ledger::{GROUPS, Kept as KeptRule, Ledger, Loads, Ruling, Terms, Witness};
use dissectors::net_rules::{NET001, NET009, NET011, NET012, NET014};

use crate::flows::MessageCounts;
use crate::session::{FlowContext, Observer, Totals, group};

pub use baseline::{Baseline, BaselineError, Baselined};
pub use fingerprint::Fingerprint;
use found::AtHand;
pub use found::{Excerpt, Found};
pub use outcome::{Fared, Outcome, RuleOutcome, gravest_first};
use parties::Uncounted;
pub use parties::{Parties, Party};
use parts::Across;
pub use parts::Tidings;
pub use requests::Answered;
use requests::{Requests, Unanswered};
pub use selection::{FailOn, Host, Ignore, Rules, Selection, rule, severity};
use traffic::Traffic;

/// Findings of one rule and one verdict that are kept; further ones are counted. One message may have
/// them all.
const KEPT: u64 = Judge::MOST;

/// Findings of one rule, by verdict.
type Kept = [u64; 3];

/// What a rule was kept in, until it is known by whom.
struct Held {
    rule: &'static Rule,
    /// By whose message of the past; `None`: by that at hand.
    side: Option<Side>,
    times: u64,
}

/// Judges a capture.
pub struct Checker {
    judge: Judge,
    across: Across,
    /// What servers are asked.
    loads: Loads,
    terms: Terms,
    selection: Selection,
    flow_context: Option<FlowContext>,
    told: MessageCounts,
    found: Vec<Found>,
    kept: Box<[Kept; CODES]>,
    left_out: u64,
    /// Only what some party kept counts.
    asks_who: bool,
    /// If so, what was kept since the last message.
    held: Vec<Held>,
    baselined: Option<Baselined>,
    /// What was counted but does not count: findings that the selection leaves out, by verdict.
    others: Box<[Kept; CODES]>,
    messages: u64,
    traffic: Traffic,
    parties: Parties,
    /// What was broken since the last message, until it is known by whom.
    uncounted: Vec<Uncounted>,
    requests: Requests,
    /// Requests that the message at hand answers.
    answers: u64,
    cut: bool,
}

impl Checker {
    /// Nothing judged yet. `terms`: those on which what is known across flows is judged.
    pub fn new(selection: Selection, terms: Terms) -> Checker {
        let judge = Judge::new(selection.severities.clone());
        Checker {
            judge: if selection.weighs_each() { judge.keeping_all() } else { judge },
            across: Across::new(Some(Ledger::new(terms))),
            loads: Loads::new(terms.most, terms.abuse),
            terms,
            baselined: selection.baseline.clone().map(Baselined::new),
            asks_who: selection.asks_who(),
            selection,
            flow_context: None,
            told: MessageCounts::default(),
            found: Vec::new(),
            kept: Box::new([Kept::default(); CODES]),
            left_out: 0,
            held: Vec::new(),
            others: Box::new([Kept::default(); CODES]),
            messages: 0,
            traffic: Traffic::default(),
            parties: Parties::default(),
            uncounted: Vec::new(),
            requests: Requests::new(terms.most),
            answers: 0,
            cut: false,
        }
    }

    /// What was found so far, in the order in which it was told.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// How many findings there are so far, kept or only counted, by severity.
    pub fn grave(&self) -> [u64; 3] {
        let mut grave = [0; 3];
        for rule in catalogue::rules() {
            let kept = &self.kept[rule.code.index()];
            grave[self.selection.severities.of(rule) as usize] += kept[Verdict::Fail as usize];
            grave[Severity::Note as usize] += kept[Verdict::Note as usize];
        }
        grave
    }

    /// What came of it all.
    pub fn outcome(mut self, captures: Vec<String>, read: &Totals) -> Outcome {
        self.review(read.lossy);
        self.review_requests(read);
        self.review_cut(read);
        if read.dropped {
            self.excuse();
        }
        let known = self.baselined.iter_mut().flat_map(|known| &mut known.findings);
        for found in self.found.iter_mut().chain(known) {
            found.capture = read.files.of(found.frame());
        }
        // Sorted as they stand, thousands of findings would want as much room again.
        let place = |found: &Found| (found.frame(), found.rule.code, found.offset, found.flow);
        self.found.sort_by_cached_key(place);
        let counts = |rule: &&Rule| self.selection.has(rule) || self.selection.requires(rule);
        let rules = catalogue::rules().into_iter().filter(counts);
        let rules: Vec<_> = rules.map(|rule| self.fared(rule, read)).collect();
        let lacking = self.traffic.lacking(&self.selection, &rules, self.messages, read);
        let capture = captures.join(", ");
        Outcome {
            captures,
            packets: read.packets,
            span: read.span,
            messages: self.messages,
            flows: u64::from(read.flows),
            requests: self.requests.count,
            rules,
            findings: self.found,
            parties: self.parties,
            lacking: lacking.map(|there| (capture, there)).into_iter().collect(),
            left_out: self.left_out,
            baselined: self.baselined,
        }
    }

    /// Packets were dropped, nobody knows where: what lacks something was not proven after all.
    fn excuse(&mut self) {
        for found in &mut self.found {
            if found.verdict == Verdict::Fail && is_excused_by_drops(found.rule) {
                found.verdict = Verdict::Inconclusive;
            }
        }
        if let Some(known) = &mut self.baselined {
            let rules = catalogue::rules().into_iter().filter(|rule| is_excused_by_drops(rule));
            let excused = BTreeSet::from_iter(rules.map(|rule| rule.code.to_string()));
            known.occurred.retain(|fingerprint| !excused.contains(&fingerprint.rule));
        }
    }

    /// How a rule fared. One that is required, but not judged by, had no occasion.
    fn fared(&self, rule: &'static Rule, read: &Totals) -> RuleOutcome {
        let severity = self.selection.severities.of(rule);
        let mut fared = RuleOutcome::new(rule, severity);
        if self.selection.has(rule) {
            let (others, counts) = (self.others[rule.code.index()], self.judge.counts(rule));
            let of_others = |verdict: Verdict| others[verdict as usize];
            let known = self.baselined.as_ref().map_or(0, |known| known.failed(rule.code));
            fared.passed = counts.passed.saturating_sub(of_others(Verdict::Note));
            fared.passed += u64::from(self.is_kept_by_silence(rule, read));
            fared.failed = counts.failed.saturating_sub(of_others(Verdict::Fail) + known);
            fared.in_baseline = known;
            fared.notes = self.kept[rule.code.index()][Verdict::Note as usize];
            fared.inconclusive =
                counts.inconclusive.saturating_sub(of_others(Verdict::Inconclusive));
            if read.dropped && is_excused_by_drops(rule) {
                fared.inconclusive += std::mem::take(&mut fared.failed);
            }
        }
        let is_missing = fared.fared() == Fared::NotExercised;
        fared.missing = u64::from(is_missing && self.selection.requires(rule));
        fared
    }

    /// A capture that was not cut, and for which no limit was met, keeps the rules that ask for that.
    fn is_kept_by_silence(&self, rule: &Rule, read: &Totals) -> bool {
        let is_silent = match () {
            () if rule.code == NET009.code => !self.cut,
            () if rule.code == NET011.code => self.judge.counts(rule).failed == 0,
            () => false,
        };
        is_silent && read.packets > 0 && self.selection.asks_for(rule.who, None)
    }

    /// Judges what only all flows together show.
    fn review(&mut self, lossy: bool) {
        let loads = std::mem::take(&mut self.loads);
        let Some(review) = self.across.review(self.terms, loads) else { return };
        for KeptRule { rule, server, times } in review.kept {
            // By several hosts together, or toward one server.
            if let Some(server) = server.filter(|_| rule.asks_for_answer) {
                self.requests.answered(server, times);
            }
            let party = server.filter(|_| rule.who == Who::Server);
            if self.selection.asks_for(rule.who, party) {
                self.judge.kept(rule, u32::try_from(times).unwrap_or(u32::MAX));
            }
        }
        for ruling in review.rulings {
            let Ruling { rule, witness, of_flow, .. } = ruling;
            let Some(flow_context) = &mut self.flow_context else { return };
            let Seen { mark, from, to } = witness.seen;
            let knows = |id: &&Id| id.info().rules.iter().any(|other| other.code == rule.code);
            flow_context.protocol = Id::ALL.iter().find(knows).copied();
            flow_context.flow = FlowFacts {
                ends: [from, to],
                began: witness.began,
                number: witness.flow,
                lossy: false,
                ..flow_context.flow
            };
            flow_context.roles = [Some(ruling.speaker), None];
            let mark = Mark { side: Side::First, ..mark };
            let lossy = lossy && !of_flow;
            if rule.asks_for_answer {
                let lossy = lossy || ruling.evidence.lossy;
                self.requests.unanswered(
                    flow_context,
                    Evidence { lossy, ..ruling.evidence },
                    &mark,
                );
            }
            self.judge.evidence(Evidence { lossy, ..Evidence::default() });
            if !self.leaves_out(rule, Some((ruling.evidence, mark.side))) {
                let detail = || ruling.detail.to_string();
                self.judge.recalled(rule, false, ruling.evidence, &mark, detail);
                self.take(None);
            }
        }
        self.judge.evidence(Evidence::default());
        for (rule, evidence, times) in review.beyond {
            let verdict = self.judge.verdict(rule, Some(evidence));
            (0..times).for_each(|_| self.judge.count_broken(rule, verdict));
            self.requests.count.asked += if rule.asks_for_answer { times } else { 0 };
            if self.selection.has(rule) {
                self.leave_out(rule, verdict, times);
            }
        }
    }

    /// Judges what all requests together show.
    fn review_requests(&mut self, read: &Totals) {
        let vouched = self.judge.is_vouched();
        let review = self.requests.review(&read.heard, vouched, read.lossy || read.dropped);
        for server in &review.answering {
            self.judge.kept(&NET014, u32::from(self.selection.asks_for(NET014.who, Some(*server))));
        }
        if self.requests.count.answered > 0 {
            let asks_for = |server: &SocketAddr| self.selection.asks_for(NET012.who, Some(*server));
            self.judge.kept(&NET012, u32::from(review.answering.iter().any(asks_for)));
        }
        let Some(flow_context) = self.flow_context else { return };
        if self.requests.is_full {
            self.flow_context =
                Some(FlowContext { protocol: None, roles: [None; 2], ..flow_context });
            self.judge.evidence(Evidence::default());
            self.judge.judged(&NET011, false, Span::default(), || {
                "the limit remembered was met: not all servers that were asked are known".to_owned()
            });
            self.take(None);
        }
        for unanswered in review.unanswered {
            let Unanswered { rule, server, client, mark, protocol, digits, .. } = unanswered;
            let flow = FlowFacts { ends: [client, server], number: 0, ..flow_context.flow };
            let roles = [None, Some(rule.who)];
            self.flow_context = Some(FlowContext { protocol, flow, roles, digits, ..flow_context });
            let mark = Mark { side: Side::First, ..mark };
            self.judge.evidence(Evidence::default());
            self.judge.recalled(rule, false, unanswered.evidence, &mark, || unanswered.detail);
            self.take(None);
        }
    }

    /// Tells how many packets were cut too short to tell anything of them.
    fn review_cut(&mut self, read: &Totals) {
        let Some((flow_context, mark)) = read.cut.first() else { return };
        self.flow_context = Some(flow_context);
        self.judge.recalled(&NET001, false, Evidence::default(), &mark, || {
            match read.cut.packets {
                1 => "cut by the snap length before its protocol could be told".to_owned(),
                packets => format!(
                    "{packets} packets, from this one on, were cut by the snap length before their \
                 protocol could be told"
                ),
            }
        });
        self.take(None);
    }

    /// Takes over what the judge found, as findings about this message or about a past one.
    fn take(&mut self, at_hand: Option<&AtHand<'_>>) {
        self.count_held(at_hand);
        self.count_uncounted(at_hand);
        let mut findings = std::mem::take(&mut self.judge.findings);
        for finding in findings.drain(..) {
            self.keep(finding, at_hand);
        }
        self.judge.findings = findings;
        let left_out = Vec::from_iter(self.judge.left_out());
        for (rule, verdict, times) in left_out {
            if self.selection.has(rule) {
                self.leave_out(rule, verdict, times);
                self.uncounted_of_message(rule, verdict, times);
            }
        }
        self.count_uncounted(at_hand);
        self.judge.clear();
    }

    /// Whether there is something to take over.
    #[inline]
    fn has_some(&self) -> bool {
        !self.judge.findings.is_empty() || !self.held.is_empty() || !self.uncounted.is_empty()
    }

    fn keep(&mut self, finding: Finding, at_hand: Option<&AtHand<'_>>) {
        self.cut |= finding.rule.code == NET009.code;
        if !self.selection.has(finding.rule) {
            return;
        }
        // A message may have very many findings: no more is made of each than is needed.
        if self.is_full(finding.rule, finding.verdict) {
            self.uncounted(finding.rule, finding.verdict, finding.mark.map(|mark| mark.side));
            return self.leave_out(finding.rule, finding.verdict, 1);
        }
        let Some(flow_context) = &self.flow_context else { return };
        let found = Found::of(finding, flow_context, at_hand);
        let at = found.rule.code.index();
        if !self.selection.wants(found.rule, found.who, found.party) {
            // What is ignored of a host was kept all the same.
            let asked_for = self.selection.asks_for(found.who, found.party);
            self.others[at][found.verdict as usize] +=
                u64::from(found.verdict != Verdict::Note || !asked_for);
            return;
        }
        let Some(found) = (match &mut self.baselined {
            Some(known) => known.take(found),
            None => Some(found),
        }) else {
            return;
        };
        if found.verdict != Verdict::Inconclusive {
            self.told.findings += 1;
        }
        let moment = flow_context.moment;
        self.count_party(&found, 1);
        if self.has_room(&found)
            && let Some(found) = self.across.found(moment, found)
        {
            self.found.push(found);
        }
    }

    /// Counts a finding. Says whether it is one of those that are kept.
    fn has_room(&mut self, found: &Found) -> bool {
        let kept = &mut self.kept[found.rule.code.index()][found.verdict as usize];
        *kept += 1;
        let has_room = *kept <= KEPT;
        self.left_out += u64::from(!has_room);
        has_room
    }

    /// Whether no more findings of this rule and verdict are kept.
    fn is_full(&self, rule: &Rule, verdict: Verdict) -> bool {
        self.kept[rule.code.index()][verdict as usize] >= KEPT && !self.selection.weighs_each()
    }

    /// Whether what is told is of a datagram that was doubled on the way.
    fn is_copy(&self) -> bool {
        self.flow_context.as_ref().is_some_and(|flow_context| flow_context.copy_of.is_some())
    }

    /// Counts findings that are not kept.
    fn leave_out(&mut self, rule: &Rule, verdict: Verdict, times: u64) {
        self.kept[rule.code.index()][verdict as usize] += times;
        self.left_out += times;
        if verdict != Verdict::Inconclusive {
            self.told.findings += u32::try_from(times).unwrap_or(u32::MAX);
        }
    }

    /// Counts a breach that is left out anyway, without putting it into words. Says whether it is.
    fn leaves_out(&mut self, rule: &'static Rule, recalled: Option<(Evidence, Side)>) -> bool {
        let side = recalled.map(|(_, side)| side);
        let verdict = self.judge.verdict(rule, recalled.map(|(evidence, _)| evidence));
        let is_full = self.is_full(rule, verdict);
        if is_full {
            self.judge.count_broken(rule, verdict);
            self.leave_out(rule, verdict, 1);
            self.uncounted(rule, verdict, side);
        }
        is_full
    }

    /// A rule was kept so many times: by who sent a past message, if it is about one.
    #[inline]
    fn pass(&mut self, rule: &'static Rule, side: Option<Side>, times: u32) {
        if rule.asks_for_answer {
            self.answered(side, times);
        }
        if self.asks_who {
            self.hold(rule, side, times);
        } else {
            self.judge.kept(rule, times);
        }
    }

    /// So many requests were answered: by the message at hand, or that which this side sent was.
    fn answered(&mut self, side: Option<Side>, times: u32) {
        match (side, &self.flow_context) {
            (Some(side), Some(flow_context)) => {
                self.requests.answered(flow_context.flow.ends_from(side)[1], times.into());
            }
            _ => self.answers += u64::from(times),
        }
    }

    /// Requests were answered that no message tells of: by the end that plays the part of the asked.
    #[cold]
    fn answered_without_message(&mut self) {
        let times = std::mem::take(&mut self.answers);
        let Some(FlowContext { roles, flow, .. }) = &self.flow_context else { return };
        let asked = |role: &Option<Who>| matches!(role, Some(Who::Server | Who::Master));
        let side = roles.iter().position(asked).unwrap_or(1);
        self.requests.answered(flow.ends[side], times);
    }

    #[cold]
    fn hold(&mut self, rule: &'static Rule, side: Option<Side>, times: u32) {
        let same = |held: &&mut Held| held.rule.code == rule.code && held.side == side;
        match self.held.iter_mut().find(same) {
            Some(held) => held.times += u64::from(times),
            None => self.held.push(Held { rule, side, times: times.into() }),
        }
    }

    /// Counts what was kept by the party that is asked for.
    fn count_held(&mut self, at_hand: Option<&AtHand<'_>>) {
        let mut held = std::mem::take(&mut self.held);
        for Held { rule, side, times } in held.drain(..) {
            let at_hand = at_hand.filter(|_| side.is_none());
            let side = side.or(at_hand.map(|it| it.payload.side));
            let (who, party) = match (&self.flow_context, side) {
                (Some(flow_context), Some(side)) => {
                    found::at_fault(rule, side, flow_context, at_hand.map(|it| it.message))
                }
                _ => (rule.who, None),
            };
            if self.selection.asks_for(who, party) {
                self.judge.kept(rule, u32::try_from(times).unwrap_or(u32::MAX));
            }
        }
        self.held = held;
    }
}

impl Sink for Checker {
    #[inline]
    fn judged(&mut self, rule: &'static Rule, ok: bool, at: Span, detail: impl FnOnce() -> String) {
        if ok {
            self.pass(rule, None, 1);
        } else if !self.leaves_out(rule, None) {
            self.judge.judged(rule, false, at, detail);
        }
    }
    #[inline]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        self.pass(rule, None, times);
    }
    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        if self.is_full(rule, Verdict::Note) {
            self.judge.kept(rule, 1);
            self.leave_out(rule, Verdict::Note, 1);
            self.uncounted(rule, Verdict::Note, None);
        } else {
            self.judge.noted(rule, at, detail);
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
            self.pass(rule, Some(mark.side), 1);
            return;
        }
        if rule.asks_for_answer
            && let Some(flow_context) = &self.flow_context
        {
            self.requests.unanswered(flow_context, evidence, mark);
        }
        if !self.leaves_out(rule, Some((evidence, mark.side))) {
            self.judge.recalled(rule, false, evidence, mark, detail);
        }
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.judge.evidence(evidence);
    }
    #[inline]
    fn listed(&mut self, server: SocketAddr) {
        self.across.listed(server);
    }
    fn fact(&mut self, fact: CrossFlowEvent, seen: Seen) {
        if let Some(flow_context) = &self.flow_context {
            let FlowFacts { number: flow, began, lossy, .. } = flow_context.flow;
            self.across.fact(flow_context.moment, fact, Witness { seen, flow, began, lossy });
        }
    }
    fn unless_explained(
        &mut self,
        _: &'static Rule,
        _: Option<Span>,
        fact: CrossFlowEvent,
        seen: Seen,
        _: impl FnOnce() -> String,
    ) {
        self.fact(fact, seen);
    }
    #[inline]
    fn asks(&mut self, what: &'static str, payload: &Payload<'_>) {
        self.loads.asks(group_of(payload), what, payload);
    }
    #[inline]
    fn reflects(&mut self, what: &'static str, asked: u32, payload: &Payload<'_>) {
        self.loads.reflects(group_of(payload), what, asked, payload);
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        if self.is_copy() {
            return self.take(Some(&AtHand::new(message, payload)));
        }
        self.messages += 1;
        self.told.messages += 1;
        let ends = [payload.from, payload.to];
        self.traffic.message(self.flow_context.as_ref(), self.selection.host, ends);
        if self.answers > 0 {
            self.requests.answered(payload.from, std::mem::take(&mut self.answers));
        }
        if matches!(message.speaker, Who::Client | Who::Server | Who::Master) {
            self.told.spoke = Some((payload.side, message.speaker));
        }
        if self.has_some() {
            self.take(Some(&AtHand::new(message, payload)));
        }
    }
}

impl Observer for Checker {
    #[inline]
    fn flow_context(&mut self, flow_context: FlowContext) {
        self.flow_context = Some(flow_context);
    }

    fn settle(&mut self) -> MessageCounts {
        if self.answers > 0 {
            self.answered_without_message();
        }
        if self.has_some() {
            self.take(None);
        }
        std::mem::take(&mut self.told)
    }
}

/// The group of the hosts between which a message goes: all of it is read by one thread.
#[inline]
fn group_of(payload: &Payload<'_>) -> usize {
    group(payload.from.ip(), payload.to.ip(), GROUPS)
}

/// Whether packets that the recorder dropped could explain every breach: what is wrong in a message
/// itself they cannot, nor what is told of the recording.
fn is_excused_by_drops(rule: &Rule) -> bool {
    rule.needs != Needs::Message && rule.who != Who::Capture
}

#[cfg(test)]
mod tests {
    use dissectors::kit::{Settings, Transport};
    use dissectors::net_rules::NET004;

    use super::*;
    use crate::net::Tunnels;
    use crate::session::EventOrder;

    #[test]
    fn findings_that_are_not_kept_are_counted_by_severity() {
        let ends = ["10.0.0.2:27015", "10.0.0.1:50000"].map(|end| end.parse().unwrap());
        let (began, seen, silence, lossy) = (true, [true; 2], 0, false);
        let (number, transport) = (1, Transport::Udp);
        let flow_context = FlowContext {
            protocol: None,
            flow: FlowFacts { ends, began, seen, silence, lossy, number, transport },
            roles: [None; 2],
            packet: (1, 24),
            moment: EventOrder::at(1),
            digits: 6,
            copy_of: None,
            tunnels: Tunnels::default(),
        };
        let mut checker = Checker::new(Selection::default(), Terms::of(&Settings::default(), 8));
        for _ in 0..3 {
            checker.flow_context(flow_context);
            for _ in 0..900 {
                checker.judged(&NET004, false, Span::default(), String::new);
                checker.noted(&NET011, Span::default(), String::new);
            }
            assert_eq!(checker.settle().findings, 1800);
        }
        let [notes, warnings, errors] = checker.grave();
        assert_eq!([notes, warnings, errors], [2700, 2700, 0]);
        assert_eq!((checker.found().len(), checker.left_out), (2000, 3400));
        assert_eq!(checker.judge.counts(&NET011).passed, 2700);
    }
}

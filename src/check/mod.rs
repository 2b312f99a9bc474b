//! Makes verdicts from findings: which party broke which rule where, and the result of every rule.
//!
//! A [`Checker`] reads the events of a capture. It keeps findings, up to a maximum, and counts of
//! every rule; all reports of `gamewire check` are made from its [`Checker::outcome`].

mod baseline;
mod fingerprint;
mod found;
mod groups;
mod ignores;
mod outcome;
mod review;
mod reviewed;
mod selection;
mod tally;
mod traffic;
mod weight;

use std::collections::BTreeSet;

use dissectors::catalogue;
use dissectors::kit::{
    Counts, Evidence, Finding, FlowFacts, Mark, Payload, Rule, RuleResults, Settings, Severity,
    Side, Sink, Verdict,
};
use dissectors::ledger::{CrossFlowBreach, Ledger, LedgerSettings, seems_lossy};
use dissectors::net_rules::{NET006, NET009, NET011};

use crate::capture::Packets;
use crate::filter::Filter;
use crate::flows::is_excused_by_drops;
use crate::message::MessageRef;
use crate::session::{
    self, Checked, Decoder, Event, FieldLimits, Findings, FlowContext, LeftOut, MessageEvent,
    Messages, Options, PassedRule, Passes, Totals, Traffic,
};

pub use crate::session::ExchangeCounts;
pub use baseline::{Baseline, BaselineError, Baselined};
#[doc(hidden)]
pub use fingerprint::Fingerprint;
use found::CurrentMessage;
pub use found::{Excerpt, ReportedFinding};
#[doc(hidden)]
pub use groups::{ByParty, FindingGroup};
pub use ignores::{Ignore, Ignores};
#[doc(hidden)]
pub use outcome::gravest_first;
pub use outcome::{Outcome, RuleOutcome, RuleStatus};
pub use reviewed::{ReviewedFlow, ReviewedFlows, Reviewer};
pub use selection::{FailOn, Host, Rules, Selection};
#[doc(hidden)]
pub use selection::{rule, severity, who};
pub use tally::{Party, Tally};
use traffic::SelectedTraffic;
#[doc(hidden)]
pub use weight::{WEIGHTS, weight};

/// Maximum number of findings of one rule and one verdict; further ones are counted. A single
/// message may reach it.
const KEPT: u64 = RuleResults::MOST;

/// Reads a capture and checks it. `complete`: the user states that nothing is missing.
///
/// ```
/// use gamewire::check::{RuleStatus, Selection, check};
/// use gamewire::{Options, Severity, capture};
///
/// let mut packets = capture::open("samples/a2s-info-players-rules.pcap".as_ref())?;
/// let outcome = check(&mut *packets, Options::default(), Selection::default(), true);
/// assert!(!outcome.is_broken(Severity::Error));
/// let rule = outcome.rules.iter().find(|it| it.rule.code.to_string() == "A2S062");
/// assert_eq!(rule.map(|rule| rule.status()), Some(RuleStatus::Pass));
/// # Ok::<(), gamewire::capture::CaptureError>(())
/// ```
pub fn check(
    packets: &mut dyn Packets,
    options: Options,
    selection: Selection,
    complete: bool,
) -> Outcome {
    let ledger_settings = ledger_settings(&options.settings, options.settings.limits.remembered);
    let needs = Checker::needs(&selection, &ledger_settings);
    let severities = selection.severities.clone();
    let decoder = Decoder::new(Options { needs, complete, severities, ..options });
    let mut checker = Checker::new(selection, ledger_settings, complete);
    let mut totals = decoder.read(packets, |event| checker.event(event));
    checker.outcome(Vec::new(), &mut totals)
}

/// The settings for rules that span flows, with this limit on remembered items.
pub fn ledger_settings(settings: &Settings, remembered: usize) -> LedgerSettings {
    // Before they are sorted, challenges take up to twice the memory.
    LedgerSettings::of(settings, remembered / 2)
}

/// Checks the events of a capture, where a program reads the packets itself.
///
/// ```
/// use gamewire::check::{Checker, Selection, ledger_settings};
/// use gamewire::{Decoder, Options, Settings, capture};
///
/// let settings = Settings::default();
/// let (selection, ledger) = (Selection::default(), ledger_settings(&settings, 1 << 20));
/// let needs = Checker::needs(&selection, &ledger);
/// let mut checker = Checker::new(selection, ledger, false);
/// let mut packets = capture::open("samples/a2s-quirks.pcap".as_ref())?;
/// let decoder = Decoder::new(Options { needs, settings, ..Options::default() });
/// let mut totals = decoder.read(&mut *packets, |event| checker.event(event));
/// assert_eq!(checker.outcome(Vec::new(), &mut totals).messages, 41);
/// # Ok::<(), gamewire::capture::CaptureError>(())
/// ```
pub struct Checker {
    results: RuleResults,
    /// State across flows.
    ledger: Ledger,
    ledger_settings: LedgerSettings,
    selection: Selection,
    found: Vec<ReportedFinding>,
    /// The number of selected findings, kept or not, except for those in the baseline.
    tally: Tally,
    left_out: u64,
    baselined: Option<Baselined>,
    /// Whether a host or a filter selects any message.
    selected: SelectedTraffic,
    /// The counts of messages, at the end of the capture.
    traffic: Traffic,
    cut: bool,
    /// The results for flows that only the whole capture shows.
    reviewed: ReviewedFlows,
}

impl Checker {
    /// A new checker. `ledger_settings`: settings for rules that span flows; `complete`: the user states that
    /// the capture is complete.
    pub fn new(selection: Selection, ledger_settings: LedgerSettings, complete: bool) -> Checker {
        let mut results = RuleResults::new(selection.severities.clone());
        results.evidence(Evidence { complete, ..Evidence::default() });
        Checker {
            results: if selection.weighs_each() { results.keeping_all() } else { results },
            ledger: Ledger::new(ledger_settings),
            ledger_settings,
            baselined: selection.baseline.clone().map(Baselined::new),
            selection,
            found: Vec::new(),
            tally: Tally::default(),
            left_out: 0,
            selected: SelectedTraffic::default(),
            traffic: Traffic::default(),
            cut: false,
            reviewed: ReviewedFlows::default(),
        }
    }

    /// The events that a checker needs.
    pub fn needs(selection: &Selection, ledger_settings: &LedgerSettings) -> session::Needs {
        let asks_who = selection.asks_who();
        let fields = selection.filter.as_ref().is_some_and(Filter::needs_fields);
        // Messages without findings show whether any is selected.
        let needs_all = asks_who || selection.filter.is_some();
        session::Needs {
            messages: if needs_all { Messages::All } else { Messages::WithFindings },
            findings: Findings::All { in_words: selection.weighs_each() },
            passes: if asks_who { Passes::All } else { Passes::None },
            fields: fields.then_some(FieldLimits::default()),
            traffic: Some(ledger_settings.most),
            cross_flow: true,
            hosts: true,
            ..session::Needs::default()
        }
    }

    /// The next event of the capture.
    #[inline]
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Message(message) => self.message(message),
            Event::Checked(it) => {
                self.checked(&it.checked(), it.context(), None);
            }
            Event::CrossFlow(it) => self.ledger.cross_flow(it),
            Event::Icmp(_) | Event::Datagram(_) | Event::FlowEnded(_) | Event::File(_) => {}
            Event::Unanswered(_) => {}
        }
    }

    fn message(&mut self, m: &MessageEvent<'_>) {
        let context = m.context();
        self.selected.message(&self.selection, m);
        let message = m.to_ref();
        self.checked(&message.checked, context, Some(&CurrentMessage::of(message)));
    }

    /// Findings and passes of the current message, or of an earlier one.
    fn checked(
        &mut self,
        checked: &Checked<'_>,
        context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
    ) {
        for passes in checked.passes {
            self.count_passes(passes, context, current);
        }
        for finding in checked.findings {
            self.keep(finding, context, current, None);
        }
        for left_out in checked.left_out {
            if self.selection.has(left_out.rule) {
                self.leave_out(left_out, context, current);
            }
        }
    }

    /// The findings so far, in the order in which they were reported.
    pub fn found(&self) -> &[ReportedFinding] {
        &self.found
    }

    /// The number of findings so far, kept or only counted, by rule and severity. Each checked rule
    /// is listed with its severity, even without findings, and notes separately.
    pub fn counts(&self) -> impl Iterator<Item = (&'static Rule, Severity, u64)> {
        let rules = catalogue::rules().into_iter().filter(|rule| self.selection.has(rule));
        rules.flat_map(|rule| {
            let (counts, of_rule) = (self.tally.of(rule), self.selection.severities.of(rule));
            let has_notes = counts.noted > 0 && of_rule != Severity::Note;
            let severities = [Some(of_rule), has_notes.then_some(Severity::Note)];
            let count = move |severity| (rule, severity, counts.of_severity(severity, of_rule));
            severities.into_iter().flatten().map(count)
        })
    }

    /// The number of findings so far, kept or only counted, by severity.
    pub fn severity_counts(&self) -> [u64; 3] {
        let mut severity_counts = [0; 3];
        self.counts().for_each(|(_, severity, count)| severity_counts[severity as usize] += count);
        severity_counts
    }

    /// The outcome.
    pub fn outcome(mut self, captures: Vec<String>, read: &mut Totals) -> Outcome {
        self.traffic = std::mem::take(&mut read.traffic);
        self.results.add(&read.rules);
        let orphans = self.review(read);
        let responses = self.traffic.exchanges().answered + orphans;
        let gaps = self.traffic.gaps;
        let messages = self.results.counts(&NET006).passed + gaps;
        let seems_lossy = seems_lossy(orphans, responses) || seems_lossy(gaps, messages);
        self.reviewed.dropped = read.dropped || seems_lossy;
        if seems_lossy && !read.dropped {
            self.note_losses(orphans, gaps);
        }
        self.review_requests(read);
        self.review_cut(read);
        if self.reviewed.dropped {
            self.excuse();
        }
        let known = self.baselined.iter_mut().flat_map(|known| &mut known.findings);
        for found in self.found.iter_mut().chain(known) {
            found.capture = read.files.of(found.frame());
        }
        // Sorting the findings themselves would need as much memory again.
        let place =
            |found: &ReportedFinding| (found.frame(), found.rule.code, found.offset, found.flow);
        self.found.sort_by_cached_key(place);
        let counts = |rule: &&Rule| self.selection.has(rule) || self.selection.requires(rule);
        let rules = catalogue::rules().into_iter().filter(counts);
        let rules: Vec<_> = rules.map(|rule| self.status(rule, read)).collect();
        let lacking = self.selected.lacking(&self.selection, &rules, &self.traffic, read);
        let capture = captures.join(", ");
        Outcome {
            captures,
            packets: read.packets,
            span: read.span,
            messages: self.traffic.messages,
            flows: u64::from(read.flows),
            requests: self.traffic.exchanges(),
            seems_lossy,
            rules,
            findings: self.found,
            tally: self.tally,
            lacking: lacking.map(|there| (capture, there)).into_iter().collect(),
            requires_traffic: self.selection.requires_traffic,
            left_out: self.left_out,
            baselined: self.baselined,
            reviewed: self.reviewed,
        }
    }

    /// Packets were dropped at unknown places: breaches that depend on missing packets are no
    /// longer proven.
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

    /// The result of a rule. A required rule that is not selected counts as not exercised.
    fn status(&self, rule: &'static Rule, read: &Totals) -> RuleOutcome {
        let severity = self.selection.severities.of(rule);
        let mut rule_outcome = RuleOutcome::new(rule, severity);
        if self.selection.has(rule) {
            let (all, found) = (self.results.counts(rule), self.tally.of(rule));
            let silent = u64::from(self.is_kept_by_silence(rule, read));
            let known = self.baselined.as_ref().map_or(0, |known| known.failed(rule));
            rule_outcome.in_baseline = known;
            let passed = all.passed - all.noted + found.passed + silent;
            rule_outcome.counts = Counts { passed, ..found };
            if self.reviewed.dropped && is_excused_by_drops(rule) {
                let Counts { failed, inconclusive, .. } = &mut rule_outcome.counts;
                *inconclusive += std::mem::take(failed);
            }
        }
        let is_missing = rule_outcome.status() == RuleStatus::NotExercised;
        rule_outcome.missing = u64::from(is_missing && self.selection.requires(rule));
        rule_outcome
    }

    /// A capture that was not cut, and for which no limit was reached, passes the rules about that.
    fn is_kept_by_silence(&self, rule: &Rule, read: &Totals) -> bool {
        let is_silent = match () {
            () if rule == &NET009 => !self.cut,
            () if rule == &NET011 => self.results.counts(rule).failed == 0,
            () => false,
        };
        is_silent && read.packets > 0 && self.selection.asks_for(rule.who, None)
    }

    /// Takes the results, which are not about a current message. `breach`: that which several flows together show.
    fn take(&mut self, context: &FlowContext, breach: Option<&CrossFlowBreach>) {
        let findings = std::mem::take(&mut self.results.findings);
        for finding in &findings {
            self.keep(finding, context, None, breach);
        }
        self.results.clear();
    }

    fn keep(
        &mut self,
        finding: &Finding,
        context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
        breach: Option<&CrossFlowBreach>,
    ) {
        self.cut |= finding.rule == &NET009;
        if !self.selection.has(finding.rule) {
            return;
        }
        // There may be very many: only as much work is done for each as needed.
        if self.is_full(finding.rule, finding.verdict) {
            return self.leave_out(&LeftOut::of(finding), context, current);
        }
        let found = ReportedFinding::of(finding, context, current);
        let attack = breach.and_then(|breach| breach.attack.clone());
        let asked = breach.and_then(CrossFlowBreach::asked);
        let client = breach.and_then(CrossFlowBreach::client);
        let found = ReportedFinding { attack, asked, client, ..found };
        let is_asked_for = self.selection.asks_for(found.who, found.party);
        let is_wanted = self.selection.wants(found.rule, found.who, found.party)
            && self.is_filtered_in(finding, context, current);
        let Some(found) = Some(found).filter(|_| is_wanted).and_then(|found| self.if_new(found))
        else {
            // With a known deviation, it passed; a breach that is ignored for a host did not.
            if finding.verdict == Verdict::Note && is_asked_for {
                self.tally.pass(finding.rule);
            }
            return;
        };
        if self.tally.count(found.rule, found.verdict, Party::of(&found), 1) <= KEPT {
            self.found.push(found);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns a finding unless it is in the baseline.
    fn if_new(&mut self, found: ReportedFinding) -> Option<ReportedFinding> {
        match &mut self.baselined {
            Some(known) => known.take(found),
            None => Some(found),
        }
    }

    /// Counts findings that are not kept, also for the party at fault.
    fn leave_out(
        &mut self,
        left_out: &LeftOut,
        context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
    ) {
        let &LeftOut { rule, verdict, side, times, .. } = left_out;
        let at_fault = found::at_fault_by(rule, side, context, current);
        let party = at_fault.and_then(|(who, party)| Party::new(who, party));
        self.tally.count(rule, verdict, party, times);
        self.left_out += times;
    }

    /// Whether the filter, if any, selects the message of a finding.
    fn is_filtered_in(
        &self,
        finding: &Finding,
        context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
    ) -> bool {
        let Some(filter) = &self.selection.filter else { return true };
        let message = match (current, finding.mark) {
            (Some(current), None) => current.message,
            (_, mark) => {
                let (protocol, flow) = (context.protocol, &context.flow);
                let payload = match mark {
                    Some(Mark { frame, time, side, .. }) => {
                        Payload { frame, time, ..flow.payload(side, &[], &[]) }
                    }
                    None => {
                        let ends = FlowContext::outside(context.digits).flow.ends;
                        FlowFacts { ends, ..*flow }.payload(Side::First, &[], &[])
                    }
                };
                MessageRef { protocol, ..MessageRef::undecoded(payload) }
            }
        };
        // The filter is about this finding alone, and selects it also if it is inconclusive.
        let left_out = &[LeftOut { verdict: Verdict::Fail, ..LeftOut::of(finding) }];
        let checked = Checked { left_out, ..Checked::default() };
        filter.matches(&MessageRef { checked, ..message })
    }

    /// Whether the maximum of findings of this rule and verdict is reached.
    fn is_full(&self, rule: &Rule, verdict: Verdict) -> bool {
        self.tally.of(rule).of(verdict) >= KEPT && !self.selection.weighs_each()
    }

    /// Counts a breach that is left out anyway, without its text. Returns whether it is.
    fn leaves_out(
        &mut self,
        rule: &'static Rule,
        verdict: Verdict,
        side: Side,
        context: &FlowContext,
    ) -> bool {
        let is_full = self.is_full(rule, verdict);
        if is_full {
            self.results.count(rule, verdict, 1);
            let severity = self.results.severity(rule, verdict);
            let left_out = LeftOut { rule, verdict, severity, side: Some(side), times: 1 };
            self.leave_out(&left_out, context, None);
        }
        is_full
    }

    /// Counts passes of the selected party.
    fn count_passes(
        &mut self,
        passes: &PassedRule,
        context: &FlowContext,
        current: Option<&CurrentMessage<'_>>,
    ) {
        let &PassedRule { rule, side, times } = passes;
        let at_fault = found::at_fault_by(rule, side, context, current);
        let (who, party) = at_fault.unwrap_or((rule.who, None));
        if self.selection.asks_for(who, party) {
            self.results.kept(rule, u32::try_from(times).unwrap_or(u32::MAX));
        }
    }
}

#[cfg(test)]
mod tests;

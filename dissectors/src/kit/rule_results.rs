//! The results of checking rules: counts of all rules, findings of the current message.

use crate::kit::{
    Clock, Counts, Evidence, Finding, LeftOut, Mark, Rounds, Rule, RuleCounts, Severities,
    Severity, Sink, Span, Time, Verdict,
};

/// The clock at this time, if the message is an earlier one.
fn at(clock: Clock, time: Option<Time>) -> Clock {
    Clock { now: time.unwrap_or(clock.now), ..clock }
}

/// Counts passes, and keeps findings.
pub struct RuleResults {
    counts: RuleCounts,
    /// Findings since the end of the last message, up to `most` of a kind.
    pub findings: Vec<Finding>,
    /// All findings since then, by rule and verdict.
    found: Vec<LeftOut>,
    /// Findings of one rule and verdict that are kept.
    most: u64,
    severities: Severities,
    evidence: Evidence,
    /// What is checked was recorded whole, whatever the recording lost of the message.
    is_whole: bool,
    /// The number that the message claims to have been given before.
    number: Option<u32>,
    /// The current flow, if what it does round after round counts.
    flow: Option<(Rounds, Clock)>,
}

impl Default for RuleResults {
    fn default() -> RuleResults {
        RuleResults {
            counts: RuleCounts::default(),
            findings: Vec::new(),
            found: Vec::new(),
            most: RuleResults::MOST,
            severities: Severities::default(),
            evidence: Evidence::default(),
            is_whole: false,
            number: None,
            flow: None,
        }
    }
}

impl RuleResults {
    /// Limit: findings kept of one rule and verdict, per capture and message | {}; all are counted |
    /// `findings_left_out`
    pub const MOST: u64 = 1000;

    /// Uses the user's severities.
    pub fn new(severities: Severities) -> RuleResults {
        RuleResults { severities, ..RuleResults::default() }
    }

    /// Keeps all findings of a message, because each may be about another party.
    #[must_use]
    pub fn keeping_all(self) -> RuleResults {
        RuleResults { most: u64::MAX, ..self }
    }

    /// The findings that were not kept since the last message ended.
    pub fn left_out(&self) -> impl Iterator<Item = LeftOut> {
        let over = self.found.iter().filter(|found| found.times > self.most);
        over.map(|found| LeftOut { times: found.times - self.most, ..*found })
    }

    /// Whether there are findings since the end of the last message, kept or not.
    #[inline]
    pub const fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// The message has ended: clears its findings.
    pub fn clear(&mut self) {
        self.findings.clear();
        self.found.clear();
    }

    /// The results of a rule so far.
    pub fn counts(&self, rule: &Rule) -> Counts {
        self.counts.of(rule)
    }

    /// Whether the user states that the whole capture is complete.
    pub const fn is_complete(&self) -> bool {
        self.evidence.complete
    }

    /// The results of all rules.
    pub fn into_counts(self) -> RuleCounts {
        self.counts
    }

    /// Adds other counts.
    pub fn add(&mut self, counts: &RuleCounts) {
        self.counts.add(counts);
    }

    /// The severity of a finding with this verdict.
    pub fn severity(&self, rule: &Rule, verdict: Verdict) -> Severity {
        verdict.severity(self.severities.of(rule))
    }

    /// The following results are of a flow that has broken rules in these rounds.
    #[inline]
    pub fn enter_flow(&mut self, rounds: Rounds, clock: Clock) {
        self.flow = Some((rounds, clock));
    }

    /// The flow's rounds, with those since [`RuleResults::enter_flow`], if it was entered.
    #[inline]
    pub fn leave_flow(&mut self) -> Option<Rounds> {
        self.flow.take().map(|(rounds, _)| rounds)
    }

    /// The verdict on a breach by an earlier message, if that has its own evidence and time.
    pub fn verdict(&self, rule: &Rule, recalled: Option<(Evidence, Time)>) -> Verdict {
        let evidence = self.evidence_of(recalled.map(|(evidence, _)| evidence));
        let is_proven =
            self.in_rounds(rule, evidence, recalled.map(|(_, time)| time)).suffices(rule.needs);
        if is_proven { Verdict::Fail } else { Verdict::Inconclusive }
    }

    /// The evidence at a breach, of an earlier message if that has its own time, with what earlier rounds of the flow
    /// prove.
    pub fn in_rounds(&self, rule: &Rule, evidence: Evidence, time: Option<Time>) -> Evidence {
        let prove =
            |(rounds, clock): &(Rounds, Clock)| rounds.prove(rule, self.number, at(*clock, time));
        Evidence { began: evidence.began || self.flow.as_ref().is_some_and(prove), ..evidence }
    }

    /// The flow breaks a rule, in an earlier message if that has its own evidence and time. It is a round unless the
    /// recording lost something; what is proven anyway needs no rounds.
    pub fn round_broken(&mut self, rule: &Rule, recalled: Option<(Evidence, Time)>) {
        let evidence = self.evidence_of(recalled.map(|(evidence, _)| evidence));
        let from_begin = Evidence { began: true, asked_party_seen: true, ..evidence };
        if !evidence.suffices(rule.needs)
            && from_begin.suffices(rule.needs)
            && let Some((rounds, clock)) = &mut self.flow
        {
            rounds.broken(rule, self.number, at(*clock, recalled.map(|(_, time)| time)));
        }
    }

    /// The flow keeps a rule.
    #[inline]
    pub fn round_kept(&mut self, rule: &Rule) {
        if let Some((rounds, _)) = &mut self.flow
            && !rounds.is_empty()
        {
            rounds.kept(rule);
        }
    }

    fn evidence_of(&self, recalled: Option<Evidence>) -> Evidence {
        let current = Evidence { lost: self.evidence.lost && !self.is_whole, ..self.evidence };
        recalled.map_or(current, |evidence| Evidence {
            complete: evidence.complete || self.evidence.complete,
            lossy: evidence.lossy || self.evidence.lossy,
            ..evidence
        })
    }

    /// Whether a breach by an earlier message is proven as soon as the asked party's host is heard in any flow.
    pub fn is_proven_if_heard(&self, rule: &Rule, recalled: Evidence) -> bool {
        self.evidence_of(Some(recalled)).suffices_if_heard(rule)
    }

    /// So many inconclusive results of a rule are proven after all.
    pub fn prove(&mut self, rule: &Rule, times: u64) {
        self.counts.of_mut(rule).prove(times);
    }

    /// Counts findings with this verdict, which are not kept.
    pub fn count(&mut self, rule: &Rule, verdict: Verdict, times: u64) {
        self.counts.of_mut(rule).count(verdict, times);
    }

    /// Counts a breach, by an earlier message if that has its own evidence and time. Returns its verdict.
    pub fn count_breach(&mut self, rule: &Rule, recalled: Option<(Evidence, Time)>) -> Verdict {
        let verdict = self.verdict(rule, recalled);
        self.round_broken(rule, recalled);
        self.count(rule, verdict, 1);
        verdict
    }

    /// Counts a breach. Returns its verdict if the finding should be kept.
    #[cold]
    fn broken(
        &mut self,
        rule: &'static Rule,
        recalled: Option<(Evidence, Time)>,
    ) -> Option<Verdict> {
        let verdict = self.count_breach(rule, recalled);
        self.has_room(rule, verdict).then_some(verdict)
    }

    #[inline]
    fn passed(&mut self, rule: &Rule, times: u32) {
        self.round_kept(rule);
        self.counts.of_mut(rule).passed += u64::from(times);
    }

    /// A note about an earlier message: the rule passes.
    pub fn noted_before(
        &mut self,
        rule: &'static Rule,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        if self.has_room_for_note(rule) {
            self.keep(rule, Verdict::Note, mark.whole(), Some(mark), detail());
        }
    }

    fn has_room_for_note(&mut self, rule: &'static Rule) -> bool {
        self.round_kept(rule);
        self.count(rule, Verdict::Note, 1);
        self.has_room(rule, Verdict::Note)
    }

    /// Keeps a finding. `mark`: of the message that it is about, if not the current one.
    #[cold]
    fn keep(
        &mut self,
        rule: &'static Rule,
        verdict: Verdict,
        span: Span,
        mark: Option<&Mark>,
        detail: String,
    ) {
        let severity = self.severity(rule, verdict);
        let finding = Finding::of(rule, verdict, severity, span, detail);
        self.findings.push(Finding { mark: mark.copied(), ..finding });
    }

    /// Counts a finding. Returns whether to keep it, since a message may have as many as it has
    /// bytes.
    fn has_room(&mut self, rule: &'static Rule, verdict: Verdict) -> bool {
        let severity = self.severity(rule, verdict);
        let found = LeftOut { rule, verdict, severity, side: None, times: 1 };
        let times = found.add_to(&mut self.found, 0);
        times <= self.most
    }
}

impl Sink for RuleResults {
    #[inline]
    fn checked(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        at: Span,
        detail: impl FnOnce() -> String,
    ) {
        if ok {
            self.passed(rule, 1);
        } else if let Some(verdict) = self.broken(rule, None) {
            self.keep(rule, verdict, at, None, detail());
        }
    }

    #[inline]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        self.passed(rule, times);
    }

    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        if self.has_room_for_note(rule) {
            self.keep(rule, Verdict::Note, at, None, detail());
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
            self.passed(rule, 1);
            return;
        }
        if let Some(verdict) = self.broken(rule, Some((evidence, mark.time))) {
            self.keep(rule, verdict, mark.whole(), Some(mark), detail());
            let if_heard = self.is_proven_if_heard(rule, evidence);
            if let Some(found) = self.findings.last_mut() {
                found.if_heard = if_heard;
            }
        }
    }

    /// The user's statement is about the whole capture, so it stays in effect.
    fn evidence(&mut self, evidence: Evidence) {
        let complete = evidence.complete || self.evidence.complete;
        self.evidence = Evidence { complete, ..evidence };
        (self.is_whole, self.number) = (false, None);
    }

    fn claims_number(&mut self, number: u32) {
        self.number = Some(number);
    }

    fn whole_elements(&mut self, are: bool) {
        self.is_whole = are;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net_rules::{NET008, NET011};

    #[test]
    fn of_a_message_each_rule_keeps_a_bounded_number_of_findings() {
        let left_out = |results: &RuleResults| {
            Vec::from_iter(results.left_out().map(|it| (it.rule.code, it.verdict, it.times)))
        };
        for (mut results, kept) in
            [(RuleResults::default(), 1000), (RuleResults::default().keeping_all(), 3000)]
        {
            for _ in 0..3000 {
                results.noted(&NET011, Span::default(), String::new);
            }
            results.checked(&NET008, false, Span::default(), String::new);
            assert_eq!(results.findings.len(), kept + 1, "notes hide nothing else");
            assert_eq!(results.counts(&NET011).passed, 3000);
            let after = (3000 - kept) as u64;
            let expected = [(NET011.code, Verdict::Note, after)];
            assert_eq!(
                left_out(&results),
                expected.into_iter().filter(|_| after > 0).collect::<Vec<_>>()
            );
            results.clear();
            assert_eq!((results.findings.len(), left_out(&results).len()), (0, 0));
            results.noted(&NET011, Span::default(), String::new);
            assert_eq!(results.findings.len(), 1);
        }
    }
}

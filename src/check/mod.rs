//! From judgements to verdicts: who broke what, where, and how every rule of the catalogue fared.
//!
//! A [`Checker`] looks on while a session reads a capture. It keeps what was found, bounded, and the
//! counts of every rule; [`Checker::outcome`] is what all reports of `gamewire check` are written
//! from.

mod baseline;
mod fingerprint;
mod found;
mod outcome;
mod parts;
mod selection;

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::{
    CODES, Evidence, Fact, Finding, FlowFacts, Judge, Mark, Message, Payload, Rule, Seen, Side,
    Sink, Span, Verdict, Who,
};
use dissectors::ledger::{Ledger, Ruling, Witness};

use crate::session::{Scene, Told, Totals, View};

pub use baseline::{Baseline, BaselineError, Baselined};
pub use fingerprint::Fingerprint;
pub use found::{Excerpt, Found};
pub use outcome::{Fared, Outcome, RuleOutcome};
use parts::Across;
pub use parts::FlowFact;
pub use selection::{Host, Ignore, Selection, rule, severity};

/// Findings of one rule that are kept; further ones are counted.
const KEPT: u64 = 1000;

/// Judges a capture.
pub struct Checker {
    judge: Judge,
    across: Across,
    selection: Selection,
    scene: Option<Scene>,
    told: Told,
    found: Vec<Found>,
    kept: Box<[u64; CODES]>,
    left_out: u64,
    baselined: Option<Baselined>,
    /// What was counted but does not count: findings that the selection leaves out.
    others: Box<[[u64; 2]; CODES]>,
    messages: u64,
    cut: bool,
    drops: bool,
}

impl Checker {
    /// Nothing judged yet. Of what is known across flows, at most so many facts of a kind are kept.
    pub fn new(selection: Selection, facts: usize) -> Checker {
        Checker {
            judge: Judge::new(selection.severities.clone()),
            across: Across::new(Some(Ledger::new(facts))),
            baselined: selection.baseline.clone().map(Baselined::new),
            selection,
            scene: None,
            told: Told::default(),
            found: Vec::new(),
            kept: Box::new([0; CODES]),
            left_out: 0,
            others: Box::new([[0; 2]; CODES]),
            messages: 0,
            cut: false,
            drops: false,
        }
    }

    /// What was found so far, in the order in which it was told.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// What came of it all.
    pub fn outcome(mut self, captures: Vec<String>, read: &Totals) -> Outcome {
        self.review(read.lossy);
        self.found.sort_by(|a, b| {
            (a.frame(), a.rule.code, a.offset, a.flow).cmp(&(
                b.frame(),
                b.rule.code,
                b.offset,
                b.flow,
            ))
        });
        let rules = catalogue::rules().into_iter().filter(|rule| self.selection.has(rule));
        let rules = rules.map(|rule| {
            let [failed, inconclusive] = self.others[rule.code.index()];
            let counts = self.judge.counts(rule);
            let known = self.baselined.as_ref().map_or(0, |known| known.failed(rule.code));
            RuleOutcome {
                rule,
                severity: self.selection.severities.of(rule),
                passed: counts.passed + u64::from(self.is_kept_by_silence(rule, read)),
                failed: counts.failed.saturating_sub(failed + known),
                in_baseline: known,
                inconclusive: counts.inconclusive.saturating_sub(inconclusive),
            }
        });
        Outcome {
            captures,
            packets: read.packets,
            messages: self.messages,
            flows: u64::from(read.flows),
            rules: rules.collect(),
            findings: self.found,
            left_out: self.left_out,
            baselined: self.baselined,
        }
    }

    /// A capture that was not cut, and of which nobody says that packets were dropped, keeps the
    /// rules that ask for that.
    fn is_kept_by_silence(&self, rule: &Rule, read: &Totals) -> bool {
        read.packets > 0
            && match rule.slug {
                "file-cut" => !self.cut,
                "capture-drops" => !self.drops,
                "limit-met" => self.judge.counts(rule).failed == 0,
                _ => false,
            }
    }

    /// Judges what only all flows together show.
    fn review(&mut self, lossy: bool) {
        let Some(review) = self.across.review() else { return };
        for (rule, count) in review.kept {
            self.judge.kept(rule, u32::try_from(count).unwrap_or(u32::MAX));
        }
        for ruling in review.rulings {
            let Ruling { rule, witness, .. } = ruling;
            let Some(scene) = &mut self.scene else { return };
            let Seen { mark, from, to } = witness.seen;
            let knows = |id: &&Id| id.info().rules.iter().any(|other| other.code == rule.code);
            scene.protocol = Id::ALL.iter().find(knows).copied();
            scene.flow = FlowFacts {
                ends: [from, to],
                began: witness.began,
                number: witness.flow,
                ..scene.flow
            };
            scene.roles = [Some(ruling.speaker), None];
            let mark = Mark { side: Side::First, ..mark };
            self.judge.evidence(Evidence { lossy, ..Evidence::default() });
            self.judge.recalled(rule, false, ruling.evidence, &mark, || ruling.detail);
            self.take(None);
        }
    }

    /// Takes over what the judge found, as findings about this message or about a past one.
    fn take(&mut self, message: Option<(&'static Message, &Payload<'_>)>) {
        let mut findings = std::mem::take(&mut self.judge.findings);
        for finding in findings.drain(..) {
            self.keep(finding, message);
        }
        self.judge.findings = findings;
    }

    fn keep(&mut self, finding: Finding, message: Option<(&'static Message, &Payload<'_>)>) {
        self.cut |= finding.rule.slug == "file-cut";
        self.drops |= finding.rule.slug == "capture-drops";
        if !self.selection.has(finding.rule) {
            return;
        }
        let Some(scene) = &self.scene else { return };
        let found = Found::of(finding, scene, message);
        let wanted = self.selection.wants(&found);
        let at = found.rule.code.index();
        if !wanted {
            match found.verdict {
                Verdict::Fail => self.others[at][0] += 1,
                Verdict::Inconclusive => self.others[at][1] += 1,
                Verdict::Note => {}
            }
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
        self.kept[at] += 1;
        if self.kept[at] > KEPT {
            self.left_out += 1;
        } else {
            self.found.push(found);
        }
    }

    /// Whether one more finding of this rule is to be put into words: not if it is left out anyway.
    #[inline]
    fn reads(&self, rule: &Rule) -> bool {
        self.kept[rule.code.index()] < KEPT || self.baselined.is_some() || self.selection.chooses()
    }

    /// Counts a finding that is left out, as [`keep`](Checker::keep) would.
    fn leave_out(&mut self, rule: &'static Rule, recalled: Option<Evidence>) {
        if self.judge.count_broken(rule, recalled) != Verdict::Inconclusive {
            self.told.findings += 1;
        }
        self.kept[rule.code.index()] += 1;
        self.left_out += 1;
    }
}

impl Sink for Checker {
    #[inline]
    fn judged(&mut self, rule: &'static Rule, ok: bool, at: Span, detail: impl FnOnce() -> String) {
        if ok || self.reads(rule) {
            self.judge.judged(rule, ok, at, detail);
        } else {
            self.leave_out(rule, None);
        }
    }
    #[inline]
    fn kept(&mut self, rule: &'static Rule, times: u32) {
        self.judge.kept(rule, times);
    }
    fn noted(&mut self, rule: &'static Rule, at: Span, detail: impl FnOnce() -> String) {
        self.judge.noted(rule, at, detail);
    }
    fn recalled(
        &mut self,
        rule: &'static Rule,
        ok: bool,
        evidence: Evidence,
        mark: &Mark,
        detail: impl FnOnce() -> String,
    ) {
        if ok || self.reads(rule) {
            self.judge.recalled(rule, ok, evidence, mark, detail);
        } else {
            self.leave_out(rule, Some(evidence));
        }
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.judge.evidence(evidence);
    }
    #[inline]
    fn listed(&mut self, server: SocketAddr) {
        self.across.listed(server);
    }
    fn fact(&mut self, fact: Fact, seen: Seen) {
        if let Some(scene) = &self.scene {
            let FlowFacts { number: flow, began, .. } = scene.flow;
            self.across.fact(scene.moment, fact, Witness { seen, flow, began });
        }
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        self.messages += 1;
        self.told.messages += 1;
        if matches!(message.speaker, Who::Client | Who::Server | Who::Master) {
            self.told.spoke = Some((payload.side, message.speaker));
        }
        if !self.judge.findings.is_empty() {
            self.take(Some((message, payload)));
        }
    }
}

impl View for Checker {
    #[inline]
    fn scene(&mut self, scene: Scene) {
        self.scene = Some(scene);
    }

    fn settle(&mut self) -> Told {
        if !self.judge.findings.is_empty() {
            self.take(None);
        }
        std::mem::take(&mut self.told)
    }
}

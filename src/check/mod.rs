//! From judgements to verdicts: who broke what, where, and how every rule of the catalogue fared.
//!
//! A [`Checker`] looks on while a session reads a capture. It keeps what was found, bounded, and the
//! counts of every rule; [`Checker::outcome`] is what all reports of `gamewire check` are written
//! from.

mod found;
mod outcome;

use std::net::SocketAddr;

use dissectors::Id;
use dissectors::catalogue;
use dissectors::kit::{
    CODES, Evidence, Fact, Finding, FlowFacts, Judge, Mark, Message, Payload, Rule, Seen, Side,
    Sink, Span, Verdict, Who,
};
use dissectors::ledger::{Ledger, Ruling};

use crate::session::{Scene, Session, Told, View};

pub use found::{Excerpt, Found};
pub use outcome::{Fared, Outcome, RuleOutcome};

/// Findings of one rule that are kept; further ones are counted.
const KEPT: u64 = 1000;

/// Which findings count.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these rules, if there are any.
    pub select: Vec<&'static Rule>,
    /// Not these rules.
    pub ignore: Vec<&'static Rule>,
    /// Only what this kind of party did.
    pub who: Option<Who>,
    /// Only what this host did.
    pub host: Option<Host>,
}

/// A party to look at: an address, and perhaps a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The address.
    pub address: std::net::IpAddr,
    /// The port; any, if none.
    pub port: Option<u16>,
}

impl Host {
    fn is(self, party: SocketAddr) -> bool {
        self.address == party.ip() && self.port.is_none_or(|port| port == party.port())
    }
}

impl std::str::FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Host, String> {
        if let Ok(end) = text.parse::<SocketAddr>() {
            return Ok(Host { address: end.ip(), port: Some(end.port()) });
        }
        let address = text.trim_start_matches('[').trim_end_matches(']');
        match address.parse() {
            Ok(address) => Ok(Host { address, port: None }),
            Err(_) => Err("write it as 10.0.0.2, 10.0.0.2:27015 or [::1]:27015".to_owned()),
        }
    }
}

impl Selection {
    /// Whether a rule counts at all.
    pub fn has(&self, rule: &Rule) -> bool {
        let among = |rules: &[&Rule]| rules.iter().any(|other| other.code == rule.code);
        (self.select.is_empty() || among(&self.select)) && !among(&self.ignore)
    }
}

/// Judges a capture.
pub struct Checker {
    judge: Judge,
    ledger: Ledger,
    selection: Selection,
    scene: Option<Scene>,
    told: Told,
    found: Vec<Found>,
    kept: Box<[u64; CODES]>,
    left_out: u64,
    /// What was counted but does not count: findings of parties that were not asked for.
    others: Box<[[u64; 2]; CODES]>,
    messages: u64,
    cut: bool,
    drops: bool,
}

impl Checker {
    /// Nothing judged yet.
    pub fn new(selection: Selection) -> Checker {
        Checker {
            judge: Judge::default(),
            ledger: Ledger::default(),
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

    /// What came of it all.
    pub fn outcome(mut self, captures: Vec<String>, session: &Session) -> Outcome {
        self.review(session.is_lossy());
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
            RuleOutcome {
                rule,
                passed: counts.passed + u64::from(self.is_kept_by_silence(rule, session)),
                failed: counts.failed.saturating_sub(failed),
                inconclusive: counts.inconclusive.saturating_sub(inconclusive),
            }
        });
        Outcome {
            captures,
            packets: session.packets(),
            messages: self.messages,
            flows: u64::from(session.flows()),
            rules: rules.collect(),
            findings: self.found,
            left_out: self.left_out,
        }
    }

    /// A capture that was not cut, and of which nobody says that packets were dropped, keeps the
    /// rules that ask for that.
    fn is_kept_by_silence(&self, rule: &Rule, session: &Session) -> bool {
        session.packets() > 0
            && match rule.slug {
                "file-cut" => !self.cut,
                "capture-drops" => !self.drops,
                _ => false,
            }
    }

    /// Judges what only all flows together show.
    fn review(&mut self, lossy: bool) {
        for ruling in std::mem::take(&mut self.ledger).review() {
            let Ruling { rule, ok, witness, .. } = ruling;
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
            self.judge.recalled(rule, ok, ruling.evidence, &mark, || ruling.detail);
            self.take(None);
        }
    }

    /// Takes over what the judge found, as findings about this message or about a past one.
    fn take(&mut self, message: Option<(&'static Message, &Payload<'_>)>) {
        for finding in std::mem::take(&mut self.judge.findings) {
            self.keep(finding, message);
        }
    }

    fn keep(&mut self, finding: Finding, message: Option<(&'static Message, &Payload<'_>)>) {
        self.cut |= finding.rule.slug == "file-cut";
        self.drops |= finding.rule.slug == "capture-drops";
        if !self.selection.has(finding.rule) {
            return;
        }
        let Some(scene) = &self.scene else { return };
        let found = Found::of(finding, scene, message);
        let wanted = self.selection.who.is_none_or(|who| found.who() == who)
            && self
                .selection
                .host
                .is_none_or(|host| found.party.is_some_and(|party| host.is(party)));
        let at = found.rule.code.index();
        if !wanted {
            match found.verdict {
                Verdict::Fail => self.others[at][0] += 1,
                Verdict::Inconclusive => self.others[at][1] += 1,
                Verdict::Note => {}
            }
            return;
        }
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
}

impl Sink for Checker {
    #[inline]
    fn judged(&mut self, rule: &'static Rule, ok: bool, at: Span, detail: impl FnOnce() -> String) {
        self.judge.judged(rule, ok, at, detail);
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
        self.judge.recalled(rule, ok, evidence, mark, detail);
    }
    fn evidence(&mut self, evidence: Evidence) {
        self.judge.evidence(evidence);
    }
    fn fact(&mut self, fact: Fact, seen: Seen) {
        if let Some(scene) = &self.scene {
            self.ledger.fact(fact, seen, &scene.flow);
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
    fn scene(&mut self, scene: &Scene) {
        self.scene = Some(*scene);
    }

    fn settle(&mut self) -> Told {
        if !self.judge.findings.is_empty() {
            self.take(None);
        }
        std::mem::take(&mut self.told)
    }
}

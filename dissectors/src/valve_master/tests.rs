//! The document's own messages, Xash3D's dialect, whole conversations, and bytes of every kind.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use proptest::prelude::*;

use crate::kit::*;

use super::ValveMaster;
use super::conversation::{Conversation, SharedState};

mod conversations;
pub(super) mod document;
mod robustness;
mod xash3d;

pub(super) const CLIENT: &str = "10.0.0.1:50000";
pub(super) const SERVER: &str = "10.0.0.2:27015";
pub(super) const MASTER: &str = "10.0.0.9:27010";

/// Stands for an ICMP error, about the packet of the number after it.
const REFUSED: u8 = 0xEE;

/// One datagram of a conversation: milliseconds, sender, receiver, payload.
type Step<'a> = (i64, &'a str, &'a str, &'a [u8]);

/// What came of a conversation.
#[derive(Default)]
pub(super) struct Outcome {
    /// The names of the messages.
    messages: Vec<&'static str>,
    /// How often each rule was exercised, by code.
    counts: BTreeMap<String, Counts>,
    /// What was found: code, severity, verdict, detail.
    findings: Vec<(String, Severity, Verdict, String)>,
    /// The request that each message answers.
    replies: Vec<Option<Reply>>,
}

impl Outcome {
    fn of(&self, verdict: Verdict) -> Vec<&str> {
        let found = self.findings.iter().filter(|finding| finding.2 == verdict);
        found.map(|finding| finding.0.as_str()).collect()
    }

    /// The codes of what is broken, in the order it was found.
    fn failed(&self) -> Vec<&str> {
        self.of(Verdict::Fail)
    }

    /// The codes under which a known form was noted.
    fn noted(&self) -> Vec<&str> {
        self.of(Verdict::Note)
    }

    /// The codes of what could not be decided.
    fn inconclusive(&self) -> Vec<&str> {
        self.of(Verdict::Inconclusive)
    }

    fn passed(&self, code: &str) -> u64 {
        self.counts.get(code).map_or(0, |counts| counts.passed)
    }

    fn detail(&self, code: &str) -> &str {
        let found = self.findings.iter().find(|finding| finding.0 == code);
        &found.expect("the rule has a finding").3
    }
}

/// Counts judgements and collects findings, message by message.
#[derive(Default)]
struct Watch {
    judge: Judge,
    messages: Vec<&'static str>,
    reply: Option<Reply>,
    replies: Vec<Option<Reply>>,
}

impl Sink for Watch {
    crate::forward_verdicts!(judge);
    fn answers(&mut self, reply: Reply) {
        self.reply = Some(reply);
    }
    fn end(&mut self, message: &'static Message, _: &Payload<'_>) {
        self.messages.push(message.name);
        self.replies.push(self.reply.take());
    }
}

/// A flow: its ends in the order they spoke, and what the tracker knows.
struct Flow {
    ends: [SocketAddr; 2],
    began: bool,
    seen: [bool; 2],
    conversation: Conversation,
}

fn side(flow: &Flow, from: SocketAddr) -> Side {
    if flow.ends[0] == from { Side::First } else { Side::Second }
}

/// Lets a conversation go by, until `until` milliseconds.
pub(super) fn converse(steps: &[Step<'_>], until: i64) -> Outcome {
    let (settings, mut budget) = (Settings::default(), Budget::new(1 << 24));
    let mut shared = SharedState::default();
    let mut watch = Watch::default();
    let mut flows: Vec<Flow> = Vec::new();
    for (at, &(milliseconds, from, to, bytes)) in steps.iter().enumerate() {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        let same = |flow: &Flow| flow.ends == [from, to] || flow.ends == [to, from];
        let number = flows.iter().position(same).unwrap_or_else(|| {
            let began = ValveMaster::opens(bytes);
            flows.push(Flow {
                ends: [from, to],
                began,
                seen: [false; 2],
                conversation: Conversation::default(),
            });
            flows.len() - 1
        });
        let flow = &mut flows[number];
        let side = side(flow, from);
        flow.seen[side.index()] = true;
        let facts = facts(flow, number);
        watch.evidence(facts.evidence());
        let mut cx = Context {
            conversation: &mut flow.conversation,
            shared: &mut shared,
            flow: &facts,
            settings: &settings,
            budget: &mut budget,
        };
        let payload =
            Payload { frame: at as u64 + 1, from, to, side, ..payload(bytes, milliseconds) };
        match bytes {
            [REFUSED, frame] => ValveMaster::refused(cx.conversation, u64::from(*frame)),
            _ => ValveMaster::message(&mut cx, &payload, &mut watch),
        }
    }
    watch.evidence(Evidence::default());
    for (number, flow) in flows.iter_mut().enumerate() {
        let flow_facts = facts(flow, number);
        let mut cx = Context {
            conversation: &mut flow.conversation,
            shared: &mut shared,
            flow: &flow_facts,
            settings: &settings,
            budget: &mut budget,
        };
        ValveMaster::elapse(&mut cx, Time(until * 1_000_000), true, &mut watch);
    }
    assert_eq!(budget.held(), 0, "all memory is given back");
    outcome(watch)
}

fn facts(flow: &Flow, number: usize) -> FlowFacts {
    FlowFacts {
        ends: flow.ends,
        began: flow.began,
        seen: flow.seen,
        silence: 0,
        lossy: false,
        number: number as u32,
        transport: Transport::Udp,
    }
}

fn outcome(watch: Watch) -> Outcome {
    let Watch { messages, replies, .. } = watch;
    let mut outcome = Outcome { messages, replies, ..Outcome::default() };
    for rule in ValveMaster::INFO.rules {
        outcome.counts.insert(rule.code.to_string(), watch.judge.counts(rule));
    }
    for finding in watch.judge.findings {
        let code = finding.rule.code.to_string();
        outcome.findings.push((code, finding.severity, finding.verdict, finding.detail));
    }
    outcome
}

fn payload(bytes: &[u8], milliseconds: i64) -> Payload<'_> {
    Payload {
        bytes,
        pieces: &[],
        inflated: false,
        headers: 0,
        frame: 1,
        time: Time(milliseconds * 1_000_000),
        side: Side::First,
        from: CLIENT.parse().unwrap(),
        to: MASTER.parse().unwrap(),
        flow: 0,
        transport: Transport::Udp,
        lost: false,
        hash: None,
    }
}

/// The tree of one message, in lines.
#[derive(Default)]
struct Lines {
    tree: Tree,
    judge: Judge,
    lines: Vec<String>,
    message: &'static str,
}

impl Sink for Lines {
    crate::forward_fields!(tree);
    crate::forward_verdicts!(judge);
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        let tree = &self.tree;
        self.message = message.name;
        lab::lie_within(&self.judge.findings, payload);
        assert_covered(tree, payload.bytes.len());
        for (at, node) in tree.nodes().iter().enumerate() {
            let indent = "  ".repeat(node.depth as usize);
            let value = value(tree, node, payload.bytes);
            let meaning = tree.meaning(at, payload.bytes);
            let meaning = meaning.map(|meaning| format!(" ({meaning})")).unwrap_or_default();
            let Span { start, end } = node.span;
            self.lines.push(format!("{indent}{} {start}..{end}{value}{meaning}", node.field.name));
        }
    }
}

fn value(tree: &Tree, node: &Node, bytes: &[u8]) -> String {
    match node.field.kind {
        Kind::Unsigned | Kind::Id => format!(" = {}", node.value),
        Kind::Signed => format!(" = {}", node.value as i64),
        Kind::Char => format!(" = {:?}", node.value as u8 as char),
        Kind::Flag => format!(" = {}", node.value != 0),
        Kind::Text => format!(" = {:?}", String::from_utf8_lossy(tree.bytes(node, bytes))),
        Kind::Endpoint => {
            let [_, _, block @ ..] = node.value.to_be_bytes();
            format!(" = {}", super::endpoint::shown(block))
        }
        _ => String::new(),
    }
}

/// The leaves cover every byte exactly once.
fn assert_covered(tree: &Tree, length: usize) {
    let mut at = 0;
    for node in tree.nodes().iter().filter(|node| node.descendants == 0 && !node.span.is_empty()) {
        assert_eq!(node.span.start, at, "{} begins where the leaf before ends", node.field.name);
        at = node.span.end;
    }
    assert_eq!(at as usize, length, "the leaves end where the payload does");
}

/// The name of one message, and its tree, a line a node.
pub(super) fn shown(bytes: &[u8]) -> (&'static str, Vec<String>) {
    let (settings, mut budget) = (Settings::default(), Budget::new(1 << 24));
    let (mut conversation, mut shared) = (Conversation::default(), SharedState::default());
    let mut lines = Lines::default();
    let payload = payload(bytes, 0);
    let flow = FlowFacts {
        ends: [payload.from, payload.to],
        began: true,
        seen: [true, false],
        silence: 0,
        lossy: false,
        number: 0,
        transport: Transport::Udp,
    };
    let mut cx = Context {
        conversation: &mut conversation,
        shared: &mut shared,
        flow: &flow,
        settings: &settings,
        budget: &mut budget,
    };
    ValveMaster::message(&mut cx, &payload, &mut lines);
    ValveMaster::elapse(&mut cx, Time(0), true, &mut lines);
    (lines.message, lines.lines)
}

/// Bytes from hex digits, white space left out.
pub(super) fn hex(digits: &str) -> Vec<u8> {
    let digits: Vec<u8> = digits.bytes().filter(u8::is_ascii_hexdigit).collect();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(byte).collect()
}

/// A reply with these servers, and the end of the list where `ended`.
pub(super) fn reply(servers: &[&str], ended: bool) -> Vec<u8> {
    let mut bytes = hex("FFFFFFFF 660A");
    for server in servers {
        bytes.extend(super::endpoint::parse(server.as_bytes()).unwrap());
    }
    bytes.extend([0; 6].iter().filter(|_| ended));
    bytes
}

/// A query for a page.
pub(super) fn query(seed: &str, filter: &str) -> Vec<u8> {
    [b"1\xFF", seed.as_bytes(), b"\0", filter.as_bytes(), b"\0"].concat()
}

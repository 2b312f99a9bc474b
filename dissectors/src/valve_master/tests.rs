//! The specification's own messages, Xash3D's dialect, whole conversations, and arbitrary bytes.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::kit::*;

use super::ValveMaster;

mod conversations;
pub(super) mod document;
mod robustness;
mod verdicts;
mod xash3d;

pub(super) const CLIENT: &str = "10.0.0.1:50000";
pub(super) const SERVER: &str = "10.0.0.2:27015";
pub(super) const MASTER: &str = "10.0.0.9:27010";

/// Stands for an ICMP error about the packet whose number is in the next byte.
const REFUSED: u8 = 0xEE;

/// One datagram of a conversation: milliseconds, sender, receiver, payload.
type Step<'a> = (i64, &'a str, &'a str, &'a [u8]);

/// The result of a conversation.
#[derive(Default)]
pub(super) struct Outcome {
    /// The names of the messages.
    messages: Vec<&'static str>,
    /// How often each rule was exercised, by code.
    counts: BTreeMap<String, Counts>,
    /// The findings: code, severity, verdict, detail.
    findings: Vec<(String, Severity, Verdict, String)>,
    /// The request that each message answers.
    replies: Vec<Option<Reply>>,
    /// How each message relates to earlier requests.
    sendings: Vec<Sending>,
}

impl Outcome {
    fn of(&self, verdict: Verdict) -> Vec<&str> {
        let found = self.findings.iter().filter(|finding| finding.2 == verdict);
        found.map(|finding| finding.0.as_str()).collect()
    }

    /// The codes of broken rules, in the order of the findings.
    fn failed(&self) -> Vec<&str> {
        self.of(Verdict::Fail)
    }

    /// The codes of rules with a note on a known deviation.
    fn noted(&self) -> Vec<&str> {
        self.of(Verdict::Note)
    }

    /// The codes of inconclusive rules.
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

/// Plays a conversation, until `until` milliseconds.
pub(super) fn converse(steps: &[Step<'_>], until: i64) -> Outcome {
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    for &(milliseconds, from, to, bytes) in steps {
        match bytes {
            [REFUSED, frame] => {
                lab.refused(u64::from(*frame));
                lab.frame += 1;
            }
            _ => _ = lab.udp(milliseconds as f64 / 1000.0, from, to, bytes),
        }
    }
    lab.end(until as f64 / 1000.0);
    let lab::TestRecorder { heard, results, .. } = lab.sink;
    let counts = ValveMaster::INFO.rules.iter();
    let found = results.findings.iter().map(|finding| {
        let code = finding.rule.code.to_string();
        (code, finding.severity, finding.verdict, finding.detail.clone())
    });
    Outcome {
        messages: heard.iter().map(|heard| heard.name).collect(),
        counts: counts.map(|rule| (rule.code.to_string(), results.counts(rule))).collect(),
        findings: found.collect(),
        replies: heard.iter().map(|heard| heard.reply).collect(),
        sendings: heard.iter().map(|heard| heard.sending).collect(),
    }
}

/// The name of one message, and its tree, a line a node.
pub(super) fn shown(bytes: &[u8]) -> (&'static str, Vec<String>) {
    let mut lab = lab::Lab::<ValveMaster, _>::new();
    lab.udp(0.0, CLIENT, MASTER, bytes).end(0.0);
    let Some(heard) = lab.sink.heard.pop() else { return ("", Vec::new()) };
    let tree = &heard.tree;
    let lines = tree.nodes().iter().enumerate().map(|(at, node)| {
        let indent = "  ".repeat(node.depth as usize);
        let value = value(tree, node, bytes);
        let meaning = tree.meaning(at, bytes);
        let meaning = meaning.map(|meaning| format!(" ({meaning})")).unwrap_or_default();
        let Span { start, end } = node.span;
        format!("{indent}{} {start}..{end}{value}{meaning}", node.field.name)
    });
    (heard.name, lines.collect())
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

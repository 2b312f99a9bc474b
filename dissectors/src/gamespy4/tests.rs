//! The specification's exchange, other games' forms, responses in several packets, arbitrary bytes.

use crate::kit::*;

use super::{Conversation, GameSpy4};

mod document;
mod games;
mod lost;
mod packets;
mod robustness;
mod script;

const CLIENT: &str = "10.0.0.1:50000";
const SERVER: &str = "10.0.0.2:6500";

/// A message that was reported.
struct Reported {
    name: &'static str,
    /// The contents of `fields`, as `name=value` in one line.
    fields: String,
    /// The meanings of fields that have one.
    meanings: Vec<String>,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

impl Reported {
    fn of(heard: lab::HeardMessage) -> Reported {
        let lab::HeardMessage { name, tree, bytes, pieces, .. } = heard;
        let carried: u32 = pieces.iter().map(|piece| piece.length).sum();
        assert_eq!(carried as usize, bytes.len(), "every byte was recorded somewhere");
        assert_eq!(tree.left_out(), 0);
        let meanings = (0..tree.nodes().len()).filter_map(|at| tree.meaning(at, &bytes));
        let meanings = meanings.map(|meaning| meaning.into_owned()).collect();
        Reported { name, fields: fields(&tree, None, &bytes), meanings, bytes, pieces }
    }
}

/// The JSON projection in short: everything except framing.
fn fields(tree: &Tree, at: Option<usize>, bytes: &[u8]) -> String {
    let shown = tree.children(at).filter(|(_, node)| node.field.place == Place::Fields);
    let texts = shown.map(|(at, node)| {
        let name = node.field.name;
        match node.field.kind {
            Kind::Pair => {
                let (key, value) = tree.view().pair(at, bytes).unwrap_or_default();
                format!("{}={}", String::from_utf8_lossy(key), String::from_utf8_lossy(value))
            }
            Kind::Group | Kind::Map => format!("{name}{{{}}}", fields(tree, Some(at), bytes)),
            Kind::List => format!("{name}[{}]", fields(tree, Some(at), bytes)),
            Kind::Text => format!("{name}={}", String::from_utf8_lossy(tree.bytes(node, bytes))),
            Kind::Signed => format!("{name}={}", node.value as i64),
            _ => format!("{name}={}", node.value),
        }
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// The result of an exchange.
struct Outcome {
    reported: Vec<Reported>,
    /// The replies that responses name.
    replies: Vec<crate::kit::Reply>,
    /// Events for rules that span flows.
    events: Vec<CrossFlowEvent>,
    results: RuleResults,
}

impl Outcome {
    fn names(&self) -> Vec<&str> {
        self.reported.iter().map(|reported| reported.name).collect()
    }

    /// The codes of findings, with a letter for the severity.
    fn found(&self, verdict: Verdict) -> Vec<String> {
        let found = self.results.findings.iter().filter(|finding| finding.verdict == verdict);
        found.map(|finding| finding.rule.code.to_string()).collect()
    }

    /// Broken rules of severity error or warning.
    fn failed(&self) -> Vec<String> {
        let found = self.results.findings.iter();
        let failed = found.filter(|f| f.verdict == Verdict::Fail && f.severity > Severity::Note);
        failed.map(|finding| finding.rule.code.to_string()).collect()
    }

    fn details(&self) -> Vec<&str> {
        self.results.findings.iter().map(|finding| finding.detail.as_str()).collect()
    }
}

/// One flow, between a client and a server.
struct Stage {
    lab: lab::Lab<GameSpy4, lab::TestRecorder>,
    ends: [&'static str; 2],
}

impl Default for Stage {
    fn default() -> Stage {
        Stage::between(CLIENT, SERVER)
    }
}

impl Stage {
    fn between(client: &'static str, server: &'static str) -> Stage {
        let mut lab = lab::Lab::new();
        lab.budget = Budget::new(1 << 20);
        Stage { lab, ends: [client, server] }
    }

    /// A datagram, `milliseconds` after the start.
    fn says(&mut self, milliseconds: i64, side: Side, bytes: &[u8]) -> &mut Stage {
        let [from, to] = [side, side.other()].map(|side| self.ends[side.index()]);
        self.lab.udp(milliseconds as f64 / 1000.0, from, to, bytes);
        self
    }

    /// An ICMP error quotes the datagram sent in this packet.
    fn refuses(&mut self, frame: u64) -> &mut Stage {
        self.lab.refused(frame);
        self
    }

    /// A duplicate datagram.
    fn again(&mut self, side: Side, bytes: &[u8]) -> &mut Stage {
        let [from, to] = [side, side.other()].map(|side| self.ends[side.index()]);
        self.lab.again(from, to, bytes);
        self
    }

    fn client(&mut self, milliseconds: i64, bytes: &[u8]) -> &mut Stage {
        self.says(milliseconds, Side::First, bytes)
    }

    fn server(&mut self, milliseconds: i64, bytes: &[u8]) -> &mut Stage {
        self.says(milliseconds, Side::Second, bytes)
    }

    /// The first three packets of the specification, with the challenge 7; the fourth is requested
    /// with timestamp 10 20 30 41.
    fn asks(&mut self) -> &mut Stage {
        self.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
        self.server(20, b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0");
        self.client(30, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01")
    }

    /// The capture continues to `milliseconds` and ends.
    fn ends(&mut self, milliseconds: i64) -> Outcome {
        self.lab.end(milliseconds as f64 / 1000.0);
        let lab::TestRecorder { heard, replies, events, results, .. } =
            std::mem::take(&mut self.lab.sink);
        Outcome {
            reported: heard.into_iter().map(Reported::of).collect(),
            replies,
            events,
            results,
        }
    }
}

/// A packet of the response to [`Stage::asks`].
fn packet(number: u8, section: u8, content: &[u8]) -> Vec<u8> {
    [b"\0\x10\x20\x30\x41splitnum\0", &[number, section][..], content].concat()
}

//! The document's exchange, other games' forms, answers in several packets, bytes of every kind.

use std::net::SocketAddr;

use crate::kit::*;

use super::{Conversation, GameSpy4};

mod document;
mod games;
mod packets;
mod robustness;
mod script;

const CLIENT: &str = "10.0.0.1:50000";
const SERVER: &str = "10.0.0.2:6500";

/// A message that was reported.
struct Told {
    name: &'static str,
    /// What `fields` would hold, as `name=value` in one line.
    fields: String,
    /// What the fields mean, where it is more than the value.
    meanings: Vec<String>,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
}

/// Receives everything, and checks what every message must keep to.
#[derive(Default)]
struct Watch {
    tree: Tree,
    judge: Judge,
    told: Vec<Told>,
    replies: Vec<crate::kit::Reply>,
    facts: Vec<CrossFlowEvent>,
    /// Findings whose places were looked at.
    placed: usize,
}

impl Sink for Watch {
    crate::forward_fields!(tree);
    crate::forward_verdicts!(judge);
    fn answers(&mut self, reply: crate::kit::Reply) {
        self.replies.push(reply);
    }
    fn fact(&mut self, fact: CrossFlowEvent, _: Seen) {
        self.facts.push(fact);
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        assert_covered(&self.tree, payload.bytes);
        lab::lie_within(&self.judge.findings[self.placed..], payload);
        self.placed = self.judge.findings.len();
        let carried: u32 = payload.pieces.iter().map(|piece| piece.length).sum();
        assert_eq!(carried as usize, payload.bytes.len(), "every byte was recorded somewhere");
        let count = self.tree.nodes().len();
        let meanings = (0..count).filter_map(|at| self.tree.meaning(at, payload.bytes));
        self.told.push(Told {
            name: message.name,
            fields: fields(&self.tree, None, payload.bytes),
            meanings: meanings.map(|meaning| meaning.into_owned()).collect(),
            bytes: payload.bytes.to_vec(),
            pieces: payload.pieces.to_vec(),
        });
        self.tree.clear();
    }
}

/// Each byte belongs to one leaf, and no leaf reaches beyond the payload.
fn assert_covered(tree: &Tree, bytes: &[u8]) {
    let mut next = 0;
    for node in tree.nodes().iter().filter(|node| node.descendants == 0 && !node.span.is_empty()) {
        assert_eq!(
            node.span.start, next,
            "{} begins where the field before it ends",
            node.field.name
        );
        next = node.span.end;
    }
    assert_eq!(next as usize, bytes.len(), "the leaves reach to the end");
    assert_eq!(tree.left_out(), 0);
}

/// The JSON projection in short: what is not framing.
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

/// What came of an exchange.
struct Outcome {
    told: Vec<Told>,
    /// What responses say of their requests.
    replies: Vec<crate::kit::Reply>,
    /// What other flows may make a fault of.
    facts: Vec<CrossFlowEvent>,
    judge: Judge,
}

impl Outcome {
    fn names(&self) -> Vec<&str> {
        self.told.iter().map(|told| told.name).collect()
    }

    /// The codes of what was found, with a letter for the severity.
    fn found(&self, verdict: Verdict) -> Vec<String> {
        let found = self.judge.findings.iter().filter(|finding| finding.verdict == verdict);
        found.map(|finding| finding.rule.code.to_string()).collect()
    }

    /// What is broken at severity error or warning.
    fn failed(&self) -> Vec<String> {
        let found = self.judge.findings.iter();
        let failed = found.filter(|f| f.verdict == Verdict::Fail && f.severity > Severity::Note);
        failed.map(|finding| finding.rule.code.to_string()).collect()
    }

    fn details(&self) -> Vec<&str> {
        self.judge.findings.iter().map(|finding| finding.detail.as_str()).collect()
    }
}

/// A flow as the tracker would keep it.
struct Stage {
    ends: [SocketAddr; 2],
    began: Option<bool>,
    seen: [bool; 2],
    conversation: Conversation,
    budget: Budget,
    settings: Settings,
    watch: Watch,
    now: Time,
    frame: u64,
}

impl Default for Stage {
    fn default() -> Stage {
        Stage::between(CLIENT, SERVER)
    }
}

impl Stage {
    fn between(first: &str, second: &str) -> Stage {
        Stage {
            ends: [first.parse().unwrap(), second.parse().unwrap()],
            began: None,
            seen: [false; 2],
            conversation: Conversation::default(),
            budget: Budget::new(1 << 20),
            settings: Settings::default(),
            watch: Watch::default(),
            now: Time(0),
            frame: 0,
        }
    }

    fn flow(&self) -> FlowFacts {
        FlowFacts {
            ends: self.ends,
            began: self.began.unwrap_or_default(),
            seen: self.seen,
            silence: 0,
            lossy: false,
            number: 0,
            transport: Transport::Udp,
        }
    }

    /// A datagram goes by. `milliseconds` from the start.
    fn says(&mut self, milliseconds: i64, side: Side, bytes: &[u8]) -> &mut Stage {
        self.now = Time(milliseconds * 1_000_000);
        self.frame += 1;
        self.began.get_or_insert(GameSpy4::opens(bytes));
        self.seen[side.index()] = true;
        let length = bytes.len() as u32;
        let pieces = [Piece { at: 0, length, frame: self.frame, offset: 42 }];
        let flow = self.flow();
        let payload = Payload {
            bytes,
            pieces: if bytes.is_empty() { &[] } else { &pieces },
            inflated: false,
            headers: 0,
            frame: self.frame,
            time: self.now,
            side,
            from: self.ends[side.index()],
            to: self.ends[side.other().index()],
            flow: 0,
            transport: Transport::Udp,
            lost: false,
            hash: None,
        };
        self.watch.evidence(flow.evidence());
        let mut cx = Context {
            conversation: &mut self.conversation,
            shared: &mut (),
            flow: &flow,
            settings: &self.settings,
            budget: &mut self.budget,
        };
        GameSpy4::message(&mut cx, &payload, &mut self.watch);
        self
    }

    /// An ICMP error quotes the datagram sent in this packet.
    fn refuses(&mut self, frame: u64) -> &mut Stage {
        GameSpy4::refused(&mut self.conversation, frame);
        self
    }

    /// A datagram comes that was doubled on the way.
    fn again(&mut self, side: Side, bytes: &[u8]) -> &mut Stage {
        self.frame += 1;
        let flow = self.flow();
        let pieces = [Piece { at: 0, length: bytes.len() as u32, frame: self.frame, offset: 42 }];
        let payload =
            Payload { frame: self.frame, time: self.now, ..flow.payload(side, bytes, &pieces) };
        let mut cx = Context {
            conversation: &mut self.conversation,
            shared: &mut (),
            flow: &flow,
            settings: &self.settings,
            budget: &mut self.budget,
        };
        GameSpy4::again(&mut cx, &payload, &mut Unjudged(&mut self.watch));
        self
    }

    fn client(&mut self, milliseconds: i64, bytes: &[u8]) -> &mut Stage {
        self.says(milliseconds, Side::First, bytes)
    }

    fn server(&mut self, milliseconds: i64, bytes: &[u8]) -> &mut Stage {
        self.says(milliseconds, Side::Second, bytes)
    }

    /// The first three packets of the document, with the challenge 7; the fourth is asked for with
    /// timestamp 10 20 30 41.
    fn asks(&mut self) -> &mut Stage {
        self.client(0, b"\xFE\xFD\x09\x10\x20\x30\x40");
        self.server(20, b"\x09\x10\x20\x30\x407\0\0\0\0\0\0\0\0\0\0\0");
        self.client(30, b"\xFE\xFD\x00\x10\x20\x30\x41\0\0\0\x07\xFF\xFF\xFF\x01")
    }

    /// The capture goes on to `milliseconds` and ends.
    fn ends(&mut self, milliseconds: i64) -> Outcome {
        let now = Time(milliseconds * 1_000_000).max(self.now);
        self.elapse(now, true);
        assert_eq!(self.budget.held(), 0, "all memory is given back");
        let watch = std::mem::take(&mut self.watch);
        assert!(watch.tree.nodes().is_empty(), "every field belongs to a message");
        let Watch { told, replies, facts, judge, .. } = watch;
        Outcome { told, replies, facts, judge }
    }

    fn elapse(&mut self, now: Time, end: bool) {
        let flow = self.flow();
        let mut cx = Context {
            conversation: &mut self.conversation,
            shared: &mut (),
            flow: &flow,
            settings: &self.settings,
            budget: &mut self.budget,
        };
        GameSpy4::elapse(&mut cx, now, end, &mut self.watch);
    }
}

/// A packet of the answer that [`Stage::asks`] asks for.
fn packet(number: u8, section: u8, content: &[u8]) -> Vec<u8> {
    [b"\0\x10\x20\x30\x41splitnum\0", &[number, section][..], content].concat()
}

//! What the flow tracker does round a dissector, in small.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::a2s::{A2s, Conversation, SharedState, claim};
use crate::kit::{
    Budget, Claim, Context, Counts, CrossFlowEvent, Evidence, Finding, FlowFacts, Hint, Judge,
    Kind, Limits, Message, Payload, Piece, Protocol, Reply, Rule, Seen, Settings, Severity, Side,
    Sink, Span, Time, Transport, Tree, Unjudged, Verdict, Who,
};

/// One message, as it was reported.
pub(super) struct Heard {
    pub(super) name: &'static str,
    /// Every leaf: its name and its value, as text.
    pub(super) leaves: Vec<(&'static str, String)>,
    /// The packets that its bytes come from.
    pub(super) frames: Vec<u64>,
    pub(super) findings: Vec<Finding>,
    /// Who speaks such messages.
    pub(super) speaker: Who,
}

impl Heard {
    /// The value of the first leaf with this name.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.leaves.iter().find(|leaf| leaf.0 == name).map(|leaf| leaf.1.as_str())
    }

    /// All values under this name.
    pub(super) fn values(&self, name: &str) -> Vec<&str> {
        self.leaves.iter().filter(|leaf| leaf.0 == name).map(|leaf| leaf.1.as_str()).collect()
    }

    /// Codes of the findings that weigh, and of the notes, as `A2S001` and `(A2S003)`.
    pub(super) fn codes(&self) -> Vec<String> {
        self.findings.iter().map(code).collect()
    }
}

/// A finding's code, in brackets where it is a note, with `?` where nothing is proven.
pub(super) fn code(finding: &Finding) -> String {
    match (finding.verdict, finding.severity) {
        (Verdict::Inconclusive, _) => format!("{}?", finding.rule.code),
        (_, Severity::Note) => format!("({})", finding.rule.code),
        _ => finding.rule.code.to_string(),
    }
}

/// Tree and judgement at once; and the tree must cover every byte once.
#[derive(Default)]
pub(super) struct Ear {
    tree: Tree,
    pub(super) judge: Judge,
    /// The message that has begun.
    begun: Option<&'static str>,
    pub(super) heard: Vec<Heard>,
    /// What is reported to the ledger.
    pub(super) facts: Vec<CrossFlowEvent>,
    /// Which requests were answered.
    pub(super) replies: Vec<Reply>,
}

impl Sink for Ear {
    crate::forward_fields!(tree);
    crate::forward_verdicts!(judge);
    fn begins(&mut self, message: &'static Message) {
        assert!(
            self.begun.replace(message.name).is_none(),
            "{} begins inside another",
            message.name
        );
    }
    fn unless_explained(
        &mut self,
        rule: &'static Rule,
        at: Option<Span>,
        fact: CrossFlowEvent,
        seen: Seen,
        detail: impl FnOnce() -> String,
    ) {
        self.facts.push(fact);
        match at {
            Some(at) => self.judged(rule, false, at, detail),
            None => self.recalled(rule, false, fact.evidence(), &seen.mark, detail),
        }
    }
    fn fact(&mut self, fact: CrossFlowEvent, _: Seen) {
        self.facts.push(fact);
    }
    fn answers(&mut self, reply: Reply) {
        self.replies.push(reply);
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        if let Some(begun) = self.begun.take() {
            assert_eq!(begun, message.name, "it ends as what it began as");
        }
        covers(&self.tree, payload.bytes);
        crate::kit::lab::listed(message, &self.tree);
        let nodes = self.tree.nodes().iter().filter(|node| node.descendants == 0);
        let leaves = nodes.map(|node| {
            let value = match node.field.kind {
                Kind::Text => {
                    String::from_utf8_lossy(self.tree.bytes(node, payload.bytes)).into_owned()
                }
                Kind::Signed => (node.value as i64).to_string(),
                Kind::Float => f32::from_bits(node.value as u32).to_string(),
                Kind::Char => char::from(node.value as u8).to_string(),
                _ => node.value.to_string(),
            };
            (node.field.name, value)
        });
        let mut frames: Vec<u64> = payload.pieces.iter().map(|piece| piece.frame).collect();
        frames.dedup();
        let (recalled, findings) =
            std::mem::take(&mut self.judge.findings).into_iter().partition(|f| f.mark.is_some());
        self.judge.clear();
        self.judge.findings = recalled;
        let leaves = leaves.collect();
        self.heard.push(Heard {
            name: message.name,
            leaves,
            frames,
            findings,
            speaker: message.speaker,
        });
        self.tree.clear();
    }
}

/// Every byte is in one leaf.
fn covers(tree: &Tree, bytes: &[u8]) {
    let mut next = 0;
    for node in tree.nodes() {
        let group = matches!(node.field.kind, Kind::Group | Kind::List | Kind::Map | Kind::Pair);
        if node.descendants > 0 || group || node.span.is_empty() {
            continue;
        }
        assert_eq!(node.span.start, next, "{} of {}", node.field.name, bytes.escape_ascii());
        next = node.span.end;
    }
    assert_eq!(next as usize, bytes.len(), "the end of {}", bytes.escape_ascii());
}

struct Flow {
    conversation: Conversation,
    facts: FlowFacts,
    last: Time,
}

/// A capture in the making.
pub(super) struct Lab<S> {
    flows: BTreeMap<[SocketAddr; 2], Flow>,
    shared: SharedState,
    pub(super) settings: Settings,
    pub(super) budget: Budget,
    pub(super) vouched: bool,
    frame: u64,
    now: Time,
    pub(super) sink: S,
}

/// The usual two: a client, a server.
pub(super) const C: &str = "10.0.0.1:50000";
pub(super) const S: &str = "10.0.0.2:27015";

/// What is nanoseconds from the start.
pub(super) fn seconds(time: f64) -> Time {
    Time((time * 1e9).round() as i64)
}

impl Lab<Ear> {
    pub(super) fn new() -> Lab<Ear> {
        Lab::with(Ear::default())
    }

    /// How a rule fared.
    pub(super) fn counts(&self, rule: &Rule) -> Counts {
        self.sink.judge.counts(rule)
    }

    /// All findings' codes, of messages and of what was recalled.
    pub(super) fn codes(&self) -> Vec<String> {
        let heard = self.sink.heard.iter().flat_map(Heard::codes);
        heard.chain(self.sink.judge.findings.iter().map(code)).collect()
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.sink.heard.iter().map(|heard| heard.name).collect()
    }
}

impl<S: Sink> Lab<S> {
    pub(super) fn with(sink: S) -> Lab<S> {
        Lab {
            flows: BTreeMap::new(),
            shared: SharedState::default(),
            settings: Settings { limits: Limits::default(), ..Settings::default() },
            budget: Budget::new(64 << 20),
            vouched: false,
            frame: 0,
            now: Time::default(),
            sink,
        }
    }

    /// The client says this.
    pub(super) fn c(&mut self, time: f64, bytes: &[u8]) -> &mut Lab<S> {
        self.packet(time, C, self::S, bytes, false)
    }

    /// The server says this.
    pub(super) fn s(&mut self, time: f64, bytes: &[u8]) -> &mut Lab<S> {
        self.packet(time, self::S, C, bytes, false)
    }

    /// Somebody says something to somebody; `lost`: the recording cut it.
    pub(super) fn packet(
        &mut self,
        time: f64,
        from: &str,
        to: &str,
        bytes: &[u8],
        lost: bool,
    ) -> &mut Lab<S> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        self.elapse(time);
        self.frame += 1;
        let key = if from < to { [from, to] } else { [to, from] };
        let usual = |end: SocketAddr| A2s::INFO.ports.contains(&end.port());
        let known = self.flows.contains_key(&key);
        let hint = Hint { from_port: usual(from), to_port: usual(to), known, forced: false };
        let pieces = [Piece { at: 0, length: bytes.len() as u32, frame: self.frame, offset: 42 }];
        let mut payload = Payload {
            bytes,
            pieces: &pieces,
            inflated: false,
            headers: 0,
            frame: self.frame,
            time: self.now,
            side: Side::First,
            from,
            to,
            flow: 1,
            transport: Transport::Udp,
            lost,
            hash: None,
        };
        let ours = match claim::claim(bytes, hint) {
            Claim::Sure => true,
            Claim::Weak => hint.any() || A2s::expects(&mut self.shared, &payload),
            _ => A2s::expects(&mut self.shared, &payload),
        };
        if !ours {
            return self;
        }
        let flow = self.flows.entry(key).or_insert_with(|| Flow {
            conversation: Conversation::default(),
            facts: FlowFacts {
                ends: [from, to],
                began: A2s::opens(bytes),
                seen: [false; 2],
                silence: 0,
                lossy: false,
                number: 1,
                transport: Transport::Udp,
            },
            last: self.now,
        });
        payload.side = if flow.facts.ends[0] == from { Side::First } else { Side::Second };
        flow.facts.seen[payload.side.index()] = true;
        flow.facts.silence = self.now.since(flow.last).unsigned_abs();
        self.sink.evidence(Evidence { vouched: self.vouched, lost, ..flow.facts.evidence() });
        let mut cx = Context {
            conversation: &mut flow.conversation,
            shared: &mut self.shared,
            flow: &flow.facts,
            settings: &self.settings,
            budget: &mut self.budget,
        };
        A2s::message(&mut cx, &payload, &mut self.sink);
        flow.last = self.now;
        self
    }

    /// A datagram of the last packet's time was doubled on the way, on a flow that is there.
    pub(super) fn again(&mut self, from: &str, to: &str, bytes: &[u8]) -> &mut Lab<S> {
        let (from, to): (SocketAddr, SocketAddr) = (from.parse().unwrap(), to.parse().unwrap());
        self.frame += 1;
        let flow = self.flows.get_mut(&if from < to { [from, to] } else { [to, from] }).unwrap();
        let side = if flow.facts.ends[0] == from { Side::First } else { Side::Second };
        let pieces = [Piece { at: 0, length: bytes.len() as u32, frame: self.frame, offset: 42 }];
        let (frame, time) = (self.frame, self.now);
        let payload = Payload { frame, time, ..flow.facts.payload(side, bytes, &pieces) };
        let mut cx = Context {
            conversation: &mut flow.conversation,
            shared: &mut self.shared,
            flow: &flow.facts,
            settings: &self.settings,
            budget: &mut self.budget,
        };
        A2s::again(&mut cx, &payload, &mut Unjudged(&mut self.sink));
        self
    }

    /// An ICMP error quotes the datagram of this packet.
    pub(super) fn refused(&mut self, frame: u64) {
        for flow in self.flows.values_mut() {
            A2s::refused(&mut flow.conversation, frame);
        }
    }

    /// The capture reaches this time.
    pub(super) fn elapse(&mut self, time: f64) {
        self.now = self.now.max(seconds(time));
        for flow in self.flows.values_mut() {
            if A2s::deadline(&flow.conversation).is_some_and(|due| due <= self.now) {
                let mut cx = Context {
                    conversation: &mut flow.conversation,
                    shared: &mut self.shared,
                    flow: &flow.facts,
                    settings: &self.settings,
                    budget: &mut self.budget,
                };
                A2s::elapse(&mut cx, self.now, false, &mut self.sink);
            }
        }
    }

    /// The capture ends at this time. Nothing may be held after that.
    pub(super) fn end(&mut self, time: f64) -> &mut Lab<S> {
        self.elapse(time);
        for flow in self.flows.values_mut() {
            flow.facts.silence = self.now.since(flow.last).unsigned_abs();
            let mut cx = Context {
                conversation: &mut flow.conversation,
                shared: &mut self.shared,
                flow: &flow.facts,
                settings: &self.settings,
                budget: &mut self.budget,
            };
            A2s::elapse(&mut cx, self.now, true, &mut self.sink);
        }
        self.flows.clear();
        assert_eq!(self.budget.held(), 0);
        self
    }
}

/// Bytes written as in the rules' examples: hex pairs, 'text', and so on.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    super::script::payload(text)
}

//! Understands what a client says: packets in, messages out, each with what it returns of earlier answers.

use dissectors::Id;
use dissectors::kit::{Message, Node, Scrub, Transport, Treatment, TreeView};

use crate::capture::{LinkType, Packet};
use crate::flows::{DecodeAs, Identifier};
use crate::session::{Decoder, Event, FieldLimits, MessageEvent, Needs, Options};

/// Maximum number of flows that are followed, and the memory of their state and of unfinished messages.
const FLOWS: usize = 1 << 12;
const MEMORY: usize = 8 << 20;

/// A message.
#[derive(Clone)]
pub(super) struct Heard {
    pub(super) message: &'static Message,
    /// Who has sent it: the first of two ends is the client.
    pub(super) from_port: u16,
    /// The challenges in it: given or returned.
    pub(super) challenges: Vec<Challenge>,
    /// Four bytes of the client's choice that the answer repeats.
    pub(super) timestamp: Option<Vec<u8>>,
    /// The address after which a list continues.
    pub(super) goes_on_after: Option<Vec<u8>>,
}

/// A challenge, and where it is in the bytes of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Challenge {
    pub(super) value: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Decodes one protocol at one port.
pub(super) struct Ear {
    decoder: Decoder,
}

impl Ear {
    pub(super) fn new(protocol: Id, transport: Transport, port: u16) -> Ear {
        let forced = vec![DecodeAs { transport, port, protocol }];
        let fields = Some(FieldLimits::of_parties());
        let needs = Needs { messages: crate::session::Messages::All, fields, ..Needs::default() };
        let mut options = Options {
            identifier: Identifier::new(forced),
            needs,
            flows: FLOWS,
            flow_bytes: MEMORY,
            ..Options::default()
        };
        options.settings.limits.unfinished_bytes = MEMORY;
        Ear { decoder: Decoder::new(options) }
    }

    /// The messages that this packet completes. `time`: nanoseconds since 1970.
    pub(super) fn hear(&mut self, time: i64, packet: &[u8]) -> Vec<Heard> {
        self.decoder.push(&Packet { link: LinkType::RAW, ..Packet::new(time, packet) });
        let (mut events, mut heard) = (self.decoder.events(), Vec::new());
        while let Some(event) = events.next() {
            if let Event::Message(message) = event {
                heard.push(read(&message));
            }
        }
        heard
    }
}

fn read(event: &MessageEvent<'_>) -> Heard {
    let payload = event.payload();
    let mut heard = Heard {
        message: event.message(),
        from_port: payload.from.port(),
        challenges: Vec::new(),
        timestamp: None,
        goes_on_after: None,
    };
    let Some(tree) = event.tree() else { return heard };
    let masters = event.context().protocol.and_then(|id| id.info().masters);
    let page = masters.and_then(|masters| masters.goes_on_after);
    for (at, node) in tree.nodes.iter().enumerate() {
        match treatment(tree, at, payload.bytes) {
            Some(Treatment::Challenge) => {
                let value = challenge(node, payload.bytes);
                let (start, end) = (node.span.start as usize, node.span.end as usize);
                heard.challenges.extend(value.map(|value| Challenge { value, start, end }));
            }
            Some(Treatment::Timestamp) => {
                heard.timestamp = Some(node.recorded(payload.bytes).to_vec());
            }
            _ if Some(node.field.name) == page => {
                heard.goes_on_after = Some(tree.bytes(node, payload.bytes).to_vec());
            }
            _ => {}
        }
    }
    heard
}

/// The kind of a field's bytes; of a pair's value, by its key.
fn treatment(tree: TreeView<'_>, at: usize, payload: &[u8]) -> Option<Treatment> {
    match tree.nodes.get(at)?.field.scrub {
        Scrub::As(treatment) => Some(treatment),
        Scrub::Value(kind) => {
            let pair = (0..at).rev().find(|&before| {
                tree.pair_nodes(before).is_some_and(|(_, value)| value == Some(at))
            })?;
            let (key, _) = tree.pair_nodes(pair)?;
            let [key, value] =
                [tree.nodes.get(key)?, tree.nodes.get(at)?].map(|node| tree.bytes(node, payload));
            Some(kind(key, value))
        }
        _ => None,
    }
}

/// The number of a challenge, as bytes or as decimal text.
fn challenge(node: &Node, payload: &[u8]) -> Option<u32> {
    use dissectors::kit::Kind;
    match node.field.kind {
        Kind::Signed | Kind::Unsigned => Some(node.value as u32),
        Kind::Text => {
            let text = std::str::from_utf8(node.recorded(payload)).ok()?;
            text.parse::<i64>().ok().map(|value| value as u32)
        }
        _ => None,
    }
}

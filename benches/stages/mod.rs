//! The stages of processing a packet, each with its input. All benchmarks measure these.

mod inputs;

use std::hint::black_box;

use captures::bulk::Input;
use dissectors::kit::{
    Budget, Framed, Message, Payload, Piece, Reply, RuleResults, Settings, Sink, Transport, Tree,
    Unread,
};
use dissectors::ledger::LedgerSettings;
use dissectors::{ContextParts, Id, SharedStates};
use gamewire::capture::{self, Event};
use gamewire::check::{Checker, Selection};
use gamewire::flows::{FlowKey, FlowTable};
use gamewire::message::{Checked, MessageRef};
use gamewire::net::{Outcome, decode};
use gamewire::report::json::Json;
use gamewire::report::{Envelope, Report};
use gamewire::session::{self, Decoder, Needs, Options};
use gamewire::summary::Summary;

use inputs::{Conversation, File};

/// Number of packets of a capture.
const PACKETS: u64 = 10_000;

/// Maximum size of unfinished responses in bytes.
const UNFINISHED: usize = 16 << 20;

/// A stage that is not prepared.
pub(crate) struct Stage {
    /// Its name on the command line and in the output.
    pub(crate) name: &'static str,
    /// Makes its input.
    pub(crate) prepare: fn() -> Prepared,
}

/// A stage with its input.
pub(crate) struct Prepared {
    /// Packets or messages of one round.
    pub(crate) items: u64,
    round: Box<dyn FnMut() -> u64>,
}

impl Prepared {
    fn new(items: u64, round: impl FnMut() -> u64 + 'static) -> Self {
        Self { items, round: Box::new(round) }
    }

    /// Processes the input once.
    pub(crate) fn round(&mut self) {
        black_box((self.round)());
    }
}

/// All stages in the order of processing.
pub(crate) const STAGES: &[Stage] = &[
    Stage { name: "walk", prepare: walk },
    Stage { name: "headers", prepare: headers },
    Stage { name: "flows", prepare: flows },
    Stage { name: "a2s", prepare: || dissector(Id::A2s, false) },
    Stage { name: "valve_master", prepare: || dissector(Id::ValveMaster, false) },
    Stage { name: "gamespy4", prepare: || dissector(Id::GameSpy4, false) },
    Stage { name: "gamespy1", prepare: || dissector(Id::GameSpy1, false) },
    Stage { name: "acr_master", prepare: || dissector(Id::AcrMaster, false) },
    Stage { name: "a2s-json", prepare: || dissector(Id::A2s, true) },
    Stage { name: "check", prepare: check },
    Stage { name: "summary", prepare: summary },
];

/// The records of a mapped file.
fn walk() -> Prepared {
    let file = File::of(Input::Mixed, PACKETS);
    Prepared::new(PACKETS, move || {
        let mut capture = capture::open(file.path()).expect("a capture");
        let mut bytes = 0;
        while let Some(event) = capture.next() {
            if let Event::Packet(packet) = event {
                bytes += packet.data.len() as u64;
            }
        }
        bytes
    })
}

/// Link, IP, UDP and TCP headers.
fn headers() -> Prepared {
    let packets = inputs::packets(Input::Mixed, PACKETS);
    Prepared::new(PACKETS, move || {
        let payload = |packet: &inputs::Packet| match black_box(decode(
            packet.link,
            &packet.bytes,
            packet.bytes.len() as u32,
        )) {
            Outcome::Udp(datagram) => datagram.payload.bytes.len() as u64,
            Outcome::Tcp(segment) => segment.payload.bytes.len() as u64,
            _ => 0,
        };
        packets.iter().map(payload).sum()
    })
}

/// A table that is empty at first: each packet finds its flow, or adds one.
fn flows() -> Prepared {
    let keys: Vec<FlowKey> = inputs::keys(Input::ManyFlows, PACKETS);
    Prepared::new(keys.len() as u64, move || {
        let mut table = FlowTable::new(1 << 20, usize::MAX, None);
        for (number, key) in (0..).zip(&keys) {
            if table.find(key).is_none() {
                table.insert(key, dissectors::kit::Time(number));
            }
        }
        table.len() as u64
    })
}

/// All messages of complete conversations, with fields and rules; optionally as JSON.
fn dissector(id: Id, as_json: bool) -> Prepared {
    let conversations = inputs::conversations(id);
    let json = as_json.then(|| Json::new(false));
    let mut writer = Writer {
        tree: Tree::default(),
        results: RuleResults::default(),
        reply: None,
        json,
        text: Vec::new(),
        id,
        messages: 0,
    };
    let settings = Settings::default();
    let mut round = move || {
        let (mut shared, mut budget) = (SharedStates::default(), Budget::new(UNFINISHED));
        writer.messages = 0;
        for conversation in &conversations {
            speak(conversation, id, &mut shared, &settings, &mut budget, &mut writer);
        }
        writer.messages
    };
    Prepared::new(round(), round)
}

/// Passes a conversation to its dissector.
fn speak(
    conversation: &Conversation,
    id: Id,
    shared: &mut SharedStates,
    settings: &Settings,
    budget: &mut Budget,
    writer: &mut Writer,
) {
    let mut state = id.conversation();
    let mut flow = conversation.facts();
    for sent in &conversation.sent {
        flow.seen[sent.side.index()] = true;
        let mut rest = &sent.bytes[..];
        while !rest.is_empty() {
            let unread = Unread { bytes: rest, ..Unread::default() };
            let length = match conversation.transport {
                Transport::Udp => rest.len(),
                Transport::Tcp => {
                    let parts = ContextParts { shared, flow: &flow, settings, budget };
                    match state.frame(parts, sent.side, &unread) {
                        Framed::Message(length) => length,
                        Framed::More | Framed::Junk(_) => break,
                    }
                }
            };
            let (bytes, after) = rest.split_at(length);
            let piece = Piece { at: 0, length: length as u32, frame: sent.frame, offset: 42 };
            let payload = flow.payload(sent.side, bytes, std::slice::from_ref(&piece));
            let payload = Payload { frame: sent.frame, time: sent.time, ..payload };
            let parts = ContextParts { shared, flow: &flow, settings, budget };
            state.message(parts, &payload, writer);
            writer.clear();
            rest = after;
        }
    }
}

/// Counts messages, and optionally writes them.
struct Writer {
    tree: Tree,
    results: RuleResults,
    reply: Option<Reply>,
    json: Option<Json>,
    text: Vec<u8>,
    id: Id,
    messages: u64,
}

impl Sink for Writer {
    dissectors::forward_fields!(tree);
    dissectors::forward_verdicts!(results);
    fn answers(&mut self, reply: Reply) {
        self.reply = Some(reply);
    }
    fn end(&mut self, message: &'static Message, payload: &Payload<'_>) {
        self.messages += 1;
        if let Some(json) = &mut self.json {
            self.text.clear();
            let message = MessageRef {
                protocol: Some(self.id),
                kind: Some(message),
                tree: Some(self.tree.view()),
                reply: self.reply.as_ref(),
                checked: Checked { findings: &self.results.findings, ..Checked::default() },
                ..MessageRef::undecoded(*payload)
            };
            let (exchange, sending) = Default::default();
            let envelope = Envelope { message, digits: 6, exchange, sending, via: None };
            json.message(&envelope, &mut self.text);
            black_box(&self.text);
        }
        black_box(&self.tree);
        self.clear();
    }
}

impl Writer {
    /// Removes the fields and findings of a message.
    fn clear(&mut self) {
        self.tree.clear();
        self.results.clear();
        self.reply = None;
    }
}

/// Processes a capture in memory up to the verdicts.
fn check() -> Prepared {
    let packets = inputs::packets(Input::A2s, PACKETS);
    Prepared::new(PACKETS, move || {
        let (selection, ledger_settings) =
            (Selection::default(), LedgerSettings::of(&Settings::default(), 1 << 18));
        let needs = Checker::needs(&selection, &ledger_settings);
        let mut checker = Checker::new(selection, ledger_settings, false);
        decoded(&packets, needs, |event| checker.event(event));
        checker.found().len() as u64
    })
}

/// The same way, up to the tables of an overview.
fn summary() -> Prepared {
    let packets = inputs::packets(Input::A2s, PACKETS);
    Prepared::new(PACKETS, move || {
        let mut summary = Summary::new(Options::default().flow_bytes / 4, false);
        decoded(&packets, Summary::needs(false), |event| summary.event(event, true));
        summary.servers.len() as u64
    })
}

/// Decodes a capture, and calls `each` with every event.
fn decoded(packets: &[inputs::Packet], needs: Needs, mut each: impl FnMut(&session::Event<'_>)) {
    let mut decoder = Decoder::new(Options { needs, ..Options::default() });
    let mut read = |decoder: &mut Decoder| {
        let mut events = decoder.events();
        while let Some(event) = events.next() {
            each(&event);
        }
    };
    for packet in packets {
        decoder.push(&packet.borrowed());
        read(&mut decoder);
    }
    while decoder.finish() {
        read(&mut decoder);
    }
}

//! Who is attacked, how, and whether the sources are forged.
//!
//! The rules about abuse (SEC) say that something is an attack; what is counted here beside them says
//! how large it is, what it is made of, and which clients are real.

mod filters;
mod senders;
mod sources;
mod timeline;
mod verdict;

use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use dissectors::abuse_rules::{SEC005, SEC006};
use dissectors::catalogue;
use dissectors::kit::{Code, Map, Purpose, Time, Verdict, Who};
use dissectors::ledger::{Ledger, Terms};

use crate::check::Found;
use crate::session::{Event, FieldLimits, Findings, MessageEvent, Messages, Needs};

use filters::{AllLimits, Prefix};
use sources::Sources;
use timeline::Timeline;

pub use filters::{Filter, Rule};
pub use senders::{Packet, Sender, Senders};
pub use verdict::{Attack, Forged, Legitimate, Seat, SourcesOf};

/// Bytes of memory for which a target is kept, its sources apart.
const BYTES_OF_TARGET: usize = 1 << 10;

/// Bytes of memory for which a source is kept.
const BYTES_OF_SOURCE: usize = 1 << 8;

/// Kinds of messages that are told apart at a target.
const KINDS: usize = 16;

/// The rules that what crashes servers breaks.
const CRASHING: [&str; 2] = ["SEC001", "SEC002"];

/// Reads the events of a capture.
pub struct Abuse {
    /// Servers that are asked.
    servers: Map<SocketAddr, Target>,
    /// Addresses that are answered and never asked.
    victims: Map<IpAddr, Target>,
    /// Servers that were sent what crashes them.
    crashed: Map<SocketAddr, Target>,
    most: usize,
    /// Sources for which there is room, over all targets.
    room: usize,
    /// The rules that what crashes servers breaks.
    crashing: [Option<Code>; 2],
    ledger: Ledger,
    terms: Terms,
    /// There were more targets than are kept.
    pub is_cut: bool,
}

/// What is sent to one target, and what it sends.
#[derive(Clone, Default)]
struct Target {
    protocol: Option<Id>,
    kinds: Vec<(&'static str, u64)>,
    /// Packets to it, and its own.
    packets: [u64; 2],
    /// Bytes of payload, as sent.
    bytes: [u64; 2],
    span: Option<[Time; 2]>,
    timeline: Timeline,
    sources: Sources,
    /// A port of it to which packets went.
    port: u16,
    /// How what is sent to it begins.
    prefix: Prefix,
    limits: AllLimits,
}

impl Target {
    /// A packet was sent to it. `what`: of which kind.
    fn sent_to(&mut self, id: Id, what: &'static str, bytes: u64, time: Time) {
        self.protocol.get_or_insert(id);
        self.packets[0] += 1;
        self.bytes[0] += bytes;
        self.timeline.see(time);
        let [first, last] = self.span.get_or_insert([time; 2]);
        (*first, *last) = ((*first).min(time), (*last).max(time));
        match self.kinds.iter_mut().find(|(name, _)| *name == what) {
            Some((_, count)) => *count += 1,
            None => {
                if self.kinds.len() < KINDS {
                    self.kinds.push((what, 1));
                }
            }
        }
    }
}

impl Abuse {
    /// Nothing counted yet. It takes so many bytes of memory at most.
    pub fn new(bytes: usize, terms: Terms) -> Abuse {
        Abuse {
            servers: Map::default(),
            victims: Map::default(),
            crashed: Map::default(),
            most: (bytes / 4 / BYTES_OF_TARGET).max(16),
            room: (bytes / 2 / BYTES_OF_SOURCE).max(1024),
            crashing: CRASHING.map(|code| catalogue::rule(code).map(|rule| rule.code)),
            ledger: Ledger::new(terms),
            terms,
            is_cut: false,
        }
    }

    /// Which events are read.
    pub fn needs(terms: &Terms) -> Needs {
        Needs {
            messages: Messages::All,
            // For the bytes: filters look at how they begin.
            fields: Some(FieldLimits { fields: 1, depth: 1, ..FieldLimits::default() }),
            findings: Findings::OfMessages,
            cross_flow: true,
            traffic: Some(terms.most),
            ..Needs::default()
        }
    }

    /// The next event of the capture.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Message(message) => self.message(message),
            Event::CrossFlow(it) => self.ledger.fact(it.event, it.servers, &it.witness),
            Event::Checked(_) | Event::Icmp(_) | Event::FlowEnded(_) => {}
        }
    }

    fn message(&mut self, event: &MessageEvent<'_>) {
        let context = event.context();
        // A datagram that was doubled on the way was sent once.
        let (Some(id), None) = (context.protocol, context.copy_of) else { return };
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        for finding in event.checked().findings {
            if self.crashing.contains(&Some(finding.rule.code)) {
                self.crashes(id, finding.rule.slug, event);
            }
        }
        match (event.message().speaker, event.message().purpose) {
            (Who::Client, _) => self.request(id, event),
            (_, Purpose::Response | Purpose::ClientChallenge | Purpose::List) => {
                self.response(id, event, from, to);
            }
            _ => {}
        }
    }

    /// A client asks a server.
    fn request(&mut self, id: Id, event: &MessageEvent<'_>) {
        let payload = event.payload();
        let (from, to) = (payload.from, payload.to);
        let Some(server) = entry(&mut self.servers, to, self.most, &mut self.is_cut) else {
            return;
        };
        server.port = to.port();
        server.sent_to(id, event.message().label, event.length(), payload.time);
        server.prefix.see(payload.bytes);
        let over = server.limits.see(payload.time);
        if let Some(source) = server.sources.entry(from.ip(), &mut self.room) {
            source.packets = source.packets.saturating_add(1);
            source.limits.see(payload.time, over);
            if source.packets == 1 {
                source.hop_limit = event.context().hop_limit;
            }
        }
    }

    /// A server responds: to a client that asked it, or to somebody who did not.
    fn response(&mut self, id: Id, event: &MessageEvent<'_>, from: SocketAddr, to: SocketAddr) {
        let payload = event.payload();
        let Some(reply) = event.reply() else {
            let victim = entry(&mut self.victims, to.ip(), self.most, &mut self.is_cut);
            let Some(victim) = victim else { return };
            victim.port = to.port();
            victim.sent_to(id, event.message().label, event.length(), payload.time);
            victim.prefix.see(payload.bytes);
            if let Some(source) = victim.sources.entry(from.ip(), &mut self.room) {
                source.packets = source.packets.saturating_add(1);
                source.hop_limit = event.context().hop_limit;
            }
            return;
        };
        let Some(server) = self.servers.get_mut(&from) else { return };
        server.packets[1] += 1;
        server.bytes[1] += event.length();
        let Some(source) = server.sources.known(to.ip()) else { return };
        let is_challenge = event.message().purpose == Purpose::ClientChallenge;
        source.challenged |= is_challenge;
        // Data after a challenge round: the challenge came back. What is asked anew after data was
        // asked by somebody who got it.
        source.is_real |= !is_challenge && source.challenged && reply.began < reply.sent;
        source.answered |= !is_challenge;
    }

    /// A client sends what is known to crash servers.
    fn crashes(&mut self, id: Id, what: &'static str, event: &MessageEvent<'_>) {
        let payload = event.payload();
        let target = entry(&mut self.crashed, payload.to, self.most, &mut self.is_cut);
        let Some(target) = target else { return };
        target.port = payload.to.port();
        target.sent_to(id, what, event.length(), payload.time);
        if let Some(source) = target.sources.entry(payload.from.ip(), &mut self.room) {
            source.packets = source.packets.saturating_add(1);
            source.hop_limit = event.context().hop_limit;
        }
    }
}

/// Whether a finding says that somebody is attacked.
pub fn concerns(found: &Found) -> bool {
    found.verdict == Verdict::Fail && [SEC005.code, SEC006.code].contains(&found.rule.code)
}

/// The target at an address, a new one if there is room.
fn entry<'m, K: Copy + Eq + std::hash::Hash>(
    targets: &'m mut Map<K, Target>,
    key: K,
    most: usize,
    is_cut: &mut bool,
) -> Option<&'m mut Target> {
    if targets.len() >= most && !targets.contains_key(&key) {
        *is_cut = true;
        return None;
    }
    Some(targets.entry(key).or_default())
}

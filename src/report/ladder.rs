//! Messages as a ladder: a column for each host, an arrow for each message, from the top down.

mod exchanges;
mod json;
mod mermaid;
mod svg;
mod text;

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Map, Purpose, Time};

use super::NO_ANSWER;
use crate::report::{Envelope, FindingText, comment_parts};
use crate::session::IcmpEvent;
use crate::text::escaped;
use exchanges::LadderExchanges;

pub use text::LadderLine;

/// Limit: arrows of a ladder, of `gamewire follow` and `gamewire view` | {} | further messages are counted
pub const STEPS: usize = 20_000;

/// The data of a ladder.
#[derive(Default)]
pub struct Ladder {
    parties: Vec<LadderColumn>,
    /// By address, and by port if that is the only one of the column, its index; and the first column of
    /// each address.
    columns: Map<(IpAddr, Option<u16>), usize>,
    hosts: Map<IpAddr, usize>,
    steps: Vec<Arrow>,
    /// By packet, the index of the latest message that it completed.
    by_frame: Map<u64, usize>,
    left_out: u64,
    exchanges: LadderExchanges,
    /// The first arrow of the current capture.
    first: usize,
}

/// A retransmitted segment of a message.
pub struct SegmentAgain {
    /// Its packet.
    pub frame: u64,
    /// Its time.
    pub time: Time,
    /// The packet that carried the same bytes first.
    pub first: u64,
    /// The packet that completed the message.
    pub message: u64,
}

/// A column: a host, or one of its ports if a host communicates with itself.
struct LadderColumn {
    address: IpAddr,
    /// The only port that belongs to it.
    only: Option<u16>,
    /// The ports that it used.
    ports: BTreeSet<u16>,
}

/// The text beside an arrow.
struct ArrowText {
    /// Ports that are ambiguous.
    ports: Option<String>,
    /// That it is a request without an answer.
    mark: Option<&'static str>,
    /// All else.
    rest: Option<String>,
}

/// An arrow.
struct Arrow {
    frame: u64,
    /// Packets that carried it.
    packets: usize,
    time: Time,
    digits: u8,
    /// The indices of the parties.
    from: usize,
    to: usize,
    ends: [SocketAddr; 2],
    protocol: &'static str,
    message: &'static str,
    summary: String,
    /// The packet of the request that it answers, and how long after it, in nanoseconds.
    reply: Option<(u64, i64)>,
    copy_of: Option<u64>,
    /// The packet in which the same unanswered request, or the same segment, was sent first.
    again: Option<u64>,
    /// A request that may be answered.
    asks: bool,
    /// For a request: the packet of its response, and whether that answered the exchange.
    response: Option<(u64, bool)>,
    /// A request that was not answered, and whether that is certain.
    unanswered: Option<bool>,
    /// For a request, its exchange.
    exchange: Option<usize>,
    /// The recording lost some of it.
    lost: bool,
    /// An ICMP error instead of a message.
    icmp: bool,
    /// A retransmitted segment instead of a message.
    segment: bool,
    findings: Vec<FindingText>,
}

impl Ladder {
    /// Whether it has no arrow.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// How many arrows it has.
    pub fn steps(&self) -> usize {
        self.steps.len()
    }

    /// The packet of the arrow at this index.
    pub fn frame(&self, step: usize) -> Option<u64> {
        self.steps.get(step).map(|step| step.frame)
    }

    /// The time of the arrow at this index.
    pub fn time(&self, step: usize) -> Option<Time> {
        self.steps.get(step).map(|step| step.time)
    }

    /// Number of messages that were not drawn.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Hosts that have a column.
    pub fn parties(&self) -> usize {
        self.parties.len()
    }

    /// Adds a message.
    pub fn message(&mut self, m: &Envelope<'_>) {
        let (message, payload) = (&m.message, &m.message.payload);
        if self.steps.len() >= STEPS {
            self.undrawn(m.exchange, m.sending, message.reply, payload);
            self.left_out += 1;
            return;
        }
        let earlier = self.exchange(m.exchange, m.sending, message.reply, payload);
        let same = payload.from.ip() == payload.to.ip();
        let (from, to) = (self.party(payload.from, same), self.party(payload.to, same));
        let mut frames = Vec::new();
        payload.frames(&mut frames);
        let (summary, findings) = comment_parts(message);
        // Masters' checks need not be answered.
        let asks = message.purpose().is_some_and(Purpose::begins_exchange);
        let is_own = asks && message.copy_of.is_none();
        let exchange = is_own.then(|| self.exchanges.asks(earlier, self.steps.len()));
        let again = m.sending.earlier().and_then(|earlier| {
            let earlier = self.steps.get(self.step_of(earlier)?)?;
            let is_same = earlier.message == message.name() && earlier.summary == summary;
            is_same.then_some(earlier.again.unwrap_or(earlier.frame))
        });
        self.by_frame.insert(payload.frame, self.steps.len());
        self.steps.push(Arrow {
            frame: payload.frame,
            packets: frames.len(),
            time: payload.time,
            digits: m.digits,
            from,
            to,
            ends: [payload.from, payload.to],
            protocol: message.protocol_name(),
            message: message.name(),
            summary,
            reply: message.reply.map(|reply| (reply.request, payload.time.since(reply.sent))),
            copy_of: message.copy_of,
            again,
            asks,
            response: None,
            unanswered: None,
            exchange,
            lost: payload.lost,
            icmp: false,
            segment: false,
            findings,
        });
    }

    /// Adds retransmitted segments of messages that have an arrow, in the order of the capture.
    pub fn segments_again(&mut self, segments: impl Iterator<Item = SegmentAgain>) {
        let steps = std::mem::take(&mut self.steps);
        let again = segments.filter_map(|it| {
            let about = steps.get(*self.by_frame.get(&it.message)?)?;
            Some(Arrow {
                frame: it.frame,
                packets: 1,
                time: it.time,
                summary: "segment".to_owned(),
                reply: None,
                copy_of: None,
                again: Some(it.first),
                asks: false,
                response: None,
                unanswered: None,
                exchange: None,
                lost: false,
                segment: true,
                findings: Vec::new(),
                ..*about
            })
        });
        let mut again = Vec::from_iter(again.take(STEPS)).into_iter().peekable();
        for step in steps {
            while let Some(again) = again.next_if(|again| again.frame < step.frame) {
                self.steps.push(again);
            }
            self.steps.push(step);
        }
        self.steps.extend(again);
        self.by_frame.clear();
    }

    /// Adds an ICMP error about a message that has an arrow.
    pub fn icmp(&mut self, icmp: &IcmpEvent) {
        let about = self.step_of(icmp.message).and_then(|at| self.steps.get(at));
        let Some(about) = about.filter(|_| self.steps.len() < STEPS) else { return };
        let (to, end, protocol) = (about.from, about.ends[0], about.protocol);
        let host = SocketAddr::new(icmp.from, 0);
        let from = match self.hosts.get(&icmp.from) {
            Some(&party) => party,
            None => self.party(host, false),
        };
        self.steps.push(Arrow {
            frame: icmp.frame,
            packets: 1,
            time: icmp.time,
            digits: icmp.digits,
            from,
            to,
            ends: [host, end],
            protocol,
            message: "ICMP",
            summary: format!("{}, about packet {}", icmp.meaning, icmp.message),
            reply: None,
            copy_of: None,
            again: None,
            asks: false,
            response: None,
            unanswered: None,
            exchange: None,
            lost: false,
            icmp: true,
            segment: false,
            findings: Vec::new(),
        });
    }

    /// The column of one end of a message.
    fn party(&mut self, end: SocketAddr, by_port: bool) -> usize {
        let (address, only) = (end.ip(), by_port.then_some(end.port()));
        let own = [None, only].into_iter().filter_map(|only| self.columns.get(&(address, only)));
        let at = own.min().copied().unwrap_or_else(|| {
            let at = self.parties.len();
            self.parties.push(LadderColumn { address, only, ports: BTreeSet::new() });
            self.columns.insert((address, only), at);
            self.hosts.entry(address).or_insert(at);
            at
        });
        if end.port() > 0 && self.parties[at].ports.len() < 8 {
            self.parties[at].ports.insert(end.port());
        }
        at
    }

    /// Names of the columns: with the port, if a host has only one.
    fn names(&self) -> Vec<String> {
        let name = |party: &LadderColumn| match party.only.or(only(&party.ports)) {
            Some(port) => SocketAddr::new(party.address, port).to_string(),
            None => party.address.to_string(),
        };
        self.parties.iter().map(name).collect()
    }

    /// The text of an arrow besides its name, in one piece.
    fn details(&self, step: &Arrow) -> String {
        let ArrowText { ports, mark, rest } = self.beside(step);
        let parts = [ports, mark.map(str::to_owned), rest];
        Vec::from_iter(parts.into_iter().flatten()).join("  ")
    }

    /// The text of an arrow besides its name.
    fn beside(&self, step: &Arrow) -> ArrowText {
        let several = |at: usize| {
            self.parties.get(at).is_some_and(|party| party.only.is_none() && party.ports.len() > 1)
        };
        let [sender, receiver] = [step.from, step.to].map(|end| !step.icmp && several(end));
        let from = sender.then(|| format!("from :{}", step.ends[0].port()));
        let to = receiver.then(|| format!("to :{}", step.ends[1].port()));
        let mut parts = Vec::new();
        parts.extend(step.reply.map(|(_, after)| format!("+{:.1} ms", after as f64 / 1e6)));
        parts.push(step.summary.clone());
        parts.extend((step.packets > 1).then(|| format!("({} packets)", step.packets)));
        parts.extend(step.copy_of.map(|frame| format!("(copy of {frame})")));
        parts.extend(step.again.map(|frame| format!("(sent again, first in {frame})")));
        parts.extend(step.lost.then(|| "(not whole in the capture)".to_owned()));
        let joined = |mut parts: Vec<String>| {
            parts.retain(|part| !part.is_empty());
            let text = parts.join("  ");
            (!text.trim().is_empty()).then(|| escaped(text.trim()).into_owned())
        };
        ArrowText {
            ports: joined(from.into_iter().chain(to).collect()),
            mark: step.is_silent().then_some(NO_ANSWER),
            rest: joined(parts),
        }
    }
}

impl Arrow {
    /// A request that certainly was not answered.
    fn is_silent(&self) -> bool {
        self.unanswered == Some(true)
    }

    /// A request that no response has answered so far.
    fn is_open(&self) -> bool {
        self.asks && self.response.is_none_or(|(_, completes)| !completes)
    }
}

fn only(ports: &BTreeSet<u16>) -> Option<u16> {
    ports.first().copied().filter(|_| ports.len() == 1)
}

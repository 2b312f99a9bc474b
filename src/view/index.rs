//! An index of the conversations of captures: a few bytes for each, and the positions of its
//! packets. The contents of messages are not stored, but decoded again when needed.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use dissectors::Id;
use dissectors::kit::{Time, Transport};

use crate::check::{ReportedFinding, ReviewedFlow, WEIGHTS, weight};
use crate::rows::ConversationRow;
use crate::session::{Checked, CheckedEvent, ExchangeCounts, MessageEvent};

/// Bytes of a conversation with a single message, over IPv4.
pub const BYTES_OF_CONVERSATION: usize = 60;

const _: () =
    assert!(size_of::<KeptConversation>() + 2 * size_of::<u32>() == BYTES_OF_CONVERSATION);

/// A stored conversation.
#[derive(Clone, Copy, Default)]
struct KeptConversation {
    /// The IPv4 addresses; or an index into the IPv6 ones, and 0.
    hosts: [u32; 2],
    ports: [u16; 2],
    /// Nanoseconds since 1970: the upper and the lower half.
    start: [u32; 2],
    /// The packet of its first message.
    frame: [u8; 5],
    /// The index of the protocol.
    protocol: u8,
    /// The index of its first message in the protocol.
    message: u8,
    /// The most severe finding, in the form of [`weight`].
    worst: u8,
    is_tcp: bool,
    is_six: bool,
    /// The number of findings, up to the maximum.
    findings: u16,
    /// The distance from the packet of its first message to that which completed its last one.
    frames: u32,
    messages: u32,
    /// Exchanges, and answered ones.
    exchanges: [u32; 2],
    /// The maximum response time in microseconds; the largest number: no response.
    slowest: u32,
}

/// All conversations, up to a limit: the oldest are dropped.
pub struct Index {
    rows: VecDeque<KeptConversation>,
    /// The number of the first row.
    first: u32,
    /// The numbers of those with a message, in the order of their first messages.
    order: Vec<u32>,
    /// How many messages of a conversation are copies, which count nowhere: few have any.
    copies: BTreeMap<u32, u32>,
    /// The addresses of conversations over IPv6, and the number of dropped ones.
    six: VecDeque<[Ipv6Addr; 2]>,
    six_gone: u32,
    /// The names of captures, and the number of the first conversation of each.
    captures: Vec<(String, u32)>,
    /// The time to which each capture has been read.
    read_to: Vec<Time>,
    /// Bytes of memory that it takes at most.
    most: usize,
    let_go: u64,
    messages: u64,
    changes: u64,
}

impl Index {
    /// An empty one that takes this many bytes of memory at most.
    pub fn new(bytes: usize) -> Index {
        Index {
            rows: VecDeque::new(),
            first: 0,
            order: Vec::new(),
            copies: BTreeMap::new(),
            six: VecDeque::new(),
            six_gone: 0,
            captures: Vec::new(),
            read_to: Vec::new(),
            most: bytes,
            let_go: 0,
            messages: 0,
            changes: 0,
        }
    }

    /// A capture begins.
    pub fn begin(&mut self, name: &str) {
        let next = self.end();
        self.captures.push((name.to_owned(), next));
        self.read_to.push(Time(i64::MIN));
    }

    /// The current capture was read to this time.
    pub fn reaches(&mut self, time: Time) {
        if let Some(latest) = self.read_to.last_mut() {
            *latest = time.max(*latest);
        }
    }

    /// The time to which a capture has been read.
    pub fn read_to(&self, capture: usize) -> Option<Time> {
        self.read_to.get(capture).copied()
    }

    /// The names of captures, and the number of the first conversation of each.
    pub fn captures(&self) -> &[(String, u32)] {
        &self.captures
    }

    /// The name of a capture.
    pub fn name_of(&self, capture: usize) -> &str {
        self.captures.get(capture).map_or("", |(name, _)| name)
    }

    /// A capture's name before what is in it, where there are several: each numbers its own packets.
    pub(super) fn prefix_of(&self, capture: usize) -> String {
        match &*self.captures {
            [_, _, ..] => format!("{}: ", self.name_of(capture)),
            _ => String::new(),
        }
    }

    /// The number of the first conversation of a capture, if that has begun.
    pub fn first_of(&self, capture: usize) -> Option<u32> {
        self.captures.get(capture).map(|(_, first)| *first)
    }

    /// The numbers of those with a message, in the order of their first ones.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// The number of messages of all conversations, also of dropped ones, without copies.
    pub fn messages(&self) -> u64 {
        self.messages
    }

    /// The number of dropped conversations.
    pub fn let_go(&self) -> u64 {
        self.let_go
    }

    /// Increases with every change.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The number after the last one.
    fn end(&self) -> u32 {
        self.first.saturating_add(u32::try_from(self.rows.len()).unwrap_or(u32::MAX))
    }

    /// The next message of the current capture. Returns its conversation, if that is stored.
    pub fn message(&mut self, m: &MessageEvent<'_>) -> Option<u32> {
        let context = m.context();
        let is_copy = context.copy_of.is_some();
        self.messages += u64::from(!is_copy);
        self.changes += 1;
        let (number, id) = (self.of_flow(context.flow.number)?, context.protocol?);
        let [a, b] = context.flow.ends;
        let payload = m.payload();
        self.reaches(payload.time);
        let (frame, time, is_tcp) =
            (payload.frame, payload.time, payload.transport == Transport::Tcp);
        let kinds = id.info().messages;
        let message = kinds.iter().position(|it| std::ptr::eq(*it, m.message())).unwrap_or(0);
        let is_new = self.row(number).is_none_or(|row| row.messages == 0);
        let hosts = match (a.ip(), b.ip()) {
            _ if !is_new => None,
            (IpAddr::V4(a), IpAddr::V4(b)) => Some(([a.to_bits(), b.to_bits()], false)),
            (a, b) => {
                self.six.push_back([six(a), six(b)]);
                let place = self.six_gone.wrapping_add(self.six.len() as u32 - 1);
                Some(([place, 0], true))
            }
        };
        let row = self.row_mut(number)?;
        if let Some((hosts, is_six)) = hosts {
            *row = KeptConversation {
                hosts,
                ports: [a.port(), b.port()],
                start: [(time.0 as u64 >> 32) as u32, time.0 as u32],
                frame: short(frame),
                protocol: id as u8,
                message: u8::try_from(message).unwrap_or(u8::MAX),
                is_tcp,
                is_six,
                slowest: u32::MAX,
                ..*row
            };
        }
        row.messages = row.messages.saturating_add(1);
        let mut exchanges = row.exchanges();
        exchanges.message(m.exchange());
        row.exchanges = [exchanges.asked, exchanges.answered]
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        // Some messages are known to be complete only through later packets.
        let known = frame.max(context.packet.0).saturating_sub(long(row.frame));
        row.frames = row.frames.max(u32::try_from(known).unwrap_or(u32::MAX));
        if let Some(reply) = m.reply() {
            let took = time.since(reply.sent).max(0) / 1000;
            let took = u32::try_from(took).unwrap_or(u32::MAX).min(u32::MAX - 1);
            row.slowest = if row.slowest == u32::MAX { took } else { row.slowest.max(took) };
        }
        row.find(&m.checked());
        if is_new {
            self.order.push(number);
        }
        if is_copy {
            *self.copies.entry(number).or_default() += 1;
        }
        Some(number)
    }

    /// Something was found about a conversation.
    pub fn checked(&mut self, it: &CheckedEvent<'_>) {
        if let Some(number) = self.of_flow(it.context().flow.number)
            && let Some(row) = self.row_mut(number)
        {
            row.find(&it.checked());
            self.changes += 1;
        }
    }

    /// The current capture was read: what several flows together show about this flow.
    pub fn reviewed(&mut self, flow: u32, it: &ReviewedFlow) {
        if let Some(row) = self.of_flow(flow).and_then(|number| self.row_mut(number)) {
            row.worst = row.worst.max(it.worst);
            row.add(it.all);
            self.changes += 1;
        }
    }

    /// The current capture was read: a finding, of which more may be known now.
    pub fn proven(&mut self, it: &ReportedFinding) {
        if let Some(row) = self.of_flow(it.flow).and_then(|number| self.row_mut(number)) {
            row.worst = row.worst.max(weight(it.severity, it.verdict));
            self.changes += 1;
        }
    }

    /// The number of the conversation for this flow of the current capture; adds it if needed.
    fn of_flow(&mut self, flow: u32) -> Option<u32> {
        let (_, first) = self.captures.last()?;
        let number = first.checked_add(flow.checked_sub(1)?)?;
        if number < self.first {
            return None;
        }
        // Flows are numbered consecutively: earlier ones have a row, or will get one.
        while self.end() <= number && self.end() < u32::MAX {
            self.rows.push_back(KeptConversation::default());
        }
        if self.bytes() > self.most && self.rows.len() > 16 {
            self.let_oldest_go();
        }
        Some(number)
    }

    /// Memory in bytes, with the numbers of its rows once more for the sorted ones.
    fn bytes(&self) -> usize {
        self.rows.len() * size_of::<KeptConversation>()
            + self.order.len() * 2 * size_of::<u32>()
            + self.six.len() * size_of::<[Ipv6Addr; 2]>()
            + self.copies.len() * 2 * size_of::<[u32; 2]>()
    }

    /// Drops the oldest conversations: many at a time, so that the amortized cost is low.
    fn let_oldest_go(&mut self) {
        for row in self.rows.drain(..self.rows.len() / 16) {
            self.first += 1;
            self.let_go += u64::from(row.messages > 0);
        }
        let (first, rows) = (self.first, &self.rows);
        self.order.retain(|&number| number >= first);
        self.copies = self.copies.split_off(&first);
        // Conversations may be stored in any order: only those before the first needed one are
        // dropped.
        let needed = rows.iter().filter(|row| row.is_six && row.messages > 0);
        let needed = needed.map(|row| row.hosts[0].wrapping_sub(self.six_gone)).min();
        let gone = needed.map_or(self.six.len(), |needed| (needed as usize).min(self.six.len()));
        self.six.drain(..gone);
        self.six_gone = self.six_gone.wrapping_add(gone as u32);
    }

    fn row(&self, number: u32) -> Option<&KeptConversation> {
        self.rows.get(number.checked_sub(self.first)? as usize)
    }

    fn row_mut(&mut self, number: u32) -> Option<&mut KeptConversation> {
        self.rows.get_mut(number.checked_sub(self.first)? as usize)
    }

    fn copies_of(&self, number: u32) -> u32 {
        self.copies.get(&number).copied().unwrap_or(0)
    }

    /// The number of its messages with copies, if it is kept.
    pub fn all_messages(&self, number: u32) -> Option<u32> {
        self.row(number).map(|row| row.messages)
    }

    /// The conversation of this number, if it has a message and is kept.
    pub fn get(&self, number: u32) -> Option<ConversationRow> {
        let row = self.row(number).filter(|row| row.messages > 0)?;
        let protocol = *Id::ALL.get(usize::from(row.protocol))?;
        let message = protocol.info().messages.get(usize::from(row.message))?;
        let capture = self.captures.partition_point(|(_, first)| *first <= number);
        let [a, b] = match row.is_six {
            true => {
                let place = row.hosts[0].wrapping_sub(self.six_gone);
                let hosts = *self.six.get(place as usize)?;
                hosts.map(|host| host.to_canonical())
            }
            false => row.hosts.map(|host| IpAddr::V4(Ipv4Addr::from_bits(host))),
        };
        let frame = long(row.frame);
        let last = if row.frames == u32::MAX { u64::MAX } else { frame + u64::from(row.frames) };
        let [high, low] = row.start.map(u64::from);
        Some(ConversationRow {
            number,
            capture: capture.saturating_sub(1),
            ends: [SocketAddr::new(a, row.ports[0]), SocketAddr::new(b, row.ports[1])],
            transport: if row.is_tcp { Transport::Tcp } else { Transport::Udp },
            protocol,
            message: message.name,
            start: Time((high << 32 | low) as i64),
            frames: [frame, last],
            messages: row.messages.saturating_sub(self.copies_of(number)),
            exchanges: row.exchanges(),
            slowest: (row.slowest != u32::MAX).then_some(row.slowest),
            findings: row.findings,
            worst: WEIGHTS.get(usize::from(row.worst)).copied().flatten(),
        })
    }
}

impl KeptConversation {
    fn exchanges(&self) -> ExchangeCounts {
        let [asked, answered] = self.exchanges.map(u64::from);
        ExchangeCounts { asked, answered }
    }

    fn find(&mut self, checked: &Checked<'_>) {
        let found = checked.findings.iter().map(|it| (it.severity, it.verdict, 1));
        let more = checked.left_out.iter().map(|it| (it.severity, it.verdict, it.times));
        for (severity, verdict, times) in found.chain(more) {
            self.worst = self.worst.max(weight(severity, verdict));
            self.add(times);
        }
    }

    /// Adds this many findings.
    fn add(&mut self, times: u64) {
        let times = u16::try_from(times).unwrap_or(u16::MAX);
        self.findings = self.findings.saturating_add(times);
    }
}

/// An address of IPv6; one of IPv4 is mapped, and mapped back when it is read.
fn six(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

/// A packet's number in five bytes, enough for hundreds of terabytes.
pub(super) fn short(frame: u64) -> [u8; 5] {
    let [_, _, _, low @ ..] = frame.min((1 << 40) - 1).to_be_bytes();
    low
}

/// A packet's number.
pub(super) fn long([a, b, c, d, e]: [u8; 5]) -> u64 {
    u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
}

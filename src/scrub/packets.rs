//! A packet that waits to be written: what is needed of its innermost datagram, without its
//! payload, and what replaces the payload as far as that is known.
//!
//! Link layers and tunnels are left out with their addresses.

use std::net::{IpAddr, SocketAddr};

use super::headers::{self, Checksum, IpLengths, Numbering, TCP, UDP};
use super::{Addresses, Scrubber};
use crate::capture::{LinkType, Packet};
use crate::net::{
    self, Fragment, Headers, IcmpError, Ip, Malformed, OtherIcmp, Outcome, Quote, TcpFlags,
};

/// Packets that begin with an IP header.
const RAW_IP: LinkType = LinkType(101);

/// A packet as it is written.
#[derive(Debug)]
pub struct Written {
    /// Its bytes, from the IP header or an Ethernet header on.
    pub bytes: Vec<u8>,
    /// The kind of the header.
    pub link: LinkType,
    /// Number of missing bytes.
    pub missing: u32,
    /// Some payload belonged to no message.
    pub was_cut: bool,
}

/// What remains of a packet without a datagram, because it affects what can be proven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// A header that cannot be parsed.
    Malformed,
    /// The snap length cut the headers.
    Snapped,
}

/// Replacement bytes.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    /// The place of the first one in the packet.
    pub(super) offset: u32,
    pub(super) bytes: Box<[u8]>,
}

/// What a packet carries.
pub(super) enum Content {
    Udp,
    Tcp {
        sequence: u32,
    },
    /// A part of a datagram.
    Fragment {
        identification: u32,
        at: u32,
        more: bool,
    },
    /// The error and the datagram that it quotes, whose bytes are the payload.
    Icmp(Box<(IcmpError<'static>, Vec<u8>)>),
    /// Other ICMP, of which only the type is kept: its sender runs.
    OtherIcmp {
        kind: u8,
    },
}

/// One innermost datagram, or a part of one.
pub(super) struct Part {
    pub(super) ip: Ip,
    pub(super) ends: [SocketAddr; 2],
    pub(super) protocol: u8,
    pub(super) content: Content,
    ipv4: Box<[u8]>,
    transport: Box<[u8]>,
    checksums: [Checksum; 2],
    note: Option<Malformed>,
    snapped: bool,
    announced: u32,
    /// The payload: its place in the packet, and its recorded length.
    pub(super) offset: u32,
    pub(super) length: u32,
    /// A hash of the ends and the payload.
    pub(super) hash: u64,
    /// The payload of fragments and of parts of responses; else it is not needed.
    pub(super) bytes: Box<[u8]>,
    /// In any order.
    pub(super) edits: Vec<Edit>,
    /// The recorded bytes end here.
    pub(super) cut: Option<u32>,
    /// It repeats bytes of a stream with other values.
    pub(super) differs: bool,
    /// A message has bytes of it.
    pub(super) is_message: bool,
}

/// The payload that is written, and whether some was cut.
pub(super) type NewPayload = (Vec<u8>, bool);

impl Part {
    /// Of a decoded packet.
    pub(super) fn of(
        outcome: &Outcome<'_>,
        hash: impl FnOnce(&[SocketAddr; 2], &[u8]) -> u64,
    ) -> Option<Part> {
        let checksums = Checksum::of(outcome);
        let whole = match outcome {
            Outcome::Udp(it) => {
                let (transport, _) = it.headers.transport.split_at_checked(8)?;
                let ends = [it.source_port, it.destination_port];
                Part::new(
                    &it.ip,
                    ends,
                    UDP,
                    Content::Udp,
                    &it.headers,
                    transport,
                    &it.payload,
                    it.note,
                )
            }
            Outcome::Tcp(it) => {
                let length = transport_length(TCP, it.headers.transport);
                let (transport, _) = it.headers.transport.split_at_checked(length)?;
                let ends = [it.source_port, it.destination_port];
                let content = Content::Tcp { sequence: it.sequence };
                Part::new(&it.ip, ends, TCP, content, &it.headers, transport, &it.payload, it.note)
            }
            Outcome::Fragment(it) => {
                let &Fragment { identification, at, more, .. } = it;
                let content = Content::Fragment { identification, at, more };
                let part = Part::new(
                    &it.ip,
                    [0; 2],
                    it.protocol,
                    content,
                    &it.headers,
                    &[],
                    &it.payload,
                    it.note,
                );
                return Some(Part { bytes: it.payload.bytes.into(), checksums, ..part });
            }
            Outcome::Icmp(it) => return Some(Part::of_icmp(it)),
            Outcome::OtherIcmp(it) => return Some(Part::of_other_icmp(it)),
            _ => return None,
        };
        let payload = match outcome {
            Outcome::Udp(it) => it.payload.bytes,
            Outcome::Tcp(it) => it.payload.bytes,
            _ => &[],
        };
        let is_part = whole.protocol == UDP
            && dissectors::Id::ALL.iter().any(|id| id.part_header(payload).is_some());
        let bytes = if is_part { payload.into() } else { Box::default() };
        let hash = if payload.is_empty() { 0 } else { hash(&whole.ends, payload) };
        Some(Part { hash, bytes, checksums, ..whole })
    }

    fn new(
        ip: &Ip,
        ports: [u16; 2],
        protocol: u8,
        content: Content,
        headers: &Headers<'_>,
        transport: &[u8],
        payload: &net::TransportPayload<'_>,
        note: Option<Malformed>,
    ) -> Part {
        Part {
            ip: *ip,
            ends: [(ip.source, ports[0]).into(), (ip.destination, ports[1]).into()],
            protocol,
            content,
            ipv4: headers.ipv4.into(),
            transport: transport.into(),
            checksums: [Checksum::Wrong; 2],
            note,
            snapped: payload.snapped,
            announced: payload.announced,
            offset: payload.offset,
            length: payload.bytes.len() as u32,
            hash: 0,
            bytes: Box::default(),
            edits: Vec::new(),
            cut: None,
            differs: false,
            is_message: false,
        }
    }

    fn of_icmp(error: &IcmpError<'_>) -> Part {
        let quote = Quote { bytes: &[], ..error.quote };
        let length = error.quote.bytes.len();
        let headers = Headers { ipv4: &[], transport: &[] };
        let payload = net::TransportPayload {
            bytes: &[],
            offset: 0,
            announced: length as u32,
            snapped: false,
        };
        let error =
            IcmpError { ip: error.ip, kind: error.kind, code: error.code, mtu: error.mtu, quote };
        let hosts = Ip { source: quote.source, destination: quote.destination, ..error.ip };
        let content = Content::Icmp(Box::new((error, Vec::new())));
        let protocol = headers::protocol_of(quote.transport);
        let part = Part::new(&hosts, quote.ports, protocol, content, &headers, &[], &payload, None);
        Part { length: length as u32, ..part }
    }

    fn of_other_icmp(icmp: &OtherIcmp) -> Part {
        let headers = Headers { ipv4: &[], transport: &[] };
        let payload = net::TransportPayload { bytes: &[], offset: 0, announced: 0, snapped: false };
        let (content, protocol) =
            (Content::OtherIcmp { kind: icmp.kind }, headers::icmp_of(icmp.ip.source));
        Part::new(&icmp.ip, [0; 2], protocol, content, &headers, &[], &payload, None)
    }

    /// Whether there is no payload, as far as its headers say.
    pub(super) fn is_empty(&self) -> bool {
        self.announced == 0 || matches!(self.content, Content::Icmp(_))
    }

    /// Whether it is a segment without payload that opens or refuses a connection.
    pub(super) fn opens_or_refuses(&self) -> bool {
        const FLAGS: u8 = TcpFlags::SYN.0 | TcpFlags::RST.0;
        let is_segment = matches!(self.content, Content::Tcp { .. });
        is_segment && self.is_empty() && self.transport.get(13).is_some_and(|it| it & FLAGS != 0)
    }

    /// The host that sent the packet.
    pub(super) fn sender(&self) -> IpAddr {
        match &self.content {
            Content::Icmp(error) => error.0.ip.source,
            _ => self.ip.source,
        }
    }

    /// Heap memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let edits = self.edits.iter().map(|edit| edit.bytes.len() + size_of::<Edit>() + 16);
        let icmp = if matches!(self.content, Content::Icmp(_)) { 200 } else { 0 };
        self.ipv4.len() + self.transport.len() + self.bytes.len() + 48 + icmp + edits.sum::<usize>()
    }

    /// The length of the transport header in the first fragment of a datagram; otherwise, headers
    /// are not in the payload.
    fn header(&self) -> usize {
        match self.content {
            Content::Fragment { at: 0, .. } => transport_length(self.protocol, &self.bytes),
            _ => 0,
        }
    }

    /// What replaces the payload. Bytes that are in no message are cut off a stream; in a datagram,
    /// they are letters, unless the header of a part shows what they are. The transport header of a
    /// first fragment is written, without its checksum.
    pub(super) fn payload(&self, scrubber: &mut Scrubber, numbering: &Numbering) -> NewPayload {
        let length = self.length as usize;
        let mut new = vec![None; length];
        let header = self.header();
        if header > 0 {
            let made =
                self.transport_header(self.bytes.get(..header).unwrap_or_default(), numbering);
            new.iter_mut().zip(made).for_each(|(new, byte)| *new = Some(byte));
        }
        for edit in &self.edits {
            for (at, &byte) in (edit.offset..).zip(&edit.bytes) {
                let place = at.checked_sub(self.offset).and_then(|at| new.get_mut(at as usize));
                if let Some(place) = place {
                    *place = Some(byte);
                }
            }
        }
        let cut = self.cut.map_or(length, |cut| cut.saturating_sub(self.offset) as usize);
        new.truncate(cut);
        if self.protocol == UDP {
            self.fill_part(&mut new, header, scrubber);
        }
        let is_stream = matches!(self.content, Content::Tcp { .. });
        let mut bytes = Vec::with_capacity(new.len());
        for byte in new {
            match byte {
                None if is_stream => break,
                byte => bytes.push(byte.unwrap_or(b'x')),
            }
        }
        // It belongs to no message, but must stay different.
        if self.differs
            && !self.is_message
            && let Some(last) = bytes.last_mut()
        {
            *last = if *last == b'x' { b'y' } else { b'x' };
        }
        let was_cut = bytes.len() < length && self.cut.is_none();
        (bytes, was_cut)
    }

    /// Fills in the bytes of a part of a response that are in no message.
    fn fill_part(&self, new: &mut [Option<u8>], header: usize, scrubber: &mut Scrubber) {
        let (Some(datagram), Some(places)) = (self.bytes.get(header..), new.get_mut(header..))
        else {
            return;
        };
        let before = places.iter().position(Option::is_some).unwrap_or(places.len());
        let Some(made) = scrubber.part(datagram, before) else { return };
        places.iter_mut().zip(made).take(before).for_each(|(new, byte)| *new = Some(byte));
        let mut at = before;
        while let Some(from) = places.iter().skip(at).position(Option::is_none).map(|it| it + at) {
            let length = places.iter().skip(from).take_while(|it| it.is_none()).count();
            let mut made = Vec::new();
            scrubber.repeated(datagram.get(from..from + length).unwrap_or_default(), &mut made);
            places.iter_mut().skip(from).zip(made).for_each(|(new, byte)| *new = Some(byte));
            at = from + length;
        }
    }

    fn transport_header(&self, header: &[u8], numbering: &Numbering) -> Vec<u8> {
        match self.protocol {
            TCP if header.len() >= 20 => headers::tcp_header(header, self.ends, numbering),
            UDP if header.len() == 8 => {
                let length = header.get(4..6).and_then(|it| it.first_chunk());
                let length = length.map_or(0, |length| u16::from_be_bytes(*length));
                let announced = match self.content {
                    Content::Fragment { .. } => length.saturating_sub(8).into(),
                    _ => self.announced,
                };
                headers::udp_header(header, announced)
            }
            _ => vec![b'x'; header.len()],
        }
    }

    /// The packet with this payload. `checksum`: that of the datagram of which this is the first
    /// fragment.
    pub(super) fn write(
        &self,
        (new, was_cut): NewPayload,
        checksum: Option<[u8; 2]>,
        addresses: &mut Addresses,
        numbering: &Numbering,
    ) -> Written {
        if let Content::Icmp(error) = &self.content {
            let bytes = headers::icmp(&error.0, &error.1, addresses, numbering);
            return Written { bytes, link: RAW_IP, missing: 0, was_cut: false };
        }
        if let Content::OtherIcmp { kind } = self.content {
            let bytes = headers::other_icmp(&self.ip, kind, addresses, numbering);
            return Written { bytes, link: RAW_IP, missing: 0, was_cut: false };
        }
        let hosts = [self.ip.source, self.ip.destination];
        let ends = hosts.map(|end| addresses.of(end));
        let mut transport = match self.content {
            Content::Fragment { .. } => Vec::new(),
            _ => self.transport_header(&self.transport, numbering),
        };
        let length = transport.len() as u32;
        transport.extend(&new);
        match (&self.content, checksum) {
            (Content::Fragment { .. }, Some(sum)) => {
                let at = headers::checksum_place(self.protocol);
                if let Some(field) = transport.get_mut(at..at + 2) {
                    field.copy_from_slice(&sum);
                }
            }
            (Content::Fragment { .. }, None) => {}
            _ => headers::set_checksum(self.checksums[1], &ends, self.protocol, &mut transport),
        }
        let lengths = IpLengths {
            ipv4: &self.ipv4,
            protocol: self.protocol,
            announced: length.saturating_add(self.announced),
            recorded: transport.len() as u32,
            note: self.note,
            checksum: self.checksums[0],
        };
        let fragment = self.fragment();
        let network = fragment.as_ref().and_then(|_| headers::network(&self.ip, numbering));
        let link = if network.is_some() { LinkType::ETHERNET } else { RAW_IP };
        let mut bytes = network.unwrap_or_default();
        bytes.extend(headers::ip_header(&self.ip, ends, &lengths, fragment.as_ref(), numbering));
        bytes.extend(transport);
        let cut = self.length.saturating_sub(new.len() as u32);
        let lost = self.announced.saturating_sub(self.length);
        let missing = cut + if self.snapped { lost } else { 0 };
        Written { bytes, link, missing, was_cut }
    }

    /// Takes over the new bytes of another datagram that this one repeats. Returns whether it is a
    /// copy of it.
    pub(super) fn repeat(&mut self, first: &Part, new: &[u8]) -> bool {
        let ports = first.ends.map(|end| end.port());
        match (&first.content, &mut self.content) {
            (Content::Udp, Content::Icmp(error)) if error.0.quote.ports == ports => {
                let length = (self.length as usize).min(new.len());
                error.1 = new.get(..length).unwrap_or_default().to_vec();
                false
            }
            (Content::Udp, Content::Udp) if self.hash == first.hash && self.edits.is_empty() => {
                self.edits.push(Edit { offset: self.offset, bytes: new.into() });
                self.cut = first.cut.map(|cut| cut.saturating_sub(first.offset) + self.offset);
                true
            }
            (&Content::Tcp { sequence: first_at }, &mut Content::Tcp { sequence })
                if self.ends == first.ends =>
            {
                let from = sequence.max(first_at);
                let end = first_at.saturating_add(new.len() as u32);
                let to = end.min(sequence.saturating_add(self.length));
                if from < to {
                    let bytes = new.get((from - first_at) as usize..(to - first_at) as usize);
                    let bytes = bytes.unwrap_or_default().into();
                    // Bytes of its own messages come after these.
                    self.edits.insert(0, Edit { offset: self.offset + (from - sequence), bytes });
                }
                false
            }
            _ => false,
        }
    }

    /// The fragment, without its payload.
    fn fragment(&self) -> Option<Fragment<'static>> {
        let Content::Fragment { identification, at, more } = self.content else { return None };
        Some(Fragment {
            ip: self.ip,
            identification,
            protocol: self.protocol,
            at,
            more,
            payload: net::TransportPayload { bytes: &[], offset: 0, announced: 0, snapped: false },
            note: None,
            headers: Headers { ipv4: &[], transport: &[] },
        })
    }
}

/// How long a transport header is that begins with these bytes.
fn transport_length(protocol: u8, bytes: &[u8]) -> usize {
    match protocol {
        TCP => bytes.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4).max(20),
        UDP => 8,
        _ => 0,
    }
    .min(bytes.len())
}

/// The datagrams of a packet, and what else it has.
pub(super) fn decode(
    packet: &Packet<'_>,
    mut hash: impl FnMut(&[SocketAddr; 2], &[u8]) -> u64,
) -> (Vec<Part>, Vec<Lost>) {
    let (mut parts, mut lost) = (Vec::new(), Vec::new());
    net::decode(packet.link, packet.data, packet.original_length).each(
        &mut |outcome| match outcome {
            Outcome::Malformed(_) => lost.push(Lost::Malformed),
            Outcome::Snapped => lost.push(Lost::Snapped),
            outcome => parts.extend(Part::of(&outcome, &mut hash)),
        },
    );
    (parts, lost)
}

impl Lost {
    /// What is written of it, and how long it was.
    pub fn written(self) -> (&'static [u8], u32) {
        // The first byte of an IPv4 header.
        const HEADER: &[u8] = &[0x45];
        match self {
            Lost::Malformed => (HEADER, 1),
            Lost::Snapped => (HEADER, 28),
        }
    }
}

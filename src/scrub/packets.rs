//! Rewrites a packet: its innermost IP datagram, with other addresses and payload; checksums stay
//! correct or wrong.
//!
//! Link layers and tunnels are removed with their addresses: the output is IP only.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasher;
use std::net::{IpAddr, SocketAddr};

use foldhash::quality::RandomState;

use super::{Addresses, Key, texts};
use crate::capture::Packet;
use crate::net::{self, Datagram, Fragment, IcmpError, Ip, Outcome, Segment};

/// Replacement bytes in a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Where the first is, in the packet's recorded bytes.
    pub offset: u32,
    /// The bytes.
    pub bytes: Box<[u8]>,
}

/// The replacement of one packet's payload.
#[derive(Debug, Default)]
pub struct Edits {
    /// In any order; the payload is cut at the first byte that is in none.
    pub each: Vec<Edit>,
    /// The recorded bytes end here.
    pub cut: Option<u32>,
}

/// A packet as it is written.
#[derive(Debug)]
pub struct Rewritten {
    /// From the IP header on.
    pub bytes: Vec<u8>,
    /// Number of missing bytes.
    pub missing: u32,
    /// Some payload belonged to no message.
    pub was_cut: bool,
}

/// A fragmented datagram: sender, receiver, protocol and identification.
type FragmentedDatagram = (IpAddr, IpAddr, u8, u32);

/// The new bytes of a part of a stream: the packet, and the index of its edit; and a hash of the
/// old bytes.
type StreamEdit = (u64, usize, u64);

/// The replacements by packet number.
pub type AllEdits = HashMap<u64, Edits>;

/// Rewrites packets. The checksum of a datagram is in its first fragment and covers the others: all
/// fragments must be [seen](Rewriter::see) before any packet is written.
pub struct Rewriter {
    /// The latest datagram with an identification.
    latest: HashMap<FragmentedDatagram, usize>,
    /// The datagram of each fragment, by the packet's number and the offset of its payload.
    datagrams: HashMap<(u64, u32), usize>,
    /// For each datagram, the sums of its new and old payload.
    sums: Vec<[u64; 2]>,
    /// For each datagram, the ranges that arrived.
    parts: Vec<BTreeMap<u32, u32>>,
    /// For each direction of a connection, the new bytes by sequence number, for retransmitted
    /// segments.
    streams: HashMap<[SocketAddr; 2], BTreeMap<u32, StreamEdit>>,
    /// Rewritten datagrams by a hash of their ends and bytes: the packet, and the offset of its
    /// payload.
    copies: HashMap<u64, (u64, u32)>,
    hasher: RandomState,
    key: Key,
}

/// The beginnings of split responses' parts, in A2S, and after five bytes in GameSpy 4; and the
/// maximum number of bytes before their text.
const SPLIT: [u8; 4] = [0xFE, 0xFF, 0xFF, 0xFF];
const SPLITNUM: &[u8] = b"splitnum\0";
const SPLIT_HEADER: usize = 24;

impl Rewriter {
    /// By this key.
    pub fn new(key: Key) -> Rewriter {
        Rewriter {
            latest: HashMap::new(),
            datagrams: HashMap::new(),
            sums: Vec::new(),
            parts: Vec::new(),
            streams: HashMap::new(),
            copies: HashMap::new(),
            hasher: RandomState::default(),
            key,
        }
    }

    /// Inspects a packet before rewriting.
    pub fn see(&mut self, packet: &Packet<'_>, frame: u64, edits: &Edits) {
        decode(packet).each(&mut |outcome| self.see_outcome(&outcome, frame, edits));
    }

    fn see_outcome(&mut self, outcome: &Outcome<'_>, frame: u64, edits: &Edits) {
        let it = match outcome {
            Outcome::Tcp(segment) => return self.see_segment(segment, frame, edits),
            Outcome::Udp(it) => {
                if !edits.each.is_empty() && edits.cut.is_none() {
                    let ends = ends(&it.ip, it.source_port, it.destination_port);
                    let hash = self.hasher.hash_one((ends, it.payload.bytes));
                    self.copies.entry(hash).or_insert((frame, it.payload.offset));
                }
                return;
            }
            Outcome::Fragment(it) => it,
            _ => return,
        };
        let &Fragment { ip, protocol, identification, at, payload, .. } = it;
        let whole = (ip.source, ip.destination, protocol, identification);
        let known = self.latest.get(&whole).copied();
        let of =
            known.filter(|&of| self.parts.get(of).is_some_and(|parts| !parts.contains_key(&at)));
        let of = of.unwrap_or_else(|| {
            self.sums.push([0; 2]);
            self.parts.push(BTreeMap::new());
            self.latest.insert(whole, self.sums.len() - 1);
            self.sums.len() - 1
        });
        self.datagrams.insert((frame, payload.offset), of);
        let (mut new, _) = edited_part(it, edits);
        let Some(parts) = self.parts.get_mut(of) else { return };
        let mut old = payload.bytes.get(..new.len()).unwrap_or_default().to_vec();
        // In overlapping parts, each byte counts once: as a part of the message, or the first one
        // that arrived.
        let end = at + payload.announced;
        let overlaps = parts.range(..end).next_back().is_some_and(|(_, before)| *before > at);
        if !edits.each.is_empty() {
            let mut is_edited = vec![false; new.len()];
            for edit in &edits.each {
                let from = edit.offset.saturating_sub(payload.offset) as usize;
                let places = is_edited.iter_mut().skip(from).take(edit.bytes.len());
                places.for_each(|place| *place = true);
            }
            for (at, _) in is_edited.iter().enumerate().filter(|(_, is_edited)| !**is_edited) {
                (new[at], old[at]) = (0, 0);
            }
        } else if overlaps {
            (new, old) = (Vec::new(), Vec::new());
        }
        parts.insert(at, end);
        if let Some(sums) = self.sums.get_mut(of) {
            *sums = [sums[0] + sum(&new), sums[1] + sum(&old)];
        }
    }

    fn see_segment(&mut self, segment: &Segment<'_>, frame: u64, edits: &Edits) {
        if edits.each.is_empty() {
            return;
        }
        let ends = ends(&segment.ip, segment.source_port, segment.destination_port);
        let stream = self.streams.entry(ends).or_default();
        for (number, edit) in edits.each.iter().enumerate() {
            let at = segment
                .sequence
                .wrapping_add(edit.offset - segment.payload.offset.min(edit.offset));
            let hash = || {
                let old =
                    segment.payload.bytes.get((edit.offset - segment.payload.offset) as usize..);
                let old = old.and_then(|old| old.get(..edit.bytes.len()));
                self.hasher.hash_one(old.unwrap_or_default())
            };
            stream.entry(at).or_insert_with(|| (frame, number, hash()));
        }
    }

    /// The replacement of a datagram that, in part or as a whole, belongs to no message: that of
    /// its copy, or by the form of a part.
    fn known(&self, ends: &[SocketAddr; 2], payload: &[u8], all: &AllEdits) -> Vec<u8> {
        let copy = self.copies.get(&self.hasher.hash_one((ends, payload)));
        if let Some((edits, offset)) = copy.and_then(|(of, at)| Some((all.get(of)?, *at)))
            && let (new, false) = edited(payload, 0, offset, edits, |_| None)
        {
            return new;
        }
        if payload.starts_with(&SPLIT) {
            let header = payload.iter().take(12).copied();
            return header.chain(payload.iter().skip(12).map(|_| b'x')).collect();
        }
        let part = payload.split_at_checked(16);
        let part = part.filter(|(header, _)| header[5..].starts_with(SPLITNUM));
        let Some((header, rest)) = part else { return vec![b'x'; payload.len()] };
        // Parts may repeat a column's name or a value.
        let texts = rest.split(|byte| *byte == 0).map(|text| {
            let is_name = text.ends_with(b"_") || text.ends_with(b"_t") || text.len() < 2;
            if is_name { text.to_vec() } else { texts::other(&self.key, text) }
        });
        [header, &Vec::from_iter(texts).join(&0)].concat()
    }

    /// The new byte at this position of a stream.
    fn streamed(&self, ends: &[SocketAddr; 2], sequence: u32, all: &AllEdits) -> Option<u8> {
        let (start, (frame, edit, _)) = self.streams.get(ends)?.range(..=sequence).next_back()?;
        let edit = all.get(frame)?.each.get(*edit)?;
        edit.bytes.get((sequence - start) as usize).copied()
    }

    /// Whether a segment retransmits bytes of a message with other values.
    fn differs(&self, ends: &[SocketAddr; 2], segment: &Segment<'_>, all: &AllEdits) -> bool {
        let first = self.streams.get(ends).and_then(|stream| stream.get(&segment.sequence));
        let old = first.and_then(|(frame, edit, hash)| {
            let length = all.get(frame)?.each.get(*edit)?.bytes.len();
            Some((segment.payload.bytes.get(..length)?, *hash))
        });
        old.is_some_and(|(old, hash)| self.hasher.hash_one(old) != hash)
    }

    /// The rewritten packet, if it is IP: one for each frame in it.
    pub fn rewrite(
        &self,
        packet: &Packet<'_>,
        frame: u64,
        all: &AllEdits,
        addresses: &mut Addresses,
    ) -> Vec<Rewritten> {
        let mut rewritten = Vec::new();
        decode(packet).each(&mut |outcome| {
            rewritten.extend(self.rewrite_outcome(outcome, frame, all, addresses));
        });
        rewritten
    }

    fn rewrite_outcome(
        &self,
        outcome: Outcome<'_>,
        frame: u64,
        all: &AllEdits,
        addresses: &mut Addresses,
    ) -> Option<Rewritten> {
        let none = Edits::default();
        let edits = all.get(&frame).unwrap_or(&none);
        match outcome {
            Outcome::Udp(Datagram {
                ip, source_port, destination_port, payload, headers, ..
            }) => {
                let (header, _) = headers.transport.split_at_checked(8)?;
                let ends = ends(&ip, source_port, destination_port);
                let mut new = edited(payload.bytes, 0, payload.offset, edits, |_| None);
                if new.1 && edits.cut.is_none() {
                    let known = self.known(&ends, payload.bytes, all);
                    let known = |at: usize| known.get(at).copied();
                    new = edited(payload.bytes, 0, payload.offset, edits, known);
                }
                Some(transport(17, header, 6, &ip, &payload, headers.ipv4, new, addresses))
            }
            Outcome::Tcp(segment @ Segment { ip, payload, headers, .. }) => {
                let ends = ends(&ip, segment.source_port, segment.destination_port);
                let mut new = edited(payload.bytes, 0, payload.offset, edits, |at| {
                    let known = self.streamed(&ends, segment.sequence.wrapping_add(at as u32), all);
                    known.or_else(|| chunk_length(payload.bytes, at))
                });
                if edits.each.is_empty()
                    && self.differs(&ends, &segment, all)
                    && let Some(last) = new.0.last_mut()
                {
                    // It belongs to no message, but must stay different.
                    *last = if *last == b'x' { b'y' } else { b'x' };
                }
                let length = transport_length(6, headers.transport);
                let (header, _) = headers.transport.split_at_checked(length)?;
                Some(transport(6, header, 16, &ip, &payload, headers.ipv4, new, addresses))
            }
            Outcome::Fragment(fragment) => {
                let of = self.datagrams.get(&(frame, fragment.payload.offset))?;
                Some(part(&fragment, *self.sums.get(*of)?, edits, addresses))
            }
            Outcome::Icmp(error) => Some(icmp(&error, addresses)),
            _ => None,
        }
    }
}

/// The byte at this position, if it belongs to the length of an HTTP chunk, which is in no message:
/// hexadecimal digits between two line ends.
fn chunk_length(bytes: &[u8], at: usize) -> Option<u8> {
    let is_length =
        |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F' | b'\r' | b'\n');
    let (before, after) = bytes.split_at_checked(at)?;
    let before = before.iter().rev().take_while(|byte| is_length(byte)).take(16).count();
    let after = after.iter().take_while(|byte| is_length(byte)).take(16).count();
    let line = bytes.get(at - before..at + after)?;
    let is_short = line.len() < 16 && line.contains(&b'\n');
    bytes.get(at).copied().filter(|byte| is_short && is_length(byte))
}

fn ends(ip: &Ip, source_port: u16, destination_port: u16) -> [SocketAddr; 2] {
    [(ip.source, source_port).into(), (ip.destination, destination_port).into()]
}

fn decode<'p>(packet: &Packet<'p>) -> Outcome<'p> {
    net::decode(packet.link, packet.data, packet.original_length)
}

/// How long a transport header is that begins with these bytes.
fn transport_length(protocol: u8, bytes: &[u8]) -> usize {
    match protocol {
        6 => bytes.get(12).map_or(20, |byte| usize::from(byte >> 4) * 4).max(20),
        _ => 8,
    }
    .min(bytes.len())
}

/// A whole datagram or segment; `checksum`: where that is in its header.
#[expect(clippy::too_many_arguments, reason = "what UDP and TCP have in common")]
fn transport(
    protocol: u8,
    header: &[u8],
    checksum: usize,
    ip: &Ip,
    payload: &net::TransportPayload<'_>,
    ipv4: &[u8],
    (new, was_cut): (Vec<u8>, bool),
    addresses: &mut Addresses,
) -> Rewritten {
    let old = payload.bytes.get(..new.len()).unwrap_or_default();
    let ends = [ip.source, ip.destination].map(|end| (end, addresses.of(end)));
    let ends_sum = |which: fn(&(IpAddr, IpAddr)) -> IpAddr| -> u64 {
        ends.iter().map(|pair| sum(&octets(which(pair)))).sum()
    };
    let sums = [ends_sum(|pair| pair.1) + sum(&new), ends_sum(|pair| pair.0) + sum(old)];
    let mut header = header.to_vec();
    correct(&mut header, checksum, sums, protocol == 17);
    let length = header.len() as u32 + payload.announced;
    let ends = ends.map(|(_, other)| other);
    let mut bytes = ip_header(ip, ends, ipv4, protocol, length, None);
    bytes.extend(header);
    let missing = payload.announced.saturating_sub(new.len() as u32);
    bytes.extend(new);
    Rewritten { bytes, missing, was_cut }
}

/// A fragment of a datagram whose payload has these sums, new and old.
fn part(
    fragment: &Fragment<'_>,
    sums: [u64; 2],
    edits: &Edits,
    addresses: &mut Addresses,
) -> Rewritten {
    let Fragment { ip, protocol, at, payload, headers, .. } = fragment;
    let (mut new, was_cut) = edited_part(fragment, edits);
    let ends = [ip.source, ip.destination].map(|end| (end, addresses.of(end)));
    if *at == 0 {
        let place = if *protocol == 6 { 16 } else { 6 };
        let [mut with, mut without] = sums;
        for (old, other) in ends {
            (with, without) = (with + sum(&octets(other)), without + sum(&octets(old)));
        }
        correct(&mut new, place, [with, without], *protocol == 17);
    }
    let ends = ends.map(|(_, other)| other);
    let mut bytes = ip_header(ip, ends, headers.ipv4, *protocol, payload.announced, Some(fragment));
    let missing = payload.announced.saturating_sub(new.len() as u32);
    bytes.extend(new);
    Rewritten { bytes, missing, was_cut }
}

/// The bytes of a fragment: those that belong to no message, because another fragment had them
/// first or the datagram never became whole, are replaced by letters.
fn edited_part(fragment: &Fragment<'_>, edits: &Edits) -> (Vec<u8>, bool) {
    let Fragment { protocol, at, payload, .. } = fragment;
    let header = if *at == 0 { transport_length(*protocol, payload.bytes) } else { 0 };
    edited(payload.bytes, header, payload.offset, edits, |_| Some(b'x'))
}

/// The bytes of a payload: the first `kept` unchanged, the others from the edits or `elsewhere`, up
/// to the first byte without replacement; and whether there was one.
fn edited(
    payload: &[u8],
    kept: usize,
    offset: u32,
    edits: &Edits,
    elsewhere: impl Fn(usize) -> Option<u8>,
) -> (Vec<u8>, bool) {
    let mut new: Vec<Option<u8>> = vec![None; payload.len()];
    let is_part = |rest: &[u8]| {
        rest.starts_with(&SPLIT) || rest.get(5..).is_some_and(|it| it.starts_with(SPLITNUM))
    };
    let header = if payload.get(kept..).is_some_and(is_part) {
        // Bytes before the text of a part belong to no message, and hold no personal data.
        let first = edits.each.iter().map(|edit| edit.offset.saturating_sub(offset) as usize).min();
        first.filter(|&first| first <= kept + SPLIT_HEADER).unwrap_or(kept)
    } else {
        kept
    };
    for (new, &old) in new.iter_mut().zip(payload).take(header) {
        *new = Some(old);
    }
    for edit in &edits.each {
        for (at, &byte) in (edit.offset..).zip(&edit.bytes) {
            let place = at.checked_sub(offset).and_then(|at| new.get_mut(at as usize));
            if let Some(place) = place {
                *place = Some(byte);
            }
        }
    }
    let cut = edits.cut.map_or(usize::MAX, |cut| cut.saturating_sub(offset) as usize);
    let bytes =
        new.into_iter().enumerate().take(cut).map_while(|(at, it)| it.or_else(|| elsewhere(at)));
    let bytes = Vec::from_iter(bytes);
    let was_cut = bytes.len() < payload.len();
    (bytes, was_cut)
}

/// The IP header before this many bytes.
fn ip_header(
    ip: &Ip,
    ends: [IpAddr; 2],
    ipv4: &[u8],
    protocol: u8,
    length: u32,
    fragment: Option<&Fragment<'_>>,
) -> Vec<u8> {
    if let [IpAddr::V4(source), IpAddr::V4(destination)] = ends {
        let mut header = ipv4.to_vec();
        if header.len() < 20 {
            header = vec![0x45, 0, 0, 0, 0, 0, 0, 0, ip.hop_limit, protocol, 0, 0];
            header.extend([0; 8]);
            header[2..4].copy_from_slice(&(length as u16).saturating_add(20).to_be_bytes());
            let right = !fold(sum(&header));
            header[10..12].copy_from_slice(&right.to_be_bytes());
        }
        let old = sum(&header) - sum(&header[10..12]);
        header[12..16].copy_from_slice(&source.octets());
        header[16..20].copy_from_slice(&destination.octets());
        // Options contain addresses of routers.
        header[20..].fill(1);
        let new = sum(&header) - sum(&header[10..12]);
        correct(&mut header, 10, [new, old], false);
        return header;
    }
    let inner = if fragment.is_some() { 8 } else { 0 };
    let next = if fragment.is_some() { 44 } else { protocol };
    let mut header = vec![0x60, 0, 0, 0];
    header.extend((length + inner).min(u16::MAX.into()).to_be_bytes().into_iter().skip(2));
    header.extend([next, ip.hop_limit]);
    ends.iter().for_each(|end| header.extend(octets(*end)));
    if let Some(Fragment { identification, at, more, .. }) = fragment {
        header.extend([protocol, 0]);
        header.extend((*at as u16 | u16::from(*more)).to_be_bytes());
        header.extend(identification.to_be_bytes());
    }
    header
}

/// An ICMP error: the quoted headers without payload.
fn icmp(error: &IcmpError<'_>, addresses: &mut Addresses) -> Rewritten {
    let IcmpError { ip, kind, code, quote, .. } = error;
    let ends = [ip.source, ip.destination].map(|end| addresses.of(end));
    let quoted = [quote.source, quote.destination].map(|end| addresses.of(end));
    let inner = Ip { hop_limit: 64, ..*ip };
    let length = 8 + quote.length as u32;
    let mut header = ip_header(&inner, quoted, &[], 17, length, None);
    if let (Some(identification), IpAddr::V4(_)) = (quote.identification, quoted[0]) {
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        header[10..12].fill(0);
        let right = !fold(sum(&header));
        header[10..12].copy_from_slice(&right.to_be_bytes());
    }
    for number in [quote.ports[0], quote.ports[1], length.min(u16::MAX.into()) as u16, 0] {
        header.extend(number.to_be_bytes());
    }
    let mut message = vec![*kind, *code, 0, 0, 0, 0, 0, 0];
    message.extend(header);
    let protocol = if ends[0].is_ipv4() { 1 } else { 58 };
    let pseudo = match ends[0] {
        IpAddr::V4(_) => 0,
        IpAddr::V6(_) => {
            let both: u64 = ends.iter().map(|end| sum(&octets(*end))).sum();
            both + message.len() as u64 + 58
        }
    };
    let right = !fold(sum(&message) + pseudo);
    message[2..4].copy_from_slice(&right.to_be_bytes());
    let mut bytes = ip_header(ip, ends, &[], protocol, message.len() as u32, None);
    bytes.extend(message);
    Rewritten { bytes, missing: 0, was_cut: false }
}

/// Updates a checksum for replaced bytes with these sums, new and old, so that it stays correct or
/// wrong. UDP's 0 means none.
fn correct(header: &mut [u8], at: usize, [new, old]: [u64; 2], is_udp: bool) {
    let Some(field) = header.get_mut(at..).and_then(<[u8]>::first_chunk_mut::<2>) else { return };
    let was = u16::from_be_bytes(*field);
    if is_udp && was == 0 {
        return;
    }
    // RFC 1624: HC' = ~(~HC + ~m + m').
    let right = !fold(u64::from(!was) + u64::from(!fold(old)) + u64::from(fold(new)));
    *field = if is_udp && right == 0 { [0xFF; 2] } else { right.to_be_bytes() };
}

/// The sum of the 16-bit words.
fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<2>();
    let words: u64 = words.iter().map(|word| u64::from(u16::from_be_bytes(*word))).sum();
    words + rest.first().map_or(0, |&byte| u64::from(byte) << 8)
}

fn fold(sum: u64) -> u16 {
    let mut sum = sum;
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

/// The address that these bytes are.
pub(super) fn address(bytes: &[u8]) -> Option<IpAddr> {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Some(v4.into());
    }
    <[u8; 16]>::try_from(bytes).ok().map(Into::into)
}

/// An address's bytes.
pub(super) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

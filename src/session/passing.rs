//! Datagrams as they come, without flows: for what millions of sources send that say one thing only.

use std::net::SocketAddr;

use dissectors::kit::{Payload, Side, Time, Transport};

use super::recent::Sent;
use super::recorder::{Fields, Recorder};
use super::shard::Shard;
use super::{IcmpEvent, PacketContext};
use crate::flows::Key;
use crate::net::icmp::identification;
use crate::net::{Datagram, IcmpError, Outcome};

/// A datagram of UDP, as it comes: see [`Needs::datagrams`](super::Needs::datagrams).
#[derive(Clone, Copy, Debug)]
pub struct DatagramEvent<'b> {
    /// What its headers say.
    pub headers: Passing,
    /// What it carries, as far as it was recorded.
    pub bytes: &'b [u8],
}

/// What the headers of a datagram say.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    /// When it came.
    pub time: Time,
    /// Its packet.
    pub frame: u64,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// IPv4 time to live or IPv6 hop limit.
    pub hop_limit: u8,
    /// The IPv4 identification, where it tells one datagram from another.
    pub identification: Option<u16>,
    /// Bytes that it carries, as sent.
    pub length: u32,
    /// A hash of those that were recorded: of what else the same two hosts send in this run, what has the same
    /// one is the same.
    pub hash: u64,
}

impl<'b> DatagramEvent<'b> {
    /// The datagram, as rules and filters look at it.
    pub fn payload(&self) -> Payload<'b> {
        let headers = &self.headers;
        Payload {
            bytes: self.bytes,
            pieces: &[],
            inflated: false,
            frame: headers.frame,
            time: headers.time,
            side: Side::First,
            from: headers.from,
            to: headers.to,
            flow: 0,
            transport: Transport::Udp,
            headers: 0,
            lost: self.bytes.len() < headers.length as usize,
            hash: None,
        }
    }
}

impl PacketContext {
    /// A packet is reported as it comes.
    pub(super) fn pass<F: Fields>(
        &mut self,
        shard: &mut Shard,
        key: &Key,
        outcome: &Outcome<'_>,
        recorder: &mut Recorder<F>,
    ) {
        self.headers.clear();
        match outcome {
            Outcome::Udp(datagram) => self.pass_datagram(shard, key, datagram, recorder),
            Outcome::Icmp(error) => self.pass_error(key, error, recorder),
            _ => {}
        }
    }

    fn pass_datagram<F: Fields>(
        &self,
        shard: &mut Shard,
        key: &Key,
        datagram: &Datagram<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let (payload, identification) = (&datagram.payload, identification(datagram.headers.ipv4));
        // What was doubled on the way was sent once.
        let (frame, time) = (self.frame, self.now);
        let hash = shard.recent.hash(payload.bytes);
        let sent = Sent { key, bytes: payload.bytes, hash, identification, frame, time };
        if payload.is_whole() && shard.recent.is_copy(&sent) {
            return;
        }
        let headers = Passing {
            time,
            frame,
            from: key.from(),
            to: key.to(),
            hop_limit: datagram.ip.hop_limit,
            identification,
            length: payload.announced.max(payload.bytes.len() as u32),
            hash,
        };
        let datagram = DatagramEvent { headers, bytes: payload.bytes };
        let identifier = &self.options.identifier;
        let id = || identifier.datagram(payload.bytes, key.ports, None);
        recorder.datagram(self.moment, datagram, id);
    }

    fn pass_error<F: Fields>(&self, key: &Key, error: &IcmpError<'_>, recorder: &mut Recorder<F>) {
        recorder.icmp(self.moment, || IcmpEvent {
            message: 0,
            ends: [key.from(), key.to()],
            frame: self.frame,
            time: self.now,
            digits: self.digits,
            from: error.ip.source,
            kind: [error.kind, error.code],
            meaning: error.meaning(),
            mtu: error.mtu,
        });
    }
}

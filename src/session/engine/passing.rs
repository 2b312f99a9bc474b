//! Reports single datagrams without flows, for captures with millions of sources of one packet
//! each.

use dissectors::Id;
use dissectors::kit::{Mark, SeenMessage, Side, Transport};

use super::PacketContext;
use super::recent::SentDatagram;
use super::recorder::FieldSink;
use super::recorder::Recorder;
use super::shard::Shard;
use crate::flows::FlowKey;
use crate::net::icmp::identification;
use crate::net::{Datagram, IcmpError, Outcome, Segment, Tunnel};
use crate::session::{DatagramEvent, DatagramHeaders, IcmpEvent, LinkTags};

impl PacketContext {
    /// Reports the datagram in a packet.
    pub(super) fn pass<F: FieldSink>(
        &mut self,
        shard: &mut Shard,
        key: &FlowKey,
        outcome: &Outcome<'_>,
        recorder: &mut Recorder<F>,
    ) {
        self.headers.clear();
        match outcome {
            Outcome::Udp(datagram) => self.pass_datagram(shard, key, datagram, false, recorder),
            Outcome::Icmp(error) if key.transport == Transport::Udp => {
                self.pass_error(key, error, recorder);
            }
            Outcome::Tcp(segment) => self.pass_registration(key, segment, recorder),
            _ => {}
        }
    }

    /// A server may register with a request over TCP, of which no flow is kept: its ports are known from then on.
    fn pass_registration<F: FieldSink>(
        &self,
        key: &FlowKey,
        segment: &Segment<'_>,
        recorder: &mut Recorder<F>,
    ) {
        let bytes = segment.payload.bytes;
        if bytes.is_empty() {
            return;
        }
        let Some(ports) = Id::ALL.iter().find_map(|id| id.registered_ports(bytes)) else { return };
        let mark = Mark { frame: self.frame, time: self.now, length: 0, side: Side::First };
        let seen = SeenMessage { mark, from: key.from(), to: key.to() };
        ports.into_iter().for_each(|port| recorder.announced(self.moment, port, seen));
    }

    /// A datagram. `is_translated`: it is a copy of one with other addresses.
    pub(super) fn pass_datagram<F: FieldSink>(
        &self,
        shard: &mut Shard,
        key: &FlowKey,
        datagram: &Datagram<'_>,
        is_translated: bool,
        recorder: &mut Recorder<F>,
    ) {
        let (payload, identification) = (&datagram.payload, identification(datagram.headers.ipv4));
        let (frame, time) = (self.frame, self.now);
        let (hash, bytes) = (self.hash, payload.bytes);
        let sent = SentDatagram { key, bytes, hash, identification, frame, time };
        let is_copy = is_translated || payload.is_whole() && shard.passed.is_copy(&sent);
        let tunnel = datagram.ip.tunnels.iter().any(|tunnel| tunnel != Tunnel::Mpls);
        let headers = DatagramHeaders {
            time,
            frame,
            from: key.from(),
            to: key.to(),
            hop_limit: datagram.ip.hop_limit,
            direction: datagram.ip.direction,
            tags: LinkTags { tunnel, ..datagram.ip.tags },
            identification,
            length: payload.sent(),
            hash,
            is_copy,
        };
        let datagram = DatagramEvent { headers, bytes: payload.bytes };
        let identifier = &self.options.identifier;
        let id = || identifier.datagram(payload.bytes, key.ports, None);
        recorder.datagram(self.moment, datagram, id);
    }

    fn pass_error<F: FieldSink>(
        &self,
        key: &FlowKey,
        error: &IcmpError<'_>,
        recorder: &mut Recorder<F>,
    ) {
        recorder.icmp(self.moment, || IcmpEvent {
            message: 0,
            transport: Transport::Udp,
            ends: [key.from(), key.to()],
            frame: self.frame,
            time: self.now,
            digits: self.digits,
            from: error.ip.source,
            hop_limit: error.ip.hop_limit,
            kind: [error.kind, error.code],
            meaning: error.meaning(),
            mtu: error.mtu,
        });
    }
}

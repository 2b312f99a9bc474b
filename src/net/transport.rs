//! UDP and TCP headers: ports, lengths, numbers.

#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects, clippy::indexing_slicing))]

use etherparse::err::tcp;
use etherparse::{TcpHeaderSlice, UdpHeaderSlice};

use super::outcome::{Outcome, malformed};
use super::packet::{Datagram, Headers, Layer, Malformed, Segment, TcpFlags, TransportPayload};
use super::walk::{IpPayload, Walk};

const UDP_HEADER: usize = 8;

impl<'a> Walk<'a> {
    #[inline]
    pub(super) fn udp(&mut self, carried: IpPayload<'a>) -> Outcome<'a> {
        let Ok(header) = UdpHeaderSlice::from_slice(carried.bytes) else {
            return self.short(Layer::Udp);
        };
        let rest = carried.bytes.get(UDP_HEADER..).unwrap_or_default();
        let length = usize::from(header.length());
        let (payload, note) = match length.checked_sub(UDP_HEADER) {
            Some(announced) => self.udp_payload(&carried, rest, announced),
            // A jumbogram (RFC 2675), or left to the network card.
            None if length == 0 => {
                (self.payload(rest, carried.missing, carried.snapped), carried.note)
            }
            None => return malformed(Layer::Udp, "the length is less than the header"),
        };
        if let Some(inner) = self.inside_udp(header.destination_port(), payload.bytes) {
            return inner;
        }
        let end = UDP_HEADER.saturating_add(payload.bytes.len());
        Outcome::Udp(Datagram {
            ip: carried.ip,
            source_port: header.source_port(),
            destination_port: header.destination_port(),
            payload,
            note,
            headers: Headers {
                ipv4: carried.ipv4,
                transport: carried.bytes.get(..end).unwrap_or_default(),
            },
        })
    }

    /// UDP's own length counts, if IP has that many bytes.
    fn udp_payload(
        &self,
        carried: &IpPayload<'a>,
        rest: &'a [u8],
        announced: usize,
    ) -> (TransportPayload<'a>, Option<Malformed>) {
        if let Some(bytes) = rest.get(..announced) {
            return (self.payload(bytes, 0, false), carried.note);
        }
        let missing = u32::try_from(announced.saturating_sub(rest.len())).unwrap_or(u32::MAX);
        let beyond = (missing > carried.missing).then_some(Malformed {
            layer: Layer::Udp,
            what: "its length reaches beyond the IP packet",
        });
        let missing = if carried.snapped { missing.min(carried.missing) } else { missing };
        (self.payload(rest, missing, carried.snapped), carried.note.or(beyond))
    }

    #[inline]
    pub(super) fn tcp(&mut self, carried: IpPayload<'a>) -> Outcome<'a> {
        let header = match TcpHeaderSlice::from_slice(carried.bytes) {
            Ok(header) => header,
            Err(tcp::HeaderSliceError::Len(_)) => return self.short(Layer::Tcp),
            Err(tcp::HeaderSliceError::Content(_)) => {
                return malformed(Layer::Tcp, "the data offset is less than the header");
            }
        };
        let bytes = carried.bytes.get(header.slice().len()..).unwrap_or_default();
        let flags = header.slice().get(13).copied().unwrap_or_default();
        Outcome::Tcp(Segment {
            ip: carried.ip,
            source_port: header.source_port(),
            destination_port: header.destination_port(),
            sequence: header.sequence_number(),
            acknowledgment: header.acknowledgment_number(),
            flags: TcpFlags(flags),
            window: header.window_size(),
            payload: self.payload(bytes, carried.missing, carried.snapped),
            note: carried.note,
            headers: Headers { ipv4: carried.ipv4, transport: carried.bytes },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::LinkType;
    use crate::net::decode;
    use crate::net::test_packets::*;

    fn uncut(packet: &[u8]) -> Outcome<'_> {
        decode(LinkType::RAW, packet, packet.len() as u32)
    }

    /// The query with another value in UDP's length field.
    fn with_length(length: u16) -> Vec<u8> {
        let mut datagram = query();
        datagram[4..6].copy_from_slice(&length.to_be_bytes());
        ipv4(17, &datagram)
    }

    #[test]
    fn udp_length_decides() {
        let packet = with_length(12);
        let datagram = datagram(uncut(&packet));
        assert_eq!(datagram.payload.bytes, b"\xff\xff\xff\xff");
        assert_eq!(datagram.headers.transport.len(), 12);
        assert_eq!(datagram.note, None);
    }

    #[test]
    fn udp_length_zero_means_all() {
        let packet = with_length(0);
        is_query(&packet, uncut(&packet));
    }

    #[test]
    fn udp_length_below_the_header_is_malformed() {
        for length in 1..8 {
            let packet = with_length(length);
            let malformed =
                Malformed { layer: Layer::Udp, what: "the length is less than the header" };
            assert_eq!(uncut(&packet), Outcome::Malformed(malformed));
        }
    }

    #[test]
    fn udp_length_beyond_the_packet_is_noted() {
        let packet = with_length(1000);
        let datagram = datagram(uncut(&packet));
        assert_eq!(datagram.payload.bytes, QUERY);
        assert_eq!(datagram.payload.announced, 992);
        assert!(!datagram.payload.snapped);
        assert!(datagram.note.is_some_and(|note| note.layer == Layer::Udp));
    }

    #[test]
    fn a_truncated_datagram_keeps_its_bytes() {
        let packet = ipv4(17, &query());
        let datagram = datagram(decode(LinkType::RAW, &packet[..32], packet.len() as u32));
        assert_eq!(datagram.payload.bytes, b"\xff\xff\xff\xff");
        assert_eq!(datagram.payload.announced as usize, QUERY.len());
        assert!(datagram.payload.snapped);
        assert_eq!(datagram.note, None);
    }

    /// What headers say beyond what the packet had room for was never sent.
    #[test]
    fn a_truncated_datagram_is_as_long_as_it_was_sent() {
        let sent = |packet: &[u8], recorded: usize, length: usize| {
            let datagram = datagram(decode(LinkType::RAW, &packet[..recorded], length as u32));
            assert!(datagram.payload.snapped && !datagram.payload.is_whole());
            datagram.payload.sent() as usize
        };
        let packet = ipv4(17, &query());
        assert_eq!(sent(&packet, 32, packet.len()), QUERY.len());
        assert_eq!(sent(&packet, 32, packet.len() + 6), QUERY.len(), "after a trailer");
        assert_eq!(sent(&with_length(u16::MAX), 32, packet.len()), QUERY.len());
        let mut packet = with_length(u16::MAX);
        packet[2..4].copy_from_slice(&u16::MAX.to_be_bytes());
        assert_eq!(sent(&packet, 32, packet.len()), QUERY.len());
        let whole = with_length(1000);
        assert_eq!(datagram(uncut(&whole)).payload.sent() as usize, QUERY.len());
    }

    #[test]
    fn tcp_header_fields() {
        let packet = ipv4(6, &tcp(80, 50_000, 0x12, b"HTTP"));
        let segment = segment(uncut(&packet));
        assert_eq!((segment.source_port, segment.destination_port), (80, 50_000));
        assert_eq!((segment.sequence, segment.acknowledgment), (1000, 2000));
        assert!(segment.flags.syn() && segment.flags.ack());
        assert!(!segment.flags.fin() && !segment.flags.rst());
        assert_eq!((segment.window, segment.payload.bytes), (0x1000, &b"HTTP"[..]));
        assert_eq!(segment.payload.offset, 44);
    }

    #[test]
    fn tcp_truncated_at_every_byte() {
        let packet = ipv4(6, &tcp(80, 50_000, 0x18, b"HTTP/1.1 200 OK"));
        for length in 0..packet.len() {
            match decode(LinkType::RAW, &packet[..length], packet.len() as u32) {
                Outcome::Snapped => assert!(length < 44),
                Outcome::Tcp(segment) => {
                    assert!(segment.payload.snapped);
                    assert_eq!(segment.payload.announced, 15);
                }
                other => panic!("{other:?}"),
            }
            match uncut(&packet[..length]) {
                Outcome::Malformed(_) => assert!(length < 44),
                Outcome::Tcp(segment) => assert!(segment.note.is_some()),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn tcp_data_offset_out_of_bounds() {
        let mut packet = ipv4(6, &tcp(80, 50_000, 0x18, b"x"));
        packet[32] = 0x40;
        assert!(matches!(uncut(&packet), Outcome::Malformed(_)));
        packet[32] = 0xf0;
        assert!(matches!(uncut(&packet), Outcome::Malformed(_)));
    }
}

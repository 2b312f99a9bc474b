//! UDP datagrams.

use std::net::SocketAddr;

use crate::bytes::Bytes;
use crate::wire::{Checksum, Ip, checksum, protocol, transport_checksum};

/// A UDP datagram; its checksum needs the addresses it travels between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Who sends.
    pub source: SocketAddr,
    /// Who is to receive.
    pub destination: SocketAddr,
    /// What is said.
    pub payload: Vec<u8>,
    /// The checksum field.
    pub checksum: Checksum,
}

impl Datagram {
    /// A datagram between two endpoints, as `10.0.0.1:50000` or `[::1]:27015`.
    ///
    /// # Panics
    /// If an endpoint is none.
    pub fn new(source: &str, destination: &str, payload: &[u8]) -> Self {
        Self {
            source: source.parse().expect("an endpoint"),
            destination: destination.parse().expect("an endpoint"),
            payload: payload.to_vec(),
            checksum: Checksum::Right,
        }
    }

    /// UDP header and payload.
    ///
    /// # Panics
    /// If the payload is longer than a datagram can be, or the endpoints are of two families.
    pub fn bytes(&self) -> Vec<u8> {
        let length = u16::try_from(8 + self.payload.len()).expect("fits a UDP datagram");
        let mut bytes = Bytes::new()
            .be16(self.source.port())
            .be16(self.destination.port())
            .be16(length)
            .be16(0)
            .raw(&self.payload)
            .done();
        // A sum of 0 is sent as FFFF, for 0 says that there is none.
        let (from, to) = (self.source.ip(), self.destination.ip());
        let sum = match transport_checksum(from, to, protocol::UDP, &bytes) {
            0 => 0xFFFF,
            sum => sum,
        };
        bytes[6..8].copy_from_slice(&checksum::field(self.checksum, sum).to_be_bytes());
        bytes
    }

    /// The datagram in a plain IP packet.
    pub fn packet(&self) -> Vec<u8> {
        Ip::new(self.source.ip(), self.destination.ip()).packet(protocol::UDP, &self.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;

    #[test]
    fn a_datagram_by_hand() {
        let ping = Datagram::new("10.0.0.1:50000", "10.0.0.2:27015", b"\xFF\xFF\xFF\xFFi");
        // IP: 4500+0021+4011+0A00+0001+0A00+0002 = 9935, its complement is 66CA.
        // UDP: the pseudo-header 0A00+0001+0A00+0002+0011+000D, the header C350+6987+000D and the
        // payload FFFF+FFFF+6900 add up to 3AA03, folded AA06, its complement is 55F9.
        let expected = [
            "45000021",
            "00000000",
            "401166CA",
            "0A000001",
            "0A000002", // IP
            "C3506987",
            "000D55F9",
            "FFFFFFFF69", // UDP
        ];
        assert_eq!(hex(&ping.packet()), expected.concat());
    }

    #[test]
    fn a_sum_of_zero_is_sent_as_ffff() {
        // The complement of the sum so far, as payload, brings the sum to FFFF.
        let mut datagram = Datagram::new("[::1]:1", "[::1]:2", &[0, 0]);
        let bytes = datagram.bytes();
        datagram.payload = bytes[6..8].to_vec();
        assert_eq!(datagram.bytes()[6..8], [0xFF, 0xFF]);
    }

    #[test]
    fn checksums_over_ipv6() {
        let datagram = Datagram::new("[fd00::1]:50000", "[fd00::2]:27015", b"odd");
        let packet = datagram.packet();
        let sum = crate::wire::internet_checksum(&[
            &packet[8..40],
            &[0, 0, 0, 11, 0, 0, 0, protocol::UDP],
            &packet[40..],
        ]);
        assert_eq!(sum, 0);
    }
}

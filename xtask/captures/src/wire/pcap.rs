//! The pcap file format.

use crate::bytes::Bytes;
use crate::wire::{Capture, Link, TimedPacket};

/// The order of the bytes in a file's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ByteOrder {
    /// The least significant byte first.
    #[default]
    Little,
    /// The most significant byte first.
    Big,
}

impl ByteOrder {
    pub(crate) fn u16(self, bytes: Bytes, value: u16) -> Bytes {
        match self {
            ByteOrder::Little => bytes.le16(value),
            ByteOrder::Big => bytes.be16(value),
        }
    }

    pub(crate) fn u32(self, bytes: Bytes, value: u32) -> Bytes {
        match self {
            ByteOrder::Little => bytes.le32(value),
            ByteOrder::Big => bytes.be32(value),
        }
    }
}

/// The digits of a pcap file's times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// Six; what is finer is cut off.
    #[default]
    Micro,
    /// Nine.
    Nano,
}

/// Which of the four pcap formats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PcapFormat {
    /// The order of the bytes.
    pub order: ByteOrder,
    /// The digits of the times.
    pub precision: Precision,
}

/// The longest packet a file announces: the usual number where none was asked for.
const SNAP_LENGTH: u32 = 262_144;

pub(crate) fn write(capture: &Capture, format: PcapFormat) -> Vec<u8> {
    let file = header(format, capture.link, SNAP_LENGTH);
    capture.packets.iter().fold(file, |file, packet| record(file, format, packet)).done()
}

/// What a file begins with.
pub(crate) fn header(format: PcapFormat, link: Link, snap_length: u32) -> Bytes {
    let order = format.order;
    let magic = match format.precision {
        Precision::Micro => 0xA1B2_C3D4,
        Precision::Nano => 0xA1B2_3C4D,
    };
    let mut file = order.u32(Bytes::new(), magic);
    file = order.u16(order.u16(file, 2), 4);
    for number in [0, 0, snap_length, u32::from(link.number())] {
        file = order.u32(file, number);
    }
    file
}

/// Appends a packet.
pub(crate) fn record(file: Bytes, format: PcapFormat, packet: &TimedPacket) -> Bytes {
    let seconds = u32::try_from(packet.time.0 / 1_000_000_000).expect("a time before 2106");
    let nanoseconds = (packet.time.0 % 1_000_000_000) as u32;
    let fraction = match format.precision {
        Precision::Micro => nanoseconds / 1000,
        Precision::Nano => nanoseconds,
    };
    let head = [seconds, fraction, packet.bytes.len() as u32, packet.length];
    head.into_iter().fold(file, |file, number| format.order.u32(file, number)).raw(&packet.bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;
    use crate::wire::{Link, START};

    fn file(order: ByteOrder, precision: Precision) -> String {
        let packet = TimedPacket::new(START.after(1_234_567), vec![0xEE; 3]).snapped(2);
        let capture = Capture { link: Link::Raw, packets: vec![packet] };
        hex(&capture.pcap_as(PcapFormat { order, precision }))
    }

    #[test]
    fn four_magics_by_hand() {
        let head = "D4C3B2A1020004000000000000000000000004006500000000B95569";
        assert_eq!(
            file(ByteOrder::Little, Precision::Micro),
            head.to_owned() + "D20400000200000003000000EEEE"
        );
        assert_eq!(
            file(ByteOrder::Little, Precision::Nano),
            head.replace("D4C3B2A1", "4D3CB2A1") + "87D612000200000003000000EEEE"
        );
        let head = "A1B2C3D400020004000000000000000000040000000000656955B900";
        assert_eq!(
            file(ByteOrder::Big, Precision::Micro),
            head.to_owned() + "000004D20000000200000003EEEE"
        );
        assert_eq!(
            file(ByteOrder::Big, Precision::Nano),
            head.replace("A1B2C3D4", "A1B23C4D") + "0012D6870000000200000003EEEE"
        );
    }
}

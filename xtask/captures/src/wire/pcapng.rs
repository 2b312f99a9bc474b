//! The pcapng file format.

use crate::bytes::Bytes;
use crate::wire::{ByteOrder, Link, Time, TimedPacket};

/// The numbers of blocks.
pub mod block {
    /// Section header.
    pub const SECTION: u32 = 0x0A0D_0D0A;
    /// Interface description.
    pub const INTERFACE: u32 = 1;
    /// Simple packet.
    pub const SIMPLE: u32 = 3;
    /// Interface statistics.
    pub const STATISTICS: u32 = 5;
    /// Enhanced packet.
    pub const ENHANCED: u32 = 6;
}

/// An interface as a section describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The kind of link.
    pub link: Link,
    /// The most that is recorded of a packet; 0 for no limit.
    pub snap_length: u32,
    /// The name, if there is one.
    pub name: Option<String>,
    /// `if_tsresol`: 6 for microseconds, 9 for nanoseconds, with the high bit set a power of two.
    /// Left out of the file where `None`, which means microseconds.
    pub resolution: Option<u8>,
}

impl Interface {
    /// An interface without a limit or name, in microseconds.
    pub const fn new(link: Link) -> Self {
        Self { link, snap_length: 0, name: None, resolution: None }
    }

    fn ticks(&self, time: Time) -> u64 {
        let resolution = self.resolution.unwrap_or(6);
        let exponent = u32::from(resolution & 0x7F);
        let per_second = if resolution & 0x80 == 0 {
            10u128.checked_pow(exponent)
        } else {
            2u128.checked_pow(exponent)
        };
        let per_second = per_second.expect("a resolution that can be reckoned with");
        let ticks = u128::from(time.0) * per_second / 1_000_000_000;
        u64::try_from(ticks).expect("a time that fits the resolution")
    }
}

/// Builds a pcapng file block by block. It begins with a section header; interfaces belong to the
/// section they are described in and are counted there from 0.
#[derive(Clone, Debug)]
pub struct PcapNg {
    file: Vec<u8>,
    order: ByteOrder,
    interfaces: Vec<Interface>,
}

impl PcapNg {
    /// A file that begins with a section.
    pub fn new(order: ByteOrder) -> Self {
        let mut file = Self { file: Vec::new(), order, interfaces: Vec::new() };
        file.section(order);
        file
    }

    /// Begins a further section, perhaps in another byte order.
    pub fn section(&mut self, order: ByteOrder) {
        self.order = order;
        self.interfaces.clear();
        let body = order.u32(Bytes::new(), 0x1A2B_3C4D);
        // Version 1.0, and a section length of -1: unknown.
        let body = order.u16(order.u16(body, 1), 0).raw(&[0xFF; 8]);
        self.block(block::SECTION, &body.done());
    }

    /// Describes an interface; the number is what packets name it by.
    pub fn interface(&mut self, interface: Interface) -> u32 {
        let order = self.order;
        let body = order.u16(order.u16(Bytes::new(), interface.link.number()), 0);
        let mut body = order.u32(body, interface.snap_length);
        if let Some(name) = &interface.name {
            body = self.option(body, 2, name.as_bytes());
        }
        if let Some(resolution) = interface.resolution {
            body = self.option(body, 9, &[resolution]);
        }
        if interface.name.is_some() || interface.resolution.is_some() {
            body = self.option(body, 0, &[]);
        }
        self.block(block::INTERFACE, &body.done());
        self.interfaces.push(interface);
        self.interfaces.len() as u32 - 1
    }

    /// Records a packet of an interface.
    ///
    /// # Panics
    /// If this section has no such interface.
    pub fn enhanced(&mut self, interface: u32, packet: &TimedPacket) {
        let head = self.at(interface, packet.time);
        let head = self.order.u32(head, packet.bytes.len() as u32);
        let body = self.order.u32(head, packet.length).raw(&packet.bytes);
        self.block(block::ENHANCED, &body.done());
    }

    /// Records a packet of the section's first interface without its time.
    pub fn simple(&mut self, packet: &TimedPacket) {
        let body = self.order.u32(Bytes::new(), packet.length).raw(&packet.bytes);
        self.block(block::SIMPLE, &body.done());
    }

    /// Says how many packets an interface has received, and how many of them were dropped.
    ///
    /// # Panics
    /// If this section has no such interface.
    pub fn statistics(&mut self, interface: u32, time: Time, received: u64, dropped: u64) {
        let mut body = self.at(interface, time);
        for (code, number) in [(4, received), (5, dropped)] {
            let bytes = match self.order {
                ByteOrder::Little => number.to_le_bytes(),
                ByteOrder::Big => number.to_be_bytes(),
            };
            body = self.option(body, code, &bytes);
        }
        let body = self.option(body, 0, &[]);
        self.block(block::STATISTICS, &body.done());
    }

    /// Any block: its number and lengths around a body that is filled up to a multiple of 4.
    pub fn block(&mut self, number: u32, body: &[u8]) {
        let padded = body.len().next_multiple_of(4);
        let length = 12 + padded as u32;
        let head = self.order.u32(self.order.u32(Bytes::new(), number), length);
        let whole = head.raw(body).raw(&[0; 3][..padded - body.len()]);
        self.file.extend(self.order.u32(whole, length).done());
    }

    /// The file.
    pub fn done(self) -> Vec<u8> {
        self.file
    }

    /// The number of an interface and a time in its resolution.
    fn at(&self, interface: u32, time: Time) -> Bytes {
        let ticks = self.interfaces[interface as usize].ticks(time);
        let body = self.order.u32(Bytes::new(), interface);
        self.order.u32(self.order.u32(body, (ticks >> 32) as u32), ticks as u32)
    }

    fn option(&self, body: Bytes, code: u16, value: &[u8]) -> Bytes {
        let length = u16::try_from(value.len()).expect("an option of at most 65535 bytes");
        let body = self.order.u16(self.order.u16(body, code), length).raw(value);
        body.raw(&[0; 3][..value.len().next_multiple_of(4) - value.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;
    use crate::wire::START;

    #[test]
    fn a_file_by_hand() {
        let mut file = PcapNg::new(ByteOrder::Big);
        let name = Some("lo".to_owned());
        let interface = Interface { name, resolution: Some(9), ..Interface::new(Link::Raw) };
        let number = file.interface(interface);
        file.enhanced(number, &TimedPacket::new(START.after(5), vec![0xEE; 3]).snapped(2));
        let expected = [
            "0A0D0D0A0000001C1A2B3C4D00010000FFFFFFFFFFFFFFFF0000001C",
            "00000001000000280065000000000000",
            "000200026C6F0000",
            "0009000109000000",
            "00000000",
            "00000028",
            // 1767225600000000005 is 18867251EDFA0005 in hex.
            "00000006000000240000000018867251EDFA00050000000200000003EEEE000000000024",
        ];
        assert_eq!(hex(&file.done()), expected.concat());
    }

    #[test]
    fn times_in_powers_of_two_and_ten() {
        let ticks = |resolution| {
            let time = Time(1_500_000_000);
            Interface { resolution, ..Interface::new(Link::Raw) }.ticks(time)
        };
        assert_eq!(ticks(None), 1_500_000);
        assert_eq!(ticks(Some(9)), 1_500_000_000);
        assert_eq!(ticks(Some(0)), 1);
        assert_eq!(ticks(Some(0x81)), 3);
    }

    #[test]
    fn sections_count_their_own_interfaces() {
        let mut file = PcapNg::new(ByteOrder::Little);
        assert_eq!(file.interface(Interface::new(Link::Raw)), 0);
        assert_eq!(file.interface(Interface::new(Link::Ethernet)), 1);
        file.section(ByteOrder::Big);
        assert_eq!(file.interface(Interface::new(Link::Sll2)), 0);
    }

    #[test]
    fn statistics_and_simple_packets() {
        let mut file = PcapNg::new(ByteOrder::Little);
        let number = file.interface(Interface::new(Link::Raw));
        let before = file.file.len();
        file.simple(&TimedPacket::new(START, vec![0x45; 5]));
        file.statistics(number, Time(0), 7, 1);
        assert_eq!(
            hex(&file.file[before..]),
            "030000001800000005000000454545454500000018000000".to_owned()
                + "0500000034000000000000000000000000000000"
                + "040008000700000000000000"
                + "050008000100000000000000"
                + "0000000034000000"
        );
    }
}

//! Writes packets to a pcapng file, and builds its blocks.

use std::collections::HashMap;
use std::io::{self, Write};

use super::Packet;

/// An empty IP packet between unspecified addresses, of RFC 3692's experimental protocol: it shows that a recording
/// lasted until then.
pub const END: [u8; 20] = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 253, 0x79, 0xEE, 0, 0, 0, 0, 0, 0, 0, 0];

/// The second of the earliest time that a packet has.
const EARLIEST: i64 = i64::MIN.div_euclid(1_000_000_000);

/// Adds a block: its type, its length, its body, its length again.
pub fn block(number: u32, body: &[u8], out: &mut Vec<u8>) {
    let padding = body.len().next_multiple_of(4) - body.len();
    let length = ((12 + body.len() + padding) as u32).to_le_bytes();
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&length);
    out.extend_from_slice(body);
    out.extend_from_slice(&[0; 3][..padding]);
    out.extend_from_slice(&length);
}

/// Adds an option to the body of a block; one that is too long is cut.
pub fn option(code: u16, value: &[u8], body: &mut Vec<u8>) {
    let value = value.get(..usize::from(u16::MAX)).unwrap_or(value);
    body.extend_from_slice(&code.to_le_bytes());
    body.extend_from_slice(&(value.len() as u16).to_le_bytes());
    body.extend_from_slice(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

/// Adds the beginning of a section of unknown length, version 1.0.
pub fn section(out: &mut Vec<u8>) {
    let body = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    block(0x0A0D_0D0A, &body, out);
}

/// Adds the description of an interface, whose times have this many digits of a second, and count from `epoch`
/// in seconds since 1970.
pub fn interface(
    name: Option<&str>,
    link: u16,
    snaplen: u32,
    digits: u8,
    epoch: i64,
    out: &mut Vec<u8>,
) {
    let mut body = [&link.to_le_bytes()[..], &[0, 0], &snaplen.to_le_bytes()].concat();
    if let Some(name) = name {
        option(2, name.as_bytes(), &mut body);
    }
    option(9, &[digits], &mut body);
    if epoch != 0 {
        option(14, &epoch.to_le_bytes(), &mut body);
    }
    option(0, &[], &mut body);
    block(1, &body, out);
}

/// Adds an interface's statistics: how many packets were dropped until then.
fn statistics(number: u32, time: [u32; 2], drops: u64, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    [number, time[0], time[1]].iter().for_each(|it| body.extend_from_slice(&it.to_le_bytes()));
    option(5, &drops.to_le_bytes(), &mut body);
    option(0, &[], &mut body);
    block(5, &body, out);
}

/// Writes packets of other captures into one pcapng file.
pub struct PcapNgWriter<W> {
    out: W,
    /// The numbers of interfaces: by file, interface, link type, digits of a second, and what their times count
    /// from.
    interfaces: HashMap<(u32, u32, u16, u8, i64), u32>,
    buffer: Vec<u8>,
}

impl<W: Write> PcapNgWriter<W> {
    /// Begins the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn new(mut out: W) -> io::Result<PcapNgWriter<W>> {
        let mut buffer = Vec::new();
        section(&mut buffer);
        out.write_all(&buffer)?;
        Ok(PcapNgWriter { out, interfaces: HashMap::new(), buffer })
    }

    /// Writes a packet, the name of the interface that recorded it, and its comments. `file`
    /// distinguishes the captures of packets.
    ///
    /// # Errors
    /// Those of the output.
    pub fn packet(
        &mut self,
        packet: &Packet<'_>,
        file: u32,
        interface_name: Option<&str>,
        comments: &[String],
    ) -> io::Result<()> {
        self.buffer.clear();
        let (number, time) = self.interface(packet, file, interface_name);
        let captured = packet.data.len() as u32;
        let length = packet.original_length.max(captured);
        let numbers = [number, time[0], time[1], captured, length];
        let mut body = Vec::with_capacity(packet.data.len() + 64);
        numbers.iter().for_each(|number| body.extend_from_slice(&number.to_le_bytes()));
        body.extend_from_slice(packet.data);
        body.resize(body.len().next_multiple_of(4), 0);
        if !comments.is_empty() {
            comments.iter().for_each(|comment| option(1, comment.as_bytes(), &mut body));
            option(0, &[], &mut body);
        }
        block(6, &body, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    /// Writes how many packets the recorder has dropped so far on this packet's interface.
    ///
    /// # Errors
    /// Those of the output.
    pub fn drops(&mut self, packet: &Packet<'_>, file: u32, count: u64) -> io::Result<()> {
        self.buffer.clear();
        let (number, time) = self.interface(packet, file, None);
        statistics(number, time, count, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    /// Marks a place with unreadable data in the original, by statistics of an interface without a
    /// description: gamewire reports them like other damage, and Wireshark ignores them.
    ///
    /// # Errors
    /// Those of the output.
    pub fn unreadable(&mut self) -> io::Result<()> {
        self.buffer.clear();
        statistics(u32::MAX, [0; 2], 0, &mut self.buffer);
        self.out.write_all(&self.buffer)
    }

    /// The number of a packet's interface, whose description is added to the buffer if it is new,
    /// and the packet's time. Times are not negative: those before 1970 belong to an interface of their own,
    /// whose times count from an earlier second.
    fn interface(&mut self, packet: &Packet<'_>, file: u32, name: Option<&str>) -> (u32, [u32; 2]) {
        let digits = if packet.digits > 6 { 9 } else { 6 };
        let next = self.interfaces.len() as u32;
        let epoch = if packet.time < 0 { EARLIEST } else { 0 };
        let key = (file, packet.interface, packet.link.0, digits, epoch);
        let number = *self.interfaces.entry(key).or_insert(next);
        if number == next {
            interface(name, packet.link.0, 0, digits, epoch, &mut self.buffer);
        }
        let since = i128::from(packet.time) - i128::from(epoch) * 1_000_000_000;
        let ticks = (since / if digits == 9 { 1 } else { 1000 }) as u64;
        (number, [(ticks >> 32) as u32, ticks as u32])
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::{Event, LinkType, open_stream};

    #[test]
    fn written_packets_read_back() {
        let mut writer = PcapNgWriter::new(Vec::new()).unwrap();
        let packet = |interface, link, time, data| Packet {
            link: LinkType(link),
            interface,
            original_length: 9,
            digits: if link == 1 { 6 } else { 9 },
            ..Packet::new(time, data)
        };
        let comments = ["one".to_owned(), "two\nlines".to_owned()];
        let packets = [
            (packet(1, 101, i64::MIN, &b"ab"[..]), None, &[][..]),
            (packet(0, 1, -1000, b""), Some("eth0"), &comments[..1]),
            (packet(1, 101, -1, b"abc"), None, &[]),
            (packet(0, 1, 0, b"a"), Some("eth0"), &[]),
            (packet(0, 1, 1_795_000_000_123_456_000, b"abc"), Some("eth0"), &comments),
            (packet(1, 101, 1_795_000_000_123_456_789, b"abcd"), None, &[]),
        ];
        for (packet, name, comments) in &packets {
            writer.packet(packet, 0, *name, comments).unwrap();
        }
        let bytes = writer.finish().unwrap();
        let mut read = open_stream("x".as_ref(), Box::new(std::io::Cursor::new(bytes))).unwrap();
        for (packet, name, comments) in &packets {
            let Some(Event::Packet(it)) = read.next() else { panic!("a packet") };
            assert_eq!((it.data, it.link, it.original_length), (packet.data, packet.link, 9));
            assert_eq!(it.time, packet.time);
            assert_eq!(read.interface_name(), *name);
            assert_eq!(read.comments(), *comments);
        }
        assert!(read.next().is_none());
    }
}

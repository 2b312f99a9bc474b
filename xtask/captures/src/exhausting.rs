//! Captures that cost much more to process than to send.

use std::io::Write;

use crate::bytes::hex;
use crate::exchange::{self, Setting};
use crate::wire::Capture;

/// A function that makes a capture.
pub type Make = fn() -> Vec<u8>;

/// The captures, and what each is.
pub const EXHAUSTING: &[(&str, Make)] = &[
    ("a response that announces 4 KB and decompresses to 200 MB", bomb),
    ("a million fragments without a last one", fragments),
    ("a hundred thousand responses with only one packet each", unfinished),
    ("a record with a length of four gigabytes", record),
    ("connections whose first byte is missing", streams),
];

fn script(text: &str, setting: &Setting) -> Capture {
    exchange::capture(text, setting).unwrap_or_else(|error| panic!("an attack's script: {error}"))
}

fn bomb() -> Vec<u8> {
    let mut packed = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::best());
    let mut write = |bytes: &[u8]| packed.write_all(bytes).unwrap_or_else(|_| panic!("memory"));
    write(b"\xFF\xFF\xFF\xFF\x45\x01\x00motd\0");
    let block = vec![b'x'; 1 << 20];
    (0..200).for_each(|_| write(&block));
    let packed = packed.finish().unwrap_or_else(|_| panic!("memory"));
    let parts: Vec<&[u8]> = packed.chunks(1200).collect();
    let mut text = "0 c > s FFFFFFFF 56 4BA1D522\n".to_owned();
    for (number, part) in parts.iter().enumerate() {
        let (total, part) = (parts.len(), hex(part));
        let announced = if number == 0 { "le32:4096 00000000" } else { "" };
        text += &format!(
            "1 s > c FEFFFFFF 01000080 {total:02X} {number:02X} E004 {announced} {part}\n"
        );
    }
    script(&text, &Setting::udp(27015)).pcap()
}

fn fragments() -> Vec<u8> {
    let mut capture = script("0 s > c frag=64 FFFFFFFF 45 0100 'x'*100 00", &Setting::udp(27015));
    let first = capture.packets.swap_remove(0);
    capture.packets.clear();
    for number in 0..1_000_000_u32 {
        let mut packet = first.clone();
        // Another identification, and from time to time another source.
        packet.bytes[18..20].copy_from_slice(&(number as u16).to_be_bytes());
        packet.bytes[28..30].copy_from_slice(&((number >> 8) as u16).to_be_bytes());
        capture.packets.push(packet);
    }
    capture.pcap()
}

fn unfinished() -> Vec<u8> {
    let text = "0 s > c FEFFFFFF 01000000 FF FE E004 'x'*1000";
    let mut capture = script(text, &Setting::udp(27015));
    let first = capture.packets.swap_remove(0);
    capture.packets.clear();
    for number in 0..100_000_u32 {
        let mut packet = first.clone();
        packet.bytes[46..50].copy_from_slice(&(number & 0x7FFF_FFFF).to_le_bytes());
        packet.bytes[36..38].copy_from_slice(&((number >> 4) as u16).to_be_bytes());
        capture.packets.push(packet);
    }
    capture.pcap()
}

fn record() -> Vec<u8> {
    let mut bytes = script("0 c > s FFFFFFFF 57", &Setting::udp(27015)).pcap();
    bytes.extend([0; 8]);
    bytes.extend([0xFF; 8]);
    bytes.extend([0; 1000]);
    bytes
}

fn streams() -> Vec<u8> {
    let text = "0 c > m tcp '\\\\list\\\\gamename\\\\ut\\\\final\\\\'\n1 m > c tcp lost 'x'\n1 m > c tcp 'x'*1400";
    let mut capture = script(text, &Setting::udp(28900));
    let packets = std::mem::take(&mut capture.packets);
    for number in 0..2_000_u16 {
        for packet in &packets {
            let mut packet = packet.clone();
            let from_client = packet.bytes.get(26..30) == Some(&[10, 0, 0, 1]);
            let port = if from_client { 34..36 } else { 36..38 };
            packet.bytes[port].copy_from_slice(&(20_000 + number).to_be_bytes());
            capture.packets.push(packet);
        }
    }
    capture.pcap()
}

//! Files that become shorter while they are read.
#![cfg(unix)]

use std::fs::OpenOptions;
use std::path::Path;

use super::super::{Event, Notice, Packets, open, open_merged};
use super::pcap::{MICROSECONDS, header, record};
use super::pcapng::{enhanced, interface, section};
use super::streams::gzip;
use super::{Folder, Kept, Order, drain};

const PACKETS: u32 = 2_000;

fn data(number: u32) -> [u8; 84] {
    [number as u8 | 1; 84]
}

fn pcap() -> Vec<u8> {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    for number in 0..PACKETS {
        bytes.extend(record(Order::Little, MICROSECONDS, [1 + number, 0, 84, 84], &data(number)));
    }
    bytes
}

fn pcapng() -> Vec<u8> {
    let order = Order::Little;
    let mut bytes = [section(order), interface(order, 1, 0, &[])].concat();
    for number in 0..PACKETS {
        bytes.extend(enhanced(order, 0, u64::from(1 + number) * 1_000_000, &data(number)));
    }
    bytes
}

fn shorten(path: &Path, length: u64) {
    let file = OpenOptions::new().write(true).open(path).expect("the file");
    file.set_len(length).expect("a shorter file");
}

/// Packets are correct, except for the one in which the file ends; then reading ends.
fn reads_on(mut packets: Box<dyn Packets + Send>, before: u32, path: &Path, length: u64) {
    for number in 0..before {
        match packets.next() {
            Some(Event::Packet(packet)) => assert_eq!(packet.data, data(number)),
            other => panic!("{other:?}"),
        }
    }
    shorten(path, length);
    let rest = drain(packets, 1 << 20);
    let (last, whole) = rest
        .packets
        .split_last()
        .map_or((None, [].as_slice()), |(last, whole)| (Some(last), whole));
    let is_right = |(packet, number): (&Kept, u32)| {
        assert_eq!(packet.time, i64::from(1 + number) * 1_000_000_000);
        assert_eq!(packet.data, data(number));
    };
    whole.iter().zip(before..).for_each(is_right);
    if let Some(last) = last {
        // Some were read before the file became shorter.
        let is_earlier = last.data == data(before + whole.len() as u32);
        assert!(is_earlier || last.offset <= length, "a packet after the end: {last:?}");
        assert_ne!(last.time, 0);
    }
    assert!(matches!(rest.notices.as_slice(), [Notice::FileShrank { .. }]), "{:?}", rest.notices);
}

#[test]
fn a_file_that_shrinks_ends_the_reading_and_not_the_process() {
    for bytes in [pcap(), pcapng()] {
        let size = bytes.len() as u64;
        for length in [0, 10, 4_096, 8_192 - 3, 40_960, 50_001, size / 2, size - 1] {
            for before in [0, 10] {
                let folder = Folder::new();
                let path = folder.file("shrinking", &bytes);
                reads_on(open(&path).expect("a capture"), before, &path, length);
            }
        }
    }
}

#[test]
fn other_merged_files_are_still_read() {
    let folder = Folder::new();
    let paths = [folder.file("a", &pcap()), folder.file("b", &pcapng())];
    let mut packets = open_merged(&paths, usize::MAX).expect("captures");
    let mut read = 0;
    while let Some(Event::Packet(packet)) = packets.next() {
        read += usize::from(packet.file == 1);
        if packet.file == 0 {
            break;
        }
    }
    shorten(&paths[0], 4_096);
    let all = drain(packets, 1 << 20);
    let others = all.packets.iter().filter(|packet| packet.file == 1).count();
    assert_eq!(read + others, PACKETS as usize);
    assert!(
        matches!(all.notices.as_slice(), [Notice::FileShrank { path, .. }] if *path == paths[0])
    );
}

#[test]
fn a_compressed_file_too() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..40).flat_map(|_| gzip(&pcap())).collect();
    let path = folder.file("shrinking", &bytes);
    let mut packets = open(&path).expect("a capture");
    assert!(matches!(packets.next(), Some(Event::Packet(_))));
    shorten(&path, 0);
    let all = drain(packets, 1 << 20);
    // The times of each copy begin anew.
    let is_expected =
        matches!(all.notices.as_slice(), [Notice::Unordered { .. }, Notice::ReadError { .. }]);
    assert!(is_expected, "{:?}", all.notices);
}

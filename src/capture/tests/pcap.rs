//! The classic format in all its forms, whole and damaged.

use super::super::{BORROWED, CaptureError, Notice};
use super::{Kept, ORDERS, Order, Yield, both, mapped, streamed};

pub(super) const MICROSECONDS: u32 = 0xA1B2_C3D4;
pub(super) const NANOSECONDS: u32 = 0xA1B2_3C4D;
pub(super) const MODIFIED: u32 = 0xA1B2_CD34;

pub(super) fn header(order: Order, magic: u32, version: (u16, u16), link: u32) -> Vec<u8> {
    let mut bytes = order.u32(magic).to_vec();
    bytes.extend(order.u16(version.0));
    bytes.extend(order.u16(version.1));
    bytes.extend(order.u32s(&[0, 0, 64, link]));
    bytes
}

pub(super) fn record(order: Order, magic: u32, numbers: [u32; 4], data: &[u8]) -> Vec<u8> {
    let mut bytes = order.u32s(&numbers);
    if magic == MODIFIED {
        bytes.extend([0xEE; 8]);
    }
    bytes.extend(data);
    bytes
}

/// Two packets on Ethernet.
fn two(order: Order, magic: u32) -> Vec<u8> {
    let mut bytes = header(order, magic, (2, 4), 1);
    bytes.extend(record(order, magic, [1_700_000_000, 123_456, 5, 60], b"first"));
    bytes.extend(record(order, magic, [1_700_000_001, 7, 6, 6], b"second"));
    bytes
}

fn cut_at(all: &Yield) -> Option<u64> {
    match all.notices.as_slice() {
        [] => None,
        [Notice::FileCut { offset, .. }] => Some(*offset),
        other => panic!("{other:?}"),
    }
}

#[test]
fn both_byte_orders_both_resolutions_and_the_modified_form() {
    for order in ORDERS {
        for magic in [MICROSECONDS, NANOSECONDS, MODIFIED] {
            let all = both(&two(order, magic));
            let (unit, digits) = if magic == NANOSECONDS { (1, 9) } else { (1_000, 6) };
            let head = if magic == MODIFIED { 24 } else { 16 };
            let first = Kept {
                time: 1_700_000_000_000_000_000 + 123_456 * unit,
                link: 1,
                interface: 0,
                original_length: 60,
                data: b"first".to_vec(),
                file: 0,
                number: 0,
                offset: 24 + head,
                digits,
            };
            let second = Kept {
                time: 1_700_000_001_000_000_000 + 7 * unit,
                original_length: 6,
                data: b"second".to_vec(),
                offset: 24 + head + 5 + head,
                ..first.clone()
            };
            assert_eq!(all.packets, [first, second], "{order:?} {magic:X}");
            assert_eq!(all.notices, []);
        }
    }
}

#[test]
fn a_header_alone_is_an_empty_capture() {
    for order in ORDERS {
        assert_eq!(both(&header(order, MICROSECONDS, (2, 4), 1)), Yield::default());
    }
}

#[test]
fn checksum_bits_are_not_part_of_the_link_type() {
    for order in ORDERS {
        let mut bytes = header(order, MICROSECONDS, (2, 4), 0x5400_0071);
        bytes.extend(record(order, MICROSECONDS, [0, 0, 1, 1], b"x"));
        assert_eq!(both(&bytes).packets[0].link, 113);
    }
}

#[test]
fn a_packet_may_be_longer_than_the_snap_length() {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    bytes.extend(record(Order::Little, MICROSECONDS, [0, 0, 500, 500], &[7; 500]));
    assert_eq!(both(&bytes).data(), [[7; 500]]);
}

#[test]
fn times_that_go_far_backwards_are_handed_on() {
    let mut bytes = header(Order::Little, NANOSECONDS, (2, 4), 1);
    for seconds in [5, 3, u32::MAX, 0] {
        bytes.extend(record(Order::Little, NANOSECONDS, [seconds, 1, 0, 0], b""));
    }
    let seconds = [3, 5, i64::from(u32::MAX), 0].map(|seconds| seconds * 1_000_000_000 + 1);
    assert_eq!(both(&bytes).times(), seconds);
}

#[test]
fn a_fraction_of_more_than_a_second_counts() {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    bytes.extend(record(Order::Little, MICROSECONDS, [1, u32::MAX, 0, 0], b""));
    assert_eq!(both(&bytes).times(), [1_000_000_000 + i64::from(u32::MAX) * 1_000]);
}

#[test]
fn a_file_truncated_anywhere_is_read_to_its_end() {
    for order in ORDERS {
        for magic in [MICROSECONDS, MODIFIED] {
            let bytes = two(order, magic);
            let head = if magic == MODIFIED { 24 } else { 16 };
            let second = 24 + head + 5;
            for length in 24..bytes.len() {
                let all = both(&bytes[..length]);
                assert_eq!(all.packets.len(), usize::from(length >= second), "cut at {length}");
                let expected = match length {
                    24 => None,
                    _ if length < second => Some(24),
                    _ if length == second => None,
                    _ => Some(second as u64),
                };
                assert_eq!(cut_at(&all), expected, "cut at {length}");
            }
            for length in 4..24 {
                let error = mapped(&bytes[..length]).expect_err("no whole header").to_string();
                assert!(error.contains("ends inside the header of a pcap file"), "{error}");
            }
        }
    }
}

#[test]
fn a_length_that_cannot_be_ends_the_reading() {
    for order in ORDERS {
        for (length, broken) in [(1_000, false), (256 << 20, false), (0x1000_0001, true)] {
            let mut bytes = two(order, MICROSECONDS);
            let offset = bytes.len() as u64;
            bytes.extend(record(order, MICROSECONDS, [9, 9, length, length], b"too little"));
            let all = both(&bytes);
            assert_eq!(all.packets.len(), 2);
            let at = match all.notices.as_slice() {
                [Notice::BrokenBlock { offset, .. }] if broken => *offset,
                [Notice::FileCut { offset, .. }] if !broken => *offset,
                other => panic!("{other:?}"),
            };
            assert_eq!(at, offset);
        }
        let mut bytes = two(order, MICROSECONDS);
        bytes.extend(order.u32s(&[9, 9, u32::MAX, u32::MAX]));
        assert!(both(&bytes).said()[0].contains("more than 256 MiB"));
    }
}

#[test]
fn a_very_long_packet_is_borrowed_in_part_and_the_next_is_found() {
    let long = BORROWED + BORROWED / 2;
    let mut bytes = header(Order::Big, MICROSECONDS, (2, 4), 1);
    let numbers = [1, 0, long as u32, long as u32];
    bytes.extend(record(Order::Big, MICROSECONDS, numbers, &vec![0xAB; long]));
    bytes.extend(record(Order::Big, MICROSECONDS, [2, 0, 4, 4], b"next"));
    let all = both(&bytes);
    assert_eq!(all.packets[0].data.len(), BORROWED);
    assert_eq!(all.packets[0].original_length as usize, long);
    assert_eq!(all.packets[1].data, b"next");
    assert_eq!(all.notices, []);
    // Cut after the borrowed part.
    let all = both(&bytes[..24 + 16 + BORROWED + 100]);
    assert_eq!((all.packets.len(), cut_at(&all)), (1, Some(24)));
}

#[test]
fn old_versions_have_the_lengths_in_another_order() {
    for order in ORDERS {
        for (version, numbers) in [
            ((2, 0), [60, 5]),
            ((2, 2), [60, 5]),
            ((543, 0), [60, 5]),
            ((2, 3), [60, 5]),
            ((2, 3), [5, 60]),
            ((2, 4), [5, 60]),
            ((2, 5), [5, 60]),
            ((2, 99), [5, 60]),
        ] {
            let mut bytes = header(order, MICROSECONDS, version, 1);
            let [third, fourth] = numbers;
            bytes.extend(record(order, MICROSECONDS, [1, 2, third, fourth], b"bytes"));
            let all = both(&bytes);
            assert_eq!(all.data(), [b"bytes"], "{version:?}");
            assert_eq!(all.packets[0].original_length, 60);
            assert_eq!(all.notices, []);
        }
    }
}

#[test]
fn unknown_versions_are_refused_with_their_number() {
    for version in [(1, 0), (3, 4), (543, 1), (0, 0)] {
        let bytes = header(Order::Big, MICROSECONDS, version, 1);
        let error = mapped(&bytes).expect_err("an unknown version");
        assert!(matches!(error, CaptureError::Unsupported { .. }));
        let (major, minor) = version;
        let said = format!("pcap version {major}.{minor} is not known");
        assert!(error.to_string().contains(&said), "{error}");
    }
}

/// Old Red Hat, SuSE and Nokia recorders write longer record headers than their magic number
/// implies.
#[test]
fn recorders_that_write_more_than_they_declare() {
    for order in ORDERS {
        for (magic, more) in [(MICROSECONDS, 8), (MICROSECONDS, 4), (MODIFIED, 12), (MODIFIED, 8)] {
            let packets: [&[u8]; 4] = [b"first", b"second one", b"3", b"the fourth packet"];
            let mut bytes = header(order, magic, (2, 4), 1);
            for (second, packet) in (1_000_000_000..).zip(packets) {
                let length = packet.len() as u32;
                bytes.extend(order.u32s(&[second, 999_999, length, length + 40]));
                bytes.extend(vec![0xEE; more]);
                bytes.extend(packet);
            }
            let whole = [mapped(&bytes), streamed(&bytes, &[usize::MAX])];
            for all in whole.map(|all| all.expect("a capture")) {
                assert_eq!(all.data(), packets, "{magic:x} and {more} bytes");
                assert_eq!(all.notices, []);
            }
            // From a pipe that has no more than one packet at a time.
            let all = streamed(&bytes, &[1]).expect("a capture");
            match (magic, more) {
                (MODIFIED, 8) => assert_eq!((all.data(), all.notices.len()), (packets.into(), 0)),
                _ => {
                    assert_eq!(all.packets.len(), 1);
                    assert!(
                        all.said()[0].contains("an old recorder wrote more"),
                        "{:?}",
                        all.said()
                    );
                }
            }
        }
    }
}

/// A pipe is not recognized as another recorder's by one record that would be plausible later, nor
/// by several, as long as the usual ones continue.
#[test]
fn a_pipe_has_the_format_of_a_file() {
    for order in ORDERS {
        let mut bytes = header(order, MICROSECONDS, (2, 4), 1);
        bytes.extend(record(order, MICROSECONDS, [1_700_000_000, 1, 5, 5], b"first"));
        let odd = record(order, MICROSECONDS, [0, 700_000_000, 4, 2], &order.u32(3));
        bytes.extend(&odd);
        assert_eq!(both(&bytes).packets.len(), 2);
        bytes.truncate(24 + 16 + 5);
        bytes.extend(order.u32s(&[9, 9, 700_000_000, 7, 1, 1, 0]));
        assert!(both(&bytes).said()[0].contains("more than 256 MiB"));
    }
}

#[test]
fn damage_does_not_make_a_file_another_recorders() {
    let mut bytes = two(Order::Little, MICROSECONDS);
    let after = bytes.len();
    bytes.extend(two(Order::Little, MICROSECONDS).split_off(24));
    bytes[after + 8..after + 12].fill(0xFF);
    let all = mapped(&bytes).expect("a capture");
    assert_eq!((all.data(), all.notices.len()), (vec![&b"first"[..], b"second"], 1));
}

/// As `cat` joins files, or compressed ones.
#[test]
fn files_that_were_joined_are_read_as_one() {
    for order in ORDERS {
        for magic in [MICROSECONDS, NANOSECONDS, MODIFIED] {
            let file = two(order, magic);
            let all = both(&[&*file, &file[..24], &file].concat());
            // In the order of time.
            let twice = [&b"first"[..], b"first", b"second", b"second"];
            assert_eq!(all.data(), twice, "{order:?} {magic:X}");
            assert!(matches!(all.notices[..], [Notice::Unordered { is_mended: true, .. }]));
            // Records of another kind cannot follow.
            let other = header(order, magic, (2, 4), 101);
            let all = both(&[&*file, &other].concat());
            assert_eq!(all.data(), [&b"first"[..], b"second"]);
            let [Notice::BrokenBlock { offset, what, .. }] = &all.notices[..] else {
                panic!("{:?}", all.notices)
            };
            assert_eq!(*offset, file.len() as u64);
            assert!(what.contains("another capture begins here"), "{what}");
        }
    }
}

#[test]
fn a_packet_of_nothing_at_time_zero_is_a_packet() {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    bytes.extend([0; 32]);
    let all = both(&bytes);
    assert_eq!((all.times(), all.notices.len()), (vec![0, 0], 0));
}

//! The newer format: sections, interfaces, clocks, packets of three kinds, and damage.

use super::super::{BORROWED, Notice};
use super::{ORDERS, Order, Yield, both, mapped};

pub(super) fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let padded = body.len().next_multiple_of(4);
    let length = order.u32(padded as u32 + 12);
    let mut bytes = order.u32(kind).to_vec();
    bytes.extend(length);
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(length);
    bytes
}

pub(super) fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1A2B_3C4D).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xFF; 8]);
    block(order, 0x0A0D_0D0A, &body)
}

fn options(order: Order, options: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (code, value) in options {
        bytes.extend(order.u16(*code));
        bytes.extend(order.u16(value.len() as u16));
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    if !options.is_empty() {
        bytes.extend([0; 4]);
    }
    bytes
}

pub(super) fn interface(order: Order, link: u16, snaplen: u32, said: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend([0; 2]);
    body.extend(order.u32(snaplen));
    body.extend(options(order, said));
    block(order, 1, &body)
}

pub(super) fn enhanced(order: Order, interface: u32, units: u64, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    let (high, low) = ((units >> 32) as u32, units as u32);
    let mut body = order.u32s(&[interface, high, low, length, length + 10]);
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    // A comment, which is passed over.
    body.extend(options(order, &[(1, b"look")]));
    block(order, 6, &body)
}

fn obsolete(order: Order, interface: u16, units: u64, data: &[u8]) -> Vec<u8> {
    let mut body = order.u16(interface).to_vec();
    body.extend(order.u16(0xFFFF));
    let length = data.len() as u32;
    body.extend(order.u32s(&[(units >> 32) as u32, units as u32, length, length]));
    body.extend(data);
    block(order, 2, &body)
}

fn simple(order: Order, original_length: u32, data: &[u8]) -> Vec<u8> {
    let mut body = order.u32(original_length).to_vec();
    body.extend(data);
    block(order, 3, &body)
}

fn statistics(order: Order, interface: u32, said: &[(u16, u64)]) -> Vec<u8> {
    let values: Vec<_> = said.iter().map(|(code, count)| (*code, order.u64(*count))).collect();
    let said: Vec<_> = values.iter().map(|(code, value)| (*code, value.as_slice())).collect();
    let mut body = order.u32s(&[interface, 0, 0]);
    body.extend(options(order, &said));
    block(order, 5, &body)
}

fn capture(blocks: &[Vec<u8>]) -> Yield {
    both(&blocks.concat())
}

const RESOLUTION: u16 = 9;
const OFFSET: u16 = 14;

#[test]
fn packets_of_three_kinds_in_both_byte_orders() {
    for order in ORDERS {
        let blocks = [
            section(order),
            interface(order, 101, 0, &[(2, b"eth0")]),
            enhanced(order, 0, 1_700_000_000_000_001, b"enhanced!"),
            simple(order, 6, b"simple"),
            obsolete(order, 0, 1_700_000_000_000_002, b"obsolete"),
        ];
        let all = capture(&blocks);
        assert_eq!(all.data(), [b"enhanced!".as_slice(), b"simple", b"obsolete"]);
        let (first, last) = (1_700_000_000_000_001_000, 1_700_000_000_000_002_000);
        // A simple packet has no time: it is as late as the one before.
        assert_eq!(all.times(), [first, first, last]);
        let lengths: Vec<_> = all.packets.iter().map(|packet| packet.original_length).collect();
        assert_eq!(lengths, [19, 6, 8]);
        let bytes = blocks.concat();
        for packet in &all.packets {
            assert_eq!((packet.link, packet.digits), (101, 6));
            assert!(bytes[packet.offset as usize..].starts_with(&packet.data));
        }
        assert_eq!(all.notices, []);
    }
}

#[test]
fn every_interface_has_its_own_link_type_clock_and_number() {
    for order in ORDERS {
        let seconds = order.u64((-3_600_i64).cast_unsigned());
        let blocks = [
            section(order),
            interface(order, 1, 0, &[]),
            interface(order, 113, 0, &[(RESOLUTION, &[9])]),
            interface(order, 101, 0, &[(RESOLUTION, &[0x8A]), (OFFSET, &seconds)]),
            enhanced(order, 2, 3_600 * 1024 + 512, b"c"),
            enhanced(order, 0, 5, b"a"),
            enhanced(order, 1, 5, b"b"),
            section(order),
            interface(order, 276, 0, &[(RESOLUTION, &[12])]),
            enhanced(order, 0, 7_999, b"d"),
        ];
        let all = capture(&blocks);
        let said: Vec<_> = all
            .packets
            .iter()
            .map(|packet| (packet.interface, packet.link, packet.time, packet.digits))
            .collect();
        let expected = [(1, 113, 5, 9), (3, 276, 7, 9), (0, 1, 5_000, 6), (2, 101, 500_000_000, 9)];
        assert_eq!(said, expected);
    }
}

#[test]
fn offsets_and_resolutions_are_computed_in_the_files_order() {
    for order in ORDERS {
        for (resolution, offset, units, time) in [
            (6, 1_000_000_000_i64, 1, 1_000_000_000_000_001_000_i64),
            (6, -1, 500_000, -500_000_000),
            (0x9E, 0, (3 << 30) + (1 << 28), 3_250_000_000),
            (0xBF, 0, 1 << 62, 500_000_000),
            (12, 0, 1_700_000_000_123_456_789, 1_700_000_000_123_456),
            (7, 0, 1, 100),
            (0, 0, 1_700_000_000, 1_700_000_000_000_000_000),
        ] {
            let seconds = order.u64(offset.cast_unsigned());
            let said: [(u16, &[u8]); 2] = [(RESOLUTION, &[resolution]), (OFFSET, &seconds)];
            let blocks =
                [section(order), interface(order, 1, 0, &said), enhanced(order, 0, units, b"")];
            let all = capture(&blocks);
            assert_eq!((all.times(), all.notices.len()), (vec![time], 0), "{resolution:X}");
        }
    }
}

#[test]
fn a_time_out_of_range_is_the_nearest_and_is_reported_once() {
    let order = Order::Big;
    let blocks = [
        section(order),
        interface(order, 1, 0, &[(RESOLUTION, &[0])]),
        enhanced(order, 0, u64::MAX, b"late"),
        enhanced(order, 0, u64::MAX, b"late too"),
        enhanced(order, 0, 1, b"in time"),
    ];
    let all = capture(&blocks);
    assert_eq!(all.times(), [i64::MAX, i64::MAX, 1_000_000_000]);
    let offset = (blocks[0].len() + blocks[1].len()) as u64;
    assert!(
        matches!(all.notices.as_slice(), [Notice::TimeOutOfRange { offset: at, .. }] if *at == offset)
    );
}

#[test]
fn sections_may_change_the_byte_order() {
    let mut bytes = Vec::new();
    for (number, order) in [Order::Little, Order::Big, Order::Big, Order::Little].iter().enumerate()
    {
        bytes.extend(section(*order));
        bytes.extend(interface(*order, number as u16, 0, &[]));
        bytes.extend(enhanced(*order, 0, number as u64, b"x"));
    }
    let all = both(&bytes);
    assert_eq!(all.times(), [0, 1_000, 2_000, 3_000]);
    let links: Vec<_> = all.packets.iter().map(|packet| packet.link).collect();
    assert_eq!(links, [0, 1, 2, 3]);
}

#[test]
fn a_simple_packet_is_truncated_at_the_snap_length() {
    for order in ORDERS {
        let blocks = [
            section(order),
            interface(order, 1, 2, &[]),
            simple(order, 1_000, b"ab"),
            simple(order, 1, b"c"),
        ];
        let all = capture(&blocks);
        assert_eq!(all.data(), [b"ab".as_slice(), b"c"]);
        assert_eq!(all.packets[0].original_length, 1_000);
        assert_eq!(all.notices, []);
    }
}

#[test]
fn a_packet_longer_than_its_block_hides_nothing_after_it() {
    for order in ORDERS {
        for kind in [6, 2, 3] {
            let body = match kind {
                3 => order.u32s(&[1_000, 0]),
                _ => order.u32s(&[0, 0, 0, 1_000, 1_000, 0]),
            };
            let before = [section(order), interface(order, 1, 0, &[])].concat();
            let bytes =
                [before.clone(), block(order, kind, &body), enhanced(order, 0, 1, b"x")].concat();
            let all = both(&bytes);
            assert_eq!(all.data(), [b"x"]);
            assert_eq!(all.said().len(), 1);
            let offset = before.len();
            let said = format!("at byte {offset}: a packet that is longer than its block");
            assert_eq!(all.said(), [said]);
        }
    }
}

#[test]
fn broken_blocks_are_reported_and_passed_over() {
    let order = Order::Little;
    let mut differs = enhanced(order, 0, 1, b"x");
    let last = differs.len() - 4;
    differs[last] ^= 4;
    for (block, what) in [
        (enhanced(order, 7, 1, b"x"), "a packet of an interface that no block describes"),
        (enhanced(order, u32::MAX, 1, b"x"), "a packet of an interface that no block describes"),
        (obsolete(order, 1, 1, b"x"), "a packet of an interface that no block describes"),
        (statistics(order, 9, &[(5, 1)]), "statistics of an interface that no block describes"),
        (block(order, 6, b"tiny"), "a packet that is longer than its block"),
        (block(order, 3, b""), "a packet that is longer than its block"),
        (block(order, 5, b""), "interface statistics that do not parse"),
        (differs, "a block whose two lengths differ"),
    ] {
        let blocks =
            [section(order), interface(order, 1, 0, &[]), block, enhanced(order, 0, 2, b"next")];
        let all = capture(&blocks);
        assert_eq!(all.data(), [b"next"], "{what}");
        assert_eq!(all.said().len(), 1);
        assert!(all.said()[0].ends_with(what), "{:?}", all.said());
    }
}

#[test]
fn an_unreadable_description_keeps_the_numbers_of_the_others() {
    let order = Order::Big;
    let blocks = [
        section(order),
        interface(order, 1, 0, &[]),
        block(order, 1, &[]),
        interface(order, 101, 0, &[]),
        enhanced(order, 2, 0, b"c"),
        enhanced(order, 1, 0, b"b"),
    ];
    let all = capture(&blocks);
    let links: Vec<_> = all.packets.iter().map(|packet| packet.link).collect();
    assert_eq!(links, [101, u16::MAX]);
    assert!(all.said()[0].ends_with("an interface description that does not parse"));
}

#[test]
fn unknown_blocks_are_passed_over() {
    for order in ORDERS {
        let blocks = [
            section(order),
            block(order, 0x0BAD, b"custom and unknown"),
            interface(order, 1, 0, &[]),
            block(order, 4, b"names"),
            block(order, 0x8000_0001, &[]),
            enhanced(order, 0, 2, b"next"),
        ];
        let all = capture(&blocks);
        assert_eq!((all.data(), all.notices.len()), (vec![b"next".as_slice()], 0));
    }
}

#[test]
fn statistics_tell_the_drops_of_each_interface_and_the_last_counts() {
    for order in ORDERS {
        let blocks = [
            section(order),
            interface(order, 1, 0, &[]),
            section(order),
            interface(order, 1, 0, &[]),
            interface(order, 1, 0, &[]),
            statistics(order, 1, &[(4, 100), (5, 2), (7, 1)]),
            statistics(order, 1, &[(5, 2), (7, 1)]),
            statistics(order, 0, &[(4, 100), (5, 0)]),
            statistics(order, 1, &[(5, 5), (7, 1)]),
            statistics(order, 0, &[(7, 1)]),
            statistics(order, 0, &[(5, u64::MAX), (7, u64::MAX)]),
        ];
        let drops: Vec<_> = capture(&blocks)
            .notices
            .iter()
            .map(|notice| match notice {
                Notice::Drops { interface, count, .. } => (*interface, *count),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(drops, [(2, 3), (1, 0), (2, 6), (1, 1), (1, u64::MAX)]);
    }
}

#[test]
fn a_file_truncated_anywhere_ends_with_one_notice() {
    for order in ORDERS {
        let blocks = [
            section(order),
            interface(order, 1, 0, &[]),
            enhanced(order, 0, 1, b"first"),
            block(order, 0x0BAD, b"unknown"),
            enhanced(order, 0, 2, b"second"),
        ];
        let bytes = blocks.concat();
        let ends: Vec<_> = blocks
            .iter()
            .scan(0, |end, block| {
                *end += block.len();
                Some(*end)
            })
            .collect();
        for length in 12..bytes.len() {
            let all = both(&bytes[..length]);
            assert_eq!(all.packets.len(), usize::from(length >= ends[2]), "cut at {length}");
            let begins = ends.iter().rev().find(|end| **end <= length).copied().unwrap_or(0);
            match all.notices.as_slice() {
                [] => assert_eq!(begins, length),
                [Notice::FileCut { offset, .. }] => {
                    assert!(begins < length && *offset == begins as u64, "cut at {length}");
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn reading_ends_without_a_valid_block() {
    for damage in [[0_u8; 12], [0xFF; 12], *b"not a block!"] {
        let order = Order::Little;
        let bytes = [section(order), damage.to_vec(), section(order)].concat();
        let all = both(&bytes);
        assert!(all.said()[0].contains("no block begins here"));
        assert_eq!(all.notices.len(), 1);
    }
}

#[test]
fn a_block_that_claims_gigabytes_is_a_truncation() {
    for kind in [1, 3, 5, 6, 0x0BAD] {
        let order = Order::Big;
        let mut bytes = [section(order), interface(order, 1, 0, &[])].concat();
        let offset = bytes.len() as u64;
        bytes.extend(order.u32s(&[kind, 0xFFFF_FFFC, 0, 0, 0, 0, 0, 0]));
        let all = both(&bytes);
        assert_eq!(all.packets.len(), 0);
        let last = all.notices.last();
        assert!(
            matches!(last, Some(Notice::FileCut { offset: at, .. }) if *at == offset),
            "{kind}: {:?}",
            all.notices
        );
    }
}

#[test]
fn a_very_long_packet_is_borrowed_in_part_and_the_next_is_found() {
    let order = Order::Little;
    let blocks = [
        section(order),
        interface(order, 1, 0, &[]),
        enhanced(order, 0, 1, &vec![0xCD; 2 * BORROWED]),
        enhanced(order, 0, 2, b"next"),
    ];
    let all = capture(&blocks);
    assert_eq!(all.packets[0].data.len(), BORROWED);
    assert_eq!(all.packets[0].original_length as usize, 2 * BORROWED + 10);
    assert_eq!((all.packets[1].data.as_slice(), all.notices.len()), (b"next".as_slice(), 0));
}

#[test]
fn a_section_of_another_version_is_reported() {
    let order = Order::Little;
    let mut bytes = [section(order), interface(order, 1, 0, &[])].concat();
    bytes[12] = 2;
    bytes.extend(enhanced(order, 0, 1, b"x"));
    let all = both(&bytes);
    assert!(all.said()[0].contains("unknown version"));
    assert_eq!(all.packets.len(), 1);
}

#[test]
fn a_file_without_a_byte_order_is_reported_as_damaged() {
    let error = mapped(&section(Order::Little)[..9]).expect_err("no byte order");
    assert!(error.to_string().contains("begins as a pcapng file"), "{error}");
}

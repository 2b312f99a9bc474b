//! Arbitrary captures are read completely; reading arbitrary bytes ends, with the same result from
//! a stream and from a file.

use proptest::collection::vec;
use proptest::prelude::*;

use super::pcap::{MICROSECONDS, MODIFIED, NANOSECONDS, header, record};
use super::pcapng::{enhanced, interface, section};
use super::streams::gzip;
use super::{ORDERS, Order, mapped, streamed};

/// Seconds, fraction, original length, bytes.
type Written = (u32, u32, u32, Vec<u8>);

fn packets() -> impl Strategy<Value = Vec<Written>> {
    vec((any::<u32>(), 0..1_000_000_u32, any::<u32>(), vec(any::<u8>(), 0..80)), 0..20)
}

fn order() -> impl Strategy<Value = Order> {
    proptest::sample::select(ORDERS.as_slice())
}

fn pcap(order: Order, magic: u32, packets: &[Written]) -> Vec<u8> {
    let mut bytes = header(order, magic, (2, 4), 228);
    for (seconds, fraction, original, data) in packets {
        let numbers = [*seconds, *fraction, data.len() as u32, *original];
        bytes.extend(record(order, magic, numbers, data));
    }
    bytes
}

fn pcapng(order: Order, packets: &[Written]) -> Vec<u8> {
    let mut bytes = [section(order), interface(order, 228, 0, &[(9, &[9])])].concat();
    for (seconds, fraction, _, data) in packets {
        let units = u64::from(*seconds) * 1_000_000_000 + u64::from(*fraction);
        bytes.extend(enhanced(order, 0, units, data));
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn what_was_written_is_read(
        order in order(),
        magic in proptest::sample::select([MICROSECONDS, NANOSECONDS, MODIFIED].as_slice()),
        packets in packets(),
        sizes in vec(1..50_usize, 1..6),
    ) {
        let bytes = pcap(order, magic, &packets);
        let all = mapped(&bytes).expect("a capture");
        prop_assert_eq!(&all, &streamed(&bytes, &sizes).expect("a capture"));
        prop_assert_eq!(&all, &streamed(&gzip(&bytes), &sizes).expect("a capture"));
        prop_assert_eq!(all.notices.len(), 0);
        prop_assert_eq!(all.packets.len(), packets.len());
        let unit = if magic == NANOSECONDS { 1 } else { 1_000 };
        for (read, (seconds, fraction, original, data)) in all.packets.iter().zip(&packets) {
            let time = i64::from(*seconds) * 1_000_000_000 + i64::from(*fraction) * unit;
            prop_assert_eq!((read.time, read.original_length), (time, *original));
            prop_assert_eq!(&read.data, data);
            prop_assert_eq!(&bytes[read.offset as usize..][..data.len()], data.as_slice());
        }
    }

    #[test]
    fn what_was_written_in_blocks_is_read(
        order in order(),
        packets in packets(),
        sizes in vec(1..50_usize, 1..6),
    ) {
        let bytes = pcapng(order, &packets);
        let all = mapped(&bytes).expect("a capture");
        prop_assert_eq!(&all, &streamed(&bytes, &sizes).expect("a capture"));
        prop_assert_eq!(all.notices.len(), 0);
        prop_assert_eq!(all.packets.len(), packets.len());
        for (read, (seconds, fraction, _, data)) in all.packets.iter().zip(&packets) {
            let time = i64::from(*seconds) * 1_000_000_000 + i64::from(*fraction);
            prop_assert_eq!((read.time, &read.data), (time, data));
        }
    }

    #[test]
    fn damaged_captures_end_and_are_read_alike(
        order in order(),
        kind in 0..4,
        packets in packets(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
        sizes in vec(1..50_usize, 1..6),
    ) {
        let mut bytes = match kind {
            0 => pcap(order, MICROSECONDS, &packets),
            1 => pcap(order, MODIFIED, &packets),
            _ => pcapng(order, &packets),
        };
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        match (mapped(&bytes), streamed(&bytes, &sizes)) {
            (Ok(mapped), Ok(streamed)) => prop_assert_eq!(mapped, streamed),
            (Err(mapped), Err(streamed)) => {
                let reason = |said: String| said.split_once(": ").map(|(_, said)| said.to_owned());
                prop_assert_eq!(reason(mapped.to_string()), reason(streamed.to_string()));
            }
            (mapped, streamed) => prop_assert!(false, "{mapped:?} {streamed:?}"),
        }
    }

    #[test]
    fn damaged_compressed_captures_end(
        packets in packets(),
        is_gzip in any::<bool>(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let plain = pcap(Order::Little, MICROSECONDS, &packets);
        let mut bytes = if is_gzip { gzip(&plain) } else { super::streams::zstd(&plain) };
        for (at, value) in damage {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(all) = streamed(&bytes, &[7, 300]) {
            prop_assert!(all.notices.iter().all(|notice| !notice.to_string().is_empty()));
        }
    }

    #[test]
    fn any_bytes_after_a_magic_number_end(
        begin in 0..6_usize,
        bytes in vec(any::<u8>(), 0..400),
        sizes in vec(1..50_usize, 1..6),
    ) {
        let mut all = match begin {
            0 => header(Order::Little, MICROSECONDS, (2, 4), 1),
            1 => header(Order::Big, MODIFIED, (2, 2), 1),
            2 => [section(Order::Little), interface(Order::Little, 1, 0, &[])].concat(),
            3 => [section(Order::Big), interface(Order::Big, 1, 0, &[])].concat(),
            4 => vec![0x1F, 0x8B, 8, 0],
            _ => vec![0x28, 0xB5, 0x2F, 0xFD],
        };
        all.extend(bytes);
        prop_assert_eq!(mapped(&all).ok(), streamed(&all, &sizes).ok());
    }
}

//! Files whose packets are out of order.

use super::pcap::{MICROSECONDS, header, record};
use super::*;

/// A capture with packets at these milliseconds, each with its number in the file.
fn capture(times: &[u32], length: usize) -> Vec<u8> {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    for (number, ms) in (0_u32..).zip(times) {
        let mut data = number.to_le_bytes().to_vec();
        data.resize(length.max(4), 0);
        let head = [1000 + ms / 1000, ms % 1000 * 1000, data.len() as u32, data.len() as u32];
        bytes.extend(record(Order::Little, MICROSECONDS, head, &data));
    }
    bytes
}

/// The milliseconds of the packets as they are read.
fn read(times: &[u32]) -> Vec<u32> {
    let all = both(&capture(times, 4));
    let is_ordered = times.is_sorted();
    assert_eq!(all.notices.is_empty(), is_ordered, "{:?}", all.notices);
    let ms = |time: &i64| (time / 1_000_000 - 1_000_000) as u32;
    // Each has its own bytes.
    for packet in &all.packets {
        let number = u32::from_le_bytes(packet.data[..4].try_into().expect("a number"));
        assert_eq!(times[number as usize], ms(&packet.time));
        assert_eq!(packet.offset, 24 + u64::from(number) * 20 + 16);
    }
    all.times().iter().map(ms).collect()
}

fn sorted(times: &[u32]) -> Vec<u32> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    sorted
}

#[test]
fn neighbours_and_blocks_are_put_in_order() {
    let neighbours: Vec<_> = (0..2000).map(|nth| nth ^ 1).collect();
    let blocks: Vec<_> = (0..2000).map(|nth| nth / 16 * 16 + nth % 2 * 8 + nth % 16 / 2).collect();
    for times in [neighbours, blocks] {
        assert_eq!(read(&times), sorted(&times));
    }
}

#[test]
fn packets_at_the_same_time_keep_their_order() {
    let times = [5, 3, 3, 5, 5, 3];
    let all = both(&capture(&times, 4));
    let numbers: Vec<_> = all.packets.iter().map(|packet| packet.data[0]).collect();
    assert_eq!(numbers, [1, 2, 5, 0, 3, 4]);
    assert_eq!(all.notices.len(), 1);
}

/// The first one that is late comes as it is; then others wait.
#[test]
fn what_is_out_of_order_much_later_is_put_in_order_from_then_on() {
    let mut times: Vec<_> = (0..4000).collect();
    times[3001..].chunks_exact_mut(2).for_each(|pair| pair.swap(0, 1));
    let all = read(&times);
    assert_eq!(all[..3003], times[..3003]);
    assert_eq!(all[3003..], sorted(&times)[3003..]);
}

#[test]
fn packets_that_are_hours_apart_are_no_neighbours() {
    let times: Vec<_> = (9_000_000..9_000_050).chain(0..50).collect();
    let all = both(&capture(&times, 4));
    let numbers: Vec<_> = all.packets.iter().map(|packet| packet.data[0]).collect();
    assert_eq!(numbers, Vec::from_iter(0..100));
    assert!(all.notices.is_empty());
}

#[test]
fn large_packets_do_not_wait_in_great_numbers() {
    let times: Vec<_> = (1..90).chain([0]).collect();
    let all = both(&capture(&times, 400_000));
    assert_eq!(all.packets.len(), 90);
    let first = all.packets.iter().position(|packet| packet.data[0] == 89);
    assert!(first.is_some_and(|place| (70..89).contains(&place)), "{first:?}");
}

/// Packets of a pipe are not held back; what is wrong is said.
#[test]
fn a_pipe_is_read_as_it_is() {
    let bytes = capture(&[5, 3, 4], 4);
    let input = Input::stream(Box::new(io::Cursor::new(bytes.clone())));
    let packets = recognized(Path::new("-"), 0, input, ReadMemory::of_one(usize::MAX));
    let all = drain(packets.expect("a capture"), bytes.len());
    let numbers: Vec<_> = all.packets.iter().map(|packet| packet.data[0]).collect();
    assert_eq!(numbers, [0, 1, 2]);
    assert!(matches!(all.notices.as_slice(), [Notice::Unordered { is_mended: false, .. }]));
}

//! Several captures as one.

use std::path::PathBuf;

use super::super::{Notice, open_merged};
use super::pcap::{MICROSECONDS, header, record};
use super::pcapng::{enhanced, interface, section};
use super::{Folder, Order, Yield, drain};

fn pcap(packets: &[(u32, &[u8])]) -> Vec<u8> {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    for (seconds, data) in packets {
        let length = data.len() as u32;
        bytes.extend(record(Order::Little, MICROSECONDS, [*seconds, 0, length, length], data));
    }
    bytes
}

fn merged(files: &[Vec<u8>]) -> Yield {
    let folder = Folder::new();
    let name = |number: usize| format!("{number}");
    let paths: Vec<PathBuf> =
        files.iter().enumerate().map(|(number, bytes)| folder.file(&name(number), bytes)).collect();
    drain(
        open_merged(&paths, usize::MAX).expect("captures"),
        files.iter().map(Vec::len).sum::<usize>() + 1,
    )
}

fn order(all: &Yield) -> String {
    all.packets.iter().map(|packet| String::from_utf8_lossy(&packet.data)).collect()
}

#[test]
fn packets_come_in_the_order_of_time_and_files_in_theirs() {
    let all = merged(&[
        pcap(&[(1, b"a"), (3, b"d"), (3, b"e"), (9, b"i")]),
        pcap(&[(2, b"b"), (3, b"f"), (8, b"h")]),
        pcap(&[]),
        [
            section(Order::Big),
            interface(Order::Big, 101, 0, &[]),
            enhanced(Order::Big, 0, 2_000_001, b"c"),
            enhanced(Order::Big, 0, 3_000_000, b"g"),
        ]
        .concat(),
    ]);
    assert_eq!(order(&all), "abcdefghi");
    let files: Vec<_> = all.packets.iter().map(|packet| packet.file).collect();
    assert_eq!(files, [0, 1, 3, 0, 0, 1, 3, 1, 0]);
    let numbers: Vec<_> = all.packets.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, [1, 1, 1, 2, 3, 2, 2, 3, 4]);
    assert_eq!((all.packets[2].link, all.packets[0].link), (101, 1));
}

#[test]
fn a_file_that_is_out_of_order_is_put_in_order() {
    let all = merged(&[
        pcap(&[(5, b"a"), (1, b"b"), (2, b"c"), (9, b"f")]),
        pcap(&[(4, b"x"), (6, b"y"), (7, b"z")]),
    ]);
    assert_eq!(order(&all), "bcxayzf");
    let numbers: Vec<_> = all.packets.iter().map(|packet| packet.number).collect();
    assert_eq!(numbers, [1, 2, 1, 3, 2, 3, 4], "as in a file in order");
    assert_eq!(all.notices.len(), 1);
}

#[test]
fn notices_name_their_file() {
    let mut cut = pcap(&[(1, b"a"), (2, b"bb")]);
    cut.pop();
    let all = merged(&[pcap(&[(1, b"x"), (5, b"y")]), cut]);
    assert_eq!(order(&all), "xay");
    match all.notices.as_slice() {
        [Notice::FileCut { path, .. }] => assert!(path.ends_with("1")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn more_files_than_can_be_guarded_are_merged_all_the_same() {
    let files: Vec<_> = (0..100).map(|second| pcap(&[(second, b"."), (200, b"!")])).collect();
    let all = merged(&files);
    assert_eq!(order(&all), ".".repeat(100) + &"!".repeat(100));
}

/// Only this many files are mapped at a time: the progress of the others is known all the same.
#[test]
fn progress_is_known_of_files_that_are_not_mapped() {
    let folder = Folder::new();
    let bytes = pcap(&[(1, b"a")]);
    let files = (0..100).map(|n| folder.file(&n.to_string(), &bytes));
    let open: Vec<_> = files.map(|file| crate::capture::open(&file).expect("a capture")).collect();
    let all = bytes.len() as u64;
    assert!(open.iter().all(|packets| packets.progress() == Some((24, all))));
}

#[test]
fn none_and_one() {
    assert_eq!(merged(&[]), Yield::default());
    assert_eq!(order(&merged(&[pcap(&[(1, b"a"), (2, b"b")])])), "ab");
}

#[test]
fn progress_is_added_up() {
    let folder = Folder::new();
    let bytes = pcap(&[(1, b"a")]);
    let paths = [folder.file("a", &bytes), folder.file("b", &bytes)];
    let mut packets = open_merged(&paths, usize::MAX).expect("captures");
    let all = 2 * bytes.len() as u64;
    assert_eq!(packets.progress(), Some((48, all)));
    while packets.next().is_some() {}
    assert_eq!(packets.progress(), Some((all, all)));
}

/// Of consecutive files, few are open at once.
#[test]
fn files_that_follow_each_other_are_opened_one_after_the_other() {
    let folder = Folder::new();
    let paths: Vec<PathBuf> = (0..400)
        .map(|hour| {
            folder.file(&format!("{hour}"), &pcap(&[(hour * 10, b"a"), (hour * 10 + 9, b"b")]))
        })
        .collect();
    let open = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let mut packets = open_merged(&paths, usize::MAX).expect("captures");
    let (mut times, mut most) = (Vec::new(), 0);
    let before = open();
    while let Some(time) = packets.advance() {
        times.push(time);
        most = most.max(open().saturating_sub(before));
    }
    assert_eq!(times.len(), 800);
    assert!(times.is_sorted());
    // Other tests of this process open files, too.
    assert!(most < 200, "{most} at once");
}

/// Each frame announces that it needs 8 MiB; together they would exceed the limit.
#[test]
fn compressed_files_that_follow_each_other_share_the_memory() {
    let folder = Folder::new();
    let frame = |bytes: &[u8]| {
        let mut frame = b"\x28\xB5\x2F\xFD\0\x68".to_vec();
        frame.extend(((bytes.len() as u32) << 3 | 1).to_le_bytes().into_iter().take(3));
        frame.extend(bytes);
        frame
    };
    let paths: Vec<PathBuf> = (0..300)
        .map(|hour| folder.file(&format!("{hour}.zst"), &frame(&pcap(&[(hour, b"a")]))))
        .collect();
    let packets = open_merged(&paths, 64 << 20).expect("captures");
    let all = drain(packets, 1000);
    assert_eq!((all.packets.len(), all.notices.len()), (300, 0), "{:?}", all.notices.first());
}

#[test]
fn a_merged_file_that_disappears_is_reported() {
    let folder = Folder::new();
    let paths = [folder.file("a", &pcap(&[(1, b"a")])), folder.file("b", &pcap(&[(2, b"b")]))];
    let packets = open_merged(&paths, usize::MAX).expect("captures");
    std::fs::remove_file(&paths[1]).expect("it is there");
    let all = drain(packets, 1000);
    assert_eq!(order(&all), "a");
    assert!(
        matches!(all.notices.as_slice(), [Notice::Unopened { path, .. }] if path.ends_with("b"))
    );
}

/// What one reader could open, all can: a second reader, which begins later, reads the same file.
#[test]
fn a_file_that_disappears_meanwhile_is_read_by_all_readers() {
    let folder = Folder::new();
    let paths = [folder.file("a", &pcap(&[(1, b"a")])), folder.file("b", &pcap(&[(2, b"b")]))];
    let packets = open_merged(&paths, usize::MAX).expect("captures");
    let mut readers: Vec<_> = (0..2).filter_map(|_| packets.fork()).collect();
    assert_eq!(readers.len(), 2);
    let later = readers.pop().expect("a reader");
    let first = readers.pop().expect("a reader");
    assert_eq!(order(&drain(first, 1000)), "ab");
    std::fs::remove_file(&paths[1]).expect("it is there");
    assert_eq!(order(&drain(later, 1000)), "ab");
}

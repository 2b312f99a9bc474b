//! Compressed captures, whole and cut, and pipes.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::super::input::{Input, ReadMemory};
use super::super::open::recognized;
use super::super::{CaptureError, Event, Notice, open, open_stream_within, open_within};
use super::pcap::{MICROSECONDS, header, record};
use super::{Folder, Order, Yield, both, drain, mapped, streamed};

/// A capture of packets whose bytes compress badly.
fn capture(packets: u32) -> Vec<u8> {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    let mut state = 1_u32;
    for packet in 0..packets {
        let data: Vec<u8> = (0..400)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .collect();
        bytes.extend(record(Order::Little, MICROSECONDS, [packet, 0, 400, 400], &data));
    }
    bytes
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// A zstd frame of one block that is stored as it is: window of 1 KiB, no checksum.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0x00, 0x00];
    frame.extend(&((bytes.len() as u32) << 3 | 1).to_le_bytes()[..3]);
    frame.extend(bytes);
    frame
}

fn skippable(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x5A, 0x2A, 0x4D, 0x18];
    frame.extend((bytes.len() as u32).to_le_bytes());
    frame.extend(bytes);
    frame
}

#[test]
fn compressed_captures_equal_plain_ones() {
    let plain = capture(1_000);
    let expected = both(&plain);
    for compressed in [gzip(&plain), zstd(&plain)] {
        assert_eq!(both(&compressed), expected);
    }
}

#[test]
fn members_and_frames_follow_each_other() {
    let plain = capture(20);
    let expected = both(&plain);
    let (first, second) = plain.split_at(777);
    let members = [gzip(first), gzip(b""), gzip(second)].concat();
    assert_eq!(both(&members), expected);
    let frames = [
        skippable(b"an index"),
        zstd(first),
        skippable(b""),
        stored(&second[..100]),
        zstd(b""),
        zstd(&second[100..]),
        skippable(b"the end"),
    ];
    assert_eq!(both(&frames.concat()), expected);
}

/// Cut at three quarters, more than two thirds of the packets are read correctly.
fn is_read_up_to_the_cut(all: &Yield, whole: &Yield) {
    let count = all.packets.len();
    assert!(count * 3 > whole.packets.len() * 2, "only {count} packets");
    assert_eq!(all.packets, whole.packets[..count]);
    assert!(matches!(all.notices.as_slice(), [Notice::FileCut { .. }]), "{:?}", all.notices);
}

#[test]
fn a_truncated_compressed_capture_is_read_to_its_end() {
    let plain = capture(4_000);
    let whole = both(&plain);
    for compressed in [gzip(&plain), zstd(&plain)] {
        is_read_up_to_the_cut(&both(&compressed[..compressed.len() / 4 * 3]), &whole);
    }
    // Only the checksum is missing.
    let compressed = gzip(&plain);
    let all = both(&compressed[..compressed.len() - 3]);
    assert_eq!(all.packets, whole.packets);
    assert!(matches!(all.notices.as_slice(), [Notice::FileCut { .. }]), "{:?}", all.notices);
    // Inside a frame that only is to be skipped.
    let all = both(&[zstd(&plain), skippable(b"an index")[..11].to_vec()].concat());
    assert_eq!(all.packets, whole.packets);
    assert!(matches!(all.notices.as_slice(), [Notice::FileCut { .. }]), "{:?}", all.notices);
}

#[test]
fn a_compressed_capture_truncated_anywhere_ends() {
    let plain = capture(3);
    let whole = both(&plain);
    for compressed in [gzip(&plain), [stored(&plain[..500]), zstd(&plain[500..])].concat()] {
        for length in 4..compressed.len() {
            let Ok(all) = mapped(&compressed[..length]) else { continue };
            let count = all.packets.len();
            assert_eq!(all.packets, whole.packets[..count]);
            assert!(all.notices.len() <= 1);
            assert!(all.notices.len() == 1 || length == 500 + 9, "silent at {length}");
        }
    }
}

#[test]
fn damage_is_a_notice_and_earlier_packets_are_kept() {
    let plain = capture(4_000);
    let whole = both(&plain);
    for mut compressed in [gzip(&plain), zstd(&plain)] {
        // The checksum, or the last block's last byte.
        let last = compressed.len() - 5;
        compressed[last] ^= 0xFF;
        let all = both(&compressed);
        assert!(matches!(all.notices.as_slice(), [Notice::ReadError { .. }]), "{:?}", all.notices);
        let said = all.notices[0].to_string();
        assert!(said.contains(" of what it unpacks to: "), "{said}");
        assert!(said.ends_with(": the file is damaged; fetch it again"), "{said}");
        assert!(all.packets.len() > whole.packets.len() / 2);
    }
    let after = [gzip(&plain), b"what is this?".to_vec()].concat();
    assert_eq!(both(&after).packets, whole.packets);
    let after = [zstd(&plain), b"what is this?".to_vec()].concat();
    assert_eq!(both(&after).packets, whole.packets);
}

#[test]
fn a_zstd_checksum_that_does_not_match_is_reported() {
    let plain = capture(3);
    let mut compressed = zstd(&plain);
    let last = compressed.len() - 1;
    assert_eq!(compressed[4] & 4, 4, "the encoder writes a checksum");
    compressed[last] ^= 1;
    let all = both(&compressed);
    assert_eq!(all.packets.len(), 3);
    assert!(all.said()[0].contains("the checksum does not match"), "{:?}", all.said());
}

#[test]
fn a_window_beyond_the_bound_is_refused() {
    // 0x90 is 256 MiB; 0x88 is the largest that zstd accepts by itself.
    for (window, is_refused) in [(0x90, true), (0xFF, true), (0x88, false)] {
        let mut frame = stored(&capture(1));
        frame[5] = window;
        match mapped(&frame) {
            Err(CaptureError::Open { error, .. }) => {
                assert!(is_refused && error.to_string().contains("zstd"), "{error}");
            }
            Ok(all) => assert!(!is_refused && all.packets.len() == 1),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_window_beyond_the_memory_is_refused_with_a_remedy() {
    let folder = Folder::new();
    let mut frame = stored(&capture(1));
    // 8 MiB.
    frame[5] = 0x68;
    let file = folder.file("a.pcap.zst", &frame);
    assert!(open_within(&file, 8 << 20).is_ok());
    let stream = Box::new(std::io::Cursor::new(frame));
    for opened in [open_within(&file, 4 << 20), open_stream_within("a".as_ref(), stream, 4 << 20)] {
        let error = opened.err().expect("refused").to_string();
        assert!(error.contains("8 MiB of memory to unpack, and 4 are allowed"), "{error}");
    }
}

#[test]
fn cut_before_the_capture_begins() {
    let plain = capture(3);
    let compressed = gzip(&plain);
    for bytes in [&compressed[..2], &compressed[..12], &zstd(&plain)[..5], &skippable(b"x")[..6]] {
        let error = mapped(bytes).expect_err("nothing is there").to_string();
        assert!(error.contains("is compressed, and cut before a capture begins"), "{error}");
    }
}

#[test]
fn a_fifo_is_read_as_it_is_written() {
    let folder = Folder::new();
    let path = folder.0.join("pipe");
    match Command::new("mkfifo").arg(&path).status() {
        Ok(status) if status.success() => {}
        _ => return,
    }
    let bytes = capture(50);
    let expected = streamed(&bytes, &[usize::MAX]).expect("a capture").packets;
    let writer = std::thread::spawn({
        let path = path.clone();
        move || {
            let mut pipe = std::fs::File::create(path).expect("a pipe");
            for piece in bytes.chunks(97) {
                pipe.write_all(piece).expect("a reader");
                pipe.flush().expect("a reader");
            }
        }
    });
    let all = drain(open(&path).expect("a capture"), usize::MAX);
    writer.join().expect("all is written");
    assert_eq!((all.packets, all.notices.len()), (expected, 0));
}

/// Waits for what it is to give.
struct Awaited(mpsc::Receiver<Vec<u8>>);

impl Read for Awaited {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Ok(bytes) = self.0.recv_timeout(std::time::Duration::from_secs(20)) else {
            return Ok(0);
        };
        out[..bytes.len()].copy_from_slice(&bytes);
        Ok(bytes.len())
    }
}

#[test]
fn a_packet_that_is_there_is_not_held_back_for_the_next() {
    let bytes = capture(2);
    let (send, receive) = mpsc::channel();
    send.send(bytes[..24].to_vec()).expect("a receiver");
    let input = Input::stream(Box::new(Awaited(receive)));
    let mut packets =
        recognized(Path::new("-"), 0, input, ReadMemory::of_one(usize::MAX)).expect("a capture");
    for packet in bytes[24..].chunks(416) {
        send.send(packet.to_vec()).expect("a receiver");
        assert!(matches!(packets.next(), Some(Event::Packet(packet)) if packet.data.len() == 400));
    }
    drop(send);
    assert!(packets.next().is_none());
}

/// Gives a capture, then fails.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("the disk is on \x1B[31mfire")),
            read => Ok(read),
        }
    }
}

#[test]
fn errors_of_a_stream_are_reported() {
    let stream = |bytes| Input::stream(Box::new(Failing(io::Cursor::new(bytes))));
    for compress in [<[u8]>::to_vec, zstd, gzip] {
        let bytes = compress(&capture(2_000));
        let length = bytes.len() - 9;
        let packets = recognized(
            Path::new("-"),
            0,
            stream(bytes[..length].to_vec()),
            ReadMemory::of_one(usize::MAX),
        );
        let all = drain(packets.expect("a capture"), usize::MAX);
        assert_eq!(all.said().len(), 1);
        assert!(all.said()[0].ends_with(r"the disk is on \x1B[31mfire"), "{:?}", all.said());
    }
    let error = recognized(Path::new("-"), 0, stream(Vec::new()), ReadMemory::of_one(usize::MAX))
        .err()
        .expect("no capture");
    assert!(matches!(error, CaptureError::Open { .. }));
}

#[test]
fn announced_lengths_are_not_allocated() {
    let mut bytes = header(Order::Little, MICROSECONDS, (2, 4), 1);
    bytes.extend(Order::Little.u32s(&[0, 0, 256 << 20, 256 << 20]));
    let mut input = Input::stream(Box::new(io::Cursor::new(bytes.clone())));
    assert_eq!(input.fill(256 << 20), bytes.len());
    assert!(input.buffered() <= 128 << 10);
}

#[test]
fn thousands_of_merged_files_share_the_memory() {
    let bytes = vec![7; 1 << 20];
    let buffered = |room| {
        let mut input = Input::stream(Box::new(io::Cursor::new(bytes.clone()))).within(room);
        input.fill(1);
        input.buffered()
    };
    let memory = 32 << 20;
    for files in [1, 2, 5000, 8000] {
        let each = buffered(ReadMemory::of_several(files, memory));
        assert!(each >= 4096 && files * each <= memory, "{files} files: {each}");
    }
    assert_eq!(buffered(ReadMemory::of_several(2, memory)), buffered(ReadMemory::of_one(memory)));
}

//! Capture files: pcap and pcapng, mapped, streamed and compressed.

use std::io::{self, Cursor, Read, Write};
use std::path::Path;

use gamewire::capture::{self, CaptureError, Event, Packets};

use crate::scratch::with_file;

/// Reads the bytes as a file, as a pipe that returns a few bytes at a time, and compressed with gzip and zstd:
/// all must have the same result, and end.
pub(crate) fn run(bytes: &[u8]) {
    let mapped = with_file(bytes, |path| capture::open(path).map(|packets| events(packets, bytes)));
    let mapped = kind(mapped);
    if is_of_old_recorder(bytes, mapped.as_deref()) {
        return;
    }
    let pieces = Pieces { bytes: Cursor::new(bytes.to_vec()), size: 1 + bytes.len() / 7 };
    assert_eq!(mapped, streamed(Box::new(pieces), bytes), "a pipe has another result");
    if bytes.starts_with(&[0x1F, 0x8B]) || bytes.starts_with(&[0x28, 0xB5]) || mapped.is_none() {
        return;
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).expect("memory takes all");
    let gzip = gzip.finish().expect("memory takes all");
    assert_eq!(mapped, streamed(Box::new(Cursor::new(gzip)), bytes), "gzip has another result");
    let zstd = ruzstd::encoding::CompressionLevel::Fastest;
    let zstd = ruzstd::encoding::compress_to_vec(bytes, zstd);
    assert_eq!(mapped, streamed(Box::new(Cursor::new(zstd)), bytes), "zstd has another result");
}

/// Whether record headers are longer than the magic number says, which is not detected in pipes.
fn is_of_old_recorder(bytes: &[u8], events: Option<&[String]>) -> bool {
    let usual = match bytes {
        [0xA1, 0xB2, 0xC3, 0xD4, ..] | [0xD4, 0xC3, 0xB2, 0xA1, ..] => " offset: 40,",
        [0xA1, 0xB2, 0xCD, 0x34, ..] | [0x34, 0xCD, 0xB2, 0xA1, ..] => " offset: 48,",
        _ => return false,
    };
    let first = events.and_then(<[String]>::first);
    first.is_some_and(|first| first.starts_with("Packet") && !first.contains(usual))
}

/// The events of a capture without the file's name; `None` if it is not a capture.
fn kind(read: Result<Vec<String>, CaptureError>) -> Option<Vec<String>> {
    match read {
        Ok(events) => Some(events),
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn streamed(reader: Box<dyn Read + Send>, bytes: &[u8]) -> Option<Vec<String>> {
    let opened = capture::open_stream(Path::new("stream"), reader);
    kind(opened.map(|packets| events(packets, bytes)))
}

fn events(mut packets: Box<dyn Packets + Send>, bytes: &[u8]) -> Vec<String> {
    let is_packed = bytes.starts_with(&[0x1F, 0x8B]) || bytes.starts_with(&[0x28, 0xB5]);
    let mut events = Vec::new();
    let mut count = 0;
    while let Some(event) = packets.next() {
        count += 1;
        assert!(is_packed || count <= bytes.len(), "it does not end");
        let said = match event {
            Event::Packet(packet) => {
                if !is_packed {
                    let recorded = usize::try_from(packet.offset).ok();
                    let recorded = recorded.and_then(|offset| bytes.get(offset..));
                    let is_there = recorded.is_some_and(|bytes| bytes.starts_with(packet.data));
                    assert!(is_there, "a packet's bytes are at its offset");
                }
                format!("{packet:?}")
            }
            Event::Notice(notice) => {
                let said = notice.to_string().replace(" of what it unpacks to", "");
                said.split_once(": ").map_or(said.clone(), |(_, said)| said.to_owned())
            }
        };
        // The beginning of a decompression bomb is enough.
        if is_packed && count > 10_000 {
            break;
        }
        events.push(said);
    }
    events
}

/// A pipe that returns a few bytes at a time.
struct Pieces {
    bytes: Cursor<Vec<u8>>,
    size: usize,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.size.min(out.len());
        self.bytes.read(out.get_mut(..size).unwrap_or_default())
    }
}

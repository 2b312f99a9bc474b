//! Captures built byte by byte, and read in all possible ways.

mod any_bytes;
mod corpora;
mod in_order;
mod merged;
mod pcap;
mod pcapng;
mod shrinking;
mod strangers;
mod streams;

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::input::{Input, ReadMemory};
use super::open::recognized;
use super::{CaptureError, Event, Notice, Packet, Packets, open};

/// The order of the bytes of a file's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        if self == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        if self == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u64(self, value: u64) -> [u8; 8] {
        if self == Order::Big { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn u32s(self, values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|value| self.u32(*value)).collect()
    }
}

/// A copy of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Kept {
    time: i64,
    link: u16,
    interface: u32,
    original_length: u32,
    data: Vec<u8>,
    file: u32,
    number: u64,
    offset: u64,
    digits: u8,
}

impl Kept {
    fn of(packet: &Packet<'_>) -> Kept {
        let &Packet { time, link, interface, original_length, data, .. } = packet;
        let &Packet { file, number, offset, digits, .. } = packet;
        let (link, data) = (link.0, data.to_vec());
        Kept { time, link, interface, original_length, data, file, number, offset, digits }
    }
}

/// All events of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Yield {
    packets: Vec<Kept>,
    notices: Vec<Notice>,
}

impl Yield {
    fn times(&self) -> Vec<i64> {
        self.packets.iter().map(|packet| packet.time).collect()
    }

    fn data(&self) -> Vec<&[u8]> {
        self.packets.iter().map(|packet| packet.data.as_slice()).collect()
    }

    /// The notices as users see them, without the file's name.
    fn said(&self) -> Vec<String> {
        let said = self.notices.iter().map(Notice::to_string);
        said.map(|said| said.split_once(": ").map_or("", |(_, said)| said).to_owned()).collect()
    }
}

/// Reads to the end. No capture yields more events than it has bytes.
fn drain(mut packets: Box<dyn Packets + Send>, bytes: usize) -> Yield {
    let mut all = Yield::default();
    while let Some(event) = packets.next() {
        match event {
            Event::Packet(packet) => all.packets.push(Kept::of(&packet)),
            Event::Notice(notice) => all.notices.push(notice),
        }
        assert!(all.packets.len() + all.notices.len() <= bytes, "it does not end");
    }
    assert!(packets.next().is_none(), "it goes on after its end");
    all
}

/// A folder for the files of a test, removed after it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("gamewire-capture-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        Folder(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).expect("a temporary file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Reads the bytes as a mapped file.
fn mapped(bytes: &[u8]) -> Result<Yield, CaptureError> {
    let folder = Folder::new();
    let mut all = drain(open(&folder.file("capture", bytes))?, bytes.len());
    all.notices.iter_mut().for_each(forget_path);
    Ok(all)
}

/// Notices of a file and of a stream differ in the path only.
fn forget_path(notice: &mut Notice) {
    match notice {
        Notice::FileCut { path, .. }
        | Notice::BrokenBlock { path, .. }
        | Notice::Drops { path, .. }
        | Notice::TimeOutOfRange { path, .. }
        | Notice::Unordered { path, .. }
        | Notice::FileShrank { path, .. }
        | Notice::Interrupted { path, .. }
        | Notice::InterfaceDown { path }
        | Notice::Unopened { path, .. }
        | Notice::ReadError { path, .. } => *path = "-".into(),
    }
}

/// Reads the bytes from a file that is not mapped, and gives this many at a time.
fn streamed(bytes: &[u8], sizes: &[usize]) -> Result<Yield, CaptureError> {
    let pieces = Pieces { bytes: bytes.to_vec(), at: 0, sizes: sizes.to_vec(), reads: 0 };
    let packets = recognized(
        Path::new("-"),
        0,
        Input::file(Box::new(pieces), bytes.len() as u64),
        ReadMemory::of_one(usize::MAX),
    )?;
    Ok(drain(packets, bytes.len()))
}

/// Reads the bytes as a mapped file and as streams, and makes sure that the results are the same.
fn both(bytes: &[u8]) -> Yield {
    let all = mapped(bytes).expect("a capture");
    for sizes in [[usize::MAX].as_slice(), &[1], &[1, 1000, 3]] {
        assert_eq!(streamed(bytes, sizes).expect("a capture"), all, "pieces of {sizes:?}");
    }
    all
}

/// A pipe whose writer writes a few bytes at a time.
struct Pieces {
    bytes: Vec<u8>,
    at: usize,
    sizes: Vec<usize>,
    reads: usize,
}

impl Read for Pieces {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes[self.reads % self.sizes.len()].max(1);
        self.reads += 1;
        let count = size.min(out.len()).min(self.bytes.len() - self.at);
        out[..count].copy_from_slice(&self.bytes[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

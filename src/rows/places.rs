//! The file of a packet, and its number in it.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::Arc;

use super::Cell;
use crate::session::{FileEvent, FilePlace, Files};

/// The files of a capture, and the packets in each.
#[derive(Clone, Debug, Default)]
pub struct PacketPlaces {
    names: Vec<Arc<str>>,
    files: Files,
}

impl PacketPlaces {
    /// The places in a capture of these files.
    pub fn new(names: &[String]) -> PacketPlaces {
        let names = names.iter().map(|name| name.as_str().into()).collect();
        PacketPlaces { names, files: Files::default() }
    }

    /// The same, with known files of packets.
    pub fn known(names: &[String], files: Files) -> PacketPlaces {
        PacketPlaces { files, ..PacketPlaces::new(names) }
    }

    /// The name of the capture: its file, or the first of several.
    pub fn capture(&self) -> Arc<str> {
        match &self.names[..] {
            [] => "".into(),
            [name] => name.clone(),
            [first, others @ ..] => format!("{first} and {} more", others.len()).into(),
        }
    }

    /// The names of its files.
    pub fn names(&self) -> Vec<String> {
        self.names.iter().map(|name| name.to_string()).collect()
    }

    /// From here on packets are from another file.
    pub fn note(&mut self, event: FileEvent) {
        self.files.note(event);
    }

    /// Where a packet is, by its number in the capture; none for 0, which is not a packet.
    pub fn of(&self, frame: u64) -> Option<FilePlace> {
        self.files.place(frame).filter(|_| frame > 0)
    }

    /// The same, if a session remembers the first changes and this the latest ones.
    pub fn of_either(&self, frame: u64, first: &Files) -> Option<FilePlace> {
        self.of(frame).or_else(|| first.place(frame).filter(|_| frame > 0))
    }

    /// The name of the file.
    pub fn file(&self, place: FilePlace) -> Option<Arc<str>> {
        self.names.get(place.file as usize).cloned()
    }
}

/// A packet's file and number, for rows.
#[derive(Clone, Debug, Default)]
pub struct PacketName {
    /// The file.
    pub file: Option<Arc<str>>,
    /// The packet's number in it.
    pub frame: Option<u64>,
}

impl PacketName {
    /// The file and number of a packet.
    pub fn of(place: Option<FilePlace>, places: &PacketPlaces) -> PacketName {
        PacketName {
            file: place.and_then(|place| places.file(place)),
            frame: place.map(|place| place.frame),
        }
    }
}

/// The packets of a message or finding, for rows.
#[derive(Clone, Debug, Default)]
pub struct CarryingPackets {
    /// Their numbers, in their files.
    pub frames: Vec<i64>,
    /// Their files, if they are not all the same.
    files: Option<Vec<Arc<str>>>,
}

impl CarryingPackets {
    /// The file of each, if they are not all the same.
    pub(super) fn files(&self) -> Option<Cell<'_>> {
        self.files.as_deref().map(|files| Cell::Texts(Cow::Borrowed(files)))
    }

    /// Names these packets.
    pub fn of(
        frames: &[u64],
        places: &PacketPlaces,
        mut place: impl FnMut(u64) -> Option<FilePlace>,
    ) -> CarryingPackets {
        let found: Vec<_> = frames.iter().filter_map(|&frame| place(frame)).collect();
        let frame = |place: &FilePlace| i64::try_from(place.frame).unwrap_or(i64::MAX);
        let are_many = found.windows(2).any(|pair| matches!(pair, [a, b] if a.file != b.file));
        CarryingPackets {
            frames: found.iter().map(frame).collect(),
            files: are_many.then(|| found.iter().filter_map(|place| places.file(*place)).collect()),
        }
    }
}

/// An end of a flow, for rows.
#[derive(Clone, Debug, Default)]
pub struct FlowEndName {
    at: Option<SocketAddr>,
    /// `10.0.0.2:27015`, `[::1]:27015`.
    pub text: String,
    /// `10.0.0.2`, `::1`.
    pub address: String,
    /// Its port.
    pub port: u16,
}

impl FlowEndName {
    /// Replaces it. It is usually the same as before.
    pub fn rewrite(&mut self, at: SocketAddr) {
        if self.at == Some(at) {
            return;
        }
        (self.at, self.port) = (Some(at), at.port());
        for text in [&mut self.text, &mut self.address] {
            text.clear();
        }
        // Writing to a text cannot fail.
        let _ = write!(self.text, "{at}");
        let _ = write!(self.address, "{}", at.ip());
    }
}

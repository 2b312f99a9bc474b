//! Where packets come from: libpcap, or on Linux a packet socket if there is no libpcap.

use std::sync::Arc;

use super::device::{Device, Opening, Raw, Refusal, Stats};
use super::libpcap::{Handle, Library};
#[cfg(target_os = "linux")]
use super::packet_socket::{self, PacketSocket};
use super::{CaptureRequest, HANDED_ON, LiveError};
use crate::capture::LinkType;
use crate::text::escaped;

/// An open device.
pub(super) enum Source {
    /// Through libpcap.
    Library(Handle),
    /// Through a packet socket.
    #[cfg(target_os = "linux")]
    Socket(PacketSocket),
}

impl Source {
    /// Opens the device of a request, with its filter.
    pub(super) fn open(request: &CaptureRequest) -> Result<Source, LiveError> {
        match Library::load() {
            Some(library) => Source::of_library(&library, request),
            None => Source::without_library(request),
        }
    }

    fn of_library(library: &Arc<Library>, request: &CaptureRequest) -> Result<Source, LiveError> {
        let opened = Handle::open(library, &request.interface, opening(request));
        let mut handle = opened.map_err(|refusal| refused(request, refusal))?;
        if let Some(expression) = &request.filter {
            let refused = |why| LiveError::Filter { expression: expression.clone(), why };
            let mut filter = handle.compile(expression).map_err(refused)?;
            handle.set_filter(&mut filter).map_err(refused)?;
        }
        Ok(Source::Library(handle))
    }

    #[cfg(target_os = "linux")]
    fn without_library(request: &CaptureRequest) -> Result<Source, LiveError> {
        if request.filter.is_some() {
            return Err(LiveError::without_library());
        }
        let opened = PacketSocket::open(&request.interface, opening(request));
        opened.map(Source::Socket).map_err(|refusal| refused(request, refusal))
    }

    #[cfg(not(target_os = "linux"))]
    fn without_library(_request: &CaptureRequest) -> Result<Source, LiveError> {
        Err(LiveError::without_library())
    }

    /// The link type of its packets.
    pub(super) fn link(&self) -> LinkType {
        match self {
            Source::Library(handle) => link_type(handle.link()),
            #[cfg(target_os = "linux")]
            Source::Socket(socket) => socket.link(),
        }
    }

    /// Digits of a second: 6 or 9.
    pub(super) fn digits(&self) -> u8 {
        match self {
            Source::Library(handle) => handle.digits(),
            #[cfg(target_os = "linux")]
            Source::Socket(_) => 9,
        }
    }

    /// The next packet, if there is one.
    pub(super) fn next(&mut self) -> Result<Option<Raw<'_>>, String> {
        match self {
            Source::Library(handle) => handle.next(),
            #[cfg(target_os = "linux")]
            Source::Socket(socket) => socket.next(),
        }
    }

    /// Waits until there is something to read, at most for this number of milliseconds.
    pub(super) fn wait(&mut self, milliseconds: u16) {
        match self {
            Source::Library(handle) => handle.wait(milliseconds),
            #[cfg(target_os = "linux")]
            Source::Socket(socket) => socket.wait(milliseconds),
        }
    }

    /// The counters so far.
    pub(super) fn stats(&mut self) -> Option<Stats> {
        match self {
            Source::Library(handle) => handle.stats(),
            #[cfg(target_os = "linux")]
            Source::Socket(socket) => socket.stats(),
        }
    }
}

fn opening(request: &CaptureRequest) -> Opening {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    Opening {
        snaplen: number(request.snaplen),
        promiscuous: request.promiscuous,
        buffer: request.buffer.map(number),
        timeout: HANDED_ON,
    }
}

fn refused(request: &CaptureRequest, refusal: Refusal) -> LiveError {
    let device = request.interface.clone();
    match refusal {
        Refusal::NoSuchDevice(why) => LiveError::NoSuchDevice { device, why },
        Refusal::NoRight(why) => LiveError::NoRight { device, why },
        Refusal::Other(why) => LiveError::Device { device, why },
    }
}

/// The link type in the numbering of capture files: the library has its own numbers for a few.
fn link_type(number: i32) -> LinkType {
    match number {
        12 | 14 => LinkType::RAW,
        number => LinkType(u16::try_from(number).unwrap_or(u16::MAX)),
    }
}

fn devices() -> Result<Vec<Device>, LiveError> {
    match Library::load() {
        Some(library) => library.devices().map_err(LiveError::List),
        #[cfg(target_os = "linux")]
        None => packet_socket::devices().map_err(LiveError::List),
        #[cfg(not(target_os = "linux"))]
        None => Err(LiveError::without_library()),
    }
}

/// The network devices, a line each.
///
/// # Errors
/// They cannot be listed.
pub fn interfaces() -> Result<String, LiveError> {
    let devices = devices()?;
    let mut lines = String::new();
    let width = devices.iter().map(|device| device.name.len()).max().unwrap_or(0);
    for device in devices {
        let state = match (device.up, device.running) {
            (true, true) => "up, running",
            (true, false) => "up",
            (false, _) => "down",
        };
        let loopback = if device.loopback { ", loopback" } else { "" };
        let name = escaped(&device.name).into_owned();
        lines += &format!("{name:width$}  {state}{loopback}");
        if let Some(description) = &device.description {
            lines += &format!("  {}", escaped(description));
        }
        lines.push('\n');
    }
    if lines.is_empty() {
        let why = "there is none, or you have no permission to capture; run gamewire as root";
        return Err(LiveError::List(why.to_owned()));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_has_its_own_numbers_of_link_types() {
        assert_eq!(link_type(12), LinkType::RAW);
        assert_eq!(link_type(276), LinkType::LINUX_SLL2);
        assert_eq!(link_type(-1), LinkType(u16::MAX));
    }
}

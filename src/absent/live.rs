//! There are no network devices, and there is no libpcap.

use crate::capture::Packet;

#[path = "../live/later.rs"]
mod later;

pub use later::LaterOutput;

/// Why it is not possible.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// There are no devices.
    #[error(
        "there are no interfaces here; record with gamewire, tcpdump or Wireshark, and open the file"
    )]
    NoDevices,
    /// There are no capture filters.
    #[error("-f needs libpcap, which is not here; choose messages with -Y, --host or --port")]
    NoFilters,
    /// Interrupted: here, nothing is.
    #[error("interrupted")]
    Interrupted,
}

/// The devices: none.
pub fn interfaces() -> Result<String, LiveError> {
    Err(LiveError::NoDevices)
}

/// A filter for packets of files: there is none.
pub enum FileFilter {}

impl FileFilter {
    /// Of this expression.
    pub fn new(_: &str) -> Result<FileFilter, LiveError> {
        Err(LiveError::NoFilters)
    }

    /// Whether it takes a packet.
    pub fn takes(&mut self, _: &Packet<'_>) -> Result<bool, LiveError> {
        match *self {}
    }
}

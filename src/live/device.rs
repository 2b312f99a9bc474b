//! A network device as each source of packets shows it.

/// Why a device cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// There is none of this name.
    NoSuchDevice(String),
    /// The user has no permission.
    NoRight(String),
    /// Any other error, as text from the library or the system.
    Other(String),
}

/// Options for opening a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Opening {
    /// Bytes recorded of each packet.
    pub(super) snaplen: i32,
    /// Also capture packets that are addressed to other hosts.
    pub(super) promiscuous: bool,
    /// Size of the kernel's buffer in bytes.
    pub(super) buffer: Option<i32>,
    /// Milliseconds after which the kernel delivers packets at the latest.
    pub(super) timeout: i32,
}

/// Counts since the device was opened. The system's numbers have 32 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stats {
    pub(super) received: u32,
    pub(super) dropped: u32,
    pub(super) dropped_by_interface: u32,
}

/// A packet, borrowed until the next call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Raw<'a> {
    /// Seconds since 1970, and microseconds or nanoseconds, depending on the source.
    pub(super) seconds: i64,
    pub(super) fraction: i64,
    pub(super) length: u32,
    pub(super) data: &'a [u8],
}

/// A network device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) up: bool,
    pub(super) running: bool,
    pub(super) loopback: bool,
}

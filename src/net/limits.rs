//! All limits of decoding and defragmentation.
//!
//! Anyone who can send to the recorded host controls parts of a capture; without these limits they
//! would determine how much memory and time reading it takes.

/// Headers below the transport that one packet may stack (VLAN tags, LLC, IP, ...); a packet that
/// stacks more is malformed. Real traffic stays below ten.
pub const LAYERS: u8 = 32;

/// Tunnels that one packet may pass through; also the capacity of [`Tunnels`](super::Tunnels).
pub const TUNNELS: usize = 8;

/// Entries of one MPLS label stack.
pub const LABELS: usize = 16;

/// Extension headers after one IP header. RFC 8200 gives each of the six kinds one place, and
/// destination options two.
pub const EXTENSION_HEADERS: usize = 16;

/// Extension headers of one GTP-U packet.
pub const GTP_EXTENSIONS: usize = 8;

/// How often one packet may lead to another reassembled datagram (fragments inside a tunnel whose
/// own packets were fragmented); the caller of [`decode_ip_payload`](super::decode_ip_payload)
/// counts.
pub const NESTED_DATAGRAMS: usize = 4;

/// Maximum end of a fragment: no IP datagram is longer.
pub const DATAGRAM: u32 = 65_535;

/// Maximum number of frames that an event about a datagram names.
pub const NAMED_FRAMES: usize = 64;

/// How long after a datagram became whole a fragment with the same identification counts as a copy,
/// in nanoseconds. Captures of mirrored ports, or of all interfaces of a host, hold each packet
/// twice.
pub const ECHO: i64 = 1_000_000_000;

/// Limits of IP defragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimits {
    /// Nanoseconds of capture time from a datagram's first fragment until it is dropped. RFC 791
    /// recommends 15 s initially, RFC 8200 requires 60 s, Linux waits 30 s.
    pub timeout: i64,
    /// Maximum bytes for the datagrams of one source address.
    pub source: usize,
    /// Maximum bytes in total, with bookkeeping. Up to 4 MiB more may be kept for reuse.
    pub total: usize,
}

impl FragmentLimits {
    /// Less than this has no room for a datagram of maximum size in the smallest fragments.
    pub const LEAST: usize = 1 << 20;
}

impl Default for FragmentLimits {
    fn default() -> Self {
        Self { timeout: 30_000_000_000, source: 4 << 20, total: 16 << 20 }
    }
}

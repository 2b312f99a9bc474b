//! All limits of decoding and defragmentation.
//!
//! Anyone who can send to the recorded host controls parts of a capture; without these limits they
//! would determine how much memory and time reading it takes.

/// Real traffic has fewer than ten.
/// Limit: headers of one packet below the transport, such as VLAN tags, LLC, IP | {} | NET008
pub const LAYERS: u8 = 32;

/// This is also the capacity of [`Tunnels`](super::Tunnels).
/// Limit: tunnels that one packet passes through | {} | NET008
pub const TUNNELS: usize = 8;

/// Limit: MPLS labels in one stack | {} | NET008
pub const LABELS: usize = 16;

/// RFC 8200 gives each of the six kinds one place, and destination options two.
/// Limit: extension headers after one IP header | {} | NET008
pub const EXTENSION_HEADERS: usize = 16;

/// Extension headers of one GTP-U packet.
pub const GTP_EXTENSIONS: usize = 8;

/// Callers of [`decode_ip_payload`](super::decode_ip_payload) count these.
/// Limit: fragmented datagrams inside each other, in tunnels | {} | not read further
pub const NESTED_DATAGRAMS: usize = 4;

/// Limit: an IP datagram, and thus the end of a fragment | {} bytes | NET008
pub const DATAGRAM: u32 = 65_535;

/// Maximum number of frames that an event about a datagram names.
pub const NAMED_FRAMES: usize = 64;

/// How long after a datagram became whole a fragment with the same identification counts as a copy,
/// in nanoseconds. Captures of mirrored ports, or of all interfaces of a host, hold each packet
/// twice.
pub const ECHO: i64 = 1_000_000_000;

/// RFC 791 recommends 15 s initially, RFC 8200 requires 60 s, Linux waits 30 s.
/// Limit: a datagram's fragments | {:time} from the first | NET005
const TIMEOUT: i64 = 30_000_000_000;

/// Limits of IP defragmentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimits {
    /// Nanoseconds of capture time from a datagram's first fragment until it is dropped.
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
        Self { timeout: TIMEOUT, source: 4 << 20, total: 16 << 20 }
    }
}

//! Every bound that decoding and defragmentation keep, in one place.
//!
//! A capture is written by anybody who could send to the recorded host; without these numbers its
//! author would choose how much memory and time reading it takes.

/// Headers below the transport that one packet may stack (VLAN tags, LLC, IP, ...); a packet that
/// stacks more is malformed. Real traffic stays below ten.
pub const LAYERS: u8 = 32;

/// Tunnels that one packet may pass through; also how many [`Tunnels`](super::Tunnels) names.
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

/// The last byte position that a fragment may reach: no IP datagram is longer.
pub const DATAGRAM: u32 = 65_535;

/// Frames that an event about a datagram names at most.
pub const NAMED_FRAMES: usize = 64;

/// How long after a datagram became whole a leftover fragment with the same identification is taken
/// for a copy of one of its fragments, in nanoseconds. Captures of mirrored ports, or of all
/// interfaces of a host, hold each packet twice.
pub const ECHO: i64 = 1_000_000_000;

/// What IP defragmentation may hold, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentLimits {
    /// Nanoseconds of capture time, from a datagram's first fragment, until it is given up.
    /// RFC 791 recommends 15 s to begin with, RFC 8200 asks for 60 s, Linux waits 30 s.
    pub timeout: i64,
    /// Bytes held for the datagrams of one source address.
    pub source: usize,
    /// Bytes held in all, bookkeeping included. Up to 4 MiB more may wait to be used again.
    pub total: usize,
}

impl FragmentLimits {
    /// Below this not even one datagram of full size, in the smallest fragments, fits.
    pub const LEAST: usize = 1 << 20;
}

impl Default for FragmentLimits {
    fn default() -> Self {
        Self { timeout: 30_000_000_000, source: 4 << 20, total: 16 << 20 }
    }
}

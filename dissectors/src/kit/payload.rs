//! The bytes of one message: where they were recorded, and who sent them.

use std::net::SocketAddr;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::kit::Time;

/// One end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Side {
    /// The sender of the flow's first packet.
    First,
    /// The other end.
    Second,
}

impl Side {
    /// Both ends.
    pub const BOTH: [Side; 2] = [Side::First, Side::Second];

    /// The other end.
    pub const fn other(self) -> Side {
        match self {
            Side::First => Side::Second,
            Side::Second => Side::First,
        }
    }

    /// 0 for [`Side::First`], 1 for [`Side::Second`].
    pub const fn index(self) -> usize {
        self as usize
    }
}

crate::named! {
    /// The transport protocol of a payload.
    #[derive(Serialize, Deserialize)]
    pub enum Transport {
        /// Datagrams.
        Udp = "udp",
        /// A stream.
        Tcp = "tcp",
    }
}

/// Where a range of a payload's bytes was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The first byte of the range in the payload.
    pub at: u32,
    /// Its length.
    pub length: u32,
    /// The packet, counted from 1.
    pub frame: u64,
    /// The first byte of the range in that packet's recorded bytes.
    pub offset: u32,
}

/// A datagram, a framed part of a stream, or several of them joined.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    /// The bytes.
    pub bytes: &'a [u8],
    /// Where they were recorded, by increasing `at`. For decompressed bytes: where the compressed
    /// ones were.
    pub pieces: &'a [Piece],
    /// The bytes were decompressed: `pieces` does not map them one to one.
    pub inflated: bool,
    /// Bytes of its packets that `pieces` do not list: headers of the parts that it was joined from, and
    /// what the snap length cut off.
    pub unlisted: u32,
    /// The packet that completed it.
    pub frame: u64,
    /// That packet's time.
    pub time: Time,
    /// Its sender.
    pub side: Side,
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// The flow's number in this run.
    pub flow: u32,
    /// What carried it.
    pub transport: Transport,
    /// The recording lost some of it: snap length, missing fragments, or a gap.
    pub lost: bool,
    /// A hash of all `bytes`, if computed. All datagrams between two hosts use the same seed.
    pub hash: Option<NonZeroU64>,
}

impl<'a> Payload<'a> {
    /// A datagram of these bytes, from the first of these ends to the second. The caller sets packet, time and flow.
    pub fn of(bytes: &'a [u8], [from, to]: [SocketAddr; 2]) -> Payload<'a> {
        Payload {
            bytes,
            pieces: &[],
            inflated: false,
            unlisted: 0,
            frame: 0,
            time: Time(0),
            side: Side::First,
            from,
            to,
            flow: 0,
            transport: Transport::Udp,
            lost: false,
            hash: None,
        }
    }
}

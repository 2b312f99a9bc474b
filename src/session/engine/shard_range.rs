//! Divides all pairs of hosts among sessions.
//!
//! Pairs are divided into shards by a hash. Threads that read the same packets have some shards
//! each; machines have a partition each, with all its shards. The results for a pair of hosts do
//! not depend on the division.

use std::net::IpAddr;

use crate::net::Ip;
use crate::session::Options;

/// Number of shards of a session.
const SHARDS: usize = 8;

// Groups of hosts that are counted separately must each belong to one thread.
const _: () = assert!(dissectors::ledger::GROUPS == SHARDS);

// The lowest bits of a packet's number select the shard whose turn it is.
const _: () = assert!(SHARDS.is_power_of_two());

/// If each shard would have fewer than this, there is only one shard.
const FEWEST_FLOWS: usize = 1 << 13;
const FEWEST_BYTES: usize = 1 << 20;

/// The number of shards of a session: low limits are not divided.
pub(super) fn count_shards(options: &Options) -> usize {
    let limits = &options.settings.limits;
    let bytes = limits.unfinished_bytes.min(options.streams.total).min(options.flow_bytes);
    let bytes = bytes.min(limits.inflated_rate);
    let flows = options.flows.min(limits.remembered);
    let few = flows / SHARDS < FEWEST_FLOWS || bytes / SHARDS < FEWEST_BYTES;
    if few { 1 } else { SHARDS }
}

/// The shard of the traffic between two hosts. The tables use other, secret hashes.
pub(super) fn shard_of(a: IpAddr, b: IpAddr, shards: usize) -> usize {
    let word = |address: IpAddr| match address {
        IpAddr::V4(address) => u64::from(u32::from(address)),
        IpAddr::V6(address) => {
            let bits = u128::from(address);
            (bits >> 64) as u64 ^ (bits as u64).rotate_left(32)
        }
    };
    let (a, b) = (word(a), word(b));
    let mixed = (a.min(b).wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .rotate_left(32)
        .wrapping_add(a.max(b))
        .wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((u128::from(mixed) * shards as u128) >> 64) as usize
}

/// The shards of a session.
#[derive(Clone, Copy)]
pub(super) struct ShardRange {
    /// The index of the first one in its partition.
    pub(super) first: usize,
    /// Their number.
    pub(super) shards: usize,
    /// The number of shards of the partition.
    pub(super) all: usize,
    /// The partition.
    partition: Partition,
    /// Its events are merged with those of others, which assigns the numbers of flows.
    pub(super) is_merged: bool,
}

/// A part of all pairs of hosts, for one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its index.
    pub nth: usize,
    /// The number of partitions.
    pub of: usize,
}

impl Partition {
    /// All of them.
    pub const WHOLE: Partition = Partition { nth: 0, of: 1 };

    /// The partition of two hosts' traffic.
    pub fn of(a: IpAddr, b: IpAddr, partitions: usize) -> usize {
        shard_of(a, b, partitions)
    }
}

impl ShardRange {
    /// The part of the `nth` thread, from 0, of this many, at most the number of shards.
    pub(super) fn of_thread(options: &Options, nth: usize, of: usize) -> ShardRange {
        let all = count_shards(options);
        let (first, end) = (all * nth / of, all * (nth + 1) / of);
        ShardRange {
            first,
            shards: end - first,
            all,
            partition: Partition::WHOLE,
            is_merged: of > 1,
        }
    }

    /// A whole partition.
    pub(super) fn of_partition(options: &Options, partition: Partition) -> ShardRange {
        let all = count_shards(options);
        ShardRange { first: 0, shards: all, all, partition, is_merged: true }
    }

    /// The index of two hosts' shard in this part; `None` if it belongs to another one.
    #[inline]
    pub(super) fn place_of(self, a: IpAddr, b: IpAddr) -> Option<usize> {
        let Partition { nth, of } = self.partition;
        let at = shard_of(a, b, self.all * of).checked_sub(self.all * nth + self.first)?;
        (at < self.shards).then_some(at)
    }

    /// Whether the shard of a packet's hosts is among them.
    pub(super) fn has(self, ip: &Ip) -> bool {
        self.place_of(ip.source, ip.destination).is_some()
    }

    /// Whether it reports changes of files: those of a partition are its own.
    pub(super) fn reports_files(self) -> bool {
        self.first == 0
    }

    /// Whether it knows the file of each packet.
    pub(super) fn knows_files(self) -> bool {
        self.is_first() && self.partition.of == 1
    }

    /// Whether it reports events without a flow.
    pub(super) fn is_first(self) -> bool {
        self.first == 0 && self.partition.nth == 0
    }

    /// The index of one of its shards among all shards.
    pub(super) fn number(self, at: usize) -> usize {
        self.all * self.partition.nth + self.first + at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_directions_share_a_shard_and_hosts_spread_over_all() {
        let address = |n: u32| IpAddr::from(n.to_be_bytes());
        let server = address(0x0A00_0001);
        let mut seen = [0; SHARDS];
        for client in 0..8000 {
            let client = address(0x0B00_0000 + client * 256);
            let shard = shard_of(client, server, SHARDS);
            assert_eq!(shard, shard_of(server, client, SHARDS));
            seen[shard] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        let (a, b) = ("2001:db8::1".parse().unwrap(), "2001:db8::2".parse().unwrap());
        assert_eq!(shard_of(a, b, SHARDS), shard_of(b, a, SHARDS));
        assert_eq!(shard_of(a, b, 1), 0);
    }
}

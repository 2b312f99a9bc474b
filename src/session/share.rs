//! Which of all pairs of hosts a session follows.
//!
//! All pairs are divided into shards by a hash. Threads that read the same packets have some shards each;
//! machines have a partition each, and within it all shards of it. So what comes of a pair of hosts does not
//! depend on who follows it, nor beside which others.

use std::net::IpAddr;

use super::{Options, shard};
use crate::net::Ip;

/// Which shards a session has.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// The number of the first of them, in its partition.
    pub(super) first: usize,
    /// How many there are.
    pub(super) shards: usize,
    /// How many all shares of the partition have.
    pub(super) all: usize,
    /// Which partition of all pairs of hosts it is, and how many there are.
    partition: Partition,
    /// What it reports is merged with what others do: flows get their numbers there.
    pub(super) is_merged: bool,
}

/// A part of all pairs of hosts: what one machine follows of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number, from 0.
    pub nth: usize,
    /// How many there are.
    pub of: usize,
}

impl Partition {
    /// All of them.
    pub const WHOLE: Partition = Partition { nth: 0, of: 1 };

    /// Which of so many partitions follows what two hosts say.
    pub fn of(a: IpAddr, b: IpAddr, partitions: usize) -> usize {
        shard::of(a, b, partitions)
    }
}

impl Share {
    /// The share of the `nth` thread, from 0, of so many; of no more than there are shards.
    pub(super) fn of_thread(options: &Options, nth: usize, of: usize) -> Share {
        let all = shard::count(options);
        let (first, end) = (all * nth / of, all * (nth + 1) / of);
        Share { first, shards: end - first, all, partition: Partition::WHOLE, is_merged: of > 1 }
    }

    /// All of a partition.
    pub(super) fn of_partition(options: &Options, partition: Partition) -> Share {
        let all = shard::count(options);
        Share { first: 0, shards: all, all, partition, is_merged: true }
    }

    /// The place of two hosts' shard in this share; `None` if it is of another's.
    #[inline]
    pub(super) fn place_of(self, a: IpAddr, b: IpAddr) -> Option<usize> {
        let Partition { nth, of } = self.partition;
        let at = shard::of(a, b, self.all * of).checked_sub(self.all * nth + self.first)?;
        (at < self.shards).then_some(at)
    }

    /// Whether the shard of a packet's hosts is among them.
    pub(super) fn has(self, ip: &Ip) -> bool {
        self.place_of(ip.source, ip.destination).is_some()
    }

    /// Whether it reports from where on packets are from another file: those of a partition are its own.
    pub(super) fn tells_files(self) -> bool {
        self.first == 0
    }

    /// Whether it knows of all packets which file they are from.
    pub(super) fn knows_files(self) -> bool {
        self.is_first() && self.partition.of == 1
    }

    /// Whether what concerns no flow is reported by it.
    pub(super) fn is_first(self) -> bool {
        self.first == 0 && self.partition.nth == 0
    }

    /// The number of one of its shards among all that there are.
    pub(super) fn number(self, at: usize) -> usize {
        self.all * self.partition.nth + self.first + at
    }
}

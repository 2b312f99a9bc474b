//! Counts changes of the names and maps of servers across partitions of a capture.
//!
//! Whether a name has changed depends on the previous message to any client, so the messages of all partitions
//! are sorted again. Names are stored as hashes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Map, Socket};
use serde::{Deserialize, Serialize};

use super::Summary;
use super::described::{first, kept};
use super::rows::{Bounded, Row};
use crate::session::{MessageEvent, Partition, Value};

/// The hashes of a name and a map, if a message has them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
struct Names([Option<u64>; 2]);

/// The names and maps of servers in messages of a partition, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NameChanges {
    /// The distinct pairs of server and names.
    what: Vec<(SocketAddr, Names)>,
    #[serde(skip)]
    known: Map<(SocketAddr, Names), u32>,
    /// Packets, each with the index of its pair. Messages with names are reported with their packets.
    when: Vec<(u64, u32)>,
}

impl NameChanges {
    /// Adds the names in a message about this server.
    pub(super) fn note(&mut self, server: SocketAddr, event: &MessageEvent<'_>) {
        let Some(paths) = event.message().describes else { return };
        let names = Names([paths.name, paths.map].map(|paths| first(event, paths).map(hash)));
        if names != Names::default() {
            self.push(event.frame(), server, names);
        }
    }

    fn push(&mut self, at: u64, server: SocketAddr, names: Names) {
        let nth = *self.known.entry((server, names)).or_insert_with(|| {
            self.what.push((server, names));
            self.what.len() as u32 - 1
        });
        self.when.push((at, nth));
    }

    /// The number of messages with names.
    pub fn len(&self) -> usize {
        self.when.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.when.is_empty()
    }

    /// The packet of the first one.
    pub fn from(&self) -> u64 {
        self.when.first().map_or(u64::MAX, |(at, _)| *at)
    }

    /// Divides them into this number of parts, by server.
    pub fn split(self, parts: usize) -> Vec<NameChanges> {
        let mut split = vec![NameChanges::default(); parts];
        for (at, server, names) in self.all() {
            if let Some(part) = split.get_mut(part_of(server.ip(), parts)) {
                part.push(at, server, names);
            }
        }
        split
    }

    fn all(&self) -> impl Iterator<Item = (u64, SocketAddr, Names)> {
        self.when.iter().filter_map(|&(at, nth)| {
            let &(server, names) = self.what.get(nth as usize)?;
            Some((at, server, names))
        })
    }
}

fn hash(text: Value<'_>) -> u64 {
    // This hasher has the same result in all processes.
    let mut hasher = DefaultHasher::new();
    kept(&text).hash(&mut hasher);
    hasher.finish()
}

/// The part for a host.
pub(super) fn part_of(host: IpAddr, parts: usize) -> usize {
    Partition::of(host, host, parts)
}

/// The names of a server, and how often they changed.
#[derive(Clone, Default)]
struct NameHistory {
    names: Names,
    changes: u64,
}

/// A message in the queue: packet, order within the packet, server and names.
type Waiting = Reverse<(u64, u64, SocketAddr, Names)>;

/// The names of servers in all partitions, in order.
pub struct Changes {
    servers: Bounded<Socket, NameHistory>,
    waiting: BinaryHeap<Waiting>,
    added: u64,
}

impl Changes {
    /// Counts changes of the servers of this summary.
    pub fn of(summary: &Summary) -> Changes {
        let servers = Bounded::new(summary.servers.most);
        Changes { servers, waiting: BinaryHeap::new(), added: 0 }
    }

    /// Adds names of one partition. Later calls have no earlier messages than the first one of this.
    pub fn add(&mut self, names: &NameChanges) {
        self.reach(Some(names.from()));
        for (at, server, names) in names.all() {
            self.waiting.push(Reverse((at, self.added, server, names)));
            self.added += 1;
        }
    }

    /// Ends the input, and writes the numbers of changes into the rows of servers.
    pub fn finish(mut self, summary: &mut Summary) {
        self.reach(None);
        self.servers.into_rows().for_each(|(server, known)| {
            if let Some(row) = summary.servers.get_mut(&server) {
                row.changes = known.changes;
            }
        });
    }

    /// Processes the messages before this packet; `None`: all.
    fn reach(&mut self, until: Option<u64>) {
        while let Some(next) = self.waiting.peek_mut()
            && until.is_none_or(|until| next.0.0 < until)
        {
            let Reverse((_, _, server, names)) = PeekMut::pop(next);
            self.servers.update(Socket(server), |known, _| known.add(names));
        }
    }
}

impl Row for NameHistory {
    fn is_seen(&self) -> bool {
        true
    }

    fn held(&self) -> usize {
        0
    }
}

impl NameHistory {
    fn add(&mut self, names: Names) {
        let mut is_other = false;
        for (known, new) in self.names.0.iter_mut().zip(names.0).filter(|(_, new)| new.is_some()) {
            is_other |= known.is_some() && *known != new;
            *known = new;
        }
        self.changes += u64::from(is_other);
    }
}

//! How often servers get another name or another map, where several partitions of a capture hear of it.
//!
//! Whether a name is another one depends on what was said just before, to whomever: so it is put in order again
//! what was said when. A name is a hash: what it is, is kept with its server, once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Map;
use serde::{Deserialize, Serialize};

use super::Summary;
use super::described::{first, kept};
use super::rows::Bounded;
use crate::session::{MessageEvent, Partition, Value};

/// A name and a map, as far as a message says them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
struct Names([Option<u64>; 2]);

/// What servers of a partition say they are called and play, in the order in which they do.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NameChanges {
    /// Each once.
    what: Vec<(SocketAddr, Names)>,
    #[serde(skip)]
    known: Map<(SocketAddr, Names), u32>,
    /// The packets that said it, and which it was. A message that says names is reported with its packet.
    when: Vec<(u64, u32)>,
}

impl NameChanges {
    /// Notes what a message says of this server.
    pub(super) fn note(&mut self, server: SocketAddr, event: &MessageEvent<'_>) {
        let Some(paths) = event.message().describes else { return };
        let names = Names([paths.name, paths.map].map(|paths| first(event, paths).map(hash)));
        if names != Names::default() {
            self.push(event.payload().frame, server, names);
        }
    }

    fn push(&mut self, at: u64, server: SocketAddr, names: Names) {
        let nth = *self.known.entry((server, names)).or_insert_with(|| {
            self.what.push((server, names));
            self.what.len() as u32 - 1
        });
        self.when.push((at, nth));
    }

    /// How many messages said something.
    pub fn len(&self) -> usize {
        self.when.len()
    }

    /// Whether none did.
    pub fn is_empty(&self) -> bool {
        self.when.is_empty()
    }

    /// The packet of the first of them.
    pub fn from(&self) -> u64 {
        self.when.first().map_or(u64::MAX, |(at, _)| *at)
    }

    /// The same in this many parts, by server.
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
    // The same in all processes.
    let mut hasher = DefaultHasher::new();
    kept(&text).hash(&mut hasher);
    hasher.finish()
}

/// In which of this many parts what is known of a host is.
pub(super) fn part_of(host: IpAddr, parts: usize) -> usize {
    Partition::of(host, host, parts)
}

/// Names of a server, and how often they were others than before.
#[derive(Clone, Default)]
struct NameHistory {
    names: Names,
    changes: u64,
}

/// Something that was said, and which of all that was said at that moment.
type Waiting = Reverse<(u64, u64, SocketAddr, Names)>;

/// What all partitions hear of servers, put in order.
pub struct Changes {
    servers: Bounded<SocketAddr, NameHistory>,
    waiting: BinaryHeap<Waiting>,
    added: u64,
}

impl Changes {
    /// Of the servers of this summary.
    pub fn of(summary: &Summary) -> Changes {
        let servers = Bounded::new(summary.servers.most);
        Changes { servers, waiting: BinaryHeap::new(), added: 0 }
    }

    /// What one of them heard: nothing that comes later is earlier than its first.
    pub fn add(&mut self, said: &NameChanges) {
        self.reach(Some(said.from()));
        for (at, server, names) in said.all() {
            self.waiting.push(Reverse((at, self.added, server, names)));
            self.added += 1;
        }
    }

    /// All was heard. Writes what there was of changes into the rows of the servers.
    pub fn finish(mut self, summary: &mut Summary) {
        self.reach(None);
        self.servers.rows.into_iter().for_each(|(server, known)| {
            if let Some(row) = summary.servers.rows.get_mut(&server) {
                row.changes = known.changes;
            }
        });
    }

    /// Deals with what came before this; with all.
    fn reach(&mut self, until: Option<u64>) {
        while let Some(next) = self.waiting.peek_mut()
            && until.is_none_or(|until| next.0.0 < until)
        {
            let Reverse((_, _, server, names)) = PeekMut::pop(next);
            self.servers.get(server).into_iter().for_each(|known| known.add(names));
        }
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

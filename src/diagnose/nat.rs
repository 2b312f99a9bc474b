//! Datagrams that were recorded twice, before and behind NAT.

use std::collections::BTreeSet;
use std::hash::BuildHasher;
use std::net::SocketAddr;

use dissectors::kit::{AddressRole, Item, Purpose, Role, TRANSLATED_WITHIN, Time, is_private};
use foldhash::fast::FixedState;

use super::Diagnosis;
use crate::session::MessageEvent;

/// Messages that are compared with the next ones: more do not come within that time.
const RECENT: usize = 16;

/// Maximum number of bytes of messages that are compared.
const COMPARED: usize = 256;

/// Maximum number of servers behind NAT.
const SERVERS: usize = 64;

/// What shows which servers are behind NAT.
#[derive(Default)]
pub(super) struct Translations {
    recent: [Option<RecentMessage>; RECENT],
    /// The place of the next one.
    next: usize,
    /// Servers behind NAT, with their addresses before it.
    servers: BTreeSet<(SocketAddr, SocketAddr)>,
}

/// A message between a server and a host with a public address.
#[derive(Clone, Copy)]
struct RecentMessage {
    server: SocketAddr,
    other: SocketAddr,
    is_of_server: bool,
    is_response: bool,
    time: Time,
    hop_limit: u8,
    /// A hash of its first bytes.
    begins: u64,
}

impl RecentMessage {
    /// Whether both are one datagram, before and behind NAT.
    fn is_translated_from(&self, before: &RecentMessage) -> bool {
        let key = |it: &RecentMessage| (it.other, it.is_of_server, it.begins);
        let is_private = |it: &RecentMessage| is_private(it.server.ip());
        // A response by itself shows it: nobody else answers that client with the same bytes. Of a request that a client
        // sends to two servers, both packets have passed as many routers.
        let is_routed = self.is_response || before.hop_limit.abs_diff(self.hop_limit) == 1;
        key(self) == key(before)
            && is_private(self) != is_private(before)
            && self.time.since(before.time).abs() <= TRANSLATED_WITHIN
            && is_routed
    }
}

impl Translations {
    fn see(&mut self, message: RecentMessage) {
        let mut recent = self.recent.iter().flatten();
        if let Some(copy) = recent.find(|before| message.is_translated_from(before))
            && self.servers.len() < SERVERS
        {
            let (inside, outside) = match is_private(copy.server.ip()) {
                true => (copy.server, message.server),
                false => (message.server, copy.server),
            };
            self.servers.insert((inside, outside));
        }
        self.recent[self.next] = Some(message);
        self.next = (self.next + 1) % RECENT;
    }
}

impl Diagnosis {
    /// A message to or from a server may have been recorded twice, before and behind NAT.
    pub(super) fn behind_nat(&mut self, event: &MessageEvent<'_>) {
        let [from, to] = event.ends();
        let is_of_server = event.message().speaker == Role::Server;
        let (server, other) = if is_of_server { (from, to) } else { (to, from) };
        if is_private(other.ip()) {
            return;
        }
        let bytes = event.payload().bytes;
        let begins = bytes.get(..COMPARED).unwrap_or(bytes);
        self.translations.see(RecentMessage {
            server,
            other,
            is_of_server,
            is_response: event.message().purpose == Purpose::Response,
            time: event.time(),
            hop_limit: event.context().hop_limit,
            begins: FixedState::with_seed(0).hash_one(begins),
        });
    }

    /// Joins the addresses of servers before and behind NAT.
    pub(super) fn one_side_of_nat(&mut self) {
        for (inside, outside) in std::mem::take(&mut self.translations.servers) {
            let (Some(inside), Some(outside)) = (self.resolve(inside), self.resolve(outside))
            else {
                continue;
            };
            if inside == outside {
                continue;
            }
            // What nobody asks from outside is known by its own address.
            let is_asked = |server: &SocketAddr| {
                self.servers.get(server).is_some_and(|server| server.first_asked.is_some())
            };
            let (kept, dropped) = match is_asked(&outside) {
                true => (outside, inside),
                false => (inside, outside),
            };
            let Some(copy) = self.servers.remove(&dropped) else { continue };
            let Some(server) = self.servers.get_mut(&kept) else { continue };
            server.is_at(dropped, AddressRole::BehindNat);
            if server.registers.is_none() && copy.registers.is_some() {
                server.registers = copy.registers;
                server.registrations = copy.registrations;
            }
            // Its responses left from other addresses than that which was asked.
            if server.fact(Item::FromAsked).good == 0 {
                for (from, _, frame) in copy.elsewhere {
                    server.responds_from(kept, from, frame);
                }
            }
        }
    }
}

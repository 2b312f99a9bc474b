//! What shows that two recordings are of one datagram, before and behind NAT.

use std::net::{IpAddr, Ipv4Addr};

use dissectors::kit::{
    Purpose, Role, TRANSLATED_ROUTERS, TRANSLATED_WITHIN, Time, Transport, is_private, keyed_hash,
};

use super::RECENT;
use crate::flows::{FlowKey, Identifier};
use crate::net::icmp::identification;
use crate::net::{Datagram, Ip};

/// A datagram in a single packet, as it was recorded at one place.
#[derive(Clone, Copy)]
pub(crate) struct Recording {
    pub(crate) key: FlowKey,
    pub(crate) time: Time,
    pub(crate) frame: u64,
    /// The packet of its original, if it is a copy; otherwise 0.
    pub(crate) original: u64,
    /// A hash of its bytes, by `keyed_hash`.
    pub(crate) hash: u64,
    /// Its IPv4 identification; 0, which many senders set, does not distinguish datagrams.
    pub(crate) identification: u16,
    pub(crate) hop_limit: u8,
    /// Its sender gave several datagrams with the same bytes the same number.
    pub(crate) is_repeated: bool,
}

/// What a datagram says about its ends.
#[derive(Clone, Copy)]
pub(super) struct Spoken {
    /// The server sends it, not the client or the master.
    pub(super) is_of_server: bool,
    /// It answers a request: where that came from, it is recorded last.
    pub(super) is_response: bool,
    is_message: bool,
}

impl Spoken {
    pub(super) fn of(bytes: &[u8], ports: [u16; 2], identifier: &Identifier) -> Spoken {
        let id = identifier.datagram(bytes, ports, None);
        let Some(outline) = id.and_then(|id| id.outline(bytes)) else {
            return Spoken { is_of_server: false, is_response: false, is_message: false };
        };
        let message = outline.message;
        // Of a client and a master, the master is the server.
        let is_of_server = message.speaker == Role::Server || message.purpose == Purpose::List;
        let is_response = message.purpose.ends_exchange();
        Spoken { is_of_server, is_response, is_message: true }
    }
}

/// What two recordings of the same bytes show.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sameness {
    /// They are of one datagram.
    Certain,
    /// They are, if others show it, too.
    Likely,
    /// They are, if both addresses are known to be of one server.
    Possible,
}

impl Recording {
    /// A datagram in this packet.
    pub(crate) fn of(datagram: &Datagram<'_>, frame: u64, time: Time) -> Recording {
        let &Datagram { ip: Ip { source, destination, hop_limit, .. }, .. } = datagram;
        let ports = [datagram.source_port, datagram.destination_port];
        let key = FlowKey { source, destination, ports, transport: Transport::Udp };
        let identification = identification(datagram.headers.ipv4).unwrap_or(0);
        let hash = keyed_hash(datagram.payload.bytes);
        let (original, is_repeated) = (0, false);
        Recording { key, time, frame, original, hash, identification, hop_limit, is_repeated }
    }

    /// Before the first datagram.
    pub(super) const NONE: Recording = Recording {
        key: FlowKey {
            source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            ports: [0; 2],
            transport: Transport::Udp,
        },
        time: Time(i64::MIN),
        frame: 0,
        original: 0,
        hash: 0,
        identification: 0,
        hop_limit: 0,
        is_repeated: false,
    };

    /// Where it is found: by its identification, or else by its sender and by its receiver. The same in every run.
    pub(super) fn places(&self, length: usize) -> [usize; 2] {
        if self.identification > 0 {
            return [usize::from(self.identification) % RECENT; 2];
        }
        let FlowKey { source, destination, ports, .. } = self.key;
        [(source, ports[0], 0), (destination, ports[1], 1)].map(|(host, port, end)| {
            let address = match host {
                IpAddr::V4(address) => u64::from(u32::from(address)),
                IpAddr::V6(address) => address.to_bits() as u64,
            };
            let word = address << 16 ^ u64::from(port) ^ (length as u64 * 2 + end) << 48;
            (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % RECENT
        })
    }

    pub(super) fn is_like(&self, earlier: &Recording) -> bool {
        self.identification == earlier.identification
            && self.hash == earlier.hash
            && self.time.since(earlier.time).abs() <= TRANSLATED_WITHIN
    }

    /// The addresses of the sender in the earlier recording and in this one, and those of the receiver.
    pub(super) fn addresses(&self, earlier: &Recording) -> [[IpAddr; 2]; 2] {
        let (key, before) = (&self.key, &earlier.key);
        [[before.source, key.source], [before.destination, key.destination]]
    }

    /// What this and an earlier recording with the same bytes show.
    pub(super) fn sameness(&self, earlier: &Recording, spoken: Spoken) -> Option<Sameness> {
        let is_same = [self.key.from() == earlier.key.from(), self.key.to() == earlier.key.to()];
        let [sender, receiver] = self.addresses(earlier);
        let [is_sender, is_receiver] = [sender, receiver].map(|[one, other]| one != other);
        let (is_server, is_client) =
            if spoken.is_of_server { (is_sender, is_receiver) } else { (is_receiver, is_sender) };
        let enters = is_same[0] && is_private(receiver[1]) && !is_private(receiver[0]);
        let leaves = is_same[1] && is_private(sender[0]) && !is_private(sender[1]);
        // Another port of a host is another flow.
        let is_other = match is_same {
            [true, false] => is_receiver,
            [false, true] => is_sender,
            _ => is_sender && is_receiver,
        };
        if !is_other || !spoken.is_message && !enters {
            return None;
        }
        let routers = earlier.hop_limit.checked_sub(self.hop_limit);
        let has_passed = routers.is_some_and(|routers| TRANSLATED_ROUTERS.contains(&routers));
        // Nobody else answers that client with the same bytes. Of a request that a client sends to two servers, both packets have
        // passed as many routers.
        let is_at_border = leaves && spoken.is_response && !is_private(self.key.destination)
            || enters && is_server && !is_private(self.key.source) && routers == Some(1);
        let is_identified = self.identification > 0;
        let may_be_others = earlier.is_repeated
            || !is_server && ![sender, receiver].into_iter().flatten().any(is_private);
        Some(match (is_server && is_client, has_passed) {
            (false, _) if is_at_border => Sameness::Certain,
            (false, true) if is_identified && !may_be_others => Sameness::Certain,
            // Different clients may send different servers the same.
            (true, true) if is_identified => Sameness::Likely,
            (false, true) if is_server || !may_be_others => Sameness::Likely,
            (false, false) if is_server && routers == Some(0) => Sameness::Possible,
            _ => return None,
        })
    }
}

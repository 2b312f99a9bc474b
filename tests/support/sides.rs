//! Captures of a router or a host of containers, which records each datagram before and behind NAT.

use captures::wire::{Capture, Datagram, Ip, Link, START, protocol};

pub(crate) const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";
pub(crate) const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFU\x07\0\0\0";
pub(crate) const NO_PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFD\0";
/// It says that a server has more players than it has room for.
pub(crate) const ANSWER: &[u8] =
    b"\xFF\xFF\xFF\xFFI\x11A\0b\0tf\0c\0\xB8\x01\x30\x18\0dl\0\x011\0\0";

/// Longer datagrams come in fragments.
const MTU: usize = 1480;

/// What two sides recorded, and what only that of the clients did.
pub(crate) struct Sides {
    pub(crate) both: Capture,
    pub(crate) clients: Capture,
    /// Whether identifications distinguish datagrams.
    identified: bool,
    sent: u32,
    /// The hop limit at the first place.
    pub(crate) hop_limit: u8,
}

/// The addresses of a datagram at one of the places that it passes.
pub(crate) type Ends<'e> = [&'e str; 2];

impl Sides {
    pub(crate) fn new(identified: bool) -> Sides {
        let [both, clients] = [(); 2].map(|()| Capture::new(Link::Sll2));
        Sides { both, clients, identified, sent: 0, hop_limit: 60 }
    }

    /// A datagram at these places, one after another, with a router between those with other ends. `at`: the one at which
    /// the clients see it.
    pub(crate) fn send(&mut self, ms: u64, places: &[Ends<'_>], at: usize, bytes: &[u8]) {
        self.sent += 1;
        let mut routers = 0;
        for (nth, [from, to]) in places.iter().enumerate() {
            routers += u8::from(nth > 0 && places[nth - 1] != [*from, *to]);
            let datagram = Datagram::new(from, to, bytes);
            let mut ip = Ip::new(datagram.source.ip(), datagram.destination.ip());
            ip.ttl = self.hop_limit - routers;
            (ip.id, ip.dont_fragment) =
                (if self.identified { self.sent } else { 0 }, bytes.len() <= MTU);
            let time = START.after(ms * 1_000_000 + nth as u64 * 40_000);
            let packets = match bytes.len() > MTU {
                true => ip.fragments(protocol::UDP, MTU, &datagram.bytes()),
                false => vec![ip.packet(protocol::UDP, &datagram.bytes())],
            };
            for (part, packet) in (0..).zip(packets) {
                let time = time.after(part * 5_000);
                self.both.push(time, &packet);
                if nth == at {
                    self.clients.push(time, &packet);
                }
            }
        }
    }

    /// A request and its response, through the two interfaces of a container's bridge and that of its host.
    pub(crate) fn exchange(
        &mut self,
        ms: u64,
        client: &str,
        [outside, inside]: [&str; 2],
        asked: [&[u8]; 2],
    ) {
        let request = [[client, outside], [client, inside], [client, inside]];
        let response = [[inside, client], [inside, client], [outside, client]];
        self.send(ms, &request, 0, asked[0]);
        self.send(ms + 1, &response, 2, asked[1]);
    }
}

/// What a host of containers records of this many clients, each with two exchanges, and of a client behind NAT.
pub(crate) fn of_containers(clients: u64) -> Sides {
    let mut sides = Sides::new(true);
    let server = ["203.0.113.7:27015", "172.17.0.2:27015"];
    for nth in 0..clients {
        let client = format!("198.51.{}.{}:{}", nth / 250, nth % 250 + 1, 50_000 + nth);
        sides.exchange(nth * 20, &client, server, [INFO, ANSWER]);
        sides.exchange(nth * 20 + 10, &client, server, [PLAYERS, NO_PLAYERS]);
        let [inside, outside] =
            ["192.168.178.23", "84.115.20.3"].map(|it| format!("{it}:{}", 40_000 + nth));
        let elsewhere = "5.9.8.77:27015";
        sides.send(nth * 20 + 5, &[[&inside, elsewhere], [&outside, elsewhere]], 0, INFO);
        sides.send(nth * 20 + 8, &[[elsewhere, &outside], [elsewhere, &inside]], 1, ANSWER);
    }
    (sides.both, sides.clients) = (sides.both.in_time(), sides.clients.in_time());
    sides
}

//! Whether responses to one address go to one client that asks faster than clients do, or to many behind one address, such as
//! players behind NAT: each of their sockets asks again and again, none of them fast. The ports that an attacker forges do not
//! come again, or come fast.

use std::cmp::Reverse;
use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::sources::tenths;
use crate::kit::{Name, Time};

/// Maximum number of addresses of which sockets are counted, per server and group of hosts.
const ADDRESSES: usize = 8;

/// Limit: sockets of one address that gets many responses, and such addresses of a server, by group of hosts | {},
/// {ADDRESSES} | those of others count as of one client
const SOCKETS: usize = 256;

/// After so long, in tenths of a second, a socket that did not come again gives way.
const GONE: u32 = 600;

/// How often a client may ask, within a window in tenths of a second.
#[derive(Clone, Copy)]
pub(super) struct ClientPace {
    pub(super) window: u32,
    pub(super) repeats: u32,
}

/// The address that got most responses of a kind within a window: how many, and the kind.
pub(super) type Repeated = (u32, IpAddr, Name);

/// The one with more responses is more; of equal ones, the first address.
pub(super) fn rank((times, source, _): &Repeated) -> (u32, Reverse<IpAddr>) {
    (*times, Reverse(*source))
}

/// The addresses that get many responses within a window.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Repeaters(Vec<Repeater>);

/// One of them, with one kind of request.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Repeater {
    most: Repeated,
    /// Sorted by port.
    sockets: Vec<AskingSocket>,
    /// The most responses within a window to sockets that gave way.
    gone: u32,
    /// Responses to sockets that there was no room for.
    left_out: u32,
}

/// A socket, with times in tenths of a second.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct AskingSocket {
    port: u16,
    first: u32,
    last: u32,
    /// The start of the window, and the responses in it, in the fullest one, and in all.
    window: u32,
    served: u16,
    most: u16,
    all: u16,
}

impl Repeaters {
    /// A response to a socket, the nth of the kind to its address within a window. `room`: for sockets of all servers.
    pub(super) fn is_answered(
        &mut self,
        socket: SocketAddr,
        times: u32,
        what: Name,
        now: Time,
        pace: ClientPace,
        room: &mut usize,
    ) {
        let is_same = |it: &Repeater| (it.most.1, it.most.2) == (socket.ip(), what);
        let at = match self.0.iter().position(is_same) {
            Some(at) => at,
            // Until then, it is like any other.
            None if times.saturating_mul(2) < pace.repeats || self.0.len() == ADDRESSES => return,
            None => {
                let most = (times, socket.ip(), what);
                self.0.push(Repeater { most, sockets: Vec::new(), gone: 0, left_out: 0 });
                self.0.len() - 1
            }
        };
        let Some(repeater) = self.0.get_mut(at) else { return };
        repeater.most.0 = repeater.most.0.max(times);
        repeater.serves(socket.port(), tenths(now), pace, room);
    }

    /// The address that gets most responses, unless these are for its clients, each of which asks no faster than clients
    /// do. `players`: how many play from there.
    pub(super) fn most_of_one(
        &self,
        most: Repeated,
        pace: ClientPace,
        players: impl Fn(IpAddr) -> u32,
    ) -> Option<Repeated> {
        let is_known = |it: &&Repeater| (it.most.1, it.most.2) == (most.1, most.2);
        let unknown = self.0.iter().find(is_known).is_none().then_some(most);
        let ones = self.0.iter().filter(|it| {
            let clients = players(it.most.1).max(1);
            it.most.0 >= pace.repeats && it.strangers(pace) >= pace.repeats.saturating_mul(clients)
        });
        ones.map(|it| it.most).chain(unknown).max_by_key(rank)
    }

    /// Adds those of another group of hosts.
    pub(super) fn add(&mut self, other: Repeaters) {
        self.0.extend(other.0);
    }
}

impl Repeater {
    fn serves(&mut self, port: u16, now: u32, pace: ClientPace, room: &mut usize) {
        let at = match self.sockets.binary_search_by_key(&port, |socket| socket.port) {
            Ok(at) => at,
            Err(_) if self.is_full(now, pace, room) => {
                self.left_out = self.left_out.saturating_add(1);
                return;
            }
            Err(_) => {
                let at = self.sockets.partition_point(|socket| socket.port < port);
                let (first, last, window) = (now, now, now);
                let socket = AskingSocket { port, first, last, window, served: 0, most: 0, all: 0 };
                self.sockets.insert(at, socket);
                *room -= 1;
                at
            }
        };
        let Some(socket) = self.sockets.get_mut(at) else { return };
        if now.saturating_sub(socket.window) >= pace.window {
            (socket.window, socket.served) = (now, 0);
        }
        socket.last = now;
        socket.served = socket.served.saturating_add(1);
        socket.most = socket.most.max(socket.served);
        socket.all = socket.all.saturating_add(1);
    }

    /// Whether there is no room for another socket, not even in place of those that did not come again.
    fn is_full(&mut self, now: u32, pace: ClientPace, room: &mut usize) -> bool {
        if self.sockets.len() < SOCKETS && *room > 0 {
            return false;
        }
        let is_gone = |socket: &AskingSocket| now.saturating_sub(socket.last) >= GONE;
        let gone = self.sockets.iter().filter(|socket| is_gone(socket));
        self.gone = self.gone.max(strangers(gone, pace));
        let before = self.sockets.len();
        self.sockets.retain(|socket| !is_gone(socket));
        *room += before - self.sockets.len();
        self.sockets.len() >= SOCKETS || *room == 0
    }

    /// The most responses within a window to sockets that are not known to be clients.
    fn strangers(&self, pace: ClientPace) -> u32 {
        strangers(self.sockets.iter(), pace).max(self.gone).saturating_add(self.left_out)
    }
}

impl AskingSocket {
    /// Whether it comes again, and not too fast.
    fn is_client(&self, pace: ClientPace) -> bool {
        self.last.saturating_sub(self.first) >= pace.window && u32::from(self.most) < pace.repeats
    }
}

/// The most responses to those of the sockets that are not known to be clients and came first within one window.
fn strangers<'s>(sockets: impl Iterator<Item = &'s AskingSocket>, pace: ClientPace) -> u32 {
    let mut all: Vec<_> = sockets
        .filter(|socket| !socket.is_client(pace))
        .map(|socket| (socket.first, u32::from(socket.all)))
        .collect();
    all.sort_unstable();
    let (mut start, mut within, mut most) = (0, 0_u32, 0);
    for (first, responses) in &all {
        within = within.saturating_add(*responses);
        while let Some((before, theirs)) = all.get(start)
            && first.saturating_sub(*before) >= pace.window
        {
            within = within.saturating_sub(*theirs);
            start += 1;
        }
        most = most.max(within);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACE: ClientPace = ClientPace { window: 100, repeats: 20 };

    /// Whether responses to one address, so many milliseconds apart, are to one client; `port`: of the nth.
    fn is_one(responses: u32, apart: u32, port: fn(u32) -> u32, players: u32) -> bool {
        let host = IpAddr::from([192, 0, 2, 9]);
        let mut repeaters = Repeaters::default();
        let (mut window, mut times, mut most, mut room) = (0, 0, 0, 999);
        for nth in 0..responses {
            let now = nth * apart / 100;
            if now - window >= PACE.window {
                (window, times) = (now, 0);
            }
            times += 1;
            most = most.max(times);
            let socket = SocketAddr::new(host, port(nth) as u16);
            let at = Time(i64::from(nth * apart) * 1_000_000);
            repeaters.is_answered(socket, times, Name("info"), at, PACE, &mut room);
        }
        assert!(most >= PACE.repeats, "it is said at all");
        let most = (most, host, Name("info"));
        repeaters.most_of_one(most, PACE, |_| players).is_some()
    }

    #[test]
    fn who_asks_again_and_again_behind_an_address_is_a_client() {
        // Forty sockets, each of which asks every 16 seconds.
        assert!(!is_one(240, 400, |nth| 40_000 + nth % 40, 0));
        // One of them asks nearly always.
        assert!(is_one(2_400, 40, |nth| 40_000 + if nth % 10 == 0 { nth % 40 } else { 1 }, 0));
        // One port, some ports that ask fast, another port each time, so few and so many that they do not fit.
        assert!(is_one(100, 400, |_| 80, 0));
        assert!(is_one(4_000, 4, |nth| 40_000 + nth % 40, 0));
        assert!(is_one(120, 400, |nth| 1_024 + nth * 97 % 60_000, 0));
        assert!(is_one(9_000, 400, |nth| 1_024 + nth * 97 % 60_000, 0));
        // Each of those who play may ask, too.
        assert!(!is_one(60, 400, |nth| 40_000 + nth, 10));
        assert!(is_one(4_000, 4, |nth| 1_024 + nth * 97 % 60_000, 10));
    }
}

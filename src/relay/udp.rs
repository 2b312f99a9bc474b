//! Forwards datagrams.
//!
//! One thread reads what clients send. Each client socket has a socket of its own toward the server, so that
//! the server can tell clients apart, and a thread that reads what comes back.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::tape::SharedTape;
use super::{Counts, LOOK};
use crate::spoken::is_pause;

/// Bytes of the longest datagram.
const LONGEST: usize = u16::MAX as usize;

/// Limit: client sockets of a UDP relay (`record`) | {} | the one that has been silent longest is given up; if it asked
/// less than {WAITING:time} ago, that counts as a lost datagram, also in the capture
pub const MOST_CLIENTS: usize = 256;

/// After this time without a request, no response is expected by a client.
const WAITING: Duration = Duration::from_secs(10);

/// A relay of datagrams.
pub(super) struct UdpRelay {
    pub(super) socket: UdpSocket,
    pub(super) target: SocketAddr,
    pub(super) tape: Arc<SharedTape>,
    pub(super) counts: Arc<Counts>,
}

/// A client socket, and the socket that speaks to the server for it.
struct ClientSocket {
    address: SocketAddr,
    outgoing: UdpSocket,
    /// It was given up.
    is_gone: AtomicBool,
}

/// The client sockets, each with the time of its latest request.
type Clients = HashMap<SocketAddr, (Arc<ClientSocket>, Instant)>;

impl UdpRelay {
    /// Forwards until the recording is over.
    pub(super) fn run(self: Arc<Self>) {
        let mut clients = Clients::new();
        let mut buffer = vec![0; LONGEST];
        while !self.tape.is_closed() {
            match self.socket.recv_from(&mut buffer) {
                Ok((length, client)) => {
                    let payload = buffer.get(..length).unwrap_or_default();
                    self.request(client, payload, &mut clients);
                }
                Err(error) if is_pause(&error) => self.counts.nothing_waits(),
                // That of an earlier answer to a client that is gone, on some systems.
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        clients.values().for_each(|(client, _)| client.is_gone.store(true, Ordering::Relaxed));
    }

    /// Writes and forwards what a client sent.
    fn request(self: &Arc<Self>, address: SocketAddr, payload: &[u8], clients: &mut Clients) {
        if !self.tape.datagram([address, self.target], payload) {
            return;
        }
        let sent = self
            .client(address, clients)
            .and_then(|client| client.outgoing.send_to(payload, self.target));
        if sent.is_err() {
            self.tape.lost();
        }
    }

    /// The socket for a client.
    fn client(
        self: &Arc<Self>,
        address: SocketAddr,
        clients: &mut Clients,
    ) -> io::Result<Arc<ClientSocket>> {
        let now = Instant::now();
        if let Some((client, latest)) = clients.get_mut(&address) {
            *latest = now;
            return Ok(Arc::clone(client));
        }
        if clients.len() >= MOST_CLIENTS {
            self.give_up_oldest(clients);
        }
        let outgoing = UdpSocket::bind((outgoing_address(self.target.ip()), 0))?;
        outgoing.set_read_timeout(Some(LOOK))?;
        let client = Arc::new(ClientSocket { address, outgoing, is_gone: AtomicBool::new(false) });
        let (relay, of) = (Arc::clone(self), Arc::clone(&client));
        std::thread::Builder::new().spawn(move || relay.respond(&of))?;
        clients.insert(address, (Arc::clone(&client), now));
        Ok(client)
    }

    /// Makes room for another client.
    fn give_up_oldest(&self, clients: &mut Clients) {
        let oldest = clients.iter().min_by_key(|(_, (_, latest))| *latest);
        let Some(address) = oldest.map(|(address, _)| *address) else { return };
        if let Some((client, latest)) = clients.remove(&address) {
            client.is_gone.store(true, Ordering::Relaxed);
            if latest.elapsed() < WAITING {
                self.tape.lost();
            }
        }
    }

    /// Writes and forwards what the server sends to a client. A server may answer from another port: the
    /// recording shows it, because the socket toward the server is not connected.
    fn respond(&self, client: &ClientSocket) {
        let mut buffer = vec![0; LONGEST];
        while !client.is_gone.load(Ordering::Relaxed) && !self.tape.is_closed() {
            let (length, from) = match client.outgoing.recv_from(&mut buffer) {
                Ok(received) => received,
                Err(error) if is_pause(&error) => continue,
                Err(_) => {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
            };
            let payload = buffer.get(..length).unwrap_or_default();
            if from.ip() != self.target.ip() {
                self.counts.stranger();
            } else if self.tape.datagram([from, client.address], payload)
                && self.socket.send_to(payload, client.address).is_err()
            {
                self.tape.lost();
            }
        }
    }
}

/// The local address of a socket toward the server: a loopback address if the server is on this host, so
/// that nobody else can send to it.
fn outgoing_address(target: IpAddr) -> IpAddr {
    match (target, target.is_loopback()) {
        (IpAddr::V4(_), true) => Ipv4Addr::LOCALHOST.into(),
        (IpAddr::V6(_), true) => Ipv6Addr::LOCALHOST.into(),
        (IpAddr::V4(_), false) => Ipv4Addr::UNSPECIFIED.into(),
        (IpAddr::V6(_), false) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

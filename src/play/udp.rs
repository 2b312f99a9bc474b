//! A scenario at a UDP port.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::faults::Dice;
use super::heard::Ear;
use super::part::{Line, Means};
use super::played_server::{ClientState, PlayedServer};
use super::player::{Did, Reaction};
use super::run::Run;
use super::schedule::{Due, Schedule};

/// Maximum number of clients whose state is kept; the one that has been silent for longest is forgotten.
const CLIENTS: usize = 256;

/// A client that has been silent for this long is forgotten: servers register again every five minutes.
const SILENT: Duration = Duration::from_secs(600);

/// Maximum number of datagrams that are read before answers are sent.
const AT_ONCE: usize = 64;

/// How many times larger than its request an answer may be to who may have forged its address.
const AMPLIFIED: usize = 3;

/// A scenario and its clients.
pub(super) struct UdpStage {
    played: PlayedServer,
    ear: Ear,
    socket: UdpSocket,
    /// The other port.
    other: UdpSocket,
    address: SocketAddr,
    clients: HashMap<SocketAddr, Client>,
    schedule: Schedule<SocketAddr>,
}

struct Client {
    players: ClientState,
    dice: Dice,
    /// The address of this host that it speaks to.
    local: IpAddr,
    heard: Instant,
}

impl UdpStage {
    pub(super) fn bind(played: PlayedServer, listen: SocketAddr) -> io::Result<UdpStage> {
        let socket = UdpSocket::bind(listen)?;
        let other = UdpSocket::bind(SocketAddr::new(listen.ip(), 0))?;
        socket.set_nonblocking(true)?;
        other.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        let own = played.own();
        let ear = Ear::new(own.protocol, own.transport, address.port());
        let (clients, schedule) = (HashMap::new(), Schedule::default());
        Ok(UdpStage { played, ear, socket, other, address, clients, schedule })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.schedule.next()
    }

    /// Reads what has come.
    pub(super) fn receive(&mut self, run: &mut Run) {
        let mut buffer = vec![0; usize::from(u16::MAX)];
        for _ in 0..AT_ONCE {
            // An error is that of an earlier answer, whose port is closed.
            match self.socket.recv_from(&mut buffer) {
                Ok((length, from)) => {
                    self.hear(from, buffer.get(..length).unwrap_or_default(), run)
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {}
            }
        }
    }

    fn hear(&mut self, from: SocketAddr, payload: &[u8], run: &mut Run) {
        let now = Instant::now();
        let Some(local) = self.client(from, now, run) else { return };
        let to = SocketAddr::new(local, self.address.port());
        let Some(packet) = run.maker.datagram(from, to, payload) else { return };
        let time = run.tape.keep(&packet);
        let heard = self.ear.hear(time, &packet);
        let mut dids: Vec<_> = heard.into_iter().map(Did::Sent).collect();
        if dids.is_empty() {
            dids.push(Did::Unread);
        }
        run.report.requests += 1;
        for did in dids {
            let Some(client) = self.clients.get_mut(&from) else { return };
            let reaction = client.players.react(&self.played, did, run.secret.as_ref());
            let is_proven = client.players.is_proven();
            run.report.unknown += u64::from(!reaction.is_known);
            let most = if run.secret.is_none() || is_proven {
                None
            } else {
                Some(AMPLIFIED * payload.len())
            };
            self.plan(from, now, reaction, most, run);
        }
    }

    /// The address of this host that a client speaks to; a new client gets a place.
    fn client(&mut self, from: SocketAddr, now: Instant, run: &mut Run) -> Option<IpAddr> {
        if let Some(client) = self.clients.get_mut(&from) {
            client.heard = now;
            return Some(client.local);
        }
        self.clients.retain(|_, client| now.duration_since(client.heard) < SILENT);
        if self.clients.len() >= CLIENTS
            && let Some(silent) = self.clients.iter().min_by_key(|(_, it)| it.heard).map(|it| *it.0)
        {
            self.clients.remove(&silent);
        }
        let local = self.local(from).ok()?;
        let (dice, players) = (run.dice(), self.played.players(from));
        self.clients.insert(from, Client { players, dice, local, heard: now });
        Some(local)
    }

    /// The address of this host from which packets go to another one.
    fn local(&self, to: SocketAddr) -> io::Result<IpAddr> {
        if !self.address.ip().is_unspecified() {
            return Ok(self.address.ip());
        }
        let socket = UdpSocket::bind(SocketAddr::new(self.address.ip(), 0))?;
        socket.connect(to)?;
        Ok(socket.local_addr()?.ip())
    }

    /// Schedules the answers to a request. `most`: the bytes that they may have.
    fn plan(
        &mut self,
        to: SocketAddr,
        now: Instant,
        reaction: Reaction,
        most: Option<usize>,
        run: &mut Run,
    ) {
        let Some(client) = self.clients.get_mut(&to) else { return };
        let (mut last, mut left) = (now, most);
        for line in reaction.lines {
            let at = now + line.after;
            last = last.max(at);
            if line.means == Means::Pause || run.faults.silence {
                continue;
            }
            let fate = run.faults.fate(&mut client.dice);
            let size = run.faults.cut(&line.payload).len() * fate.copies;
            if let Some(left) = &mut left {
                match left.checked_sub(size) {
                    Some(rest) => *left = rest,
                    None => {
                        run.report.withheld += 1;
                        continue;
                    }
                }
            }
            let at = at + fate.later;
            last = last.max(at);
            if fate.copies > 0 {
                self.schedule.add(at, to, Due::Line(line, fate.copies));
            }
        }
        if reaction.ends {
            self.schedule.add(last, to, Due::End);
        }
    }

    /// Sends what is due.
    pub(super) fn speak(&mut self, now: Instant, run: &mut Run) {
        while let Some((to, due)) = self.schedule.take(now) {
            match due {
                Due::End => run.report.played += 1,
                Due::Line(line, copies) => self.say(to, &line, copies, run),
            }
        }
    }

    fn say(&self, to: SocketAddr, line: &Line, copies: usize, run: &mut Run) {
        let Some(client) = self.clients.get(&to) else { return };
        let is_elsewhere = line.means == Means::Elsewhere || run.faults.other_port;
        let socket = if is_elsewhere { &self.other } else { &self.socket };
        let payload = run.faults.cut(&line.payload);
        let Ok(from) = socket.local_addr() else { return };
        let from = SocketAddr::new(client.local, from.port());
        run.say_datagram([from, to], payload, copies, || socket.send_to(payload, to).is_ok());
    }
}

//! A scenario at a TCP port.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use super::faults::Dice;
use super::heard::Ear;
use super::part::{Item, Line, Means, Part};
use super::player::{Did, Player, Reaction};
use super::run::Run;
use super::schedule::{Due, Schedule};
use crate::spoken::{Connection, End};

/// Maximum number of open connections; more are closed at once.
const CONNECTIONS: usize = 64;

/// Maximum number of clients between two connections whose place in the script is kept.
const PARKED: usize = 256;

/// A connection that has been silent for this long is closed.
const SILENT: Duration = Duration::from_secs(120);

/// Maximum number of bytes that wait until a client reads them.
const UNSENT: usize = 1 << 20;

/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 14;

/// A scenario and its connections.
pub(super) struct TcpStage {
    part: Part,
    ear: Ear,
    listener: TcpListener,
    /// Sends and receives datagrams beside connections.
    beside: UdpSocket,
    address: SocketAddr,
    connections: BTreeMap<u64, Open>,
    parked: HashMap<IpAddr, Player>,
    schedule: Schedule<u64>,
    opened: u64,
}

struct Open {
    stream: TcpStream,
    numbers: Connection,
    player: Player,
    dice: Dice,
    heard: Instant,
    unsent: Vec<u8>,
    /// The script closes it once all is sent.
    closing: bool,
    closed_by: [bool; 2],
}

/// What reading from a connection had.
enum Heard {
    Bytes(Vec<u8>),
    Nothing,
    Closed,
    Broken,
}

impl TcpStage {
    pub(super) fn bind(part: Part, listen: SocketAddr) -> io::Result<TcpStage> {
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let beside = UdpSocket::bind(SocketAddr::new(listen.ip(), 0))?;
        beside.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let ear = Ear::new(part.protocol, part.transport, address.port());
        Ok(TcpStage {
            part,
            ear,
            listener,
            beside,
            address,
            connections: BTreeMap::new(),
            parked: HashMap::new(),
            schedule: Schedule::default(),
            opened: 0,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the script has datagrams beside the connection.
    pub(super) fn has_datagrams(&self) -> bool {
        let is_datagram = |it: &Item| matches!(it, Item::Say(Line { means: Means::Beside(_), .. }));
        self.part.items.iter().any(is_datagram)
    }

    pub(super) fn fds(&self) -> Vec<BorrowedFd<'_>> {
        // One that the client has closed is always ready.
        let open = self.connections.values().filter(|it| !it.closed_by[End::Opener as usize]);
        let streams = open.map(|open| open.stream.as_fd());
        [self.listener.as_fd(), self.beside.as_fd()].into_iter().chain(streams).collect()
    }

    pub(super) fn next(&self) -> Option<Instant> {
        self.schedule.next()
    }

    /// Reads what has come, and takes new connections.
    pub(super) fn receive(&mut self, run: &mut Run) {
        // Connections that end leave their place in the script to the next one of the client.
        let numbers: Vec<u64> = self.connections.keys().copied().collect();
        for number in numbers {
            self.read(number, run);
        }
        while let Ok((stream, from)) = self.listener.accept() {
            if self.connections.len() < CONNECTIONS {
                self.open(stream, from, run);
            }
        }
        self.receive_beside(run);
        let now = Instant::now();
        let silent = |open: &Open| now.duration_since(open.heard) >= SILENT;
        let silent: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, it)| silent(it))
            .map(|(number, _)| *number)
            .collect();
        for number in silent {
            self.close(number, run);
        }
    }

    fn open(&mut self, stream: TcpStream, from: SocketAddr, run: &mut Run) {
        let Ok(local) = stream.local_addr() else { return };
        if stream.set_nonblocking(true).is_err() || stream.set_nodelay(true).is_err() {
            return;
        }
        let mut numbers = Connection::new(&mut run.maker, from, local);
        for packet in numbers.handshake(&mut run.maker) {
            let time = run.tape.keep(&packet);
            self.ear.hear(time, &packet);
        }
        self.opened += 1;
        let player = self.parked.remove(&from.ip()).unwrap_or_else(|| Player::new(from));
        let open = Open {
            stream,
            numbers,
            player,
            dice: run.dice(),
            heard: Instant::now(),
            unsent: Vec::new(),
            closing: false,
            closed_by: [false; 2],
        };
        self.connections.insert(self.opened, open);
        self.react(self.opened, Did::Opened, run);
    }

    fn read(&mut self, number: u64, run: &mut Run) {
        let Some(open) = self.connections.get_mut(&number) else { return };
        match open.read() {
            Heard::Nothing => {}
            Heard::Bytes(bytes) => self.hear(number, &bytes, run),
            Heard::Closed => {
                open.closed_by[End::Opener as usize] = true;
                for packet in open.numbers.finish(&mut run.maker, End::Opener) {
                    let time = run.tape.keep(&packet);
                    self.ear.hear(time, &packet);
                }
                if !self.schedule.has(&number) {
                    self.close(number, run);
                }
            }
            Heard::Broken => {
                if let Some(packet) = open.numbers.reset(&mut run.maker, End::Opener) {
                    run.tape.keep(&packet);
                }
                self.park(number);
            }
        }
    }

    fn hear(&mut self, number: u64, bytes: &[u8], run: &mut Run) {
        let Some(open) = self.connections.get_mut(&number) else { return };
        let [from, _] = open.numbers.ends();
        let mut dids = Vec::new();
        for packet in open.numbers.send(&mut run.maker, End::Opener, bytes) {
            let time = run.tape.keep(&packet);
            let heard = self.ear.hear(time, &packet).into_iter();
            dids.extend(heard.filter(|it| it.from_port == from.port()).map(Did::Sent));
        }
        if dids.is_empty() {
            dids.push(Did::Unread);
        }
        for did in dids {
            let is_message = matches!(did, Did::Sent(_));
            let is_known = self.react(number, did, run);
            run.report.requests += u64::from(is_message || is_known);
            run.report.unknown += u64::from(is_message && !is_known);
        }
    }

    fn receive_beside(&mut self, run: &mut Run) {
        let mut buffer = [0; 2048];
        let Ok((length, from)) = self.beside.recv_from(&mut buffer) else { return };
        let found = self.connections.iter().find(|(_, open)| open.peer().ip() == from.ip());
        let Some((&number, open)) = found else { return };
        let local = open.numbers.ends()[1].ip();
        let port = self.beside.local_addr().map_or(0, |address| address.port());
        let payload = buffer.get(..length).unwrap_or_default();
        let to = SocketAddr::new(local, port);
        if let Some(packet) = run.maker.datagram(from, to, payload) {
            run.tape.keep(&packet);
        }
        self.react(number, Did::Datagram, run);
    }

    /// Schedules what is said in return. Returns whether what was said is in the script.
    fn react(&mut self, number: u64, did: Did, run: &mut Run) -> bool {
        let Some(open) = self.connections.get_mut(&number) else { return false };
        let now = Instant::now();
        // A connection proves the client's address.
        let Reaction { lines, ends, is_known, .. } = open.player.react(&self.part, did, None);
        let mut last = now;
        for line in lines {
            let at = now + line.after;
            last = last.max(at);
            if line.means == Means::Pause || run.faults.silence {
                continue;
            }
            // Bytes of a connection are neither lost nor repeated, and arrive in order.
            let fate = run.faults.fate(&mut open.dice);
            let is_datagram = matches!(line.means, Means::Beside(_));
            let (copies, later) =
                if is_datagram { (fate.copies, fate.later) } else { (1, run.faults.delay) };
            last = last.max(at + later);
            if copies > 0 {
                self.schedule.add(at + later, number, Due::Line(line, copies));
            }
        }
        if ends {
            self.schedule.add(last, number, Due::End);
        }
        is_known
    }

    /// Sends what is due.
    pub(super) fn speak(&mut self, now: Instant, run: &mut Run) {
        while let Some((number, due)) = self.schedule.take(now) {
            match due {
                Due::End => run.report.played += 1,
                Due::Line(line, copies) => self.say(number, &line, copies, run),
            }
            let is_over =
                |open: &Open| open.closed_by[End::Opener as usize] && open.unsent.is_empty();
            if self.connections.get(&number).is_some_and(is_over) && !self.schedule.has(&number) {
                self.close(number, run);
            }
        }
        let waiting: Vec<u64> = self.connections.keys().copied().collect();
        for number in waiting {
            self.flush(number, run);
        }
    }

    fn say(&mut self, number: u64, line: &Line, copies: usize, run: &mut Run) {
        let Some(open) = self.connections.get_mut(&number) else { return };
        let payload = run.faults.cut(&line.payload);
        if let Means::Beside(port) = line.means {
            let Ok(from) = self.beside.local_addr() else { return };
            let [client, local] = open.numbers.ends();
            let from = SocketAddr::new(local.ip(), from.port());
            let to = SocketAddr::new(client.ip(), port);
            let beside = &self.beside;
            run.say_datagram([from, to], payload, copies, || beside.send_to(payload, to).is_ok());
            return;
        }
        run.report.answers += 1;
        if open.unsent.len() + payload.len() > UNSENT || open.closing {
            return;
        }
        open.unsent.extend_from_slice(payload);
        open.closing = line.closes || payload.len() < line.payload.len();
        for packet in open.numbers.send(&mut run.maker, End::Listener, payload) {
            let time = run.tape.keep(&packet);
            self.ear.hear(time, &packet);
        }
        self.flush(number, run);
    }

    /// Writes what the client is ready to take, and closes the connection after the last byte.
    fn flush(&mut self, number: u64, run: &mut Run) {
        let Some(open) = self.connections.get_mut(&number) else { return };
        if open.write().is_err() {
            return self.park(number);
        }
        let is_new = !open.closed_by[End::Listener as usize];
        if open.closing && open.unsent.is_empty() && is_new {
            self.finish(number, run);
        }
    }

    /// Closes the direction to the client.
    fn finish(&mut self, number: u64, run: &mut Run) {
        let Some(open) = self.connections.get_mut(&number) else { return };
        open.closed_by[End::Listener as usize] = true;
        open.stream.shutdown(Shutdown::Write).ok();
        for packet in open.numbers.finish(&mut run.maker, End::Listener) {
            let time = run.tape.keep(&packet);
            self.ear.hear(time, &packet);
        }
        if open.closed_by == [true; 2] {
            self.park(number);
        }
    }

    /// Closes a connection.
    fn close(&mut self, number: u64, run: &mut Run) {
        let is_open = |open: &Open| !open.closed_by[End::Listener as usize];
        if self.connections.get(&number).is_some_and(is_open) {
            self.finish(number, run);
        }
        self.park(number);
    }

    /// Forgets a connection, and keeps the client's place in the script for its next one.
    fn park(&mut self, number: u64) {
        let Some(open) = self.connections.remove(&number) else { return };
        if open.player.is_within() {
            if self.parked.len() >= PARKED {
                self.parked.clear();
            }
            self.parked.insert(open.peer().ip(), open.player);
        }
    }
}

impl Open {
    fn peer(&self) -> SocketAddr {
        self.numbers.ends()[0]
    }

    fn read(&mut self) -> Heard {
        if self.closed_by[End::Opener as usize] {
            return Heard::Nothing;
        }
        let mut buffer = vec![0; AT_ONCE];
        match self.stream.read(&mut buffer) {
            Ok(0) => Heard::Closed,
            Ok(length) => {
                self.heard = Instant::now();
                buffer.truncate(length);
                Heard::Bytes(buffer)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Heard::Nothing,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Heard::Nothing,
            Err(_) => Heard::Broken,
        }
    }

    fn write(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.stream.write(&self.unsent) {
                Ok(length) => drop(self.unsent.drain(..length)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

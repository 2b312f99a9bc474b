//! Sends requests, one at a time, and listens to what comes.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use dissectors::kit::{Asking, Inquiry};

use super::Outcome;
use crate::spoken::{PacketMaker, Tape, is_pause};

/// Limit: requests of `probe` | {}, one every {PACE:time} | no more is asked
pub const MOST_REQUESTS: u32 = 20;

/// Minimum time between two of them.
const PACE: Duration = Duration::from_millis(500);

/// After a datagram of an answer, how long the next one may take.
const REST: Duration = Duration::from_millis(500);

/// Maximum time from a request to the end of its answer, after the time that it may take to begin.
const LONGEST_ANSWER: Duration = Duration::from_secs(3);

/// Limit: datagrams of an answer to `probe` | {} | the rest is not read
const MOST_DATAGRAMS: usize = 256;

/// Maximum time of a wait before looking whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What a probe does, and what comes of it.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// So many bytes are about to be sent.
    Request(&'static str, SocketAddr, usize),
    /// So many bytes came.
    Answer(SocketAddr, usize),
    /// Nothing came in time.
    Silence(SocketAddr),
    /// The host says that nobody listens there.
    Closed(SocketAddr),
}

/// What came of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heard {
    Answer,
    Silence,
    Closed,
}

/// Who asks.
pub(super) struct Asker<'a> {
    pub(super) timeout: Duration,
    tape: &'a mut Tape,
    /// While another port is tried: what was said, with its times. It is recorded if an answer comes.
    held: Option<Vec<(i64, Vec<u8>)>>,
    pub(super) maker: PacketMaker,
    report: &'a mut dyn FnMut(Step),
    stop: &'a dyn Fn() -> bool,
    requests: u32,
    answers: u32,
    /// There was more to ask.
    is_cut: bool,
    latest: Option<Instant>,
}

impl<'a> Asker<'a> {
    pub(super) fn new(
        timeout: Duration,
        tape: &'a mut Tape,
        report: &'a mut dyn FnMut(Step),
        stop: &'a dyn Fn() -> bool,
    ) -> Asker<'a> {
        let maker = PacketMaker::default();
        Asker {
            timeout,
            tape,
            held: None,
            maker,
            report,
            stop,
            requests: 0,
            answers: 0,
            is_cut: false,
            latest: None,
        }
    }

    /// Tries another port with `ask`. Without an answer, the recording has nothing of it: that nobody is there says
    /// nothing about the port that was named.
    pub(super) fn try_elsewhere(
        &mut self,
        ask: impl FnOnce(&mut Self) -> io::Result<Heard>,
    ) -> io::Result<Heard> {
        self.held = Some(Vec::new());
        let heard = ask(self);
        self.held = None;
        heard
    }

    /// Records a packet.
    pub(super) fn keep(&mut self, packet: Vec<u8>) {
        match &mut self.held {
            Some(held) => held.push((self.tape.time(), packet)),
            None => _ = self.tape.keep(&packet),
        }
    }

    /// What came of it; `is_certain`: a missing answer is one.
    pub(super) fn outcome(&self, is_certain: bool) -> Outcome {
        let &Asker { requests, answers, is_cut, .. } = self;
        Outcome { requests, answers, is_cut, is_certain }
    }

    /// Asks everything in datagrams, if the first question is answered, or if `insists`: a filter may let only
    /// other requests through. `tries`: how often an unanswered request is sent; once after a question in vain.
    pub(super) fn datagrams(
        &mut self,
        asking: &Asking,
        server: SocketAddr,
        tries: u32,
        insists: bool,
    ) -> io::Result<Heard> {
        let socket = Socket::towards(server)?;
        let (mut heard, mut asked) = (Heard::Silence, false);
        for question in asking.questions {
            let tries = if asked && heard == Heard::Silence { 1 } else { tries };
            asked = true;
            match self.question(&socket, question, tries)? {
                Heard::Answer => heard = Heard::Answer,
                Heard::Closed if heard == Heard::Silence => return Ok(Heard::Closed),
                Heard::Silence if heard == Heard::Silence && !insists => break,
                Heard::Closed | Heard::Silence => {}
            }
        }
        Ok(heard)
    }

    fn question(&mut self, socket: &Socket, question: &Inquiry, tries: u32) -> io::Result<Heard> {
        let (mut heard, mut next) = (Heard::Silence, (question.request)(&[]));
        for _ in 0..question.most {
            let Some(request) = next else { break };
            let reply = self.request(socket, question.label, &request, tries)?;
            if reply.is_closed {
                heard = Heard::Closed;
            }
            if reply.datagrams.is_empty() {
                break;
            }
            heard = Heard::Answer;
            let step = reply.datagrams.iter().filter(|bytes| !bytes.is_empty());
            next = step.filter_map(|bytes| (question.request)(bytes)).next();
        }
        Ok(heard)
    }

    /// Sends a request until it is answered.
    fn request(
        &mut self,
        socket: &Socket,
        label: &'static str,
        request: &[u8],
        tries: u32,
    ) -> io::Result<Reply> {
        let mut reply = Reply::default();
        for _ in 0..tries {
            if !self.may_send(label, socket.server, request.len()) {
                break;
            }
            let packet = self.maker.datagram(socket.local, socket.server, request);
            let packet = packet.unwrap_or_default();
            self.keep(packet.clone());
            socket.send(request)?;
            reply = self.listen(socket, &packet)?;
            if !reply.datagrams.is_empty() || reply.is_closed {
                break;
            }
            (self.report)(Step::Silence(socket.server));
        }
        Ok(reply)
    }

    /// Waits until a request may be sent, and says so. `false`: none may be sent any longer.
    pub(super) fn may_send(
        &mut self,
        label: &'static str,
        server: SocketAddr,
        length: usize,
    ) -> bool {
        if self.requests >= MOST_REQUESTS {
            self.is_cut = true;
            return false;
        }
        while let Some(latest) = self.latest
            && latest.elapsed() < PACE
            && !self.stops()
        {
            std::thread::sleep(LOOK.min(PACE.saturating_sub(latest.elapsed())));
        }
        if self.stops() {
            return false;
        }
        self.requests += 1;
        self.latest = Some(Instant::now());
        (self.report)(Step::Request(label, server, length));
        true
    }

    pub(super) fn stops(&self) -> bool {
        (self.stop)()
    }

    pub(super) fn report(&mut self, step: Step) {
        if matches!(step, Step::Answer(..)) {
            self.answers += 1;
            for (time, packet) in self.held.take().unwrap_or_default() {
                self.tape.keep_from(time, &packet);
            }
        }
        (self.report)(step);
    }

    /// Records what comes in answer to this packet, until nothing more does.
    fn listen(&mut self, socket: &Socket, sent: &[u8]) -> io::Result<Reply> {
        let (began, mut reply, mut until) = (Instant::now(), Reply::default(), self.timeout);
        let mut buffer = vec![0; usize::from(u16::MAX)];
        while began.elapsed() < until && !self.stops() && reply.datagrams.len() < MOST_DATAGRAMS {
            let left = until.saturating_sub(began.elapsed()).clamp(Duration::from_millis(1), LOOK);
            socket.socket.set_read_timeout(Some(left))?;
            match socket.socket.recv_from(&mut buffer) {
                // Others have nothing to say.
                Ok((_, from)) if from.ip() != socket.server.ip() => {}
                Ok((length, from)) => {
                    let payload = buffer.get(..length).unwrap_or_default();
                    if let Some(packet) = self.maker.datagram(from, socket.local, payload) {
                        self.keep(packet);
                    }
                    self.report(Step::Answer(from, length));
                    reply.datagrams.push(payload.to_vec());
                    until = (began.elapsed() + REST).min(self.timeout + LONGEST_ANSWER);
                }
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                    let [from, to] = [socket.server, socket.local].map(|end| end.ip());
                    if let Some(packet) = self.maker.port_unreachable(from, to, sent) {
                        self.keep(packet);
                    }
                    self.report(Step::Closed(socket.server));
                    reply.is_closed = true;
                    break;
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(reply)
    }
}

/// What came in answer to a request.
#[derive(Default)]
struct Reply {
    datagrams: Vec<Vec<u8>>,
    is_closed: bool,
}

/// A socket that asks one server. It is not connected, so that answers from another port are seen.
struct Socket {
    socket: UdpSocket,
    local: SocketAddr,
    server: SocketAddr,
}

impl Socket {
    fn towards(server: SocketAddr) -> io::Result<Socket> {
        let socket = UdpSocket::bind((local_address(server)?, 0))?;
        report_errors(&socket, server)?;
        let local = socket.local_addr()?;
        Ok(Socket { socket, local, server })
    }

    fn send(&self, request: &[u8]) -> io::Result<()> {
        let send = || self.socket.send_to(request, self.server).map(drop);
        match send() {
            // That is about an earlier request.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => send(),
            sent => sent,
        }
    }
}

/// The address of this host from which packets go to a server. Nothing is sent.
pub(super) fn local_address(server: SocketAddr) -> io::Result<IpAddr> {
    let any: IpAddr = match server {
        SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(server)?;
    Ok(socket.local_addr()?.ip())
}

/// Lets a socket that is not connected report that nobody listens at a port.
#[cfg(target_os = "linux")]
fn report_errors(socket: &UdpSocket, server: SocketAddr) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    match server {
        SocketAddr::V4(_) => setsockopt(socket, sockopt::Ipv4RecvErr, &true)?,
        SocketAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvErr, &true)?,
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn report_errors(_: &UdpSocket, _: SocketAddr) -> io::Result<()> {
    Ok(())
}

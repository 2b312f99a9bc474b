//! Forwards streams, and writes the segments that a recorder on the way would have seen.
//!
//! A relay accepts a connection before it knows whether the server does. If the server does not, the client's
//! connection is reset, and the recording shows only the client's attempt and the server's refusal.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use nix::libc;
use nix::sys::socket::{setsockopt, sockopt};

use super::packets::{Flags, SegmentHeader};
use super::tape::Tape;
use super::{Counts, LOOK, is_pause};

/// Maximum number of connections of a relay at a time; further ones wait in the system's queue.
pub const MOST_CONNECTIONS: usize = 64;

/// Bytes of the longest segment that is written: what fits into a packet of Ethernet.
const SEGMENT: usize = 1460;

/// Bytes that are read at a time.
const BUFFER: usize = 16 << 10;

/// Time between two looks for a new connection.
const ACCEPTING: Duration = Duration::from_millis(5);

/// How long the server may take to accept a connection.
const CONNECTING: Duration = Duration::from_secs(5);

/// The two ends of a connection, as indices.
const CLIENT: usize = 0;
const SERVER: usize = 1;

/// A relay of streams.
pub(super) struct TcpRelay {
    pub(super) listener: TcpListener,
    pub(super) target: SocketAddr,
    pub(super) tape: Arc<Tape>,
    pub(super) counts: Arc<Counts>,
}

impl TcpRelay {
    /// Forwards until the recording is over. The listener does not block.
    pub(super) fn run(self: Arc<Self>) {
        let open = Arc::new(AtomicUsize::new(0));
        while !self.tape.is_closed() {
            if open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                std::thread::sleep(ACCEPTING);
                continue;
            }
            match self.listener.accept() {
                Ok((stream, client)) => self.connection(stream, client, &open),
                Err(error) => {
                    if is_pause(&error) {
                        self.counts.nothing_waits();
                    }
                    std::thread::sleep(ACCEPTING);
                }
            }
        }
    }

    /// Serves a connection in a thread of its own. Without one, the client finds it closed.
    fn connection(
        self: &Arc<Self>,
        client: TcpStream,
        address: SocketAddr,
        open: &Arc<AtomicUsize>,
    ) {
        let place = Place::taken(open);
        let relay = Arc::clone(self);
        let serve = move || {
            let _place = place;
            Connection::new(&relay, address).serve(&client).ok();
        };
        Builder::new().spawn(serve).ok();
    }
}

/// One of the places for connections, which is free again on drop.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn taken(open: &Arc<AtomicUsize>) -> Place {
        open.fetch_add(1, Ordering::Relaxed);
        Place(Arc::clone(open))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection as a recorder sees it.
struct Connection<'r> {
    tape: &'r Tape,
    /// The client's address and the server's.
    ends: [SocketAddr; 2],
    said: Mutex<Said>,
    /// One of the two has reset it.
    is_reset: AtomicBool,
}

/// How far each end is.
struct Said {
    /// The next sequence number.
    next: [u32; 2],
    /// It has sent FIN.
    is_done: [bool; 2],
}

impl<'r> Connection<'r> {
    fn new(relay: &'r TcpRelay, client: SocketAddr) -> Connection<'r> {
        let said = Said { next: [relay.counts.initial_sequence(), 0], is_done: [false; 2] };
        Connection {
            tape: &relay.tape,
            ends: [client, relay.target],
            said: Mutex::new(said),
            is_reset: AtomicBool::new(false),
        }
    }

    /// Connects to the server, and forwards both directions until both have ended.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        if !self.say(CLIENT, Flags { syn: true, ..Flags::default() }, &[]) {
            return Ok(());
        }
        let server = match TcpStream::connect_timeout(&self.ends[SERVER], CONNECTING) {
            Ok(server) => server,
            Err(error) => {
                if error.kind() == io::ErrorKind::ConnectionRefused {
                    self.say(SERVER, Flags { rst: true, ack: true, ..Flags::default() }, &[]);
                }
                return reset(client);
            }
        };
        self.accepted();
        for stream in [client, &server] {
            stream.set_nonblocking(false)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LOOK))?;
        }
        std::thread::scope(|scope| {
            let back = || self.carry(SERVER, &server, client);
            let thread = Builder::new().spawn_scoped(scope, back)?;
            self.carry(CLIENT, client, &server);
            thread.join().ok();
            Ok::<_, io::Error>(())
        })?;
        if self.is_reset.load(Ordering::Relaxed) {
            // To the one that has reset it, nothing is sent any longer.
            reset(client)?;
            reset(&server)?;
        }
        Ok(())
    }

    /// The rest of the handshake.
    fn accepted(&self) {
        // From the middle of the numbers after the client's: the two are not mixed up when a capture is read.
        let mut said = self.said();
        said.next[SERVER] = said.next[CLIENT].wrapping_add(1 << 31);
        drop(said);
        self.say(SERVER, Flags { syn: true, ack: true, ..Flags::default() }, &[]);
        self.say(CLIENT, Flags { ack: true, ..Flags::default() }, &[]);
    }

    /// Forwards one direction until its end.
    fn carry(&self, side: usize, mut from: &TcpStream, mut to: &TcpStream) {
        let mut buffer = vec![0; BUFFER];
        while !self.is_over() {
            match from.read(&mut buffer) {
                Ok(0) if self.is_over() => return,
                Ok(0) => {
                    self.done(side);
                    // If it is closed already, that was recorded in the other direction.
                    to.shutdown(Shutdown::Write).ok();
                    return;
                }
                Ok(length) => {
                    let bytes = buffer.get(..length).unwrap_or_default();
                    if !self.data(side, bytes) {
                        return;
                    }
                    if to.write_all(bytes).is_err() {
                        self.reset_by(1 - side);
                        return;
                    }
                }
                Err(error) if is_pause(&error) => {}
                Err(_) => {
                    self.reset_by(side);
                    return;
                }
            }
        }
    }

    fn is_over(&self) -> bool {
        self.is_reset.load(Ordering::Relaxed) || self.tape.is_closed()
    }

    /// Writes bytes of one end, in segments.
    fn data(&self, side: usize, bytes: &[u8]) -> bool {
        let segments = bytes.chunks(SEGMENT);
        let last = segments.len().saturating_sub(1);
        segments.enumerate().all(|(nth, segment)| {
            let flags = Flags { ack: true, push: nth == last, ..Flags::default() };
            self.say(side, flags, segment)
        })
    }

    /// Writes that one end has nothing more to say, and after both, the last acknowledgment.
    fn done(&self, side: usize) {
        self.say(side, Flags { fin: true, ack: true, ..Flags::default() }, &[]);
        if self.said().is_done == [true; 2] {
            self.say(1 - side, Flags { ack: true, ..Flags::default() }, &[]);
        }
    }

    /// Writes that one end has reset the connection, once.
    fn reset_by(&self, side: usize) {
        if !self.is_reset.swap(true, Ordering::Relaxed) {
            self.say(side, Flags { rst: true, ack: true, ..Flags::default() }, &[]);
        }
    }

    /// Writes a segment. `false`: the recording is over, and it must not be forwarded.
    fn say(&self, side: usize, flags: Flags, payload: &[u8]) -> bool {
        let mut said = self.said();
        let (from, to) = (side, 1 - side);
        let (sequence, acknowledgment) = (said.next[from], said.next[to]);
        let takes = payload.len() as u32 + u32::from(flags.syn) + u32::from(flags.fin);
        said.next[from] = sequence.wrapping_add(takes);
        said.is_done[from] |= flags.fin;
        let header = SegmentHeader { sequence, acknowledgment, flags };
        // Under the lock: the numbers are in the order of the file.
        self.tape.segment([self.ends[from], self.ends[to]], header, payload)
    }

    fn said(&self) -> std::sync::MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Lets a connection end with RST when it is closed.
fn reset(stream: &TcpStream) -> io::Result<()> {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    Ok(setsockopt(stream, sockopt::Linger, &at_once)?)
}

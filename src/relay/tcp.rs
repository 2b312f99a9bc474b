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

use super::tape::SharedTape;
use super::{Counts, LOOK};
use crate::spoken::{self, End, PacketMaker, is_pause};

/// Limit: connections of a TCP relay at a time | {} | others wait in the kernel's queue
pub const MOST_CONNECTIONS: usize = 64;

/// Bytes that are read at a time.
const BUFFER: usize = 16 << 10;

/// Time between two looks for a new connection.
const ACCEPTING: Duration = Duration::from_millis(5);

/// How long the server may take to accept a connection.
const CONNECTING: Duration = Duration::from_secs(5);

/// A relay of streams.
pub(super) struct TcpRelay {
    pub(super) listener: TcpListener,
    pub(super) target: SocketAddr,
    pub(super) tape: Arc<SharedTape>,
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
            let connection = Connection::new(&relay, address);
            connection.map(|it| it.serve(&client).ok());
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
    tape: &'r SharedTape,
    server: SocketAddr,
    transcript: Mutex<spoken::Connection>,
    /// One of the two has reset it.
    is_reset: AtomicBool,
}

/// Makes segments of a connection.
type Build<'b> = dyn Fn(&mut spoken::Connection, &mut PacketMaker) -> Vec<Vec<u8>> + 'b;

impl<'r> Connection<'r> {
    /// `None`: the recording is over.
    fn new(relay: &'r TcpRelay, client: SocketAddr) -> Option<Connection<'r>> {
        let (tape, server) = (&*relay.tape, relay.target);
        let mut transcript = None;
        tape.packets(|maker| {
            transcript = Some(spoken::Connection::new(maker, client, server));
            Vec::new()
        });
        Some(Connection {
            tape,
            server,
            transcript: Mutex::new(transcript?),
            is_reset: AtomicBool::new(false),
        })
    }

    /// Connects to the server, and forwards both directions until both have ended.
    fn serve(&self, client: &TcpStream) -> io::Result<()> {
        if !self.say(&|transcript, maker| Vec::from_iter(transcript.attempt(maker))) {
            return Ok(());
        }
        let server = match TcpStream::connect_timeout(&self.server, CONNECTING) {
            Ok(server) => server,
            Err(error) => {
                if error.kind() == io::ErrorKind::ConnectionRefused {
                    self.say(&|transcript, maker| {
                        Vec::from_iter(transcript.reset(maker, End::Listener))
                    });
                }
                return reset(client);
            }
        };
        self.say(&|transcript, maker| transcript.accept(maker));
        for stream in [client, &server] {
            stream.set_nonblocking(false)?;
            stream.set_nodelay(true)?;
            stream.set_read_timeout(Some(LOOK))?;
        }
        std::thread::scope(|scope| {
            let back = || self.carry(End::Listener, &server, client);
            let thread = Builder::new().spawn_scoped(scope, back)?;
            self.carry(End::Opener, client, &server);
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

    /// Forwards one direction until its end.
    fn carry(&self, side: End, mut from: &TcpStream, mut to: &TcpStream) {
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
                    if !self.say(&|transcript, maker| transcript.send(maker, side, bytes)) {
                        return;
                    }
                    if to.write_all(bytes).is_err() {
                        self.reset_by(side.other());
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

    /// Writes that one end has nothing more to say, and after both, the last acknowledgment.
    fn done(&self, side: End) {
        self.say(&|transcript, maker| {
            let mut packets = Vec::from_iter(transcript.close(maker, side));
            if transcript.is_done() {
                packets.extend(transcript.acknowledge(maker, side.other()));
            }
            packets
        });
    }

    /// Writes that one end has reset the connection, once.
    fn reset_by(&self, side: End) {
        if !self.is_reset.swap(true, Ordering::Relaxed) {
            self.say(&|transcript, maker| Vec::from_iter(transcript.reset(maker, side)));
        }
    }

    /// Writes segments. `false`: the recording is over, and they must not be forwarded.
    fn say(&self, build: &Build<'_>) -> bool {
        let mut transcript = self.transcript.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock: the numbers are in the order of the file.
        self.tape.packets(|maker| build(&mut transcript, maker))
    }
}

/// Lets a connection end with RST when it is closed.
fn reset(stream: &TcpStream) -> io::Result<()> {
    let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
    Ok(setsockopt(stream, sockopt::Linger, &at_once)?)
}

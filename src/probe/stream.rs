//! Asks over TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use dissectors::kit::{Asking, Inquiry};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

use super::asker::{Asker, Heard, Step, local_address};
use crate::spoken::{Connection, End, PacketMaker, is_pause};

/// Limit: bytes of an answer to `probe` over TCP | {:bytes} | the rest is not read
const MOST: usize = 1 << 20;

/// Maximum time for an answer, after the time that it may take to begin.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

/// After the first bytes of what a server says before it is asked, how long further ones may take.
const GREETING: Duration = Duration::from_millis(300);

/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 14;

/// Opens a connection for each question, and asks it.
pub(super) fn streams(
    asker: &mut Asker<'_>,
    asking: &Asking,
    server: SocketAddr,
) -> io::Result<Heard> {
    let mut heard = Heard::Silence;
    for question in asking.questions {
        let request = (question.request)(&[]);
        if !asker.may_send(question.label, server, request.as_ref().map_or(0, Vec::len)) {
            break;
        }
        let stream = unconnected(server, asker.timeout)?;
        let local = stream.local_addr()?;
        let mut connection = Connection::new(&mut asker.maker, local, server);
        keep(asker, &mut connection, |connection, maker| Vec::from_iter(connection.attempt(maker)));
        match connected(&stream, server) {
            Ok(()) => keep(asker, &mut connection, Connection::accept),
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
                keep(asker, &mut connection, |connection, maker| {
                    Vec::from_iter(connection.reset(maker, End::Listener))
                });
                asker.report(Step::Closed(server));
                return Ok(Heard::Closed);
            }
            Err(error) if is_timeout(&error) => {
                asker.report(Step::Silence(server));
                return Ok(heard);
            }
            Err(error) => return Err(error),
        }
        if ask(asker, &mut connection, stream, question, request)? {
            heard = Heard::Answer;
        }
    }
    Ok(heard)
}

/// How reading from a connection ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ended {
    /// The server is silent, or was listened to for long enough.
    Silent,
    /// The server closed it.
    Closed,
    /// The server broke it.
    Reset,
}

/// Asks at once, or after what the server says first; then reads until it closes the connection or is silent. Returns
/// whether the server said anything.
fn ask(
    asker: &mut Asker<'_>,
    connection: &mut Connection,
    mut stream: TcpStream,
    question: &Inquiry,
    request: Option<Vec<u8>>,
) -> io::Result<bool> {
    let [_, server] = connection.ends();
    let (mut heard, mut ended) = (Vec::new(), Ended::Silent);
    let mut next = request;
    if next.is_none() {
        (heard, ended) = listen(asker, connection, &mut stream, GREETING)?;
        next = (question.request)(&heard);
    }
    if let Some(request) = next.filter(|_| ended == Ended::Silent) {
        if !heard.is_empty() && !asker.may_send(question.label, server, request.len()) {
            return Ok(true);
        }
        keep(asker, connection, |connection, maker| connection.send(maker, End::Opener, &request));
        stream.write_all(&request)?;
        let more;
        let timeout = asker.timeout;
        (more, ended) = listen(asker, connection, &mut stream, timeout)?;
        heard.extend(more);
    }
    if ended != Ended::Reset {
        keep(asker, connection, |connection, maker| connection.finish(maker, End::Opener));
    }
    if heard.is_empty() {
        asker.report(Step::Silence(server));
    }
    Ok(!heard.is_empty())
}

/// Reads until the server closes the connection, or says nothing for the timeout; after the first bytes, for `rest`.
fn listen(
    asker: &mut Asker<'_>,
    connection: &mut Connection,
    stream: &mut TcpStream,
    rest: Duration,
) -> io::Result<(Vec<u8>, Ended)> {
    let [_, server] = connection.ends();
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (began, mut latest, mut patience) = (Instant::now(), Instant::now(), asker.timeout);
    let (mut heard, mut buffer) = (Vec::new(), vec![0; AT_ONCE]);
    while heard.len() < MOST
        && latest.elapsed() < patience
        && began.elapsed() < asker.timeout + LONGEST_ANSWER
        && !asker.stops()
    {
        match stream.read(&mut buffer) {
            Ok(0) => {
                keep(asker, connection, |connection, maker| {
                    connection.finish(maker, End::Listener)
                });
                return Ok((heard, Ended::Closed));
            }
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                keep(asker, connection, |connection, maker| {
                    connection.send(maker, End::Listener, bytes)
                });
                asker.report(Step::Answer(server, length));
                heard.extend_from_slice(bytes);
                (latest, patience) = (Instant::now(), rest);
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                keep(asker, connection, |connection, maker| {
                    Vec::from_iter(connection.reset(maker, End::Listener))
                });
                return Ok((heard, Ended::Reset));
            }
            Err(error) => return Err(error),
        }
    }
    Ok((heard, Ended::Silent))
}

/// Records packets of a connection.
fn keep(
    asker: &mut Asker<'_>,
    connection: &mut Connection,
    build: impl FnOnce(&mut Connection, &mut PacketMaker) -> Vec<Vec<u8>>,
) {
    for packet in build(connection, &mut asker.maker) {
        asker.keep(packet);
    }
}

/// A socket with an address, which is recorded before it is connected.
fn unconnected(server: SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Stream, SockFlag::empty(), None)?;
    let local = SocketAddr::new(local_address(server)?, 0);
    bind(socket.as_raw_fd(), &SockaddrStorage::from(local))?;
    // On Linux, connecting takes no longer, either.
    let timeout = TimeVal::new(timeout.as_secs() as _, timeout.subsec_micros() as _);
    setsockopt(&socket, sockopt::SendTimeout, &timeout)?;
    Ok(TcpStream::from(socket))
}

fn connected(stream: &TcpStream, server: SocketAddr) -> io::Result<()> {
    Ok(connect(stream.as_raw_fd(), &SockaddrStorage::from(server))?)
}

fn is_timeout(error: &io::Error) -> bool {
    error.raw_os_error() == Some(nix::libc::EINPROGRESS) || is_pause(error)
}

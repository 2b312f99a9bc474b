//! Asks over TCP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use dissectors::kit::Asking;
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

use super::asker::{Asker, Heard, Said, local_address};
use crate::spoken::{Connection, End, PacketMaker, is_pause};

/// Maximum number of bytes of an answer, and maximum time for it after the time that it may take to begin.
const MOST: usize = 1 << 20;
const LONGEST_ANSWER: Duration = Duration::from_secs(5);

/// Bytes that are read at once.
const AT_ONCE: usize = 1 << 14;

/// Opens a connection, and asks each question that needs no earlier answer.
pub(super) fn streams(
    asker: &mut Asker<'_>,
    asking: &Asking,
    server: SocketAddr,
) -> io::Result<Heard> {
    let mut heard = Heard::Silence;
    for question in asking.questions {
        let Some(request) = (question.request)(&[]) else { continue };
        if !asker.may_send(question.label, server, request.len()) {
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
                asker.tell(Said::Closed(server));
                return Ok(Heard::Closed);
            }
            Err(error) if is_timeout(&error) => {
                asker.tell(Said::Silence(server));
                return Ok(heard);
            }
            Err(error) => return Err(error),
        }
        if exchange(asker, &mut connection, stream, &request)? {
            heard = Heard::Answer;
        }
    }
    Ok(heard)
}

/// Sends a request, and reads until the server closes the connection or is silent. Returns whether it answered.
fn exchange(
    asker: &mut Asker<'_>,
    connection: &mut Connection,
    mut stream: TcpStream,
    request: &[u8],
) -> io::Result<bool> {
    let [_, server] = connection.ends();
    keep(asker, connection, |connection, maker| connection.send(maker, End::Opener, request));
    stream.write_all(request)?;
    stream.set_read_timeout(Some(Duration::from_millis(100)))?;
    let (mut latest, mut left, mut buffer) = (Instant::now(), MOST, vec![0; AT_ONCE]);
    let began = latest;
    while left > 0
        && latest.elapsed() < asker.timeout
        && began.elapsed() < asker.timeout + LONGEST_ANSWER
        && !asker.stops()
    {
        match stream.read(&mut buffer) {
            Ok(0) => {
                keep(asker, connection, |connection, maker| {
                    connection.finish(maker, End::Listener)
                });
                break;
            }
            Ok(length) => {
                let bytes = buffer.get(..length).unwrap_or_default();
                keep(asker, connection, |connection, maker| {
                    connection.send(maker, End::Listener, bytes)
                });
                asker.tell(Said::Answer(server, length));
                latest = Instant::now();
                left = left.saturating_sub(length);
            }
            Err(error) if is_timeout(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => {
                keep(asker, connection, |connection, maker| {
                    Vec::from_iter(connection.reset(maker, End::Listener))
                });
                return Ok(left < MOST);
            }
            Err(error) => return Err(error),
        }
    }
    keep(asker, connection, |connection, maker| connection.finish(maker, End::Opener));
    if left == MOST {
        asker.tell(Said::Silence(server));
    }
    Ok(left < MOST)
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

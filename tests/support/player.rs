//! Plays the client's side of a script against a server, step by step.

#![allow(clippy::disallowed_methods, reason = "a client uses the system's clock")]

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use dissectors::kit::{Role, Transport};
use dissectors::script::{self, Party, Say, Step, What};

/// The longest wait for an answer: longer than any script, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Scripts that name a port of the client are played one after the other.
static NAMED_PORT: Mutex<()> = Mutex::new(());

/// Plays the client's steps, each at its distance from the one before, once the answers before it have come. Panics
/// if an answer does not come, or has other bytes than the script. Returns a connection that is still open.
pub(crate) fn play(script: &str, usual: Transport, server: SocketAddr) -> Option<TcpStream> {
    let steps = script::parse(script).expect("a good script");
    let first = steps.iter().find_map(say).expect("a step");
    match first.options.transport.unwrap_or(usual) {
        Transport::Udp => {
            over_udp(&steps, first.from, server);
            None
        }
        Transport::Tcp => over_tcp(&steps, usual, server),
    }
}

fn say(step: &Step) -> Option<&Say> {
    match &step.what {
        What::Say(say) => Some(say),
        What::End => None,
    }
}

fn wait_between(steps: &[Step], at: usize) {
    let before = at.checked_sub(1).map_or(0, |before| steps[before].at);
    std::thread::sleep(Duration::from_nanos(steps[at].at.saturating_sub(before)));
}

/// A socket at this port; with 0, at any. Another run of the tests may have the port for some seconds.
fn socket(port: u16) -> UdpSocket {
    let pause = Duration::from_millis(100);
    let deadline = Instant::now() + PATIENCE;
    let socket = loop {
        match UdpSocket::bind(("127.0.0.1", port)) {
            Err(_) if Instant::now() < deadline => std::thread::sleep(pause),
            bound => break bound.expect("a free port"),
        }
    };
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

fn receive(socket: &UdpSocket, expected: &[u8]) -> SocketAddr {
    let mut buffer = [0; 65_536];
    let (length, from) = socket.recv_from(&mut buffer).expect("an answer");
    assert_eq!(buffer[..length], *expected);
    from
}

fn over_udp(steps: &[Step], asks: Party, server: SocketAddr) {
    let socket = socket(0);
    for (at, step) in steps.iter().enumerate() {
        let Some(say) = say(step) else { continue };
        if say.from == asks {
            wait_between(steps, at);
            socket.send_to(&say.payload, server).expect("it is sent");
        } else {
            receive(&socket, &say.payload);
        }
    }
}

fn over_tcp(steps: &[Step], usual: Transport, server: SocketAddr) -> Option<TcpStream> {
    let beside = |say: &Say| say.options.transport.unwrap_or(usual) == Transport::Udp;
    let named = steps.iter().filter_map(say).find(|it| beside(it) && it.from.role == Role::Master);
    let _alone: Option<MutexGuard<'_, ()>> =
        named.map(|_| NAMED_PORT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    let datagrams = named.map(|say| socket(say.to.port.expect("a port")));
    let (mut stream, mut checks_from) = (None, None);
    for (at, step) in steps.iter().enumerate() {
        let Some(say) = say(step) else { continue };
        let is_played = say.from.role == Role::Master;
        if beside(say) {
            let socket = datagrams.as_ref().expect("a socket");
            if is_played {
                checks_from = Some(receive(socket, &say.payload));
            } else {
                wait_between(steps, at);
                socket.send_to(&say.payload, checks_from.expect("a check")).expect("it is sent");
            }
            continue;
        }
        let open = stream.get_or_insert_with(|| {
            let stream = TcpStream::connect(server).expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            stream
        });
        if !is_played {
            wait_between(steps, at);
            open.write_all(&say.payload).expect("it is sent");
            if say.options.fin {
                open.shutdown(Shutdown::Write).expect("it is closed");
            }
            continue;
        }
        let mut answer = vec![0; say.payload.len()];
        open.read_exact(&mut answer).expect("an answer");
        assert_eq!(answer, say.payload);
        if say.options.fin {
            assert_eq!(open.read(&mut [0; 1]).expect("the end"), 0);
            stream = None;
        }
    }
    stream
}

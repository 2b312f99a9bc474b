//! Servers on loopback, and the clients that ask them through a relay.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};

/// How long a peer waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

const CHALLENGE: &[u8] = b"\x12\x34\x56\x78";
const INFO: &[u8] = b"\xff\xff\xff\xffTSource Engine Query\0";
const ABOUT: &[u8] = b"\xff\xff\xff\xffI\x11Mill Creek\0cp_well\0tf\0Team Fortress\0\
    \xb8\x01\x03\x18\x00dl\x00\x018622567\0\x00";

/// How a server answers the request that has the challenge.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Answer {
    /// As it should.
    Good,
    /// Not at all.
    None,
    /// From another port.
    OtherPort,
    /// From another address of the host first, then as it should.
    OtherAddress,
}

/// Sockets that asked, each with what came from it.
type Requests = Vec<(SocketAddr, Vec<u8>)>;

/// A server that responds to A2S_INFO after a challenge.
pub(super) struct GameServer {
    pub(super) address: SocketAddr,
    /// The port of answers from another port.
    pub(super) other: SocketAddr,
    asked: Arc<Mutex<Requests>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl GameServer {
    pub(super) fn start(at: &str, answer: Answer) -> GameServer {
        let [socket, other] = [(); 2].map(|()| UdpSocket::bind(at).expect("a free port"));
        let address = socket.local_addr().unwrap();
        let other_address = other.local_addr().unwrap();
        let (asked, is_over) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (of, over) = (Arc::clone(&asked), Arc::clone(&is_over));
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let serve = move || serve(&socket, &other, answer, &of, &over);
        let thread = Some(std::thread::spawn(serve));
        GameServer { address, other: other_address, asked, is_over, thread }
    }

    /// What came, in order.
    pub(super) fn asked(&self) -> Requests {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for GameServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn serve(
    socket: &UdpSocket,
    other: &UdpSocket,
    answer: Answer,
    asked: &Mutex<Requests>,
    is_over: &AtomicBool,
) {
    let mut buffer = [0; 2048];
    while !is_over.load(Ordering::Relaxed) {
        let Ok((length, client)) = socket.recv_from(&mut buffer) else { continue };
        let request = &buffer[..length];
        asked.lock().unwrap().push((client, request.to_owned()));
        if request != [INFO, CHALLENGE].concat() {
            socket.send_to(&[b"\xff\xff\xff\xffA", CHALLENGE].concat(), client).unwrap();
            continue;
        }
        match answer {
            Answer::None => {}
            Answer::Good => _ = socket.send_to(ABOUT, client).unwrap(),
            Answer::OtherPort => _ = other.send_to(ABOUT, client).unwrap(),
            Answer::OtherAddress => {
                let stranger = UdpSocket::bind("127.0.0.2:0").unwrap();
                stranger.send_to(b"\xff\xff\xff\xffA\0\0\0\0", client).unwrap();
                socket.send_to(ABOUT, client).unwrap();
            }
        }
    }
}

/// A master with a list of 200 servers, for one connection.
pub(super) fn master() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.write_all(br"\basic\\secure\XDWAOR").unwrap();
        let mut asked = Vec::new();
        while !asked.ends_with(br"\list\\gamename\ut\final\") {
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            asked.push(byte[0]);
        }
        client.write_all(&list()).unwrap();
    };
    (address, std::thread::spawn(serve))
}

/// A request to a server that resets the connection.
const REQUEST: &[u8] = b"hello";

/// A server that resets its only connection when it was asked.
pub(super) fn resetting() -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().unwrap();
    let serve = move || {
        let (mut client, _) = listener.accept().unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        client.read_exact(&mut [0; REQUEST.len()]).unwrap();
        let at_once = nix::libc::linger { l_onoff: 1, l_linger: 0 };
        setsockopt(&client, sockopt::Linger, &at_once).unwrap();
    };
    (address, std::thread::spawn(serve))
}

/// More than fits into a segment.
pub(super) fn list() -> Vec<u8> {
    let servers = (1..=200).map(|host| format!(r"\ip\203.0.113.{host}:7778"));
    (servers.collect::<String>() + r"\final\").into_bytes()
}

/// An address of a relay, from the environment.
fn relay(number: u32) -> SocketAddr {
    let address = std::env::var(format!("GAMEWIRE_RELAY_{number}")).expect("a relay");
    address.parse().expect("an address")
}

/// The clients, by the names that tests give them.
pub(super) fn client(name: &str) {
    match name {
        "info" => assert_eq!(info(&[socket()]), [ABOUT]),
        "two" => assert_eq!(info(&[socket(), socket()]), [ABOUT, ABOUT]),
        "unanswered" => {
            let asking = socket();
            asking.send_to(INFO, relay(1)).unwrap();
            let mut buffer = [0; 2048];
            asking.recv_from(&mut buffer).unwrap();
            asking.send_to(&[INFO, CHALLENGE].concat(), relay(1)).unwrap();
        }
        "list" => {
            let mut stream = TcpStream::connect(relay(1)).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut challenge = [0; br"\basic\\secure\XDWAOR".len()];
            stream.read_exact(&mut challenge).unwrap();
            stream.write_all(br"\gamename\ut\location\0\validate\3JOdDFU5\final\").unwrap();
            stream.write_all(br"\list\\gamename\ut\final\").unwrap();
            let mut received = Vec::new();
            stream.read_to_end(&mut received).unwrap();
            assert!(received == list());
        }
        "refused" | "reset" => {
            let mut stream = TcpStream::connect(relay(1)).unwrap();
            if name == "reset" {
                stream.write_all(REQUEST).unwrap();
            }
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let error = stream.read(&mut [0; 9]).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
        }
        _ => panic!("no client {name}"),
    }
}

fn socket() -> UdpSocket {
    let any = if relay(1).is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
    let socket = UdpSocket::bind(any).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// Asks with all of these sockets at a time, and returns what each received at last.
fn info(asking: &[UdpSocket]) -> Vec<Vec<u8>> {
    let mut buffer = [0; 2048];
    let mut receive = |socket: &UdpSocket| {
        let (length, from) = socket.recv_from(&mut buffer).unwrap();
        assert_eq!(from, relay(1));
        buffer[..length].to_owned()
    };
    asking.iter().for_each(|socket| assert!(socket.send_to(INFO, relay(1)).is_ok()));
    let challenges = Vec::from_iter(asking.iter().map(&mut receive));
    for (socket, challenge) in asking.iter().zip(challenges) {
        socket.send_to(&[INFO, &challenge[5..]].concat(), relay(1)).unwrap();
    }
    asking.iter().map(receive).collect()
}

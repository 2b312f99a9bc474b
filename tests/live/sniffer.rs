//! A game server that answers, clients that ask it, and the program that captures both.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crate::support::skip::skipped;

pub(crate) const INFO_REQUEST: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

pub(crate) const INFO: &[u8] =
    b"\xFF\xFF\xFF\xFFI\x11Loop\0de_dust2\0cstrike\0Counter-Strike\0\x0A\0\x05\x10\0dl\0\x011.0\0";

pub(crate) const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";

pub(crate) const PLAYERS: &[u8] = b"\xFF\xFF\xFF\xFFD\x01\0Ann\0\x07\0\0\0\0\0\x80\x3F";

pub(crate) const RULES: &[u8] = b"\xFF\xFF\xFF\xFFE\x01\0sv_lan\x001\0";

/// A game server that responds until it is dropped.
pub(crate) struct Server {
    pub(crate) port: u16,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let port = socket.local_addr().unwrap().port();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut bytes = [0; 2048];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut bytes) else { continue };
                let asks = bytes[5..length].starts_with(b"\xFF\xFF\xFF\xFF") || length < 9;
                let answer = match bytes[4] {
                    b'T' => INFO,
                    b'U' | b'V' | b'W' if asks => CHALLENGE,
                    b'U' => PLAYERS,
                    b'V' => RULES,
                    _ => continue,
                };
                socket.send_to(answer, from).unwrap();
            }
        });
        Server { port, stop, thread: Some(thread) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(std::thread::JoinHandle::join);
    }
}

/// Set where these tests run alone, without libpcap.
pub(crate) const WITHOUT_LIBPCAP: &str = "GAMEWIRE_TEST_WITHOUT_LIBPCAP";

/// Arguments for packets that match a libpcap filter. Without libpcap, there are no others.
pub(crate) fn only(filter: &str) -> Vec<String> {
    match std::env::var_os(WITHOUT_LIBPCAP) {
        Some(_) => Vec::new(),
        None => vec!["-f".to_owned(), filter.to_owned()],
    }
}

/// A running gamewire, with the lines of its standard error.
pub(crate) struct Sniffer {
    pub(crate) child: Child,
    pub(crate) said: mpsc::Receiver<String>,
}

impl Sniffer {
    /// Starts it and waits until it listens. `None` if that is not possible here.
    pub(crate) fn start(port: u16, args: &[&str]) -> Option<Sniffer> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_gamewire"))
            .args(args)
            .args(["-i", "lo", "--no-config"])
            .args(only(&format!("udp port {port}")))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (tell, said) = mpsc::channel();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            lines.map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let first = said.recv_timeout(Duration::from_secs(20)).expect("a first line");
        if first.contains("no permission (") || first.contains("not installed") {
            skipped("live", &first);
            child.wait().unwrap();
            return None;
        }
        assert!(first.contains("listening on lo; Ctrl-C ends it; "), "{first}");
        assert!(first.contains("; confined by ") || first.contains("; not confined: "), "{first}");
        Some(Sniffer { child, said })
    }

    pub(crate) fn signal(&self, name: &str) {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status();
        assert!(status.unwrap().success());
    }

    /// Stops the process, and waits until it is stopped.
    pub(crate) fn stop(&self) {
        self.signal("-STOP");
        let status = format!("/proc/{}/status", self.child.id());
        let until = Instant::now() + Duration::from_secs(20);
        while !std::fs::read_to_string(&status).unwrap().contains("State:\tT") {
            assert!(Instant::now() < until, "it does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for a line with this text.
    pub(crate) fn says(&self, what: &str) -> String {
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let line = self.said.recv_timeout(left).unwrap_or_else(|_| panic!("never said {what}"));
            if line.contains(what) {
                return line;
            }
        }
    }

    /// Its output, when it has ended.
    pub(crate) fn output(self) -> Output {
        self.child.wait_with_output().unwrap()
    }
}

pub(crate) fn query(socket: &UdpSocket, port: u16) {
    socket.send_to(INFO_REQUEST, ("127.0.0.1", port)).unwrap();
    let mut answer = [0; 2048];
    let (length, _) = socket.recv_from(&mut answer).unwrap();
    assert_eq!(&answer[..length], INFO);
}

pub(crate) fn client() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    socket
}

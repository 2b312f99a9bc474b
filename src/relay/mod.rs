//! Relays: what a client sends to an address of this host is forwarded to a server, the answers go back, and
//! both are recorded as the client and the server meant them: between the client's address and the server's.
//!
//! A relay never says anything by itself. It sends to its server what clients have sent, to clients what their
//! server has sent, and nothing after the recording is over. It needs no right to capture.
#![allow(clippy::disallowed_methods, reason = "what is recorded live has the system's clock")]

mod plan;
mod tape;
mod tcp;
mod udp;

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub use plan::{PlanError, RelayPlan, Transport};
pub use tape::SharedTape;
pub use tcp::MOST_CONNECTIONS;
pub use udp::MOST_CLIENTS;

use crate::spoken::Recorded;
use tcp::TcpRelay;
use udp::UdpRelay;

/// Maximum time of a wait for packets before a thread finds that the recording is over.
const LOOK: Duration = Duration::from_millis(50);

/// Time between two looks at whether a recording has settled.
const SETTLING: Duration = Duration::from_millis(10);

/// Maximum time that a recording lasts after the command.
pub const LONGEST_LINGER: Duration = Duration::from_secs(5);

/// Why relays cannot begin, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// Other hosts could use it.
    #[error(
        "--relay: other hosts can send to {0}; listen at a loopback address such as 127.0.0.1, or allow it with --allow-remote"
    )]
    Remote(SocketAddr),
    /// The address cannot be listened at.
    #[error(
        "--relay: cannot listen at {0}: {1}; name an address of this host and a free port, or port 0 for any"
    )]
    Unbound(RelayPlan, io::Error),
    /// Relays would send to each other without end.
    #[error("--relay: {} leads to the relay {}; name the server itself as TARGET", .0[0], .0[1])]
    Circle(Box<[RelayPlan; 2]>),
    /// The system has no thread for it.
    #[error("--relay: cannot start a thread: {0}")]
    Thread(io::Error),
}

/// What one relay counts.
#[derive(Debug, Default)]
struct Counts {
    /// How often nothing waited to be forwarded.
    pauses: AtomicU64,
    /// Datagrams from other hosts than the server.
    strangers: AtomicU64,
}

impl Counts {
    fn nothing_waits(&self) {
        self.pauses.fetch_add(1, Ordering::Relaxed);
    }

    fn stranger(&self) {
        self.strangers.fetch_add(1, Ordering::Relaxed);
    }
}

/// A socket that clients send to.
enum Listening {
    Udp(UdpSocket),
    Tcp(TcpListener),
}

impl Listening {
    fn at(plan: &RelayPlan) -> io::Result<Listening> {
        match plan.transport {
            Transport::Udp => {
                let socket = UdpSocket::bind(plan.listen)?;
                socket.set_read_timeout(Some(LOOK))?;
                Ok(Listening::Udp(socket))
            }
            Transport::Tcp => {
                let listener = TcpListener::bind(plan.listen)?;
                listener.set_nonblocking(true)?;
                Ok(Listening::Tcp(listener))
            }
        }
    }

    fn address(&self) -> io::Result<SocketAddr> {
        match self {
            Listening::Udp(socket) => socket.local_addr(),
            Listening::Tcp(listener) => listener.local_addr(),
        }
    }
}

/// Relays that listen, and forward nothing yet.
pub struct BoundRelays(Vec<(RelayPlan, Listening)>);

impl BoundRelays {
    /// Listens at the addresses of these plans. `allows_remote`: also at those that other hosts can send to.
    ///
    /// # Errors
    /// An address is not allowed, or cannot be listened at; relays lead to each other.
    pub fn bind(plans: &[RelayPlan], allows_remote: bool) -> Result<BoundRelays, RelayError> {
        refuse_circles(plans)?;
        let mut relays = Vec::new();
        for &plan in plans {
            if !allows_remote && !plan.listen.ip().is_loopback() {
                return Err(RelayError::Remote(plan.listen));
            }
            let unbound = |error| RelayError::Unbound(plan, error);
            let listening = Listening::at(&plan).map_err(unbound)?;
            let listen = listening.address().map_err(unbound)?;
            relays.push((RelayPlan { listen, ..plan }, listening));
        }
        let bound = BoundRelays(relays);
        // The ports that were chosen may be those of a target.
        refuse_circles(&Vec::from_iter(bound.plans().copied()))?;
        Ok(bound)
    }

    /// The plans, with the ports that were chosen.
    pub fn plans(&self) -> impl Iterator<Item = &RelayPlan> {
        self.0.iter().map(|(plan, _)| plan)
    }

    /// Begins to forward and to record.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn start(self, tape: SharedTape) -> Result<RunningRelays, RelayError> {
        let mut running = RunningRelays { tape: Arc::new(tape), counts: Vec::new() };
        for (RelayPlan { target, .. }, listening) in self.0 {
            let (tape, counts) = (Arc::clone(&running.tape), Arc::new(Counts::default()));
            running.counts.push(Arc::clone(&counts));
            let thread = std::thread::Builder::new();
            let started = match listening {
                Listening::Udp(socket) => {
                    let relay = Arc::new(UdpRelay { socket, target, tape, counts });
                    thread.spawn(move || relay.run())
                }
                Listening::Tcp(listener) => {
                    let relay = Arc::new(TcpRelay { listener, target, tape, counts });
                    thread.spawn(move || relay.run())
                }
            };
            // The threads end by themselves when the recording is over.
            started.map_err(RelayError::Thread)?;
        }
        Ok(running)
    }
}

/// A relay that leads to a relay could forward the same datagram without end.
fn refuse_circles(plans: &[RelayPlan]) -> Result<(), RelayError> {
    for one in plans {
        if let Some(other) = plans.iter().find(|other| one.leads_into(other)) {
            return Err(RelayError::Circle(Box::new([*one, *other])));
        }
    }
    Ok(())
}

/// Relays that forward and record.
pub struct RunningRelays {
    tape: Arc<SharedTape>,
    counts: Vec<Arc<Counts>>,
}

impl RunningRelays {
    /// Waits until everything that was sent to the relays was read, and then nothing was said for as long as
    /// `linger`: at most five seconds, or until `is_stopped`.
    pub fn settle(&self, linger: Duration, is_stopped: impl Fn() -> bool) {
        let (began, pauses) = (Instant::now(), self.pauses());
        // A pause that had begun before may end without a look at what came meanwhile.
        let is_read = || self.pauses().iter().zip(&pauses).all(|(now, then)| *now >= then + 2);
        let is_silent = || self.tape.silence().is_none_or(|silence| silence >= linger);
        while began.elapsed() < LONGEST_LINGER && !is_stopped() && !(is_read() && is_silent()) {
            std::thread::sleep(SETTLING);
        }
    }

    fn pauses(&self) -> Vec<u64> {
        self.counts.iter().map(|counts| counts.pauses.load(Ordering::Relaxed)).collect()
    }

    /// The number of datagrams that came from other hosts than the server, and were not forwarded.
    pub fn strangers(&self) -> u64 {
        self.counts.iter().map(|counts| counts.strangers.load(Ordering::Relaxed)).sum()
    }

    /// Ends the recording: nothing is forwarded any longer, and the file is put in its place.
    ///
    /// # Errors
    /// Some of it cannot be written.
    pub fn finish(&self) -> io::Result<Recorded> {
        self.tape.finish()
    }
}

impl Drop for RunningRelays {
    fn drop(&mut self) {
        self.tape.discard();
    }
}

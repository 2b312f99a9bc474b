//! Asks one server or master as its protocol's clients do: one request at a time, few, and slowly. What was said is
//! recorded; what it means is found out from the recording, as from any other.
#![allow(clippy::disallowed_methods, reason = "requests need the system's clock")]

mod asker;
mod host;
mod stream;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use dissectors::Id;
use dissectors::kit::{Asking, Transport};

pub use asker::{MOST_REQUESTS, Step};
pub use host::Host;

use crate::spoken::Tape;
use asker::{Asker, Heard};

/// Why a host cannot be asked, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// It is not HOST:PORT.
    #[error(
        "expected HOST:PORT, such as 127.0.0.1:27015, [::1]:27015 or game.example.net:27015; there is no port in {0:?}"
    )]
    Form(String),
    /// The port is none.
    #[error("the port in {0:?} is not a number from 1 to 65535")]
    Port(String),
    /// Nothing can be sent there.
    #[error("nothing can be asked at {0}; name the address and port of one server")]
    Several(SocketAddr),
    /// It is another host.
    #[error(
        "{0} is not a loopback address or localhost; allow up to {MOST_REQUESTS} requests to it with --allow-remote"
    )]
    Remote(String),
    /// The name has no address.
    #[error("{0} has no address: {1}; check the name, or write the address as numbers")]
    Unknown(String, String),
    /// A request cannot be sent.
    #[error("cannot ask {0}: {1}; check the network and the address")]
    Unsent(SocketAddr, io::Error),
}

/// All that can be asked, by the protocols' order.
fn askings() -> impl Iterator<Item = (Id, &'static Asking)> {
    let of = |id: &Id| id.info().asking.iter().map(move |asking| (*id, asking)).collect::<Vec<_>>();
    Id::ALL.iter().flat_map(of)
}

/// The names of what can be asked.
pub fn names() -> Vec<&'static str> {
    askings().map(|(_, asking)| asking.name).collect()
}

/// How to ask one kind of server or master.
#[derive(Clone, Copy)]
pub struct Way {
    /// Its protocol.
    pub protocol: Id,
    asking: &'static Asking,
}

impl Way {
    /// By its name.
    pub fn named(name: &str) -> Option<Way> {
        let (protocol, asking) = askings().find(|(_, asking)| asking.name == name)?;
        Some(Way { protocol, asking })
    }

    /// How what is asked is sent.
    pub const fn transport(self) -> Transport {
        self.asking.transport
    }
}

/// What is asked.
pub struct Probe {
    /// Whom.
    pub host: SocketAddr,
    /// How; `None`: in the usual ways, until one is answered.
    pub way: Option<Way>,
    /// How long an answer may take.
    pub timeout: Duration,
}

impl Probe {
    /// The master that is asked, if it is one.
    pub fn master(&self) -> Option<(Id, SocketAddr)> {
        let way = self.way.filter(|way| way.asking.is_of_master)?;
        Some((way.protocol, self.host))
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The number of requests.
    pub requests: u32,
    /// The number of datagrams, or pieces of a stream, that came in answer.
    pub answers: u32,
    /// There was more to ask than a probe may.
    pub is_cut: bool,
    /// Whether a missing answer is one: none was left out for another way of asking.
    pub is_certain: bool,
}

/// Asks, and records what is said. `report` gets each request before it is sent.
///
/// # Errors
/// A request cannot be sent.
pub fn run(
    probe: &Probe,
    tape: &mut Tape,
    report: &mut dyn FnMut(Step),
    stop: &dyn Fn() -> bool,
) -> Result<Outcome, ProbeError> {
    let mut asker = Asker::new(probe.timeout, tape, report, stop);
    let unsent = |error| ProbeError::Unsent(probe.host, error);
    let is_certain = ask(probe, &mut asker).map_err(unsent)?;
    Ok(asker.outcome(is_certain))
}

/// Asks in each way, then at other ports. Returns whether a missing answer is one.
fn ask(probe: &Probe, asker: &mut Asker<'_>) -> io::Result<bool> {
    let ways = match probe.way {
        Some(way) => vec![way.asking],
        None => askings().map(|(_, asking)| asking).filter(|asking| asking.is_usual).collect(),
    };
    let mut is_closed = false;
    for (nth, asking) in ways.iter().enumerate() {
        // The first way is the likeliest: one lost datagram must not look like silence.
        let tries = if nth == 0 { 2 } else { 1 };
        match ask_at(asker, asking, probe.host, tries, probe.way.is_some())? {
            Heard::Answer => return Ok(nth == 0),
            Heard::Silence => {}
            // There is nobody to be asked in another way.
            Heard::Closed => {
                is_closed = true;
                break;
            }
        }
    }
    for asking in ways {
        for port in asking.elsewhere.iter().filter_map(|it| it.port(probe.host.port())) {
            let place = SocketAddr::new(probe.host.ip(), port);
            let heard = asker.try_elsewhere(|asker| ask_at(asker, asking, place, 1, false))?;
            if heard == Heard::Answer {
                return Ok(is_closed || probe.way.is_some());
            }
        }
    }
    Ok(true)
}

/// Asks in one way at one port; `insists`: everything, although the first question is not answered.
fn ask_at(
    asker: &mut Asker<'_>,
    asking: &Asking,
    server: SocketAddr,
    tries: u32,
    insists: bool,
) -> io::Result<Heard> {
    match asking.transport {
        Transport::Udp => asker.datagrams(asking, server, tries, insists),
        Transport::Tcp => stream::streams(asker, asking, server),
    }
}

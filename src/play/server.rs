//! Plays scenarios at ports of this host, until it is stopped.

use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use dissectors::kit::Transport;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::faults::Faults;
use super::part::NotPlayed;
use super::played_server::PlayedServer;
use super::player::Secret;
use super::run::{Report, Run};
use super::scenarios::Scenario;
use super::tcp::TcpStage;
use super::udp::UdpStage;
use crate::capture::write::END;
use crate::spoken::{PacketMaker, Tape};
use crate::text::escaped;
use crate::why;

/// Maximum time of a wait before looking whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// Maximum size of a recording in bytes; what comes later is not recorded.
const LARGEST: usize = 1 << 30;

/// The name of the interface in the recording.
const INTERFACE: &str = "gamewire serve";

/// What to play, and how.
pub struct Play {
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// Where the first one listens; each further one has the next port. With port 0, each has any free one.
    pub listen: SocketAddr,
    /// An address beyond loopback is allowed. Answers to clients that may have forged theirs are then small.
    pub allow_remote: bool,
    /// Faults of the way.
    pub faults: Faults,
    /// Decides about these.
    pub seed: u64,
    /// The recording.
    pub record: Option<PathBuf>,
    /// End after a script was played to its end.
    pub once: bool,
    /// End after this time.
    pub duration: Option<Duration>,
}

/// Why scenarios cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum PlayError {
    /// The address is not a loopback address.
    #[error(
        "{0} can be reached by other hosts; allow that with --allow-remote, or listen at 127.0.0.1"
    )]
    Remote(SocketAddr),
    /// A script cannot be played.
    #[error("{name} cannot be played: {why}; `gamewire serve --list` names what can")]
    NotPlayed {
        /// The scenario.
        name: String,
        /// Why.
        why: NotPlayed,
    },
    /// A port cannot be used.
    #[error(
        "cannot listen at {address}: {error}; name an address of this host and a free port: --listen"
    )]
    Listen {
        /// Where.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// There are not enough ports.
    #[error("there is no port {0} for the last scenario; listen at a lower port")]
    Ports(u32),
    /// There are no datagrams that could have a fault.
    #[error(
        "the fault {0} is one of datagrams, and nothing is played over UDP; use delay, truncate or silence"
    )]
    NoDatagrams(&'static str),
    /// The recording cannot be written.
    #[error("cannot write {}: {}", escaped(.file), why::unwritable(.error))]
    Record {
        /// Its name.
        file: String,
        /// The system's error.
        error: io::Error,
    },
}

/// Where a scenario is played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The scenario.
    pub name: String,
    /// What it shows.
    pub shows: String,
    /// The socket.
    pub address: SocketAddr,
    /// Its transport.
    pub transport: Transport,
}

enum Stage {
    Udp(Box<UdpStage>),
    Tcp(Box<TcpStage>),
}

/// Scenarios at their ports.
pub struct Server {
    stages: Vec<Stage>,
    places: Vec<Place>,
    run: Run,
    record: Option<PathBuf>,
    once: bool,
    duration: Option<Duration>,
}

impl Server {
    /// Opens the ports and the recording.
    ///
    /// # Errors
    /// The address is refused or in use, a scenario cannot be played, or the recording not be written.
    pub fn open(play: Play) -> Result<Server, PlayError> {
        let is_local = play.listen.ip().to_canonical().is_loopback();
        if !is_local && !play.allow_remote {
            return Err(PlayError::Remote(play.listen));
        }
        let (mut stages, mut places) = (Vec::new(), Vec::new());
        for (scenario, nth) in play.scenarios.into_iter().zip(0..) {
            let (stage, place) = Stage::open(scenario, at_port(play.listen, nth)?)?;
            stages.push(stage);
            places.push(place);
        }
        if let Some(fault) = play.faults.of_datagrams()
            && !stages.iter().any(Stage::has_datagrams)
        {
            return Err(PlayError::NoDatagrams(fault));
        }
        let tape = Tape::new(play.record.as_deref(), INTERFACE, LARGEST)
            .map_err(|error| unwritable(&play.record, error))?;
        let run = Run {
            maker: PacketMaker::default(),
            tape,
            faults: play.faults,
            seed: play.seed,
            secret: play.allow_remote.then(Secret::default),
            clients: 0,
            report: Report::default(),
        };
        let (record, once, duration) = (play.record, play.once, play.duration);
        Ok(Server { stages, places, run, record, once, duration })
    }

    /// Where the scenarios are played.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Plays until it is asked to stop, and completes the recording.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn run(mut self, stop: &dyn Fn() -> bool) -> Result<Report, PlayError> {
        let started = Instant::now();
        let is_over = |time: Duration| started.elapsed() >= time;
        while !stop() && !self.duration.is_some_and(is_over) {
            let now = Instant::now();
            for stage in &mut self.stages {
                stage.speak(now, &mut self.run);
            }
            if self.once && self.run.report.played > 0 {
                break;
            }
            self.wait();
            for stage in &mut self.stages {
                stage.receive(&mut self.run);
            }
        }
        let Run { mut tape, mut report, .. } = self.run;
        report.is_cut = tape.is_full();
        tape.keep(&END);
        tape.finish().map_err(|error| unwritable(&self.record, error))?;
        Ok(report)
    }

    /// Waits until something has come, or something is due.
    fn wait(&self) {
        let now = Instant::now();
        let due = self.stages.iter().filter_map(Stage::next).min();
        let time = due.map_or(LOOK, |due| due.saturating_duration_since(now)).min(LOOK);
        // Not before it is due.
        let time = time.as_millis() as u16 + u16::from(time.subsec_nanos() % 1_000_000 > 0);
        let fds = self.stages.iter().flat_map(Stage::fds);
        let mut fds: Vec<_> = fds.map(|fd| PollFd::new(fd, PollFlags::POLLIN)).collect();
        // An interrupted wait is over.
        poll(&mut fds, PollTimeout::from(time)).ok();
    }
}

impl Stage {
    fn open(scenario: Scenario, address: SocketAddr) -> Result<(Stage, Place), PlayError> {
        let part = scenario.part();
        let Scenario { name, shows, .. } = scenario;
        let part = part.map_err(|why| PlayError::NotPlayed { name: name.clone(), why })?;
        let transport = part.transport;
        let stage = match transport {
            Transport::Udp => {
                let played = PlayedServer::around(&name, part);
                UdpStage::bind(played, address).map(|it| Stage::Udp(Box::new(it)))
            }
            Transport::Tcp => TcpStage::bind(part, address).map(|it| Stage::Tcp(Box::new(it))),
        };
        let stage = stage.map_err(|error| PlayError::Listen { address, error })?;
        let address = match &stage {
            Stage::Udp(stage) => stage.address(),
            Stage::Tcp(stage) => stage.address(),
        };
        Ok((stage, Place { name, shows, address, transport }))
    }

    fn has_datagrams(&self) -> bool {
        match self {
            Stage::Udp(_) => true,
            Stage::Tcp(stage) => stage.has_datagrams(),
        }
    }

    fn speak(&mut self, now: Instant, run: &mut Run) {
        match self {
            Stage::Udp(stage) => stage.speak(now, run),
            Stage::Tcp(stage) => stage.speak(now, run),
        }
    }

    fn receive(&mut self, run: &mut Run) {
        match self {
            Stage::Udp(stage) => stage.receive(run),
            Stage::Tcp(stage) => stage.receive(run),
        }
    }

    fn next(&self) -> Option<Instant> {
        match self {
            Stage::Udp(stage) => stage.next(),
            Stage::Tcp(stage) => stage.next(),
        }
    }

    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        match self {
            Stage::Udp(stage) => stage.fds(),
            Stage::Tcp(stage) => stage.fds(),
        }
    }
}

/// The address of the nth scenario.
fn at_port(listen: SocketAddr, nth: u16) -> Result<SocketAddr, PlayError> {
    if listen.port() == 0 {
        return Ok(listen);
    }
    let port = listen.port().checked_add(nth);
    let port = port.ok_or(PlayError::Ports(u32::from(listen.port()) + u32::from(nth)))?;
    Ok(SocketAddr::new(listen.ip(), port))
}

fn unwritable(file: &Option<PathBuf>, error: io::Error) -> PlayError {
    let file = file.as_ref().map(|file| file.to_string_lossy().into_owned());
    PlayError::Record { file: file.unwrap_or_default(), error }
}

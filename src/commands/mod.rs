//! The commands: each is a loop over the events of captures.

pub mod abuse;
mod abuse_reports;
#[cfg(feature = "cli")]
pub mod around;
pub mod check;
#[cfg(feature = "cli")]
mod child;
#[cfg(feature = "cli")]
mod closed;
mod consumer;
pub mod diagnose;
pub mod dissect;
#[cfg(feature = "program")]
pub mod docs;
mod elsewhere;
pub mod export;
mod extract;
pub mod fields;
pub mod flows;
pub mod folders;
pub mod follow;
mod held;
#[cfg(feature = "program")]
mod kept_input;
#[cfg(feature = "program")]
pub mod manual;
mod notices;
pub mod outputs;
#[cfg(feature = "cli")]
pub mod probe;
#[cfg(feature = "program")]
pub mod progress;
mod read;
#[cfg(feature = "cli")]
pub mod record;
pub mod report;
pub mod rules;
pub mod scrub;
mod segments;
#[cfg(feature = "cli")]
pub mod serve;
#[cfg(feature = "cli")]
mod sniff;
pub mod summary;
mod threads;
#[cfg(feature = "tui")]
pub mod view;

// Without a system, a page shows progress.
#[cfg(not(feature = "program"))]
#[path = "../browser/kept_input.rs"]
mod kept_input;
#[cfg(not(feature = "program"))]
#[path = "../browser/progress.rs"]
pub mod progress;

// In a build that only reads captures, nothing is captured, run or recorded.
#[cfg(not(feature = "cli"))]
#[path = "../absent/around.rs"]
pub mod around;
#[cfg(not(feature = "cli"))]
#[path = "../absent/record.rs"]
pub mod record;
#[cfg(not(feature = "cli"))]
#[path = "../absent/sniff.rs"]
mod sniff;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;

use crate::capture::{self, CaptureError};
use crate::check::BaselineError;
use crate::cli::InputArgs;
use crate::config::{Config, ConfigError};
use crate::live::{self, LiveError};
use crate::relay::RelayError;
use crate::report::paint::{self, ColorChoice, Paint, TextStyle};
use crate::session::UnknownLinks;
use crate::text::escaped;
use crate::{Terminal, why};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input cannot be read.
    #[error("{0}")]
    Capture(#[from] CaptureError),
    /// Interrupted before there was a result.
    #[error("interrupted: nothing was written")]
    Interrupted,
    /// All packets of a capture have an unsupported link type.
    #[error("{0}")]
    Unread(UnknownLinks),
    /// One of the merged files could not be opened.
    #[error("{0}")]
    Unopened(String),
    /// Some of the merged files could not be opened, which was reported.
    #[error("{count} of {of} files could not be opened, and were not read")]
    SomeUnopened {
        /// Their number.
        count: usize,
        /// The number of all files.
        of: usize,
    },
    /// Some of the input cannot be read, which was reported.
    #[error("some of the input could not be read")]
    Reported,
    /// The configuration, or a key on the command line, is invalid.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// The output would overwrite the input.
    #[error("{output} is {what} {input}, which would be destroyed; write to another file")]
    OntoInput {
        /// The output.
        output: &'static str,
        /// The kind of input.
        what: &'static str,
        /// Its name.
        input: String,
    },
    /// There is no terminal.
    #[cfg(feature = "tui")]
    #[error(
        "view draws on a terminal, and {0}; `gamewire summary` and `gamewire follow` write text"
    )]
    NoTerminal(String),
    /// There is no such command.
    #[error("there is no command `{name}`; the commands are {known}")]
    NoCommand {
        /// The requested name.
        name: String,
        /// The existing ones.
        known: String,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
    /// The baseline cannot be read or written.
    #[error("{0}")]
    Baseline(#[from] BaselineError),
    /// Live capture is not possible, or ended early.
    #[error("{0}")]
    Live(#[from] LiveError),
    /// Traffic cannot be relayed.
    #[error("{0}")]
    Relay(#[from] RelayError),
    /// The command whose traffic is to be recorded cannot be run.
    #[error("cannot run {program}: {why}")]
    Command {
        /// Its program.
        program: String,
        /// The system's error, and what to do.
        why: String,
    },
    /// Metrics cannot be served.
    #[error(
        "--metrics: cannot listen on {address}: {error}; name an address of this host and a free port"
    )]
    Metrics {
        /// Where.
        address: SocketAddr,
        /// The system's error.
        error: io::Error,
    },
    /// Servers and masters cannot be played.
    #[cfg(feature = "cli")]
    #[error("{0}")]
    Play(#[from] crate::play::PlayError),
    /// A host cannot be asked.
    #[cfg(feature = "cli")]
    #[error("{0}")]
    Probe(#[from] crate::probe::ProbeError),
    /// The output cannot be written.
    #[error("cannot write the output: {}", why::unwritable(.0))]
    Output(#[from] io::Error),
}

impl Failure {
    /// A file cannot be written.
    fn unwritable(file: &Path, error: &io::Error) -> Failure {
        if capture::was_interrupted(error) {
            return Failure::Interrupted;
        }
        // Of a FIFO, or of /dev/stdout.
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Failure::Output(io::ErrorKind::BrokenPipe.into());
        }
        let name = file.to_string_lossy();
        Failure::Other(format!("cannot write {}: {}", escaped(&name), why::unwritable(error)))
    }

    /// Whether the reader of the output closed the pipe, which is not an error.
    pub fn reader_is_gone(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Reads the configuration of a command with a verdict, and says so if it can change the verdict.
fn settings_of(input: &InputArgs, err: &mut dyn Write) -> Result<Config, ConfigError> {
    let config = input.config.load()?;
    if let Some(note) = config.note() {
        writeln!(err, "gamewire: {note}").ok();
    }
    Ok(config)
}

/// What ends a command that records: SIGHUP, too, unless the process was started to ignore it, as by nohup.
#[cfg(feature = "cli")]
fn end_of_recording(terminal: Terminal) -> capture::Stop {
    let Some(stop) = terminal.stop else { return capture::Stop::default() };
    if !live::is_ignored(signal_hook::consts::SIGHUP) {
        capture::Stop::also_at_hangup();
    }
    stop()
}

/// The colours that the user selected.
fn painted(choice: ColorChoice, is_terminal: bool) -> Paint {
    Paint::new(paint::enabled(choice, is_terminal, std::env::var_os))
}

/// How text is written to this terminal, with the colours that the user selected.
fn text_style(choice: ColorChoice, terminal: Terminal) -> TextStyle {
    TextStyle { terminal: terminal.columns, paint: painted(choice, terminal.out) }
}

/// The names of the files that a capture is made of, or of its interface. `name`: of one of several captures.
fn files_of(input: &InputArgs, name: Option<&str>) -> Vec<String> {
    if let Some(name) = name.or(input.called.as_deref()).or(input.live.interface.as_deref()) {
        return vec![name.to_owned()];
    }
    input.files.iter().map(|file| read::display(file)).collect()
}

/// Lists the network devices.
///
/// # Errors
/// They cannot be listed, or the output cannot be written.
pub fn interfaces(out: &mut dyn Write) -> Result<(), Failure> {
    out.write_all(live::interfaces()?.as_bytes())?;
    Ok(())
}

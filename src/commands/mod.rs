//! The commands: each is a loop over the events of captures.

pub mod abuse;
mod abuse_reports;
pub mod check;
mod consumer;
pub mod diagnose;
pub mod dissect;
pub mod export;
mod extract;
pub mod fields;
pub mod flows;
pub mod folders;
pub mod follow;
mod held;
pub mod manual;
mod notices;
pub mod outputs;
mod read;
pub mod report;
pub mod rules;
pub mod scrub;
mod segments;
mod shared;
mod sniff;
pub mod summary;
#[cfg(feature = "tui")]
pub mod view;

use std::io::{self, Write};
use std::net::SocketAddr;

use crate::capture::CaptureError;
use crate::check::BaselineError;
use crate::config::ConfigError;
use crate::live::{self, LiveError};
use crate::report::paint::{self, Choice, Paint};
use crate::session::UnknownLinks;
use crate::why;

/// How a command ended, where it did not simply run.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The input cannot be read.
    #[error("{0}")]
    Capture(#[from] CaptureError),
    /// Somebody had enough of it before there was a result.
    #[error("interrupted: nothing was written")]
    Interrupted,
    /// No packet of a capture can be read.
    #[error("{0}")]
    Unread(UnknownLinks),
    /// A file among those that are merged could not be opened.
    #[error("{0}")]
    Unopened(String),
    /// Files among those that are merged could not be opened, and why has been said.
    #[error("{count} of {of} files could not be opened, and were not read")]
    SomeUnopened {
        /// How many.
        count: usize,
        /// Of how many.
        of: usize,
    },
    /// Some of the input cannot be read, and why has been said.
    #[error("some of the input could not be read")]
    Reported,
    /// The configuration, or a key on the command line, cannot be used.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// What is written would destroy what is read.
    #[error("{output} is {what} {input}, which would be destroyed; write to another file")]
    OntoInput {
        /// The output.
        output: &'static str,
        /// What the input is.
        what: &'static str,
        /// Its name.
        input: String,
    },
    /// There is no terminal to draw on.
    #[cfg(feature = "tui")]
    #[error(
        "view draws on a terminal, and {0}; `gamewire summary` and `gamewire follow` write text"
    )]
    NoTerminal(String),
    /// There is no such command.
    #[error("there is no command `{name}`; there are {known}")]
    NoCommand {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// What is asked of messages cannot be.
    #[error("{0}")]
    Filter(String),
    /// The baseline cannot be read or written.
    #[error("{0}")]
    Baseline(#[from] BaselineError),
    /// Live capture does not go, or has ended before its time.
    #[error("{0}")]
    Live(#[from] LiveError),
    /// Metrics cannot be served.
    #[error(
        "--metrics: cannot listen on {address}: {error}; name an address of this host and a free port"
    )]
    Metrics {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// The output cannot be written.
    #[error("cannot write the output: {}", why::unwritable(.0))]
    Output(#[from] io::Error),
}

impl Failure {
    /// Whether the reader of the output went away, which is not a fault.
    pub fn reader_is_gone(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }
}

/// Colours as the user wants them.
fn painted(choice: Choice, is_terminal: bool) -> Paint {
    Paint::new(paint::enabled(choice, is_terminal, std::env::var_os))
}

/// Lists the network devices.
///
/// # Errors
/// libpcap is missing, or the output cannot be written.
pub fn interfaces(out: &mut dyn Write) -> Result<(), Failure> {
    out.write_all(live::interfaces()?.as_bytes())?;
    Ok(())
}

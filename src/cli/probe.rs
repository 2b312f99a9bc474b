//! Arguments of `gamewire probe`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::{ConfigFile, DiagnoseFormat};
use crate::config::nanoseconds;
use crate::probe;
use crate::report::paint::ColorChoice;

/// Maximum time that a request may wait.
const LONGEST: Duration = Duration::from_secs(10);

/// `gamewire probe`.
#[derive(Args, Debug)]
pub struct ProbeArgs {
    /// The server or master to ask: an IP address or a name, and a port
    #[arg(value_name = "HOST:PORT")]
    pub host: String,
    /// What it speaks [default: A2S, or else GameSpy 4, or else the GameSpy text protocol]; a master has to be named
    #[arg(long, value_name = "PROTOCOL", value_parser = PossibleValuesParser::new(probe::names()))]
    pub protocol: Option<String>,
    /// How long an answer may take; at most 10s
    #[arg(long, value_name = "TIME", default_value = "2s", value_parser = timeout)]
    pub timeout: Duration,
    /// Allow HOST to be another host than this one: at most 20 requests are sent to it, at most 2 a second
    #[arg(long)]
    pub allow_remote: bool,
    /// Keep what was said in this file, as pcapng
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// List all rules that were checked, and let a broken one make the exit code 1
    ///
    /// What breaks a rule is shown without it, too.
    #[arg(long, conflicts_with = "format")]
    pub check: bool,
    /// Say each request before it is sent, and each answer
    #[arg(short, long)]
    pub verbose: bool,
    /// Output format of the diagnosis
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: DiagnoseFormat,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The configuration of the project.
    #[command(flatten)]
    pub config: ConfigFile,
}

/// The time to wait for an answer.
fn timeout(typed: &str) -> Result<Duration, String> {
    let time = Duration::from_nanos(nanoseconds(typed)?.unsigned_abs());
    match time <= LONGEST {
        true => Ok(time),
        false => Err("at most 10s".to_owned()),
    }
}

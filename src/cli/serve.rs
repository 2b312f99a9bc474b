//! Arguments of `gamewire serve`.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use super::whole_number::whole_number;
use crate::config::nanoseconds;
use crate::play::Faults;

/// `gamewire serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// What to play: names and codes of rules that --list shows; each further one at the next port
    #[arg(value_name = "SCENARIO", required_unless_present = "list")]
    pub scenarios: Vec<String>,
    /// List the scenarios
    #[arg(long, conflicts_with_all = ["scenarios", "record", "once", "duration"])]
    pub list: bool,
    /// Where the first scenario listens; with port 0, each has any free port
    #[arg(long, value_name = "IP:PORT", default_value_t = DEFAULT)]
    pub listen: SocketAddr,
    /// Allow an address that other hosts can reach. Answers to clients that have not returned a challenge are
    /// then withheld if they are more than three times larger than the request
    #[arg(long)]
    pub allow_remote: bool,
    /// Faults of the way, for answers: loss=10%, delay=200ms, reorder, duplicate=5%, truncate=1200, other-port,
    /// silence; several with commas. Over TCP: delay, truncate and silence
    #[arg(long, value_name = "FAULTS")]
    pub fault: Option<Faults>,
    /// Decides which answers have faults: the same number, the same faults
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole_number(0..=u64::MAX))]
    pub seed: u64,
    /// Keep what is said in this file, as pcapng: up to a gigabyte
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// End when a script was played to its end
    #[arg(long)]
    pub once: bool,
    /// End after this time: 10s, 5min
    #[arg(long = "for", value_name = "TIME", value_parser = nanoseconds)]
    pub duration: Option<i64>,
}

/// The usual port of game servers, for this host only.
const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 27_015);

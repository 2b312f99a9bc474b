//! Arguments of recording a command: `gamewire record`, and `gamewire check` with a command.

use std::ffi::OsString;
#[cfg(feature = "cli")]
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::config::nanoseconds;
use crate::relay::{LONGEST_LINGER, RelayPlan};

/// The help heading of these options in `check`.
const RELAY: &str = "Recording a command";

/// `gamewire record`.
#[cfg(feature = "cli")]
#[derive(Args, Debug)]
#[command(
    mut_arg("relay", |it| it.required_unless_present("interface").conflicts_with("interface")),
    mut_arg("command", |it| it.required(true)),
)]
pub struct RecordArgs {
    /// The capture to write
    ///
    /// As pcapng; with -i, as pcap if the name does not end in .pcapng.
    #[arg(short, long, value_name = "FILE")]
    pub write: PathBuf,
    /// Capture on this interface while COMMAND runs, which needs the right to capture
    #[arg(short, long, value_name = "IFACE")]
    pub interface: Option<String>,
    /// With -i: only packets that match this libpcap filter
    #[arg(short = 'f', long, value_name = "BPF", requires = "interface")]
    pub capture_filter: Option<String>,
    /// With -i, if started as root: capture as this user [default: the user who called sudo, else nobody]
    #[arg(short = 'Z', long, value_name = "USER", requires = "interface", hide_short_help = true)]
    pub user: Option<String>,
    /// What is recorded.
    #[command(flatten)]
    pub relays: RelayArgs,
}

/// Which command is run, and what of its traffic is recorded.
#[derive(Args, Debug)]
pub struct RelayArgs {
    /// Forward what COMMAND sends to LISTEN to TARGET, and record it
    ///
    /// Listen at LISTEN, an address and port of this host, forward what COMMAND sends there to TARGET, its
    /// answers back, and record both: [udp:|tcp:]127.0.0.1:0=192.0.2.5:27015. Port 0 of LISTEN: any that is
    /// free. COMMAND finds the address in GAMEWIRE_RELAY_1, that of the second relay in GAMEWIRE_RELAY_2.
    #[arg(help_heading = RELAY, long, value_name = "LISTEN=TARGET", requires = "command")]
    pub relay: Vec<RelayPlan>,
    /// After COMMAND has ended, wait for answers until none came for this time; at most 5s. With -i, go on for
    /// this time
    #[arg(help_heading = RELAY, long, value_name = "TIME", default_value = "1s",
        value_parser = linger, hide_short_help = true)]
    pub linger: Duration,
    /// Allow LISTEN to be an address that other hosts can send to
    #[arg(help_heading = RELAY, long, requires = "relay", hide_short_help = true)]
    pub allow_remote: bool,
    /// The command to run, with its arguments
    #[arg(help_heading = RELAY, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// The time to wait for answers.
fn linger(typed: &str) -> Result<Duration, String> {
    let time = Duration::from_nanos(nanoseconds(typed)?.unsigned_abs());
    match time <= LONGEST_LINGER {
        true => Ok(time),
        false => Err("at most 5s".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_awaited_for_a_few_seconds_at_most() {
        assert_eq!(linger("200ms"), Ok(Duration::from_millis(200)));
        assert_eq!(linger("5s"), Ok(LONGEST_LINGER));
        for typed in ["6s", "0s", "soon"] {
            assert!(linger(typed).is_err(), "{typed}");
        }
    }
}

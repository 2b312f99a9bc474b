//! Arguments of live capture.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use super::whole_number::whole_number;
use crate::config::nanoseconds;
#[cfg(feature = "live")]
use crate::live;
use crate::metrics::HostName;

/// The help heading of options that are only for interfaces.
pub(super) const LIVE: &str = "Live capture";

/// Options of live capture.
#[derive(Args, Debug)]
pub struct LiveArgs {
    /// Capture on this interface instead of reading files
    #[arg(help_heading = LIVE, short, long, value_name = "IFACE")]
    pub interface: Option<String>,
    /// List the interfaces
    #[arg(help_heading = LIVE, short = 'D', long)]
    pub list_interfaces: bool,
    /// Only packets that match this libpcap filter
    ///
    /// `man pcap-filter` describes the language. It also works on files.
    #[arg(hide_short_help = true, short = 'f', long, value_name = "BPF")]
    pub capture_filter: Option<String>,
    /// Bytes to record of each packet [default: 262144]
    #[arg(hide_short_help = true, help_heading = LIVE, short, long, value_name = "BYTES",
        value_parser = whole_number(1..=SNAPLEN))]
    pub snaplen: Option<u32>,
    /// Do not put the interface into promiscuous mode
    #[arg(hide_short_help = true, help_heading = LIVE, short = 'p', long)]
    pub no_promiscuous: bool,
    /// Size of the kernel's capture buffer, in KiB [default: 65536]
    #[arg(hide_short_help = true, help_heading = LIVE, short = 'B', long, value_name = "KIB",
        value_parser = whole_number(1..=2_097_151_u32))]
    pub buffer_size: Option<u32>,
    /// Stop after this time: 30s, 5min
    #[arg(hide_short_help = true, help_heading = LIVE, long, value_name = "TIME", value_parser = nanoseconds)]
    pub duration: Option<i64>,
    /// Write packets to this file
    ///
    /// Live capture: all packets, as pcapng if the name ends in .pcapng, else as pcap. Files: the packets of
    /// the selected messages with all their fragments and segments, as pcapng.
    #[arg(short, long, value_name = "FILE")]
    pub write: Option<PathBuf>,
    /// With -w on files: add a comment with summary and findings to the packet that completes a message
    #[arg(hide_short_help = true, long, requires = "write", conflicts_with = "interface")]
    pub annotate: bool,
    /// Start a new file every SECONDS seconds; files are numbered
    #[arg(hide_short_help = true, help_heading = LIVE, short = 'G', long, value_name = "SECONDS", requires = "write",
        value_parser = whole_number(1..=u64::MAX))]
    pub rotate_seconds: Option<u64>,
    /// Start a new file after MB million bytes; files are numbered
    #[arg(hide_short_help = true, help_heading = LIVE, short = 'C', long, value_name = "MB", requires = "write",
        value_parser = whole_number(1..=1_000_000_u64))]
    pub rotate_size: Option<u64>,
    /// With -C or -G: keep only the newest FILES files
    #[arg(hide_short_help = true, help_heading = LIVE, short = 'W', long, value_name = "FILES", requires = "write",
        value_parser = whole_number(1..=1_000_000_u64))]
    pub rotate_files: Option<u64>,
    /// If started as root: switch to this user once the interface is open [default: the user who called
    /// sudo, else nobody]
    #[arg(hide_short_help = true, help_heading = LIVE, short = 'Z', long, value_name = "USER")]
    pub user: Option<String>,
    /// End when standard input ends: another process of gamewire captures around a command.
    #[arg(hide = true, long, requires = "interface")]
    pub until_input_ends: bool,
    /// Serve metrics at http://ADDRESS:PORT/metrics in the OpenMetrics format; without ADDRESS, at the
    /// loopback address
    #[arg(hide_short_help = true, help_heading = LIVE, long, value_name = "[ADDRESS:]PORT", value_parser = endpoint)]
    pub metrics: Option<SocketAddr>,
    /// Answer requests for metrics by this name of this host, too, in addition to localhost and the
    /// address listened at
    #[arg(hide_short_help = true, help_heading = LIVE, long, value_name = "NAME", requires = "metrics")]
    pub metrics_host: Vec<HostName>,
}

/// An argument of a command that reads files and writes none of their packets: its help does not list what it refuses.
pub(super) fn without_live(argument: clap::Arg) -> clap::Arg {
    let is_live = argument.get_help_heading() == Some(LIVE);
    let is_refused = is_live || matches!(argument.get_id().as_str(), "write" | "annotate");
    if is_refused { argument.hide(true) } else { argument }
}

/// Parses the address to listen at; the default is the loopback address.
fn endpoint(typed: &str) -> Result<SocketAddr, String> {
    let port =
        typed.strip_prefix(':').or_else(|| typed.strip_prefix("localhost:")).unwrap_or(typed);
    match port.parse::<u16>() {
        Ok(port) => Ok((Ipv4Addr::LOCALHOST, port).into()),
        Err(_) => typed.parse().map_err(|_| {
            "expected a port, or an IP address and a port: 9642, 127.0.0.1:9642, [::1]:9642"
                .to_owned()
        }),
    }
}

/// The default and maximum snap length in bytes.
const SNAPLEN: u32 = 262_144;

/// The default size of the kernel's buffer in KiB.
#[cfg(feature = "live")]
const BUFFER: u32 = 65_536;

impl LiveArgs {
    /// The first option that needs an interface, if no interface is given.
    pub fn idle_option(&self) -> Option<&'static str> {
        let given = [
            ("--snaplen", self.snaplen.is_some()),
            ("--no-promiscuous", self.no_promiscuous),
            ("--buffer-size", self.buffer_size.is_some()),
            ("--duration", self.duration.is_some()),
            ("--rotate-seconds", self.rotate_seconds.is_some()),
            ("--rotate-size", self.rotate_size.is_some()),
            ("--rotate-files", self.rotate_files.is_some()),
            ("--user", self.user.is_some()),
            ("--metrics", self.metrics.is_some()),
        ];
        given.into_iter().find(|&(_, is_given)| is_given && self.interface.is_none()).map(|it| it.0)
    }

    /// Whether the newest files are to be kept, and there is only one.
    pub fn keeps_newest_of_one(&self) -> bool {
        self.rotate_files.is_some() && self.rotate_seconds.is_none() && self.rotate_size.is_none()
    }

    /// The live capture, if there is one.
    #[cfg(feature = "live")]
    pub fn request(&self) -> Option<live::CaptureRequest> {
        let write = self.write.as_ref().map(|path| live::FilePlan {
            path: path.clone(),
            seconds: self.rotate_seconds,
            bytes: self.rotate_size.map(|megabytes| megabytes * 1_000_000),
            files: self.rotate_files.map(|files| files as usize),
        });
        Some(live::CaptureRequest {
            interface: self.interface.clone()?,
            filter: self.capture_filter.clone(),
            snaplen: self.snaplen.unwrap_or(SNAPLEN),
            promiscuous: !self.no_promiscuous,
            buffer: Some(self.buffer_size.unwrap_or(BUFFER) * 1024),
            duration: self.duration,
            until_input_ends: self.until_input_ends,
            user: self.user.clone(),
            write,
            later: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_without_an_address_is_on_the_loopback_address() {
        for typed in ["9642", ":9642", "localhost:9642", "127.0.0.1:9642"] {
            assert_eq!(endpoint(typed), Ok(([127, 0, 0, 1], 9642).into()), "{typed}");
        }
        for typed in ["[::1]:9642", "0.0.0.0:9642", "192.0.2.1:80"] {
            assert_eq!(endpoint(typed).unwrap().to_string(), typed);
        }
        for typed in ["", ":", "65536", "127.0.0.1", "example.net:9642", "::1:9642x", "-1"] {
            assert!(endpoint(typed).unwrap_err().contains("expected a port"), "{typed}");
        }
    }
}

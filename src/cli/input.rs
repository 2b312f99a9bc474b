//! Which captures are read, within which limits, and with which configuration.

use std::path::PathBuf;

use clap::Args;

use super::whole_number::whole_number;
use super::{FilterArgs, LiveArgs};
use crate::config::{Config, ConfigError, GivenKey, acr_key, gamespy_key};
use crate::flows::DecodeAs;
use crate::limits;

/// Input options, which all commands share.
#[derive(Args, Debug)]
pub struct InputArgs {
    /// Captures, or folders of captures; `-` is standard input
    ///
    /// pcap or pcapng files, plain or compressed with gzip or zstd.
    #[arg(
        required_unless_present_any = ["interface", "list_interfaces", "read"],
        conflicts_with_all = ["interface", "list_interfaces"],
        value_name = "FILE"
    )]
    pub files: Vec<PathBuf>,
    /// The same as FILE, for compatibility with tcpdump
    #[arg(hide_short_help = true, short, long, value_name = "FILE",
        conflicts_with_all = ["interface", "list_interfaces"])]
    pub read: Vec<PathBuf>,
    /// Live capture.
    #[command(flatten)]
    pub live: LiveArgs,
    /// Read several files as one capture, in time order
    #[arg(long)]
    pub merge: bool,
    /// Decode a port as this protocol: `udp.port==27999,a2s`
    #[arg(hide_short_help = true, short = 'd', long, value_name = "PORT,PROTOCOL")]
    pub decode_as: Vec<DecodeAs>,
    /// Stop after this many packets; with -f, after this many that match
    #[arg(hide_short_help = true, short = 'c', long, value_name = "N",
        value_parser = whole_number(1..=u64::MAX))]
    pub count: Option<u64>,
    /// Number of threads [default: one per processor core, at most eight]. The output does not depend
    /// on it; compressed input, and input filtered by -f, is read by one thread
    #[arg(hide_short_help = true, long, value_name = "N", value_parser = whole_number(1..=u16::MAX))]
    pub threads: Option<u16>,
    /// Check UDP and TCP checksums of all packets. Off by default: in a capture from the sending host they
    /// are usually wrong, because the network card computes them after the packet was recorded
    #[arg(hide_short_help = true, long)]
    pub verify_checksums: bool,
    /// Maximum memory, such as 512M [default: 1G, or a quarter of the machine's memory if that is less].
    /// The limits that --limit can set scale with it
    #[arg(hide_short_help = true, long, value_name = "BYTES")]
    pub memory: Option<limits::Memory>,
    /// Set one limit on memory or length, such as flows=1000 or inflated=4M; docs/limits.md lists them
    #[arg(hide_short_help = true, long, value_name = "NAME=N")]
    pub limit: Vec<limits::Setting>,
    /// Secret key of a GameSpy game, to check validate codes
    #[arg(hide_short_help = true, long, value_name = "GAME=KEY", value_parser = gamespy_key)]
    pub gamespy_key: Vec<GivenKey>,
    /// Secret key of a player at an AssaultCube Reloaded master, to check digests: in hex, or the name
    /// of a file with the hex
    #[arg(hide_short_help = true, long, value_name = "user=NAME,key=HEX|@FILE", value_parser = acr_key)]
    pub acr_key: Vec<GivenKey>,
    /// The selection of messages.
    #[command(flatten)]
    pub wanted: FilterArgs,
    /// The configuration of the project.
    #[command(flatten)]
    pub config: ConfigFile,
    /// What the only file is called, if gamewire made it itself.
    #[arg(skip)]
    pub called: Option<String>,
}

impl InputArgs {
    /// The limits of the run.
    pub fn limits(&self) -> limits::RunLimits {
        limits::RunLimits::with(self.memory.unwrap_or_default(), &self.limit)
    }

    /// Bytes of memory for packets that wait to be written.
    pub fn waiting(&self) -> usize {
        self.memory.unwrap_or_default().waiting()
    }

    /// Bytes of memory for decompressing captures.
    pub fn unpacking(&self) -> usize {
        self.memory.unwrap_or_default().unpacking()
    }
}

/// Options for the configuration file.
#[derive(Args, Clone, Debug)]
pub struct ConfigFile {
    /// Configuration file [default: the nearest gamewire.toml in the working directory or above it]
    #[arg(hide_short_help = true, long, value_name = "FILE", conflicts_with = "no_config")]
    config: Option<PathBuf>,
    /// Do not read gamewire.toml
    #[arg(hide_short_help = true, long)]
    no_config: bool,
}

impl ConfigFile {
    /// Reads the configuration.
    ///
    /// # Errors
    /// The file cannot be read, or is invalid.
    pub fn load(&self) -> Result<Config, ConfigError> {
        if self.no_config {
            return Ok(Config::default());
        }
        Config::load(self.config.as_deref())
    }
}

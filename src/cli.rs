//! The command line, as it is typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::flows::DecodeAs;
use crate::report::paint::Choice;

/// Reads packet captures of game-server query and master-server protocols.
///
/// Valve master server, A2S server queries, GameSpy 4 (UT3), the GameSpy text protocol and the
/// AssaultCube Reloaded master are told by their content, on any port.
#[derive(Debug, Parser)]
#[command(name = "gamewire", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Show every message, with all its fields
    Dissect(Dissect),
    /// List the flows: who talked to whom, in which protocol, how much
    Flows(Flows),
}

/// `gamewire dissect`.
#[derive(Args, Debug)]
pub struct Dissect {
    /// Where packets come from.
    #[command(flatten)]
    pub input: Input,
    /// How messages are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: DissectFormat,
    /// Beneath each message, the tree of its fields: value, meaning, bytes
    #[arg(short, long)]
    pub verbose: bool,
    /// Beneath each message, its bytes, each field's bytes marked
    #[arg(short = 'x', long)]
    pub hex: bool,
    /// In JSON: the tree of fields with names, meanings and byte ranges
    #[arg(long)]
    pub tree: bool,
    /// Write each message at once, also to a pipe
    #[arg(short = 'l', long)]
    pub line_buffered: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
}

/// How `dissect` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DissectFormat {
    /// One line a message
    Text,
    /// One JSON object a line
    Json,
}

/// `gamewire flows`.
#[derive(Args, Debug)]
pub struct Flows {
    /// Where packets come from.
    #[command(flatten)]
    pub input: Input,
    /// How flows are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FlowsFormat,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
}

/// How `flows` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlowsFormat {
    /// An aligned table
    Text,
    /// One JSON object a line
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// Where packets come from, and how they are read: the same for every command.
#[derive(Args, Debug)]
pub struct Input {
    /// pcap or pcapng files, plain or compressed with gzip or zstd; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read several files as one capture, in time order
    #[arg(long)]
    pub merge: bool,
    /// Force a protocol on a port: `udp.port==27999,a2s`
    #[arg(short = 'd', long, value_name = "PORT,PROTOCOL")]
    pub decode_as: Vec<DecodeAs>,
    /// Stop behind this many packets
    #[arg(short = 'c', long, value_name = "N")]
    pub count: Option<u64>,
    /// Judge IP, UDP and TCP checksums (network cards fill them in late, so captures lie)
    #[arg(long)]
    pub verify_checksums: bool,
    /// A GameSpy game's secret key, to check validate codes
    #[arg(long, value_name = "GAME=KEY", value_parser = game_key)]
    pub gamespy_key: Vec<(String, String)>,
}

fn game_key(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((game, key)) if !game.is_empty() && !key.is_empty() => {
            Ok((game.to_owned(), key.to_owned()))
        }
        _ => Err("write it as GAME=KEY, such as ut=KEY".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}

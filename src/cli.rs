//! The command line, as it is typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use dissectors::catalogue;
use dissectors::kit::{Rule, Secret, Severity, Who};

use crate::check::Host;
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
    /// Judge what was said by the protocols' documents
    Check(Check),
    /// List the rules that captures are judged by
    Rules(Rules),
    /// Say what a rule asks, where the document says so, and why it matters
    Explain(Explain),
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

/// `gamewire check`.
#[derive(Args, Debug)]
pub struct Check {
    /// Where packets come from.
    #[command(flatten)]
    pub input: Input,
    /// How verdicts are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: CheckFormat,
    /// The least severity that makes a broken rule fail the capture
    #[arg(long, value_name = "SEVERITY", default_value = "error", value_parser = severity)]
    pub fail_on: Severity,
    /// Vouch that the capture is complete: what is missing from it was not sent
    #[arg(long)]
    pub complete: bool,
    /// Judge by these rules only
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = rule)]
    pub select: Vec<&'static Rule>,
    /// Do not judge by these rules
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = rule)]
    pub ignore: Vec<&'static Rule>,
    /// Fail if one of these rules was not exercised
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = rule)]
    pub require: Vec<&'static Rule>,
    /// Only what this kind of party did
    #[arg(long, value_name = "PARTY", value_parser = party)]
    pub who: Option<Who>,
    /// Only what this party did
    #[arg(long, value_name = "IP[:PORT]")]
    pub host: Option<Host>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
}

/// How `check` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// What is wrong, then a table of verdicts
    Text,
    /// One JSON object
    Json,
    /// JUnit XML: a suite per capture, a case per rule
    Junit,
    /// SARIF 2.1.0
    Sarif,
    /// Annotations of GitHub Actions
    Github,
}

/// How `rules` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RulesFormat {
    /// A line a rule
    Text,
    /// One JSON array
    Json,
}

/// `gamewire rules`.
#[derive(Args, Debug)]
pub struct Rules {
    /// How the catalogue is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: RulesFormat,
}

/// `gamewire explain`.
#[derive(Args, Debug)]
pub struct Explain {
    /// The rule: its code, such as A2S030, or its name, such as player-count
    #[arg(value_name = "CODE", value_parser = rule)]
    pub rule: &'static Rule,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
}

fn rule(name: &str) -> Result<&'static Rule, String> {
    catalogue::rule(name.trim())
        .ok_or_else(|| "no rule has this code; `gamewire rules` lists them".to_owned())
}

fn severity(name: &str) -> Result<Severity, String> {
    let all = [Severity::Error, Severity::Warning, Severity::Note];
    let named = all.into_iter().find(|severity| severity.name() == name);
    named.ok_or_else(|| "there are error, warning and note".to_owned())
}

fn party(name: &str) -> Result<Who, String> {
    let all = [Who::Client, Who::Server, Who::Master];
    let named = all.into_iter().find(|who| who.name() == name);
    named.ok_or_else(|| "there are client, server and master".to_owned())
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
    /// A player's secret key at an AssaultCube Reloaded master, to check digests: in hex, or the
    /// name of a file that holds the hex
    #[arg(long, value_name = "user=NAME,key=HEX|@FILE", value_parser = acr_key)]
    pub acr_key: Vec<AcrKey>,
}

/// A player's key as it was given. What is wrong with it is told where it is used: the parser of
/// the command line would show the key.
pub type AcrKey = Result<(String, Secret), String>;

fn acr_key(text: &str) -> Result<AcrKey, std::convert::Infallible> {
    let parts = text
        .split_once(',')
        .and_then(|(user, key)| Some((user.strip_prefix("user=")?, key.strip_prefix("key=")?)));
    let Some((user, key)) = parts.filter(|(user, key)| !user.is_empty() && !key.is_empty()) else {
        return Ok(Err("--acr-key: write it as user=NAME,key=HEX or user=NAME,key=@FILE".into()));
    };
    let secret = match key.strip_prefix('@') {
        None => secret(key),
        Some(file) => match std::fs::read_to_string(file) {
            Ok(text) => secret(text.trim()),
            Err(error) => Err(format!("cannot read {}: {error}", crate::text::escaped(file))),
        },
    };
    Ok(secret
        .map(|secret| (user.to_owned(), secret))
        .map_err(|error| format!("--acr-key: user {}: {error}", crate::text::escaped(user))))
}

/// The key that hex digits spell.
fn secret(hex: &str) -> Result<Secret, String> {
    let digits: Option<Vec<u8>> =
        hex.chars().map(|digit| digit.to_digit(16).map(|digit| digit as u8)).collect();
    let pairs = digits.filter(|digits| !digits.is_empty() && digits.len().is_multiple_of(2));
    let Some(digits) = pairs else {
        return Err("the key is not written as pairs of hex digits".to_owned());
    };
    Ok(Secret::new(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect::<Vec<u8>>()))
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

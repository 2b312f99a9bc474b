//! The command line.

mod abuse;
mod diagnose;
mod export;
mod input;
mod names;
mod record;
mod report;
mod serve;
mod sniffing;
mod summary;
mod times;
#[cfg(feature = "tui")]
mod view;
mod wanted;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use dissectors::kit::Role;

use crate::check::{self, FailOn};
use crate::filter::Column;
use crate::report::paint::ColorChoice;
use crate::rows::{Order, Table};

pub use abuse::{AbuseArgs, AbuseFormat};
pub use diagnose::{DiagnoseArgs, DiagnoseFormat};
pub use export::{ExportArgs, ExportFormat};
pub use input::{ConfigFile, InputArgs};
pub use record::{RecordArgs, RelayArgs};
pub use report::ReportArgs;
pub use serve::ServeArgs;
pub use sniffing::LiveArgs;
pub use summary::{SummaryArgs, SummaryFormat};
pub use times::TimeOption;
#[cfg(feature = "tui")]
pub use view::ViewArgs;
pub use wanted::FilterArgs;

/// Reads packet captures of game-server query and master-server protocols.
///
/// Valve master server, A2S server queries, GameSpy 4 (UT3), the GameSpy text protocol and the
/// AssaultCube Reloaded master are recognized by their content, on any port.
#[derive(Debug, Parser)]
#[command(name = "gamewire", version = VERSION, max_term_width = 100)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    /// It is invalid, or asks for help.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let mut cli = Cli::try_parse_from(args).map_err(with_one_tip)?;
        if let Some(input) = cli.command.input_mut() {
            input.files.splice(..0, std::mem::take(&mut input.read));
        }
        // clap does not report a missing option that conflicts with one that is present, so it never
        // requires an interface where there are files.
        let Some(live) = cli.command.input().map(|input| &input.live) else { return Ok(cli) };
        if let Some(option) = live.idle_option() {
            let why = match option {
                "--metrics" => "--metrics is only for live capture and needs --interface IFACE; \
                                for files, use --format json"
                    .to_owned(),
                option => format!("{option} is only for live capture and needs --interface IFACE"),
            };
            return Err(Cli::command().error(ErrorKind::MissingRequiredArgument, why));
        }
        if live.write.as_deref().is_some_and(|file| file == Path::new("-")) {
            let why = "cannot write packets to standard output, which has gamewire's own output; name a \
            file with --write";
            return Err(Cli::command().error(ErrorKind::InvalidValue, why));
        }
        Ok(cli)
    }
}

/// Where a command is run, clap suggests in addition to a similar option that the misspelt one is meant for the
/// command.
fn with_one_tip(mut error: clap::Error) -> clap::Error {
    if error.get(ContextKind::SuggestedArg).is_some() {
        error.remove(ContextKind::Suggested);
    }
    error
}

/// The version, and the commit it was built from, if known.
pub const VERSION: &str = env!("GAMEWIRE_VERSION");

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Summarize a capture: servers, masters and clients, and how many requests were answered
    Summary(SummaryArgs),
    /// Find out why players cannot see a server: what is wrong, and what to do about it
    Diagnose(DiagnoseArgs),
    /// Show attacks: which servers are flooded or misused to flood others, who is hit, and whether sources are forged
    Abuse(AbuseArgs),
    /// Show all messages and their fields
    Dissect(DissectArgs),
    /// List the flows: who talked to whom, in which protocol, and how many requests were answered
    Flows(FlowsArgs),
    /// Draw conversations as a ladder diagram: a column for each host, an arrow for each message
    Follow(FollowArgs),
    /// Browse a capture in the terminal: conversations, servers, findings, fields and bytes
    #[cfg(feature = "tui")]
    View(ViewArgs),
    /// Check messages and conversations against the protocols' specifications
    Check(CheckArgs),
    /// Run a command and record its traffic to a server, without the right to capture
    Record(RecordArgs),
    /// Write a report for the browser: one HTML file with verdict, charts, tables and ladder diagrams
    Report(ReportArgs),
    /// Write tables for DuckDB, Spark, pandas and others: messages, flows, findings, servers, clients
    Export(ExportArgs),
    /// Write a copy of a capture that can be shared: addresses, names and texts are replaced
    Scrub(ScrubArgs),
    /// Play game servers and masters for clients under test: right ones, and one for each fault
    Serve(ServeArgs),
    /// List the rules that captures are checked against
    Rules(RulesArgs),
    /// Explain a rule: what it requires, where the specification says so, and why it matters
    Explain(ExplainArgs),
    /// List the fields of all messages: path, type and meaning
    Fields(FieldsArgs),
    /// Print a part of the documentation that is declared in the code
    #[command(hide = true)]
    Docs(DocsArgs),
    /// Print the manual page of gamewire or of one of its commands
    Man(ManArgs),
    /// Print a completion script for a shell
    Completions(CompletionsArgs),
}

/// `gamewire docs`.
#[derive(Args, Debug)]
pub struct DocsArgs {
    /// Which part
    #[arg(value_name = "PART")]
    pub part: DocsPart,
}

/// A part of the documentation.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DocsPart {
    /// The conditions and causes of diagnose, for docs/answers.md
    Causes,
    /// The tables and their columns, for docs/tables.md
    Tables,
}

/// `gamewire man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The command [default: gamewire itself]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// `gamewire completions`.
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

impl Command {
    /// Its input, if it reads packets.
    pub fn input(&self) -> Option<&InputArgs> {
        match self {
            Command::Summary(summary) => Some(&summary.input),
            Command::Diagnose(diagnose) => Some(&diagnose.input),
            Command::Abuse(abuse) => Some(&abuse.input),
            Command::Dissect(dissect) => Some(&dissect.input),
            Command::Follow(follow) => Some(&follow.input),
            #[cfg(feature = "tui")]
            Command::View(view) => Some(&view.input),
            Command::Report(report) => Some(&report.input),
            Command::Export(export) => Some(&export.input),
            Command::Scrub(scrub) => Some(&scrub.input),
            Command::Flows(flows) => Some(&flows.input),
            Command::Check(check) => Some(&check.input),
            Command::Record(_)
            | Command::Serve(_)
            | Command::Rules(_)
            | Command::Explain(_)
            | Command::Fields(_)
            | Command::Docs(_)
            | Command::Man(_)
            | Command::Completions(_) => None,
        }
    }

    /// The same, mutable.
    pub fn input_mut(&mut self) -> Option<&mut InputArgs> {
        match self {
            Command::Summary(summary) => Some(&mut summary.input),
            Command::Diagnose(diagnose) => Some(&mut diagnose.input),
            Command::Abuse(abuse) => Some(&mut abuse.input),
            Command::Dissect(dissect) => Some(&mut dissect.input),
            Command::Follow(follow) => Some(&mut follow.input),
            #[cfg(feature = "tui")]
            Command::View(view) => Some(&mut view.input),
            Command::Report(report) => Some(&mut report.input),
            Command::Export(export) => Some(&mut export.input),
            Command::Scrub(scrub) => Some(&mut scrub.input),
            Command::Flows(flows) => Some(&mut flows.input),
            Command::Check(check) => Some(&mut check.input),
            Command::Record(_)
            | Command::Serve(_)
            | Command::Rules(_)
            | Command::Explain(_)
            | Command::Fields(_)
            | Command::Docs(_)
            | Command::Man(_)
            | Command::Completions(_) => None,
        }
    }
}

/// `gamewire dissect`.
#[derive(Args, Debug)]
pub struct DissectArgs {
    /// Output format [default: text; with --fields, tsv]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<DissectFormat>,
    /// Columns of csv, tsv, table and ndjson: fields such as a2s.info_response.map or map, and attributes
    /// such as time, src, response_time [default: frame, time, src, dst, protocol, message]
    #[arg(long, value_name = "FIELDS", value_delimiter = ',', value_parser = names::columns(),
        hide_possible_values = true)]
    pub fields: Vec<Column>,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// Show the fields of each message as a tree: value, meaning, bytes
    #[arg(short, long)]
    pub verbose: bool,
    /// Show the bytes of each message, with the bytes of each field marked
    #[arg(short = 'x', long)]
    pub hex: bool,
    /// Show all fields and bytes of decompressed responses, however many there are
    #[arg(long)]
    pub full: bool,
    /// In JSON: the tree of fields with names, meanings and byte ranges
    #[arg(long)]
    pub tree: bool,
    /// Flush the output after each message, also to a pipe
    #[arg(short = 'l', long)]
    pub line_buffered: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Output formats of `dissect`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DissectFormat {
    /// One line per message
    Text,
    /// One JSON object per line
    Json,
    /// Chosen fields, as comma-separated values with a header line
    Csv,
    /// Chosen fields, separated by tabs, with a header line
    Tsv,
    /// Chosen fields, in columns
    Table,
    /// Chosen fields, one JSON object per line
    Ndjson,
}

/// `gamewire flows`.
#[derive(Args, Debug)]
pub struct FlowsArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FlowsFormat,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// Sort the flows of each capture by a column of the JSON and CSV output, largest first [default:
    /// by flow number]
    #[arg(long, value_name = "COLUMN", value_parser = summary::column(&[Table::Flows]),
        hide_possible_values = true, ignore_case = true)]
    pub sort: Option<Order>,
    /// Reverse the sort order
    #[arg(long)]
    pub reverse: bool,
    /// Show only the first N flows of each capture, sorted by bytes unless --sort says otherwise
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Output formats of `flows`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlowsFormat {
    /// An aligned table
    Text,
    /// One JSON object per line
    Json,
    /// Comma-separated values with a header line
    Csv,
}

/// `gamewire follow`.
#[derive(Args, Debug)]
pub struct FollowArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: FollowFormat,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Output formats of `follow`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FollowFormat {
    /// Text for a terminal
    Text,
    /// An SVG image
    Svg,
    /// One JSON object
    Json,
    /// A Mermaid diagram for Markdown
    Mermaid,
}

/// `gamewire scrub`.
#[derive(Args, Debug)]
pub struct ScrubArgs {
    /// The capture to write, as pcapng
    #[arg(short, long, value_name = "FILE")]
    pub output: std::path::PathBuf,
    /// Key for replacing addresses and names: with the same key, each has the same replacement in several
    /// captures [default: a random key]
    #[arg(long, value_name = "TEXT")]
    pub key: Option<String>,
    /// Keep the IP, UDP and TCP headers of other traffic, without its payload
    #[arg(long)]
    pub keep_foreign: bool,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// `gamewire check`.
#[derive(Args, Debug)]
// clap counts a changed argument as the last one, and COMMAND must come after FILE.
#[command(
    mut_arg("files", |it| it.required_unless_present("command")),
    mut_arg("command", |it| it.conflicts_with_all(["files", "read", "interface", "annotate"])),
)]
pub struct CheckArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: CheckFormat,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// Lowest severity of a broken rule that fails the capture: error (the default), warning or note;
    /// with never, broken rules do not change the exit code
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    /// State that the capture is complete: messages that are missing from it were not sent
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub complete: Option<bool>,
    /// Check only these rules: codes, code prefixes such as A2S04, or names such as player-count
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub select: Vec<check::Rules>,
    /// Do not check these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub ignore: Vec<check::Rules>,
    /// Fail if one of these rules was not exercised
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub require: Vec<check::Rules>,
    /// Fail if a capture has no message that could be checked
    #[arg(long)]
    pub require_traffic: bool,
    /// File of known findings, which do not fail the capture
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// With --format github: append a summary in Markdown to this file
    #[arg(long, value_name = "FILE", env = "GITHUB_STEP_SUMMARY", hide_env_values = true)]
    pub summary: Option<PathBuf>,
    /// Write all findings to this baseline file, and let none of them fail the capture
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// Only findings about this kind of party
    #[arg(long, value_name = "PARTY", value_parser = check::who)]
    pub who: Option<Role>,
    /// Text output: show this many findings of each rule, and count the others
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub max_findings: usize,
    /// Text output: list all rules in the table, also those that passed
    #[arg(long)]
    pub all_rules: bool,
    /// Text output: findings and totals only
    #[arg(short, long, conflicts_with = "all_rules")]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
    /// A command whose traffic is recorded and checked instead.
    #[command(flatten)]
    pub relays: RelayArgs,
}

/// Output formats of `check`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    /// Findings, then a table of verdicts
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

/// Output formats of `rules` and `fields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// One line per item
    Text,
    /// One JSON array
    Json,
    /// A page in Markdown
    Markdown,
}

/// `gamewire fields`.
#[derive(Args, Debug)]
pub struct FieldsArgs {
    /// Only these fields: path prefixes such as a2s.info_response, or names such as players
    #[arg(value_name = "FIELD", value_delimiter = ',', value_parser = names::fields(),
        hide_possible_values = true)]
    pub fields: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ListFormat,
}

/// `gamewire rules`.
#[derive(Args, Debug)]
pub struct RulesArgs {
    /// Only these rules: codes, code prefixes such as A2S04, or names such as player-count
    #[arg(value_name = "RULE", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub rules: Vec<check::Rules>,
    /// List the specifications' statements instead, and what covers each: rules, fields, diagnoses
    #[arg(long, conflicts_with = "rules")]
    pub coverage: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: ListFormat,
    /// The configuration of the project.
    #[command(flatten)]
    pub config: ConfigFile,
}

/// `gamewire explain`.
#[derive(Args, Debug)]
pub struct ExplainArgs {
    /// The rules: codes such as A2S030, code prefixes such as A2S04, or names such as player-count
    #[arg(value_name = "RULE", required = true, value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub rules: Vec<check::Rules>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The configuration of the project.
    #[command(flatten)]
    pub config: ConfigFile,
}

#[cfg(test)]
mod tests {
    use super::sniffing::LIVE;
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn only_options_for_interfaces_are_under_live_capture() {
        let command = Cli::command();
        for name in ["dissect", "flows", "check"] {
            let command = command.find_subcommand(name).unwrap();
            let heading = |option: &str| {
                let arg = command.get_arguments().find(|arg| arg.get_id() == option).unwrap();
                arg.get_help_heading()
            };
            for option in ["format", "merge", "capture_filter", "limit", "config"] {
                assert_eq!(heading(option), None, "{name} --{option}");
            }
            for option in ["interface", "duration", "rotate_size", "user"] {
                assert_eq!(heading(option), Some(LIVE), "{name} --{option}");
            }
        }
    }
}

//! The command line.

mod abuse;
mod check;
mod diagnose;
pub(crate) mod examples;
mod export;
mod input;
mod names;
#[cfg(feature = "cli")]
mod probe;
mod record;
mod report;
#[cfg(feature = "cli")]
mod serve;
mod sniffing;
mod summary;
mod times;
#[cfg(feature = "tui")]
mod view;
mod wanted;
mod whole_number;
mod without_effect;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};

use crate::filter::Column;
use crate::report::paint::ColorChoice;
use crate::rows::{Order, Table};

pub use abuse::{AbuseArgs, AbuseFormat};
pub use check::{CheckArgs, CheckFormat};
pub use diagnose::{DiagnoseArgs, DiagnoseFormat, OfProbe};
pub use export::{ExportArgs, ExportFormat};
pub use input::{ConfigFile, InputArgs};
#[cfg(feature = "cli")]
pub use probe::ProbeArgs;
#[cfg(feature = "cli")]
pub use record::RecordArgs;
pub use record::RelayArgs;
pub use report::ReportArgs;
#[cfg(feature = "cli")]
pub use serve::ServeArgs;
pub use sniffing::LiveArgs;
pub use summary::{SummaryArgs, SummaryFormat};
pub use times::TimeOption;
#[cfg(feature = "tui")]
pub use view::ViewArgs;
pub use wanted::FilterArgs;
use whole_number::whole_number;

/// Reads packet captures of game-server query and master-server protocols.
///
/// Valve master server, A2S server queries, GameSpy 4 (UT3), the GameSpy text protocol and the
/// AssaultCube Reloaded master are recognized by their content, on any port.
#[derive(Debug, Parser)]
#[command(name = "gamewire", version = VERSION, max_term_width = 100,
    help_template = format!("{TEMPLATE}\n{}{{after-help}}", examples::two(None)),
    override_usage = "gamewire <COMMAND> ...  or  gamewire FILE...", after_long_help = OPTIONS)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// No command was named, only files: they are summarized.
    #[arg(skip)]
    pub is_by_default: bool,
}

/// The help of gamewire itself: it fits a screen of 24 lines, which the commands and their examples nearly fill.
const TEMPLATE: &str = "{about-with-newline}{usage-heading} {usage}\n{subcommands}";

/// Its options, which everybody knows: only the long help lists them.
const OPTIONS: &str = "Options:\n  -h, --help     Print help; after a command, its help\n  -V, --version  Print version";

impl Cli {
    /// Reads a command line.
    ///
    /// # Errors
    /// It is invalid, or asks for help.
    pub fn read(args: impl IntoIterator<Item = OsString>) -> Result<Cli, clap::Error> {
        let args = Vec::from_iter(args);
        let read = Cli::try_parse_from(&args).map_err(with_one_tip);
        let mut cli = read.or_else(|error| of_files(args, error))?;
        if let Command::Check(check) = &mut cli.command
            && check.relays.relay.is_empty()
            && check.input.live.interface.is_none()
        {
            // Without a command to record, `--` divides options from files, as in other programs.
            let files = std::mem::take(&mut check.relays.command).into_iter();
            check.input.files.extend(files.map(PathBuf::from));
        }
        if let Some(input) = cli.command.input() {
            input.files.splice(..0, std::mem::take(&mut input.read));
        }
        // clap does not report a missing option that conflicts with one that is present, so it never
        // requires an interface where there are files.
        if let Some(why) = without_effect::refusal(&mut cli.command) {
            return Err(Cli::command().error(ErrorKind::MissingRequiredArgument, why));
        }
        let Some(live) = cli.command.input().map(|input| &input.live) else { return Ok(cli) };
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

/// The commands that a build for files alone lacks, as that for Windows: they need devices, processes or sockets as Unix
/// has them.
const ONLY_COMPLETE: [&str; 4] = ["probe", "record", "serve", "view"];

/// Reads a command line without a command: if a file is in its place, or `-` for standard input, that is summarized.
///
/// # Errors
/// There is no such file, or the options are not those of `summary`.
fn of_files(mut args: Vec<OsString>, mut error: clap::Error) -> Result<Cli, clap::Error> {
    let Some(first) = args.get(1) else { return Err(error) };
    let is_unknown = match error.get(ContextKind::InvalidSubcommand) {
        Some(ContextValue::String(unknown)) => *unknown == first.to_string_lossy(),
        _ => false,
    };
    if !is_unknown {
        return Err(error);
    }
    if first != "-" && !Path::new(first).exists() {
        let hint = if ONLY_COMPLETE.iter().any(|name| *first == **name) {
            error.remove(ContextKind::SuggestedSubcommand);
            "it is not in this build, which only reads files: use one for Linux or macOS"
        } else {
            "no file has this name, either: name a command, such as summary, or a capture"
        };
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![hint.into()]));
        return Err(error);
    }
    args.insert(1, "summary".into());
    Ok(Cli { is_by_default: true, ..Cli::try_parse_from(args)? })
}

/// The commands that only read captures, apart from `summary`: their names, and what they do.
pub fn others() -> Vec<(String, String)> {
    let cli = Cli::command();
    let has = |command: &clap::Command, name: &str| {
        command.get_arguments().any(|argument| argument.get_id() == name)
    };
    let commands = cli.get_subcommands();
    let others =
        commands.filter(|it| has(it, "files") && !has(it, "output") && it.get_name() != "summary");
    let about = |it: &clap::Command| it.get_about().map(ToString::to_string).unwrap_or_default();
    others.map(|it| (it.get_name().to_owned(), about(it))).collect()
}

/// The version, and the commit it was built from, if known.
pub const VERSION: &str = env!("GAMEWIRE_VERSION");

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Summarize a capture: servers, masters, clients, answered requests
    #[command(after_help = examples::two(Some("summary")))]
    Summary(SummaryArgs),
    /// Find out why players cannot see a server, and what to do about it
    #[command(after_help = examples::two(Some("diagnose")))]
    Diagnose(DiagnoseArgs),
    /// Show attacks: who is flooded, how, and whether sources are forged
    ///
    /// Which servers are flooded or misused to flood others, who is hit, and what filter drops the attack.
    #[command(after_help = examples::two(Some("abuse")))]
    Abuse(AbuseArgs),
    /// Show all messages and their fields
    ///
    /// In the order of the capture. Packets of a response that never becomes whole come when they are given up, after
    /// messages that were recorded since.
    #[command(after_help = examples::two(Some("dissect")))]
    Dissect(DissectArgs),
    /// List the flows: who talked to whom, how much, how fast
    #[command(after_help = examples::two(Some("flows")))]
    Flows(FlowsArgs),
    /// Draw conversations as ladders, with an arrow for each message
    #[command(after_help = examples::two(Some("follow")))]
    Follow(FollowArgs),
    /// Browse a capture in the terminal: conversations, fields, bytes
    #[cfg(feature = "tui")]
    #[command(after_help = examples::two(Some("view")))]
    View(ViewArgs),
    /// Check messages against the protocols' specifications
    #[command(after_help = examples::two(Some("check")))]
    Check(CheckArgs),
    #[cfg(feature = "cli")]
    /// Ask one server or master as clients do, and diagnose it
    #[command(after_help = examples::two(Some("probe")))]
    Probe(ProbeArgs),
    #[cfg(feature = "cli")]
    /// Run a command and record its traffic, without root
    ///
    /// With --relay, no right to capture is needed: relays forward what the command sends, and record it. With -i,
    /// an interface is captured while the command runs.
    #[command(after_help = examples::two(Some("record")))]
    Record(RecordArgs),
    /// Write a report for the browser: verdict, charts, tables, ladders
    #[command(after_help = examples::two(Some("report")), mut_args(sniffing::without_live))]
    Report(ReportArgs),
    /// Write tables for DuckDB, Spark, pandas and others
    ///
    /// Messages, flows, findings, servers, clients; docs/tables.md lists the columns.
    #[command(after_help = examples::two(Some("export")), mut_args(sniffing::without_live))]
    Export(ExportArgs),
    /// Write a copy to share: addresses, names and texts are replaced
    #[command(after_help = examples::two(Some("scrub")), mut_args(sniffing::without_live))]
    Scrub(ScrubArgs),
    #[cfg(feature = "cli")]
    /// Play game servers and masters for clients under test
    ///
    /// Right ones, and one for each fault that a rule is about.
    #[command(after_help = examples::two(Some("serve")))]
    Serve(ServeArgs),
    /// List the rules that captures are checked against
    #[command(after_help = examples::two(Some("rules")))]
    Rules(RulesArgs),
    /// Explain a rule: what it requires, why, and who says so
    #[command(after_help = examples::two(Some("explain")))]
    Explain(ExplainArgs),
    /// List the fields of all messages: path, type and meaning
    #[command(after_help = examples::two(Some("fields")))]
    Fields(FieldsArgs),
    #[cfg(feature = "program")]
    /// Print a part of the documentation that is declared in the code
    #[command(hide = true)]
    Docs(DocsArgs),
    #[cfg(feature = "program")]
    /// Print the manual page of gamewire or of one of its commands
    #[command(after_help = examples::two(Some("man")))]
    Man(ManArgs),
    #[cfg(feature = "program")]
    /// Print a completion script for a shell
    #[command(after_help = examples::two(Some("completions")))]
    Completions(CompletionsArgs),
}

/// `gamewire docs`.
#[cfg(feature = "program")]
#[derive(Args, Debug)]
pub struct DocsArgs {
    /// Which part
    #[arg(value_name = "PART")]
    pub part: DocsPart,
}

/// A part of the documentation.
#[cfg(feature = "program")]
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DocsPart {
    /// The conditions and causes of diagnose, for docs/answers.md
    Causes,
    /// The limits that users can set, for docs/limits.md
    Limits,
    /// The tables and their columns, for docs/tables.md
    Tables,
}

/// `gamewire man`.
#[cfg(feature = "program")]
#[derive(Args, Debug)]
pub struct ManArgs {
    /// The command [default: gamewire itself]
    #[arg(value_name = "COMMAND")]
    pub command: Option<String>,
}

/// `gamewire completions`.
#[cfg(feature = "program")]
#[derive(Args, Debug)]
pub struct CompletionsArgs {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub shell: clap_complete::Shell,
}

impl Command {
    /// Its input, if it reads packets.
    pub fn input(&mut self) -> Option<&mut InputArgs> {
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
            Command::Rules(_) | Command::Explain(_) | Command::Fields(_) => None,
            #[cfg(feature = "cli")]
            Command::Probe(_) | Command::Record(_) | Command::Serve(_) => None,
            #[cfg(feature = "program")]
            Command::Docs(_) | Command::Man(_) | Command::Completions(_) => None,
        }
    }
}

/// `gamewire dissect`.
#[derive(Args, Debug)]
pub struct DissectArgs {
    /// Output format [default: text; with --fields, tsv]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<DissectFormat>,
    /// Columns of csv, tsv, table and ndjson, such as time, src, map
    ///
    /// Fields such as a2s.info_response.map or map, and attributes such as time, src, response_time [default:
    /// frame, time, src, dst, protocol, message].
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
    #[arg(hide_short_help = true, long)]
    pub full: bool,
    /// In JSON: the tree of fields with names, meanings and byte ranges
    #[arg(long)]
    pub tree: bool,
    /// Flush the output after each message, also to a pipe
    #[arg(hide_short_help = true, short = 'l', long)]
    pub line_buffered: bool,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
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
    /// Sort the flows of each capture by a column, largest first
    ///
    /// The column is one of the JSON and CSV output [default: by flow number].
    #[arg(long, value_name = "COLUMN", value_parser = summary::column(&[Table::Flows]),
        hide_possible_values = true, ignore_case = true)]
    pub sort: Option<Order>,
    /// Reverse the sort order
    #[arg(hide_short_help = true, long)]
    pub reverse: bool,
    /// Show only the first N flows, sorted by bytes
    ///
    /// N flows of each capture; --sort chooses another order.
    #[arg(long, value_name = "N", value_parser = whole_number(1..=u32::MAX))]
    pub top: Option<u32>,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
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
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
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
    /// Key for replacing addresses and names [default: a random key]
    ///
    /// With the same key, each has the same replacement in several captures.
    #[arg(long, value_name = "TEXT")]
    pub key: Option<String>,
    /// Keep the IP, UDP and TCP headers of other traffic, without its payload: diagnose and abuse may need them
    #[arg(long)]
    pub keep_foreign: bool,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
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
    pub rules: Vec<crate::check::Rules>,
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
    pub rules: Vec<crate::check::Rules>,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
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
    fn commands_that_a_build_lacks_are_explained() {
        for name in ONLY_COMPLETE {
            let known = Cli::command().find_subcommand(name).is_some();
            let error = Cli::read(["gamewire", name].map(OsString::from)).unwrap_err().to_string();
            assert_ne!(error.contains("not in this build"), known, "{name}: {error}");
        }
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

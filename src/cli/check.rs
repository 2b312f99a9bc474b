//! Arguments of `gamewire check`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use dissectors::kit::Role;

use super::whole_number::whole_number;
use super::{InputArgs, RelayArgs, TimeOption, names};
use crate::check::{self, FailOn};
use crate::report::paint::ColorChoice;

/// `gamewire check`.
#[derive(Args, Debug)]
// clap counts a changed argument as the last one, and COMMAND must come after FILE.
#[command(
    mut_arg("files", |it| it.required_unless_present("command")),
    mut_arg("relay", |it| {
        it.conflicts_with_all(["files", "read", "interface", "annotate"]).hide_short_help(true)
    }),
    mut_arg("command", |it| it.hide_short_help(true)),
)]
pub struct CheckArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: CheckFormat,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// Lowest severity of a broken rule that fails the capture
    ///
    /// error (the default), warning or note; with never, broken rules do not change the exit code.
    #[arg(long, value_name = "SEVERITY")]
    pub fail_on: Option<FailOn>,
    /// State that the capture is complete: messages that are missing from it were not sent
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub complete: Option<bool>,
    /// Check only these rules, such as A2S030, A2S04, player-count
    ///
    /// Codes, code prefixes such as A2S04, or names such as player-count.
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub select: Vec<check::Rules>,
    /// Do not check these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub ignore: Vec<check::Rules>,
    /// Fail if one of these rules was not exercised
    #[arg(hide_short_help = true, long, value_name = "RULES", value_delimiter = ',', value_parser = names::rules(),
        hide_possible_values = true)]
    pub require: Vec<check::Rules>,
    /// Fail if a capture has no message that could be checked
    #[arg(long)]
    pub require_traffic: bool,
    /// File of known findings, which do not fail the capture
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// With --format github: append a summary in Markdown to this file
    #[arg(
        hide_short_help = true,
        long,
        value_name = "FILE",
        env = "GITHUB_STEP_SUMMARY",
        hide_env_values = true
    )]
    pub summary: Option<PathBuf>,
    /// Write all findings to this baseline file, and let none of them fail the capture
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// Only findings about this kind of party
    #[arg(long, value_name = "PARTY", value_parser = check::who)]
    pub who: Option<Role>,
    /// Text output: show this many findings of each rule, and count the others
    #[arg(hide_short_help = true, long, value_name = "N", default_value_t = 5,
        value_parser = whole_number(0..=u32::MAX))]
    pub max_findings: u32,
    /// Text output: list all rules in the table, also those that passed
    #[arg(hide_short_help = true, long)]
    pub all_rules: bool,
    /// Text output: findings and totals only
    #[arg(short, long, conflicts_with = "all_rules")]
    pub quiet: bool,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
    /// A command whose traffic is recorded and checked instead.
    #[command(flatten)]
    pub relays: RelayArgs,
}

impl CheckArgs {
    /// Whether an interface is captured while a command runs.
    pub fn captures_around_command(&self) -> bool {
        self.input.live.interface.is_some() && !self.relays.command.is_empty()
    }
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

//! `gamewire abuse`, as it is typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::Input;
use crate::report::abuse_report::Reporter;
use crate::report::firewall::Firewall;
use crate::report::paint::Choice;

/// `gamewire abuse`.
#[derive(Args, Debug)]
pub struct Abuse {
    /// How it is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: AbuseFormat,
    /// Print the best filter against each attack, for a firewall: the one that drops most of those that
    /// drop at most 0.1 % of the packets of real clients
    #[arg(long, value_name = "FIREWALL", conflicts_with = "format")]
    pub emit: Option<Firewall>,
    /// Write reports to those whose networks attacks come from into this new folder: a text to mail and
    /// X-ARF for each source; nothing is sent
    #[arg(long, value_name = "FOLDER", requires = "reporter")]
    pub report: Option<PathBuf>,
    /// Who reports: 'Example Hosting <abuse@example.net>'
    #[arg(long, value_name = "NAME <MAIL>", requires = "report")]
    pub reporter: Option<Reporter>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
    /// Where packets come from.
    #[command(flatten)]
    pub input: Input,
}

/// How `abuse` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AbuseFormat {
    /// A paragraph an attack
    Text,
    /// One JSON object a capture
    Json,
}

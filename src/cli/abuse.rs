//! `gamewire abuse`, as it is typed.

use clap::{Args, ValueEnum};

use super::Input;
use crate::report::paint::Choice;

/// `gamewire abuse`.
#[derive(Args, Debug)]
pub struct Abuse {
    /// How it is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: AbuseFormat,
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

//! `gamewire view`, as it is typed.

use clap::Args;

use super::{Input, Times};
use crate::report::paint::Choice;

/// `gamewire view`.
#[derive(Args, Debug)]
pub struct View {
    /// How times are written in ladders; in lists they are local or in UTC
    #[arg(long, value_name = "STYLE", default_value = "utc")]
    pub time: Times,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
    /// Where packets come from.
    #[command(flatten)]
    pub input: Input,
}

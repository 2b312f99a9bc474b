//! `gamewire view`, as it is typed.

use clap::Args;

use super::{InputArgs, TimeOption};
use crate::report::paint::Choice;

/// `gamewire view`.
#[derive(Args, Debug)]
pub struct ViewArgs {
    /// How times are written: in lists, local or in UTC.
    #[command(flatten)]
    pub times: TimeOption,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Choice,
    /// Where packets come from.
    #[command(flatten)]
    pub input: InputArgs,
}

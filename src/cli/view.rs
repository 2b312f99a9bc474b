//! Arguments of `gamewire view`.

use clap::Args;

use super::{InputArgs, TimeOption};
use crate::report::paint::ColorChoice;

/// `gamewire view`.
#[derive(Args, Debug)]
pub struct ViewArgs {
    /// The style of times in lists.
    #[command(flatten)]
    pub times: TimeOption,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

//! Arguments of `gamewire report`.

use std::path::PathBuf;

use clap::Args;

use super::InputArgs;

/// `gamewire report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// HTML file to write; it opens in any browser and loads no other files
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// State that the capture is complete: messages that are missing from it were not sent
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub complete: Option<bool>,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

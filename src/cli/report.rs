//! `gamewire report`, as it is typed.

use std::path::PathBuf;

use clap::Args;

use super::InputArgs;

/// `gamewire report`.
#[derive(Args, Debug)]
pub struct ReportArgs {
    /// The file to write: one HTML file that opens in any browser and loads nothing else
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// State that the capture is complete: what is missing from it was not sent
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub complete: Option<bool>,
    /// Where packets come from.
    #[command(flatten)]
    pub input: InputArgs,
}

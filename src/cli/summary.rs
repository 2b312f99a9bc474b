//! Arguments of `gamewire summary`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::{InputArgs, TimeOption};
use crate::config::nanoseconds;
use crate::report::paint::ColorChoice;
use crate::report::summary::{Order, SummaryTable, columns};

/// `gamewire summary`.
#[derive(Args, Debug)]
pub struct SummaryArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: SummaryFormat,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// Show only this table [default: all tables; in csv, servers]
    #[arg(long, value_name = "TABLE")]
    pub table: Option<SummaryTable>,
    /// Sort tables by this column, named by its heading or as in JSON and CSV: largest numbers and
    /// earliest times first, names in alphabetical order [default: by number of requests]
    #[arg(long, value_name = "COLUMN", value_parser = column(), hide_possible_values = true, ignore_case = true)]
    pub sort: Option<Order>,
    /// Show only the first N rows of each table [default: 20 in text and markdown, else all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub top: Option<u32>,
    /// Live capture: update the summary at this interval: 10s, 1min [default: every second, in place, if
    /// standard output is a terminal, else only at the end]
    #[arg(long, value_name = "TIME", value_parser = nanoseconds, requires = "interface")]
    pub interval: Option<i64>,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Parses the name or the heading of a column.
fn column() -> impl TypedValueParser<Value = Order> {
    let value = |(name, heading): (&'static str, &'static str)| {
        let heading = Some(heading.to_ascii_lowercase()).filter(|heading| !heading.is_empty());
        PossibleValue::new(name).aliases(heading)
    };
    PossibleValuesParser::new(columns().into_iter().map(value)).map(Order)
}

/// Output formats of `summary`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// Tables for a terminal
    Text,
    /// One JSON object per capture
    Json,
    /// One table, as comma-separated values
    Csv,
    /// Tables for a web page or an issue
    Markdown,
}

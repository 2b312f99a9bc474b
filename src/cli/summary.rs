//! Arguments of `gamewire summary`.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::whole_number::whole_number;
use super::{InputArgs, TimeOption};
use crate::config::nanoseconds;
use crate::report::paint::ColorChoice;
use crate::rows::{Order, Table};

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
    #[arg(long, value_name = "TABLE", value_parser = table())]
    pub table: Option<Table>,
    /// Sort tables by this column [default: by number of requests]
    ///
    /// It is named by its heading or as in JSON and CSV. Largest numbers and earliest times come first, names in
    /// alphabetical order.
    #[arg(long, value_name = "COLUMN", value_parser = column(&Table::OF_SUMMARY), hide_possible_values = true,
        ignore_case = true)]
    pub sort: Option<Order>,
    /// Show only the first N rows of each table [default: 20 in text and markdown, else all]
    #[arg(long, value_name = "N", value_parser = whole_number(1..=u32::MAX))]
    pub top: Option<u32>,
    /// Live capture: update the summary at this interval: 10s, 1min [default: every second, in place, if
    /// standard output is a terminal, else only at the end]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = nanoseconds)]
    pub interval: Option<i64>,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Parses the name of a table.
fn table() -> impl TypedValueParser<Value = Table> {
    let value = |table: Table| PossibleValue::new(table.name()).help(table.title());
    let named = |name: String| Table::OF_SUMMARY.into_iter().find(|table| table.name() == name);
    PossibleValuesParser::new(Table::OF_SUMMARY.map(value))
        .try_map(move |name| named(name).ok_or("no table of this name"))
}

/// Parses the name or the heading of a column of some of these tables.
pub(super) fn column(tables: &[Table]) -> impl TypedValueParser<Value = Order> {
    let mut values: Vec<PossibleValue> = Vec::new();
    for (_, heading) in tables.iter().flat_map(|table| table.of_file()) {
        if values.iter().all(|value| value.get_name() != heading.name) {
            let shown = heading.shown.map(|shown| shown.heading.to_ascii_lowercase());
            values.push(PossibleValue::new(heading.name).aliases(shown));
        }
    }
    PossibleValuesParser::new(values).map(Order)
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

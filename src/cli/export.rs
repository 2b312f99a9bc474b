//! Arguments of `gamewire export`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use super::InputArgs;
use crate::tables::Table;

/// `gamewire export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// Folder to write to, created if needed; each table is a file in it, such as messages.parquet
    #[arg(short, long, value_name = "DIR")]
    pub output: PathBuf,
    /// File format
    #[arg(long, value_name = "FORMAT")]
    pub format: ExportFormat,
    /// Only these tables; docs/tables.md lists their columns [default: all]
    #[arg(long, value_name = "TABLES", value_delimiter = ',', value_parser = table())]
    pub tables: Vec<Table>,
    /// State that the capture is complete: messages that are missing from it were not sent
    #[arg(hide_short_help = true, long, value_name = "BOOL", num_args = 0..=1, require_equals = true,
        default_missing_value = "true")]
    pub complete: Option<bool>,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// File formats of `export`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    /// Parquet files; only if gamewire was built with --features parquet
    Parquet,
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object per line
    Ndjson,
    /// Not tables: each request with its response as a JSON file, for tests of parsers (docs/vectors.md)
    Vectors,
}

impl ExportFormat {
    /// The file extension.
    pub fn ending(self) -> &'static str {
        match self {
            ExportFormat::Parquet => "parquet",
            ExportFormat::Csv => "csv",
            ExportFormat::Ndjson => "ndjson",
            ExportFormat::Vectors => "json",
        }
    }
}

fn table() -> impl TypedValueParser<Value = Table> {
    PossibleValuesParser::new(Table::ALL.map(Table::name))
        .try_map(|name| Table::named(&name).ok_or("no table of this name"))
}

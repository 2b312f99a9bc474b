//! `gamewire tables`: the catalogue of tables and their columns.

use std::io::Write;

use crate::cli::{ListFormat, TablesArgs};
use crate::commands::Failure;
use crate::report::tables;
use crate::rows::Table;

/// Lists the tables that were named, or all of them.
///
/// # Errors
/// The output cannot be written.
pub fn list(args: &TablesArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let named = |table: &Table| args.tables.is_empty() || args.tables.contains(table);
    let all: Vec<_> = Table::ALL.into_iter().filter(named).collect();
    let mut text = String::new();
    match args.format {
        ListFormat::Text => tables::list(&all, &mut text),
        ListFormat::Markdown => tables::markdown(&all, &mut text),
        ListFormat::Json => tables::json(&all, &mut text),
    }
    Ok(out.write_all(text.as_bytes())?)
}

//! `gamewire fields`: the catalogue of fields.

use std::io::{self, Write};

use dissectors::catalogue;

use crate::Terminal;
use crate::cli::{FieldsArgs, ListFormat};
use crate::commands::Failure;
use crate::report::fields;

/// Lists the fields that were named, or all of them.
///
/// # Errors
/// The output cannot be written.
pub fn list(args: &FieldsArgs, out: &mut dyn Write, terminal: Terminal<'_>) -> Result<(), Failure> {
    let mut all = catalogue::fields();
    all.retain(|it| args.fields.is_empty() || args.fields.iter().any(|named| it.is(named)));
    let mut bytes = Vec::new();
    let mut text = String::new();
    match args.format {
        ListFormat::Text => fields::list(&all, terminal.columns, &mut text),
        ListFormat::Markdown => fields::markdown(&all, &mut text),
        ListFormat::Json => fields::json(&all, &mut bytes).map_err(io::Error::from)?,
    }
    bytes.extend(text.into_bytes());
    Ok(out.write_all(&bytes)?)
}

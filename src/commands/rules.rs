//! `gamewire rules` and `gamewire explain`: the catalogue.

use std::io::{self, Write};

use dissectors::catalogue;
use dissectors::kit::Rule;

use crate::Terminal;
use crate::check;
use crate::cli::{ExplainArgs, ListFormat, RulesArgs};
use crate::commands::{Failure, painted};
use crate::report::check::{markdown, rules};
use crate::report::coverage;

/// Lists the catalogue.
///
/// # Errors
/// The configuration cannot be read, or the output not be written.
pub fn list(args: &RulesArgs, out: &mut dyn Write, terminal: Terminal<'_>) -> Result<(), Failure> {
    if args.coverage {
        return coverage_of_specifications(args.format, out);
    }
    let severities = args.config.load()?.severities;
    let all = chosen(&args.rules).unwrap_or_else(catalogue::rules);
    let mut bytes = Vec::new();
    match args.format {
        ListFormat::Text => {
            let mut text = String::new();
            rules::list(&all, &severities, terminal.columns, &mut text);
            bytes = text.into_bytes();
        }
        ListFormat::Markdown => {
            let mut text = String::new();
            markdown::write(&all, &severities, &mut text);
            bytes = text.into_bytes();
        }
        ListFormat::Json => rules::json(&all, &severities, &mut bytes).map_err(io::Error::from)?,
    }
    Ok(out.write_all(&bytes)?)
}

/// Lists the statements of the specifications.
fn coverage_of_specifications(format: ListFormat, out: &mut dyn Write) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    let mut text = String::new();
    match format {
        ListFormat::Text => coverage::list(&mut text),
        ListFormat::Markdown => coverage::markdown(&mut text),
        ListFormat::Json => coverage::json(&mut bytes).map_err(io::Error::from)?,
    }
    bytes.extend(text.into_bytes());
    Ok(out.write_all(&bytes)?)
}

/// The rules that were named, each once, in the order of their codes; `None` where none was.
fn chosen(named: &[check::Rules]) -> Option<Vec<&'static Rule>> {
    let mut rules = Vec::from_iter(named.iter().flat_map(|named| named.all.iter().copied()));
    rules.sort_by_key(|rule| rule.code);
    rules.dedup_by_key(|rule| rule.code);
    Some(rules).filter(|rules| !rules.is_empty())
}

/// Explains rules.
///
/// # Errors
/// The configuration cannot be read, or the output not be written.
pub fn explain(
    args: &ExplainArgs,
    out: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let severities = args.config.load()?.severities;
    let paint = painted(args.color, terminal.out);
    let mut text = String::new();
    for rule in chosen(&args.rules).unwrap_or_default() {
        if !text.is_empty() {
            text.push('\n');
        }
        rules::explain(rule, severities.of(rule), paint, terminal.columns, &mut text);
    }
    Ok(out.write_all(text.as_bytes())?)
}

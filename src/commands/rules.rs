//! `gamewire rules` and `gamewire explain`: the catalogue.

use std::io::{self, Write};

use dissectors::catalogue;

use crate::Terminal;
use crate::cli::{Explain, Rules, RulesFormat};
use crate::commands::{Failure, painted};
use crate::report::check::{markdown, rules};

/// Lists the catalogue.
///
/// # Errors
/// The configuration cannot be read, or the output not be written.
pub fn list(args: &Rules, out: &mut dyn Write) -> Result<(), Failure> {
    let severities = args.config.load()?.severities;
    let all = catalogue::rules();
    let mut bytes = Vec::new();
    match args.format {
        RulesFormat::Text => {
            let mut text = String::new();
            rules::list(&all, &severities, &mut text);
            bytes = text.into_bytes();
        }
        RulesFormat::Markdown => {
            let mut text = String::new();
            markdown::write(&all, &severities, &mut text);
            bytes = text.into_bytes();
        }
        RulesFormat::Json => rules::json(&all, &severities, &mut bytes).map_err(io::Error::from)?,
    }
    Ok(out.write_all(&bytes)?)
}

/// Explains one rule.
///
/// # Errors
/// The configuration cannot be read, or the output not be written.
pub fn explain(args: &Explain, out: &mut dyn Write, terminal: Terminal) -> Result<(), Failure> {
    let severity = args.config.load()?.severities.of(args.rule);
    let mut text = String::new();
    rules::explain(args.rule, severity, painted(args.color, terminal.out), &mut text);
    Ok(out.write_all(text.as_bytes())?)
}

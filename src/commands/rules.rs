//! `gamewire rules` and `gamewire explain`: the catalogue.

use std::io::{self, Write};

use dissectors::catalogue;

use crate::Terminal;
use crate::cli::{Explain, Rules, RulesFormat};
use crate::commands::{Failure, painted};
use crate::report::check::rules;

/// Lists the catalogue.
///
/// # Errors
/// The output cannot be written.
pub fn list(args: &Rules, out: &mut dyn Write) -> Result<(), Failure> {
    let all = catalogue::rules();
    let mut bytes = Vec::new();
    match args.format {
        RulesFormat::Text => {
            let mut text = String::new();
            rules::list(&all, &mut text);
            bytes = text.into_bytes();
        }
        RulesFormat::Json => rules::json(&all, &mut bytes).map_err(io::Error::from)?,
    }
    Ok(out.write_all(&bytes)?)
}

/// Explains one rule.
///
/// # Errors
/// The output cannot be written.
pub fn explain(args: &Explain, out: &mut dyn Write, terminal: Terminal) -> Result<(), Failure> {
    let mut text = String::new();
    rules::explain(args.rule, painted(args.color, terminal.out), &mut text);
    Ok(out.write_all(text.as_bytes())?)
}

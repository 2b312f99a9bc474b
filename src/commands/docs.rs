//! `gamewire docs`: parts of the documentation that are declared in the code. It is for
//! `cargo run -p xtask -- docs`, which writes them into the pages.

use std::io::Write;

use dissectors::catalogue;

use crate::cli::{DocsArgs, DocsPart};
use crate::commands::Failure;
use crate::limits;
use crate::report::{causes, tables};

/// Writes a part in Markdown.
///
/// # Errors
/// The output cannot be written.
pub fn part(args: &DocsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut text = String::new();
    match args.part {
        DocsPart::Causes => causes::markdown(&catalogue::causes(), &mut text),
        DocsPart::Limits => limits::markdown(&mut text),
        DocsPart::Tables => tables::markdown(&mut text),
    }
    Ok(out.write_all(text.as_bytes())?)
}

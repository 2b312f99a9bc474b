//! `gamewire man` and `gamewire completions`, generated from the command line's definition.

use std::io::Write;

use clap::CommandFactory;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::cli::{self, Cli, CompletionsArgs, examples};
use crate::commands::Failure;
use crate::text::escaped;

/// Writes a manual page in roff.
///
/// # Errors
/// There is no such command, or the output cannot be written.
pub fn page(args: &cli::ManArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.command {
        let shown = || command.get_subcommands().filter(|it| !it.is_hide_set());
        let Some(found) = shown().find(|it| it.get_name() == name) else {
            let names: Vec<_> = shown().map(clap::Command::get_name).collect();
            let (name, known) = (escaped(name).into_owned(), names.join(", "));
            return Err(Failure::NoCommand { name, known });
        };
        command = found.clone().version(cli::VERSION);
    }
    let mut page = Vec::new();
    // The page has its own section of examples.
    let command = command.after_help(None::<&str>).after_long_help(None::<&str>);
    Man::new(command).render(&mut page)?;
    sections(args.command.as_deref()).to_writer(&mut page)?;
    Ok(out.write_all(&page)?)
}

/// Sections that are not in the definition of the command line.
fn sections(command: Option<&str>) -> Roff {
    let mut page = Roff::new();
    let examples = examples::of(command);
    if !examples.is_empty() {
        page.control("SH", ["EXAMPLES"]);
    }
    for (what, line) in examples {
        page.control("TP", []).text([roman(*what)]).text([bold(*line)]);
    }
    page.control("SH", ["EXIT STATUS"]);
    for (code, meaning) in EXIT_CODES {
        page.control("TP", []).text([bold(code)]).text([roman(meaning)]);
    }
    page.control("SH", ["FILES"]);
    page.control("TP", []).text([bold("gamewire.toml")]).text([roman(
        "The configuration of a project: the nearest one in the working directory or above it, unless --config or \
         --no-config is given.",
    )]);
    let others = if command.is_some() { "gamewire(1), " } else { "" };
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(format!("{others}tcpdump(1), tshark(1), editcap(1), pcap-filter(7)"))]);
    page
}

const EXIT_CODES: [(&str, &str); 5] = [
    ("0", "Success; check found no fault that fails the capture."),
    (
        "1",
        "check found a fault that fails the capture (see --fail-on, --require and --require-traffic), or diagnose or probe found a fault.",
    ),
    (
        "2",
        "The command line, the input or the configuration is invalid, or output cannot be written.",
    ),
    ("130", "The run was interrupted before there was a result."),
    (
        "other",
        "Of record, and of check with a command if no fault fails the capture: the exit code of the command, or 128 \
         and the signal that ended it.",
    ),
];

/// Writes a shell's completions.
///
/// # Errors
/// The output cannot be written.
pub fn completions(args: &CompletionsArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gamewire", &mut script);
    Ok(out.write_all(&script)?)
}

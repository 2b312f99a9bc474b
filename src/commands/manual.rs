//! `gamewire man` and `gamewire completions`: what packages install beside the program, made from
//! the command line itself.

use std::io::Write;

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{self, Cli, Completions};
use crate::commands::Failure;
use crate::text::escaped;

/// Writes a manual page in roff.
///
/// # Errors
/// There is no such command, or the output cannot be written.
pub fn page(args: &cli::Man, out: &mut dyn Write) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    if let Some(name) = &args.command {
        let known = |known: &&clap::Command| known.get_name() == name;
        let Some(found) = command.get_subcommands().find(known) else {
            let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
            let (name, known) = (escaped(name).into_owned(), names.join(", "));
            return Err(Failure::NoCommand { name, known });
        };
        command = found.clone().version(cli::VERSION);
    }
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(out.write_all(&page)?)
}

/// Writes a shell's completions.
///
/// # Errors
/// The output cannot be written.
pub fn completions(args: &Completions, out: &mut dyn Write) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "gamewire", &mut script);
    Ok(out.write_all(&script)?)
}

//! Writes manual pages and completions for packages into `target/package-files`; the program generates them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

/// The shells that packages install completions for, and their file names.
const SHELLS: &[(&str, &str)] = &[
    ("bash", "gamewire.bash"),
    ("fish", "gamewire.fish"),
    ("powershell", "_gamewire.ps1"),
    ("zsh", "_gamewire"),
];

/// Runs the program to write them.
pub(crate) fn run(root: &Path, program: &Path, out: &mut dyn Write) -> io::Result<ExitCode> {
    let files = root.join("target/package-files");
    let (man, completions) = (files.join("man"), files.join("completions"));
    fs::create_dir_all(&man)?;
    fs::create_dir_all(&completions)?;
    let page = gamewire(program, &["man"])?;
    fs::write(man.join("gamewire.1"), &page)?;
    for command in commands(&page) {
        let page = gamewire(program, &["man", &command])?;
        fs::write(man.join(format!("gamewire-{command}.1")), page)?;
    }
    for (shell, name) in SHELLS {
        fs::write(completions.join(name), gamewire(program, &["completions", shell])?)?;
    }
    writeln!(out, "wrote target/package-files")?;
    Ok(ExitCode::SUCCESS)
}

fn gamewire(program: &Path, arguments: &[&str]) -> io::Result<Vec<u8>> {
    let ran = Command::new(program).args(arguments).output()?;
    if ran.status.success() {
        return Ok(ran.stdout);
    }
    Err(io::Error::other(String::from_utf8_lossy(&ran.stderr).into_owned()))
}

/// The commands that the main page lists as `gamewire-COMMAND(1)`.
fn commands(page: &[u8]) -> Vec<String> {
    let page = String::from_utf8_lossy(page);
    let names = page.lines().filter_map(|line| line.strip_prefix("gamewire\\-"));
    let names = names.filter_map(|name| name.strip_suffix("(1)"));
    names.filter(|name| *name != "help").map(|name| name.replace('\\', "")).collect()
}

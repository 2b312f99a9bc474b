//! Tells the program which commit it is built from, where that is known: `gamewire --version` says it.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GAMEWIRE_COMMIT");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // Whoever builds from an archive may say it; else git does, if this is its work tree.
    let commit = env::var("GAMEWIRE_COMMIT").ok().or_else(commit);
    let said = commit.filter(|commit| is_commit(commit)).map(|commit| format!(" ({commit})"));
    println!("cargo:rustc-env=GAMEWIRE_VERSION={version}{}", said.unwrap_or_default());
}

/// The commit that is checked out. It changes with these files.
fn commit() -> Option<String> {
    // A package that lies unpacked inside somebody else's work tree is not of their commit.
    let prefix = git(&["rev-parse", "--show-prefix"])?;
    if !prefix.is_empty() || !git(&["ls-files", "build.rs"])?.contains("build.rs") {
        return None;
    }
    for path in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", path]) {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let ran = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(ran.stdout).ok()?;
    ran.status.success().then(|| said.trim().to_owned())
}

fn is_commit(text: &str) -> bool {
    (7..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

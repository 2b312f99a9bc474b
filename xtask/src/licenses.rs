//! Checks the policy of `deny.toml` without `cargo deny`: only allowed licences, one version of each crate
//! with listed exceptions, and only crates from crates.io.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::{Command, ExitCode};

use serde_json::Value;

use crate::{cargo, host};

/// Checks all crates in the `Cargo.lock` of a workspace.
pub(crate) fn run(root: &Path, workspace: &Path, out: &mut dyn Write) -> io::Result<ExitCode> {
    let policy = fs::read_to_string(root.join("deny.toml"))?;
    let (allowed, skipped) = (list(&policy, "allow"), list(&policy, "skip"));
    // Crates for other platforms are not fetched.
    let arguments = ["metadata", "--format-version", "1", "--locked"];
    let platform = ["--filter-platform", &host()?];
    let output =
        Command::new(cargo()).args(arguments).args(platform).current_dir(workspace).output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let output: Value = serde_json::from_slice(&output.stdout)?;
    let mut versions: BTreeMap<&str, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for package in output["packages"].as_array().into_iter().flatten() {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        *versions.entry(name).or_default() += 1;
        let license = text("license");
        if !is_allowed(license, &allowed) {
            wrong.push(format!("{name} {version}: licence `{license}` is not allowed"));
        }
        let source = text("source");
        let is_ours = source.is_empty();
        if !is_ours && source != "registry+https://github.com/rust-lang/crates.io-index" {
            wrong.push(format!("{name} {version}: comes from {source}"));
        }
    }
    let several = versions.iter().filter(|(name, count)| **count > 1 && !skipped.contains(name));
    wrong.extend(several.map(|(name, count)| format!("{name}: {count} versions")));
    wrong.iter().try_for_each(|line| writeln!(out, "{line}"))?;
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The quoted texts of the list with this key.
fn list<'p>(policy: &'p str, key: &str) -> Vec<&'p str> {
    let begins = format!("\n{key} = [");
    let list = policy.split(&begins).nth(1).and_then(|rest| rest.split("\n]").next());
    list.into_iter().flat_map(|list| list.split('"').skip(1).step_by(2)).collect()
}

/// Whether an SPDX expression can be met with allowed licences.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let met = any(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'w> = std::iter::Peekable<std::str::SplitWhitespace<'w>>;

fn any(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut met = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed);
    }
    met
}

fn all(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    match words.next() {
        Some("(") => {
            let met = any(words, allowed);
            words.next_if_eq(&")").is_some() && met
        }
        Some(license) => match words.next_if_eq(&"WITH") {
            Some(_) => {
                let exception = words.next().unwrap_or_default();
                allowed.contains(&format!("{license} WITH {exception}").as_str())
            }
            None => allowed.contains(&license),
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_met_by_allowed_licences() {
        let allowed = ["MIT", "Unicode-3.0", "Apache-2.0"];
        for (expression, met) in [
            ("MIT", true),
            ("MIT OR GPL-3.0", true),
            ("GPL-3.0/MIT", true),
            ("MIT AND GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0", false),
            ("GPL-3.0 AND (MIT OR ISC)", false),
            ("Apache-2.0 WITH LLVM-exception OR MIT", true),
            ("Apache-2.0 WITH LLVM-exception", false),
            ("GPL-3.0", false),
            ("", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), met, "{expression}");
        }
    }

    #[test]
    fn lists_are_read() {
        let policy = "\nallow = [\n    \"MIT\",\n    \"ISC\",\n]\nskip = [\n    \"syn\",\n]\n";
        assert_eq!(list(policy, "allow"), ["MIT", "ISC"]);
        assert_eq!(list(policy, "skip"), ["syn"]);
        assert_eq!(list(policy, "other"), Vec::<&str>::new());
    }
}

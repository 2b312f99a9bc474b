//! The table of limits that cannot be set. The row of each is in the comment of its constant, and its numbers are read
//! from the code, so that they cannot differ:
//!
//! ```text
//! /// Limit: a request for `--metrics` | {:bytes}, {HEADERS} headers, {TIME:time} | it is refused
//! const REQUEST: usize = 8 << 10;
//! ```
//!
//! Braces hold nothing, for the constant itself, or numbers, constants of the same file, and paths of others, with
//! operators. A value is a count, of `bytes`, or a `time` in nanoseconds.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// What begins a row.
const LIMIT: &str = "/// Limit: ";

/// The expressions of constants by their paths, such as `crate::live::QUEUE`.
type Constants = BTreeMap<String, String>;

/// The table of docs/limits.md, from the sources below this folder.
pub fn table(root: &Path) -> io::Result<String> {
    let (mut files, mut constants) = (Vec::new(), Constants::new());
    read(&root.join("src"), "crate", &mut files)?;
    read(&root.join("dissectors/src"), "dissectors", &mut files)?;
    for (module, text) in &files {
        for (name, value) in text.split("const ").skip(1).filter_map(constant) {
            constants.entry(format!("{module}::{name}")).or_insert(value);
        }
    }
    let mut table = "| what | bound | reported as |\n|---|---|---|\n".to_owned();
    for (module, text) in &files {
        for (at, _) in text.match_indices(LIMIT) {
            let row = row(module, &text[at + LIMIT.len()..], &constants);
            let wrong = || io::Error::other(format!("{module}: {:.80}", &text[at..]));
            table += &format!("| {} |\n", row.ok_or_else(wrong)?);
        }
    }
    Ok(table)
}

/// The names and texts of the modules in a folder.
fn read(folder: &Path, name: &str, files: &mut Vec<(String, String)>) -> io::Result<()> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let module = if stem == "mod" { name.to_owned() } else { format!("{name}::{stem}") };
        match path.is_dir() {
            true => read(&path, &module, files)?,
            false => files.push((module, fs::read_to_string(path)?)),
        }
    }
    Ok(())
}

/// The name of a constant and the expression of its value, from its name on.
fn constant(code: &str) -> Option<(&str, String)> {
    let (declared, value) = code.split_once(';')?.0.split_once(" = ")?;
    let value = value.replace("Duration::from_secs(", "1_000_000_000 * ");
    let value = value.replace("Duration::from_millis(", "1_000_000 * ").replace(')', "");
    Some((declared.split_once(':')?.0, value))
}

/// The row that begins here, with the values of its expressions.
fn row(module: &str, text: &str, constants: &Constants) -> Option<String> {
    let (first, more) = text.split_once('\n')?;
    let more = more.lines().map(str::trim_start).take_while(|line| !line.starts_with(LIMIT));
    let more = more.map_while(|line| line.strip_prefix("/// "));
    let row = [first].into_iter().chain(more).collect::<Vec<_>>().join(" ");
    let (_, own) = constant(text.split_once("const ")?.1)?;
    let mut parts = row.split('{');
    let mut filled = parts.next()?.to_owned();
    for part in parts {
        let (hole, rest) = part.split_once('}')?;
        let (expression, unit) = ["bytes", "time"]
            .iter()
            .find_map(|unit| Some((hole.strip_suffix(unit)?.strip_suffix(':')?, *unit)))
            .unwrap_or((hole, ""));
        let expression = if expression.is_empty() { &own } else { expression };
        filled += &(written(value(module, expression, constants)?, unit) + rest);
    }
    (filled.matches('|').count() == 2).then_some(filled)
}

/// The value of an expression in a module.
fn value(module: &str, expression: &str, constants: &Constants) -> Option<u64> {
    let of = |expression| value(module, expression, constants);
    for operator in [" << ", " + ", " * ", " / "] {
        if let Some((left, right)) = expression.rsplit_once(operator) {
            let (left, right) = (of(left)?, of(right)?);
            return match operator {
                " << " => left.checked_shl(u32::try_from(right).ok()?),
                " + " => left.checked_add(right),
                " * " => left.checked_mul(right),
                _ => left.checked_div(right),
            };
        }
    }
    let name = format!("{module}::{expression}");
    let named = constants.get(if expression.contains("::") { expression } else { &name });
    expression.replace('_', "").parse().ok().or_else(|| of(named?))
}

/// A number as people write it.
fn written(number: u64, unit: &str) -> String {
    match unit {
        "bytes" if number.is_multiple_of(1 << 20) => format!("{} MiB", number >> 20),
        "bytes" if number.is_multiple_of(1 << 10) => format!("{} KiB", number >> 10),
        "time" if number.is_multiple_of(1_000_000_000) => format!("{} s", number / 1_000_000_000),
        "time" => format!("{} ms", number / 1_000_000),
        _ if number < 1000 => number.to_string(),
        _ => format!("{},{:03}", written(number / 1000, ""), number % 1000),
    }
}

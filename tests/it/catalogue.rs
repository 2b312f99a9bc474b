//! Code, slug, severity and party of every rule equal those of the catalogue of this project. It is not part
//! of the project: it is next to the checkout, or `GAMEWIRE_CATALOGUE` names its folder. Without it, these tests are
//! skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::support::skip::skipped;
use dissectors::catalogue;
use dissectors::kit::Code;

/// Rules that are not in the catalogue, each with the next free number of its group.
const ADDED: &[&str] = &["GS4034"];

/// The files of the catalogue.
const FILES: [&str; 2] = ["rules.md", "rules-third-wave.md"];

/// Slug, severity and party of a rule.
type Row = [String; 3];

/// The rows of the tables in a catalogue, by code.
fn rows(text: &str) -> BTreeMap<String, Row> {
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [code, slug, severity, who, asks, ..] = cells[..] else { continue };
        if code == "code" || code.starts_with('-') {
            continue;
        }
        assert!(!asks.is_empty(), "{code} asks for nothing");
        let row = [slug, severity, who].map(str::to_owned);
        let again = rows.insert(code.to_owned(), row);
        assert!(again.is_none(), "{code} is there twice");
    }
    rows
}

/// The texts of the catalogue's files, one after the other.
fn catalogue_beside() -> Option<String> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/spec");
    let folder = std::env::var_os("GAMEWIRE_CATALOGUE").map_or_else(beside, PathBuf::from);
    FILES.iter().map(|file| std::fs::read_to_string(folder.join(file)).ok()).collect()
}

#[test]
fn every_rule_equals_the_catalogue() {
    let Some(text) = catalogue_beside() else {
        skipped("documents", "the catalogue of rules is not here");
        return;
    };
    let written = rows(&text);
    assert!(written.len() > 150, "only {} rows were read", written.len());
    let built: BTreeMap<_, _> = catalogue::rules()
        .into_iter()
        .map(|rule| {
            let row = [rule.slug, rule.severity.name(), rule.who.name()].map(str::to_owned);
            (rule.code.to_string(), row)
        })
        .collect();
    let codes = written.keys().chain(built.keys().filter(|code| !written.contains_key(*code)));
    let wrong: Vec<_> = codes
        .filter(|code| written.get(*code) != built.get(*code))
        .filter(|code| written.contains_key(*code) || !ADDED.contains(&code.as_str()))
        .map(|code| {
            format!("{code}: the catalogue {:?}, the code {:?}", written.get(code), built.get(code))
        })
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_rules_that_require_a_response_are_those_of_the_catalogue() {
    let Some(text) = catalogue_beside() else {
        skipped("documents", "the catalogue of rules is not here");
        return;
    };
    let listed = text.split_once("\"request-answered\" judges (").and_then(|(_, rest)| {
        let (codes, _) = rest.split_once(')')?;
        Some(codes.split(", ").map(str::to_owned).collect::<Vec<_>>())
    });
    let mut listed = listed.expect("the definition of silence names them");
    let asks = catalogue::rules().into_iter().filter(|rule| catalogue::requires_response(rule));
    let codes = asks.map(|rule| rule.code.to_string());
    let mut built: Vec<_> = codes.filter(|code| !ADDED.contains(&code.as_str())).collect();
    listed.sort();
    built.sort();
    assert_eq!(built, listed);
}

#[test]
fn rows_are_read_from_tables() {
    let text = "| code | slug | severity | who | rule |\n|---|---|---|---|---|\n\
                | VM001 | query-layout | error | client | a \\| b |\nno row\n";
    let expected = ["query-layout", "error", "client"].map(str::to_owned);
    assert_eq!(rows(text), BTreeMap::from([(Code::of("VM001").to_string(), expected)]));
}

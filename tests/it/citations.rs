//! Quotes of rules are in the specifications, word for word and below the heading that is named.
//!
//! The specifications are not part of the project: they are next to the checkout, or `GAMEWIRE_DOCUMENTS`
//! names their folder. Without them, these tests are skipped.

use std::path::{Path, PathBuf};

use crate::support::skip::skipped;
use dissectors::catalogue;
use dissectors::kit::Cite;

/// A text that only the specification with this title has.
fn mark(document: &str) -> &'static str {
    match document {
        "Valve Developer Community, Master Server Query Protocol" => {
            "This page documents the legacy Steam master server query protocol."
        }
        "UnrealAdmin Wiki, UT3 query protocol" => "UT3 query protocol From UnrealAdminWiki",
        "AssaultCube Reloaded master server, Protocol v1.3" => {
            "The master-server provides a HTTP API for clients and servers."
        }
        "333networks wiki, MasterServer" => "MasterServer From 333networks.com wiki",
        "Valve Developer Community, Server queries" => "The server responds to 5 queries:",
        other => panic!("how is {other} recognized?"),
    }
}

/// The words of a specification, separated by single spaces, and the positions where its lines begin.
struct Text {
    words: String,
    lines: Vec<(usize, String)>,
}

impl Text {
    fn of(raw: &str) -> Text {
        let mut text = Text { words: String::new(), lines: Vec::new() };
        for line in raw.lines().map(plain).filter(|line| !line.is_empty()) {
            if !text.words.is_empty() {
                text.words.push(' ');
            }
            text.lines.push((text.words.len(), line.clone()));
            text.words.push_str(&line);
        }
        text
    }

    /// The position of the text below this heading, which may be nested.
    fn below(&self, section: &str) -> Option<usize> {
        section.split(", ").try_fold(0, |from, heading| {
            let is_it = |(at, line): &&(usize, String)| *at >= from && *line == plain(heading);
            self.lines.iter().find(is_it).map(|(at, line)| at + line.len())
        })
    }

    fn complains(&self, cite: &Cite) -> Option<String> {
        let Some(from) = self.below(cite.section) else {
            return Some(format!("there is no heading \"{}\"", cite.section));
        };
        let quote = plain(cite.quote);
        let is_there = self.words.get(from..).is_some_and(|below| below.contains(&quote));
        (!is_there).then(|| format!("below \"{}\" there is no \"{quote}\"", cite.section))
    }
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn documents() -> Option<Vec<Text>> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/spec/seeds");
    let folder = std::env::var_os("GAMEWIRE_DOCUMENTS").map_or_else(beside, PathBuf::from);
    let files = std::fs::read_dir(folder).ok()?.flatten();
    let texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    Some(texts.map(|text| Text::of(&text)).collect())
}

#[test]
fn quotes_of_rules_are_in_the_specifications() {
    let Some(documents) = documents() else {
        skipped("documents", "the specifications that rules cite are not here");
        return;
    };
    let mut wrong = Vec::new();
    let mut quotes = 0;
    for rule in catalogue::rules() {
        for cite in rule.cite {
            let document = rule.document();
            let is_it = |text: &&Text| text.words.contains(mark(document));
            let mut found = documents.iter().filter(is_it);
            let (Some(text), None) = (found.next(), found.next()) else {
                panic!("{document} is not here, or twice");
            };
            quotes += usize::from(!cite.quote.is_empty());
            wrong.extend(text.complains(cite).map(|what| format!("{}: {what}", rule.code)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(quotes > 100, "{quotes} quotes were looked up");
}

#[test]
fn a_quote_is_looked_for_below_its_heading() {
    let text = Text::of("Title\n\nA\nRequest\nask  me\nB\n\tRequest\ntell\nme more\n");
    let complains = |section, quote| text.complains(&Cite { section, quote }).is_some();
    assert!(!complains("A, Request", "ask me") && !complains("B, Request", "tell me"));
    assert!(complains("B, Request", "ask me") && complains("A, Request", "ask  you"));
    assert!(complains("C", "tell me") && complains("B, Answer", "tell me"));
}

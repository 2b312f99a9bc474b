//! Every statement of the specifications has a place, and every place exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dissectors::kit::Item;
use dissectors::kit::coverage::{Coverage, Covered, Place, Sentences};
use dissectors::{GROUPS, Id, catalogue};
use gamewire::cli::Cli;

use crate::support::gamewire;

/// Rules that a specification's group has and no sentence of it states.
const BEYOND: [&str; 1] = ["GS1031"];

fn places() -> impl Iterator<Item = (&'static str, Place)> {
    let statements = Id::ALL.iter().flat_map(|id| id.info().coverage.statements());
    statements.flat_map(|statement| {
        let places: &[Place] = match statement.covered {
            Covered::By(places) => places,
            Covered::NotInPackets(_) => &[],
        };
        places.iter().map(|place| (statement.says, *place))
    })
}

#[test]
fn every_place_exists() {
    let paths = BTreeSet::from_iter(catalogue::fields().into_iter().map(|field| field.path));
    let is_message = |path: &str| {
        Id::ALL.iter().any(|id| {
            let (info, message) = (id.info(), path.split_once('.'));
            path == info.id
                || message.is_some_and(|(protocol, message)| {
                    protocol == info.id && info.messages.iter().any(|it| it.name == message)
                })
        })
    };
    use clap::CommandFactory;
    let command = Cli::command();
    for (says, place) in places() {
        let exists = match place {
            Place::Rule(code) => {
                catalogue::rule(code).is_some_and(|it| it.code.to_string() == code)
            }
            Place::Field(path) => paths.contains(path) || is_message(path),
            Place::Item(name) => Item::ALL.iter().any(|item| item.name() == name),
            Place::Command(name, what) => {
                !what.is_empty() && command.get_subcommands().any(|it| it.get_name() == name)
            }
        };
        assert!(exists, "{says}: {place:?}");
    }
}

#[test]
fn every_statement_is_covered_or_says_why_not() {
    for statement in Id::ALL.iter().flat_map(|id| id.info().coverage.statements()) {
        let is_said = match statement.covered {
            Covered::By(places) => !places.is_empty(),
            Covered::NotInPackets(reason) => !reason.is_empty(),
        };
        assert!(is_said && !statement.sentences.is_empty(), "{}", statement.says);
        assert!(statement.says.ends_with('.'), "{}", statement.says);
    }
}

#[test]
fn every_rule_of_a_specification_has_a_statement() {
    let placed = BTreeSet::from_iter(places().filter_map(|(_, place)| match place {
        Place::Rule(code) => Some(code.to_owned()),
        _ => None,
    }));
    for rule in catalogue::rules().iter().filter(|rule| rule.code.group().document.is_some()) {
        let code = rule.code.to_string();
        assert_ne!(placed.contains(&code), BEYOND.contains(&&*code), "{code}");
    }
}

/// The numbers of all sentences that have a place.
fn placed(coverage: &Coverage) -> BTreeSet<u16> {
    let sentences = coverage.statements().flat_map(|statement| statement.sentences);
    let all = |(first, last): &Sentences| *first..=*last;
    sentences.chain(coverage.headings).flat_map(all).collect()
}

#[test]
fn every_sentence_has_a_place() {
    for id in Id::ALL {
        let coverage = id.info().coverage;
        let wanted = BTreeSet::from_iter(1..=coverage.sentences);
        assert_eq!(placed(coverage), wanted, "{}", id.info().id);
    }
}

/// Compares the tables with the saved documents, where those are beside the checkout.
#[test]
fn the_tables_are_those_of_the_documents() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/spec/seeds");
    let Ok(folder) = std::fs::read_dir(folder) else { return };
    let files = Vec::from_iter(folder.flatten().map(|entry| entry.path()));
    let texts = files.iter().map(|file: &PathBuf| std::fs::read_to_string(file).expect("a text"));
    let documents = Vec::from_iter(texts);
    let documented = Id::ALL.iter().zip(GROUPS).filter(|(_, group)| group.document.is_some());
    for (id, _) in documented {
        let coverage = id.info().coverage;
        assert!(
            documents.iter().any(|text| coverage.is_of(text)),
            "{}: a sentence of the document has no place",
            id.info().id
        );
    }
}

#[test]
fn the_list_has_the_statements_and_their_places() {
    let run = gamewire(["rules", "--coverage"]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.out.contains("VM-1.1"), "{}", run.out);
    let json = gamewire(["rules", "--coverage", "--format", "json"]).out;
    let entries: Vec<serde_json::Value> = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(2 * entries.len(), run.out.lines().count());
}

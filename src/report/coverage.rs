//! The statements of the specifications, and what covers each: as a list, as JSON, and as a page.

use dissectors::Id;
use dissectors::kit::Group;
use dissectors::kit::coverage::{Covered, Place, Statement};
use serde::Serialize;

use super::check::put;

/// The page's head.
const HEAD: &str = "\
# Coverage of the specifications

Each statement of the five specifications, section by section, and what covers it: rules (`gamewire explain
CODE`), fields (`gamewire fields`), conditions of `gamewire diagnose`, or what another command shows. Where a
capture cannot show a statement, the reason is given. This page is written by `cargo run -p xtask -- docs`;
`gamewire rules --coverage` lists the same.
";

/// A statement with its number and its place in the specification.
struct NumberedStatement {
    group: &'static Group,
    section: &'static str,
    /// The prefix of the rules, the number of the section and of the statement in it.
    number: String,
    statement: &'static Statement,
}

/// All statements, in the order of the specifications.
fn statements() -> Vec<NumberedStatement> {
    let mut all = Vec::new();
    for &id in Id::ALL {
        let info = id.info();
        // The first rule of a protocol is one of its own specification.
        let Some(group) = info.rules.first().map(|rule| rule.code.group()) else { continue };
        for (section, at) in info.coverage.sections.iter().zip(1..) {
            all.extend(section.statements.iter().zip(1..).map(|(statement, nth)| {
                let number = format!("{}-{at}.{nth}", group.prefix);
                NumberedStatement { group, section: section.title, number, statement }
            }));
        }
    }
    all
}

/// All statements, two lines each.
pub fn list(out: &mut String) {
    for it in statements() {
        let covered = described(it.statement, |name| name.to_owned());
        put(out, format_args!("{:<10}{}\n          {covered}\n", it.number, it.statement.says));
    }
}

/// All statements, as a page for people: a table for each section.
pub fn markdown(out: &mut String) {
    out.push_str(HEAD);
    let all = statements();
    for of_document in all.chunk_by(|a, b| a.group == b.group) {
        let Some(first) = of_document.first() else { continue };
        put(out, format_args!("\n## {}\n", first.group.document.unwrap_or_default()));
        for of_section in of_document.chunk_by(|a, b| a.section == b.section) {
            let title = of_section.first().map_or("", |it| it.section);
            put(
                out,
                format_args!("\n### {title}\n\n| | statement | covered by |\n|---|---|---|\n"),
            );
            for it in of_section {
                let covered = cell(&described(it.statement, |name| format!("`{name}`")));
                let says = cell(it.statement.says);
                put(out, format_args!("| {} | {says} | {covered} |\n", it.number));
            }
        }
    }
}

#[derive(Serialize)]
struct StatementEntry {
    number: String,
    document: &'static str,
    section: &'static str,
    says: &'static str,
    rules: Vec<&'static str>,
    fields: Vec<&'static str>,
    conditions: Vec<&'static str>,
    commands: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_in_packets: Option<&'static str>,
}

/// All statements, as one JSON array.
///
/// # Errors
/// None that a `Vec` can have.
pub fn json(out: &mut Vec<u8>) -> serde_json::Result<()> {
    let entries = statements().into_iter().map(|it| {
        let mut entry = StatementEntry {
            number: it.number,
            document: it.group.document.unwrap_or_default(),
            section: it.section,
            says: it.statement.says,
            rules: Vec::new(),
            fields: Vec::new(),
            conditions: Vec::new(),
            commands: Vec::new(),
            not_in_packets: None,
        };
        match it.statement.covered {
            Covered::NotInPackets(reason) => entry.not_in_packets = Some(reason),
            Covered::By(places) => places.iter().for_each(|place| match *place {
                Place::Rule(code) => entry.rules.push(code),
                Place::Field(path) => entry.fields.push(path),
                Place::Item(name) => entry.conditions.push(name),
                Place::Command(name, what) => entry.commands.push(format!("{name}: {what}")),
            }),
        }
        entry
    });
    serde_json::to_writer_pretty(&mut *out, &entries.collect::<Vec<_>>())?;
    out.push(b'\n');
    Ok(())
}

/// What covers a statement; `quoted` writes a name.
fn described(statement: &Statement, quoted: impl Fn(&str) -> String) -> String {
    match statement.covered {
        Covered::NotInPackets(reason) => format!("not in packets: {reason}"),
        Covered::By(places) => {
            let places = places.iter().map(|place| match *place {
                Place::Rule(code) => code.to_owned(),
                Place::Field(path) => quoted(path),
                Place::Item(name) => format!("diagnose {}", quoted(name)),
                Place::Command(name, what) => format!("{name}: {what}"),
            });
            Vec::from_iter(places).join(", ")
        }
    }
}

/// A text of the program for a cell.
fn cell(text: &str) -> String {
    text.replace('\\', r"\\").replace('|', r"\|")
}

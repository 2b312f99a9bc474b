//! The page of `gamewire report`: one file that can be sent to others.
//!
//! The static part is a template: the answer in words, rules and citations, and the frame for the script. The
//! script's data are embedded as JSON, which browsers do not execute; the page's content security
//! policy allows only its own script and style: no requests, no inline handlers, no `eval`.

mod answers;
mod attack;
mod overview;
mod sample;
mod template;

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use dissectors::kit::{Code, Rule, Set, Severity};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use self::answers::AnswerPart;
use super::answer::{Answer, AnswerTimes};
use super::check::json;
use super::conformance::{Conformance, as_sentence, party_counts};
use super::json::line;
use super::summary::{self, SummaryOptions};
use super::{NO_ANSWER, TimeStyle};
use crate::check::{FindingGroup, Outcome};
use crate::diagnose::Diagnoses;
use crate::rows::{Heading, Importance, Kind, Table};
use crate::session::Totals;
use crate::summary::Summary;
use crate::text::is_hidden;

pub use self::sample::Sample;

const STYLE: &str = include_str!("page.css");

/// Several files that become one script with a scope of its own.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("data.js"),
    include_str!("state.js"),
    include_str!("elements.js"),
    include_str!("facets.js"),
    include_str!("timeline.js"),
    include_str!("times.js"),
    include_str!("tables.js"),
    include_str!("findings.js"),
    include_str!("ladder.js"),
    include_str!("message.js"),
    include_str!("page.js"),
    "})();\n"
);

/// Maximum number of rows of each table.
const ROWS: usize = 5000;

/// Maximum number of parties that are named below a rule.
const PARTIES: usize = 10;

/// The data of one capture on a page.
pub struct Capture {
    name: String,
    recording: String,
    /// When it begins.
    begin: String,
    answer: AnswerPart,
    verdict: Conformance,
    /// How many errors, warnings and notes it has.
    counts: [u64; 3],
    /// Those that are attacked or at fault.
    who: String,
    /// The options that select messages, as they were typed, and what the capture holds if they select none.
    selected: Option<(String, Option<String>)>,
    /// How many errors, warnings and notes each party has.
    parties: BTreeMap<String, [u64; 3]>,
    /// The JSON of `summary` and `check`, and the findings of each rule by party.
    summary: Vec<u8>,
    check: Vec<u8>,
    groups: Value,
    /// How many more rows each table has.
    more: BTreeMap<&'static str, usize>,
    /// The rules with findings, by the severities of these.
    rules: BTreeMap<(Code, Severity), &'static Rule>,
    /// Packets that findings are about.
    found: Set<u64>,
    /// Its messages.
    pub sample: Sample,
}

/// What was concluded about a capture.
pub struct Verdicts<'v> {
    /// By the rules, of the whole capture.
    pub outcome: &'v Outcome,
    /// Options that select messages, as they were typed, and the outcome of what they select.
    pub selected: Option<(&'v str, &'v Outcome)>,
    /// The minimum severity that fails it.
    pub least: Severity,
    /// What players notice, and attacks.
    pub diagnoses: &'v Diagnoses,
}

impl Capture {
    /// Of a capture that was read: its tables, its verdicts, its messages.
    ///
    /// # Errors
    /// None that a `Vec` can have.
    pub fn new(
        name: String,
        tables: &Summary,
        verdicts: &Verdicts<'_>,
        sample: Sample,
        read: &Totals,
    ) -> io::Result<Capture> {
        let &Verdicts { outcome, selected, least, diagnoses } = verdicts;
        // What is listed is of the selected messages, the verdict of all.
        let listed = selected.map_or(outcome, |(_, of_selected)| of_selected);
        let shown = SummaryOptions { table: None, order: None, top: ROWS, times: TimeStyle::Utc };
        let report = summary::SummaryReport::new(tables, read, None, shown);
        let (mut summary, mut check) = (Vec::new(), Vec::new());
        report.json(&mut summary);
        json::write(listed, &[], least, None, &mut check)?;
        let found = listed.findings.iter();
        let rules = found.clone().map(|it| ((it.rule.code, it.severity), it.rule));
        let times = AnswerTimes::of(TimeStyle::Utc, read);
        let answer = Answer::of(diagnoses, &outcome.attacks(), times);
        let answer = AnswerPart::of(&answer, times);
        let lacking = listed.lacking.first().map(|(_, holds)| as_sentence(holds));
        Ok(Capture {
            name,
            recording: report.recording(),
            begin: report.begin().unwrap_or_default(),
            verdict: Conformance::of(outcome, least, read),
            counts: Severity::ALL.map(|severity| outcome.count(severity)),
            who: overview::who(&answer, &party_counts(outcome)),
            answer,
            selected: selected.map(|(typed, _)| (typed.to_owned(), lacking)),
            parties: party_counts(listed),
            summary,
            check,
            groups: groups(listed),
            more: report.left_out().collect(),
            rules: rules.collect(),
            found: found
                .map(crate::check::ReportedFinding::frame)
                .filter(|frame| *frame > 0)
                .collect(),
            sample,
        })
    }

    /// Packets that findings are about.
    pub fn found(&self) -> Set<u64> {
        self.found.clone()
    }
}

/// How many findings each rule has of each severity, and its parties with most of them, as `check` counts them: those that
/// are listed may be only some.
fn groups(outcome: &Outcome) -> Value {
    let groups = FindingGroup::all(outcome, PARTIES).into_iter().map(|group| {
        let rule = group.rule_outcome.rule;
        let parties = group.parties.iter().take(PARTIES).map(|by| {
            let (who, name) = (by.who(rule).name(), by.name());
            let has_role = name.is_some() && !by.is_attack();
            let role = if has_role { who } else { "" };
            json!({ "name": name.as_deref().unwrap_or(who), "who": role, "count": by.count })
        });
        json!({
            "rule": rule.code.to_string(), "severity": group.severity.name(), "count": group.count,
            "parties": Vec::from_iter(parties), "all": group.parties.len(),
        })
    });
    Value::Array(groups.collect())
}

/// Writes the page, by this version of the program.
///
/// # Errors
/// The output cannot be written.
pub fn write(captures: &mut [Capture], version: &str, to: &mut dyn Write) -> io::Result<()> {
    overview::sort(captures);
    captures.iter_mut().for_each(|capture| capture.sample.settle());
    to.write_all(template::above(captures, &policy(), version).into_string().as_bytes())?;
    data("report", &report(captures), to)?;
    for (nth, capture) in captures.iter().enumerate() {
        data(&format!("details-{nth}"), capture.sample.details(), to)?;
    }
    write!(to, "<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// The content security policy: only this style and this script.
fn policy() -> String {
    let hash = |text: &str| BASE64.encode(Sha256::digest(text.as_bytes()));
    let (style, script) = (hash(STYLE), hash(SCRIPT));
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; \
         base-uri 'none'; form-action 'none'"
    )
}

/// Writes JSON as data of the page. A `<` occurs only in texts, where it is escaped, so that
/// nothing can end the data or begin a comment.
fn data(id: &str, json: &[u8], to: &mut dyn Write) -> io::Result<()> {
    write!(to, "<script type=\"application/json\" id=\"{id}\">")?;
    for (nth, part) in json.split(|byte| *byte == b'<').enumerate() {
        if nth > 0 {
            to.write_all(b"\\u003c")?;
        }
        to.write_all(part)?;
    }
    to.write_all(b"</script>\n")
}

/// Everything except the fields and bytes of messages.
fn report(captures: &[Capture]) -> Vec<u8> {
    let mut json = b"{\"hidden\":".to_vec();
    let out = &mut json;
    // Writing a text to a vector cannot fail.
    let _ = line(&hidden(), out);
    out.extend_from_slice(b",\"no_answer\":");
    let _ = line(&NO_ANSWER, out);
    out.extend_from_slice(b",\"columns\":");
    let _ = line(&columns(), out);
    out.extend_from_slice(b",\"captures\":[");
    for (nth, capture) in captures.iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        out.extend_from_slice(b"{\"name\":");
        let _ = line(&capture.name, out);
        out.extend_from_slice(b",\"summary\":");
        out.extend_from_slice(&capture.summary);
        out.extend_from_slice(b",\"check\":");
        out.extend_from_slice(&capture.check);
        out.extend_from_slice(b",\"groups\":");
        let _ = line(&capture.groups, out);
        out.extend_from_slice(b",\"more\":");
        let _ = line(&capture.more, out);
        out.extend_from_slice(b",\"parties\":");
        let _ = line(&capture.parties, out);
        out.extend_from_slice(b",\"sample\":");
        capture.sample.json(out);
        out.push(b'}');
    }
    out.extend_from_slice(b"]}");
    json
}

/// The columns of the tables of the page, without those that people see only where there is room.
fn columns() -> Value {
    let column = |heading: Heading| {
        let shown = heading.shown.filter(|it| !matches!(it.importance, Importance::Spare(_)))?;
        let kind = match heading.kind {
            _ if !shown.of.is_empty() => "share",
            _ if shown.is_left => "text",
            Kind::Count => "count",
            Kind::Integer => "number",
            Kind::Bytes => "bytes",
            Kind::Seconds => "span",
            Kind::Rate => "rate",
            _ => "text",
        };
        let (first, rest) = shown.heading.split_at(1);
        let title = first.to_owned() + &rest.to_lowercase();
        Some(json!({
            "name": heading.name, "heading": title, "kind": kind, "of": shown.of, "rare": shown.is_rare,
            "meaning": heading.about,
        }))
    };
    let table = |table: Table| {
        let headings = table.headings();
        let columns = table.for_people().into_iter().filter_map(|shown| column(headings[shown.at]));
        let whose = if matches!(table, Table::Flows) { "in its messages" } else { "of its own" };
        (table.name().to_owned(), columns.flat_map(|column| with_notes(column, whose)).collect())
    };
    let tables = [Table::Servers, Table::Masters, Table::Clients, Table::Flows];
    Value::Object(tables.into_iter().map(table).collect())
}

/// The column of findings counts errors and warnings; notes have one of their own. `whose`: a party is at fault for those
/// that it has, where `summary` counts all in its flows.
fn with_notes(mut column: Value, whose: &str) -> Vec<Value> {
    if column["name"] != "findings" {
        return vec![column];
    }
    column["meaning"] = format!("Errors and warnings {whose}; notes are counted apart.").into();
    let notes = json!({
        "name": "notes", "heading": "Notes", "kind": "count", "of": "", "rare": true,
        "meaning": format!("Notes {whose}: worth knowing, but no fault."),
    });
    vec![column, notes]
}

/// The characters that are escaped, as ranges of a regular expression for the script.
fn hidden() -> String {
    let mut ranges: Vec<[u32; 2]> = Vec::new();
    for c in ('\0'..=char::MAX).filter(|c| is_hidden(*c)).map(u32::from) {
        match ranges.last_mut().filter(|[_, last]| *last + 1 == c) {
            Some([_, last]) => *last = c,
            None => ranges.push([c, c]),
        }
    }
    ranges.iter().map(|[first, last]| format!("\\u{{{first:X}}}-\\u{{{last:X}}}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_cannot_end_itself() {
        let (mut page, hostile) =
            (Vec::new(), br#"["</script><script>alert(1)</script>", "<!-- x"]"#);
        data("d", hostile, &mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert_eq!(page.matches('<').count(), 2, "{page}");
        let json = &page[page.find('>').unwrap() + 1..page.rfind('<').unwrap()];
        let read: Vec<String> = serde_json::from_str(json).unwrap();
        assert_eq!(read, ["</script><script>alert(1)</script>", "<!-- x"]);
    }

    #[test]
    fn script_and_style_contain_no_end_tag() {
        for text in [SCRIPT, STYLE] {
            assert!(!text.contains("</") && !text.contains("<!--"));
        }
        let banned = [
            "eval(",
            "innerHTML",
            "insertAdjacentHTML",
            "document.write",
            "fetch(",
            "new Function",
        ];
        assert!(!banned.iter().any(|word| SCRIPT.contains(word)));
    }

    #[test]
    fn the_ranges_are_of_hidden_characters() {
        let ranges = hidden();
        assert!(ranges.starts_with("\\u{0}-\\u{1F}\\u{7F}-\\u{9F}\\u{AD}-\\u{AD}"), "{ranges}");
        assert!(ranges.contains("\\u{2028}-\\u{202E}") && ranges.contains("\\u{FEFF}-\\u{FEFF}"));
    }
}

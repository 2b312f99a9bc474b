//! Texts from the wire that other programs would interpret: formulas of spreadsheets, links of SARIF, references of
//! Markdown.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::project::Project;
use captures::exchange::Setting;
use gamewire::text::{escaped, shortened};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;
use serde_json::Value;

/// A server with this name, map and rule. The rule occurs twice, which a finding says.
fn server_named(name: &str) -> String {
    let name: String = name.bytes().map(|byte| format!("{byte:02X}")).collect();
    format!(
        "0 c > s FFFFFFFF 54 'Source Engine Query' 00\n\
         0.1 s > c FFFFFFFF 49 11 {name} 00 {name} 00 'cstrike' 00 {name} 00 B801 18 20 02 64 6C 00 01 {name} 00\n\
         0.2 c > s FFFFFFFF 56 FFFFFFFF\n\
         0.3 s > c FFFFFFFF 41 11223344\n\
         0.4 c > s FFFFFFFF 56 11223344\n\
         0.5 s > c FFFFFFFF 45 0200 {name} 00 '1' 00 {name} 00 '2' 00"
    )
}

/// A project with a capture of such a server. The capture has the same name, as far as files can have it.
fn project_of(name: &str) -> (Project, String) {
    static PROJECTS: AtomicUsize = AtomicUsize::new(0);
    let number = PROJECTS.fetch_add(1, Ordering::Relaxed);
    let project = Project::new(&format!("injection-{number}"));
    let file = format!("{}.pcap", name.replace('/', ""));
    project.play(&file, &Setting::udp(27015), &server_named(name));
    (project, file)
}

/// Formulas, and texts that become one where cells are separated otherwise, or quotes are removed. The first ones
/// are of OWASP's page on CSV injection.
const FORMULAS: &[&str] = &[
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\u{FF1D}1+1",
    "\u{FF0B}1+1",
    "\u{FF0D}1+1",
    "\u{FF20}SUM(1)",
    "=cmd|' /C calc'!A0",
    "\";=cmd|' /C calc'!A0;\"",
    "\",=1+1,\"",
    "\u{FE66}1+1",
    "\u{2212}1+1",
    " =1+1",
    "\u{A0}=1+1",
    "\u{3000}@SUM(1)",
    ";=1",
    "a;=1;b",
    "a; \u{FF1D}1;b",
    "a,=1,b",
    "a;\"\"=1;b",
    "a;\"=1\";b",
    "\"=1\"",
    "\"\"=1",
    "\"\"\"=1",
    "x\"",
    "\"a",
    "\t\"\t=1",
    "\u{200B}=1",
];

/// The cells that a spreadsheet makes of a text: a quote at the beginning of a cell hides separators and ends of
/// lines up to the next one.
fn cells(text: &str, separator: char) -> Vec<String> {
    let (mut cells, mut cell, mut is_quoted, mut is_begin) =
        (Vec::new(), String::new(), false, true);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' if is_quoted => is_quoted = false,
            '"' if is_begin => is_quoted = true,
            c if !is_quoted && (c == separator || c == '\n') => {
                cells.push(std::mem::take(&mut cell))
            }
            '\r' if !is_quoted => {}
            c => cell.push(c),
        }
        is_begin = cell.is_empty() && !is_quoted && (c == separator || c == '\n');
    }
    cells.push(cell);
    cells
}

fn is_formula(cell: &str) -> bool {
    let cell = cell.trim_start();
    let begins = cell.starts_with([
        '=', '+', '-', '@', '\u{FF1D}', '\u{FF0B}', '\u{FF0D}', '\u{FF20}', '\u{FE66}', '\u{FE62}',
        '\u{FE63}', '\u{FE6B}', '\u{2212}',
    ]);
    begins && cell.parse::<f64>().is_err()
}

#[test]
fn no_cell_is_a_formula() {
    assert_eq!(cells("a,\"b,\"\"c\"\r\n\"\"=1", ','), ["a", "b,\"c", "=1"]);
    let columns = "frame,map,time,a2s.info_response.name,a2s.rules_response.rules.name";
    let csv = ["--format", "csv"];
    let commands = [
        vec!["dissect", "--fields", columns, "--time", "relative"],
        [&["dissect", "--fields", columns][..], &csv].concat(),
        [&["summary"][..], &csv].concat(),
        [&["flows"][..], &csv].concat(),
    ];
    for formula in FORMULAS {
        let (project, file) = project_of(formula);
        let mut outputs = Vec::new();
        for command in &commands {
            let run = project.run(&[command, &["--no-config", &file, &file][..]].concat());
            assert!(run.code < 2, "{command:?}: {}", run.err);
            let separator = if command.contains(&"csv") { ',' } else { '\t' };
            outputs.push((command.join(" "), separator, run.out));
        }
        let folder = project.path("tables");
        let run = project.run(&["export", "--no-config", "--format", "csv", "-o", &folder, &file]);
        assert_eq!(run.code, 0, "{}", run.err);
        for table in ["messages", "servers", "flows", "findings"] {
            outputs.push((table.to_owned(), ',', project.read(&format!("tables/{table}.csv"))));
        }
        for (output, own, text) in outputs {
            for separator in [own, ',', ';', '\t'] {
                let cells = cells(&text, separator);
                let formula = cells.iter().find(|cell| is_formula(cell));
                assert_eq!(formula, None, "{output} by {separator:?}: {text}");
            }
            // Nothing is lost but the mark.
            let without_marks = |text: &str| escaped(text).replace('\'', "");
            let whole =
                cells(&text, own).iter().any(|cell| without_marks(cell) == without_marks(formula));
            let has_texts =
                !["flows", "findings", "messages"].iter().any(|it| output.starts_with(it));
            assert!(whole || !has_texts, "{output}: {formula:?} is not a cell of {text}");
        }
    }
}

/// JSON in a cell of CSV remains the same JSON.
#[test]
fn json_in_a_cell_is_json() {
    for formula in FORMULAS {
        let (project, file) = project_of(formula);
        let [csv, ndjson] = ["csv", "ndjson"].map(|format| {
            let folder = project.path(format);
            let run =
                project.run(&["export", "--no-config", "--format", format, "-o", &folder, &file]);
            assert_eq!(run.code, 0, "{}", run.err);
            project.read(&format!("{format}/messages.{format}"))
        });
        let in_cells = cells(&csv, ',');
        let in_cells = in_cells.iter().filter(|cell| cell.starts_with('{'));
        let in_cells: Vec<Value> =
            in_cells.map(|cell| serde_json::from_str(cell).expect("JSON")).collect();
        let lines = ndjson.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let fields: Vec<Value> = lines.map(|mut line| line["fields"].take()).collect();
        assert!(fields.len() == 6 && in_cells == fields, "{formula:?}: {csv}");
    }
}

/// Texts to which SARIF gives a meaning: links, and placeholders of arguments.
const SARIF: &[&str] = &[
    "[click](https://evil.example)",
    "[click](0)",
    "[click](sarif:/runs/0)",
    r"\[click](0)",
    r"\\[click\](0)",
    r"[a[b\]c](1)",
    r"\gamename\ut\",
    "{0}",
    "{{0}}",
    "}{",
    "[",
    "]",
];

/// The plain text of a message as sections 3.11.5 and 3.11.6 of SARIF 2.1.0 read it; `None` if it has a link, a
/// placeholder, or a bracket that could begin one.
fn sarif_text(message: &str) -> Option<String> {
    let (mut text, mut chars) = (String::new(), message.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' => text.push(chars.next().filter(|c| r"\[]".contains(*c))?),
            '{' | '}' => text.push(chars.next().filter(|next| *next == c)?),
            '[' | ']' => return None,
            c => text.push(c),
        }
    }
    Some(text)
}

#[test]
fn no_text_is_a_link_in_sarif() {
    for name in SARIF {
        let (project, file) = project_of(name);
        let found = |format: &str| -> Value {
            let run = project.run(&["check", "--no-config", "--format", format, &file]);
            serde_json::from_str(&run.out).expect("JSON")
        };
        let (sarif, json) = (found("sarif"), found("json"));
        let run = &sarif["runs"][0];
        let results = run["results"].as_array().expect("results");
        let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
        let texts = results.iter().map(|it| &it["message"]["text"]);
        let described = ["shortDescription", "fullDescription", "help"];
        let described = rules.iter().flat_map(|rule| described.map(|key| &rule[key]["text"]));
        for text in texts.clone().chain(described) {
            let text = text.as_str().expect("a text");
            assert!(sarif_text(text).is_some(), "{name}: {text}");
        }
        let details = json["findings"].as_array().expect("findings").iter();
        let details: Vec<_> = details.map(|it| it["message"].as_str().expect("a text")).collect();
        let twice = details.iter().find(|detail| detail.ends_with("occurs twice")).expect("A2S");
        let texts: Vec<_> = texts.filter_map(|text| sarif_text(text.as_str()?)).collect();
        assert!(texts.iter().any(|text| text.contains(*twice)), "{twice}: {texts:?}");
    }
}

/// Texts that GitHub or GitLab show as something else, or turn into links.
const MARKUP: &[&str] = &[
    "GH-1",
    "gh-12",
    "#1",
    "@name",
    "@org/team",
    "owner/repo#1",
    "owner/repo@4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "name@4b825dc",
    "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "4B825DC",
    "1234567",
    "https://evil.example/?a=b",
    "HTTP://evil.example",
    "ftp://evil.example",
    "www.evil.example",
    "(WWW.evil.example)",
    "mailto:a@evil.example",
    "xmpp:a@evil.example/b",
    "a.b+c@evil.example",
    "GHSA-4b82-5dc6-42cb",
    "JIRA-1",
    "!1",
    "%1",
    "~1",
    "$1",
    "&1",
    "^alert#1",
    "%\"1.0\"",
    "~\"bug\"",
    "[vulnerability:1]",
    "[text](https://evil.example)",
    "![text](https://evil.example)",
    "[text][1]",
    "[text]: https://evil.example",
    "[^1]",
    "[ ] task",
    "<https://evil.example>",
    "<img src=x onerror=alert(1)>",
    "<!-- ",
    "-->",
    "&#35;1",
    "&commat;name",
    "`code`",
    "```",
    "**bold**",
    "__bold__",
    "_a_",
    "*a*",
    "~~gone~~",
    "~a~",
    "==mark==",
    "$x$",
    "$$x$$",
    "$`x`$",
    "a|b",
    "a\\|b",
    "\\",
    "\\*a*",
    ":warning:",
    ":+1:",
    ":100:",
    "# heading",
    "- item",
    "1. item",
    "> quote",
    "a\nb",
    "---",
    "=1+1",
];

/// What is turned into a link, or a picture, if it is in one piece of text.
fn references() -> Vec<Regex> {
    let all = [
        r"(?i)\bgh-\d",
        r"(?i)\bghsa-\w",
        r"(?i)\b[a-z]+-\d",
        r"[#@!$%~&^]\w",
        "[%~]\"",
        r"(?i)\b[0-9a-f]{7,}\b",
        "://",
        r"(?i)\bwww\.",
        r":[a-z0-9_+-]*[a-z+-][a-z0-9_+-]*:",
        ":100:",
        r"\$",
    ];
    all.iter().map(|it| Regex::new(it).expect("a good expression")).collect()
}

/// The texts of the cells of all tables, and the texts elsewhere. A cell is in pieces where something is between
/// them: references are not recognized across that.
fn pieces(markdown: &str) -> Vec<Vec<String>> {
    let (mut all, mut pieces, mut is_new) = (Vec::new(), Vec::<String>::new(), true);
    let github = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM;
    for event in Parser::new_ext(markdown, github) {
        match event {
            Event::Text(text) if is_new || pieces.is_empty() => {
                pieces.push(text.into_string());
                is_new = false;
            }
            Event::Text(text) => pieces.last_mut().expect("a piece").push_str(&text),
            Event::InlineHtml(html) => {
                assert!(["<!-- -->", "<span>", "</span>"].contains(&&*html), "{html}: {markdown}");
                // A dollar that a `span` encloses is no formula.
                is_new = true;
                if &*html == "</span>" {
                    assert_eq!(pieces.pop().as_deref(), Some("$"), "{markdown}");
                    pieces.push("S".to_owned());
                }
            }
            Event::Start(
                Tag::Table(_) | Tag::TableHead | Tag::TableRow | Tag::TableCell | Tag::Paragraph,
            )
            | Event::Start(Tag::Heading { .. } | Tag::Strong)
            | Event::End(TagEnd::Table | TagEnd::TableHead | TagEnd::TableRow | TagEnd::Strong) => {
            }
            Event::End(TagEnd::TableCell | TagEnd::Paragraph | TagEnd::Heading(_)) => {
                all.push(std::mem::take(&mut pieces));
                is_new = true;
            }
            event => panic!("{event:?} in {markdown}"),
        }
    }
    all
}

#[test]
fn no_text_is_markdown() {
    let references = references();
    for name in MARKUP {
        let (project, file) = project_of(name);
        let file = file.as_str();
        let run = |args: &[&str]| {
            let run = project.run(&[args, &["--no-config", file, file]].concat());
            assert!(run.code < 2, "{args:?}: {}", run.err);
            run.out
        };
        let summary = run(&["summary", "--format", "markdown"]);
        let diagnosis = run(&["diagnose", "--format", "markdown"]);
        let steps = project.path("steps");
        run(&["check", "--format", "github", "--summary", &steps]);
        let steps = project.read("steps");
        // A diagnosis shortens names.
        let (name_escaped, in_file) = (escaped(name), escaped(file));
        let short = shortened(&name_escaped, 48);
        for (markdown, text) in [(summary, &name_escaped), (diagnosis, &short), (steps, &in_file)] {
            let texts = pieces(&markdown);
            for piece in texts.iter().flatten() {
                let found = references.iter().find(|it| it.is_match(piece));
                assert!(found.is_none(), "{found:?} in {piece:?} of {markdown}");
            }
            let shown = text.trim().replace('$', "S");
            let shown_is_there = texts.iter().any(|pieces| pieces.concat().contains(&shown));
            assert!(shown_is_there, "{shown:?} in {markdown}");
        }
    }
}

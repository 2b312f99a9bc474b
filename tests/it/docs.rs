//! The documentation agrees with the program.

use std::ffi::OsString;
use std::path::Path;

use crate::support::gamewire;
use dissectors::catalogue;
use dissectors::kit::{Info, Item};
use gamewire::Terminal;
use gamewire::config::Config;
use gamewire::session::Options;

fn page(name: &str) -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(page).expect("the page is there")
}

#[test]
fn the_pages_of_rules_and_fields_are_up_to_date() {
    for (name, arguments) in xtask::PAGES {
        let run = gamewire(arguments.iter().copied());
        assert_eq!(run.code, 0, "{}", run.err);
        assert!(page(name) == run.out, "{name} is out of date: cargo run -p xtask -- docs");
    }
}

#[test]
fn the_parts_of_pages_are_up_to_date() {
    for (name, part, arguments) in xtask::PARTS {
        let text = if arguments.is_empty() {
            xtask::fixed_limits::table(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("the table")
        } else {
            gamewire(arguments.iter().copied()).out
        };
        let page = page(name);
        let updated = xtask::with_part(&page, part, &text).expect("the page has the part");
        assert!(page == updated, "{name} is out of date: cargo run -p xtask -- docs");
    }
}

#[test]
fn the_page_of_tables_has_their_version() {
    let version = format!("The schemas are version {}.", gamewire::tables::VERSION);
    assert!(page("docs/tables.md").contains(&version), "{version}");
}

#[test]
fn the_page_of_rules_has_each_rule_once() {
    let rules = gamewire(["rules"]).out.lines().count();
    assert_eq!(page("docs/rules.md").matches("\n### ").count(), rules);
}

/// The blocks of a page in this language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = page.split(&fence).skip(1);
    blocks.map(|block| block.split("```").next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_example_of_a_configuration_is_valid_and_has_every_key() {
    let page = page("docs/ci.md");
    let [example] = &blocks(&page, "toml")[..] else { panic!("there is one example") };
    let file = Path::new("gamewire.toml");
    let config = Config::read(file, example).expect("it is a configuration");
    // The tolerances in it are the defaults.
    let (shown, default) = (&config.settings, Options::default());
    assert_eq!(shown.answer_timeout, default.settings.answer_timeout);
    assert_eq!(shown.abuse, default.settings.abuse);
    let (shown, defaults) = (&shown.protocols, &default.settings.protocols);
    assert_eq!(shown.valve_master, defaults.valve_master);
    assert_eq!(shown.gamespy1.heartbeat, defaults.gamespy1.heartbeat);
    assert_eq!((config.flow_idle, default.idle), (Some(Info::STATEFUL), None));
    // The error for an unknown key lists all keys.
    for table in ["", "[tolerances]", "[[ignore]]\nrule = \"A2S005\"\nreason = \"x\"", "[keys]"] {
        let error = Config::read(file, &format!("{table}\n\"???\" = 1")).expect_err("unknown");
        let error = error.to_string();
        let (_, known) = error.split_once("; valid keys are ").expect("all are listed");
        for key in known.split(", ") {
            let is_reported = |line: &str| {
                let line = line.trim_start_matches('[');
                line.trim_start_matches("keys.").starts_with(key) || line.starts_with(key)
            };
            assert!(example.lines().any(is_reported), "{key} is not in the example");
        }
    }
}

#[test]
fn the_commands_of_the_page_are_valid() {
    let page = page("docs/ci.md");
    let lines: Vec<String> = blocks(&page, "sh").concat().lines().map(str::to_owned).collect();
    let commands = lines.iter().filter_map(|line| line.strip_prefix("gamewire "));
    let mut count = 0;
    for command in commands {
        let run = gamewire(command.split_whitespace());
        let says = if command.contains(" --baseline ") { "baseline.json" } else { "server.pcap" };
        assert!(run.code == 2 && run.err.contains(says), "{command}: {}", run.err);
        count += 1;
    }
    assert_eq!(count, 3);
}

/// What a command prints on a terminal of 120 columns, without colours.
fn on_a_wide_terminal(command: &str) -> String {
    let args = std::iter::once("gamewire").chain(command.split(' '));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let terminal = Terminal { columns: Some(120), ..Terminal::default() };
    gamewire::run(args.map(OsString::from), &mut out, &mut err, terminal);
    String::from_utf8(out).expect("output is UTF-8")
}

/// Whether this is the output of a command, or its parts in their order, with a line `...` where something is left out.
fn is_shown(out: &str, shown: &str) -> bool {
    let lines = Vec::from_iter(shown.trim_end().lines());
    let parts = lines.split(|line| *line == "...").map(|part| part.join("\n"));
    let (parts, mut rest) = (Vec::from_iter(parts), out.trim_end());
    for (nth, part) in parts.iter().enumerate() {
        let is_last = nth + 1 == parts.len();
        let Some(at) = (if is_last { rest.rfind(&**part) } else { rest.find(&**part) }) else {
            return false;
        };
        let after = &rest[at + part.len()..];
        if nth == 0 && at > 0 || is_last && !after.is_empty() && !part.is_empty() {
            return false;
        }
        rest = after;
    }
    true
}

/// The blocks that begin with a command show its output. Returns how many there are.
fn shows_real_output(page: &str) -> usize {
    let blocks = page.split("```text\n$ gamewire ").skip(1);
    let mut compared = 0;
    for block in blocks {
        let block = block.split("```").next().unwrap_or_default();
        let (command, shown) = block.split_once('\n').expect("a command and its output");
        let out = on_a_wide_terminal(command);
        assert!(is_shown(&out, shown), "`gamewire {command}` does not print:\n{shown}");
        compared += 1;
    }
    compared
}

#[test]
fn what_an_example_leaves_out_is_marked() {
    let out = "one\n\ntwo\nthree\n";
    for shown in ["one\n\ntwo\nthree", "one\n...\nthree\n", "...\ntwo\nthree", "one\n..."] {
        assert!(is_shown(out, shown), "{shown}");
    }
    for shown in ["one\n\ntwo", "one\n\nthree", "two\nthree", "three\n...\none"] {
        assert!(!is_shown(out, shown), "{shown}");
    }
}

#[test]
fn the_readme_shows_real_output() {
    let page = page("README.md");
    assert!(shows_real_output(&page) >= 4);
    let first = page.split("```text\n").nth(1).and_then(|rest| rest.split("```").next());
    let run = gamewire(["dissect", "samples/a2s-info-players-rules.pcap"]);
    assert!(run.out.starts_with(first.expect("a first block")), "the first block");
}

#[test]
fn the_page_of_serve_shows_real_output() {
    assert_eq!(shows_real_output(&page("docs/serve.md")), 1);
}

/// Its outputs have ports and times of their own; the last line counts all rules.
#[test]
fn the_page_of_record_counts_all_rules() {
    let page = page("docs/record.md");
    let mut lines = page.lines().skip_while(|line| !line.starts_with("RULE  ")).skip(1);
    let exercised = lines.by_ref().take_while(|line| !line.is_empty()).count();
    let last = lines.next().expect("a last line");
    let numbers = last.split(|c: char| !c.is_ascii_digit());
    let others: usize = numbers.filter_map(|number| number.parse::<usize>().ok()).sum();
    assert_eq!(exercised + others, catalogue::rules().len(), "{last}");
}

#[test]
fn the_page_of_response_times_has_real_output() {
    assert!(shows_real_output(&page("docs/response-times.md")) >= 5);
}

/// The pages in the folder, apart from the index.
fn pages() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let files = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("an entry"));
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with(".md") && name != "README.md").collect()
}

#[test]
fn the_index_has_a_line_for_each_page() {
    let index = page("docs/README.md");
    let lines: Vec<_> = index.lines().filter_map(|line| line.strip_prefix("- [")).collect();
    let pages = pages();
    assert!(pages.len() > 10);
    for name in &pages {
        let about = lines.iter().filter_map(|line| line.split_once(&format!("]({name}): ")));
        let about: Vec<_> = about.map(|(_, about)| about).collect();
        assert!(matches!(about[..], [about] if about.len() > 10), "{name}: {about:?}");
    }
    assert_eq!(lines.len(), pages.len(), "each line is of a page that is there");
}

#[test]
fn the_page_of_answers_has_real_output_all_columns_and_all_causes() {
    let page = page("docs/answers.md");
    assert!(shows_real_output(&page) >= 2);
    let is_named = |name: &str| page.contains(&format!("`{name}`"));
    let causes = catalogue::causes().into_iter().map(|cause| cause.name);
    for name in Item::ALL.iter().map(|item| item.name()).chain(causes) {
        assert!(is_named(name), "{name}");
    }
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" |"));
    let headings: Vec<_> = rows.flat_map(|(heading, _)| heading.split(", ")).collect();
    let file = "samples/diagnose-masters.pcap";
    for table in ["protocols", "servers", "masters", "clients", "ports"] {
        let shown = gamewire(["summary", "--table", table, file]).out;
        let columns = shown.lines().next().expect("headings").split("  ").map(str::trim);
        // The first column is what the table is of.
        let skipped = usize::from(table != "ports");
        for column in columns.filter(|column| !column.is_empty()).skip(skipped) {
            assert!(column == "PROTOCOL" || headings.contains(&column), "{table}: {column}");
        }
        let csv = gamewire(["summary", "--format", "csv", "--table", table, file]).out;
        let names = csv.lines().next().expect("names").split(',').skip(skipped);
        for name in names.filter(|name| !["protocol", "lists_enciphered"].contains(name)) {
            assert!(is_named(name) || name.starts_with("response_time_"), "{table}: {name}");
        }
    }
}

/// The source files of these folders, as one text.
fn sources(folders: &[&str]) -> String {
    let mut folders: Vec<_> =
        folders.iter().map(|it| Path::new(env!("CARGO_MANIFEST_DIR")).join(it)).collect();
    let mut text = String::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                text += &std::fs::read_to_string(path).expect("a source file");
            }
        }
    }
    text
}

#[test]
fn the_items_of_the_library_that_are_listed_are_there() {
    let page = page("docs/library.md");
    let text = sources(&["src", "dissectors/src"]);
    let rows = page.lines().skip_while(|line| *line != "| item | what it is |").skip(2);
    let rows = rows.take_while(|line| line.starts_with('|'));
    let mut items = 0;
    for row in rows {
        let listed = row.split('|').nth(1).expect("a first column");
        for item in listed.split('`').skip(1).step_by(2) {
            let name = item.rsplit("::").next().unwrap_or(item);
            let is_declared =
                ["struct", "enum", "trait", "type", "fn", "const"].iter().any(|kind| {
                    text.match_indices(&format!("pub {kind} {name}")).any(|(at, found)| {
                        let after = text[at + found.len()..].chars().next();
                        after.is_some_and(|c| !c.is_alphanumeric() && c != '_')
                    })
                });
            assert!(is_declared || text.contains(&format!(" as {name}")), "{item}");
            items += 1;
        }
    }
    assert!(items > 70, "{items}");
}

#[test]
fn the_files_that_architecture_names_are_there() {
    let page = page("ARCHITECTURE.md");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = 0;
    for name in page.split('`').skip(1).step_by(2) {
        if !name.contains('/') || !name.ends_with(".rs") || name.contains('<') {
            continue;
        }
        let folders = ["", "src", "dissectors/src"];
        assert!(folders.iter().any(|folder| root.join(folder).join(name).exists()), "{name}");
        files += 1;
    }
    assert!(files > 20, "{files}");
}

//! Checks the dependencies between modules, which ARCHITECTURE.md describes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use dissectors::Id;

/// Each module with those that it may use, in addition to `text` and `why`, which only format texts.
const MAY_USE: [(&str, &[&str]); 27] = [
    ("capture", &[]),
    ("output_file", &["capture"]),
    ("net", &["capture"]),
    ("message", &[]),
    ("filter", &["message"]),
    ("flows", &["net"]),
    ("scrub", &["capture", "net"]),
    ("session", &["capture", "filter", "flows", "message", "net"]),
    ("check", &["capture", "filter", "flows", "message", "output_file", "session"]),
    ("summary", &["check", "flows", "session"]),
    ("abuse", &["check", "filter", "flows", "session"]),
    ("diagnose", &["abuse", "check", "session", "summary"]),
    ("rows", &["check", "flows", "session", "summary"]),
    (
        "report",
        &["abuse", "check", "diagnose", "filter", "flows", "message", "rows", "session", "summary"],
    ),
    ("tables", &["capture", "check", "filter", "report", "rows", "session", "summary"]),
    ("view", &["check", "diagnose", "filter", "report", "rows", "session", "summary"]),
    ("spoken", &["capture", "output_file"]),
    ("play", &["capture", "flows", "session", "spoken"]),
    ("config", &["check", "flows"]),
    ("live", &["capture", "output_file", "report"]),
    ("relay", &["spoken"]),
    ("probe", &["spoken"]),
    ("metrics", &["live", "session"]),
    ("limits", &["net", "session"]),
    // Their files stand for modules of several folders.
    ("browser", &["capture"]),
    ("absent", &["capture", "cli", "live", "relay", "session"]),
    ("partition", &["capture", "check", "filter", "flows", "net", "session", "summary"]),
];

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The modules that a file uses, without its tests.
fn uses(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("a source file");
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let paths = code.split("crate::").skip(1);
    let names = paths.map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next());
    names.flatten().filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[test]
fn modules_use_only_those_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut looked_at = 0;
    for (module, may_use) in MAY_USE {
        let (folder, mut found) = (root.join(module), vec![root.join(format!("{module}.rs"))]);
        found.retain(|file| file.exists());
        if folder.is_dir() {
            files(&folder, &mut found);
        }
        for file in found {
            let name = file.strip_prefix(&root).expect("below src").to_string_lossy().into_owned();
            if name.contains("test") {
                continue;
            }
            looked_at += 1;
            for used in uses(&file) {
                let may = used == module || ["text", "why"].contains(&&*used);
                assert!(may || may_use.contains(&&*used), "src/{name} uses {used}");
            }
        }
    }
    assert!(looked_at > 80, "{looked_at}");
}

#[test]
fn protocols_use_no_other_protocol() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("dissectors/src");
    let protocols: Vec<_> = Id::ALL.iter().map(|id| id.info().id).collect();
    for &protocol in &protocols {
        let mut found = Vec::new();
        files(&root.join(protocol), &mut found);
        assert!(found.len() > 4, "{protocol}");
        for file in found {
            for used in uses(&file) {
                let is_sideways = used != protocol && protocols.contains(&&*used);
                assert!(!is_sideways, "{} uses {used}", file.display());
            }
        }
    }
}

/// A file's code, without comments and tests.
fn code(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("a source file");
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

/// Words, `::`, and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), code.trim_start());
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        let length = match word {
            0 if rest.starts_with("::") => 2,
            0 => first.len_utf8(),
            word => word,
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// Reads a path, or several in braces; returns the rest.
fn read_paths<'t, 'c>(
    mut tokens: &'t [&'c str],
    mut before: Vec<&'c str>,
    found: &mut Vec<Vec<&'c str>>,
) -> &'t [&'c str] {
    loop {
        match tokens {
            ["{", rest @ ..] => {
                tokens = rest;
                while !matches!(tokens, [] | ["}", ..]) {
                    tokens = match tokens {
                        [",", rest @ ..] | ["as", _, rest @ ..] => rest,
                        _ => read_paths(tokens, before.clone(), found),
                    };
                }
                return tokens.get(1..).unwrap_or_default();
            }
            [word, "::", rest @ ..] => {
                before.push(word);
                tokens = rest;
            }
            [word, rest @ ..] => {
                before.push(word);
                found.push(before);
                return rest;
            }
            [] => return tokens,
        }
    }
}

/// The paths in code that begin with `crate`, `super` or `self`, as absolute paths; `module` is the code's
/// module.
fn paths<'c>(tokens: &[&'c str], module: &[&'c str]) -> Vec<Vec<&'c str>> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        let begins = matches!(tokens[at..], ["crate" | "super" | "self", "::", ..]);
        if begins && (at == 0 || tokens[at - 1] != "::") {
            read_paths(&tokens[at..], Vec::new(), &mut found);
        }
    }
    for path in &mut found {
        let mut whole = module.to_vec();
        for word in path.iter() {
            match *word {
                "crate" => whole.clear(),
                "super" => _ = whole.pop(),
                "self" => {}
                word => whole.push(word),
            }
        }
        *path = whole;
    }
    found
}

/// The module path of a file.
fn module_of<'p>(file: &'p Path, sources: &Path) -> Vec<&'p str> {
    let path = file.strip_prefix(sources).expect("a source file");
    let mut names: Vec<_> = path.iter().filter_map(|name| name.to_str()).collect();
    let last = names.pop().and_then(|name| name.strip_suffix(".rs")).expect("a name");
    names.extend((last != "mod").then_some(last));
    names
}

/// The names that a folder's module re-exports, each with its module.
fn re_exports(
    sources: &Path,
    folder: &[&str],
    modules: &BTreeSet<String>,
) -> BTreeMap<String, String> {
    let root = sources.join(folder.join("/"));
    let mut origins = BTreeMap::new();
    for file in [root.join("mod.rs"), root.with_extension("rs")] {
        if !file.exists() {
            continue;
        }
        let code = code(&file);
        let tokens = tokens(&code);
        for at in (0..tokens.len()).filter(|at| tokens[*at] == "use") {
            let (mut found, rest) = (Vec::new(), tokens[at + 1..].strip_prefix(&["self", "::"]));
            read_paths(rest.unwrap_or(&tokens[at + 1..]), Vec::new(), &mut found);
            for path in found.iter().filter(|path| path.len() > 1 && modules.contains(path[0])) {
                origins.insert(path[path.len() - 1].to_owned(), path[0].to_owned());
            }
        }
    }
    origins
}

/// The modules that can be reached from a module, including itself only in a cycle.
fn reach<'g>(
    uses: &'g BTreeMap<String, BTreeSet<String>>,
    from: &'g str,
    reached: &mut BTreeSet<&'g str>,
) {
    for used in uses.get(from).into_iter().flatten() {
        if reached.insert(used) {
            reach(uses, used, reached);
        }
    }
}

/// Checks that the modules of this folder have no dependency cycles, also through names that the folder
/// re-exports. Returns the number of modules.
fn count_without_circles(sources: &Path, folder: &[&str]) -> usize {
    let (root, mut found) = (sources.join(folder.join("/")), Vec::new());
    files(&root, &mut found);
    let module = |file: &Path| {
        let path = file.strip_prefix(&root).expect("below the folder").with_extension("");
        path.iter().next().expect("a name").to_string_lossy().into_owned()
    };
    let is_test = |file: &&PathBuf| {
        let name = file.strip_prefix(&root).expect("below the folder").to_string_lossy();
        !name.contains("test") && name != "mod.rs"
    };
    found.retain(|file| is_test(&file));
    let names: BTreeSet<String> = found.iter().map(|file| module(file)).collect();
    let origins = re_exports(sources, folder, &names);
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &found {
        let (code, own) = (code(file), module(file));
        let uses = modules.entry(own.clone()).or_default();
        for path in paths(&tokens(&code), &module_of(file, sources)) {
            let Some([name, ..]) = path.strip_prefix(folder) else { continue };
            let used = names.get(*name).or_else(|| origins.get(*name));
            // A field names the functions that say what is kept of it, which read the protocol's tables.
            let is_named = |used: &&String| own == "fields" && *used == "kept";
            uses.extend(used.filter(|used| **used != own && !is_named(used)).cloned());
        }
    }
    for module in &names {
        let mut reached = BTreeSet::new();
        reach(&modules, module, &mut reached);
        let uses = &modules[module];
        assert!(!reached.contains(&**module), "{folder:?}: {module} uses {uses:?}, in a circle");
    }
    names.len()
}

/// All folders below this one.
fn folders(root: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(root).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("tests") {
            folders(&path, found);
            found.push(path);
        }
    }
}

#[test]
fn modules_have_no_dependency_cycles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (sources, at_least) in [("dissectors/src", 120), ("src", 200)] {
        let (sources, mut found) = (root.join(sources), Vec::new());
        folders(&sources, &mut found);
        let mut modules = 0;
        for folder in &found {
            let path = folder.strip_prefix(&sources).expect("below the sources");
            let names: Vec<_> = path.iter().filter_map(|name| name.to_str()).collect();
            modules += count_without_circles(&sources, &names);
        }
        assert!(modules >= at_least, "{}: {modules} modules", sources.display());
    }
}

/// Names of messages that are common words, too.
const WORDS: [&str; 3] = ["unknown", "text", "challenge"];

/// Adding a protocol means adding its folder, so no protocol's or message's name is used outside of it.
#[test]
fn other_code_uses_no_name_of_a_message() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    found.retain(|path| !path.to_string_lossy().contains("test"));
    assert!(found.len() > 200);
    for path in found {
        let text = fs::read_to_string(&path).expect("a source file");
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        let code = code.lines().filter(is_code).collect::<Vec<_>>().join("\n");
        for info in dissectors::Id::ALL.iter().map(|id| id.info()) {
            let names = info.messages.iter().map(|message| message.name).chain([info.id]);
            for name in names.filter(|name| !WORDS.contains(name)) {
                let quoted = format!("\"{name}\"");
                assert!(!code.contains(&quoted), "{}: {quoted}", path.display());
            }
        }
    }
}

/// A longer file asks to be split. A table of a document's statements does not.
#[test]
fn files_have_less_than_600_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    files(&root.join("src"), &mut found);
    files(&root.join("dissectors/src"), &mut found);
    found.retain(|path| !path.ends_with("coverage.rs"));
    assert!(found.len() > 700);
    for path in found.iter().filter(|path| !path.to_string_lossy().contains("tests")) {
        let lines = fs::read_to_string(path).expect("a source file").lines().count();
        assert!(lines < 600, "{}: {lines} lines", path.display());
    }
}

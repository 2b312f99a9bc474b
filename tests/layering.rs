//! Which module may use which: the picture in ARCHITECTURE.md, held against the code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Each module with those that it may use, besides `text` and `why`, which know words only.
const MAY_USE: [(&str, &[&str]); 18] = [
    ("capture", &[]),
    ("net", &["capture"]),
    ("filter", &[]),
    ("flows", &["net"]),
    ("scrub", &["capture", "net"]),
    ("session", &["capture", "filter", "flows", "net"]),
    ("check", &["capture", "filter", "session"]),
    ("summary", &["flows", "session"]),
    ("abuse", &["check", "flows", "session"]),
    ("diagnose", &["check", "session", "summary"]),
    ("report", &["abuse", "check", "diagnose", "filter", "flows", "session", "summary"]),
    ("tables", &["capture", "check", "filter", "flows", "report", "session", "summary"]),
    ("view", &["check", "filter", "flows", "report", "session", "summary"]),
    ("config", &["check", "flows"]),
    ("live", &["capture", "report"]),
    ("metrics", &["live", "session"]),
    ("limits", &["net", "session"]),
    ("partition", &["capture", "check", "flows", "net", "session"]),
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

/// The modules that a file uses, its tests left out.
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
    let protocols = ["a2s", "acr_master", "gamespy1", "gamespy4", "valve_master"];
    for protocol in protocols {
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

/// The words of a file's code that follow `super::` or the folder's own path: modules among them.
fn neighbours(file: &Path, folder: &str) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("a source file");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    let code =
        code.collect::<Vec<_>>().join("\n").replace(&format!("crate::{folder}::"), "super::");
    let mut words = BTreeSet::new();
    for rest in code.split("super::").skip(1) {
        // One name, or a list of names in braces.
        let list = rest.strip_prefix('{').map_or_else(
            || rest.split(|c: char| !c.is_alphanumeric() && c != '_').next(),
            |list| list.split('}').next(),
        );
        let names = list.unwrap_or_default().split(|c: char| !c.is_alphanumeric() && c != '_');
        words.extend(names.map(str::to_owned));
    }
    words
}

/// What can be reached from a module, itself left out unless a circle leads back to it.
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

/// No module in this folder uses one that uses it, directly or through others.
fn assert_no_circles(sources: &Path, folder: &str, at_least: usize) {
    let mut modules: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (root, mut found) = (sources.join(folder), Vec::new());
    files(&root, &mut found);
    for file in found {
        let path = file.strip_prefix(&root).expect("below the folder").with_extension("");
        let module = path.iter().next().expect("a name").to_string_lossy().into_owned();
        if module != "tests" && module != "mod" {
            modules.entry(module).or_default().extend(neighbours(&file, folder));
        }
    }
    let names: BTreeSet<String> = modules.keys().cloned().collect();
    assert!(names.len() >= at_least, "{folder}: {names:?}");
    for (module, uses) in &mut modules {
        uses.retain(|used| names.contains(used) && used != module);
    }
    for module in &names {
        let mut reached = BTreeSet::new();
        reach(&modules, module, &mut reached);
        let uses = &modules[module];
        assert!(!reached.contains(&**module), "{folder}: {module} uses {uses:?}, in a circle");
    }
}

#[test]
fn modules_do_not_use_each_other_in_circles() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for protocol in ["a2s", "acr_master", "gamespy1", "gamespy4", "valve_master"] {
        assert_no_circles(&root.join("dissectors/src"), protocol, 9);
    }
    for (folder, at_least) in [("check", 7), ("commands", 18), ("config", 3), ("flows", 6)] {
        assert_no_circles(&root.join("src"), folder, at_least);
    }
}

/// To add a protocol is to add its folder: no message is known by its name outside.
#[test]
fn tables_of_servers_know_no_message_by_its_name() {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/summary"), &mut found);
    assert!(found.len() > 2);
    for path in found {
        let text = fs::read_to_string(&path).expect("a source file");
        for info in dissectors::Id::ALL.iter().map(|id| id.info()) {
            let names = info.messages.iter().map(|message| message.name).chain([info.id]);
            for name in names {
                let quoted = format!("\"{name}\"");
                assert!(!text.contains(&quoted), "{}: {quoted}", path.display());
            }
        }
    }
}

//! Which module may use which: the picture in ARCHITECTURE.md, held against the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module with those that it may use, besides `text` and `why`, which know words only.
const MAY_USE: [(&str, &[&str]); 9] = [
    ("capture", &[]),
    ("net", &["capture"]),
    ("flows", &["net"]),
    ("session", &["capture", "flows", "net"]),
    ("check", &["capture", "session"]),
    ("report", &["check", "flows", "session"]),
    ("config", &["check", "flows"]),
    ("live", &["capture", "report"]),
    ("limits", &["net", "session"]),
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

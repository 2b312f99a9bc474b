//! `gamewire export --format vectors`: exchanges as JSON files, and those of `samples/vectors`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::project::Project;
use crate::support::{gamewire, skip};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder: names and contents.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    let named = entries.map(|entry| {
        let text = std::fs::read_to_string(entry.path()).expect("a file");
        (entry.file_name().to_string_lossy().into_owned(), text)
    });
    named.collect()
}

fn export(project: &Project, captures: &[&str]) -> BTreeMap<String, String> {
    let folder = project.path("vectors");
    let captures = captures.iter().map(|name| root().join(name).to_string_lossy().into_owned());
    let words = ["export", "--no-config", "--format", "vectors", "-o", &folder].map(str::to_owned);
    let run = gamewire(words.into_iter().chain(captures));
    assert_eq!(run.code, 0, "{}", run.err);
    files(Path::new(&folder))
}

#[test]
fn the_vectors_of_samples_are_up_to_date_and_small() {
    let project = Project::new("vectors-samples");
    let made = export(&project, &xtask::VECTORS);
    let kept = files(&root().join("samples/vectors"));
    let [made_names, kept_names] =
        [&made, &kept].map(|files| Vec::from_iter(files.keys().cloned()));
    assert_eq!(kept_names, made_names, "run `cargo run -p xtask -- samples`");
    for (name, text) in &made {
        assert!(kept[name] == *text, "{name} differs: cargo run -p xtask -- samples");
    }
    let size: usize = kept.values().map(String::len).sum();
    assert!(size < 200_000, "{size} bytes");
}

#[test]
fn a_vector_has_what_dissect_shows_and_what_check_finds() {
    let project = Project::new("vectors-dissect");
    let capture = root().join("samples/a2s-quirks.pcap").to_string_lossy().into_owned();
    let vectors = export(&project, &["samples/a2s-quirks.pcap"]);
    let shown = gamewire(["dissect", "--no-config", "--format", "json", &capture]).out;
    let shown: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let by_frame =
        |frame: &Value| shown.iter().find(|it| it["frame"] == *frame).expect("a message");
    let mut failed = 0;
    for text in vectors.values() {
        let vector: Value = serde_json::from_str(text).expect("JSON");
        for side in ["request", "response"] {
            let message = by_frame(&vector[side]["frame"]);
            for member in ["message", "fields"] {
                assert_eq!(vector[side][member], message[member]);
            }
        }
        let response = by_frame(&vector["response"]["frame"]);
        assert_eq!(response["request"], vector["request"]["frame"]);
        for finding in response["findings"].as_array().into_iter().flatten() {
            let code =
                finding["rule"].as_str().or_else(|| finding["code"].as_str()).expect("a code");
            assert_ne!(vector["rules"][code], Value::Null, "{code}");
        }
        let rules = vector["rules"].as_object().expect("rules");
        failed += rules.values().filter(|verdict| **verdict == "fail").count();
    }
    assert!(vectors.len() > 5 && failed > 0, "{} vectors, {failed} failed", vectors.len());
}

/// Earlier vectors would be taken for those of this capture.
#[test]
fn a_folder_with_other_files_is_refused() {
    let project = Project::new("vectors-mixed");
    let vectors = export(&project, &["samples/a2s-quirks.pcap"]);
    let folder = project.path("vectors");
    let words = ["export", "--no-config", "--format", "vectors", "-o", &folder];
    let run = gamewire(words.iter().chain(&["samples/gamespy1-query.pcap"]));
    assert_eq!(run.code, 2);
    assert_eq!(run.err, format!("gamewire: -o {folder}: it is not empty; name a new folder\n"));
    assert_eq!(files(Path::new(&folder)), vectors);
}

#[test]
fn tables_are_another_format() {
    let project = Project::new("vectors-tables");
    let folder = project.path("vectors");
    let words = ["export", "--format", "vectors", "--tables", "flows", "-o", &folder];
    let run = gamewire(words.iter().chain(&["samples/a2s-quirks.pcap"]));
    assert!(run.code == 2 && run.err.contains("--tables"), "{}", run.err);
}

#[test]
fn the_example_in_python_reads_all_vectors() {
    let page = std::fs::read_to_string(root().join("docs/vectors.md")).expect("a page");
    let example = page.split("```python\n").nth(1).and_then(|rest| rest.split("```").next());
    let mut run = Command::new("python3");
    run.arg("-c").arg(example.expect("an example")).current_dir(root());
    let Ok(ran) = run.output() else {
        return skip::skipped("python3", "there is no python3");
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let lines = String::from_utf8_lossy(&ran.stdout).lines().count();
    assert_eq!(lines, files(&root().join("samples/vectors")).len());
}

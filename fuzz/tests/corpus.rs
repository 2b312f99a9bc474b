//! Runs every input of the corpus, and every sample capture, in its target.

use std::path::Path;

use fuzz::{seeds, targets};

#[test]
fn the_corpus_violates_no_guarantee() {
    let folder = seeds::folder();
    for target in targets() {
        let mut inputs = seeds::of(&folder, &target.name).expect("the corpus is there");
        if matches!(target.name.as_str(), "program" | "capture") {
            inputs.extend(samples());
        }
        assert!(!inputs.is_empty(), "{} has no inputs", target.name);
        for (name, bytes) in inputs {
            let cuts = [bytes.len(), bytes.len() / 2, bytes.len().saturating_sub(1)];
            for cut in cuts {
                let run = std::panic::catch_unwind(|| target.run(&bytes[..cut]));
                assert!(run.is_ok(), "{name}, its first {cut} bytes");
            }
        }
    }
}

#[test]
fn the_corpus_is_up_to_date() {
    let wrong = seeds::check(&seeds::folder()).expect("the corpus is there");
    assert!(wrong.is_empty(), "run `cargo run -p fuzz`: {wrong:#?}");
}

fn samples() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let files = std::fs::read_dir(folder).expect("samples/ is there");
    let files = files.map(|file| file.expect("a readable folder").path());
    files
        .filter(|path| path.extension().is_some_and(|kind| kind != "md"))
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a sample")))
        .collect()
}

//! Captures of real programs. They are not part of the project: they are next to the checkout, or
//! `GAMEWIRE_CAPTURES` names their folder. Without them, these tests are skipped.

use crate::support::skip::skipped;
use crate::support::{captures, gamewire};

#[test]
fn nothing_is_claimed_in_captures_of_other_protocols() {
    let Some(files) = captures("corpora") else {
        skipped("captures", "no captures of other protocols are here");
        return;
    };
    let mut requests = 0;
    for file in files {
        let path = file.to_string_lossy().into_owned();
        let run = gamewire(["dissect", "--format", "json", &path]);
        assert!(run.code == 0 || run.code == 2, "{path}: exit {}", run.code);
        let checked = gamewire(["check", "--no-config", "--verify-checksums", &path]);
        assert!(checked.code < 3 && (checked.code == 2) == (run.code == 2), "{path}");
        if path.ends_with("source_engine.pcap") {
            requests = run.out.matches(r#""message":"info_request""#).count();
            assert_eq!(run.out.lines().count(), requests);
        } else {
            assert_eq!(run.out, "", "{path}");
        }
    }
    assert_eq!(requests, 17);
}

#[test]
fn every_response_of_recorded_servers_is_read_to_its_last_byte() {
    let Some(files) = captures("recorded") else {
        skipped("captures", "no recorded captures are here");
        return;
    };
    let mut read = 0;
    for file in files {
        let path = file.to_string_lossy().into_owned();
        let run = gamewire(["dissect", "--format", "json", "--tree", &path]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{path}");
        let is_response = |line: &&str| line.contains(r#"_response","#);
        let is_whole = |line: &str| !line.contains(r#""name":"unparsed""#);
        let responses = Vec::from_iter(run.out.lines().filter(is_response));
        assert!(responses.iter().all(|line| is_whole(line)), "{path}");
        read += responses.len();
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        if name.starts_with("a2s_") {
            assert!(run.out.lines().count() > 15, "{path}");
            assert!(!run.out.contains(r#""message":"split_fragment""#), "{path}");
        }
    }
    assert!(read > 1000, "{read} answers were read");
}

//! The baseline: known findings of a project, which do not fail its build.
//!
//! A sorted JSON file, so that its versions can be compared. It is written completely or not at
//! all.

use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dissectors::catalogue;
use dissectors::kit::{Rule, RuleCounts, Verdict};
use serde::{Deserialize, Serialize};

use super::{Fingerprint, ReportedFinding};
#[cfg(any(feature = "commands", feature = "files"))]
use crate::output_file::OutputFile;
use crate::text::escaped;
use crate::why;

/// The version of the file format.
const VERSION: u32 = 1;

/// Maximum size of a baseline.
const MOST_BYTES: u64 = 64 << 20;

/// Limit: findings that differ in more than numbers, for `--write-baseline` | {} of a capture | on standard error
const MOST: usize = 100_000;

/// Maximum number of stored findings of a baseline per rule; further ones are counted.
const KEPT: u64 = 1000;

/// Findings that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(pub BTreeSet<Fingerprint>);

/// Why a baseline cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BaselineError {
    /// The file cannot be read.
    #[error("{}: {}", escaped(&file.to_string_lossy()), why::unreadable(error))]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The file is not a baseline.
    #[error("{}: this is not a baseline: {}; --write-baseline writes one",
        escaped(&file.to_string_lossy()), escaped(what))]
    Wrong {
        /// Which file.
        file: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// The file is too large.
    #[error("{}: it is larger than a baseline can be, 64 MiB", escaped(&file.to_string_lossy()))]
    TooLarge {
        /// Which file.
        file: PathBuf,
    },
    /// The file cannot be written.
    #[error("{}: cannot write the baseline: {}",
        escaped(&file.to_string_lossy()), why::unwritable(error))]
    Unwritable {
        /// Which file.
        file: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

#[cfg(any(feature = "commands", feature = "files"))]
impl BaselineError {
    fn unwritable(file: &Path, error: io::Error) -> BaselineError {
        BaselineError::Unwritable { file: file.to_owned(), error }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    version: u32,
    findings: BTreeSet<Fingerprint>,
}

impl Baseline {
    /// Reads a baseline.
    ///
    /// # Errors
    /// The file cannot be read, or is not a baseline.
    pub fn read(file: &Path) -> Result<Baseline, BaselineError> {
        let mut text = String::new();
        std::fs::File::open(file)
            .and_then(|open| open.take(MOST_BYTES + 1).read_to_string(&mut text))
            .map_err(|error| BaselineError::Unreadable { file: file.to_owned(), error })?;
        if text.len() as u64 > MOST_BYTES {
            return Err(BaselineError::TooLarge { file: file.to_owned() });
        }
        let wrong = |what| BaselineError::Wrong { file: file.to_owned(), what };
        let read: File = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if read.version != VERSION {
            return Err(wrong(format!("its version is {}, not {VERSION}", read.version)));
        }
        Ok(Baseline(read.findings))
    }

    /// The codes of its rules that are unknown, and the number of their findings. It may be from
    /// another version.
    pub fn unknown(&self) -> (BTreeSet<&str>, usize) {
        let known: BTreeSet<String> =
            catalogue::rules().iter().map(|rule| rule.code.to_string()).collect();
        let unknown = self.0.iter().filter(|entry| !known.contains(&entry.rule));
        let codes: Vec<_> = unknown.map(|entry| entry.rule.as_str()).collect();
        (codes.iter().copied().collect(), codes.len())
    }

    /// Writes it, completely or not at all.
    ///
    /// # Errors
    /// The file cannot be written.
    #[cfg(any(feature = "commands", feature = "files"))]
    pub fn write(&self, file: &Path) -> Result<(), BaselineError> {
        let write = || {
            let mut output = OutputFile::create(file)?;
            let findings = self.0.clone();
            serde_json::to_writer_pretty(&mut output, &File { version: VERSION, findings })?;
            io::Write::write_all(&mut output, b"\n")?;
            output.put()
        };
        write().map_err(|error| BaselineError::unwritable(file, error))
    }

    /// Whether it could be written, to report an error before reading gigabytes.
    ///
    /// # Errors
    /// It could not.
    #[cfg(any(feature = "commands", feature = "files"))]
    pub fn try_writing(file: &Path) -> Result<(), BaselineError> {
        OutputFile::try_creating(file).map_err(|error| BaselineError::unwritable(file, error))
    }
}

/// The known findings of a capture.
#[derive(Clone, Debug)]
pub struct Baselined {
    baseline: Arc<Baseline>,
    /// The fingerprints of all findings of the capture, known or not.
    pub occurred: BTreeSet<Fingerprint>,
    /// There were more unknown ones.
    pub is_full: bool,
    /// Findings that are in the baseline, in the order of the packets.
    pub findings: Vec<ReportedFinding>,
    /// Their number, stored or not.
    counts: RuleCounts,
    /// Their total number.
    pub count: u64,
}

impl Baselined {
    pub(super) fn new(baseline: Arc<Baseline>) -> Baselined {
        Baselined {
            baseline,
            occurred: BTreeSet::new(),
            is_full: false,
            findings: Vec::new(),
            counts: RuleCounts::default(),
            count: 0,
        }
    }

    /// Takes a finding that is in the baseline; returns any other. Inconclusive ones are neither
    /// known nor new.
    pub(super) fn take(&mut self, found: ReportedFinding) -> Option<ReportedFinding> {
        if found.verdict == Verdict::Inconclusive {
            return Some(found);
        }
        let is_known = self.note(Fingerprint::of(&found));
        if !is_known {
            return Some(found);
        }
        self.count += 1;
        let counts = self.counts.of_mut(found.rule);
        counts.count(found.verdict, 1);
        if counts.findings() <= KEPT {
            self.findings.push(found);
        }
        None
    }

    /// Records that a finding occurred. Returns whether it is known.
    fn note(&mut self, fingerprint: Fingerprint) -> bool {
        let is_known = self.baseline.0.contains(&fingerprint);
        // Known ones are always stored: otherwise they would be reported as gone.
        if is_known || self.occurred.len() < MOST {
            self.occurred.insert(fingerprint);
        } else {
            self.is_full |= !self.occurred.contains(&fingerprint);
        }
        is_known
    }

    /// How often a rule was broken by known findings.
    pub(super) fn failed(&self, rule: &Rule) -> u64 {
        self.counts.of(rule).failed
    }

    /// Adds the findings of another capture, the `nth` of those that are summed.
    pub(super) fn add(&mut self, other: Baselined, nth: u32) {
        self.occurred.extend(other.occurred);
        self.is_full |= other.is_full;
        self.count += other.count;
        let findings = other.findings.into_iter();
        self.findings.extend(findings.map(|found| found.of_more(nth)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprint(rule: &str) -> Fingerprint {
        let text = str::to_owned;
        Fingerprint {
            rule: text(rule),
            who: text("server"),
            protocol: text("a2s"),
            message: text("info_response"),
            detail: text("it says \"…\""),
        }
    }

    #[test]
    fn of_very_many_findings_those_that_are_known_occur_all_the_same() {
        let known = Arc::new(Baseline([fingerprint("A2S030")].into()));
        let mut baselined = Baselined::new(known);
        for nth in 0..MOST {
            baselined.note(Fingerprint { message: nth.to_string(), ..fingerprint("A2S030") });
        }
        assert!(!baselined.is_full);
        assert!(!baselined.note(fingerprint("VM001")));
        assert!(baselined.is_full);
        assert!(baselined.note(fingerprint("A2S030")));
        assert_eq!(baselined.occurred.len(), MOST + 1);
        assert!(baselined.occurred.contains(&fingerprint("A2S030")));
    }

    #[cfg(any(feature = "commands", feature = "files"))]
    #[test]
    fn a_written_baseline_is_read_back_and_sorted() {
        let folder = std::env::temp_dir().join(format!("gamewire-baseline-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("known.json");
        let baseline = Baseline(["VM001", "A2S030"].map(fingerprint).into());
        baseline.write(&file).unwrap();
        baseline.write(&file).unwrap();
        assert_eq!(Baseline::read(&file).unwrap(), baseline);
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.find("A2S030") < text.find("VM001") && text.ends_with("}\n"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");

        let target = folder.join("folder");
        std::fs::create_dir(&target).unwrap();
        std::fs::write(target.join("kept"), "").unwrap();
        assert!(baseline.write(&target).is_err(), "a folder is not replaced");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2, "nothing else is left");
        std::fs::remove_dir_all(folder).unwrap();
    }
}

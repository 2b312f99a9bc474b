//! The configuration of a project: `gamewire.toml`.
//!
//! The file is named, or searched from the working directory upward. This module knows the syntax of
//! the file and the meaning of each key, and is independent of commands and the command line, whose
//! options take precedence: the commands apply them.

mod durations;
mod keys;
#[cfg(all(feature = "files", unix))]
mod owner;
#[cfg(not(all(feature = "files", unix)))]
#[path = "../absent/owner.rs"]
mod owner;
mod read;
mod table;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use dissectors::kit::{Rule, Settings, Severities};
use jiff::civil::Date;

use crate::check::{FailOn, Ignore};
use crate::flows::DecodeAs;
use crate::text::escaped;
use crate::why;

pub use durations::nanoseconds;
pub use keys::{GivenKey, acr_key, gamespy_key};

/// The file's name.
pub const NAME: &str = "gamewire.toml";

/// Maximum size of the file in bytes.
const MOST: u64 = 1 << 20;

/// The settings of the file, and defaults for all others.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The names of the keys that it sets, each of which can change a verdict.
    pub keys: Vec<&'static str>,
    /// Lowest severity of a broken rule that fails the capture.
    pub fail_on: Option<FailOn>,
    /// Whether captures are stated to be complete.
    pub complete: bool,
    /// Rules that must be exercised.
    pub require: Vec<&'static Rule>,
    /// The severities of rules.
    pub severities: Severities,
    /// Rules that are not reported.
    pub ignores: Vec<Ignored>,
    /// Protocols that are forced on ports.
    pub decode_as: Vec<DecodeAs>,
    /// Tolerances and keys.
    pub settings: Settings,
    /// Maximum time between two packets of a flow, in nanoseconds.
    pub flow_idle: Option<i64>,
}

/// A rule to ignore, and until when.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// The rule and host.
    pub ignore: Ignore,
    /// The reason.
    pub reason: String,
    /// The last day on which it is valid, if it expires.
    pub until: Option<Date>,
    /// Its line number, from 1.
    pub line: usize,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {}", escaped(&file.to_string_lossy()), why::unreadable(error))]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file was found, and belongs to another user.
    #[error(
        "{file} belongs to {}, who could change verdicts with it; if you trust it, use --config {file}, or else --no-config",
        escaped(owner), file = escaped(&file.to_string_lossy())
    )]
    OtherOwner {
        /// The file.
        file: PathBuf,
        /// Its owner.
        owner: String,
    },
    /// The file is invalid.
    #[error("{}:{line}: {}", escaped(&file.to_string_lossy()), escaped(what))]
    Wrong {
        /// The file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and how to correct it.
        what: String,
    },
    /// A key on the command line is invalid. The argument is not shown.
    #[error("{0}")]
    Key(String),
}

impl Config {
    /// Reads the named file, or else the nearest one in the working directory or above it, if any.
    ///
    /// # Errors
    /// It cannot be read, is invalid, or was found and belongs to another user.
    pub fn load(named: Option<&Path>) -> Result<Config, ConfigError> {
        let mut is_above = false;
        let found = match named {
            Some(file) => Some(file.to_owned()),
            None => std::env::current_dir().ok().and_then(|folder| {
                let file = nearest(&folder)?;
                // The path as a user in the working directory would write it.
                let here = file.strip_prefix(&folder).map(Path::to_owned);
                is_above = here.is_err();
                Some(here.unwrap_or(file))
            }),
        };
        let Some(file) = found else { return Ok(Config::default()) };
        let unreadable = |error| ConfigError::Unreadable { file: file.clone(), error };
        let open = File::open(&file).map_err(unreadable)?;
        if named.is_none()
            && let Some(owner) = owner::stranger(&file, &open).map_err(unreadable)?
        {
            return Err(ConfigError::OtherOwner { file, owner });
        }
        Config::parse(&file, &text(open).map_err(unreadable)?, is_above)
    }

    /// Reads the text of the file.
    ///
    /// # Errors
    /// It is invalid.
    pub fn read(file: &Path, text: &str) -> Result<Config, ConfigError> {
        Config::parse(file, text, false)
    }

    /// `is_above`: the file was found above the working directory, in a folder that other users may be
    /// able to write to. So it may only name files in its own folder and below.
    fn parse(file: &Path, text: &str, is_above: bool) -> Result<Config, ConfigError> {
        read::read(file, text, is_above).map_err(|wrong| ConfigError::Wrong {
            file: file.to_owned(),
            line: Lines::of(text).number(wrong.at),
            what: wrong.what,
        })
    }

    /// The name of the file with control characters escaped, if there is a file.
    pub fn name(&self) -> Option<String> {
        self.file.as_ref().map(|file| escaped(&file.to_string_lossy()).into_owned())
    }

    /// Which file was read, and what it sets, if it sets anything.
    pub fn note(&self) -> Option<String> {
        let name = self.name().filter(|_| !self.keys.is_empty())?;
        Some(format!("settings of {name} apply: {}", self.keys.join(", ")))
    }

    /// The rules that are ignored on that day, and a warning for each one that has expired.
    pub fn ignores(&self, today: impl Fn() -> Date) -> (Vec<Ignore>, Vec<String>) {
        let (mut valid, mut warnings) = (Vec::new(), Vec::new());
        for ignored in &self.ignores {
            match ignored.until.filter(|&until| until < today()) {
                None => valid.push(ignored.ignore),
                Some(until) => {
                    let file = self.file.as_deref().unwrap_or(Path::new(NAME));
                    let (file, line) = (file.to_string_lossy(), ignored.line);
                    let (code, reason) = (ignored.ignore.rule.code, escaped(&ignored.reason));
                    warnings.push(format!(
                        "{}:{line}: {code} was ignored until {until} ({reason}); it counts again",
                        escaped(&file)
                    ));
                }
            }
        }
        (valid, warnings)
    }
}

/// Today in UTC, only for the expiry of ignored rules: a page has none, and no clock.
pub fn today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The file in this folder, or in the nearest one above it that has one.
fn nearest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(NAME)).find(|file| file.is_file())
}

fn text(file: File) -> std::io::Result<String> {
    let mut text = String::new();
    let read = file.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST {
        return Err(std::io::Error::other(
            "it is larger than 1 MiB, the maximum for a configuration file",
        ));
    }
    Ok(text)
}

/// The lines of a text.
struct Lines {
    /// Where they end.
    ends: Vec<usize>,
}

impl Lines {
    fn of(text: &str) -> Lines {
        Lines { ends: text.match_indices('\n').map(|(at, _)| at).collect() }
    }

    /// The number of the line of a byte, from 1.
    fn number(&self, at: usize) -> usize {
        self.ends.partition_point(|end| *end < at) + 1
    }
}

#[cfg(test)]
mod tests;

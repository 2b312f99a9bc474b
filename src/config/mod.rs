//! What a project has settled for all its runs: `gamewire.toml`.
//!
//! The file is found upward from the working directory, or named. It knows how the file is written
//! and what each key means. It refuses to know which command asks, and what the command line says:
//! that wins, and the commands see to it.

mod durations;
mod keys;
mod read;
mod table;

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

/// No configuration is that large.
const MOST: u64 = 1 << 20;

/// What the file says; what it does not say is as if there were no file.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// The least severity that makes a broken rule fail the capture.
    pub fail_on: Option<FailOn>,
    /// Whether captures are vouched for as complete.
    pub complete: bool,
    /// Rules that must be exercised.
    pub require: Vec<&'static Rule>,
    /// What rules weigh.
    pub severities: Severities,
    /// Rules that are not reported.
    pub ignores: Vec<Ignored>,
    /// Protocols that are forced on ports.
    pub decode_as: Vec<DecodeAs>,
    /// Tolerances and keys.
    pub settings: Settings,
    /// How long a flow may be silent, in nanoseconds.
    pub flow_idle: Option<i64>,
}

/// An ignore, and until when it holds.
#[derive(Clone, Debug)]
pub struct Ignored {
    /// What is ignored.
    pub ignore: Ignore,
    /// Why.
    pub reason: String,
    /// The last day on which it holds, if there is one.
    pub until: Option<Date>,
    /// The line it is in, from 1.
    pub line: usize,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{}: {}", escaped(&file.to_string_lossy()), why::unreadable(error))]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The file says something that cannot be.
    #[error("{}:{line}: {}", escaped(&file.to_string_lossy()), escaped(what))]
    Wrong {
        /// Which file.
        file: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A key on the command line cannot be used. What was typed is not shown.
    #[error("{0}")]
    Key(String),
}

impl Config {
    /// Reads the named file, or the nearest one above the working directory, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or says something that cannot be.
    pub fn load(named: Option<&Path>) -> Result<Config, ConfigError> {
        let mut is_above = false;
        let found = match named {
            Some(file) => Some(file.to_owned()),
            None => std::env::current_dir().ok().and_then(|folder| {
                let file = nearest(&folder)?;
                // Named as a user there would name it.
                let here = file.strip_prefix(&folder).map(Path::to_owned);
                is_above = here.is_err();
                Some(here.unwrap_or(file))
            }),
        };
        let Some(file) = found else { return Ok(Config::default()) };
        let text =
            text(&file).map_err(|error| ConfigError::Unreadable { file: file.clone(), error })?;
        Config::parse(&file, &text, is_above)
    }

    /// Reads what is in the file.
    ///
    /// # Errors
    /// It says something that cannot be.
    pub fn read(file: &Path, text: &str) -> Result<Config, ConfigError> {
        Config::parse(file, text, false)
    }

    /// `is_above`: nobody named the file, and it is not in the working directory. It may name files below
    /// its own folder only: others may write to a folder above.
    fn parse(file: &Path, text: &str, is_above: bool) -> Result<Config, ConfigError> {
        read::read(file, text, is_above).map_err(|wrong| ConfigError::Wrong {
            file: file.to_owned(),
            line: line(text, wrong.at),
            what: wrong.what,
        })
    }

    /// What is ignored on that day, and a warning for each ignore that has expired.
    pub fn ignores(&self, today: Date) -> (Vec<Ignore>, Vec<String>) {
        let (mut valid, mut warnings) = (Vec::new(), Vec::new());
        for ignored in &self.ignores {
            match ignored.until.filter(|&until| until < today) {
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

/// Today, in UTC: whether an ignore has expired is all that the wall clock is asked for.
pub fn today() -> Date {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The file in this folder, or in the nearest one above it that has one.
fn nearest(folder: &Path) -> Option<PathBuf> {
    folder.ancestors().map(|folder| folder.join(NAME)).find(|file| file.is_file())
}

fn text(file: &Path) -> std::io::Result<String> {
    use std::io::Read;

    let mut text = String::new();
    let read = std::fs::File::open(file)?.take(MOST + 1).read_to_string(&mut text)?;
    if read as u64 > MOST {
        return Err(std::io::Error::other("it is too large for a configuration file"));
    }
    Ok(text)
}

/// The line, from 1, that a byte of the text is in.
fn line(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests;

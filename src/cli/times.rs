//! The style of times, an option of every command that writes times.

use clap::{Args, ValueEnum};

use crate::report::TimeStyle;

/// `--time`.
#[derive(Args, Clone, Copy, Debug)]
pub struct TimeOption {
    /// Style of times in text and tables; formats for programs, such as json, always use UTC
    #[arg(hide_short_help = true, long, value_name = "STYLE", default_value = "utc")]
    time: Times,
}

/// The style of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Times {
    /// UTC
    Utc,
    /// The time zone of TZ, or of the system
    Local,
    /// Seconds since the first message shown; in flows: since the first flow; in check, summary and
    /// abuse: since the first packet
    Relative,
    /// Seconds since the previous time
    Delta,
    /// Seconds since 1970-01-01 00:00:00 UTC
    Epoch,
}

impl TimeOption {
    /// The style in the type of reports.
    pub fn style(self) -> TimeStyle {
        match self.time {
            Times::Utc => TimeStyle::Utc,
            Times::Local => TimeStyle::Local,
            Times::Relative => TimeStyle::Relative,
            Times::Delta => TimeStyle::Delta,
            Times::Epoch => TimeStyle::Epoch,
        }
    }
}

//! How times are written: the same option for every command that writes some.

use clap::{Args, ValueEnum};

use crate::report::TimeStyle;

/// `--time`.
#[derive(Args, Clone, Copy, Debug)]
pub struct TimeOption {
    /// How times are written in text and tables; formats for programs, such as json, always use UTC
    #[arg(long, value_name = "STYLE", default_value = "utc")]
    time: Times,
}

/// How times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Times {
    /// In UTC
    Utc,
    /// In the time zone of TZ, or of the system
    Local,
    /// In seconds since the first message shown; in flows: since the first flow; in check, summary
    /// and abuse: since the first packet
    Relative,
    /// In seconds since the previous time
    Delta,
    /// In seconds since 1970
    Epoch,
}

impl TimeOption {
    /// As reports know it.
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

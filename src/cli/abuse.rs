//! Arguments of `gamewire abuse`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{InputArgs, TimeOption};
use crate::config::nanoseconds;
use crate::report::abuse_report::Reporter;
use crate::report::firewall::Firewall;
use crate::report::paint::ColorChoice;

/// `gamewire abuse`.
#[derive(Args, Debug)]
pub struct AbuseArgs {
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub format: AbuseFormat,
    /// Print the best firewall filter against each attack
    ///
    /// It is the one that drops the most packets within --collateral.
    #[arg(long, value_name = "FIREWALL", conflicts_with = "format")]
    pub emit: Option<Firewall>,
    /// Maximum share of real clients' packets that a filter may drop, in percent
    #[arg(long, value_name = "PERCENT", default_value = "0.1", value_parser = percentage)]
    pub collateral: f64,
    /// Prefix lengths of the networks by which sources are counted and limited, for IPv4 and IPv6
    #[arg(hide_short_help = true, long, value_name = "V4,V6", default_value = "24,48", value_parser = prefixes)]
    pub prefix: Prefixes,
    /// Live capture: report attacks at this interval: 10s, 1min [default: only at the end]
    #[arg(hide_short_help = true, long, value_name = "TIME", value_parser = nanoseconds)]
    pub interval: Option<i64>,
    /// Write abuse reports to the networks that attacks come from into this new folder: the text of a
    /// mail and an X-ARF file for each source; nothing is sent
    #[arg(hide_short_help = true, long, value_name = "FOLDER", requires = "reporter")]
    pub report: Option<PathBuf>,
    /// Sender of the reports: 'Example Hosting <abuse@example.net>'
    #[arg(hide_short_help = true, long, value_name = "NAME <MAIL>", requires = "report")]
    pub reporter: Option<Reporter>,
    /// The style of times.
    #[command(flatten)]
    pub times: TimeOption,
    /// When to use colours
    #[arg(hide_short_help = true, long, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
    /// The input.
    #[command(flatten)]
    pub input: InputArgs,
}

/// Prefix lengths for IPv4 and IPv6.
#[derive(Clone, Copy, Debug)]
pub struct Prefixes(pub [u8; 2]);

fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse();
    match number {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err(format!("`{text}` is not a percentage from 0 to 100; write it as 0.1")),
    }
}

fn prefixes(text: &str) -> Result<Prefixes, String> {
    let (v4, v6) = text.split_once(',').unwrap_or((text, "48"));
    let length = |text: &str, most: u8| {
        let text = text.trim();
        let length = text.strip_prefix('/').unwrap_or(text).parse().ok();
        length.filter(|length| (1..=most).contains(length))
    };
    match (length(v4, 32), length(v6, 128)) {
        (Some(v4), Some(v6)) => Ok(Prefixes([v4, v6])),
        _ => Err(format!(
            "`{text}` is not a pair of prefix lengths up to 32 and 128; write it as 24,48"
        )),
    }
}

/// Output formats of `abuse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AbuseFormat {
    /// One paragraph per attack
    Text,
    /// One JSON object per capture
    Json,
}

//! The selection of messages: a display filter, and options for common filters.

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::names;
use super::whole_number::whole_number;
use crate::check::{self, Host};
use crate::filter::{Filter, FilterError};
use crate::text::escaped;

/// The help heading of options that select messages.
const WANTED: &str = "Selection of messages";

/// The messages to show, or for `check` those whose findings count.
#[derive(Args, Debug)]
pub struct FilterArgs {
    /// Only messages that match this filter, such as 'players > 0'
    ///
    /// docs/filters.md describes the language: `a2s.info_response.players > 0 and ip.src == 10.0.0.0/8`.
    #[arg(help_heading = WANTED, short = 'Y', long, value_name = "EXPR",
        value_parser = names::filters(), hide_possible_values = true)]
    pub display_filter: Vec<String>,
    /// Only messages from or to this host
    ///
    /// If given twice, messages between both. For check: only findings about it.
    #[arg(help_heading = WANTED, long, value_name = "IP[/LEN][:PORT]")]
    pub host: Vec<Host>,
    /// Only messages of the flows with these numbers
    #[arg(help_heading = WANTED, long, value_name = "N", value_delimiter = ',',
        value_parser = whole_number(0..=u32::MAX))]
    pub flow: Vec<u32>,
    /// Only messages of these protocols, such as a2s
    #[arg(hide_short_help = true, help_heading = WANTED, long, value_name = "PROTOCOL", value_delimiter = ',',
        value_parser = protocols())]
    pub protocol: Vec<String>,
    /// Only these messages, such as info_response or a2s.info_response
    #[arg(hide_short_help = true, help_heading = WANTED, long, value_name = "MESSAGE", value_delimiter = ',',
        value_parser = |named: &str| filter("message", &[named.to_owned()]).map(|_| named.to_owned()))]
    pub message: Vec<String>,
    /// Only messages that break these rules
    #[arg(hide_short_help = true, help_heading = WANTED, long, value_name = "RULES", value_delimiter = ',',
        value_parser = names::rules(), hide_possible_values = true)]
    pub rule: Vec<check::Rules>,
    /// Only messages from this time on: 2026-11-20T21:00:00Z
    #[arg(hide_short_help = true, help_heading = WANTED, long, value_name = "TIME", value_parser = moment)]
    pub from: Option<String>,
    /// Only messages up to this time
    #[arg(hide_short_help = true, help_heading = WANTED, long, value_name = "TIME", value_parser = moment)]
    pub to: Option<String>,
}

impl FilterArgs {
    /// Whether all messages are selected.
    pub fn is_all(&self) -> bool {
        self.display_filter.is_empty()
            && self.host.is_empty()
            && self.flow.is_empty()
            && self.protocol.is_empty()
            && self.message.is_empty()
            && self.rule.is_empty()
            && self.from.is_none()
            && self.to.is_none()
    }

    /// The options as they were typed, in a line; `None` if all messages are selected.
    pub fn typed(&self) -> Option<String> {
        let filters = self.display_filter.iter().map(|filter| format!("-Y '{}'", escaped(filter)));
        let mut typed = Vec::from_iter(filters);
        typed.extend(self.host.iter().map(|host| format!("--host {host}")));
        for (name, values) in self.names() {
            typed.extend((!values.is_empty()).then(|| format!("--{name} {}", values.join(","))));
        }
        for (option, time) in [("--from", &self.from), ("--to", &self.to)] {
            typed.extend(time.iter().map(|time| format!("{option} {}", escaped(time))));
        }
        Some(typed.join(" ")).filter(|typed| !typed.is_empty())
    }

    /// The options that name values of an attribute, which have the attribute's name.
    fn names(&self) -> [(&'static str, Vec<String>); 4] {
        [
            ("flow", self.flow.iter().map(u32::to_string).collect()),
            ("protocol", self.protocol.clone()),
            ("message", self.message.clone()),
            ("rule", self.rule.iter().map(|rules| rules.word.clone()).collect()),
        ]
    }

    /// The conjunction of all options, without `--host` if not `with_host`.
    ///
    /// # Errors
    /// A filter is invalid.
    pub fn filter(&self, with_host: bool) -> Result<Option<Filter>, String> {
        let typed = self
            .display_filter
            .iter()
            .map(|source| source.parse().map_err(|error: FilterError| format!("-Y: {error}")));
        let mut filters = typed.collect::<Result<Vec<Filter>, _>>()?;
        for host in self.host.iter().filter(|_| with_host) {
            filters.push(read(&format!("host == \"{host}\""))?);
        }
        for (name, values) in self.names() {
            if !values.is_empty() {
                filters.push(filter(name, &values)?);
            }
        }
        for (comparison, time) in [(">=", &self.from), ("<=", &self.to)] {
            if let Some(time) = time {
                filters.push(read(&format!("time {comparison} \"{time}\""))?);
            }
        }
        Ok(Filter::all(filters))
    }
}

/// The filter that an option stands for. An error does not show it, because nobody typed it.
fn read(source: &str) -> Result<Filter, String> {
    source.parse().map_err(|error: FilterError| error.explained())
}

/// A filter for an attribute that has one of these values.
fn filter(name: &str, values: &[String]) -> Result<Filter, String> {
    if let Some(odd) =
        values.iter().find(|it| !it.chars().all(|c| c.is_alphanumeric() || "._-".contains(c)))
    {
        return Err(format!("`{odd}` is not a valid {name}"));
    }
    read(&format!("{name} in {{{}}}", values.join(", ")))
}

fn moment(text: &str) -> Result<String, String> {
    let is_time = !text.contains(['"', '\\']) && read(&format!("time == \"{text}\"")).is_ok();
    let help = "write it as 2026-11-20T21:00:00Z; without Z or an offset it is UTC";
    if is_time { Ok(text.to_owned()) } else { Err(help.to_owned()) }
}

fn protocols() -> PossibleValuesParser {
    PossibleValuesParser::new(dissectors::Id::ALL.iter().map(|id| id.info().id))
}

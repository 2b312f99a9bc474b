//! Which findings count, and how much they weigh.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use dissectors::catalogue;
use dissectors::kit::{Rule, Severities, Severity, Who};

use super::Baseline;
use crate::filter::Filter;
pub use crate::filter::Network as Host;
use crate::text::nearest;

/// Which findings count, and how much they weigh.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these rules, if there are any.
    pub select: Vec<&'static Rule>,
    /// Not these.
    pub ignores: Vec<Ignore>,
    /// Only what this kind of party did.
    pub who: Option<Who>,
    /// Only what this host did.
    pub host: Option<Host>,
    /// Only findings of messages that this filter wants.
    pub filter: Option<Filter>,
    /// Rules that must be exercised.
    pub require: Vec<&'static Rule>,
    /// What rules weigh.
    pub severities: Severities,
    /// Findings that are known; what a capture shows of them is reported, if there are any.
    pub baseline: Option<Arc<Baseline>>,
}

/// A rule that is not reported.
#[derive(Clone, Copy, Debug)]
pub struct Ignore {
    /// Which rule.
    pub rule: &'static Rule,
    /// What this host does against it; whatever is done against it, if none.
    pub host: Option<Host>,
}

impl Selection {
    /// Whether a rule counts at all.
    pub fn has(&self, rule: &Rule) -> bool {
        let ignored = |ignore: &Ignore| ignore.rule.code == rule.code && ignore.host.is_none();
        (self.select.is_empty() || self.select.iter().any(|other| other.code == rule.code))
            && !self.ignores.iter().any(ignored)
    }

    /// Whether a rule must be exercised.
    pub(super) fn requires(&self, rule: &Rule) -> bool {
        self.require.iter().any(|other| other.code == rule.code)
    }

    /// Whether some findings of a rule count and others do not, or are known.
    pub(super) fn weighs_each(&self) -> bool {
        let of_a_host = |ignore: &Ignore| ignore.host.is_some();
        self.asks_who()
            || self.filter.is_some()
            || self.ignores.iter().any(of_a_host)
            || self.baseline.is_some()
    }

    /// Whether it matters who kept or broke a rule.
    pub(super) fn asks_who(&self) -> bool {
        self.who.is_some() || self.host.is_some()
    }

    /// Whether it matters what this party did.
    pub(super) fn asks_for(&self, who: Who, party: Option<SocketAddr>) -> bool {
        self.who.is_none_or(|wanted| wanted == who)
            && self.host.is_none_or(|host| party.is_some_and(|party| host.contains(party)))
    }

    /// Whether a finding of a rule that counts does.
    pub(super) fn wants(&self, rule: &Rule, who: Who, party: Option<SocketAddr>) -> bool {
        let is = |host: Host| party.is_some_and(|party| host.contains(party));
        let ignored =
            |ignore: &Ignore| ignore.rule.code == rule.code && ignore.host.is_some_and(is);
        self.asks_for(who, party) && !self.ignores.iter().any(ignored)
    }
}

/// The rule that the user means.
///
/// # Errors
/// No rule has this code or name.
pub fn rule(name: &str) -> Result<&'static Rule, String> {
    let name = name.trim();
    catalogue::rule(name).ok_or_else(|| unknown(name))
}

/// Rules that one word on the command line names.
#[derive(Clone, Debug)]
pub struct Rules(pub Vec<&'static Rule>);

impl FromStr for Rules {
    type Err = String;

    /// By a code or the beginning of one, or by a name: several protocols have rules of one name.
    fn from_str(word: &str) -> Result<Rules, String> {
        let meant = catalogue::rules_meant(word.trim());
        if meant.is_empty() { Err(unknown(word)) } else { Ok(Rules(meant)) }
    }
}

/// That there is no such rule, and which ones may be meant.
fn unknown(word: &str) -> String {
    let rules = catalogue::rules().into_iter();
    let names = rules.flat_map(|rule| [rule.code.to_string(), rule.slug.to_owned()]);
    match &*nearest(word, names) {
        [] => "no rule has this code or name; `gamewire rules` lists them".to_owned(),
        near => format!("no rule has this code or name; did you mean {}?", near.join(" or ")),
    }
}

/// From which severity on a broken rule fails a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// This one.
    Severity(Severity),
    /// What is broken is reported, and changes no exit code.
    Never,
}

impl FailOn {
    /// From which severity on the verdict of a capture is that it failed.
    pub fn least(self) -> Severity {
        match self {
            FailOn::Severity(least) => least,
            FailOn::Never => Severity::Error,
        }
    }
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(name: &str) -> Result<FailOn, String> {
        match (name, severity(name)) {
            ("never", _) => Ok(FailOn::Never),
            (_, Ok(least)) => Ok(FailOn::Severity(least)),
            _ => Err("there are error, warning, note and never".to_owned()),
        }
    }
}

/// The severity that the user means.
///
/// # Errors
/// None has this name.
pub fn severity(name: &str) -> Result<Severity, String> {
    let named = Severity::ALL.into_iter().find(|severity| severity.name() == name);
    named.ok_or_else(|| "there are error, warning and note".to_owned())
}

/// The kind of party that the user means.
///
/// # Errors
/// None has this name.
pub fn who(name: &str) -> Result<Who, String> {
    let all = [Who::Client, Who::Server, Who::Master];
    let named = all.into_iter().find(|who| who.name() == name);
    named.ok_or_else(|| "there are client, server and master".to_owned())
}

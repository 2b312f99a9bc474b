//! Selects findings, and sets their severities.

use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;

use dissectors::catalogue;
use dissectors::kit::{Role, Rule, Severities, Severity};

use super::{Baseline, Ignores};
use crate::filter::Filter;
pub use crate::filter::Network as Host;
use crate::text::nearest;

/// Selects findings, and sets their severities.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Only these rules, if there are any.
    pub select: Vec<&'static Rule>,
    /// Not these.
    pub ignores: Ignores,
    /// Only for this kind of party.
    pub who: Option<Role>,
    /// Only for this host.
    pub host: Option<Host>,
    /// Only for messages that this filter selects.
    pub filter: Option<Filter>,
    /// The options that select messages, as they were typed.
    pub typed: Option<String>,
    /// Rules that must be exercised.
    pub require: Vec<&'static Rule>,
    /// There must be some of the selected traffic.
    pub requires_traffic: bool,
    /// The severities of rules.
    pub severities: Severities,
    /// Known findings; those of a capture are counted separately.
    pub baseline: Option<Arc<Baseline>>,
}

impl Selection {
    /// This selection, of all messages and parties.
    #[must_use]
    pub fn of_all(self) -> Selection {
        Selection { who: None, host: None, filter: None, typed: None, ..self }
    }

    /// Whether a rule is selected.
    pub fn has(&self, rule: &Rule) -> bool {
        (self.select.is_empty() || self.select.contains(&rule)) && !self.ignores.have_all_of(rule)
    }

    /// Whether a rule must be exercised.
    pub(super) fn requires(&self, rule: &Rule) -> bool {
        self.require.contains(&rule)
    }

    /// Whether findings of a rule must be inspected individually, because some are ignored or
    /// known.
    pub(super) fn weighs_each(&self) -> bool {
        self.asks_who()
            || self.filter.is_some()
            || self.ignores.have_hosts()
            || self.baseline.is_some()
    }

    /// Whether the party matters.
    pub(super) fn asks_who(&self) -> bool {
        self.who.is_some() || self.host.is_some()
    }

    /// Whether this party is selected.
    pub(super) fn asks_for(&self, who: Role, party: Option<SocketAddr>) -> bool {
        self.who.is_none_or(|wanted| wanted == who)
            && self.host.is_none_or(|host| party.is_some_and(|party| host.contains(party)))
    }

    /// Whether a finding of a selected rule is selected.
    pub(super) fn wants(&self, rule: &Rule, who: Role, party: Option<SocketAddr>) -> bool {
        self.asks_for(who, party) && !self.ignores.have(rule, party)
    }
}

/// The rule with this name.
///
/// # Errors
/// No rule has this code or name.
pub fn rule(name: &str) -> Result<&'static Rule, String> {
    let name = name.trim();
    catalogue::rule(name).ok_or_else(|| unknown(name))
}

/// The rules that one word on the command line selects.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The word.
    pub word: String,
    /// The rules.
    pub all: Vec<&'static Rule>,
}

impl FromStr for Rules {
    type Err = String;

    /// By a code or the beginning of one, or by a name: several protocols have rules of one name.
    fn from_str(word: &str) -> Result<Rules, String> {
        let word = word.trim();
        let all = catalogue::rules_meant(word);
        if all.is_empty() { Err(unknown(word)) } else { Ok(Rules { word: word.to_owned(), all }) }
    }
}

/// The error for an unknown rule, with similar names.
fn unknown(word: &str) -> String {
    let rules = catalogue::rules().into_iter();
    let names = rules.flat_map(|rule| [rule.code.to_string(), rule.slug.to_owned()]);
    match &*nearest(word, names) {
        [] => "no rule has this code or name; `gamewire rules` lists them".to_owned(),
        near => format!("no rule has this code or name; did you mean {}?", near.join(" or ")),
    }
}

/// The minimum severity of a broken rule that fails a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailOn {
    /// This one.
    Severity(Severity),
    /// Broken rules are reported, but do not change the exit code.
    Never,
}

impl FailOn {
    /// The minimum severity for the verdict that a capture failed.
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
            _ => Err("valid severities are error, warning, note and never".to_owned()),
        }
    }
}

/// The severity with this name.
///
/// # Errors
/// None has this name.
pub fn severity(name: &str) -> Result<Severity, String> {
    let named = Severity::ALL.into_iter().find(|severity| severity.name() == name);
    named.ok_or_else(|| "valid severities are error, warning and note".to_owned())
}

/// The kind of party with this name.
///
/// # Errors
/// None has this name.
pub fn who(name: &str) -> Result<Role, String> {
    let all = [Role::Client, Role::Server, Role::Master];
    let named = all.into_iter().find(|who| who.name() == name);
    named.ok_or_else(|| "valid parties are client, server and master".to_owned())
}

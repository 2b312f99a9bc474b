//! Which findings count, and how much they weigh.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use dissectors::catalogue;
use dissectors::kit::{Rule, Severities, Severity, Who};

use super::Baseline;

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
    /// Rules that must be exercised.
    pub require: Vec<&'static Rule>,
    /// What rules weigh.
    pub severities: Severities,
    /// Findings that are known; what a capture shows of them is told, if there are.
    pub baseline: Option<Arc<Baseline>>,
}

/// A rule that is not to be told of.
#[derive(Clone, Copy, Debug)]
pub struct Ignore {
    /// Which rule.
    pub rule: &'static Rule,
    /// What this host does against it; whatever is done against it, if none.
    pub host: Option<Host>,
}

/// A party to look at: an address, and perhaps a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Host {
    /// The address.
    pub address: IpAddr,
    /// The port; any, if none.
    pub port: Option<u16>,
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
        self.asks_who() || self.ignores.iter().any(of_a_host) || self.baseline.is_some()
    }

    /// Whether it matters who kept or broke a rule.
    pub(super) fn asks_who(&self) -> bool {
        self.who.is_some() || self.host.is_some()
    }

    /// Whether it matters what this party did.
    pub(super) fn asks_for(&self, who: Who, party: Option<SocketAddr>) -> bool {
        self.who.is_none_or(|wanted| wanted == who)
            && self.host.is_none_or(|host| party.is_some_and(|party| host.is(party)))
    }

    /// Whether a finding of a rule that counts does.
    pub(super) fn wants(&self, rule: &Rule, who: Who, party: Option<SocketAddr>) -> bool {
        let is = |host: Host| party.is_some_and(|party| host.is(party));
        let ignored =
            |ignore: &Ignore| ignore.rule.code == rule.code && ignore.host.is_some_and(is);
        self.asks_for(who, party) && !self.ignores.iter().any(ignored)
    }
}

impl Host {
    fn is(self, party: SocketAddr) -> bool {
        self.address == party.ip() && self.port.is_none_or(|port| port == party.port())
    }
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Host, String> {
        if let Ok(end) = text.parse::<SocketAddr>() {
            return Ok(Host { address: end.ip(), port: Some(end.port()) });
        }
        let address = text.trim_start_matches('[').trim_end_matches(']');
        match address.parse() {
            Ok(address) => Ok(Host { address, port: None }),
            Err(_) => Err("write it as 10.0.0.2, 10.0.0.2:27015 or [::1]:27015".to_owned()),
        }
    }
}

/// The rule that the user means.
///
/// # Errors
/// No rule has this code or name.
pub fn rule(name: &str) -> Result<&'static Rule, String> {
    catalogue::rule(name.trim())
        .ok_or_else(|| "no rule has this code; `gamewire rules` lists them".to_owned())
}

/// The severity that the user means.
///
/// # Errors
/// None has this name.
pub fn severity(name: &str) -> Result<Severity, String> {
    let named = Severity::ALL.into_iter().find(|severity| severity.name() == name);
    named.ok_or_else(|| "there are error, warning and note".to_owned())
}

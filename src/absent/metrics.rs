//! Metrics are those of a live capture, and there is none.

use crate::session::Needs;
use dissectors::kit::{Rule, Severity};

#[path = "../metrics/attack_rate.rs"]
mod attack_rate;
#[path = "../metrics/host.rs"]
mod host;

pub(crate) use attack_rate::AttackRate;
pub(crate) use host::HostName;

/// There are none.
pub(crate) enum Metrics {}

impl Metrics {
    /// Takes over the attacks.
    pub(crate) fn attacks(&self, _: &[&'static str], _: &[AttackRate]) {
        match *self {}
    }

    /// Takes over the findings of a rule.
    pub(crate) fn found(&self, _: &Rule, _: Severity, _: u64) {
        match *self {}
    }
}

/// The needs of a command.
pub(crate) fn needs(needs: Needs) -> Needs {
    needs
}

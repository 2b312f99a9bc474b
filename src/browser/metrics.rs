//! Metrics are those of a live capture, and there is none.

use std::net::SocketAddr;

use crate::session::Needs;
use dissectors::kit::{Rule, Severity};

#[path = "../metrics/host.rs"]
mod host;

pub(crate) use host::HostName;

/// An attack in metrics.
pub(crate) struct AttackRate {
    /// The place of the capture, with its name in JSON.
    pub(crate) seat: &'static str,
    /// The target.
    pub(crate) target: SocketAddr,
    /// Packets per second.
    pub(crate) rate: f64,
}

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

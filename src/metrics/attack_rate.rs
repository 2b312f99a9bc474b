//! The rate of an attack.

use std::net::SocketAddr;

/// An attack in metrics.
pub(crate) struct AttackRate {
    /// The place of the capture, with its name in JSON.
    pub(crate) seat: &'static str,
    /// The target.
    pub(crate) target: SocketAddr,
    /// Packets per second.
    pub(crate) rate: f64,
}

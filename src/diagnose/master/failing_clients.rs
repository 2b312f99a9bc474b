//! The clients that do not get from a master what they should.

use std::net::IpAddr;

/// Maximum number of clients that are kept.
const CLIENTS: usize = 64;

/// The clients for which a condition was not met at last, up to a maximum.
#[derive(Debug, Default)]
pub(in crate::diagnose) struct FailingClients(Vec<IpAddr>);

impl FailingClients {
    /// It is not met for a client.
    pub(in crate::diagnose) fn fails(&mut self, client: IpAddr) {
        if self.0.len() < CLIENTS && !self.0.contains(&client) {
            self.0.push(client);
        }
    }

    /// These.
    pub(in crate::diagnose) fn clients(&self) -> impl Iterator<Item = &IpAddr> {
        self.0.iter()
    }

    /// These, and another one.
    pub(in crate::diagnose) fn with(&self, client: IpAddr) -> Vec<IpAddr> {
        let others = self.0.iter().copied().filter(|failing| *failing != client);
        others.chain([client]).collect()
    }

    /// It is met for a client. Returns whether it is for every one now.
    pub(in crate::diagnose) fn succeeds(&mut self, client: IpAddr) -> bool {
        self.0.retain(|failing| *failing != client);
        self.0.is_empty()
    }
}

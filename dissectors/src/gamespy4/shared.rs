//! State that spans flows: which client waits for a challenge from which host. It checks no rules.

use crate::kit::{LatestRequests, Payload, Settings};

use super::packet;

/// The timestamps of the latest challenge requests, while their responses may come.
#[derive(Default)]
pub struct SharedState(LatestRequests<u32>);

impl SharedState {
    /// A client requests a challenge.
    pub(super) fn asks(&mut self, timestamp: u32, payload: &Payload<'_>, settings: &Settings) {
        self.0.insert(payload, timestamp, settings);
    }

    /// The port that was asked has responded.
    pub(super) fn is_answered(&mut self, payload: &Payload<'_>) {
        self.0.remove(payload);
    }

    /// Whether this is the response to such a request from another port of the host: alone, a number of few digits is no
    /// sure sign of the protocol.
    pub(super) fn expects(&self, payload: &Payload<'_>) -> bool {
        let [packet::CHALLENGE, a, b, c, d, ref text @ ..] = *payload.bytes else { return false };
        let timestamp = u32::from_be_bytes([a, b, c, d]);
        packet::challenge_digits(text).is_some()
            && self.0.expects_for(payload, |asked| asked == timestamp)
    }
}

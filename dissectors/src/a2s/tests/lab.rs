//! The usual endpoints, and a small flow tracker.

use crate::a2s::A2s;
use crate::kit::{Sink, lab};

pub(super) use crate::kit::lab::{HeardMessage, TestRecorder, code, seconds};

/// A client, a server.
pub(super) const C: &str = "10.0.0.1:50000";
pub(super) const S: &str = "10.0.0.2:27015";

pub(super) type Lab<K> = lab::Lab<A2s, K>;

impl<K: Sink> Lab<K> {
    /// The client sends this.
    pub(super) fn c(&mut self, time: f64, bytes: &[u8]) -> &mut Lab<K> {
        self.packet(time, C, S, bytes, false)
    }

    /// The server sends this.
    pub(super) fn s(&mut self, time: f64, bytes: &[u8]) -> &mut Lab<K> {
        self.packet(time, S, C, bytes, false)
    }

    /// A packet between any two endpoints, decoded if it is claimed; `lost`: the recording cut it.
    pub(super) fn packet(
        &mut self,
        time: f64,
        from: &str,
        to: &str,
        bytes: &[u8],
        lost: bool,
    ) -> &mut Lab<K> {
        self.claims = true;
        self.datagram(time, from, to, bytes, lost)
    }
}

/// Bytes written as in the rules' examples: hex pairs, 'text', and so on.
pub(super) fn bytes(text: &str) -> Vec<u8> {
    crate::script::payload(text).unwrap()
}

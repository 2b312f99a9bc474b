//! The options of a session.

use dissectors::kit::{Settings, Severities};

use super::Needs;
use crate::filter::Filter;
use crate::flows::Identifier;
use crate::net::limits::FragmentLimits;
use crate::net::tcp;

/// The options of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Identifies protocols.
    pub identifier: Identifier,
    /// The protocols' settings.
    pub settings: Settings,
    /// The user states that the capture is complete.
    pub complete: bool,
    /// Check IP, UDP and TCP checksums.
    pub verify_checksums: bool,
    /// The events that are needed.
    pub needs: Needs,
    /// The only messages that are reported, if not all: this does not affect decoding. Rules of
    /// other messages are counted only if [`Needs`] requests all findings, flows, or traffic.
    pub filter: Option<Filter>,
    /// The severities of rules.
    pub severities: Severities,
    /// Maximum number of flows.
    pub flows: usize,
    /// Maximum memory of these flows in bytes, without unfinished responses and streams.
    pub flow_bytes: usize,
    /// Limits for open IP fragments.
    pub fragments: FragmentLimits,
    /// Limits for TCP connections.
    pub streams: tcp::StreamLimits,
    /// A flow that has been silent for this long, in nanoseconds, has ended; `None`: the protocol's
    /// default.
    pub idle: Option<i64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            identifier: Identifier::default(),
            settings: Settings::default(),
            complete: false,
            verify_checksums: false,
            needs: Needs::default(),
            filter: None,
            severities: Severities::default(),
            flows: 1 << 22,
            flow_bytes: 1 << 29,
            fragments: FragmentLimits::default(),
            streams: tcp::StreamLimits::default(),
            idle: None,
        }
    }
}

//! What a session is given before it begins.

use dissectors::kit::{Settings, Severities};

use super::Needs;
use crate::filter::Filter;
use crate::flows::Identifier;
use crate::net::limits::FragmentLimits;
use crate::net::tcp;

/// What a session is given before it begins.
#[derive(Clone, Debug)]
pub struct Options {
    /// How protocols are distinguished.
    pub identifier: Identifier,
    /// The protocols' settings.
    pub settings: Settings,
    /// The user vouches that the capture is complete.
    pub complete: bool,
    /// Check IP, UDP and TCP checksums.
    pub verify_checksums: bool,
    /// What somebody wants to read of it.
    pub needs: Needs,
    /// The only messages that are reported, if not all: what else is read is the same. Rules of other
    /// messages are counted only where [`Needs`] asks for all findings, for flows, or for traffic.
    pub filter: Option<Filter>,
    /// How much each rule weighs.
    pub severities: Severities,
    /// Flows that are followed at a time.
    pub flows: usize,
    /// Bytes of memory that these flows take, unfinished responses and streams left out.
    pub flow_bytes: usize,
    /// Bytes that unfinished responses may hold, over all flows.
    pub unfinished_bytes: usize,
    /// What open IP fragments may hold, and for how long.
    pub fragments: FragmentLimits,
    /// What TCP connections may hold.
    pub streams: tcp::StreamLimits,
    /// A flow that is silent for so long, in nanoseconds, has ended; `None`: its protocol says it.
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
            unfinished_bytes: 16 << 20,
            fragments: FragmentLimits::default(),
            streams: tcp::StreamLimits::default(),
            idle: None,
        }
    }
}

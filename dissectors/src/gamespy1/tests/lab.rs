//! The usual endpoints, and a small flow tracker.

use crate::gamespy1::GameSpy1;
use crate::kit::lab;

pub(super) use crate::kit::lab::{LabSegment, TestRecorder};

pub(super) const C: &str = "10.0.0.1:50000";
pub(super) const S: &str = "10.0.0.2:7778";
pub(super) const M: &str = "10.0.0.9:27900";
/// The master over TCP.
pub(super) const L: &str = "10.0.0.9:28900";

pub(super) type Lab<K> = lab::Lab<GameSpy1, K>;

//! Dissectors for game-server query and master-server protocols.
//!
//! The inputs are bytes and times, the outputs annotated fields and findings: this crate opens no
//! files or sockets, reads no clock, starts no threads and prints nothing.
//!
//! [`kit`] is shared by all dissectors. Each protocol has a folder with its messages, its
//! conversation and its rules. The list below is the only place that names all protocols.

#![forbid(unsafe_code)]

pub mod a2s;
pub mod abuse_rules;
pub mod acr_master;
pub mod catalogue;
pub mod gamespy1;
pub mod gamespy4;
pub mod kit;
pub mod ledger;
pub mod net_rules;
mod registry;
pub mod script;
pub mod valve_master;

pub use listed::{ContextParts, Conversation, GROUPS, Id, ProtocolSettings, SharedStates};

registry::protocols! {
    ValveMaster => valve_master::ValveMaster,
    A2s => a2s::A2s,
    GameSpy4 => gamespy4::GameSpy4,
    GameSpy1 => gamespy1::GameSpy1,
    AcrMaster => acr_master::AcrMaster,
}

//! Tracks flows: their ends, times and protocols.
//!
//! The table finds the flow of a packet, `identify` determines its protocol, and the protocol's
//! conversation (in `dissectors`) checks messages and their order. This module handles addresses,
//! ports and times; it knows neither packet headers nor outputs.

mod detail;
mod exchanges;
mod findings;
pub mod flow;
pub mod identify;
pub mod key;
mod per_flow;
mod ports;
pub mod stream;
pub mod table;

pub use detail::{FlowDetail, ResponseTimes};
pub use exchanges::{Asked, ExchangeCounts, ExchangeEffect, OpenExchanges};
pub use findings::{FindingCounts, is_excused_by_drops};
pub use flow::{Flow, FlowMut, FlowRow, FlowState, MessageCounts};
pub use identify::{DecodeAs, Identifier};
pub use key::FlowKey;
pub use ports::{Ports, is_usual, is_usual_of};
pub use stream::Stream;
pub use table::FlowTable;

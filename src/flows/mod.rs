//! The flow tracker's memory: who talks to whom, since when, in which protocol.
//!
//! Together with the conversations of `dissectors` this follows what two hosts say: the table finds the
//! flow of a packet, `identify` tells its protocol, and the protocol's conversation checks what is said and
//! in which order. This module knows addresses, ports and times; it refuses to know packets' headers
//! and outputs.

mod asked;
mod beside;
mod detail;
pub mod flow;
pub mod identify;
pub mod key;
mod ports;
pub mod stream;
pub mod table;

pub use asked::Asked;
pub use detail::{Detail, ResponseTimes};
pub use flow::{Flow, FlowMut, FlowRow, MessageCounts, State};
pub use identify::{DecodeAs, Identifier};
pub use key::Key;
pub use ports::{Ports, is_usual, is_usual_of};
pub use stream::Stream;
pub use table::Table;

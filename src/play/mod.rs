//! Plays game servers and masters, so that authors of clients have something to test against: the parts of servers
//! and masters in scripts, at ports of this host. It knows no terminal.
//!
//! One thread waits for all sockets and for what is due. The state of clients, their number and the time for which
//! they are remembered are bounded; nothing is sent before a client has asked.

#![allow(clippy::disallowed_methods, reason = "clients are live: their clock is the system's")]

mod faults;
mod heard;
mod part;
mod played_server;
mod player;
mod run;
mod scenarios;
mod schedule;
mod server;
mod tcp;
mod udp;

pub use faults::Faults;
pub use part::NotPlayed;
pub use run::Report;
pub use scenarios::Scenario;
pub use server::{Place, Play, PlayError, Server};

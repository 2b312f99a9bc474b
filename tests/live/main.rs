//! The program with devices, terminals and signals. A program of its own: these tests wait for things to happen, and
//! would wait longer among those that keep all processors busy.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::disallowed_methods, reason = "a live capture's clock is the system's")]

#[path = "../support/mod.rs"]
mod support;

mod around;
mod hangup;
mod live;
mod metrics;
mod rights;
#[cfg(target_os = "linux")]
mod session;
mod sniffer;
mod terminal;
#[cfg(target_os = "linux")]
mod without_libpcap;

//! The values that a filter compares.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Code, Severity};

use super::literal::Number;

/// One value of a message.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number.
    Number(Number),
    /// A 64-bit id: a number that is written as a text.
    Id(u64),
    /// True or false.
    Flag(bool),
    /// A text, as it was sent.
    Text(&'a [u8]),
    /// A text of a map, which may read as a number.
    MapText(&'a [u8]),
    /// Bytes with no more known about them.
    Bytes(&'a [u8]),
    /// An address and a port.
    End(SocketAddr),
    /// An address.
    Address(IpAddr),
    /// Nanoseconds since 1970.
    Time(i64),
    /// How severe a finding is.
    Severity(Severity),
    /// The rule of a finding.
    Rule(Code),
    /// The name of a protocol, a message or a transport.
    Word(&'static str),
    /// It is there, and has no value.
    Presence,
}

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
    /// A text in the bytes that were sent.
    Text(&'a [u8]),
    /// A text of a map, which may be numeric.
    MapText(&'a [u8]),
    /// Plain bytes.
    Bytes(&'a [u8]),
    /// An address and a port.
    End(SocketAddr),
    /// An address.
    Address(IpAddr),
    /// Nanoseconds since 1970.
    Time(i64),
    /// The severity of a finding.
    Severity(Severity),
    /// The rule of a finding.
    Rule(Code),
    /// The name of a protocol, a message or a transport.
    Word(&'static str),
    /// It is present and has no value.
    Presence,
}

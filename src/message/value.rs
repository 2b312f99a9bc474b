//! The values of fields and of attributes.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use dissectors::kit::{Code, Severity, Time};

use crate::text::decoded;

/// One value of a message: of a field, or of an attribute, which no field has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'b> {
    /// An unsigned number.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// A 64-bit id: a number that JSON has as a text.
    Id(u64),
    /// A 32-bit float.
    Float(f32),
    /// True or false.
    Flag(bool),
    /// One character, a byte on the wire.
    Char(char),
    /// A number that is shown by its name, or the name of a protocol, a message or a transport.
    Name(&'static str),
    /// Text as it was sent, which need not be UTF-8.
    Text(&'b [u8]),
    /// Opaque bytes.
    Bytes(&'b [u8]),
    /// An address and a port.
    Endpoint(SocketAddr),
    /// An address of a packet.
    Address(IpAddr),
    /// When a message was recorded.
    Time(Time),
    /// For how many seconds something took.
    Seconds(f64),
    /// The severity of a finding.
    Severity(Severity),
    /// The rule of a finding.
    Rule(Code),
    /// It is there, and has no value of its own: a group, a list, a key.
    Presence,
}

impl<'b> Value<'b> {
    /// The value as an unsigned number, if it is one.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::Unsigned(value) | Value::Id(value) => Some(value),
            Value::Signed(value) => value.try_into().ok(),
            _ => None,
        }
    }

    /// The value as a text, if it is one.
    pub(crate) fn as_text(&self) -> Option<Cow<'b, [u8]>> {
        match *self {
            Value::Text(text) => Some(text.into()),
            Value::Name(name) => Some(name.as_bytes().into()),
            Value::Char(value) => Some(value.to_string().into_bytes().into()),
            _ => None,
        }
    }
}

impl fmt::Display for Value<'_> {
    /// The value for people: text that is not UTF-8 as Windows-1252 or with replacement characters, bytes in hex.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned(value) | Value::Id(value) => value.fmt(f),
            Value::Signed(value) => value.fmt(f),
            // As few digits as read back to the same 32 bits, as in JSON, which has no other numbers than finite ones.
            Value::Float(value) if value.is_finite() => {
                f.write_str(&serde_json::to_string(value).map_err(|_| fmt::Error)?)
            }
            Value::Float(value) => value.fmt(f),
            Value::Flag(value) => value.fmt(f),
            Value::Char(value) => value.fmt(f),
            Value::Name(value) => f.write_str(value),
            Value::Text(value) => f.write_str(&decoded(value)),
            Value::Bytes(value) => value.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Endpoint(value) => value.fmt(f),
            Value::Address(value) => value.fmt(f),
            Value::Time(value) => f.write_str(&value.utc_second()),
            Value::Seconds(value) => value.fmt(f),
            Value::Severity(value) => f.write_str(value.name()),
            Value::Rule(value) => value.fmt(f),
            Value::Presence => Ok(()),
        }
    }
}

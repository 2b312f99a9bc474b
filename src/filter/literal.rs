//! Values in filters, parsed in all ways that are possible: the field's type selects one.

use std::cmp::Ordering;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use dissectors::kit::Severity;

use super::syntax::{Literal, hex_byte};
use crate::message::Value;

/// A number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    /// An integer.
    Whole(i128),
    /// Any other number.
    Real(f64),
    /// A 32-bit float from the wire.
    Single(f32),
}

impl Number {
    /// A value that is a number.
    pub(super) fn of(value: &Value<'_>) -> Option<Number> {
        match *value {
            Value::Unsigned(value) | Value::Id(value) => Some(Number::Whole(value.into())),
            Value::Signed(value) => Some(Number::Whole(value.into())),
            Value::Float(value) => Some(Number::Single(value)),
            Value::Seconds(value) => Some(Number::Real(value)),
            _ => None,
        }
    }

    /// Compares two numbers; `None` for NaN. A 32-bit float is compared with the one that is nearest to the other
    /// number: 0.1 is shown as such, but is not the 64-bit float.
    pub(super) fn compare(self, other: Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Whole(a), Number::Whole(b)) => Some(a.cmp(&b)),
            (Number::Single(a), b) => a.partial_cmp(&(b.real() as f32)),
            (a, b) => a.real().partial_cmp(&b.real()),
        }
    }

    fn real(self) -> f64 {
        match self {
            Number::Whole(value) => value as f64,
            Number::Real(value) => value,
            Number::Single(value) => value.into(),
        }
    }

    /// `5`, `-5`, `0x1F`, `1.5`.
    pub(super) fn read(text: &str) -> Option<Number> {
        let digits = text.trim_start_matches('-');
        if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            let value = i128::from(u64::from_str_radix(hex, 16).ok()?);
            return Some(Number::Whole(if text.starts_with('-') { -value } else { value }));
        }
        if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        match text.parse::<i128>() {
            Ok(value) => Some(Number::Whole(value)),
            Err(_) => text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Number::Real),
        }
    }
}

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Measure {
    /// Numbers are in seconds.
    Time,
    /// Numbers are in bytes.
    Size,
}

/// Units, with their size in seconds or bytes.
const UNITS: [(&str, Measure, f64); 14] = [
    ("ns", Measure::Time, 1e-9),
    ("us", Measure::Time, 1e-6),
    ("ms", Measure::Time, 1e-3),
    ("min", Measure::Time, 60.0),
    ("s", Measure::Time, 1.0),
    ("m", Measure::Time, 60.0),
    ("h", Measure::Time, 3600.0),
    ("KiB", Measure::Size, 1024.0),
    ("MiB", Measure::Size, 1_048_576.0),
    ("KB", Measure::Size, 1e3),
    ("kB", Measure::Size, 1e3),
    ("MB", Measure::Size, 1e6),
    ("B", Measure::Size, 1.0),
    ("d", Measure::Time, 86_400.0),
];

/// Addresses with an optional port: `10.0.0.0/8`, `10.0.0.2:27015`, `[::1]:27015`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub(super) address: IpAddr,
    pub(super) length: u8,
    pub(super) port: Option<u16>,
}

impl Network {
    fn read(text: &str) -> Option<Network> {
        if let Ok(address) = text.parse() {
            return Some(Network { address, length: bits(address), port: None });
        }
        let (address, rest) = match text.strip_prefix('[') {
            Some(inner) => inner.split_once(']')?,
            None => {
                // In an IPv6 address without brackets, a colon does not start a port.
                let end =
                    text.find('/').or_else(|| text.find(':').filter(|_| text.contains('.')))?;
                text.split_at_checked(end)?
            }
        };
        let (address, inner) =
            address.split_once('/').map_or((address, None), |(a, b)| (a, Some(b)));
        let address: IpAddr = address.parse().ok()?;
        let (length, port) = match rest.strip_prefix('/') {
            Some(rest) => {
                rest.split_once(':').map_or((Some(rest), None), |(a, b)| (Some(a), Some(b)))
            }
            None if rest.is_empty() => (None, None),
            None => (None, Some(rest.strip_prefix(':')?)),
        };
        let length = match length.or(inner) {
            Some(length) => length.parse().ok().filter(|&length| length <= bits(address))?,
            None => bits(address),
        };
        let port = port.map(str::parse).transpose().ok()?;
        Some(Network { address, length, port })
    }

    pub(super) fn has_port(&self) -> bool {
        self.port.is_some()
    }

    /// Whether this address and port match.
    pub fn contains(&self, end: SocketAddr) -> bool {
        self.port.is_none_or(|port| port == end.port()) && self.has(end.ip())
    }

    /// How an address compares with this one, if both are of one kind.
    pub(super) fn order(&self, address: IpAddr) -> Option<Ordering> {
        let address = address.to_canonical();
        (address.is_ipv4() == self.address.is_ipv4()).then(|| address.cmp(&self.address))
    }

    pub(super) fn has(&self, address: IpAddr) -> bool {
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(it)) => {
                let shift = 32 - u32::from(self.length);
                let cut = |bits: u32| bits.checked_shr(shift).unwrap_or(0);
                cut(own.to_bits()) == cut(it.to_bits())
            }
            (IpAddr::V6(own), IpAddr::V6(it)) => {
                let shift = 128 - u32::from(self.length);
                let cut = |bits: u128| bits.checked_shr(shift).unwrap_or(0);
                cut(own.to_bits()) == cut(it.to_bits())
            }
            _ => false,
        }
    }
}

impl FromStr for Network {
    type Err = String;

    fn from_str(text: &str) -> Result<Network, String> {
        let help = "write it as 10.0.0.2, 10.0.0.0/8, 10.0.0.2:27015 or [::1]:27015";
        Network::read(text).ok_or_else(|| help.to_owned())
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Network { address, length, port } = *self;
        match (length == bits(address), port) {
            (true, None) => address.fmt(f),
            (true, Some(port)) => SocketAddr::new(address, port).fmt(f),
            (false, None) => write!(f, "{address}/{length}"),
            (false, Some(port)) if address.is_ipv4() => write!(f, "{address}/{length}:{port}"),
            (false, Some(port)) => write!(f, "[{address}/{length}]:{port}"),
        }
    }
}

fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// A value, parsed in all ways that are possible.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) number: Option<Number>,
    pub(super) measure: Option<Measure>,
    pub(super) text: Option<Box<[u8]>>,
    pub(super) flag: Option<bool>,
    pub(super) network: Option<Network>,
    pub(super) bytes: Option<Box<[u8]>>,
    /// Nanoseconds since 1970.
    pub(super) time: Option<i64>,
    pub(super) severity: Option<Severity>,
}

impl Operand {
    pub(super) fn of(literal: &Literal) -> Operand {
        let bytes = literal.bytes();
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let (number, measure) = match Number::read(text) {
            Some(number) => (Some(number), None),
            None => with_unit(text).map_or((None, None), |(n, measure)| (Some(n), Some(measure))),
        };
        let flag = match text {
            "true" | "True" | "TRUE" | "1" => Some(true),
            "false" | "False" | "FALSE" | "0" => Some(false),
            _ => None,
        };
        Operand {
            number,
            measure,
            text: literal.is_quoted.then(|| bytes.clone().into()),
            flag: flag.filter(|_| !literal.is_quoted),
            network: Network::read(text),
            time: time(text),
            severity: Severity::ALL.into_iter().find(|it| it.name().eq_ignore_ascii_case(text)),
            bytes: if literal.is_quoted { Some(bytes.into()) } else { hex(text) },
        }
    }

    /// Whether it is greater than another one, whatever both are.
    pub(super) fn is_above(&self, other: &Operand) -> bool {
        let numbers = self.number.zip(other.number).map(|(a, b)| a.compare(b));
        let times = self.time.zip(other.time).map(|(a, b)| Some(a.cmp(&b)));
        let texts = self.text.as_ref().zip(other.text.as_ref()).map(|(a, b)| Some(a.cmp(b)));
        let networks = self.network.as_ref().zip(other.network.as_ref());
        let networks = networks.map(|(a, b)| b.order(a.address));
        let severities = self.severity.zip(other.severity).map(|(a, b)| a.partial_cmp(&b));
        let mut all =
            [numbers, times, texts, networks, severities].into_iter().flatten().peekable();
        all.peek().is_some() && all.all(|order| order == Some(Ordering::Greater))
    }

    /// Whether both are single addresses, without ports, that may have others between them.
    pub(super) fn are_addresses(first: &Operand, last: &Operand) -> bool {
        let family = |end: &Operand| {
            let network = end.network.filter(|it| it.port.is_none())?;
            (network.length == bits(network.address)).then_some(network.address.is_ipv4())
        };
        family(first).is_some_and(|first| family(last) == Some(first))
    }
}

fn with_unit(text: &str) -> Option<(Number, Measure)> {
    let &(unit, measure, factor) = UNITS.iter().find(|(unit, ..)| {
        let number = text.strip_suffix(unit);
        number.is_some_and(|number| Number::read(number).is_some())
    })?;
    let number = match Number::read(text.strip_suffix(unit)?)? {
        Number::Whole(value) if factor >= 1.0 => Number::Whole(value.checked_mul(factor as i128)?),
        number => Number::Real(number.real() * factor),
    };
    Some((number, measure))
}

/// `ff:00:2a` or `ff002a`.
fn hex(text: &str) -> Option<Box<[u8]>> {
    let digits: String = text.chars().filter(|&c| c != ':').collect();
    if digits.is_empty() || digits.len() % 2 == 1 || !digits.is_ascii() {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| hex_byte(digits.get(at..at + 2)?)).collect()
}

/// RFC 3339; without an offset, UTC: `2026-11-20T10:00:00`.
fn time(text: &str) -> Option<i64> {
    let time = match text.parse::<jiff::Timestamp>() {
        Ok(time) => time,
        Err(_) => text
            .parse::<jiff::civil::DateTime>()
            .ok()?
            .to_zoned(jiff::tz::TimeZone::UTC)
            .ok()?
            .timestamp(),
    };
    i64::try_from(time.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let is =
            |text: &str, end: &str| Network::read(text).unwrap().contains(end.parse().unwrap());
        assert!(is("10.0.0.2", "10.0.0.2:5") && !is("10.0.0.2", "10.0.0.3:5"));
        assert!(is("10.0.0.0/8", "10.9.9.9:5") && !is("10.0.0.0/8", "11.0.0.1:5"));
        assert!(is("0.0.0.0/0", "1.2.3.4:5") && !is("0.0.0.0/0", "[::1]:5"));
        assert!(is("10.0.0.2:27015", "10.0.0.2:27015") && !is("10.0.0.2:27015", "10.0.0.2:1"));
        assert!(is("10.0.0.0/24:27015", "10.0.0.9:27015"));
        assert!(is("::1", "[::1]:5") && is("[::1]:5", "[::1]:5") && !is("[::1]:5", "[::1]:6"));
        assert!(
            is("2001:db8::/32", "[2001:db8:9::1]:5") && is("[2001:db8::]/32", "[2001:db8::]:5")
        );
        assert!(is("[2001:db8::/32]:5", "[2001:db8::]:5") && is("::/0", "[1::]:5"));
        for wrong in
            ["10.0.0", "10.0.0.0/33", "10.0.0.2:x", "10.0.0.2:70000", "::1/129", "[::1", "a/8"]
        {
            assert_eq!(Network::read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_and_units() {
        let read = |text: &str| {
            let literal = Literal { text: text.to_owned(), is_quoted: false, at: 0..0 };
            let operand = Operand::of(&literal);
            (operand.number, operand.measure)
        };
        assert_eq!(read("200ms"), (Some(Number::Real(0.2)), Some(Measure::Time)));
        assert_eq!(read("10KB"), (Some(Number::Whole(10_000)), Some(Measure::Size)));
        assert_eq!(read("1.5s"), (Some(Number::Real(1.5)), Some(Measure::Time)));
        assert_eq!(read("2min"), (Some(Number::Whole(120)), Some(Measure::Time)));
        assert_eq!(read("-5"), (Some(Number::Whole(-5)), None));
        assert_eq!(read("0x1f"), (Some(Number::Whole(31)), None));
        assert_eq!(read("inf"), (None, None));
        assert_eq!(Number::Whole(3).compare(Number::Real(3.0)), Some(Ordering::Equal));
        let large = 76_561_197_960_287_930_i128;
        assert_eq!(Number::Whole(large).compare(Number::Whole(large + 1)), Some(Ordering::Less));
    }
}

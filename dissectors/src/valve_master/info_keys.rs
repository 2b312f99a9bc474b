//! The keys of an info string, and the properties that the conversation needs.

use std::borrow::Cow;

use super::endpoint::number;
use crate::kit::Span;

crate::named! {
    /// The engines that the specification distinguishes.
    pub(super) enum Engine {
        GoldSrc = "GoldSrc",
        Source = "Source",
        OrangeBox = "Orange Box",
    }
}

/// A key that the specification's examples have.
pub(super) struct KnownKey {
    pub(super) name: &'static str,
    /// Its position in the examples, GoldSrc, Source, Orange Box; 0 if it is missing.
    pub(super) places: [u8; 3],
    /// Its meaning; `{}` is replaced by the value.
    says: &'static str,
}

pub(super) const PROTOCOL: usize = 0;
pub(super) const CHALLENGE: usize = 1;
pub(super) const PLAYERS: usize = 2;
pub(super) const MAX: usize = 3;
pub(super) const BOTS: usize = 4;
pub(super) const GAMEDIR: usize = 5;
pub(super) const MAP: usize = 6;
pub(super) const TYPE: usize = 7;
pub(super) const PASSWORD: usize = 8;
pub(super) const OS: usize = 9;
pub(super) const SECURE: usize = 10;
pub(super) const LAN: usize = 11;
pub(super) const VERSION: usize = 12;
pub(super) const REGION: usize = 13;
pub(super) const PRODUCT: usize = 14;
pub(super) const GAMETYPE: usize = 15;
pub(super) const NAT: usize = 16;

/// The keys of every info string come before [`GAMETYPE`].
pub(super) static KEYS: &[KnownKey] = &{
    const fn key(name: &'static str, places: [u8; 3], says: &'static str) -> KnownKey {
        KnownKey { name, places, says }
    }
    [
        key("protocol", [1, 1, 1], "network protocol {}"),
        key("challenge", [2, 2, 2], "the master's challenge as an int: {}"),
        key("players", [3, 3, 3], "players: {}"),
        key("max", [4, 4, 4], "places for players: {}"),
        key("bots", [5, 5, 5], "bots: {}"),
        key("gamedir", [6, 6, 6], "modification {}"),
        key("map", [7, 7, 7], "map {}"),
        key("type", [8, 12, 13], "kind of server: {}"),
        key("password", [9, 8, 8], "whether a password is asked: {}"),
        key("os", [10, 9, 9], "operating system: {}"),
        key("secure", [11, 13, 14], "whether anti-cheat technology is used: {}"),
        key("lan", [12, 10, 10], "whether only the local network is served: {}"),
        key("version", [13, 14, 15], "version {}"),
        key("region", [14, 11, 11], "region {}"),
        key("product", [15, 15, 16], "product {}"),
        key("gametype", [0, 0, 12], "tags: {}"),
        key("nat", [0, 0, 0], "Xash3D: whether the server is behind NAT: {}"),
    ]
};

pub(super) fn find(key: &[u8]) -> Option<usize> {
    KEYS.iter().position(|known| known.name.as_bytes() == key)
}

/// The meaning of a pair, for people.
pub(super) fn meaning(key: &[u8], value: &[u8]) -> Option<Cow<'static, str>> {
    let at = find(key)?;
    let plain = match (at, value) {
        (TYPE, b"d") => Some("dedicated server"),
        (TYPE, b"l") => Some("listen server"),
        (TYPE, b"p") => Some("spectator proxy"),
        (OS, b"l") => Some("Linux"),
        (OS, b"w") => Some("Windows"),
        (PASSWORD, b"0") => Some("no password"),
        (PASSWORD, b"1") => Some("password protected"),
        (SECURE, b"0") => Some("no anti-cheat technology"),
        (SECURE, b"1") => Some("anti-cheat technology"),
        (LAN, b"0") => Some("serves the internet"),
        (LAN, b"1") => Some("serves the local network only"),
        (NAT, b"0") => Some("Xash3D: not behind NAT"),
        (NAT, b"1") => Some("Xash3D: behind NAT"),
        (REGION, b"-1") => region(0xFF),
        (REGION, _) => number(value, 3, 0xFF).and_then(|code| region(code.into())),
        _ => None,
    };
    if let Some(plain) = plain {
        return Some(Cow::Borrowed(plain));
    }
    let says = KEYS.get(at)?.says;
    Some(Cow::Owned(says.replace("{}", &String::from_utf8_lossy(value))))
}

/// The challenge in an info string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Echo {
    /// Its value; `None`: it is not a 32-bit int, signed or unsigned.
    pub(super) value: Option<u32>,
    /// Its position.
    pub(super) at: Span,
}

/// The properties of an info string that the conversation needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InfoSummary {
    pub(super) challenge: Option<Echo>,
    /// The engine, if the order of the keys shows it.
    pub(super) engine: Option<Engine>,
    /// It has a key of Xash3D's dialect.
    pub(super) xash3d: bool,
    /// It has the keys that the specification requires; values are not considered.
    pub(super) is_valid: bool,
}

/// Region codes. The values are the bytes on the wire.
pub(super) fn region(value: u64) -> Option<&'static str> {
    Some(match value {
        0x00 => "US East coast",
        0x01 => "US West coast",
        0x02 => "South America",
        0x03 => "Europe",
        0x04 => "Asia",
        0x05 => "Australia",
        0x06 => "Middle East",
        0x07 => "Africa",
        0xFF => "Rest of the world",
        _ => return None,
    })
}

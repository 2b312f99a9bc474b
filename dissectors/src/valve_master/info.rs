//! The info string of a challenge response: its keys, and the orders of the document's examples.

use crate::kit::Set;
use std::borrow::Cow;

use crate::kit::{Pair, Pairs, Reader, Sink, Span};

use super::endpoint::{count, number};
use super::fields as f;
use super::rules;

/// The engines whose servers the document tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Engine {
    GoldSrc,
    Source,
    OrangeBox,
}

impl Engine {
    /// As people read it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Engine::GoldSrc => "GoldSrc",
            Engine::Source => "Source",
            Engine::OrangeBox => "Orange Box",
        }
    }
}

/// A key that the document's examples have.
struct Key {
    name: &'static str,
    /// Its place in the examples, GoldSrc, Source, Orange Box; 0 where it is missing.
    places: [u8; 3],
    /// What it says; `{}` stands for the value.
    says: &'static str,
}

const CHALLENGE: usize = 1;
const PLAYERS: usize = 2;
const MAX: usize = 3;
const BOTS: usize = 4;
const TYPE: usize = 7;
const PASSWORD: usize = 8;
const OS: usize = 9;
const SECURE: usize = 10;
const LAN: usize = 11;
const REGION: usize = 13;
const GAMETYPE: usize = 15;
const NAT: usize = 16;

/// The keys that every info string has stand before [`GAMETYPE`].
static KEYS: &[Key] = &{
    const fn key(name: &'static str, places: [u8; 3], says: &'static str) -> Key {
        Key { name, places, says }
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

fn find(key: &[u8]) -> Option<usize> {
    KEYS.iter().position(|known| known.name.as_bytes() == key)
}

/// What a pair says, to people.
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
        (REGION, b"-1") => f::region(0xFF),
        (REGION, _) => number(value, 3, 0xFF).and_then(|code| f::region(code.into())),
        _ => None,
    };
    if let Some(plain) = plain {
        return Some(Cow::Borrowed(plain));
    }
    let says = KEYS.get(at)?.says;
    Some(Cow::Owned(says.replace("{}", &String::from_utf8_lossy(value))))
}

/// The challenge that an info string names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Echo {
    /// Its 32 bits; `None`: it is not a 32-bit int, signed or unsigned.
    pub(super) value: Option<u32>,
    /// Where it is.
    pub(super) at: Span,
}

/// What the conversation needs to know of an info string.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Info {
    pub(super) challenge: Option<Echo>,
    /// The engine whose order this is, where the order tells.
    pub(super) engine: Option<Engine>,
    /// It has a key of Xash3D's dialect.
    pub(super) xash3d: bool,
    /// It is what the document asks for, values aside.
    pub(super) sound: bool,
}

/// Reads the info string that is the next `length` bytes. `closed`: its end is there, so that what
/// is missing has not just been cut off.
pub(super) fn read<S: Sink>(r: &mut Reader<'_, S>, length: usize, closed: bool) -> Info {
    let at = Span::new(r.at(), r.at() + length);
    let text = r.peek().get(..length).unwrap_or_default();
    let mut seen = Seen::default();
    r.open(&f::INFO);
    for pair in Pairs::new(text, r.at()) {
        r.pair(&f::INFO_FIELDS, &pair);
        seen.pair(&pair);
    }
    r.close();

    let mut info = Info {
        challenge: seen.value(CHALLENGE).map(|(value, at)| Echo { value: int(value), at }),
        engine: seen.order.engine(seen.value(GAMETYPE).is_some()),
        xash3d: seen.value(NAT).is_some(),
        sound: false,
    };
    let missing =
        || KEYS.iter().take(GAMETYPE).zip(&seen.values).filter(|(_, seen)| seen.is_none());
    let complete = missing().next().is_none();
    if !(closed || complete && seen.fault.is_none()) {
        return info;
    }
    let (wrong, wrong_at) = seen.fault.map_or((None, at), |(what, at)| (Some(what), at));
    rules::info_grammar(wrong, wrong_at, text, at.start, r.sink);
    if wrong.is_some() {
        return info;
    }
    info.sound = complete;
    rules::info_required(complete, || missing().map(|(key, _)| key.name), at, r.sink);
    rules::info_order(seen.order.stray, at, text, r.sink);
    values(&seen, r.sink);
    info
}

/// A 32-bit int in decimal digits, signed or unsigned.
fn int(text: &[u8]) -> Option<u32> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > 10 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let value = digits.iter().fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    match negative {
        false => u32::try_from(value).ok(),
        true if value <= 1 << 31 => Some((value as u32).wrapping_neg()),
        true => None,
    }
}

/// What was seen of an info string so far.
#[derive(Default)]
struct Seen<'a> {
    /// The values of the keys that are known.
    values: [Option<(&'a [u8], Span)>; 17],
    /// Keys that are not.
    foreign: Set<&'a [u8]>,
    /// The first thing wrong with the grammar.
    fault: Option<(&'static str, Span)>,
    order: Order,
}

impl<'a> Seen<'a> {
    fn value(&self, key: usize) -> Option<(&'a [u8], Span)> {
        self.values.get(key).copied().flatten()
    }

    fn pair(&mut self, pair: &Pair<'a>) {
        let known = find(pair.key);
        let twice = match known.and_then(|known| self.values.get_mut(known)) {
            Some(value) if value.is_some() => true,
            Some(value) => {
                *value = Some((pair.text(), pair.value_at()));
                false
            }
            None => !self.foreign.insert(pair.key),
        };
        let wrong = if !pair.opened {
            Some("it does not begin with a backslash")
        } else if pair.key.is_empty() {
            Some("a key is empty")
        } else if pair.value.is_none() {
            Some("a key has no value")
        } else if twice {
            Some("a key occurs twice")
        } else {
            None
        };
        if let Some(wrong) = wrong {
            self.fault.get_or_insert((wrong, pair.at()));
        } else if let Some(known) = known.and_then(|known| KEYS.get(known)) {
            self.order.key(known, pair.key_at());
        }
    }
}

/// Which of the examples' orders the keys still follow.
#[derive(Default)]
struct Order {
    /// The place of the latest key, by [`Engine`].
    latest: [u8; 3],
    broken: [bool; 3],
    /// The first key that is in none of the orders.
    stray: Option<Span>,
}

impl Order {
    fn key(&mut self, key: &Key, at: Span) {
        for ((latest, broken), &place) in
            self.latest.iter_mut().zip(&mut self.broken).zip(&key.places)
        {
            if place != 0 {
                *broken |= place < *latest;
                *latest = place;
            }
        }
        if self.broken == [true; 3] {
            self.stray.get_or_insert(at);
        }
    }

    /// The one engine whose order it is. Orange Box is Source with one key more.
    fn engine(&self, gametype: bool) -> Option<Engine> {
        match self.broken {
            [false, true, true] => Some(Engine::GoldSrc),
            [true, _, false] if gametype => Some(Engine::OrangeBox),
            [true, false, _] => Some(Engine::Source),
            _ => None,
        }
    }
}

/// The values that the examples show the bounds of.
fn values<S: Sink>(seen: &Seen<'_>, sink: &mut S) {
    let mut judge = |key: usize, allowed: &'static str, right: fn(&[u8]) -> bool| {
        if let (Some((value, at)), Some(key)) = (seen.value(key), KEYS.get(key)) {
            rules::info_value(key.name, value, allowed, right(value), at, sink);
        }
    };
    judge(OS, "l or w", |value| matches!(value, b"l" | b"w"));
    judge(TYPE, "d, l or p", |value| matches!(value, b"d" | b"l" | b"p"));
    for key in [PASSWORD, SECURE, LAN] {
        judge(key, "0 or 1", |value| matches!(value, b"0" | b"1"));
    }
    for key in [PLAYERS, MAX, BOTS] {
        judge(key, "a decimal number", |value| count(value).is_some());
    }
    if let (Some((players, at)), Some((most, _))) = (seen.value(PLAYERS), seen.value(MAX))
        && let (Some(players), Some(most)) = (count(players), count(most))
    {
        rules::info_players(players, most, at, sink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_a_signed_or_an_unsigned_int() {
        assert_eq!(int(b"1339895702"), Some(1_339_895_702));
        assert_eq!(int(b"-1"), Some(u32::MAX));
        assert_eq!(int(b"4294967295"), Some(u32::MAX));
        assert_eq!(int(b"-2147483648"), Some(1 << 31));
        for text in ["", "-", "+1", "4294967296", "-2147483649", "12a", "99999999999"] {
            assert_eq!(int(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn keys_are_where_their_names_say() {
        let named = [
            (CHALLENGE, "challenge"),
            (PLAYERS, "players"),
            (MAX, "max"),
            (BOTS, "bots"),
            (TYPE, "type"),
            (PASSWORD, "password"),
            (OS, "os"),
            (SECURE, "secure"),
            (LAN, "lan"),
            (REGION, "region"),
            (GAMETYPE, "gametype"),
            (NAT, "nat"),
        ];
        assert!(named.iter().all(|&(at, name)| KEYS[at].name == name));
        assert_eq!(KEYS.len(), Seen::default().values.len());
    }

    #[test]
    fn the_orders_are_the_document_s() {
        let order = |engine: Engine| {
            let mut keys: Vec<_> =
                KEYS.iter().filter(|key| key.places[engine as usize] > 0).collect();
            keys.sort_by_key(|key| key.places[engine as usize]);
            keys.iter().map(|key| key.name).collect::<Vec<_>>().join(" ")
        };
        let goldsrc = "protocol challenge players max bots gamedir map type password os secure lan version region product";
        let source = "protocol challenge players max bots gamedir map password os lan region type secure version product";
        assert_eq!(order(Engine::GoldSrc), goldsrc);
        assert_eq!(order(Engine::Source), source);
        assert_eq!(order(Engine::OrangeBox), source.replace("type secure", "gametype type secure"));
    }

    #[test]
    fn pairs_say_what_the_examples_mean() {
        let meaning = |key: &str, value: &str| meaning(key.as_bytes(), value.as_bytes()).unwrap();
        assert_eq!(meaning("region", "-1"), "Rest of the world");
        assert_eq!(meaning("region", "255"), "Rest of the world");
        assert_eq!(meaning("region", "9"), "region 9");
        assert_eq!(meaning("os", "w"), "Windows");
        assert_eq!(meaning("gametype", "arena"), "tags: arena");
    }
}

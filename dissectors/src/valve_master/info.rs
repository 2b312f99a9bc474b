//! The info string of a challenge response: its keys, and their order in the specification's
//! examples.

use crate::kit::Set;

use crate::kit::{Pair, Pairs, Reader, Sink, Span};

use super::endpoint::{count, is_decimal, number};
use super::fields as f;
use super::info_keys::*;
use super::rules;

/// How an info string ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InfoEnd {
    /// With a line feed, so that missing keys were not just cut off.
    Closed,
    /// Without one.
    Open,
    /// The recording lost it.
    Lost,
}

/// Reads the info string in the next `length` bytes.
pub(super) fn read<S: Sink>(r: &mut Reader<'_, S>, length: usize, end: InfoEnd) -> InfoSummary {
    let at = Span::new(r.at(), r.at() + length);
    let text = r.peek().get(..length).unwrap_or_default();
    let mut seen = SeenKeys::default();
    r.open(&f::INFO);
    for pair in Pairs::new(text, r.at()) {
        r.pair(&f::INFO_FIELDS, &pair);
        seen.pair(&pair);
    }
    r.close();

    let mut info = InfoSummary {
        challenge: seen.value(CHALLENGE).map(|(value, at)| Echo { value: int(value), at }),
        engine: seen.order.engine(seen.value(GAMETYPE).is_some()),
        xash3d: seen.value(NAT).is_some(),
        is_valid: false,
    };
    let missing =
        || KEYS.iter().take(GAMETYPE).zip(&seen.values).filter(|(_, seen)| seen.is_none());
    let complete = missing().next().is_none();
    if end == InfoEnd::Lost {
        rules::info_lost(at, r.sink);
        check_whole_pairs(seen, text, at, r.sink);
        return info;
    }
    if end == InfoEnd::Open && !(complete && seen.fault.is_none()) {
        return info;
    }
    let (wrong, wrong_at) = seen.fault.map_or((None, at), |(what, at)| (Some(what), at));
    rules::info_grammar(wrong, wrong_at, text, at.start, r.sink);
    if wrong.is_some() {
        return info;
    }
    info.is_valid = complete;
    rules::info_required(complete, || missing().map(|(key, _)| key.name), at, r.sink);
    rules::info_order(seen.order.stray, at, text, r.sink);
    values(&seen, r.sink);
    info
}

/// Checks the pairs of an info string whose end the recording lost, without the last one, which may be cut.
fn check_whole_pairs<S: Sink>(mut seen: SeenKeys<'_>, text: &[u8], at: Span, sink: &mut S) {
    let is_cut = |pair: &Span| pair.end >= at.end;
    sink.whole_elements(true);
    if let Some((wrong, wrong_at)) = seen.fault.filter(|(_, at)| !is_cut(at)) {
        rules::info_grammar(Some(wrong), wrong_at, text, at.start, sink);
    } else {
        if let Some(stray) = seen.order.stray.filter(|at| !is_cut(at)) {
            rules::info_order(Some(stray), at, text, sink);
        }
        for value in &mut seen.values {
            value.take_if(|(_, at)| is_cut(at));
        }
        values(&seen, sink);
    }
    sink.whole_elements(false);
}

/// A 32-bit int in decimal digits, signed or unsigned, with zeros in front or without.
pub(super) fn int(text: &[u8]) -> Option<u32> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
    let digits = digits.get(zeros.min(digits.len().saturating_sub(1))..).unwrap_or(digits);
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

/// The keys and values so far.
#[derive(Default)]
struct SeenKeys<'a> {
    /// The values of known keys.
    values: [Option<(&'a [u8], Span)>; 17],
    /// Unknown keys.
    unknown: Set<&'a [u8]>,
    /// The first fault in the grammar.
    fault: Option<(&'static str, Span)>,
    order: KeyOrder,
}

impl<'a> SeenKeys<'a> {
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
            None => !self.unknown.insert(pair.key),
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

/// Which of the examples' orders the keys follow so far.
#[derive(Default)]
struct KeyOrder {
    /// The position of the latest key, by [`Engine`].
    latest: [u8; 3],
    broken: [bool; 3],
    /// The first key that fits none of the orders.
    stray: Option<Span>,
}

impl KeyOrder {
    fn key(&mut self, key: &KnownKey, at: Span) {
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

    /// The only engine with this order. Orange Box is Source with one more key.
    fn engine(&self, gametype: bool) -> Option<Engine> {
        match self.broken {
            [false, true, true] => Some(Engine::GoldSrc),
            [true, _, false] if gametype => Some(Engine::OrangeBox),
            [true, false, _] => Some(Engine::Source),
            _ => None,
        }
    }
}

/// Checks the values whose range the examples show.
fn values<S: Sink>(seen: &SeenKeys<'_>, sink: &mut S) {
    let mut check = |rule, key: usize, allowed: &'static str, right: fn(&[u8]) -> bool| {
        if let (Some((value, at)), Some(key)) = (seen.value(key), KEYS.get(key)) {
            rules::info_value(rule, key.name, value, allowed, right(value), at, sink);
        }
    };
    check(&rules::VM036, OS, "l or w", |value| matches!(value, b"l" | b"w"));
    check(&rules::VM036, TYPE, "d, l or p", |value| matches!(value, b"d" | b"l" | b"p"));
    for key in [PASSWORD, SECURE, LAN] {
        check(&rules::VM036, key, "0 or 1", |value| matches!(value, b"0" | b"1"));
    }
    for key in [PLAYERS, MAX, BOTS] {
        check(&rules::VM036, key, "a decimal number", is_decimal);
    }
    check(&rules::VM037, PROTOCOL, "a number", is_decimal);
    check(&rules::VM037, REGION, "0 to 7 or 255", |value| {
        value == b"-1" || number(value, 3, 255).is_some_and(|code| region(code.into()).is_some())
    });
    for key in [GAMEDIR, MAP, VERSION, PRODUCT] {
        check(&rules::VM037, key, "a text", |value| !value.is_empty());
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
        for text in ["01339895702", "+1339895702", "000000000001339895702"] {
            assert_eq!(int(text.as_bytes()), Some(1_339_895_702), "{text}");
        }
        assert_eq!(int(b"00"), Some(0));
        for text in ["", "-", "+", "4294967296", "-2147483649", "12a", "99999999999"] {
            assert_eq!(int(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn keys_are_at_the_positions_of_their_names() {
        let named = [
            (PROTOCOL, "protocol"),
            (GAMEDIR, "gamedir"),
            (MAP, "map"),
            (VERSION, "version"),
            (PRODUCT, "product"),
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
        assert_eq!(KEYS.len(), SeenKeys::default().values.len());
    }

    #[test]
    fn the_orders_are_those_of_the_specification() {
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
    fn pairs_have_the_meaning_of_the_examples() {
        let meaning = |key: &str, value: &str| meaning(key.as_bytes(), value.as_bytes()).unwrap();
        assert_eq!(meaning("region", "-1"), "Rest of the world");
        assert_eq!(meaning("region", "255"), "Rest of the world");
        assert_eq!(meaning("region", "9"), "region 9");
        assert_eq!(meaning("os", "w"), "Windows");
        assert_eq!(meaning("gametype", "arena"), "tags: arena");
    }
}

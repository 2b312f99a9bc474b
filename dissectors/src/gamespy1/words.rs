//! The text of a message: keys and values separated by backslashes, and the keywords that frame
//! them.
//!
//! Keywords without a value have two forms: the specification prints `\basic\secure\XDWAOR`, games
//! send `\basic\\secure\XDWAOR`. Both are accepted.

use crate::kit::{Pair, Pairs, Read, Span};

use super::kept;
use super::keywords::is_keyword;

pub(super) use super::keywords::{FINAL, QUERYID, is_bare, is_query};

/// The pairs of a text, keywords without a value on their own. They cover every byte of it.
#[derive(Clone, Copy)]
pub(super) struct TextPairs<'a> {
    rest: &'a [u8],
    start: usize,
}

impl<'a> TextPairs<'a> {
    /// The pairs of `text`, which is `start` bytes into the payload.
    pub(super) fn new(text: &'a [u8], start: usize) -> TextPairs<'a> {
        TextPairs { rest: text, start }
    }

    /// The rest of the text.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Its offset.
    pub(super) fn at(&self) -> usize {
        self.start
    }

    /// Skips the next `length` bytes, which are whole pairs.
    pub(super) fn skip_to(&mut self, length: usize) {
        self.rest = self.rest.get(length..).unwrap_or_default();
        self.start = self.start.saturating_add(length);
    }
}

impl<'a> Iterator for TextPairs<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        let mut pair = Pairs::new(self.rest, self.start).next()?;
        let after = self.rest.get(pair.at().len() as usize..).unwrap_or_default();
        if stands_alone(&pair, after) {
            let key = usize::from(pair.opened).saturating_add(pair.key.len());
            pair = Pairs::new(self.rest.get(..key)?, self.start).next()?;
        } else if is_doubled(&pair, after) {
            pair.after_another_backslash(after);
        }
        self.skip_to(pair.at().len() as usize);
        Some(pair)
    }
}

/// Whether what looks like the value of a key is the next key. `after`: the text after the two.
fn stands_alone(pair: &Pair<'_>, after: &[u8]) -> bool {
    let value = pair.text();
    if value.is_empty() {
        return false;
    }
    if pair.key == FINAL || is_bare(pair.key) && is_keyword(value) {
        return true;
    }
    // The backslash before a key was doubled.
    if pair.key.is_empty() {
        return kept::is_keyword(value);
    }
    // A key that lost its value, before a keyword that cannot be one.
    match value {
        FINAL => matches!(after, b"" | b"\\") || after.starts_with(b"\\\\queryid\\"),
        QUERYID => after.strip_prefix(b"\\").is_some_and(|id| number(id).is_some()),
        _ => false,
    }
}

/// Whether a value is empty only because the backslash before it was doubled: else the value would be a key, the next key
/// its value, and so on. `after`: the text after the pair.
fn is_doubled(pair: &Pair<'_>, after: &[u8]) -> bool {
    if pair.value != Some(b"") || pair.key.is_empty() || is_bare(pair.key) {
        return false;
    }
    let mut pairs = Pairs::new(after, 0);
    let Some(next) = pairs.next() else { return false };
    let is_known = |text: &[u8]| text == FINAL || kept::is_keyword(text);
    let is_shifted = next.value.is_some_and(is_known) && !next.key.is_empty();
    is_shifted && !is_known(next.key) && pairs.next().is_some_and(|it| !is_known(it.key))
}

/// A response's number, and a part's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueryId {
    pub(super) response: u32,
    pub(super) part: u32,
}

/// A `\queryid\` value, up to the next backslash.
fn number(value: &[u8]) -> Option<QueryId> {
    let value = value.split(|&byte| byte == b'\\').next()?;
    let dot = value.iter().position(|&byte| byte == b'.')?;
    let (response, part) = value.split_at_checked(dot)?;
    Some(QueryId { response: decimal(response)?, part: decimal(part.get(1..)?)? })
}

/// A decimal number without a sign.
pub(super) fn decimal<T: std::str::FromStr>(text: &[u8]) -> Option<T> {
    if !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The numbering of a datagram's parts of a response by `\queryid\`s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Numbering {
    /// There is none.
    #[default]
    Absent,
    /// One is not a number, or several are not consecutive.
    Wrong,
    /// These parts of the response are in the datagram.
    Parts { response: u32, first: u32, last: u32 },
}

impl Numbering {
    fn and(self, id: Option<QueryId>) -> Numbering {
        match (self, id) {
            (Numbering::Absent, Some(QueryId { response, part })) => {
                Numbering::Parts { response, first: part, last: part }
            }
            (Numbering::Parts { response, first, last }, Some(id))
                if id.response == response && last.checked_add(1) == Some(id.part) =>
            {
                Numbering::Parts { response, first, last: id.part }
            }
            _ => Numbering::Wrong,
        }
    }
}

/// Whether the document exempts a game from the challenge: its clients send no correct code.
fn is_exempt(game: &[u8]) -> bool {
    game.eq_ignore_ascii_case(b"deusex")
}

/// The properties of a text, found before it is decoded.
#[derive(Clone, Copy, Default)]
pub(super) struct TextProperties<'a> {
    /// The first keyword.
    pub(super) first: &'a [u8],
    pub(super) heartbeat: Option<Read<&'a [u8]>>,
    pub(super) gamename: Option<Read<&'a [u8]>>,
    pub(super) validate: Option<Read<&'a [u8]>>,
    pub(super) secure: Option<Read<&'a [u8]>>,
    pub(super) list: Option<Read<&'a [u8]>>,
    /// The port for players.
    pub(super) hostport: Option<u16>,
    pub(super) location: bool,
    pub(super) basic: bool,
    pub(super) statechanged: bool,
    pub(super) exiting: bool,
    /// It lists servers.
    pub(super) lists: bool,
    /// The requested encryption of the list, and that of the response: 0 for none.
    pub(super) enctype: u8,
    /// It is a query whose name is unknown.
    pub(super) asks_unknown: bool,
    /// Keywords that are queries.
    pub(super) queries: u32,
    /// Keys that only responses have.
    pub(super) properties: u32,
    pub(super) numbering: Numbering,
    /// The position of `\final\`.
    pub(super) closed: Option<Span>,
    /// The bytes after it, without backslashes and a `\queryid\`.
    pub(super) after: Option<Span>,
    /// A `\queryid\` follows it.
    pub(super) numbered_after: bool,
    /// Bytes that are not a pair.
    pub(super) fault: Option<(Span, &'static str)>,
    /// The first pair, if it has no leading backslash but can be read.
    pub(super) unopened: Option<Span>,
    /// The key at the end of the text that may still get its value.
    pub(super) open_key: Option<&'a [u8]>,
}

/// Reads a whole text.
pub(super) fn scan(text: &[u8]) -> TextProperties<'_> {
    let mut words = TextProperties::default();
    words.read(text, 0);
    words.asks_unknown = is_unknown_query(text);
    words
}

/// Whether a text is one word between backslashes, as a query is, and no keyword.
pub(super) fn is_unknown_query(text: &[u8]) -> bool {
    const LENGTHS: std::ops::RangeInclusive<usize> = 4..=24;
    let [b'\\', word @ .., b'\\'] = text else { return false };
    let is_of_word = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'_';
    LENGTHS.contains(&word.len())
        && word.iter().all(is_of_word)
        && !is_query(word)
        && !is_keyword(word)
}

impl<'a> TextProperties<'a> {
    /// Reads a text that is `start` bytes into the payload.
    pub(super) fn read(&mut self, text: &'a [u8], start: usize) {
        let mut pairs = TextPairs::new(text, start);
        while let Some(pair) = pairs.next() {
            self.add_pair(&pair, pairs);
        }
    }

    /// A pair; `after`: the text after it.
    pub(super) fn add_pair(&mut self, pair: &Pair<'a>, after: TextPairs<'a>) {
        if !pair.opened && is_name(pair.key) {
            self.unopened = self.unopened.or(Some(pair.at()));
        }
        match fault(pair, after) {
            // What follows the end is no pair of the text.
            Some(_) if self.closed.is_some() => self.stands_after(pair.at()),
            Some(what) => self.fault = self.fault.or(Some((pair.at(), what))),
            None => {}
        }
        if after.rest.is_empty() && pair.value.is_none() {
            self.open_key = Some(pair.key);
        }
        self.take(pair);
    }

    /// This many valid pairs with this key, which is not a keyword.
    pub(super) fn hear_properties(&mut self, key: &'a [u8], times: u32, at: Span) {
        if self.first.is_empty() {
            self.first = key;
        }
        if self.closed.is_some() {
            self.stands_after(at);
        }
        self.properties = self.properties.saturating_add(times);
    }

    fn take(&mut self, pair: &Pair<'a>) {
        if self.first.is_empty() {
            self.first = pair.key;
        }
        if self.closed.is_some() && !pair.key.is_empty() {
            self.take_after(pair);
        }
        let value = Some(Read { value: pair.text(), at: pair.at() });
        match pair.key {
            b"" => {}
            FINAL => self.closed = self.closed.or(Some(pair.at())),
            QUERYID => self.numbering = self.numbering.and(number(pair.text())),
            b"heartbeat" => self.heartbeat = self.heartbeat.or(value),
            b"gamename" => self.gamename = self.gamename.or(value),
            b"validate" => self.validate = self.validate.or(value),
            b"secure" => self.secure = self.secure.or(value),
            b"list" => self.list = self.list.or(value),
            b"location" => self.location = true,
            b"basic" => self.basic = true,
            b"statechanged" => self.statechanged = true,
            b"exiting" => self.exiting = true,
            b"ip" => {
                self.lists = true;
                self.properties = self.properties.saturating_add(1);
            }
            b"enctype" => {
                self.enctype = decimal(pair.text()).unwrap_or(u8::from(!pair.text().is_empty()))
            }
            b"gamever" => {}
            b"hostport" => {
                self.hostport = self.hostport.or(decimal(pair.text()));
                self.properties = self.properties.saturating_add(1);
            }
            key if is_query(key) => self.queries = self.queries.saturating_add(1),
            _ => self.properties = self.properties.saturating_add(1),
        }
    }

    fn take_after(&mut self, pair: &Pair<'a>) {
        if pair.key == QUERYID && !self.numbered_after {
            self.numbered_after = true;
            return;
        }
        self.stands_after(pair.at());
    }

    fn stands_after(&mut self, at: Span) {
        let start = self.after.map_or(at.start, |after| after.start);
        self.after = Some(Span { start, end: at.end });
    }

    /// Whether a client asks for the list of a game whose clients send no correct code.
    pub(super) fn is_exempt(&self) -> bool {
        self.heartbeat.is_none() && self.gamename.is_some_and(|game| is_exempt(game.value))
    }

    /// The response to a challenge. An empty one is none, where none is needed.
    pub(super) fn code(&self) -> Option<Read<&'a [u8]>> {
        self.validate.filter(|code| !code.value.is_empty() || !self.is_exempt())
    }

    /// Whether it is one of several parts of a response.
    pub(super) fn is_part(&self) -> bool {
        let Numbering::Parts { first, .. } = self.numbering else { return false };
        first > 1 || self.closed.is_none()
    }

    /// Whether it consists of a code only, or begins a response so.
    pub(super) fn is_lone_validate(&self) -> bool {
        matches!(self.numbering, Numbering::Parts { first: 1, .. })
            && self.validate.is_some()
            && self.heartbeat.is_none()
            && self.properties == 0
    }

    /// Whether the pairs are valid, so that other rules can be checked: only the first backslash
    /// may be missing.
    pub(super) fn is_sound(&self) -> bool {
        self.fault.is_none()
    }

    /// The first fault in the pairs.
    pub(super) fn first_fault(&self) -> Option<(Span, &'static str)> {
        self.unopened.map(|at| (at, UNOPENED)).or(self.fault)
    }
}

/// The fault of a first pair without a leading backslash.
const UNOPENED: &str = "no backslash comes before the first key";

/// Whether a key has the characters of a game's key.
fn is_name(key: &[u8]) -> bool {
    !key.is_empty() && key.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

/// The fault of a pair. `after`: the text after it.
fn fault(pair: &Pair<'_>, mut after: TextPairs<'_>) -> Option<&'static str> {
    if !pair.opened && !is_name(pair.key) {
        return Some(UNOPENED);
    }
    if pair.key.is_empty() {
        let doubled = pair.value.is_none()
            && after.next().is_none_or(|next| [FINAL, QUERYID].contains(&next.key));
        return (!doubled).then_some("a key is empty");
    }
    if pair.is_doubled {
        return Some("two backslashes come before a value");
    }
    let lacks_value = pair.value.is_none() && !is_bare(pair.key);
    lacks_value.then_some("a key has no value")
}

/// Whether text is a dotted-decimal IPv4 address, a colon and a port from 1.
pub(super) fn is_address(text: &[u8]) -> bool {
    let Some(colon) = text.iter().position(|&byte| byte == b':') else { return false };
    let (host, port) = text.split_at(colon);
    let host =
        std::str::from_utf8(host).is_ok_and(|host| host.parse::<std::net::Ipv4Addr>().is_ok());
    host && decimal::<u16>(port.get(1..).unwrap_or_default()).is_some_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(String, Option<String>)> {
        let text_of = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let pairs = TextPairs::new(text.as_bytes(), 0);
        pairs.map(|pair| (text_of(pair.key), pair.value.map(text_of))).collect()
    }

    fn is_sound(text: &str) -> bool {
        scan(text.as_bytes()).first_fault().is_none()
    }

    #[test]
    fn both_forms_of_an_empty_value_are_equal() {
        for (printed, sent) in [
            (r"\basic\secure\XDWAOR", r"\basic\\secure\XDWAOR"),
            (r"\list\gamename\ut", r"\list\\gamename\ut"),
            (r"\info\rules\players\", r"\info\\rules\\players\"),
        ] {
            let keys = |text| pairs(text).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
            assert_eq!(keys(printed), keys(sent));
            assert!(is_sound(printed) && is_sound(sent));
        }
    }

    #[test]
    fn final_never_has_a_value() {
        let closed = r"\validate\a\final\\queryid\2.1";
        assert_eq!(pairs(closed)[1], ("final".into(), Some(String::new())));
        let words = scan(closed.as_bytes());
        assert!(words.numbered_after && words.after.is_none() && words.is_sound());
        assert_eq!(pairs(r"\final\queryid\2.1")[0], ("final".into(), None));
        assert!(scan(br"\ip\1.2.3.4:5\final\rest\x").after.is_some());
    }

    #[test]
    fn a_name_may_be_a_keyword() {
        assert!(is_sound(r"\player_0\final\queryid\1.1"));
        let text = r"\player_0\final\player_1\status\queryid\1.1\final\";
        assert_eq!(pairs(text)[0], ("player_0".into(), Some("final".into())));
        assert_eq!(pairs(text)[1], ("player_1".into(), Some("status".into())));
        assert!(is_sound(text));
    }

    #[test]
    fn pairs_are_read_across_a_doubled_backslash() {
        let keyed = |text: &str| {
            assert!(!is_sound(text), "{text}");
            let named = |(key, value): &(String, Option<String>)| {
                ["hostname", "mapname", "player_0"]
                    .contains(&key.as_str())
                    .then(|| value.clone())?
            };
            pairs(text).iter().filter_map(named).collect::<Vec<_>>().join(" ")
        };
        for text in [
            r"\\hostname\A\mapname\B\player_0\C\queryid\1.1\final\",
            r"\hostname\A\\mapname\B\player_0\C\queryid\1.1\final\",
            r"\hostname\\A\mapname\B\player_0\C\queryid\1.1\final\",
            r"\hostname\A\mapname\B\player_0\\C\queryid\1.1\final\",
        ] {
            assert_eq!(keyed(text), "A B C", "{text}");
        }
        // An empty value is one.
        for text in [
            r"\hostname\\mapname\B\queryid\1.1\final\",
            r"\AdminName\\motd\status\mapname\B\queryid\1.1\final\",
            r"\AdminName\\motd\x\mapname\B\queryid\1.1\final\",
        ] {
            assert!(is_sound(text), "{text}");
        }
    }

    #[test]
    fn invalid_pairs() {
        for text in [
            r"heartbeat\7778\gamename\ut",
            r"\heartbeat\7778\gamename",
            r"\hostname\final\",
            r"\hostname\queryid\1.1",
            r"\\a\b\c",
            r"\ip\255.255.255.255:7778\...\final\",
        ] {
            assert!(!is_sound(text), "{text}");
        }
        for text in [r"\heartbeat\7778\gamename\ut\", r"\status", r"\queryid\1.1\\final\"] {
            assert!(is_sound(text), "{text}");
        }
    }

    #[test]
    fn parts_in_one_datagram_follow_each_other() {
        let numbering = |text: &'static str| scan(text.as_bytes()).numbering;
        let parts = Numbering::Parts { response: 1, first: 1, last: 3 };
        assert_eq!(numbering(r"\a\b\queryid\1.1\c\d\queryid\1.2\queryid\1.3\final\"), parts);
        assert_eq!(numbering(r"\a\b\queryid\1.1\c\d\queryid\1.3"), Numbering::Wrong);
        assert_eq!(numbering(r"\a\b\queryid\1"), Numbering::Wrong);
        assert_eq!(numbering(r"\a\b\queryid\99999999999.1"), Numbering::Wrong);
        assert_eq!(numbering(r"\a\b\final\"), Numbering::Absent);
    }

    proptest! {
        #[test]
        fn pairs_cover_the_text(text in r"(\\|a|final|list|basic|queryid|1\.1){0,12}") {
            let mut at = 3;
            for pair in TextPairs::new(text.as_bytes(), 3) {
                prop_assert_eq!(pair.at().start as usize, at);
                prop_assert!(!pair.at().is_empty());
                at = pair.at().end as usize;
            }
            prop_assert_eq!(at, text.len() + 3);
        }
    }
}

//! Keys and values separated by backslashes: `\key\value\key\value`.
//!
//! Every piece is kept with its position: empty keys and values (two backslashes in a row), a last
//! key without a value, a text that does not begin with a backslash. Which of these are faults
//! depends on the protocol.

use crate::kit::{Field, Reader, Sink, Span, TextPlace};

/// A key, and the value after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The key, without its backslash. Empty between two backslashes, or after the last one.
    pub key: &'a [u8],
    /// The value, without its backslash. `None`: the text ends with the key.
    pub value: Option<&'a [u8]>,
    /// A backslash precedes the key: always, except at the start of the text.
    pub opened: bool,
    /// Two backslashes precede the value.
    pub is_doubled: bool,
    /// The offset of the pair, at its first backslash.
    start: usize,
}

impl<'a> Pair<'a> {
    /// The value, or an empty one.
    pub fn text(&self) -> &'a [u8] {
        self.value.unwrap_or_default()
    }

    /// Key and value with their backslashes.
    pub fn at(&self) -> Span {
        let value = self.value.map_or(0, <[u8]>::len);
        Span::new(self.start, self.key_end() + self.backslashes() + value)
    }

    /// The key without its backslash.
    pub fn key_at(&self) -> Span {
        Span::new(self.start + usize::from(self.opened), self.key_end())
    }

    /// The value without its backslash, or the empty span at its place.
    pub fn value_at(&self) -> Span {
        let start = self.key_end() + self.backslashes();
        Span::new(start, start + self.text().len())
    }

    /// Takes the piece at the start of `after`, the text after an empty value, as the value.
    pub fn after_another_backslash(&mut self, after: &'a [u8]) {
        self.is_doubled = true;
        self.value = after.get(1..).map(|after| piece(after).0);
    }

    fn key_end(&self) -> usize {
        self.start + usize::from(self.opened) + self.key.len()
    }

    /// The number of backslashes before the value.
    fn backslashes(&self) -> usize {
        usize::from(self.value.is_some()) + usize::from(self.is_doubled)
    }
}

/// The pairs of a text in order. Together they cover all its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    rest: &'a [u8],
    start: usize,
}

impl<'a> Pairs<'a> {
    /// The pairs of `text`, which begins `start` bytes into the payload.
    pub fn new(text: &'a [u8], start: usize) -> Pairs<'a> {
        Pairs { rest: text, start }
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = Pair<'a>;

    fn next(&mut self) -> Option<Pair<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let opened = self.rest.first() == Some(&b'\\');
        let (key, after) = piece(self.rest.get(usize::from(opened)..).unwrap_or_default());
        let value = after.map(piece);
        let (value, start) = (value.map(|(value, _)| value), self.start);
        let pair = Pair { key, value, opened, is_doubled: false, start };
        let used = pair.at().len() as usize;
        self.rest = self.rest.get(used..).unwrap_or_default();
        self.start += used;
        Some(pair)
    }
}

/// The part before the next backslash, and the part after it.
fn piece(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|&byte| byte == b'\\') {
        Some(at) => (text.get(..at).unwrap_or_default(), text.get(at + 1..)),
        None => (text, None),
    }
}

/// The fields of a pair.
pub struct PairFields {
    /// The container of the two; usually a [`Kind::Pair`](crate::kit::Kind::Pair).
    pub pair: &'static Field,
    /// The key, a text.
    pub key: &'static Field,
    /// The value, a text.
    pub value: &'static Field,
}

impl<S: Sink> Reader<'_, S> {
    /// Reports the pair at the current position. Each backslash belongs to the text after it.
    pub fn pair(&mut self, fields: &'static PairFields, pair: &Pair<'_>) {
        self.open(fields.pair);
        let key = pair.key_at();
        self.leaf(
            fields.key,
            (key.end as usize).saturating_sub(self.at()),
            TextPlace::at(key).value(),
        );
        if pair.value.is_some() {
            let value = pair.value_at();
            let length = (value.end as usize).saturating_sub(self.at());
            self.leaf(fields.value, length, TextPlace::at(value).value());
        }
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &str) -> Vec<(&str, Option<&str>)> {
        let text_of = |bytes| std::str::from_utf8(bytes).unwrap();
        let pairs = Pairs::new(text.as_bytes(), 0);
        pairs.map(|pair| (text_of(pair.key), pair.value.map(text_of))).collect()
    }

    #[test]
    fn keys_and_values_alternate() {
        assert_eq!(pairs(r"\a\1\bc\23"), [("a", Some("1")), ("bc", Some("23"))]);
        assert_eq!(pairs(""), []);
    }

    #[test]
    fn empty_pieces_are_kept() {
        assert_eq!(
            pairs(r"\basic\\secure\XDWAOR"),
            [("basic", Some("")), ("secure", Some("XDWAOR"))]
        );
        assert_eq!(pairs(r"\\a\b"), [("", Some("a")), ("b", None)]);
        assert_eq!(pairs(r"\final\"), [("final", Some(""))]);
        assert_eq!(pairs(r"\a\b\"), [("a", Some("b")), ("", None)]);
        assert_eq!(pairs(r"\"), [("", None)]);
    }

    #[test]
    fn a_text_may_lack_its_first_backslash() {
        let all: Vec<_> = Pairs::new(br"a\b\c\d", 0).collect();
        assert_eq!(all.iter().map(|pair| pair.opened).collect::<Vec<_>>(), [false, true]);
        assert_eq!(pairs(r"a\b\c\d"), [("a", Some("b")), ("c", Some("d"))]);
    }

    #[test]
    fn places_count_from_the_start_of_the_payload() {
        let pair = Pairs::new(br"\map\de_dust", 10).next().unwrap();
        assert_eq!(pair.at(), Span::new(10, 22));
        assert_eq!(pair.key_at(), Span::new(11, 14));
        assert_eq!(pair.value_at(), Span::new(15, 22));
        let bare = Pairs::new(br"\map", 10).next().unwrap();
        assert_eq!(bare.value_at(), Span::new(14, 14));
    }

    proptest! {
        #[test]
        fn pairs_cover_the_text(text in r"[a\\]{0,40}") {
            let mut at = 7;
            let mut joined = String::new();
            for pair in Pairs::new(text.as_bytes(), 7) {
                prop_assert_eq!(pair.at().start as usize, at);
                at = pair.at().end as usize;
                let piece = |bytes| std::str::from_utf8(bytes).unwrap();
                joined += if pair.opened { "\\" } else { "" };
                joined += piece(pair.key);
                if let Some(value) = pair.value {
                    joined += "\\";
                    joined += piece(value);
                }
            }
            prop_assert_eq!(joined, text);
        }
    }
}

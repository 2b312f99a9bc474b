//! Replaces texts and bytes by others of the same length and form: letters by letters, figures by
//! figures.
//!
//! Texts of the same form are permuted: different ones never become the same. A text is split into
//! two halves; in each round, numbers that depend on one half are added to the characters of the
//! other, each within its kind (a Feistel cipher).

use std::ops::Range;

use dissectors::Id;

use super::secret::{Key, Purpose};

/// The kinds of characters. Those of one kind are replaced by one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Structure: separators, line ends, zeros.
    Fixed,
    Digit,
    /// The first digit of a number, which is no zero.
    FirstDigit,
    Lower,
    Upper,
    /// Letters of a hexadecimal number.
    LowerHex,
    UpperHex,
    /// Characters of two, three and four bytes.
    Two,
    Three,
    Four,
    /// Bytes that are not UTF-8.
    Invalid,
    /// Control characters, except for white space.
    Control,
    /// White space, punctuation and high bytes, where bytes are no text.
    Space,
    Mark,
    High,
}

impl Kind {
    const MARKS: &[u8; 32] = b" !\"#$%&'()*+,-./:;<=>?@[]^_`{|}~";

    /// How many there are.
    const fn count(self) -> u32 {
        match self {
            Kind::Fixed => 1,
            Kind::Digit => 10,
            Kind::FirstDigit => 9,
            Kind::Lower | Kind::Upper => 26,
            Kind::LowerHex | Kind::UpperHex | Kind::Invalid => 6,
            Kind::Two => 400,
            Kind::Three => 20_000,
            Kind::Four => 768,
            Kind::Control => 29,
            Kind::Space => 3,
            Kind::Mark => 32,
            Kind::High => 126,
        }
    }

    /// The first character of two to four bytes.
    const fn first(self) -> u32 {
        match self {
            Kind::Two => 0xC0,
            Kind::Three => 0x4E00,
            _ => 0x1_F300,
        }
    }

    /// Upper and lower case are the same, so that texts that differ in case only still do.
    const fn without_case(self) -> u8 {
        match self {
            Kind::Upper => Kind::Lower as u8,
            Kind::UpperHex => Kind::LowerHex as u8,
            kind => kind as u8,
        }
    }

    /// The kind of a byte of a text, and its number in it.
    fn of_ascii(byte: u8) -> (Kind, u32) {
        let (kind, first) = match byte {
            b'0'..=b'9' => (Kind::Digit, b'0'),
            b'a'..=b'z' => (Kind::Lower, b'a'),
            b'A'..=b'Z' => (Kind::Upper, b'A'),
            _ => return Kind::of_control(byte),
        };
        (kind, u32::from(byte - first))
    }

    fn of_control(byte: u8) -> (Kind, u32) {
        let index = match byte {
            1..=8 => byte - 1,
            0x0B..=0x0C => byte - 3,
            0x0E..=0x1F => byte - 4,
            0x7F => 28,
            _ => return (Kind::Fixed, 0),
        };
        (Kind::Control, u32::from(index))
    }

    /// The kind of a byte that is no text.
    fn of_byte(byte: u8) -> (Kind, u32) {
        match byte {
            b'\t' | b'\n' => (Kind::Space, u32::from(byte - b'\t')),
            b'\r' => (Kind::Space, 2),
            0x80..=0xFD => (Kind::High, u32::from(byte - 0x80)),
            _ => match Kind::MARKS.iter().position(|&mark| mark == byte) {
                Some(at) => (Kind::Mark, at as u32),
                None => Kind::of_ascii(byte),
            },
        }
    }

    /// The byte with this number.
    fn byte(self, index: u32) -> u8 {
        let index = index as u8;
        match self {
            Kind::Digit => b'0' + index,
            Kind::FirstDigit => b'1' + index,
            Kind::Lower | Kind::LowerHex => b'a' + index,
            Kind::Upper | Kind::UpperHex => b'A' + index,
            Kind::Invalid => 0xF8 + index,
            Kind::High => 0x80 + index,
            Kind::Space => [b'\t', b'\n', b'\r'][usize::from(index % 3)],
            Kind::Mark => Kind::MARKS[usize::from(index % 32)],
            Kind::Control if index == 28 => 0x7F,
            Kind::Control if index > 9 => index + 4,
            Kind::Control if index > 7 => index + 3,
            Kind::Control => index + 1,
            _ => 0,
        }
    }
}

/// A character of a text.
#[derive(Clone, Copy)]
struct Unit {
    kind: Kind,
    index: u32,
    /// Its place.
    at: usize,
    length: usize,
    /// A percent sign and two hexadecimal digits.
    is_escaped: bool,
}

/// Replaces texts.
pub(super) struct Texts {
    key: Key,
    units: Vec<Unit>,
    before: Vec<u8>,
}

impl Texts {
    pub(super) fn new(key: Key) -> Texts {
        Texts { key, units: Vec::new(), before: Vec::new() }
    }

    /// Appends the replacement of a text.
    pub(super) fn text(&mut self, text: &[u8], out: &mut Vec<u8>) {
        self.units.clear();
        units_of_text(text, &mut self.units);
        let start = out.len();
        out.extend_from_slice(text);
        let was = Form::of(text);
        for _ in 0..MOST_WALKS {
            self.permute(Purpose::Text);
            self.write(start, out);
            let new = out.get(start..).unwrap_or_default();
            if Form::of(new) == was {
                self.keep_apart(text, start, out);
                return;
            }
        }
        // One of few words or numbers of its form: another text must not become the same.
        out.truncate(start);
        out.extend_from_slice(text);
    }

    /// Appends the replacement of bytes that are no text.
    pub(super) fn bytes(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.units.clear();
        for (at, &byte) in bytes.iter().enumerate() {
            let (kind, index) = Kind::of_byte(byte);
            self.units.push(Unit { kind, index, at, length: 1, is_escaped: false });
        }
        let start = out.len();
        out.extend_from_slice(bytes);
        self.permute(Purpose::Bytes);
        self.write(start, out);
        self.keep_apart(bytes, start, out);
    }

    /// Appends a text whose words are replaced one by one, except for those to be kept.
    pub(super) fn words(&mut self, text: &[u8], is_kept: fn(&[u8]) -> bool, out: &mut Vec<u8>) {
        let mut rest = text;
        while !rest.is_empty() {
            let length = word_length(rest);
            let (word, after) = rest.split_at(length.max(1).min(rest.len()));
            if length == 0 || is_kept(&unescaped(word)) {
                out.extend_from_slice(word);
            } else {
                self.text(word, out);
            }
            rest = after;
        }
    }

    /// Permutes the characters among the texts of this form.
    fn permute(&mut self, purpose: Purpose) {
        const ROUNDS: usize = 4;
        self.units.retain(|unit| unit.kind.count() > 1);
        let middle = self.units.len().div_ceil(2);
        for round in 0..ROUNDS {
            let (first, second) = self.units.split_at_mut(middle);
            let (changed, read) = if round % 2 == 0 { (first, second) } else { (second, first) };
            self.before.clear();
            self.before.push(round as u8);
            // Their kinds, because a number of one text could be that of another.
            changed.iter().for_each(|unit| self.before.push(unit.kind.without_case()));
            self.before.push(u8::MAX);
            for unit in read.iter() {
                let [low, high, ..] = unit.index.to_le_bytes();
                self.before.extend([unit.kind.without_case(), low, high]);
            }
            let mut numbers = self.key.numbers(purpose, &self.before);
            for unit in changed {
                let count = unit.kind.count();
                unit.index = (unit.index + numbers.below(count)) % count;
            }
        }
    }

    /// Writes the characters to their places.
    fn write(&self, start: usize, out: &mut [u8]) {
        let text = out.get_mut(start..).unwrap_or_default();
        self.units.iter().for_each(|unit| unit.write(text));
    }

    /// Changes characters so that no four bytes in a row stay, which could be an address; a
    /// character that is repeated may stay.
    fn keep_apart(&self, old: &[u8], start: usize, out: &mut [u8]) {
        let Some(new) = out.get_mut(start..) else { return };
        let mut same = 0;
        for at in 0..old.len() {
            same = if new.get(at) == old.get(at) { same + 1 } else { 0 };
            let is_repeated =
                || old.get(at - 3..at).is_some_and(|it| it.iter().all(|b| *b == old[at]));
            if same < 4 || is_repeated() {
                continue;
            }
            let within = at - 3..at + 1;
            let is_in = |unit: &&Unit| within.contains(&unit.at) && unit.at + unit.length <= at + 1;
            match self.units.iter().rev().find(is_in) {
                Some(unit) => {
                    let index = (unit.index + 1) % unit.kind.count();
                    Unit { index, ..*unit }.write(new);
                }
                None => change_mark(within, new),
            }
            same = 0;
        }
    }
}

/// Changes punctuation that separates nothing.
fn change_mark(within: Range<usize>, text: &mut [u8]) {
    const MARKS: &[u8] = b"!#$^*~|";
    for at in within.rev() {
        if let Some(byte) = text.get_mut(at)
            && let Some(mark) = MARKS.iter().position(|mark| mark == byte)
        {
            *byte = MARKS[(mark + 1) % MARKS.len()];
            return;
        }
    }
}

impl Unit {
    fn write(&self, text: &mut [u8]) {
        let Some(place) = text.get_mut(self.at..self.at + self.length) else { return };
        if self.is_escaped {
            let byte = self.kind.byte(self.index);
            for (place, digit) in place.iter_mut().skip(1).zip([byte >> 4, byte & 0xF]) {
                let digit = char::from_digit(digit.into(), 16).unwrap_or('0') as u8;
                let is_upper = place.is_ascii_uppercase();
                *place = if is_upper { digit.to_ascii_uppercase() } else { digit };
            }
            return;
        }
        match self.kind {
            Kind::Two | Kind::Three | Kind::Four => {
                let c = char::from_u32(self.kind.first() + self.index).unwrap_or('?');
                let mut bytes = [0; 4];
                place.copy_from_slice(c.encode_utf8(&mut bytes).as_bytes());
            }
            kind => place.fill(kind.byte(self.index)),
        }
    }
}

/// How often a text is permuted until its form fits.
const MOST_WALKS: usize = 100;

/// What a replacement must have in common with its text beyond the kinds of characters.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Form {
    /// It is a word by which readers find their way.
    is_word: bool,
    /// How large a number is.
    size: Option<u8>,
}

impl Form {
    fn of(text: &[u8]) -> Form {
        Form { is_word: is_word(text), size: number_size(text) }
    }
}

fn is_word(text: &[u8]) -> bool {
    let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    text.len() < 64
        && text.iter().all(is_one)
        && Id::ALL.iter().any(|protocol| protocol.is_word(text))
}

/// Which of the limits of protocols a decimal number exceeds.
fn number_size(text: &[u8]) -> Option<u8> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    if digits.is_empty() || digits.len() > 20 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = digits.iter().fold(0_u128, |number, digit| number * 10 + u128::from(digit - b'0'));
    let limits = [1 << 8, 1 << 16, 1 << 31, (1 << 31) + 1, 1 << 32, 1 << 63, 1 << 64];
    Some(limits.iter().filter(|&&limit| number >= limit).count() as u8)
}

fn units_of_text(text: &[u8], units: &mut Vec<Unit>) {
    if is_ascii_hex(text) {
        units.extend(text.iter().enumerate().map(|(at, &byte)| {
            let (kind, index) = match byte {
                b'1'..=b'9' => (Kind::FirstDigit, byte - b'1'),
                b'a'..=b'f' => (Kind::LowerHex, byte - b'a'),
                b'A'..=b'F' => (Kind::UpperHex, byte - b'A'),
                _ => (Kind::Fixed, 0),
            };
            Unit { kind, index: index.into(), at, length: 1, is_escaped: false }
        }));
        return;
    }
    let mut at = 0;
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid().as_bytes();
        let end = at + valid.len();
        while at < end {
            let unit = unit_at(text, at);
            at += unit.length;
            units.push(unit);
        }
        for &byte in chunk.invalid() {
            // Bytes of headers stay.
            let kind = if byte >= 0xFE { Kind::Fixed } else { Kind::Invalid };
            let index = u32::from(byte) % kind.count();
            units.push(Unit { kind, index, at, length: 1, is_escaped: false });
            at += 1;
        }
    }
    first_digits(units);
    suffix(text, units);
}

/// The character at this place of valid UTF-8.
fn unit_at(text: &[u8], at: usize) -> Unit {
    let rest = text.get(at..).unwrap_or_default();
    let unit = Unit { kind: Kind::Fixed, index: 0, at, length: 1, is_escaped: false };
    match *rest {
        [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            let digit = |digit: u8| char::from(digit).to_digit(16).unwrap_or(0) as u8;
            let byte = digit(high) << 4 | digit(low);
            let (kind, index) =
                if byte < 0x80 { Kind::of_ascii(byte) } else { Kind::of_byte(byte) };
            Unit { kind, index, length: 3, is_escaped: true, ..unit }
        }
        [byte @ 0..0x80, ..] => {
            let (kind, index) = Kind::of_ascii(byte);
            Unit { kind, index, ..unit }
        }
        [lead, ..] => {
            let (kind, length) = match lead {
                0..0xE0 => (Kind::Two, 2),
                0xE0..0xF0 => (Kind::Three, 3),
                0xF0.. => (Kind::Four, 4),
            };
            let bytes = rest.get(..length).and_then(|it| std::str::from_utf8(it).ok());
            let c = bytes.and_then(|it| it.chars().next()).map_or(0, u32::from);
            Unit { kind, index: c % kind.count(), length, ..unit }
        }
        [] => unit,
    }
}

/// The first digit of each number stays one that is no zero, and leading zeros stay: a number keeps
/// its number of digits.
fn first_digits(units: &mut [Unit]) {
    let mut is_first = true;
    for unit in units {
        match (unit.kind, unit.index) {
            (Kind::Digit, 0) if is_first => unit.kind = Kind::Fixed,
            (Kind::Digit, index) if is_first => {
                (unit.kind, unit.index, is_first) = (Kind::FirstDigit, index - 1, false);
            }
            (Kind::Digit, _) => {}
            _ => is_first = true,
        }
    }
}

/// The end of a column's name stays.
fn suffix(text: &[u8], units: &mut [Unit]) {
    if text.ends_with(b"_t")
        && let Some(last) = units.last_mut()
    {
        last.kind = Kind::Fixed;
    }
}

/// A digest, a nonce.
fn is_ascii_hex(text: &[u8]) -> bool {
    let is_hex = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b':';
    text.len() >= 8 && text.iter().all(is_hex) && !text.iter().all(u8::is_ascii_digit)
}

/// The length of the word at the beginning, with escaped characters.
fn word_length(text: &[u8]) -> usize {
    let mut length = 0;
    loop {
        length += match text.get(length..).unwrap_or_default() {
            [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => 3,
            [byte, ..] if byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80 => 1,
            _ => return length,
        };
    }
}

/// A text without escapes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).filter(|_| *first == b'%');
        let hex = hex.and_then(|hex| std::str::from_utf8(hex).ok());
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = after.get(if byte.is_some() { 2 } else { 0 }..).unwrap_or_default();
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn other(key: &[u8], text: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Texts::new(Key::new(key)).text(text, &mut out);
        out
    }

    fn other_bytes(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        Texts::new(Key::new(b"k")).bytes(bytes, &mut out);
        out
    }

    #[test]
    fn the_form_of_a_text_stays() {
        let text = "Mill Creek 24/7 | ctf_2fort \u{200B}Größe 東京 😀\0".as_bytes();
        let new = other(b"a key", text);
        assert_eq!(new, other(b"a key", text));
        assert_ne!(new, other(b"another", text));
        let (old, new) = (std::str::from_utf8(text).unwrap(), std::str::from_utf8(&new).unwrap());
        for (old, new) in old.chars().zip(new.chars()) {
            assert_eq!(old.len_utf8(), new.len_utf8());
            assert_eq!(old.is_ascii_alphabetic(), new.is_ascii_alphabetic(), "{old} {new}");
            assert!(old.is_alphanumeric() || old == new || !old.is_ascii());
        }
        let escaped = other(b"a key", b"%20%41%c3a%zz");
        assert_eq!((&escaped[..3], escaped[3], escaped[6]), (&b"%20"[..], b'%', b'%'));
        assert!(!escaped[7..9].iter().any(u8::is_ascii_uppercase));
    }

    #[test]
    fn case_does_not_matter() {
        let (lower, upper) = (other(b"k", b"team fortress"), other(b"k", b"Team FORTRESS"));
        assert!(lower.eq_ignore_ascii_case(&upper) && lower != upper);
        assert_eq!(other(b"k", b"DEADBEEF01").to_ascii_lowercase(), other(b"k", b"deadbeef01"));
    }

    #[test]
    fn numbers_keep_their_digits_and_their_size() {
        for (number, limit) in
            [("4294967295", 1 << 32), ("2147483647", 1 << 31), ("65000", 1 << 16), ("0042", 100)]
        {
            let new = String::from_utf8(other(b"k", number.as_bytes())).unwrap();
            assert_eq!(new.len(), number.len());
            assert!(new.parse::<u64>().unwrap() < limit, "{new}");
            assert_ne!(new, number);
        }
        assert!(
            other(b"k", b"4294967296").starts_with(b"4")
                || other(b"k", b"4294967296") > b"4294967295".to_vec()
        );
        assert_eq!(other(b"k", b"00000000000000"), b"00000000000000");
    }

    #[test]
    fn no_two_become_one_and_no_text_becomes_a_word() {
        let all =
            Vec::from_iter((0..26_u8).flat_map(|a| (0..26).map(move |b| [b'a' + a, b'a' + b])));
        let others: HashSet<_> = all.iter().map(|text| other(b"k", text)).collect();
        assert_eq!(others.len(), 676);
        let digits = (0..100_u8).map(|n| format!("b{}", n).into_bytes());
        assert!(digits.map(|text| other(b"k", &text)).all(|text| !is_word(&text)));
        assert!(is_word(b"s7") && is_word(b"ann_t") && other(b"k", b"ann_t").ends_with(b"_t"));
    }

    #[test]
    fn words_are_replaced_one_by_one() {
        let mut texts = Texts::new(Key::new(b"k"));
        let mut out = Vec::new();
        texts.words(b"/john/%63?a=1", |word| word == b"c", &mut out);
        assert_eq!((out[0], &out[5..9]), (b'/', &b"/%63"[..]), "{out:?}");
        assert_ne!(&out[1..5], b"john");
    }

    proptest! {
        #[test]
        fn any_text_keeps_length_and_validity(text: Vec<u8>) {
            let new = other(b"k", &text);
            prop_assert_eq!(new.len(), text.len());
            prop_assert_eq!(std::str::from_utf8(&new).is_ok(), std::str::from_utf8(&text).is_ok());
        }

        #[test]
        fn bytes_are_permuted(a: [u8; 4], b: [u8; 4]) {
            let (x, y) = (other_bytes(&a), other_bytes(&b));
            prop_assert_eq!(x == y, a == b);
            let zeros = |bytes: &[u8]| Vec::from_iter(bytes.iter().map(|&byte| byte == 0));
            prop_assert_eq!(zeros(&a), zeros(&x));
            prop_assert_eq!(a.is_ascii(), x.is_ascii());
            prop_assert!(a != *x || a.iter().all(|byte| matches!(byte, 0 | b'\\' | 0xFE..)));
        }
    }
}

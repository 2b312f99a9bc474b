//! Names of fields as they stand in JSON, put together once for each field.
//!
//! It knows names and kinds, and refuses to know values.

use std::ptr;

use dissectors::kit::{Field, Kind};

use super::write::{CHUNK, is_plain};
use crate::report::view::Among;

/// What a name takes with its quotes and colon; a longer one is put together each time.
const ROOM: usize = 31;

/// A short text: one or two chunks.
const SHORT: usize = 2 * CHUNK;

/// A name, a short text, and the quote and the comma behind it.
const WINDOW: usize = ROOM + SHORT + 2;

/// A cache of one name per place; a field's place is told by its address.
pub(super) struct Names {
    places: Box<[Name; Names::PLACES]>,
}

/// One name.
#[derive(Clone, Copy)]
pub(super) struct Name {
    field: Option<&'static Field>,
    /// `"name":`, and the quote that opens the value where the field's kind has one.
    text: [u8; WINDOW],
    /// The length of the text; 0 if it has no room.
    length: usize,
    /// See [`mask`].
    pub(super) mask: u64,
}

impl Default for Names {
    fn default() -> Names {
        Names { places: Box::new([Name::NONE; Names::PLACES]) }
    }
}

impl Names {
    /// All protocols have fewer fields.
    const PLACES: usize = 512;

    /// The name of a field.
    #[inline]
    pub(super) fn of(&mut self, field: &'static Field) -> &Name {
        let at = ptr::from_ref(field).addr() / align_of::<Field>() % Names::PLACES;
        let name = &mut self.places[at];
        if !name.field.is_some_and(|known| ptr::eq(known, field)) {
            name.become_of(field);
        }
        name
    }
}

impl Name {
    const NONE: Name = Name { field: None, text: [0; WINDOW], length: 0, mask: 0 };

    /// Appends the name, up to where the inside of the value begins.
    #[inline]
    pub(super) fn write(&self, field: &Field, out: &mut Vec<u8>) {
        if self.length == 0 {
            return long(field, out);
        }
        let end = out.len() + self.length;
        out.extend_from_slice(&self.text);
        out.truncate(end);
    }

    /// Appends the name, a text between quotes and a comma, if that is done at once: if the text is
    /// short and has nothing to escape, as most are. Says whether it is.
    ///
    /// A whole window is appended, of which the last bytes are too much.
    #[inline(always)]
    pub(super) fn write_short(&self, text: Among<'_>, out: &mut Vec<u8>) -> bool {
        let Some(chunk) = text.chunk::<SHORT>() else { return false };
        let length = self.length % (ROOM + 1);
        if text.length > SHORT || !is_plain(chunk, text.length) || length == 0 {
            return false;
        }
        let end = out.len() + length + text.length + 2;
        let Some(value) = self.window(length, out) else { return false };
        if let Some(place) = value.first_chunk_mut::<SHORT>() {
            *place = *chunk;
        }
        if let Some(place) = value.get_mut(text.length..).and_then(|v| v.first_chunk_mut()) {
            *place = *b"\",";
        }
        out.truncate(end);
        true
    }

    /// Appends the name, the first `count` of eight bytes and a comma.
    #[inline]
    pub(super) fn write_word(&self, field: &Field, word: [u8; 8], count: usize, out: &mut Vec<u8>) {
        let length = self.length % (ROOM + 1);
        if length == 0 {
            long(field, out);
            out.extend_from_slice(word.get(..count).unwrap_or(&word));
            return out.push(b',');
        }
        let end = out.len() + length + count + 1;
        if let Some(value) = self.window(length, out) {
            if let Some(place) = value.first_chunk_mut() {
                *place = word;
            }
            if let Some(comma) = value.get_mut(count) {
                *comma = b',';
            }
        }
        out.truncate(end);
    }

    /// Appends the name with its whole window, and gives the bytes behind the name.
    #[inline(always)]
    fn window<'o>(&self, length: usize, out: &'o mut Vec<u8>) -> Option<&'o mut [u8]> {
        out.extend_from_slice(&self.text);
        out.last_chunk_mut::<WINDOW>()?.get_mut(length..)
    }

    #[cold]
    fn become_of(&mut self, field: &'static Field) {
        let mut text = Vec::with_capacity(WINDOW);
        long(field, &mut text);
        let length = text.len();
        text.resize(WINDOW.max(length), 0);
        *self = Name { field: Some(field), mask: mask(field.name.as_bytes()), ..Name::NONE };
        if length <= ROOM
            && let Some(text) = text.first_chunk()
        {
            (self.text, self.length) = (*text, length);
        }
    }
}

#[cold]
fn long(field: &Field, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(field.name.as_bytes());
    out.extend_from_slice(b"\":");
    if is_quoted(field.kind) {
        out.push(b'"');
    }
}

/// One bit of 64 that a name has: names without a common bit differ.
fn mask(name: &[u8]) -> u64 {
    let hash = name.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    1 << (hash >> 58)
}

/// Whether every value of the kind is a string.
#[inline]
pub(super) fn is_quoted(kind: Kind) -> bool {
    match kind {
        Kind::Id | Kind::Char | Kind::Name | Kind::Text | Kind::Bytes | Kind::Endpoint => true,
        Kind::Unsigned | Kind::Signed | Kind::Float | Kind::Flag | Kind::Endpoint6 => false,
        Kind::Group | Kind::List | Kind::Map | Kind::Pair => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(names: &mut Names, field: &'static Field) -> String {
        let mut out = Vec::new();
        names.of(field).write(field, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn a_name_is_the_same_when_it_is_known() {
        static TEXT: Field = Field::new("text", "Text", Kind::Text);
        static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);
        static LONG: Field = Field::new("a_name_that_takes_much_more_room", "", Kind::Text);
        let names = &mut Names::default();
        for _ in 0..2 {
            assert_eq!(written(names, &TEXT), ",\"text\":\"");
            assert_eq!(written(names, &NUMBER), ",\"number\":");
            assert_eq!(written(names, &LONG), ",\"a_name_that_takes_much_more_room\":\"");
        }
    }

    #[test]
    fn a_word_behind_a_name() {
        static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);
        static LONG: Field = Field::new("a_name_that_takes_much_more_room", "", Kind::Unsigned);
        let names = &mut Names::default();
        for field in [&NUMBER, &LONG] {
            let mut out = Vec::new();
            names.of(field).write_word(field, *b"12345678", 3, &mut out);
            assert_eq!(out, format!(",\"{}\":123", field.name).into_bytes());
        }
    }

    #[test]
    fn a_short_text_behind_its_name() {
        static TEXT: Field = Field::new("text", "Text", Kind::Text);
        static FULL: Field = Field::new("a_name_that_leaves_no_room", "", Kind::Text);
        let (names, bytes) = (&mut Names::default(), [b'a'; 60]);
        for (field, length) in [&TEXT, &FULL].into_iter().flat_map(|f| (0..50).map(move |n| (f, n)))
        {
            let mut out = b"{".to_vec();
            let is_written =
                names.of(field).write_short(Among { bytes: &bytes, start: 1, length }, &mut out);
            let expected = format!("{{,\"{}\":\"{}\"", field.name, "a".repeat(length));
            assert_eq!(is_written, length <= 2 * CHUNK);
            assert_eq!(out, if is_written { expected.into_bytes() } else { b"{".to_vec() });
        }
    }

    #[test]
    fn what_is_not_written_at_once_leaves_nothing() {
        static TEXT: Field = Field::new("text", "Text", Kind::Text);
        static LONG: Field = Field::new("a_name_that_takes_much_more_room", "", Kind::Text);
        let (names, mut out) = (&mut Names::default(), Vec::new());
        for (field, bytes) in [(&TEXT, [b'"'; 40]), (&TEXT, [0xC3; 40]), (&LONG, [b'a'; 40])] {
            for length in 1..40 {
                let text = Among { bytes: &bytes, start: 0, length };
                assert!(!names.of(field).write_short(text, &mut out));
            }
        }
        let at_the_end = Among { bytes: b"abc", start: 0, length: 3 };
        assert!(!names.of(&TEXT).write_short(at_the_end, &mut out));
        assert!(out.is_empty());
    }

    #[test]
    fn two_fields_at_one_place_take_turns() {
        let field = |n: usize| Field::new(n.to_string().leak(), "", Kind::Flag);
        let fields: &'static [Field] = (0..2 * Names::PLACES).map(field).collect::<Vec<_>>().leak();
        let names = &mut Names::default();
        for field in fields.iter().chain(fields) {
            assert_eq!(written(names, field), format!(",\"{}\":", field.name));
        }
    }
}

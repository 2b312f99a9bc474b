//! Names of fields as they stand in JSON, put together once for each field.
//!
//! It knows names and kinds, and refuses to know values.

use std::ptr;

use dissectors::kit::{Field, Kind};

use super::keys::mask;
use super::write::{CHUNK, beginning, is_plain};

/// What a name takes with its comma, quotes and colon; a longer one is put together each time.
const ROOM: usize = 31;

/// A name, a short text and the quote behind it.
const WINDOW: usize = ROOM + 2 * CHUNK + 1;

/// A cache of one name per place; a field's place is told by its address.
pub(super) struct Names {
    places: Box<[Name; Names::PLACES]>,
}

/// One name.
#[derive(Clone, Copy)]
pub(super) struct Name {
    field: Option<&'static Field>,
    /// `,"name":`, and the quote that opens the value where the field's kind has one.
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

    /// Appends the name and, between quotes, the text that the first `length` bytes of `from` are:
    /// mostly at once, as the text is short and has nothing to escape.
    #[inline]
    pub(super) fn write_with(&self, field: &Field, from: &[u8], length: usize, out: &mut Vec<u8>) {
        let is_written = if length <= CHUNK {
            self.write_window::<CHUNK>(from, length, out)
        } else {
            self.write_window::<{ 2 * CHUNK }>(from, length, out)
        };
        if !is_written {
            self.write_in_turn(field, from, length, out);
        }
    }

    /// Appends a whole window, of which the last bytes are too much, if the text allows.
    #[inline(always)]
    fn write_window<const N: usize>(&self, from: &[u8], length: usize, out: &mut Vec<u8>) -> bool {
        let Some(chunk) = from.first_chunk::<N>() else { return false };
        if length > N || !is_plain(chunk, length) || self.length == 0 {
            return false;
        }
        let start = out.len();
        out.extend_from_slice(&self.text);
        let Some(window) = out.last_chunk_mut::<WINDOW>() else { return false };
        let (_, value) = window.split_at_mut(self.length % (ROOM + 1));
        if let Some(place) = value.first_chunk_mut::<N>() {
            *place = *chunk;
        }
        if let Some(quote) = value.get_mut(length) {
            *quote = b'"';
        }
        out.truncate(start + self.length + length + 1);
        true
    }

    #[inline(never)]
    fn write_in_turn(&self, field: &Field, from: &[u8], length: usize, out: &mut Vec<u8>) {
        self.write(field, out);
        beginning(out, from, length);
        out.push(b'"');
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
    out.extend_from_slice(b",\"");
    out.extend_from_slice(field.name.as_bytes());
    out.extend_from_slice(b"\":");
    if is_quoted(field.kind) {
        out.push(b'"');
    }
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
    fn a_text_is_the_same_beside_its_name() {
        static TEXT: Field = Field::new("text", "Text", Kind::Text);
        static LONG: Field = Field::new("a_name_that_takes_much_more_room", "", Kind::Text);
        static FULL: Field = Field::new("a_name_that_leaves_no_room", "", Kind::Text);
        let names = &mut Names::default();
        for (field, length) in
            [&TEXT, &LONG, &FULL].into_iter().flat_map(|f| (0..50).map(move |n| (f, n)))
        {
            for from in [[b'a'; 60], [b'\\'; 60]] {
                for from in [from.as_slice(), from.get(..length).unwrap_or_default()] {
                    let (mut at_once, mut in_turn) = (Vec::new(), Vec::new());
                    names.of(field).write_with(field, from, length, &mut at_once);
                    names.of(field).write(field, &mut in_turn);
                    beginning(&mut in_turn, from, length);
                    in_turn.push(b'"');
                    assert_eq!(at_once, in_turn);
                }
            }
        }
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

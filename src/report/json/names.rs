//! Names of fields in their JSON form, cached per field.

use std::ptr;

use dissectors::kit::{Field, Kind};

/// Maximum length of a name with its quotes and colon; a longer one is not cached.
pub(super) const ROOM: usize = 31;

/// A cache with one name per slot; a field's slot is determined by its address.
pub(super) struct JsonNames {
    places: Box<[JsonName; JsonNames::PLACES]>,
}

/// One name.
#[derive(Clone, Copy)]
pub(super) struct JsonName {
    field: Option<&'static Field>,
    /// `"name":`, and the quote that opens the value where the field's kind has one.
    text: [u8; ROOM + 1],
    /// The length of the text; 0 if it has no room.
    length: usize,
    /// See [`mask`].
    pub(super) mask: u64,
}

impl Default for JsonNames {
    fn default() -> JsonNames {
        JsonNames { places: Box::new([JsonName::NONE; JsonNames::PLACES]) }
    }
}

impl JsonNames {
    /// All protocols have fewer fields.
    const PLACES: usize = 512;

    /// The name of a field.
    #[inline]
    pub(super) fn of(&mut self, field: &'static Field) -> &JsonName {
        let at = ptr::from_ref(field).addr() / align_of::<Field>() % JsonNames::PLACES;
        let name = &mut self.places[at];
        if !name.field.is_some_and(|known| ptr::eq(known, field)) {
            name.become_of(field);
        }
        name
    }
}

impl JsonName {
    const NONE: JsonName = JsonName { field: None, text: [0; ROOM + 1], length: 0, mask: 0 };

    /// Appends the name, up to the beginning of the value.
    #[inline]
    pub(super) fn write(&self, field: &Field, out: &mut Vec<u8>) {
        if self.length == 0 {
            return long(field, out);
        }
        let end = out.len() + self.length;
        out.extend_from_slice(&self.text);
        out.truncate(end);
    }

    /// The name in the form of [`JsonName::write`], padded, and its length; `None` if it is too long.
    #[inline(always)]
    pub(super) fn text(&self) -> Option<([u8; ROOM + 1], usize)> {
        let length = self.length % (ROOM + 1);
        (length > 0).then_some((self.text, length))
    }

    #[cold]
    fn become_of(&mut self, field: &'static Field) {
        let mut text = Vec::with_capacity(ROOM + 1);
        long(field, &mut text);
        let length = text.len();
        text.resize(length.max(ROOM + 1), 0);
        *self =
            JsonName { field: Some(field), mask: mask(field.name.as_bytes()), ..JsonName::NONE };
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

/// One bit of 64 for a name: names without a common bit differ.
fn mask(name: &[u8]) -> u64 {
    /// Chosen so that in the objects with most fields, the descriptions of servers, each name has
    /// its own bit.
    const BEGINNING: u64 = 69_016;
    let hash = name.iter().fold(BEGINNING, |hash, &byte| {
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

    fn written(names: &mut JsonNames, field: &'static Field) -> String {
        let mut out = Vec::new();
        names.of(field).write(field, &mut out);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn a_name_is_the_same_when_it_is_known() {
        static TEXT: Field = Field::new("text", "Text", Kind::Text);
        static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);
        static LONG: Field = Field::new("a_name_that_takes_much_more_room", "", Kind::Text);
        let names = &mut JsonNames::default();
        for _ in 0..2 {
            assert_eq!(written(names, &TEXT), "\"text\":\"");
            assert_eq!(written(names, &NUMBER), "\"number\":");
            assert_eq!(written(names, &LONG), "\"a_name_that_takes_much_more_room\":\"");
        }
    }

    #[test]
    fn fields_about_servers_have_a_bit_each() {
        let both = ["name", "map", "folder", "game", "players", "max_players", "bots", "protocol"];
        let both = [&both[..], &["server_type", "environment", "visibility", "vac"]].concat();
        let source = ["app_id", "mode", "witnesses", "duration", "version", "edf", "port"];
        let source = [&source[..], &["steam_id", "sourcetv_port", "sourcetv_name"]].concat();
        let goldsrc = ["address", "mod", "link", "download_link", "mod_version", "mod_size"];
        for names in [
            [&both[..], &source, &["keywords", "game_id"]].concat(),
            [&both[..], &goldsrc, &["mod_type", "mod_dll"]].concat(),
        ] {
            let bits = names.iter().fold(0, |bits, name| bits | mask(name.as_bytes()));
            assert_eq!(bits.count_ones() as usize, names.len());
        }
    }

    #[test]
    fn the_text_of_a_name_is_written() {
        static FULL: Field = Field::new("a_name_that_fills_it_all____", "", Kind::Flag);
        static LONG: Field = Field::new("a_name_that_does_not_fit_____", "", Kind::Flag);
        let names = &mut JsonNames::default();
        let text = names.of(&FULL).text().map(|(text, length)| text[..length].to_vec());
        assert_eq!(text, Some(written(names, &FULL).into_bytes()));
        assert_eq!(names.of(&LONG).text(), None);
    }

    #[test]
    fn two_fields_at_one_place_take_turns() {
        let field = |n: usize| Field::new(n.to_string().leak(), "", Kind::Flag);
        let fields: &'static [Field] =
            (0..2 * JsonNames::PLACES).map(field).collect::<Vec<_>>().leak();
        let names = &mut JsonNames::default();
        for field in fields.iter().chain(fields) {
            assert_eq!(written(names, field), format!("\"{}\":", field.name));
        }
    }
}

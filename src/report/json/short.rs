//! Fast path for members with a short value, which most have.
//!
//! They are written into a fixed window that has room for the longest, without further checks.

use std::net::SocketAddrV4;

use dissectors::kit::{Kind, Node};

use super::names::{JsonName, ROOM, is_quoted};
use super::write::{CHUNK, is_plain, is_usual, short_float, short_ip4};
use crate::report::digits::put;
use crate::report::view::MessageView;

/// Maximum length of a short text.
const SHORT: usize = 2 * CHUNK;

/// A short value, with the characters after it.
const VALUE: usize = SHORT + 2;

/// A member and its comma.
pub(super) const WINDOW: usize = ROOM + VALUE;

/// Writes a member and the comma after it at the start of a window, if its value is short and needs
/// no escapes. Returns their length.
#[inline(always)]
pub(super) fn member(
    name: &JsonName,
    view: MessageView<'_>,
    node: &Node,
    window: &mut [u8; WINDOW],
) -> Option<usize> {
    let (text, start) = name.text()?;
    *window.first_chunk_mut()? = text;
    let value = window.get_mut(start..)?.first_chunk_mut::<VALUE>()?;
    Some(start + short(view, node, value)?)
}

/// A value of a list, with the quote that opens a string, and its comma.
pub(super) const ITEM: usize = 1 + VALUE;

/// Writes a value and the comma after it at the start of a window, if it is short and needs no
/// escapes. Returns their length.
#[inline(always)]
pub(super) fn item(view: MessageView<'_>, node: &Node, window: &mut [u8; ITEM]) -> Option<usize> {
    let start = usize::from(is_quoted(node.field.kind));
    // Overwritten by a number.
    *window.first_mut()? = b'"';
    let value = window.get_mut(start..)?.first_chunk_mut()?;
    let length = match node.field.kind {
        Kind::Endpoint => short_endpoint(node.endpoint(), value)?,
        _ => short(view, node, value)?,
    };
    Some(start + length)
}

/// An address and a port, the quote and the comma after them.
fn short_endpoint(endpoint: SocketAddrV4, value: &mut [u8; VALUE]) -> Option<usize> {
    let length = short_ip4(value, endpoint)?;
    *value.get_mut(length..)?.first_chunk_mut()? = *b"\",";
    Some(length + 2)
}

/// Copies whole chunks; surplus bytes are overwritten later.
#[inline(always)]
fn short(view: MessageView<'_>, node: &Node, value: &mut [u8; VALUE]) -> Option<usize> {
    let length = match node.field.kind {
        Kind::Text => {
            let text = view.text_among(node);
            let chunk = text.chunk::<SHORT>()?;
            if text.length > SHORT {
                return None;
            }
            if !is_plain(chunk, text.length) && !is_usual(chunk, text.length) {
                return None;
            }
            *value.first_chunk_mut()? = *chunk;
            *value.get_mut(text.length)? = b'"';
            text.length + 1
        }
        Kind::Unsigned => put(value, node.value)?,
        Kind::Signed => put(value, node.value as i64)?,
        Kind::Float => short_float(value, f32::from_bits(node.value as u32))?,
        _ => return None,
    };
    *value.get_mut(length)? = b',';
    Some(length + 1)
}

#[cfg(test)]
mod tests {
    use dissectors::kit::{Field, Sink, Span, TextPlace, Tree};

    use super::super::names::JsonNames;
    use super::*;

    static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);
    static SIGNED: Field = Field::new("signed", "Signed", Kind::Signed);
    static FLOAT: Field = Field::new("float", "Float", Kind::Float);
    static TEXT: Field = Field::new("text", "Text", Kind::Text);
    static FULL: Field = Field::new("a_name_that_leaves_no_room", "", Kind::Text);
    static LONG: Field = Field::new("a_name_that_takes_much_more_room", "", Kind::Text);

    fn written(field: &'static Field, value: u64, payload: &[u8]) -> Option<String> {
        let (mut tree, mut window) = (Tree::default(), [b'!'; WINDOW]);
        tree.leaf(field, Span::default(), value);
        let view = MessageView { tree: tree.view(), payload, lost: false };
        let length = member(JsonNames::default().of(field), view, &tree.nodes()[0], &mut window)?;
        Some(String::from_utf8_lossy(&window[..length]).into_owned())
    }

    fn text(field: &'static Field, payload: &[u8], length: usize) -> Option<String> {
        written(field, TextPlace::at(Span::new(1, 1 + length)).value(), payload)
    }

    #[test]
    fn a_short_text_after_its_name() {
        for (field, length) in [&TEXT, &FULL].into_iter().flat_map(|f| (0..50).map(move |n| (f, n)))
        {
            let expected = format!("\"{}\":\"{}\",", field.name, "a".repeat(length));
            let expected = (length <= SHORT).then_some(expected);
            assert_eq!(text(field, &[b'a'; 60], length), expected);
        }
    }

    #[test]
    fn a_text_that_takes_a_closer_look_is_not_written_at_once() {
        for special in [b'"', b'\\', 0, 0x1F, 0x7F, 0x80, 0xC3, 0xFE, 0xFF] {
            for (length, at) in
                (1..=SHORT).flat_map(|length| (0..SHORT).map(move |at| (length, at)))
            {
                let mut bytes = [b'a'; 40];
                bytes[1 + at] = special;
                assert_eq!(text(&TEXT, &bytes, length).is_none(), at < length);
            }
        }
        assert_eq!(text(&LONG, &[b'a'; 60], 3), None);
        let usual = text(&TEXT, "-日本-a text after it that is longer".as_bytes(), 7);
        assert_eq!(usual.as_deref(), Some("\"text\":\"日本-\","));
        assert_eq!(text(&TEXT, "-日本-a text after it that is longer".as_bytes(), 5), None);
        assert_eq!(text(&TEXT, "-\u{202E}-a text after it that is longer".as_bytes(), 4), None);
        assert_eq!(text(&TEXT, b"abcd", 3), None, "nothing to read after it");
    }

    #[test]
    fn numbers_after_their_names() {
        assert_eq!(written(&NUMBER, 123, b"").as_deref(), Some("\"number\":123,"));
        assert_eq!(written(&NUMBER, 99_999_999, b"").as_deref(), Some("\"number\":99999999,"));
        let longest = "\"number\":18446744073709551615,";
        assert_eq!(written(&NUMBER, u64::MAX, b"").as_deref(), Some(longest));
        assert_eq!(written(&SIGNED, -7_i64 as u64, b"").as_deref(), Some("\"signed\":-7,"));
        let float = |value: f32| written(&FLOAT, value.to_bits().into(), b"");
        assert_eq!(float(12.5).as_deref(), Some("\"float\":12.5,"));
        assert_eq!(float(-f32::MIN_POSITIVE).as_deref(), Some("\"float\":-1.1754944e-38,"));
        assert_eq!((float(f32::NAN), float(f32::INFINITY)), (None, None));
    }
}

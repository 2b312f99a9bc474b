//! Values as text.

use dissectors::kit::{Kind, Node, Place};

use crate::message::Value;
use crate::report::put;
use crate::report::view::MessageView;
use crate::text::{escaped, guessed};

/// Maximum number of characters of a text, and of bytes in hex.
#[derive(Clone, Copy)]
struct ValueLimits {
    characters: usize,
    bytes: usize,
    /// A text that is not UTF-8 is read as Windows-1252, if it can be, and backslashes are not escaped; otherwise different
    /// texts are shown differently.
    readable: bool,
}

const BRIEF: ValueLimits = ValueLimits { characters: 64, bytes: 16, readable: true };
const FULL: ValueLimits = ValueLimits { characters: 1024, bytes: 64, readable: false };

/// The value in a summary: a long one is cut, and a float has one digit after the point.
pub(super) fn brief(view: MessageView<'_>, at: usize, node: &Node, out: &mut Vec<u8>) {
    let float = f32::from_bits(node.value as u32);
    match node.field.kind {
        Kind::Float if float.abs() < 1e9 => put(out, format_args!("{float:.1}")),
        _ => value(view, at, node, BRIEF, out),
    }
}

/// The value with as many digits and characters as useful.
pub(super) fn full(view: MessageView<'_>, at: usize, node: &Node, out: &mut Vec<u8>) {
    value(view, at, node, FULL, out);
}

fn value(view: MessageView<'_>, at: usize, node: &Node, most: ValueLimits, out: &mut Vec<u8>) {
    match node.field.kind {
        Kind::Unsigned | Kind::Id => put(out, format_args!("{}", node.value)),
        Kind::Signed => put(out, format_args!("{}", node.value as i64)),
        Kind::Float => {
            put(out, format_args!("{}", Value::Float(f32::from_bits(node.value as u32))))
        }
        Kind::Flag => put(out, format_args!("{}", node.value != 0)),
        Kind::Char => match node.value as u8 {
            c @ 0x20..=0x7E => put(out, format_args!("'{}'", char::from(c))),
            c => put(out, format_args!("0x{c:02X}")),
        },
        Kind::Name => match view.meaning(at) {
            Some(text) => meaning(&text, out),
            None => put(out, format_args!("{}", node.value)),
        },
        Kind::Text => match guessed(view.text(node)).filter(|_| most.readable) {
            Some((read, encoding)) => {
                text(read.as_bytes(), most, out);
                out.extend_from_slice(encoding.as_bytes());
            }
            None => text(view.text(node), most, out),
        },
        Kind::Bytes => bytes(view.bytes(node), most.bytes, out),
        Kind::Endpoint => put(out, format_args!("{}", node.endpoint())),
        Kind::Endpoint6 => match node.endpoint6(view.payload) {
            Some(endpoint) => put(out, format_args!("{endpoint}")),
            None => bytes(view.bytes(node), most.bytes, out),
        },
        Kind::List | Kind::Map => {
            let shown = view.children(Some(at)).filter(|(_, n)| n.field.place != Place::Framing);
            put(out, format_args!("{}", shown.count()));
        }
        Kind::Pair => pair(view, at, most, out),
        Kind::Group => {}
    }
}

fn pair(view: MessageView<'_>, at: usize, most: ValueLimits, out: &mut Vec<u8>) {
    let Some((key, value_at)) = view.pair(at) else { return };
    text(view.text_at(key), most, out);
    if let Some((at, node)) = value_at.and_then(|at| Some((at, view.node(at)?))) {
        out.extend_from_slice(b" = ");
        value(view, at, node, most, out);
    }
}

/// A text, in quotes unless it is a plain word. Only in quotes are there escapes.
fn text(text: &[u8], most: ValueLimits, out: &mut Vec<u8>) {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.:/\\+@%*".contains(byte);
    if !text.is_empty() && text.len() <= most.characters && text.iter().all(is_plain) {
        out.extend_from_slice(text);
        return;
    }
    out.push(b'"');
    let cut = letters(text, most, out);
    out.extend_from_slice(if cut { b"\"..." } else { b"\"" });
}

/// The first characters of a text, escaped. Returns whether there are more.
fn letters(text: &[u8], most: ValueLimits, out: &mut Vec<u8>) -> bool {
    let mut left = most.characters;
    for chunk in text.utf8_chunks() {
        let valid = chunk.valid();
        let end = valid.char_indices().nth(left).map_or(valid.len(), |(end, _)| end);
        let (shown, more) = valid.split_at(end);
        for part in shown.split_inclusive(['"', '\\']) {
            let plain = part.strip_suffix(['"', '\\']).unwrap_or(part);
            out.extend_from_slice(escaped(plain).as_bytes());
            out.extend_from_slice(match part.as_bytes().last() {
                Some(b'"') => br"\x22",
                Some(b'\\') if most.readable => br"\",
                Some(b'\\') => br"\\",
                _ => b"",
            });
        }
        left -= shown.chars().count();
        if !more.is_empty() || left == 0 && !chunk.invalid().is_empty() {
            return true;
        }
        for byte in chunk.invalid() {
            put(out, format_args!("\\x{byte:02X}"));
        }
        left = left.saturating_sub(1);
    }
    false
}

/// The meaning of a value, cut if it is long.
pub(super) fn meaning(meaning: &str, out: &mut Vec<u8>) {
    if letters(meaning.as_bytes(), ValueLimits { readable: true, ..FULL }, out) {
        out.extend_from_slice(b"...");
    }
}

/// Bytes in hex, up to a maximum, and their number.
fn bytes(bytes: &[u8], most: usize, out: &mut Vec<u8>) {
    for (index, byte) in bytes.iter().take(most).enumerate() {
        let space = if index > 0 { " " } else { "" };
        put(out, format_args!("{space}{byte:02x}"));
    }
    if bytes.len() > most {
        put(out, format_args!("... ({} bytes)", bytes.len()));
    }
}

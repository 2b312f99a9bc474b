//! What masters say in their own words.

use dissectors::kit::Kind;

use crate::session::{MessageEvent, Value};
use crate::text::decoded;

/// The text of a message: its words, and the values of its properties.
pub(in crate::diagnose) fn words(event: &MessageEvent<'_>) -> Option<String> {
    let pairs = event.pairs("properties").into_iter().map(|(_, value)| value);
    let text = event.field("words").into_iter().chain(pairs).filter_map(|value| match value {
        Value::Text(text) if !text.is_empty() => Some(decoded(text)),
        _ => None,
    });
    let text = readable(&Vec::from_iter(text).join(" "));
    (!text.is_empty()).then_some(text)
}

/// The first text after the headers, up to a maximum length; none if it is a word of the protocol, whole or cut, or
/// not in UTF-8, as a compressed body is not.
pub(in crate::diagnose) fn text_after_headers(event: &MessageEvent<'_>) -> Option<String> {
    let (tree, payload, id) = (event.tree()?, event.payload(), event.context().protocol?);
    let nodes = Vec::from_iter(tree.children(None).map(|(_, node)| node));
    let after = nodes.rsplit(|node| node.field.kind == Kind::Pair).next()?;
    let texts = after.iter().filter(|node| node.field.kind == Kind::Text);
    let mut texts = texts.map(|node| tree.bytes(node, payload.bytes));
    // Without headers, the version of HTTP and the reason come first.
    let text = texts.next().filter(|text| !text.starts_with(b"HTTP/"));
    let text = text.or_else(|| texts.nth(1))?;
    std::str::from_utf8(text).ok().filter(|_| !id.begins_known_word(text)).map(readable)
}

/// A text without control characters, up to a maximum length.
fn readable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(256).collect()
}

/// Where a message redirects its reader to.
pub(in crate::diagnose) fn redirected_to(event: &MessageEvent<'_>) -> Option<String> {
    header(event, b"location").map(|address| readable(&address))
}

/// The value of a header.
fn header(event: &MessageEvent<'_>, wanted: &[u8]) -> Option<String> {
    let (tree, payload) = (event.tree()?, event.payload());
    let pairs = tree.children(None).filter(|(_, node)| node.field.kind == Kind::Pair);
    let mut pairs = pairs.filter_map(|(at, _)| {
        let (key, value) = tree.pair_nodes(at)?;
        let bytes = |at: usize| Some(tree.bytes(tree.nodes.get(at)?, payload.bytes));
        Some((bytes(key)?, bytes(value?)?))
    });
    let found = pairs.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.map(|(_, value)| String::from_utf8_lossy(value).into_owned())
}

//! The summary of a message, from its template and the tree.

use dissectors::kit::{Kind, Node, Place};

use super::value;
use crate::message::MessageRef;
use crate::report::put;
use crate::report::view::MessageView;

/// Fills a template: `{field}` is a field's value, `{field=}` its meaning. `{field#}` is the number
/// of its elements, or a number itself, `{field# server}` the same with its noun, whose plural may
/// follow a `/`. `{field?text}` is the text, if the field is not 0, `{field!text}` if it is 0. The part
/// in `[ ]` is left out if a field in it is absent. Elsewhere an absent field is `?`.
pub(super) fn write(m: &MessageRef<'_>, view: MessageView<'_>, out: &mut Vec<u8>) {
    let template = m.kind.map_or("", |kind| kind.summary);
    let mut rest = template;
    while let Some((before, from)) = rest.split_once('[') {
        let (option, after) = from.split_once(']').unwrap_or((from, ""));
        fill(before, view, out);
        let start = out.len();
        if !fill(option, view, out) {
            out.truncate(start);
        }
        rest = after;
    }
    fill(rest, view, out);
}

/// Returns whether every field was present.
fn fill(template: &str, view: MessageView<'_>, out: &mut Vec<u8>) -> bool {
    let (mut rest, mut whole) = (template, true);
    while let Some((before, from)) = rest.split_once('{') {
        let (name, after) = from.split_once('}').unwrap_or((from, ""));
        out.extend_from_slice(before.as_bytes());
        if !field(name, view, out) {
            out.push(b'?');
            whole = false;
        }
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
    whole
}

/// How a field is shown.
enum FieldStyle<'a> {
    Value,
    Meaning,
    Count(&'a str),
    /// The text if the field is not 0, or if it is.
    Flag(bool, &'a str),
}

fn field(name: &str, view: MessageView<'_>, out: &mut Vec<u8>) -> bool {
    let (name, shows) = if let Some((name, noun)) = name.split_once('#') {
        (name, FieldStyle::Count(noun.trim_start()))
    } else if let Some((name, text)) = name.split_once('?') {
        (name, FieldStyle::Flag(true, text))
    } else if let Some((name, text)) = name.split_once('!') {
        (name, FieldStyle::Flag(false, text))
    } else if let Some(name) = name.strip_suffix('=') {
        (name, FieldStyle::Meaning)
    } else {
        (name, FieldStyle::Value)
    };
    let Some((at, node)) = named(name, view).or_else(|| keyed(name, view)) else { return false };
    match shows {
        FieldStyle::Value => value::brief(view, at, node, out),
        FieldStyle::Meaning => match view.meaning(at) {
            Some(text) => value::meaning(&text, out),
            None => value::brief(view, at, node, out),
        },
        // The length of a list, or the number itself.
        FieldStyle::Count(noun) if node.field.kind == Kind::Unsigned => {
            count(usize::try_from(node.value).unwrap_or(usize::MAX), noun, out);
        }
        FieldStyle::Count(noun) => {
            let shown = view.children(Some(at)).filter(|(_, n)| n.field.place != Place::Framing);
            count(shown.count(), noun, out);
        }
        FieldStyle::Flag(is_set, _) if is_set != (node.value != 0) => return false,
        FieldStyle::Flag(_, text) => out.extend_from_slice(text.as_bytes()),
    }
    true
}

/// `3`, `1 server`, `2 servers`, `0 properties`.
fn count(count: usize, noun: &str, out: &mut Vec<u8>) {
    put(out, format_args!("{count}"));
    if noun.is_empty() {
        return;
    }
    let (one, many) = noun.split_once('/').unwrap_or((noun, ""));
    match (count, many) {
        (1, _) => put(out, format_args!(" {one}")),
        (_, "") => put(out, format_args!(" {one}s")),
        (_, many) => put(out, format_args!(" {many}")),
    }
}

/// The first outermost field with this name.
fn named<'a>(name: &str, view: MessageView<'a>) -> Option<(usize, &'a Node)> {
    if let Some(found) = view.children(None).find(|(_, node)| node.field.name == name) {
        return Some(found);
    }
    let nodes = view.tree.nodes.iter().enumerate();
    nodes.filter(|(_, node)| node.field.name == name).min_by_key(|(_, node)| node.depth)
}

/// The value of the first pair with this key.
fn keyed<'a>(name: &str, view: MessageView<'a>) -> Option<(usize, &'a Node)> {
    let nodes = view.tree.nodes.iter().enumerate();
    let mut pairs = nodes.filter(|(_, node)| node.field.kind == Kind::Pair);
    let value = pairs.find_map(|(at, _)| {
        let (key, value) = view.pair(at)?;
        (view.text_at(key) == name.as_bytes()).then_some(value?)
    })?;
    Some((value, view.node(value)?))
}

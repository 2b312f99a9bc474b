//! The summary of a message: its template, filled from the tree.

use dissectors::kit::{Kind, Node, Place};

use super::value;
use crate::report::put;
use crate::report::view::View;

/// Fills a template: `{field}` is a field's value, `{field#}` how many there are below it, and what
/// stands in `[ ]` is left out where a field in it is absent. Elsewhere an absent field is `?`.
pub(super) fn write(template: &str, view: View<'_>, out: &mut Vec<u8>) {
    let mut rest = template;
    while let Some((before, from)) = rest.split_once('[') {
        let (option, behind) = from.split_once(']').unwrap_or((from, ""));
        fill(before, view, out);
        let start = out.len();
        if !fill(option, view, out) {
            out.truncate(start);
        }
        rest = behind;
    }
    fill(rest, view, out);
}

/// Whether every field was there.
fn fill(template: &str, view: View<'_>, out: &mut Vec<u8>) -> bool {
    let (mut rest, mut whole) = (template, true);
    while let Some((before, from)) = rest.split_once('{') {
        let (name, behind) = from.split_once('}').unwrap_or((from, ""));
        out.extend_from_slice(before.as_bytes());
        if !field(name, view, out) {
            out.push(b'?');
            whole = false;
        }
        rest = behind;
    }
    out.extend_from_slice(rest.as_bytes());
    whole
}

fn field(name: &str, view: View<'_>, out: &mut Vec<u8>) -> bool {
    let (name, counts) = name.strip_suffix('#').map_or((name, false), |name| (name, true));
    let Some((at, node)) = named(name, view).or_else(|| keyed(name, view)) else { return false };
    if counts {
        let shown = view.children(Some(at)).filter(|(_, n)| n.field.place != Place::Framing);
        put(out, format_args!("{}", shown.count()));
    } else {
        value::brief(view, at, node, out);
    }
    true
}

/// The outermost field of this name, and the first of those.
fn named<'a>(name: &str, view: View<'a>) -> Option<(usize, &'a Node)> {
    if let Some(found) = view.children(None).find(|(_, node)| node.field.name == name) {
        return Some(found);
    }
    let nodes = view.tree.nodes().iter().enumerate();
    nodes.filter(|(_, node)| node.field.name == name).min_by_key(|(_, node)| node.depth)
}

/// The value of the first pair whose key the wire spells so.
fn keyed<'a>(name: &str, view: View<'a>) -> Option<(usize, &'a Node)> {
    let nodes = view.tree.nodes().iter().enumerate();
    let mut pairs = nodes.filter(|(_, node)| node.field.kind == Kind::Pair);
    let value = pairs.find_map(|(at, _)| {
        let (key, value) = view.pair(at)?;
        (view.text_at(key) == name.as_bytes()).then_some(value?)
    })?;
    Some((value, view.node(value)?))
}

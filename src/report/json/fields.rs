//! Writes `fields` from the tree: objects, arrays and scalars, by the kind of each field.

use std::net::SocketAddrV6;

use dissectors::kit::{Field, Kind, Node, Place};

use super::keys::{Keys, Member};
use super::names::{JsonNames, is_quoted};
use super::rows::{RowPage, RowShape, write_values};
use super::short::{WINDOW, member};
use super::write::{character, float, hex, ip4, signed, string, string_among};
use crate::report::digits::unsigned;
use crate::report::put;
use crate::report::view::MessageView;

/// The keys of the envelope.
const ENVELOPE: [&str; 16] = [
    "capture",
    "frame",
    "frames",
    "time",
    "flow",
    "transport",
    "src",
    "dst",
    "protocol",
    "message",
    "via",
    "fields",
    "tree",
    "fields_left_out",
    "findings",
    "findings_left_out",
];

/// Buffers that are reused between messages.
#[derive(Default)]
pub(super) struct Scratch {
    /// Names as they are written.
    names: JsonNames,
    /// Rows of lists.
    page: RowPage,
    /// The names of the fields next to the current pairs.
    taken: Vec<&'static str>,
    /// The pairs of the current object.
    keys: Keys,
}

/// One message while it is written.
pub(super) struct Projection<'a> {
    pub(super) view: MessageView<'a>,
    /// Buffers for reuse.
    pub(super) scratch: &'a mut Scratch,
    /// The line: owned, so that access to its length needs no indirection.
    pub(super) out: Vec<u8>,
    /// There is a field next to `fields`.
    pub(super) has_beside: bool,
}

/// The nodes of an object or a list.
#[derive(Clone, Copy)]
struct NodeGroup {
    /// The first node below it.
    start: usize,
    /// One after the last one.
    end: usize,
    /// The kinds of places that it shows.
    shown: ShownFields,
}

impl NodeGroup {
    /// The nodes below this one.
    #[inline]
    fn at(at: usize, node: &Node) -> NodeGroup {
        let start = at + 1;
        NodeGroup {
            start,
            end: start + node.descendants as usize,
            shown: ShownFields::UNLESS_FRAMING,
        }
    }

    /// The node that it is below; none for `fields` itself.
    fn node(self) -> Option<usize> {
        self.start.checked_sub(1)
    }
}

/// The fields to show, by their place.
#[derive(Clone, Copy)]
struct ShownFields(u8);

impl ShownFields {
    const FIELDS: ShownFields = ShownFields(1 << Place::Fields as u8);
    const UNLESS_FRAMING: ShownFields =
        ShownFields(ShownFields::FIELDS.0 | 1 << Place::Beside as u8);

    #[inline]
    fn has(self, field: &Field) -> bool {
        self.0 >> field.place as u8 & 1 == 1
    }
}

impl Projection<'_> {
    /// `,"fields":{...}`
    pub(super) fn fields(&mut self) {
        self.out.extend_from_slice(b",\"fields\":");
        self.object_of_fields();
    }

    /// `{...}`
    pub(super) fn object_of_fields(&mut self) {
        let end = self.view.tree.nodes.len();
        self.object(NodeGroup { start: 0, end, shown: ShownFields::FIELDS });
    }

    /// `,"split":{...}`: fields with their own member next to `fields`.
    #[inline(never)]
    pub(super) fn beside(&mut self) {
        let view = self.view;
        let is_beside = |field: &Field| field.place == Place::Beside && field.kind != Kind::Pair;
        for (at, node) in view.children(None).filter(|(_, node)| is_beside(node.field)) {
            let name = node.field.name;
            let before = view.children(None).take_while(|&(before, _)| before < at);
            let mut names = before.map(|(_, n)| n.field).filter(|field| is_beside(field));
            if ENVELOPE.contains(&name) || names.any(|field| field.name == name) {
                debug_assert!(false, "two keys of a line are named {name}");
                continue;
            }
            self.out.push(b',');
            self.scratch.names.of(node.field).write(node.field, &mut self.out);
            self.inside(at, node);
        }
    }

    /// An object with all its members: the fields directly below a node, or the outermost ones.
    ///
    /// A comma follows each member, and the last one becomes the bracket. Of two fields with one
    /// name the first counts: no dissector declares such fields. Of two pairs with one key the first
    /// counts, and a pair never takes the name of a field.
    fn object(&mut self, object: NodeGroup) {
        let view = self.view;
        let nodes = view.tree.nodes.get(..object.end).unwrap_or_default();
        let (mut next, mut seen, mut has_pairs) = (object.start, 0, false);
        self.out.push(b'{');
        while let Some(node) = nodes.get(next) {
            let (here, field) = (next, node.field);
            next = here + 1 + node.descendants as usize;
            if !object.shown.has(field) {
                self.has_beside |= field.place == Place::Beside;
                continue;
            }
            if field.kind == Kind::Pair {
                has_pairs = true;
                continue;
            }
            let name = self.scratch.names.of(field);
            if seen & name.mask != 0 && is_repeated(view, object, here, field) {
                continue;
            }
            seen |= name.mask;
            let end = self.out.len();
            self.out.extend_from_slice(&[0; WINDOW]);
            let window = self.out.last_chunk_mut();
            let length = window.and_then(|window| member(name, view, node, window));
            self.out.truncate(end + length.unwrap_or(0));
            if length.is_some() {
                continue;
            }
            name.write(field, &mut self.out);
            self.inside(here, node);
            self.out.push(b',');
        }
        if has_pairs {
            self.pairs(object);
        }
        self.close(b'}');
    }

    /// A list: the values of the fields directly below its node.
    fn list(&mut self, at: usize, node: &Node) {
        let nodes = self.view.tree.nodes;
        let list = NodeGroup::at(at, node);
        let nodes = nodes.get(..list.end).unwrap_or_default();
        let mut next = list.start;
        self.out.push(b'[');
        let row = RowShape::first(nodes.get(next..).unwrap_or_default(), &mut self.scratch.names);
        loop {
            let rest = nodes.get(next..).unwrap_or_default();
            let (page, out) = (&mut self.scratch.page, &mut self.out);
            next += match &row {
                Some(row) => row.write_all(rest, self.view, page, out),
                None if rest.first().is_some_and(|node| node.descendants > 0) => 0,
                None => write_values(rest, self.view, page, out),
            };
            let Some(node) = nodes.get(next) else { break };
            let here = next;
            next = here + 1 + node.descendants as usize;
            if !list.shown.has(node.field) {
                continue;
            }
            match node.field.kind {
                Kind::Group => self.object(NodeGroup::at(here, node)),
                _ => self.value(here, node),
            }
            self.out.push(b',');
        }
        self.close(b']');
    }

    /// Replaces the comma after the last member by a bracket, if there is one.
    #[inline]
    fn close(&mut self, bracket: u8) {
        match self.out.last_mut() {
            Some(comma) if *comma == b',' => *comma = bracket,
            _ => self.out.push(bracket),
        }
    }

    /// The members whose keys come from the wire.
    #[inline(never)]
    fn pairs(&mut self, object: NodeGroup) {
        let view = self.view;
        let mut keys = std::mem::take(&mut self.scratch.keys);
        let (base, all) = (self.scratch.taken.len(), view.children(object.node()));
        let shown = all.map(|(_, node)| node.field).filter(|field| object.shown.has(field));
        let names = shown.filter(|field| field.kind != Kind::Pair).map(|field| field.name);
        self.scratch.taken.extend(names);
        for (at, node) in view.children(object.node()) {
            if node.field.kind == Kind::Pair
                && object.shown.has(node.field)
                && let Some((key, value)) = view.pair(at)
                && !view.lacks(value)
            {
                let underscores = self.underscores(base, view.text_at(key));
                keys.insert(Member { key, value, underscores }, |at| view.text_at(at));
            }
        }
        self.scratch.taken.truncate(base);
        for member in keys.members() {
            self.out.push(b'"');
            string(&mut self.out, view.text_at(member.key));
            self.out.resize(self.out.len() + member.underscores, b'_');
            self.out.extend_from_slice(b"\":");
            self.pair_value(member.value);
            self.out.push(b',');
        }
        keys.clear();
        self.scratch.keys = keys;
    }

    /// The number of underscores that distinguish a key from the names of the object's fields.
    fn underscores(&self, base: usize, key: &[u8]) -> usize {
        if !is_one_of(&self.scratch.taken, base, key) {
            return 0;
        }
        let mut key = key.to_vec();
        let length = key.len();
        while is_one_of(&self.scratch.taken, base, &key) {
            key.push(b'_');
        }
        key.len() - length
    }

    fn pair_value(&mut self, at: Option<usize>) {
        match at.and_then(|at| Some((at, self.view.node(at)?))) {
            Some((at, node)) => self.value(at, node),
            None => self.out.extend_from_slice(b"\"\""),
        }
    }

    /// The value of a node as its kind says.
    #[inline]
    pub(super) fn value(&mut self, at: usize, node: &Node) {
        if is_quoted(node.field.kind) {
            self.out.push(b'"');
        }
        self.inside(at, node);
    }

    /// The value of a node, after the quote that opens it if it is a string.
    #[inline(never)]
    fn inside(&mut self, at: usize, node: &Node) {
        let (view, out) = (self.view, &mut self.out);
        match node.field.kind {
            Kind::Text => return text(view, node, out),
            Kind::Unsigned => return unsigned(out, node.value),
            Kind::Signed => return signed(out, node.value as i64),
            Kind::Float => return float(out, f32::from_bits(node.value as u32)),
            Kind::Flag if node.value == 0 => return out.extend_from_slice(b"false"),
            Kind::Flag => return out.extend_from_slice(b"true"),
            Kind::List => return self.list(at, node),
            Kind::Group | Kind::Map => return self.object(NodeGroup::at(at, node)),
            Kind::Pair => return self.pair(at),
            Kind::Endpoint6 => return endpoint6(node.endpoint6(view.payload), out),
            Kind::Id => unsigned(out, node.value),
            Kind::Char => character(out, char::from(node.value as u8)),
            Kind::Bytes => hex(out, view.bytes(node)),
            Kind::Endpoint => ip4(out, node.endpoint()),
            Kind::Name => match view.meaning(at) {
                Some(meaning) => string(out, meaning.as_bytes()),
                None => unsigned(out, node.value),
            },
        }
        out.push(b'"');
    }

    /// A pair that is not a member: an object of its own.
    fn pair(&mut self, at: usize) {
        self.out.push(b'{');
        if let Some((key, value)) = self.view.pair(at) {
            self.out.push(b'"');
            string(&mut self.out, self.view.text_at(key));
            self.out.extend_from_slice(b"\":");
            self.pair_value(value);
        }
        self.out.push(b'}');
    }
}

fn endpoint6(endpoint: Option<SocketAddrV6>, out: &mut Vec<u8>) {
    match endpoint {
        Some(endpoint) => put(out, format_args!("\"{endpoint}\"")),
        None => out.extend_from_slice(b"null"),
    }
}

/// A text and the quote after it.
fn text(view: MessageView<'_>, node: &Node, out: &mut Vec<u8>) {
    string_among(out, view.text_among(node));
    out.push(b'"');
}

/// Whether an earlier field has the name of node `here`.
#[inline(never)]
fn is_repeated(view: MessageView<'_>, object: NodeGroup, here: usize, field: &Field) -> bool {
    let before =
        view.children(object.node()).take_while(|&(at, _)| at < here).map(|(_, node)| node.field);
    let mut shown = before.filter(|field| object.shown.has(field) && field.kind != Kind::Pair);
    let is_repeated = shown.any(|before| before.name == field.name);
    debug_assert!(!is_repeated, "two fields of one object are named {}", field.name);
    is_repeated
}

fn is_one_of(names: &[&str], base: usize, key: &[u8]) -> bool {
    names.iter().skip(base).any(|name| name.as_bytes() == key)
}

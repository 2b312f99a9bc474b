//! From the tree to `fields`: objects, arrays and scalars, by the kind of each field.

use dissectors::kit::{Field, Kind, Node, Place};

use super::keys::{Keys, Member, mask};
use super::write::{character, float, hex, ip4, signed, string, unsigned};
use crate::report::put;
use crate::report::view::{View, endpoint};

/// The keys of the envelope.
const ENVELOPE: [&str; 14] = [
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
];

/// What is reused from message to message.
#[derive(Default)]
pub(super) struct Scratch {
    /// The names written so far, in the objects that are open.
    names: Vec<&'static str>,
    /// The pairs of the object at hand.
    keys: Keys,
}

/// One message on its way into a line.
pub(super) struct Projection<'a> {
    pub(super) view: View<'a>,
    pub(super) scratch: &'a mut Scratch,
    pub(super) out: &'a mut Vec<u8>,
}

impl Projection<'_> {
    /// `,"fields":{...}`
    pub(super) fn fields(&mut self) {
        self.out.extend_from_slice(b",\"fields\":");
        self.object(None, |field| field.place == Place::Fields);
    }

    /// `,"split":{...}`: what stands beside `fields`, under its own name.
    pub(super) fn beside(&mut self) {
        self.scratch.names.extend(ENVELOPE);
        self.members(None, |field| field.place == Place::Beside && field.kind != Kind::Pair, 0);
    }

    fn object(&mut self, at: Option<usize>, takes: fn(&Field) -> bool) {
        self.out.push(b'{');
        self.members(at, takes, self.scratch.names.len());
        self.out.push(b'}');
    }

    /// The nodes below `at` as members of an object, whose names so far stand from `base` on. Of
    /// two fields with one name the first counts: no dissector declares such fields. Of two pairs
    /// with one key the last counts, and a pair never takes the name of a field.
    fn members(&mut self, at: Option<usize>, takes: fn(&Field) -> bool, base: usize) {
        let mut seen = if self.scratch.names.len() > base { u64::MAX } else { 0 };
        let mut has_pairs = false;
        for (at, node) in self.view.children(at) {
            let field = node.field;
            if !takes(field) {
                continue;
            }
            if field.kind == Kind::Pair {
                has_pairs = true;
                continue;
            }
            let name = field.name.as_bytes();
            if seen & mask(name) != 0 && is_one_of(&self.scratch.names, base, name) {
                debug_assert!(false, "two fields of one object are named {}", field.name);
                continue;
            }
            seen |= mask(name);
            self.scratch.names.push(field.name);
            self.key(field.name);
            self.value(at, node);
        }
        if has_pairs {
            self.pairs(at, takes, base);
        }
        self.scratch.names.truncate(base);
    }

    /// The members whose keys come from the wire.
    fn pairs(&mut self, at: Option<usize>, takes: fn(&Field) -> bool, base: usize) {
        let view = self.view;
        let mut keys = std::mem::take(&mut self.scratch.keys);
        for (at, node) in self.view.children(at) {
            if node.field.kind == Kind::Pair
                && takes(node.field)
                && let Some((key, value)) = self.view.pair(at)
            {
                let underscores = self.underscores(base, view.text_at(key));
                keys.insert(Member { key, value, underscores }, |at| view.text_at(at));
            }
        }
        for member in keys.members() {
            self.comma();
            self.out.push(b'"');
            string(self.out, view.text_at(member.key));
            self.out.resize(self.out.len() + member.underscores, b'_');
            self.out.extend_from_slice(b"\":");
            self.pair_value(member.value);
        }
        keys.clear();
        self.scratch.keys = keys;
    }

    /// How many underscores tell a key from the names of the object's fields.
    fn underscores(&self, base: usize, key: &[u8]) -> usize {
        if !is_one_of(&self.scratch.names, base, key) {
            return 0;
        }
        let mut key = key.to_vec();
        let length = key.len();
        while is_one_of(&self.scratch.names, base, &key) {
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

    fn array(&mut self, at: usize) {
        self.out.push(b'[');
        for (at, node) in self.view.children(Some(at)) {
            if node.field.place != Place::Framing {
                self.comma();
                self.value(at, node);
            }
        }
        self.out.push(b']');
    }

    /// The value of a node as its kind says.
    pub(super) fn value(&mut self, at: usize, node: &Node) {
        let out = &mut *self.out;
        match node.field.kind {
            Kind::Unsigned => unsigned(out, node.value),
            Kind::Signed => signed(out, node.value as i64),
            Kind::Float => float(out, f32::from_bits(node.value as u32)),
            Kind::Flag if node.value == 0 => out.extend_from_slice(b"false"),
            Kind::Flag => out.extend_from_slice(b"true"),
            Kind::List => self.array(at),
            Kind::Group | Kind::Map => self.object(Some(at), |field| field.place != Place::Framing),
            Kind::Pair => {
                self.out.push(b'{');
                if let Some((key, value)) = self.view.pair(at) {
                    self.out.push(b'"');
                    string(self.out, self.view.text_at(key));
                    self.out.extend_from_slice(b"\":");
                    self.pair_value(value);
                }
                self.out.push(b'}');
            }
            Kind::Endpoint6 => match self.view.endpoint6(node) {
                Some(endpoint) => put(out, format_args!("\"{endpoint}\"")),
                None => out.extend_from_slice(b"null"),
            },
            Kind::Id | Kind::Char | Kind::Name | Kind::Text | Kind::Bytes | Kind::Endpoint => {
                out.push(b'"');
                quoted(self.view, at, node, out);
                out.push(b'"');
            }
        }
    }

    /// `,"name":`, without the comma behind the opening brace.
    #[inline]
    pub(super) fn key(&mut self, name: &'static str) {
        self.comma();
        self.out.push(b'"');
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    #[inline]
    pub(super) fn comma(&mut self) {
        if !matches!(self.out.last(), Some(b'{' | b'[')) {
            self.out.push(b',');
        }
    }
}

fn is_one_of(names: &[&str], base: usize, key: &[u8]) -> bool {
    names.iter().skip(base).any(|name| name.as_bytes() == key)
}

/// The inside of the string that a node's value is.
fn quoted(view: View<'_>, at: usize, node: &Node, out: &mut Vec<u8>) {
    match node.field.kind {
        Kind::Char => character(out, char::from(node.value as u8)),
        Kind::Text => string(out, view.text(node)),
        Kind::Bytes => hex(out, view.bytes(node)),
        Kind::Endpoint => ip4(out, endpoint(node.value)),
        Kind::Name => match view.meaning(at) {
            Some(meaning) => string(out, meaning.as_bytes()),
            None => unsigned(out, node.value),
        },
        _ => unsigned(out, node.value),
    }
}

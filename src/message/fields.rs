//! The fields of a message by their paths, for filters, tables and all that looks for a value.

use std::borrow::Cow;

use dissectors::kit::{Kind, Node, Place, TreeView};

use super::Value;

/// A path, from below a node on: names of fields, at last perhaps the key of a pair.
pub(crate) trait FieldPath: Copy {
    /// Whether the path ends here.
    fn is_end(self) -> bool;

    /// The rest of the path, if it begins with the field of this name.
    fn after(self, name: &str) -> Option<Self>;

    /// Whether the path is this key.
    fn is_key(self, key: &[u8]) -> bool;
}

impl FieldPath for &str {
    fn is_end(self) -> bool {
        self.is_empty()
    }

    fn after(self, name: &str) -> Option<Self> {
        // Most fields have a name that begins otherwise.
        if self.as_bytes().first() != name.as_bytes().first() {
            return None;
        }
        let rest = self.strip_prefix(name)?;
        if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
    }

    /// A key may contain dots.
    fn is_key(self, key: &[u8]) -> bool {
        self.as_bytes() == key
    }
}

/// Sees one value after the other. Returns true when it has seen enough.
type ValueVisitor<'s, 'b> = &'s mut dyn FnMut(Value<'b>) -> bool;

/// The fields of a message, and its bytes.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'b> {
    pub(crate) tree: TreeView<'b>,
    pub(crate) payload: &'b [u8],
    /// Also those of framing, which no table lists.
    pub(crate) with_framing: bool,
}

impl<'b> Fields<'b> {
    /// Passes the values at a path to `see`, until that returns true. Returns whether it did.
    pub(crate) fn each(self, path: impl FieldPath, see: ValueVisitor<'_, 'b>) -> bool {
        !path.is_end() && self.below(None, path, see)
    }

    fn below(self, at: Option<usize>, path: impl FieldPath, see: ValueVisitor<'_, 'b>) -> bool {
        let shown = |place: Place| match at {
            _ if self.with_framing => true,
            None => place != Place::Framing,
            Some(_) => place == Place::Fields,
        };
        let mut nodes = self.tree.children(at).filter(|(_, node)| shown(node.field.place));
        nodes.any(|(at, node)| match node.field.kind {
            Kind::Pair => self.pair(at, path, see),
            _ => path.after(node.field.name).is_some_and(|rest| self.at(at, node, rest, see)),
        })
    }

    fn pair(self, at: usize, path: impl FieldPath, see: ValueVisitor<'_, 'b>) -> bool {
        let Some((key, value)) = self.tree.pair_nodes(at) else { return false };
        match value {
            _ if !self.text(key).is_some_and(|key| path.is_key(key)) => false,
            Some(value) => self.value(value).is_some_and(see),
            None => see(Value::Presence),
        }
    }

    fn at(self, at: usize, node: &Node, path: impl FieldPath, see: ValueVisitor<'_, 'b>) -> bool {
        let is_element = |(_, element): &(usize, &Node)| element.field.place == Place::Fields;
        let mut elements = self.tree.children(Some(at)).filter(is_element);
        match (node.field.kind, path.is_end()) {
            (Kind::List, false) => elements.any(|(at, _)| self.below(Some(at), path, see)),
            (Kind::Group | Kind::Map, false) => self.below(Some(at), path, see),
            (_, false) => false,
            (Kind::List, true) => {
                see(Value::Presence)
                    || elements.any(|(at, _)| self.value(at).is_some_and(&mut *see))
            }
            (_, true) => self.value(at).is_some_and(see),
        }
    }

    /// The keys and values of a map, by its name.
    pub(crate) fn pairs(self, map: &str) -> impl Iterator<Item = (&'b [u8], Value<'b>)> {
        let maps = self.tree.children(None).filter(move |(_, node)| node.field.name == map);
        let nodes = maps.flat_map(move |(at, _)| self.tree.children(Some(at)));
        let pairs = nodes.filter(|(_, node)| node.field.kind == Kind::Pair);
        pairs.filter_map(move |(at, _)| {
            let (key, value) = self.tree.pair_nodes(at)?;
            Some((self.text(key)?, self.value(value?)?))
        })
    }

    fn text(self, at: usize) -> Option<&'b [u8]> {
        Some(self.tree.bytes(self.tree.nodes.get(at)?, self.payload))
    }

    /// The value of a node.
    fn value(self, at: usize) -> Option<Value<'b>> {
        let node = self.tree.nodes.get(at)?;
        Some(match node.field.kind {
            Kind::Unsigned => Value::Unsigned(node.value),
            Kind::Id => Value::Id(node.value),
            Kind::Signed => Value::Signed(node.value as i64),
            Kind::Float => Value::Float(f32::from_bits(node.value as u32)),
            Kind::Flag => Value::Flag(node.value != 0),
            Kind::Char => Value::Char(char::from(node.value as u8)),
            Kind::Text => Value::Text(self.tree.bytes(node, self.payload)),
            Kind::Bytes => Value::Bytes(node.recorded(self.payload)),
            Kind::Name => match self.tree.meaning(at, self.payload) {
                Some(Cow::Borrowed(name)) => Value::Name(name),
                _ => Value::Unsigned(node.value),
            },
            Kind::Endpoint => Value::Endpoint(node.endpoint().into()),
            Kind::Endpoint6 => Value::Endpoint(node.endpoint6(self.payload)?.into()),
            Kind::Group | Kind::List | Kind::Map | Kind::Pair => Value::Presence,
        })
    }
}

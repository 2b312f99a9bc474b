//! Fields of a message by their paths, as in filters and tables.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::ops::ControlFlow;

use dissectors::kit::{Kind, Node, Place, TreeView};

use crate::session::MessageEvent;
use crate::text::decoded;

/// The value of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'b> {
    /// An unsigned number, or a 64-bit id.
    Unsigned(u64),
    /// A signed number.
    Signed(i64),
    /// A 32-bit float.
    Float(f32),
    /// True or false.
    Flag(bool),
    /// One character, a byte on the wire.
    Char(char),
    /// A number that is shown by its name.
    Name(&'static str),
    /// Text as it was sent, which need not be UTF-8.
    Text(&'b [u8]),
    /// Opaque bytes.
    Bytes(&'b [u8]),
    /// An address and a port.
    Endpoint(SocketAddr),
}

impl<'b> MessageEvent<'b> {
    /// The path of the message: `a2s.info_response`. The path of a field continues it:
    /// `a2s.info_response.map`.
    pub fn path(&self) -> String {
        let protocol = self.context().protocol.map_or("", |id| id.info().id);
        format!("{protocol}.{}", self.message().name)
    }

    /// The first value of a field, by its path within the message: `map`, `players.name`. `None`:
    /// the message has none, or [`Needs::fields`](crate::session::Needs::fields) did not request fields.
    pub fn field(&self, path: &str) -> Option<Value<'b>> {
        let mut first = None;
        self.each_value(path, &mut |value| {
            first = Some(value);
            ControlFlow::Break(())
        });
        first
    }

    /// The keys and values of a map, by its name.
    pub fn pairs(&self, map: &str) -> Vec<(&'b [u8], Value<'b>)> {
        let Some(tree) = self.tree() else { return Vec::new() };
        let fields = Fields { tree, payload: self.payload().bytes };
        let maps = tree.children(None).filter(|(_, node)| node.field.name == map);
        let pairs = maps.flat_map(|(at, _)| tree.children(Some(at)));
        let pair = |(at, _): (usize, &Node)| {
            let (key, value) = tree.pair_nodes(at)?;
            let key = tree.bytes(tree.nodes.get(key)?, fields.payload);
            Some((key, fields.value(value?)?))
        };
        pairs.filter(|(_, node)| node.field.kind == Kind::Pair).filter_map(pair).collect()
    }

    /// All values of a field, by its path within the message: `players.name` of a list has one for
    /// each player. In a map, a part of the path is a key: `properties.gamever`.
    pub fn values(&self, path: &str) -> Vec<Value<'b>> {
        let mut values = Vec::new();
        self.each_value(path, &mut |value| {
            values.push(value);
            GO_ON
        });
        values
    }

    fn each_value(&self, path: &str, see: ValueVisitor<'_, 'b>) {
        if let Some(tree) = self.tree() {
            let payload = self.payload().bytes;
            let _ = Fields { tree, payload }.below(None, path, see);
        }
    }
}

/// Sees one value after the other, until it has seen enough.
type ValueVisitor<'s, 'b> = &'s mut dyn FnMut(Value<'b>) -> ControlFlow<()>;

/// It has not.
const GO_ON: ControlFlow<()> = ControlFlow::Continue(());

/// The fields of a message, and its bytes.
#[derive(Clone, Copy)]
struct Fields<'b> {
    tree: TreeView<'b>,
    payload: &'b [u8],
}

impl<'b> Fields<'b> {
    /// Shows the values at the path below a node.
    fn below(self, at: Option<usize>, path: &str, see: ValueVisitor<'_, 'b>) -> ControlFlow<()> {
        if path.is_empty() {
            return GO_ON;
        }
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        for (at, node) in self.tree.children(at) {
            if node.field.kind == Kind::Pair {
                let Some((key, value)) = self.tree.pair_nodes(at) else { continue };
                // A key may contain dots.
                let key = self.tree.nodes.get(key).map(|key| self.tree.bytes(key, self.payload));
                if key == Some(path.as_bytes()) {
                    value.map_or(GO_ON, |value| self.show(value, see))?;
                }
            } else if node.field.name == name {
                self.at(at, node, rest, see)?;
            }
        }
        GO_ON
    }

    /// Shows the values at the path from a node.
    fn at(self, at: usize, node: &Node, path: &str, see: ValueVisitor<'_, 'b>) -> ControlFlow<()> {
        match node.field.kind {
            Kind::List => {
                let shown = |(_, element): &(usize, &Node)| element.field.place == Place::Fields;
                for (at, element) in self.tree.children(Some(at)).filter(shown) {
                    if path.is_empty() {
                        self.show(at, see)?;
                    } else if element.field.kind == Kind::Group {
                        self.below(Some(at), path, see)?;
                    }
                }
                GO_ON
            }
            Kind::Group | Kind::Map => self.below(Some(at), path, see),
            _ if path.is_empty() => self.show(at, see),
            _ => GO_ON,
        }
    }

    /// Shows the value of a node, if it has one.
    fn show(self, at: usize, see: ValueVisitor<'_, 'b>) -> ControlFlow<()> {
        self.value(at).map_or(GO_ON, see)
    }

    /// The value of a node without children.
    fn value(self, at: usize) -> Option<Value<'b>> {
        let node = self.tree.nodes.get(at)?;
        Some(match node.field.kind {
            Kind::Unsigned | Kind::Id => Value::Unsigned(node.value),
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
            Kind::Group | Kind::List | Kind::Map | Kind::Pair => return None,
        })
    }
}

impl Value<'_> {
    /// The value as an unsigned number, if it is one.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::Unsigned(value) => Some(value),
            Value::Signed(value) => value.try_into().ok(),
            _ => None,
        }
    }
}

impl fmt::Display for Value<'_> {
    /// The value for people: text that is not UTF-8 as Latin-1 or with replacement characters, bytes in hex.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned(value) => value.fmt(f),
            Value::Signed(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Flag(value) => value.fmt(f),
            Value::Char(value) => value.fmt(f),
            Value::Name(value) => f.write_str(value),
            Value::Text(value) => f.write_str(&decoded(value)),
            Value::Bytes(value) => value.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Endpoint(value) => value.fmt(f),
        }
    }
}

//! Fields of a message, by the paths that filters and tables name them by.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;

use dissectors::kit::{Kind, Node, Place, TreeView};

use super::MessageEvent;

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
    /// A number that is known by its name.
    Name(&'static str),
    /// Text, as it was sent: it need not be UTF-8.
    Text(&'b [u8]),
    /// Bytes with no more known about them.
    Bytes(&'b [u8]),
    /// An address and a port.
    Endpoint(SocketAddr),
}

impl<'b> MessageEvent<'b> {
    /// The path of the message: `a2s.info_response`. That of a field goes on from there:
    /// `a2s.info_response.map`.
    pub fn path(&self) -> String {
        let protocol = self.context().protocol.map_or("", |id| id.info().id);
        format!("{protocol}.{}", self.message().name)
    }

    /// The first value of a field, by its path below the message: `map`, `players.name`. `None`:
    /// the message has none, or [`Needs::fields`](super::Needs::fields) did not ask for fields.
    pub fn field(&self, path: &str) -> Option<Value<'b>> {
        self.values(path).into_iter().next()
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

    /// All values of a field, by its path below the message: `players.name` of a list has one for
    /// each player. In a map, a part of the path is a key: `properties.gamever`.
    pub fn values(&self, path: &str) -> Vec<Value<'b>> {
        let mut values = Vec::new();
        if let Some(tree) = self.tree() {
            let payload = self.payload().bytes;
            Fields { tree, payload }.below(None, path, &mut values);
        }
        values
    }
}

/// The fields of a message, and its bytes.
#[derive(Clone, Copy)]
struct Fields<'b> {
    tree: TreeView<'b>,
    payload: &'b [u8],
}

impl<'b> Fields<'b> {
    /// Adds the values that the path leads to from below a node.
    fn below(self, at: Option<usize>, path: &str, values: &mut Vec<Value<'b>>) {
        if path.is_empty() {
            return;
        }
        let (name, rest) = path.split_once('.').unwrap_or((path, ""));
        for (at, node) in self.tree.children(at) {
            if node.field.kind == Kind::Pair {
                let Some((key, value)) = self.tree.pair_nodes(at) else { continue };
                // A key may have dots in it.
                let key = self.tree.nodes.get(key).map(|key| self.tree.bytes(key, self.payload));
                if key == Some(path.as_bytes()) {
                    values.extend(value.and_then(|value| self.value(value)));
                }
            } else if node.field.name == name {
                self.at(at, node, rest, values);
            }
        }
    }

    /// Adds the values that the path leads to from a node.
    fn at(self, at: usize, node: &Node, path: &str, values: &mut Vec<Value<'b>>) {
        match node.field.kind {
            Kind::List => {
                let shown = |(_, element): &(usize, &Node)| element.field.place == Place::Fields;
                for (at, element) in self.tree.children(Some(at)).filter(shown) {
                    if path.is_empty() {
                        values.extend(self.value(at));
                    } else if element.field.kind == Kind::Group {
                        self.below(Some(at), path, values);
                    }
                }
            }
            Kind::Group | Kind::Map => self.below(Some(at), path, values),
            _ if path.is_empty() => values.extend(self.value(at)),
            _ => {}
        }
    }

    /// The value of a node that is not made of others.
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
    /// As people read it: text that is not UTF-8 with replacement characters, bytes in hex.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unsigned(value) => value.fmt(f),
            Value::Signed(value) => value.fmt(f),
            Value::Float(value) => value.fmt(f),
            Value::Flag(value) => value.fmt(f),
            Value::Char(value) => value.fmt(f),
            Value::Name(value) => f.write_str(value),
            Value::Text(value) => f.write_str(&String::from_utf8_lossy(value)),
            Value::Bytes(value) => value.iter().try_for_each(|byte| write!(f, "{byte:02x}")),
            Value::Endpoint(value) => value.fmt(f),
        }
    }
}

//! Fields of a message by their paths, as in filters and tables.

use crate::message::{Fields, Value};
use crate::session::MessageEvent;

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
        self.fields()?.each(path, &mut |value| {
            first = Some(value).filter(|value| *value != Value::Presence);
            first.is_some()
        });
        first
    }

    /// The bytes of the message from the first one of a field on, by its name.
    pub fn bytes_from(&self, name: &str) -> Option<&'b [u8]> {
        let tree = self.tree()?;
        let (_, node) = tree.children(None).find(|(_, node)| node.field.name == name)?;
        self.payload().bytes.get(node.span.start as usize..)
    }

    /// The keys and values of a map, by its name.
    pub fn pairs(&self, map: &str) -> Vec<(&'b [u8], Value<'b>)> {
        self.fields().map_or(Vec::new(), |fields| fields.pairs(map).collect())
    }

    /// All values of a field, by its path within the message: `players.name` of a list has one for
    /// each player. In a map, a part of the path is a key: `properties.gamever`.
    pub fn values(&self, path: &str) -> Vec<Value<'b>> {
        let mut values = Vec::new();
        if let Some(fields) = self.fields() {
            fields.each(path, &mut |value| {
                values.extend(Some(value).filter(|value| *value != Value::Presence));
                false
            });
        }
        values
    }

    fn fields(&self) -> Option<Fields<'b>> {
        Some(Fields { tree: self.tree()?, payload: self.payload().bytes, with_framing: true })
    }
}

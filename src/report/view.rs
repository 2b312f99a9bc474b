//! A tree together with its payload.

use std::borrow::Cow;

use dissectors::kit::{Kind, Node, TreeView};

use crate::message::MessageRef;

/// The fields of one message and its bytes.
#[derive(Clone, Copy)]
pub(super) struct MessageView<'a> {
    pub(super) tree: TreeView<'a>,
    pub(super) payload: &'a [u8],
    /// The recording lost its end.
    pub(super) lost: bool,
}

/// A text within other bytes, so that several bytes can be loaded at once.
#[derive(Clone, Copy)]
pub(super) struct TextSlice<'a> {
    /// The bytes that contain the text.
    pub(super) bytes: &'a [u8],
    /// Where it begins.
    pub(super) start: usize,
    /// How long it is.
    pub(super) length: usize,
}

impl<'a> TextSlice<'a> {
    /// The text's first `N` bytes, or those after it if it is shorter.
    #[inline(always)]
    pub(super) fn chunk<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.bytes.get(self.start..self.start.saturating_add(N))?.first_chunk()
    }

    /// The text without its first `bytes` bytes.
    #[inline]
    pub(super) fn without(self, bytes: usize) -> TextSlice<'a> {
        let bytes = bytes.min(self.length);
        TextSlice { start: self.start.saturating_add(bytes), length: self.length - bytes, ..self }
    }

    /// The text alone.
    pub(super) fn text(self) -> &'a [u8] {
        let end = self.start.saturating_add(self.length);
        self.bytes.get(self.start..end).unwrap_or_default()
    }
}

impl<'a> MessageView<'a> {
    /// Those of this message.
    pub(super) fn of(m: &MessageRef<'a>) -> MessageView<'a> {
        let tree = m.tree.unwrap_or(TreeView { nodes: &[], store: &[], left_out: 0 });
        MessageView { tree, payload: m.payload.bytes, lost: m.payload.lost }
    }

    /// The node at this place.
    pub(super) fn node(self, at: usize) -> Option<&'a Node> {
        self.tree.nodes.get(at)
    }

    /// The nodes directly below a node, or the outermost ones.
    pub(super) fn children(self, at: Option<usize>) -> impl Iterator<Item = (usize, &'a Node)> {
        self.tree.children(at)
    }

    /// The text of a node, without its terminator.
    pub(super) fn text(self, node: &Node) -> &'a [u8] {
        self.tree.bytes(node, self.payload)
    }

    /// The text of a node, and the bytes around it.
    #[inline]
    pub(super) fn text_among(self, node: &Node) -> TextSlice<'a> {
        let (bytes, start, length) = self.tree.text(node, self.payload);
        TextSlice { bytes, start, length }
    }

    /// The payload's bytes of a node.
    pub(super) fn bytes(self, node: &Node) -> &'a [u8] {
        node.recorded(self.payload)
    }

    /// What the node's value means.
    pub(super) fn meaning(self, at: usize) -> Option<Cow<'static, str>> {
        self.tree.meaning(at, self.payload)
    }

    /// The nodes of a pair's key and value.
    pub(super) fn pair(self, at: usize) -> Option<(usize, Option<usize>)> {
        self.tree.pair_nodes(at)
    }

    /// Whether no byte of a pair's value was recorded.
    pub(super) fn lacks(self, value: Option<usize>) -> bool {
        let is_after = |value: &Node| {
            value.field.kind == Kind::Text && self.text_among(value).start >= self.payload.len()
        };
        self.lost && value.and_then(|at| self.node(at)).is_none_or(is_after)
    }

    /// The text of the node at this place.
    pub(super) fn text_at(self, at: usize) -> &'a [u8] {
        self.node(at).map(|node| self.text(node)).unwrap_or_default()
    }
}

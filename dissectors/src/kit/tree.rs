//! The annotated fields of one message: flat, reused, and without a reference into the payload.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use super::sink::one_by_one;
use crate::kit::{Field, Kind, Leaf, Meaning, Place, Sink, Span};

/// One field with its bytes. The nodes below it follow it directly.
#[derive(Clone, Copy)]
pub struct Node {
    /// What it is.
    pub field: &'static Field,
    /// Its bytes in the payload.
    pub span: Span,
    /// Its value: read as the field's kind says.
    pub value: u64,
    /// How many nodes are below it, at all depths.
    pub descendants: u32,
    /// How many groups it is in.
    pub depth: u32,
}

impl Node {
    /// The payload's bytes of it.
    pub fn recorded<'a>(&self, payload: &'a [u8]) -> &'a [u8] {
        payload.get(self.span.start as usize..self.span.end as usize).unwrap_or_default()
    }

    /// The value of an [endpoint](Kind::Endpoint): 4 bytes of address and a port in its low 48 bits.
    #[inline]
    pub fn endpoint(&self) -> SocketAddrV4 {
        let [_, _, a, b, c, d, high, low] = self.value.to_be_bytes();
        SocketAddrV4::new(Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([high, low]))
    }

    /// An [endpoint of IPv6](Kind::Endpoint6): 16 bytes of address and a port of the payload.
    pub fn endpoint6(&self, payload: &[u8]) -> Option<SocketAddrV6> {
        let (ip, port) = self.recorded(payload).split_first_chunk::<16>()?;
        let port = u16::from_be_bytes(*port.first_chunk()?);
        Some(SocketAddrV6::new(Ipv6Addr::from(*ip), port, 0, 0))
    }
}

/// The place of a text: in the payload, or in the tree's own store when it had to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    stored: bool,
    start: u32,
    length: u32,
}

impl Text {
    /// The text that is in the payload at this place.
    pub const fn at(span: Span) -> Text {
        Text { stored: false, start: span.start, length: span.len() }
    }

    /// As the value of a node.
    pub const fn value(self) -> u64 {
        (self.stored as u64) << 63 | (self.start as u64 & 0x7FFF_FFFF) << 32 | self.length as u64
    }

    /// From the value of a node.
    pub const fn of(value: u64) -> Text {
        Text {
            stored: value >> 63 == 1,
            start: (value >> 32) as u32 & 0x7FFF_FFFF,
            length: value as u32,
        }
    }
}

/// All fields of one message. `clear` keeps the memory for the next.
pub struct Tree {
    /// Fields that fit.
    most: usize,
    /// Groups within groups that are kept.
    deepest: usize,
    nodes: Vec<Node>,
    open: Vec<u32>,
    store: Vec<u8>,
    /// Fields that were left out because the message has more than fit.
    left_out: u32,
    /// How many groups were opened after that limit.
    shut: u32,
    /// How many groups lay too deep: what is in them is in the group around them.
    flat: u32,
    /// What is in lists is not kept.
    without_elements: bool,
    /// Within a list whose elements are not kept: how many groups are open in it, that one included.
    hidden: u32,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::bounded(Tree::MOST, Tree::DEEPEST)
    }
}

impl Tree {
    /// A message of more fields is shown up to here; its last bytes are one leaf.
    pub const MOST: usize = 100_000;
    /// Groups within groups are shown up to here; no message of ours has as many.
    pub const DEEPEST: usize = 32;

    /// A tree of at most `most` fields and `deepest` groups within groups.
    pub const fn bounded(most: usize, deepest: usize) -> Tree {
        Tree {
            most,
            deepest,
            nodes: Vec::new(),
            open: Vec::new(),
            store: Vec::new(),
            left_out: 0,
            shut: 0,
            flat: 0,
            without_elements: false,
            hidden: 0,
        }
    }

    /// The same, without what is in lists: they are kept as empty ones.
    pub const fn without_elements(mut self) -> Tree {
        self.without_elements = true;
        self
    }

    /// The nodes, each followed by those below it.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// How many fields did not fit.
    pub fn left_out(&self) -> u32 {
        self.left_out.saturating_add(self.flat)
    }

    /// Forgets the fields and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.open.clear();
        self.store.clear();
        self.left_out = 0;
        self.shut = 0;
        self.flat = 0;
        self.hidden = 0;
    }

    /// The fields as they are read.
    #[inline]
    pub fn view(&self) -> TreeView<'_> {
        TreeView { nodes: &self.nodes, store: &self.store, left_out: self.left_out() }
    }

    /// The bytes of a text, without its terminator.
    pub fn bytes<'a>(&'a self, node: &Node, payload: &'a [u8]) -> &'a [u8] {
        self.view().bytes(node, payload)
    }

    /// The nodes directly below `nodes[at]`, or the outermost ones for `None`.
    pub fn children(&self, at: Option<usize>) -> impl Iterator<Item = (usize, &Node)> {
        self.view().children(at)
    }

    /// What the value of `nodes[at]` means to people, if it means more than itself.
    pub fn meaning(&self, at: usize, payload: &[u8]) -> Option<Cow<'static, str>> {
        self.view().meaning(at, payload)
    }

    #[inline(always)]
    fn push(&mut self, field: &'static Field, span: Span, value: u64) {
        let depth = self.open.len() as u32;
        self.nodes.push(Node { field, span, value, descendants: 0, depth });
    }

    /// Whether one more field fits; the bytes of one that does not go to the last leaf.
    #[inline(always)]
    fn full(&mut self, span: Span) -> bool {
        if self.hidden > 0 {
            return true;
        }
        let full = self.nodes.len() >= self.most;
        if full {
            self.leave_out(span);
        }
        full
    }

    #[cold]
    fn group_as_far_as_it_fits(&mut self, group: &'static Field, span: Span, fields: &[Leaf]) {
        one_by_one(self, group, span, fields);
    }

    #[cold]
    fn leave_out(&mut self, span: Span) {
        if self.left_out == 0 {
            self.push(Field::UNPARSED, span, 0);
        }
        self.left_out = self.left_out.saturating_add(1);
        if let Some(last) = self.nodes.last_mut() {
            last.span.end = last.span.end.max(span.end);
        }
    }
}

/// The fields of one message, as they are read, wherever they are kept.
#[derive(Clone, Copy)]
pub struct TreeView<'a> {
    /// The nodes, each followed by those below it.
    pub nodes: &'a [Node],
    /// Texts that had to be decoded.
    pub store: &'a [u8],
    /// How many fields did not fit.
    pub left_out: u32,
}

impl<'a> TreeView<'a> {
    /// Its first fields, no more than `most`, kept in `room`: what is in a list or a map is there whole, or
    /// not at all.
    pub fn first(self, most: usize, room: &'a mut Vec<Node>) -> TreeView<'a> {
        if self.nodes.len() <= most {
            return self;
        }
        let depth = |at: usize| self.nodes.get(at).map_or(0, |node| node.depth);
        let parent = |at: usize| {
            let mut before = self.nodes.get(..at).unwrap_or_default().iter();
            before.rposition(|node| node.depth < depth(at))
        };
        let mut end = most;
        while let Some(at) = parent(end) {
            let is_whole = |node: &Node| matches!(node.field.kind, Kind::List | Kind::Map);
            if self.nodes.get(at).is_none_or(is_whole) {
                break;
            }
            end = at;
        }
        room.clear();
        room.extend_from_slice(self.nodes.get(..end).unwrap_or_default());
        for (node, after) in room.iter_mut().rev().zip(0..) {
            node.descendants = node.descendants.min(after);
        }
        let more = u32::try_from(self.nodes.len() - end).unwrap_or(u32::MAX);
        TreeView { nodes: room, left_out: self.left_out.saturating_add(more), ..self }
    }

    /// The bytes of a text, without its terminator.
    pub fn bytes(self, node: &Node, payload: &'a [u8]) -> &'a [u8] {
        let (among, start, length) = self.text(node, payload);
        among.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    /// The bytes among which a text is, where in them it begins, and how long it is: for who
    /// reads several bytes at once, and may read on after the text.
    #[inline]
    pub fn text(self, node: &Node, payload: &'a [u8]) -> (&'a [u8], usize, usize) {
        let text = Text::of(node.value);
        let among = if text.stored { self.store } else { payload };
        (among, text.start as usize, text.length as usize)
    }

    /// The nodes directly below `nodes[at]`, or the outermost ones for `None`.
    pub fn children(self, at: Option<usize>) -> impl Iterator<Item = (usize, &'a Node)> {
        let (mut next, end) = match at {
            None => (0, self.nodes.len()),
            Some(at) => match self.nodes.get(at) {
                Some(node) => (at + 1, (at + 1 + node.descendants as usize).min(self.nodes.len())),
                None => (0, 0),
            },
        };
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let (at, node) = (next, self.nodes.get(next)?);
            next = at + 1 + node.descendants as usize;
            Some((at, node))
        })
    }

    /// What the value of `nodes[at]` means to people, if it means more than itself.
    pub fn meaning(self, at: usize, payload: &'a [u8]) -> Option<Cow<'static, str>> {
        let node = self.nodes.get(at)?;
        match node.field.meaning {
            Meaning::None => None,
            Meaning::Number(meaning) => meaning(node.value).map(Cow::Borrowed),
            Meaning::Text(meaning) => meaning(self.bytes(node, payload)),
            Meaning::Pair(meaning) => {
                let (key, value) = self.pair(at, payload)?;
                meaning(key, value)
            }
        }
    }

    /// The key and the value of a pair.
    pub fn pair(self, at: usize, payload: &'a [u8]) -> Option<(&'a [u8], &'a [u8])> {
        let mut texts = self.children(Some(at)).filter(|(_, node)| node.field.kind == Kind::Text);
        let (_, key) = texts.next()?;
        let value = texts.next().map(|(_, value)| self.bytes(value, payload)).unwrap_or_default();
        Some((self.bytes(key, payload), value))
    }

    /// The nodes of a pair's key and value: the first text, and what follows it, separators aside.
    pub fn pair_nodes(self, at: usize) -> Option<(usize, Option<usize>)> {
        let is_text = |node: &Node| node.field.kind == Kind::Text;
        let mut nodes = self.children(Some(at)).skip_while(|(_, node)| !is_text(node));
        let (key, _) = nodes.next()?;
        let value = nodes.find(|(_, node)| is_text(node) || node.field.place != Place::Framing);
        Some((key, value.map(|(at, _)| at)))
    }
}

impl Sink for Tree {
    #[inline]
    fn leaf(&mut self, field: &'static Field, span: Span, value: u64) {
        if !self.full(span) {
            self.push(field, span, value);
        }
    }

    fn leaf_text(&mut self, field: &'static Field, span: Span, text: &[u8]) {
        if self.full(span) {
            return;
        }
        let start = self.store.len().min(0x7FFF_FFFF) as u32;
        self.store.extend_from_slice(text);
        let value = Text { stored: true, start, length: text.len() as u32 }.value();
        self.push(field, span, value);
    }

    #[inline]
    fn open(&mut self, field: &'static Field, start: u32, value: u64) {
        if self.hidden > 0 {
            self.hidden += 1;
            return;
        }
        if self.full(Span { start, end: start }) {
            self.shut += 1;
            return;
        }
        if self.open.len() >= self.deepest {
            self.shut += 1;
            self.flat = self.flat.saturating_add(1);
            return;
        }
        self.push(field, Span { start, end: start }, value);
        self.open.push(self.nodes.len() as u32 - 1);
        self.hidden = u32::from(self.without_elements && field.kind == Kind::List);
    }

    #[inline]
    fn close(&mut self, end: u32) {
        self.hidden = self.hidden.saturating_sub(1);
        if self.hidden > 0 {
            return;
        }
        if self.shut > 0 {
            self.shut -= 1;
            return;
        }
        let nodes = self.nodes.len() as u32;
        if let Some(at) = self.open.pop()
            && let Some(node) = self.nodes.get_mut(at as usize)
        {
            node.span.end = end.max(node.span.start);
            node.descendants = nodes - 1 - at;
        }
    }

    #[inline]
    fn group<const N: usize>(&mut self, group: &'static Field, span: Span, fields: [Leaf; N]) {
        if self.hidden > 0 {
            return;
        }
        let has_room = self.nodes.len().saturating_add(N) < self.most;
        if !has_room || self.open.len() >= self.deepest || self.shut > 0 {
            return self.group_as_far_as_it_fits(group, span, &fields);
        }
        let depth = self.open.len() as u32;
        self.nodes.push(Node { field: group, span, value: 0, descendants: N as u32, depth });
        self.nodes.extend(fields.map(|(field, span, value)| Node {
            field,
            span,
            value,
            descendants: 0,
            depth: depth + 1,
        }));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    static GROUP: Field = Field::new("group", "Group", Kind::Group);
    static NUMBER: Field = Field::new("number", "Number", Kind::Unsigned);

    /// The nodes of a tree, in words.
    fn shown(tree: &Tree) -> Vec<String> {
        let node = |n: &Node| {
            let (name, span) = (n.field.name, n.span);
            format!("{name} {span:?} {} {} {}", n.value, n.descendants, n.depth)
        };
        tree.nodes().iter().map(node).collect()
    }

    #[test]
    fn the_first_fields_are_whole_in_their_list() {
        static LIST: Field = Field::new("list", "List", Kind::List);
        let mut tree = Tree::default();
        tree.leaf(&NUMBER, Span::new(0, 1), 1);
        tree.open(&LIST, 1, 0);
        for at in 0..4 {
            let at = Span::new(1 + 2 * at, 3 + 2 * at);
            tree.group(&GROUP, at, [(&NUMBER, at, 2), (&NUMBER, at, 3)]);
        }
        tree.close(9);
        let mut room = Vec::new();
        let mut first = |most| {
            let first = tree.view().first(most, &mut room);
            let children = first.children(Some(1)).count();
            assert!(first.children(None).count() <= 2 && first.nodes.len() <= most);
            (first.nodes.len(), children, first.left_out)
        };
        assert_eq!(first(14), (14, 4, 0));
        assert_eq!(first(13), (11, 3, 3));
        assert_eq!(first(11), (11, 3, 3));
        assert_eq!(first(10), (8, 2, 6));
        assert_eq!(first(2), (2, 0, 12));
        assert_eq!(first(0), (0, 0, 14));
    }

    #[test]
    fn lists_are_empty_where_their_elements_are_not_wanted() {
        static LIST: Field = Field::new("list", "List", Kind::List);
        let mut tree = Tree::default().without_elements();
        let at = Span::new(0, 1);
        tree.leaf(&NUMBER, at, 1);
        tree.open(&LIST, 1, 0);
        tree.leaf(&NUMBER, at, 2);
        tree.open(&GROUP, 2, 0);
        tree.leaf_text(&NUMBER, at, b"3");
        tree.close(3);
        tree.group(&GROUP, at, [(&NUMBER, at, 4)]);
        tree.close(9);
        tree.open(&GROUP, 9, 0);
        tree.leaf(&NUMBER, at, 5);
        tree.close(10);
        let nodes: Vec<_> = tree.nodes().iter().map(|node| (node.field.name, node.value)).collect();
        assert_eq!(nodes, [("number", 1), ("list", 0), ("group", 0), ("number", 5)]);
        let list = tree.nodes().get(1).map(|list| (list.span, list.descendants));
        assert_eq!((list, tree.left_out()), (Some((Span::new(1, 9), 0)), 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_group_at_once_is_one_field_by_field(
            most in 0..30_usize,
            deepest in 0..4_usize,
            steps in prop::collection::vec(0..5_u8, 0..20),
        ) {
            let mut trees = [Tree::bounded(most, deepest), Tree::bounded(most, deepest)];
            let [at_once, by_field] = &mut trees;
            for (step, at) in steps.into_iter().zip(0..) {
                let (at, trailing) = (Span::new(10 * at, 10 * at + 5), Span::new(10 * at + 5, 10 * at + 9));
                let whole = Span { end: trailing.end, ..at };
                match step {
                    0 => [&mut *at_once, by_field].map(|tree| tree.open(&GROUP, at.start, 7)),
                    1 => [&mut *at_once, by_field].map(|tree| tree.close(at.end)),
                    2 => [&mut *at_once, by_field].map(|tree| tree.leaf(&NUMBER, at, 8)),
                    _ => {
                        at_once.group(&GROUP, whole, [(&NUMBER, at, 1), (&NUMBER, trailing, 2)]);
                        by_field.open(&GROUP, whole.start, 0);
                        by_field.leaf(&NUMBER, at, 1);
                        by_field.leaf(&NUMBER, trailing, 2);
                        by_field.close(whole.end);
                        [(); 2]
                    }
                };
            }
            prop_assert_eq!(shown(at_once), shown(by_field));
            prop_assert_eq!(at_once.left_out(), by_field.left_out());
        }
    }
}

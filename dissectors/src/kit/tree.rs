//! The annotated fields of one message: a flat list, reused, without references into the payload.

use std::borrow::Cow;

use super::sink::one_by_one;
use crate::kit::{Field, Kind, Leaf, Node, Sink, Span, TextPlace, TreeView};

/// All fields of one message. `clear` keeps the memory for the next one.
pub struct Tree {
    /// Maximum number of fields.
    most: usize,
    /// Maximum number of nested groups.
    deepest: usize,
    nodes: Vec<Node>,
    open: Vec<u32>,
    store: Vec<u8>,
    /// Number of fields that did not fit.
    left_out: u32,
    /// Number of open groups after that limit.
    shut: u32,
    /// Number of open groups that are nested too deep: their fields are in the group around them.
    flat: u32,
    /// Elements of lists are not kept.
    without_elements: bool,
    /// In a list whose elements are not kept: the number of open groups, including the list.
    hidden: u32,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree::bounded(Tree::MOST, Tree::DEEPEST)
    }
}

impl Tree {
    /// Maximum number of fields shown; the remaining bytes of the message are one leaf.
    pub const MOST: usize = 100_000;
    /// Maximum number of nested groups shown; supported messages have fewer.
    pub const DEEPEST: usize = 32;

    /// A tree of at most `most` fields and `deepest` nested groups.
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

    /// This tree without the elements of lists, which are kept empty.
    pub const fn without_elements(mut self) -> Tree {
        self.without_elements = true;
        self
    }

    /// The nodes, each followed by its descendants.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The number of fields that did not fit.
    pub fn left_out(&self) -> u32 {
        self.left_out.saturating_add(self.flat)
    }

    /// Removes the fields and keeps the memory.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.open.clear();
        self.store.clear();
        self.left_out = 0;
        self.shut = 0;
        self.flat = 0;
        self.hidden = 0;
    }

    /// A view of the fields.
    #[inline]
    pub fn view(&self) -> TreeView<'_> {
        TreeView { nodes: &self.nodes, store: &self.store, left_out: self.left_out() }
    }

    /// The bytes of a text, without its terminator.
    pub fn bytes<'a>(&'a self, node: &Node, payload: &'a [u8]) -> &'a [u8] {
        self.view().bytes(node, payload)
    }

    /// The children of `nodes[at]`, or the outermost nodes for `None`.
    pub fn children(&self, at: Option<usize>) -> impl Iterator<Item = (usize, &Node)> {
        self.view().children(at)
    }

    /// The meaning of `nodes[at]`'s value for people, if it has one.
    pub fn meaning(&self, at: usize, payload: &[u8]) -> Option<Cow<'static, str>> {
        self.view().meaning(at, payload)
    }

    #[inline(always)]
    fn push(&mut self, field: &'static Field, span: Span, value: u64) {
        let depth = self.open.len() as u32;
        self.nodes.push(Node { field, span, value, descendants: 0, depth });
    }

    /// Whether there is no room for another field; its bytes are then added to the last leaf.
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

impl Sink for Tree {
    #[inline(always)]
    fn keeps_fields(&self) -> bool {
        self.hidden == 0
    }

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
        let value = TextPlace { stored: true, start, length: text.len() as u32 }.value();
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

    /// The nodes of a tree, as text.
    fn shown(tree: &Tree) -> Vec<String> {
        let node = |n: &Node| {
            let (name, span) = (n.field.name, n.span);
            format!("{name} {span:?} {} {} {}", n.value, n.descendants, n.depth)
        };
        tree.nodes().iter().map(node).collect()
    }

    #[test]
    fn the_first_fields_of_a_list_are_complete() {
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
    fn lists_are_empty_if_elements_are_not_needed() {
        static LIST: Field = Field::new("list", "List", Kind::List);
        let mut tree = Tree::default().without_elements();
        let at = Span::new(0, 1);
        tree.leaf(&NUMBER, at, 1);
        assert!(tree.keeps_fields());
        tree.open(&LIST, 1, 0);
        assert!(!tree.keeps_fields());
        tree.leaf(&NUMBER, at, 2);
        tree.open(&GROUP, 2, 0);
        tree.leaf_text(&NUMBER, at, b"3");
        tree.close(3);
        tree.group(&GROUP, at, [(&NUMBER, at, 4)]);
        assert!(!tree.keeps_fields());
        tree.close(9);
        assert!(tree.keeps_fields());
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

//! The fields of one message, as they are read.

use std::borrow::Cow;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddrV4, SocketAddrV6};

use crate::kit::{Field, Kind, Meaning, Place, Span, Time};

/// One field with its bytes. Its descendants follow it directly.
#[derive(Clone, Copy)]
pub struct Node {
    /// Its declaration.
    pub field: &'static Field,
    /// Its bytes in the payload.
    pub span: Span,
    /// Its value, interpreted by the field's kind.
    pub value: u64,
    /// The number of its descendants.
    pub descendants: u32,
    /// The number of groups around it.
    pub depth: u32,
}

impl Node {
    /// Its bytes in the payload.
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

/// The position of a text: in the payload, or in the tree's own store if it had to be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPlace {
    pub(super) stored: bool,
    pub(super) start: u32,
    pub(super) length: u32,
}

impl TextPlace {
    /// The text at this span of the payload.
    pub const fn at(span: Span) -> TextPlace {
        TextPlace { stored: false, start: span.start, length: span.len() }
    }

    /// As the value of a node.
    pub const fn value(self) -> u64 {
        (self.stored as u64) << 63 | (self.start as u64 & 0x7FFF_FFFF) << 32 | self.length as u64
    }

    /// From the value of a node.
    pub const fn of(value: u64) -> TextPlace {
        TextPlace {
            stored: value >> 63 == 1,
            start: (value >> 32) as u32 & 0x7FFF_FFFF,
            length: value as u32,
        }
    }
}

/// A view of the fields of one message.
#[derive(Clone, Copy)]
pub struct TreeView<'a> {
    /// The nodes, each followed by its descendants.
    pub nodes: &'a [Node],
    /// Texts that had to be decoded.
    pub store: &'a [u8],
    /// The number of fields that did not fit.
    pub left_out: u32,
}

impl<'a> TreeView<'a> {
    /// Its first fields, at most `most`, stored in `room`: elements of a list or a map are either
    /// complete or left out.
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

    /// A slice that contains the text, the text's offset in it, and its length: for readers that
    /// load several bytes at once and may read past the end of the text.
    #[inline]
    pub fn text(self, node: &Node, payload: &'a [u8]) -> (&'a [u8], usize, usize) {
        let text = TextPlace::of(node.value);
        let among = if text.stored { self.store } else { payload };
        (among, text.start as usize, text.length as usize)
    }

    /// The children of `nodes[at]`, or the outermost nodes for `None`.
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

    /// The meaning of `nodes[at]`'s value for people, if it has one.
    pub fn meaning(self, at: usize, payload: &'a [u8]) -> Option<Cow<'static, str>> {
        let node = self.nodes.get(at)?;
        match node.field.meaning {
            Meaning::None => None,
            Meaning::Number(meaning) => meaning(node.value).map(Cow::Borrowed),
            Meaning::Seconds => date(node.value).map(Cow::Owned),
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

    /// The nodes of a pair's key and value: the first text, and the one after it, without
    /// separators.
    pub fn pair_nodes(self, at: usize) -> Option<(usize, Option<usize>)> {
        let is_text = |node: &Node| node.field.kind == Kind::Text;
        let mut nodes = self.children(Some(at)).skip_while(|(_, node)| !is_text(node));
        let (key, _) = nodes.next()?;
        let value = nodes.find(|(_, node)| is_text(node) || node.field.place != Place::Framing);
        Some((key, value.map(|(at, _)| at)))
    }
}

/// The date of a number of seconds since 1970, if it is one of this century: other numbers are no
/// times.
fn date(seconds: u64) -> Option<String> {
    const CENTURY: std::ops::Range<u64> = 946_684_800..4_102_444_800;
    let nanoseconds = i64::try_from(seconds).ok().filter(|_| CENTURY.contains(&seconds))?;
    Some(format!("{} UTC, if it is a time", Time(nanoseconds * 1_000_000_000).utc_second()))
}

//! What becomes of the bytes of a message: the one place where it is decided which are kept. All
//! others are replaced, also those of fields that say nothing about it, and those of no field.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use dissectors::Id;
use dissectors::kit::{Kind, Node, Scrub, Treatment, TreeView};

use super::numbers::{self, is_small};
use super::secret::{Key, Purpose};
use super::texts::Texts;
use super::{Addresses, Seen, headers};

/// Memory for challenges.
const CHALLENGES: usize = 1 << 18;

/// Replaces the contents of messages.
pub struct Scrubber {
    key: Key,
    texts: Texts,
    addresses: Addresses,
    leaves: Vec<Leaf>,
    /// The latest challenges whose responses are codes.
    challenges: Seen,
    /// The names in the current message: what stands in it, and what each replaces.
    names: HashMap<Box<[u8]>, Box<[u8]>>,
}

/// A field with bytes of its own: the first one, the one after the last, and its node. The node of
/// the key before it, if there is one.
#[derive(Clone, Copy)]
struct Leaf {
    start: usize,
    end: usize,
    node: usize,
    key: Option<usize>,
}

impl Scrubber {
    /// With this key: the same text or address is always replaced by the same other one.
    pub fn new(key: Key) -> Scrubber {
        let (texts, addresses) = (Texts::new(key.clone()), Addresses::new(key.clone()));
        let challenges = Seen::within(CHALLENGES);
        let (leaves, names) = (Vec::new(), HashMap::new());
        Scrubber { key, texts, addresses, leaves, challenges, names }
    }

    /// What becomes of addresses.
    pub fn addresses(&mut self) -> &mut Addresses {
        &mut self.addresses
    }

    /// The replacement of a message's bytes, of the same length.
    pub fn message(&mut self, payload: &[u8], tree: TreeView<'_>) -> Vec<u8> {
        let mut leaves = std::mem::take(&mut self.leaves);
        find_leaves(payload.len(), tree, &mut leaves);
        self.names.clear();
        let mut out = Vec::with_capacity(payload.len());
        for leaf in &leaves {
            // A field that overlaps another one.
            if leaf.start < out.len() {
                continue;
            }
            let before = payload.get(out.len()..leaf.start).unwrap_or_default();
            self.texts.bytes(before, &mut out);
            if let Some(node) = tree.nodes.get(leaf.node) {
                self.field(leaf, node, payload, tree, &mut out);
            }
        }
        let rest = payload.get(out.len()..).unwrap_or_default();
        self.texts.bytes(rest, &mut out);
        self.leaves = leaves;
        out
    }

    /// Appends the replacement of a field's bytes.
    fn field(
        &mut self,
        leaf: &Leaf,
        node: &Node,
        payload: &[u8],
        tree: TreeView<'_>,
        out: &mut Vec<u8>,
    ) {
        let bytes = payload.get(leaf.start..leaf.end).unwrap_or_default();
        match node.field.kind {
            Kind::Endpoint => self.endpoint::<4>(bytes, out),
            Kind::Endpoint6 => self.endpoint::<16>(bytes, out),
            Kind::Text => {
                let (start, end) = text_within(leaf, node, payload, tree);
                let text = payload.get(start..end).unwrap_or_default();
                let decoded = tree.bytes(node, payload);
                let key = leaf.key.and_then(|key| tree.nodes.get(key));
                let key = key.map_or(&[][..], |key| tree.bytes(key, payload));
                self.around(payload.get(leaf.start..start).unwrap_or_default(), out);
                let (treatment, start) = (treatment(node, key, decoded), out.len());
                self.text(treatment, text, decoded, out);
                if let Scrub::Key(_) = node.field.scrub {
                    self.keep_apart(text, start, out);
                }
                self.around(payload.get(end..leaf.end).unwrap_or_default(), out);
            }
            Kind::Bytes => self.bytes(node, bytes, out),
            _ => self.number(node, bytes, out),
        }
    }

    /// Replaces a name again, from `start` on, while another name of the message has become the same.
    fn keep_apart(&mut self, name: &[u8], start: usize, out: &mut Vec<u8>) {
        /// How often: few names may have room for few others.
        const MOST: usize = 100;
        for _ in 0..MOST {
            let new: Box<[u8]> = out.get(start..).unwrap_or_default().into();
            match self.names.entry(new) {
                Entry::Occupied(same) if **same.get() != *name && **same.key() != *name => {
                    out.truncate(start);
                    self.texts.text(same.key(), out);
                }
                entry => {
                    entry.or_insert_with(|| name.into());
                    return;
                }
            }
        }
    }

    /// Appends what is around a text: separators, and words of the protocol.
    fn around(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        if !bytes.is_empty() {
            self.texts.words(bytes, is_known_word, out);
        }
    }

    /// Appends the replacement of a text; `decoded`: without escapes.
    fn text(&mut self, treatment: Treatment, text: &[u8], decoded: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        match treatment {
            Treatment::Kept => out.extend_from_slice(text),
            Treatment::Words(is_kept) => self.texts.words(text, is_kept, out),
            Treatment::Challenge => {
                if let Some(other) = other_challenge(&self.key, text) {
                    out.extend(other);
                }
            }
            Treatment::Hexadecimal => {
                if let Some(other) = other_hexadecimal(&self.key, text) {
                    out.extend(other);
                }
            }
            Treatment::CodeChallenge => {
                self.challenges.insert(text);
            }
            Treatment::Code => out.extend(self.code(text).unwrap_or_default()),
            Treatment::Replaced | Treatment::Timestamp | Treatment::SplitId => {}
        }
        if out.len() == start && !text.is_empty() {
            self.replaced_text(text, decoded, out);
        }
    }

    /// The replacement of a code that is correct for a challenge: if there are several, for one that
    /// was given.
    fn code(&mut self, code: &[u8]) -> Option<Vec<u8>> {
        let (texts, given) = (&mut self.texts, &self.challenges);
        [true, false].into_iter().find_map(|must_be_given| {
            let mut renew = |challenge: &[u8]| {
                let mut other = Vec::new();
                texts.text(challenge, &mut other);
                (!must_be_given || given.contains(challenge)).then_some(other)
            };
            Id::ALL.iter().find_map(|protocol| protocol.renewed_code(code, &mut renew))
        })
    }

    fn replaced_text(&mut self, text: &[u8], decoded: &[u8], out: &mut Vec<u8>) {
        let is_address = if text == decoded {
            self.addresses.of_text(text, out)
        } else {
            self.escaped_address(decoded, text, out)
        };
        if !is_address {
            self.texts.text(text, out);
        }
    }

    /// Appends the replacement of an address whose text has escapes, such as `%3A` for a colon: it
    /// has them, too. Returns whether it is one.
    fn escaped_address(&mut self, decoded: &[u8], written: &[u8], out: &mut Vec<u8>) -> bool {
        let mut other = Vec::new();
        if !self.addresses.of_text(decoded, &mut other) {
            return false;
        }
        let start = out.len();
        let mut rest = written;
        for byte in other {
            match rest {
                [b'%', _, low, after @ ..] => {
                    let is_lower = low.is_ascii_lowercase();
                    let hex = format!("%{byte:02X}").into_bytes();
                    out.extend(if is_lower { hex.to_ascii_lowercase() } else { hex });
                    rest = after;
                }
                [_, after @ ..] => {
                    out.push(byte);
                    rest = after;
                }
                [] => {}
            }
        }
        let is_whole = rest.is_empty() && out.len() - start == written.len();
        if !is_whole {
            out.truncate(start);
        }
        is_whole
    }

    /// Appends the replacement of opaque bytes.
    fn bytes(&mut self, node: &Node, bytes: &[u8], out: &mut Vec<u8>) {
        match node.field.scrub {
            Scrub::Blocks(length) => {
                if let Some(length) = length(bytes) {
                    return self.blocks(bytes, length, out);
                }
                self.texts.bytes(bytes, out);
            }
            _ => match treatment(node, &[], bytes) {
                Treatment::Kept => out.extend_from_slice(bytes),
                _ => self.texts.bytes(bytes, out),
            },
        }
    }

    /// Appends a list whose header is damaged: of that, what is as it should be stays.
    fn blocks(&mut self, bytes: &[u8], length: usize, out: &mut Vec<u8>) {
        let (header, blocks) = bytes.split_at_checked(length).unwrap_or((bytes, &[]));
        let start = out.len();
        self.texts.bytes(header, out);
        let places = out.get_mut(start..).unwrap_or_default().iter_mut();
        for (at, (new, old)) in places.zip(header).enumerate() {
            if matches!(old, 0 | 0xFE..|b'f'| b'\n') || at == 4 {
                *new = *old;
            }
        }
        blocks.chunks(6).for_each(|block| self.endpoint::<4>(block, out));
    }

    /// Appends the replacement of an address of this many bytes, and the port after it.
    fn endpoint<const N: usize>(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let address = bytes.split_at_checked(N);
        let Some((address, port)) = address.filter(|(_, port)| port.len() == 2) else {
            return self.texts.bytes(bytes, out);
        };
        if let Ok(v4) = <[u8; 4]>::try_from(address) {
            out.extend(self.addresses.of_v4(v4.into()).octets());
        } else if let Ok(v6) = <[u8; 16]>::try_from(address) {
            out.extend(headers::octets(self.addresses.of(v6.into())));
        }
        out.extend_from_slice(port);
    }

    /// Appends the replacement of a number, which is binary or decimal text.
    fn number(&mut self, node: &Node, bytes: &[u8], out: &mut Vec<u8>) {
        let treatment = match node.field.scrub {
            Scrub::After(length) => {
                let (kept, rest) = bytes.split_at_checked(length(bytes)).unwrap_or((bytes, &[]));
                out.extend_from_slice(kept);
                return self.texts.bytes(rest, out);
            }
            _ => treatment(node, &[], bytes),
        };
        if let Some((start, end)) = decimal_within(bytes, node.value) {
            let text = bytes.get(start..end).unwrap_or_default();
            let is_kept = matches!(treatment, Treatment::Kept) && is_small(node.value as i64);
            let treatment = match treatment {
                Treatment::Kept if !is_kept => Treatment::Replaced,
                treatment => treatment,
            };
            self.around(bytes.get(..start).unwrap_or_default(), out);
            self.text(treatment, text, text, out);
            self.around(bytes.get(end..).unwrap_or_default(), out);
            return;
        }
        self.binary(treatment, node.field.kind, bytes, out);
    }

    /// Appends the replacement of a binary number.
    fn binary(&mut self, treatment: Treatment, kind: Kind, bytes: &[u8], out: &mut Vec<u8>) {
        let word = <[u8; 4]>::try_from(bytes).ok();
        match (treatment, word) {
            (Treatment::Kept, Some(word)) if kind == Kind::Float => {
                out.extend(self.float(u32::from_le_bytes(word)).to_le_bytes());
            }
            (Treatment::Kept, _) if is_small_binary(bytes) => out.extend_from_slice(bytes),
            // In either byte order, the result is the same.
            (Treatment::Challenge, Some(word)) => {
                out.extend(numbers::challenge(&self.key, u32::from_be_bytes(word)).to_be_bytes());
            }
            (Treatment::Timestamp, Some(word)) => {
                out.extend(numbers::timestamp(&self.key, u32::from_be_bytes(word)).to_be_bytes());
            }
            (Treatment::Hexadecimal, Some(word)) => {
                out.extend(numbers::hexadecimal(&self.key, u32::from_le_bytes(word)).to_le_bytes());
            }
            (Treatment::SplitId, Some([a, b, c, flag])) => {
                self.texts.bytes(&[a, b, c, flag & 0x7F], out);
                if let Some(last) = out.last_mut() {
                    *last |= flag & 0x80;
                }
            }
            _ => self.texts.bytes(bytes, out),
        }
    }

    /// A number of the same sign and magnitude.
    fn float(&self, bits: u32) -> u32 {
        const FRACTION: u32 = 0x007F_FFFF;
        if bits & FRACTION == 0 {
            return bits;
        }
        let other = self.key.number(Purpose::Bytes, &bits.to_be_bytes()) as u32 & FRACTION;
        bits & !FRACTION | other.max(1)
    }

    /// The replacement of the bytes of a datagram that are in no message, if it is a part of a
    /// response: `before` the first byte that is in one. Parts repeat texts.
    pub fn part(&mut self, datagram: &[u8], before: usize) -> Option<Vec<u8>> {
        let header = Id::ALL.iter().find_map(|protocol| protocol.part_header(datagram))?;
        let mut out = Vec::new();
        let mut rest = datagram.get(..before).unwrap_or(datagram);
        for &(length, treatment) in header {
            let (bytes, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
            match treatment {
                Treatment::Kept => out.extend_from_slice(bytes),
                treatment => self.binary(treatment, Kind::Unsigned, bytes, &mut out),
            }
            rest = after;
        }
        self.repeated(rest, &mut out);
        Some(out)
    }

    /// Appends the replacements of texts that end with zeros. A name may be followed by the number
    /// of a row.
    pub fn repeated(&mut self, texts: &[u8], out: &mut Vec<u8>) {
        for (at, text) in texts.split(|&byte| byte == 0).enumerate() {
            if at > 0 {
                out.push(0);
            }
            let text = match text {
                [row @ 1..0x20, rest @ ..] => {
                    out.push(*row);
                    rest
                }
                text => text,
            };
            if is_known_word(text) {
                out.extend_from_slice(text);
            } else {
                self.replaced_text(text, text, out);
            }
        }
    }
}

/// Whether a text is a word of a protocol.
fn is_known_word(text: &[u8]) -> bool {
    Id::ALL.iter().any(|protocol| protocol.is_known_word(text))
}

/// The fields with bytes of their own, in the order of these.
fn find_leaves(length: usize, tree: TreeView<'_>, leaves: &mut Vec<Leaf>) {
    leaves.clear();
    let (mut key, mut latest) = (None, 0);
    let mut is_sorted = true;
    for (at, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.descendants == 0) {
        if let Scrub::Key(_) = node.field.scrub {
            key = Some(at);
        }
        let [start, end] = [node.span.start, node.span.end].map(|at| (at as usize).min(length));
        if start < end {
            leaves.push(Leaf { start, end, node: at, key });
            is_sorted &= start >= latest;
            latest = start;
        }
    }
    if !is_sorted {
        leaves.sort_by_key(|leaf| leaf.start);
    }
}

/// What becomes of a field's text or bytes; `key`: the key before it.
fn treatment(node: &Node, key: &[u8], text: &[u8]) -> Treatment {
    let kept_if = |is_kept| if is_kept { Treatment::Kept } else { Treatment::Replaced };
    match node.field.scrub {
        Scrub::As(treatment) => treatment,
        Scrub::If(is_kept) | Scrub::Key(is_kept) => kept_if(is_kept(text)),
        Scrub::Value(treatment) => treatment(key, text),
        Scrub::After(_) | Scrub::Blocks(_) => Treatment::Replaced,
    }
}

/// The position of a field's text in the message, without prefix and suffix.
fn text_within(leaf: &Leaf, node: &Node, payload: &[u8], tree: TreeView<'_>) -> (usize, usize) {
    let (among, text, length) = tree.text(node, payload);
    let end = text.saturating_add(length);
    let is_inside = std::ptr::eq(among, payload) && text >= leaf.start && end <= leaf.end;
    if is_inside { (text, end) } else { (leaf.start, leaf.end) }
}

/// The position of a number in decimal digits, if these bytes have it: the last one with this
/// value.
fn decimal_within(bytes: &[u8], value: u64) -> Option<(usize, usize)> {
    let last = bytes.iter().rposition(u8::is_ascii_digit)?;
    let digits = bytes.get(..=last)?.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let first = last + 1 - digits;
    let is_negative = first > 0 && bytes.get(first - 1) == Some(&b'-');
    let text = std::str::from_utf8(bytes.get(first..=last)?).ok()?;
    let number = text.parse::<u64>().ok()?;
    let start = if is_negative { first - 1 } else { first };
    let magnitude = if is_negative { number.wrapping_neg() } else { number };
    (magnitude == value).then_some((start, last + 1))
}

/// Whether a binary number is small in one of the byte orders: positive or negative.
fn is_small_binary(bytes: &[u8]) -> bool {
    let is_filled = |bytes: &[u8]| [0, 0xFF].iter().any(|fill| bytes.iter().all(|it| it == fill));
    match bytes.len() {
        0..=2 => true,
        length => is_filled(&bytes[2..]) || is_filled(&bytes[..length - 2]),
    }
}

/// A 32-bit number in decimal digits, signed or unsigned, and its replacement.
fn other_challenge(key: &Key, text: &[u8]) -> Option<Vec<u8>> {
    let written = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    let number = match written.parse::<i32>() {
        Ok(number) => number.cast_unsigned(),
        Err(_) => written.parse::<u32>().ok()?,
    };
    let other = numbers::challenge(key, number);
    let digits = written.trim_start_matches('-').len();
    let other = if written.starts_with('-') {
        format!("-{:0digits$}", other.cast_signed().unsigned_abs())
    } else {
        format!("{other:0digits$}")
    };
    (other.len() == text.len()).then(|| other.into_bytes())
}

/// A 32-bit number in hexadecimal digits, and its replacement.
fn other_hexadecimal(key: &Key, text: &[u8]) -> Option<Vec<u8>> {
    let written = std::str::from_utf8(text).ok().filter(|text| !text.starts_with('+'))?;
    let number = u32::from_str_radix(written, 16).ok()?;
    let other = format!("{:0width$x}", numbers::hexadecimal(key, number), width = text.len());
    let is_upper = text.iter().any(u8::is_ascii_uppercase);
    let other = if is_upper { other.to_ascii_uppercase() } else { other };
    (other.len() == text.len()).then(|| other.into_bytes())
}

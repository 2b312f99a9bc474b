//! Replaces personal data in messages and packets, for captures that are shared.
//!
//! It handles bytes and fields, not files.

mod addresses;
mod packets;
mod secret;
mod texts;

use dissectors::kit::{Kind, Node, Place, Privacy, TreeView};

pub use self::addresses::Addresses;
pub use self::packets::{AllEdits, Edit, Edits, Rewriter, Rewritten};
pub use self::secret::Key;

/// Keys whose values are kept, because they are defined by the specifications, name a game, or are
/// repeated by the other side.
const PUBLIC_KEYS: &str = "challenge connection content-length content-type enctype final gamedir \
    gamemode gamename gametype gamever hostport key lan list minnetver napp appid os p1 product \
    protocol queryid region secure splitnum transfer-encoding type validate version where \
    engineversion minnetversion";

/// Replaces the contents of messages.
pub struct Scrubber {
    key: Key,
    addresses: Addresses,
}

impl Scrubber {
    /// With this key: the same text or address is always replaced by the same other one.
    pub fn new(key: Key) -> Scrubber {
        Scrubber { addresses: Addresses::new(key.clone()), key }
    }

    /// What becomes of addresses.
    pub fn addresses(&mut self) -> &mut Addresses {
        &mut self.addresses
    }

    /// The replacement of a message's bytes, of the same length. Bytes that belong to no field are
    /// replaced like text.
    pub fn message(&mut self, payload: &[u8], tree: TreeView<'_>) -> Vec<u8> {
        let mut out = Vec::with_capacity(payload.len());
        let mut key: &[u8] = &[];
        let leaves =
            tree.nodes.iter().filter(|node| node.descendants == 0 && !node.span.is_empty());
        for node in leaves {
            let start = (node.span.start as usize).min(payload.len());
            let end = (node.span.end as usize).min(payload.len());
            if start < out.len() {
                continue;
            }
            let before = payload.get(out.len()..start).unwrap_or_default();
            out.extend(texts::other(&self.key, before));
            let (text_start, text_end) = text_within(node, payload, tree, start, end);
            let text = payload.get(text_start..text_end).unwrap_or_default();
            let decoded = tree.bytes(node, payload);
            let is_address = node.field.kind == Kind::Text && decoded.len() != text.len();
            let address = is_address.then(|| self.escaped_address(decoded, text)).flatten();
            let other = address.unwrap_or_else(|| self.field(node, text, key));
            out.extend_from_slice(payload.get(start..text_start).unwrap_or_default());
            out.extend(other);
            out.extend_from_slice(payload.get(text_end..end).unwrap_or_default());
            if node.field.kind == Kind::Text && node.field.place != Place::Framing {
                // The value of a pair follows its key.
                key = if node.field.privacy == Privacy::Public { text } else { &[] };
            }
        }
        let rest = payload.get(out.len()..).unwrap_or_default();
        out.extend(texts::other(&self.key, rest));
        out
    }

    /// The replacement of a field's bytes; `key`: the key before it, if it is the value of one.
    fn field(&mut self, node: &Node, bytes: &[u8], key: &[u8]) -> Vec<u8> {
        let field = node.field;
        match field.kind {
            Kind::Endpoint => return self.address::<4>(bytes),
            Kind::Endpoint6 => return self.address::<16>(bytes),
            _ => {}
        }
        let is_text = matches!(field.kind, Kind::Text | Kind::Bytes);
        let is_private = match field.privacy {
            Privacy::ByKind => is_text && field.place != Place::Framing,
            Privacy::Public => false,
            Privacy::Private => true,
            Privacy::Value => {
                !is_public_key(key) && (self.is_address(bytes) || !is_public_value(key, bytes))
            }
        };
        match field.kind {
            _ if !is_private => bytes.to_vec(),
            Kind::Text | Kind::Bytes => self.text(bytes),
            // A number: the lower half of a Steam ID is the account.
            _ => {
                let mut numbers = self.key.numbers(NUMBER, bytes);
                let other = |(at, &byte): (usize, &u8)| {
                    if at < 4 { numbers.below(256) as u8 } else { byte }
                };
                bytes.iter().enumerate().map(other).collect()
            }
        }
    }

    /// An address whose text has escapes, such as `%3A` for a colon: its replacement has them, too.
    fn escaped_address(&mut self, decoded: &[u8], written: &[u8]) -> Option<Vec<u8>> {
        let other = self.addresses.of_text(std::str::from_utf8(decoded).ok()?)?;
        let (mut out, mut rest) = (Vec::new(), written);
        for byte in other.bytes() {
            let (first, after) = rest.split_first()?;
            if *first == b'%' {
                out.extend(format!("%{byte:02X}").bytes());
                rest = after.get(2..)?;
            } else {
                out.push(byte);
                rest = after;
            }
        }
        (out.len() == written.len()).then_some(out)
    }

    fn text(&mut self, text: &[u8]) -> Vec<u8> {
        let address = std::str::from_utf8(text).ok().and_then(|it| self.addresses.of_text(it));
        address.map_or_else(|| texts::other(&self.key, text), String::into_bytes)
    }

    fn is_address(&mut self, text: &[u8]) -> bool {
        std::str::from_utf8(text).is_ok_and(|text| self.addresses.of_text(text).is_some())
    }

    /// An address of this many bytes at the beginning of these.
    fn address<const N: usize>(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Some((address, rest)) = bytes.split_at_checked(N) else { return vec![0; bytes.len()] };
        let other = packets::address(address).map(|address| self.addresses.of(address));
        let other = other.map_or(vec![0; N], packets::octets);
        [&other[..], rest].concat()
    }
}

const NUMBER: u8 = 2;

/// The position of a field's text in its bytes, without prefix and suffix.
fn text_within(
    node: &Node,
    payload: &[u8],
    tree: TreeView<'_>,
    start: usize,
    end: usize,
) -> (usize, usize) {
    if node.field.kind != Kind::Text {
        return (start, end);
    }
    let (among, text, length) = tree.text(node, payload);
    let is_inside = std::ptr::eq(among, payload) && text >= start && text + length <= end;
    if is_inside { (text, text + length) } else { (start, end) }
}

fn is_public_key(key: &[u8]) -> bool {
    let mut listed = PUBLIC_KEYS.split_ascii_whitespace();
    listed.any(|it| it.as_bytes().eq_ignore_ascii_case(key))
}

fn is_public_value(key: &[u8], value: &[u8]) -> bool {
    let is_secret = value.len() > 1 && texts::is_secret_key(key);
    texts::is_plain_value(value) && !is_secret
}

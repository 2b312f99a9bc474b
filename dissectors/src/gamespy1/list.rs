//! The servers a master lists: as text, as blocks of six bytes, or enciphered.

use std::net::SocketAddr;

use crate::kit::{Cut, Read, Reader, Sink, Span, decode};

use super::decode::{ENDINGS, framing};
use super::words::{self, Text, Words};
use super::{fields as f, rules};

/// How a list is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Form {
    /// `\ip\ADDRESS:PORT`, over and over.
    #[default]
    Text,
    /// `\list\cmp\`: an address and a port in network order, over and over.
    Compact,
    /// `\list\groups\`: rooms, not servers.
    Groups,
    /// `\list\info2\`: servers with what they say of themselves.
    Info,
    /// The client's `\enctype\` asks for a cipher.
    Enciphered,
    /// Bytes that nothing explains.
    Unknown,
}

impl Form {
    /// The form that a request asks for: the value of its `\list\`.
    pub(super) fn asked(value: &[u8]) -> Form {
        match value {
            b"cmp" => Form::Compact,
            b"groups" => Form::Groups,
            b"info2" => Form::Info,
            _ => Form::Text,
        }
    }
}

/// What closes a list of blocks, and may be cut short by its last backslash.
const CLOSED: &[u8] = b"\\final\\";
/// Bytes of a block.
pub(super) const BLOCK: usize = 6;

/// Where the blocks of a compact list end: at a `\final` that stands where a block would, and
/// behind which nothing stands if that can be.
fn blocks_end(bytes: &[u8]) -> Option<usize> {
    let closing = [CLOSED, b"\\final"].into_iter().find(|closing| {
        bytes.ends_with(closing) && (bytes.len() - closing.len()).is_multiple_of(BLOCK)
    });
    if let Some(closing) = closing {
        return Some(bytes.len() - closing.len());
    }
    let blocks = bytes.chunks(BLOCK).enumerate().rev().map(|(i, _)| i * BLOCK);
    blocks.into_iter().find(|&at| bytes.get(at..).is_some_and(|rest| rest.starts_with(CLOSED)))
}

/// Decodes a list in blocks. Says whether it is closed.
pub(super) fn compact<S: Sink>(bytes: &[u8], sink: &mut S) -> bool {
    let end = blocks_end(bytes);
    decode(bytes, &ENDINGS, sink, |r| {
        r.leaf(&f::FORM, 0, Form::Compact as u64);
        r.open(&f::SERVERS);
        let end = end.unwrap_or(bytes.len());
        while end - r.at() >= BLOCK {
            let block = r.endpoint(&f::BLOCK)?;
            rules::list_block(block, r.sink);
        }
        r.close();
        let over = Span::new(r.at(), end);
        if !over.is_empty() && end < bytes.len() {
            rules::list_bytes_over(over, r.sink);
        }
        if over.is_empty() && end < bytes.len() {
            closing(r);
        }
        Ok(())
    });
    end.is_some()
}

/// The servers that a list names, in either form that can be read.
pub(super) fn servers(bytes: &[u8]) -> impl Iterator<Item = SocketAddr> {
    let text = bytes.starts_with(b"\\ip\\") || bytes.starts_with(b"\\final");
    let (text, blocks) = if text {
        (bytes, &[][..])
    } else {
        (&[][..], bytes.get(..blocks_end(bytes).unwrap_or(bytes.len())).unwrap_or_default())
    };
    let text = Text::new(text, 0).filter(|pair| pair.key == b"ip");
    let text = text.filter_map(|pair| std::str::from_utf8(pair.text()).ok()?.parse().ok());
    text.chain(blocks.chunks_exact(BLOCK).map(|block| {
        let address = [0, 1, 2, 3].map(|at| block.get(at).copied().unwrap_or_default());
        let port = [4, 5].map(|at| block.get(at).copied().unwrap_or_default());
        (address, u16::from_be_bytes(port)).into()
    }))
}

fn closing<S: Sink>(r: &mut Reader<'_, S>) {
    let length = if r.peek().starts_with(CLOSED) { CLOSED.len() } else { CLOSED.len() - 1 };
    let at = Span::new(r.at(), r.at() + length);
    framing(r, &f::FINAL, at, Span::new(r.at() + 1, r.at() + 6));
    let behind = Span::new(r.at(), r.at() + r.rest());
    rules::final_closes(Some(at), (!behind.is_empty()).then_some(behind), false, r.sink);
}

/// Shows a list that cannot be read.
pub(super) fn opaque<S: Sink>(bytes: &[u8], form: Form, sink: &mut S) {
    decode(bytes, &ENDINGS, sink, |r| {
        r.leaf(&f::FORM, 0, form as u64);
        r.bytes(&f::ENCIPHERED, bytes.len());
        Ok(())
    });
}

/// Decodes `\ip\ADDRESS:PORT\ip\...\final\`.
pub(super) fn text<S: Sink>(bytes: &[u8], words: &Words<'_>, sink: &mut S) {
    // Of a list without an end, what stands last may be a piece only.
    let is_cut = |at: Span| words.closed.is_none() && at.end as usize == bytes.len();
    decode(bytes, &ENDINGS, sink, |r| -> Result<(), Cut> {
        r.leaf(&f::FORM, 0, Form::Text as u64);
        r.open(&f::SERVERS);
        for pair in Text::new(bytes, 0) {
            if pair.key != b"ip" {
                let place = if pair.key.is_empty() { pair.at() } else { pair.key_at() };
                let field = match pair.key {
                    b"" => &f::BACKSLASH,
                    words::FINAL => &f::FINAL,
                    words::QUERYID => &f::QUERYID,
                    _ => &f::KEYWORD,
                };
                framing(r, field, pair.at(), place);
                continue;
            }
            let address = Read { value: pair.text(), at: pair.at() };
            framing(r, &f::ADDRESS, pair.at(), pair.value_at());
            if pair.value.is_some() && !is_cut(pair.at()) {
                rules::list_address(address, r.sink);
            }
        }
        r.close();
        Ok(())
    });
    rules::pairs(words.fault.filter(|(at, _)| !is_cut(*at)), sink);
    if words.is_sound() && words.closed.is_some() {
        rules::final_closes(words.closed, words.behind, words.numbered_behind, sink);
    }
}

/// Whether text is a dotted-decimal IPv4 address, a colon and a port from 1.
pub(super) fn is_address(text: &[u8]) -> bool {
    let Some(colon) = text.iter().position(|&byte| byte == b':') else { return false };
    let (host, port) = text.split_at(colon);
    let host =
        std::str::from_utf8(host).is_ok_and(|host| host.parse::<std::net::Ipv4Addr>().is_ok());
    host && words::decimal::<u16>(port.get(1..).unwrap_or_default()).is_some_and(|port| port > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for good in ["255.255.255.255:7778", "1.2.3.4:1", "198.51.100.10:65535"] {
            assert!(is_address(good.as_bytes()), "{good}");
        }
        for bad in [
            "",
            "1.2.3.4",
            "1.2.3.4:",
            "1.2.3.4:0",
            "1.2.3.4:65536",
            "1.2.3:7778",
            "256.1.1.1:7",
            "a:1",
            "1.2.3.4:+7",
            " 1.2.3.4:7",
        ] {
            assert!(!is_address(bad.as_bytes()), "{bad}");
        }
    }

    #[test]
    fn blocks_end_where_nothing_follows() {
        assert_eq!(blocks_end(b"\x0aM\0\x02\x1eb\\final\\"), Some(6));
        assert_eq!(blocks_end(b"\x0aM\0\x02\x1eb\\final"), Some(6));
        assert_eq!(blocks_end(b"\\final\\"), Some(0));
        assert_eq!(blocks_end(b"\\final\\final\\"), Some(6), "92.102.105.110:24940");
        assert_eq!(blocks_end(b"123456\\final\\rest"), Some(6));
        assert_eq!(blocks_end(b"12345\\final\\"), None);
        assert_eq!(blocks_end(b"123456"), None);
    }
}

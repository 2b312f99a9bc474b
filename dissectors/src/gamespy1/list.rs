//! The servers in a master's list: as text, as blocks of six bytes, or encrypted.

use std::net::SocketAddrV4;

use crate::kit::dotted::{self, DottedEndpoint};
use crate::kit::{
    CrossFlowEvent, Cut, Field, GameName, ListRules, Pair, Read, Reader, SeenMessage, Sink, Span,
    TextPlace, decode,
};

use super::ends::{CLOSED, CLOSING};
use super::form::Form;
use super::framing::{ENDINGS, framing};
use super::words::{self, TextPairs, TextProperties};
use super::{fields as f, rules};

/// A list that a master sends a client.
#[derive(Clone, Copy)]
pub(super) struct ListPlace {
    pub(super) seen: SeenMessage,
    /// The game, if the list is due to a request, and begins here.
    pub(super) game: Option<GameName>,
}

impl ListPlace {
    /// The servers were decoded. `is_closed`: to the end of the list.
    fn listed<S: Sink>(self, is_closed: bool, sink: &mut S) {
        let registered = self.game.filter(|_| is_closed).map(|game| (&rules::GS1027, game));
        let rules = ListRules { queried: &rules::GS1032, registered, filtered: None };
        sink.cross_flow(CrossFlowEvent::Listed(rules), self.seen);
    }
}

/// Bytes of a block.
pub(super) const BLOCK: usize = 6;

/// The end of the blocks of a compact list: a `\final\` at the start of a block, if possible at the
/// end of the bytes; else one at the end of the bytes, after a part of a block.
fn blocks_end(bytes: &[u8]) -> Option<usize> {
    let closing = [CLOSED, CLOSING].into_iter().find(|closing| {
        bytes.ends_with(closing) && (bytes.len() - closing.len()).is_multiple_of(BLOCK)
    });
    if let Some(closing) = closing {
        return Some(bytes.len() - closing.len());
    }
    let mut blocks = bytes.chunks(BLOCK).enumerate().rev().map(|(i, _)| i * BLOCK);
    let inside = blocks.find(|&at| bytes.get(at..).is_some_and(|rest| rest.starts_with(CLOSED)));
    inside.or_else(|| Some(bytes.strip_suffix(CLOSED)?.len()))
}

/// Whether it consists of blocks and their end, which encrypted data does not.
pub(super) fn are_closed_blocks(bytes: &[u8]) -> bool {
    let blocks = [CLOSED, CLOSING].into_iter().find_map(|closing| bytes.strip_suffix(closing));
    blocks.is_some_and(|blocks| blocks.len().is_multiple_of(BLOCK))
}

/// Decodes a list in blocks. `place`: the receiver of the servers, if known. Returns whether it is
/// closed.
pub(super) fn compact<S: Sink>(bytes: &[u8], place: Option<ListPlace>, sink: &mut S) -> bool {
    let end = blocks_end(bytes);
    let is_closed = end.is_some();
    decode(bytes, &ENDINGS, sink, |r| {
        r.leaf(&f::FORM, 0, Form::Compact as u64);
        r.open(&f::SERVERS);
        let (start, end) = (r.at(), end.unwrap_or(bytes.len()));
        let mut servers = rules::UsableServers::default();
        while end - r.at() >= BLOCK {
            let block = r.endpoint(&f::BLOCK)?;
            rules::list_block(block, r.sink);
            let [a, b, c, d, high, low] = block.value;
            let server = ([a, b, c, d], u16::from_be_bytes([high, low])).into();
            r.sink.listed(server);
            servers.add(server, block.at, r.sink);
        }
        servers.end(r.sink);
        if let Some(place) = place {
            place.listed(is_closed, r.sink);
        }
        r.close();
        r.leaf(&f::SERVER_COUNT, 0, ((r.at() - start) / BLOCK) as u64);
        let over = Span::new(r.at(), end);
        if !over.is_empty() && end < bytes.len() {
            rules::list_bytes_over(over, r.sink);
            r.bytes(Field::UNPARSED, over.len() as usize);
            closing(r);
        }
        if over.is_empty() && end < bytes.len() {
            r.leaf(&f::WHOLE, 0, true.into());
            closing(r);
        }
        Ok(())
    });
    is_closed
}

fn closing<S: Sink>(r: &mut Reader<'_, S>) {
    let length = if r.peek().starts_with(CLOSED) { CLOSED.len() } else { CLOSED.len() - 1 };
    let at = Span::new(r.at(), r.at() + length);
    framing(r, &f::FINAL, at, Span::new(r.at() + 1, r.at() + 6));
    let after = Span::new(r.at(), r.at() + r.rest());
    rules::final_closes(Some(at), (!after.is_empty()).then_some(after), false, r.sink);
}

/// Shows a list that cannot be read.
pub(super) fn opaque<S: Sink>(bytes: &[u8], form: Form, sink: &mut S) {
    decode(bytes, &ENDINGS, sink, |r| {
        r.leaf(&f::FORM, 0, form as u64);
        r.bytes(&f::ENCIPHERED, bytes.len());
        Ok(())
    });
}

/// The key of each address of a list in text.
pub(super) const KEY: &[u8] = b"ip";
/// The same, with the backslashes around it.
pub(super) const OPENING: &[u8; 4] = b"\\ip\\";

/// Whether bytes that begin like a list in text are blocks: 92.105.112.92 is an address, too.
pub(super) fn is_blocks(bytes: &[u8]) -> bool {
    let Some(address) = bytes.strip_prefix(OPENING) else { return false };
    let digits = address.iter().take(3).take_while(|byte| byte.is_ascii_digit()).count();
    match address.get(digits) {
        None => false,
        Some(b'.') => digits == 0,
        Some(_) => true,
    }
}

/// Decodes `\ip\ADDRESS:PORT\ip\...\final\`. `place`: the receiver of the servers, if known. Returns
/// the words of the text.
pub(super) fn text<'a, S: Sink>(
    bytes: &'a [u8],
    place: Option<ListPlace>,
    sink: &mut S,
) -> TextProperties<'a> {
    let mut words = TextProperties::default();
    decode(bytes, &ENDINGS, sink, |r| -> Result<(), Cut> {
        r.leaf(&f::FORM, 0, Form::Text as u64);
        r.open(&f::SERVERS);
        let mut pairs = TextPairs::new(bytes, 0);
        let (mut servers, mut count) = (rules::UsableServers::default(), 0);
        loop {
            count += u64::from(usual_servers(r, &mut pairs, &mut words, &mut servers));
            let Some(pair) = pairs.next() else { break };
            words.add_pair(&pair, pairs);
            if pair.key == KEY {
                count += 1;
                other_server(r, &pair, is_cut(bytes, &words, pair.at()), &mut servers);
            } else {
                keyword(r, &pair);
            }
        }
        servers.end(r.sink);
        r.close();
        r.leaf(&f::SERVER_COUNT, 0, count);
        if words.closed.is_some() {
            r.leaf(&f::WHOLE, 0, true.into());
        }
        if let Some(place) = place {
            place.listed(words.closed.is_some(), r.sink);
        }
        Ok(())
    });
    rules::pairs(words.first_fault().filter(|(at, _)| !is_cut(bytes, &words, *at)), sink);
    if words.is_sound() && words.closed.is_some() {
        rules::final_closes(words.closed, words.after, words.numbered_after, sink);
    }
    words
}

/// Whether a pair may be incomplete: it is the last one in a list without an end.
fn is_cut(bytes: &[u8], words: &TextProperties<'_>, at: Span) -> bool {
    words.closed.is_none() && at.end as usize == bytes.len()
}

/// The next servers in the usual spelling. Returns how many there are.
fn usual_servers<'a, S: Sink>(
    r: &mut Reader<'_, S>,
    pairs: &mut TextPairs<'a>,
    words: &mut TextProperties<'a>,
    servers: &mut rules::UsableServers,
) -> u32 {
    let (text, start) = (pairs.rest(), pairs.at());
    let are_shown = r.sink.keeps_fields();
    let (read, found) = dotted::each(text, OPENING, b':', |begin, bytes, endpoint| {
        let (server, length) = usual_server(bytes, endpoint)?;
        let at = Span::new(start + begin, start + begin + length);
        if are_shown {
            let address = Span { start: at.start + OPENING.len() as u32, ..at };
            r.sink.leaf(&f::ADDRESS, at, TextPlace::at(address).value());
        }
        r.sink.listed(server.into());
        servers.add(server.into(), at, r.sink);
        Some(length)
    });
    if found == 0 {
        return 0;
    }
    r.seek(start + read);
    pairs.skip_to(read);
    words.hear_properties(KEY, found, Span::new(start, pairs.at()));
    let is_cut = pairs.rest().is_empty() && words.closed.is_none();
    rules::list_addresses(found - u32::from(is_cut), r.sink);
    found
}

/// The server at the start of `bytes`, [`OPENING`] and an endpoint, up to the next backslash or the
/// end, and its length: a port is from 1 to 65535. `None`: another spelling.
#[inline(always)]
fn usual_server(bytes: &[u8], endpoint: &DottedEndpoint) -> Option<(SocketAddrV4, usize)> {
    let end = OPENING.len() + endpoint.end;
    if !matches!(bytes.get(end), None | Some(b'\\')) {
        return None;
    }
    let port = u16::try_from(endpoint.number).ok().filter(|&port| port > 0)?;
    Some((SocketAddrV4::new(endpoint.address, port), end))
}

/// A server in another spelling. `is_cut`: it may be incomplete.
fn other_server<S: Sink>(
    r: &mut Reader<'_, S>,
    pair: &Pair<'_>,
    is_cut: bool,
    servers: &mut rules::UsableServers,
) {
    framing(r, &f::ADDRESS, pair.at(), pair.value_at());
    let text = std::str::from_utf8(pair.text()).ok();
    if let Some(server) = text.and_then(|text| text.parse().ok()) {
        r.sink.listed(server);
        if !is_cut {
            servers.add(server, pair.at(), r.sink);
        }
    }
    if pair.value.is_some() && !is_cut {
        rules::list_address(Read { value: pair.text(), at: pair.at() }, r.sink);
    }
}

fn keyword<S: Sink>(r: &mut Reader<'_, S>, pair: &Pair<'_>) {
    let place = if pair.key.is_empty() { pair.at() } else { pair.key_at() };
    let field = match pair.key {
        b"" => &f::BACKSLASH,
        words::FINAL => &f::FINAL,
        words::QUERYID => &f::QUERYID,
        _ => &f::KEYWORD,
    };
    framing(r, field, pair.at(), place);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use std::net::SocketAddr;

    use crate::kit::{Mark, Rule, Side, Time};

    use super::super::words::is_address;
    use super::*;

    /// The reported servers, and how often GS1015 passed and failed.
    #[derive(Debug, Default, PartialEq, Eq)]
    struct Reported {
        servers: Vec<SocketAddr>,
        /// They were reported as a list.
        listed: bool,
        checked: [u32; 2],
    }

    impl Sink for Reported {
        fn checked(&mut self, rule: &'static Rule, ok: bool, _: Span, _: impl FnOnce() -> String) {
            if rule == &rules::GS1015 {
                self.checked[usize::from(ok)] += 1;
            }
        }

        fn listed(&mut self, server: SocketAddr) {
            assert!(!self.listed);
            self.servers.push(server);
        }

        fn cross_flow(&mut self, event: CrossFlowEvent, _: SeenMessage) {
            let CrossFlowEvent::Listed(rules) = event else { panic!("{event:?}") };
            assert_eq!(rules.queried.code, rules::GS1032.code);
            self.listed = true;
        }
    }

    fn place() -> ListPlace {
        let mark = Mark { frame: 1, time: Time(0), length: 0, side: Side::First };
        let end = ([192, 0, 2, 1], 28900).into();
        ListPlace { seen: SeenMessage { mark, from: end, to: end }, game: None }
    }

    /// The result of reading pair by pair.
    fn pair_by_pair(bytes: &[u8]) -> Reported {
        let mut reported = Reported { listed: true, ..Reported::default() };
        let is_closed = words::scan(bytes).closed.is_some();
        for pair in TextPairs::new(bytes, 0).filter(|pair| pair.key == KEY) {
            let text = std::str::from_utf8(pair.text()).unwrap();
            reported.servers.extend(text.parse::<SocketAddr>());
            if pair.value.is_some() && (is_closed || (pair.at().end as usize) < bytes.len()) {
                reported.checked[usize::from(is_address(pair.text()))] += 1;
            }
        }
        reported
    }

    #[test]
    fn listed_servers_are_reported_with_the_receiver() {
        let text = br"\ip\1.2.3.4:5\ip\1.2.3.4:0\ip\[::1]:7\ip\1.2.3.4\ip\10.0.0.2:08000\final\";
        let mut reported = Reported::default();
        super::text(text, Some(place()), &mut reported);
        let servers = ["1.2.3.4:5", "1.2.3.4:0", "[::1]:7", "10.0.0.2:8000"];
        assert_eq!(reported.servers, servers.map(|server| server.parse().unwrap()));
        assert_eq!(reported.checked, [3, 2]);
        let mut reported = Reported::default();
        super::text(text, None, &mut reported);
        assert_eq!((reported.servers.len(), reported.listed, reported.checked), (4, false, [3, 2]));

        let blocks = b"\x0a\0\0\x02\x1e\x62\x0a\0\0\x03\0\0\\final\\";
        let mut reported = Reported::default();
        assert!(compact(blocks, Some(place()), &mut reported));
        assert_eq!(reported.servers, ["10.0.0.2:7778", "10.0.0.3:0"].map(|it| it.parse().unwrap()));
        let mut reported = Reported::default();
        assert!(compact(blocks, None, &mut reported));
        assert_eq!((reported.servers.len(), reported.listed, reported.checked), (2, false, [1, 1]));
    }

    fn first_usual(bytes: &[u8]) -> Option<(SocketAddrV4, usize)> {
        let mut first = None;
        dotted::each(bytes, OPENING, b':', |_, bytes, endpoint| {
            first = usual_server(bytes, endpoint);
            None
        });
        first
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_walk_from_pair_to_pair_tells_the_same(
            text in concat!(
                r"(\\ip\\([1-9]{1,3}[.]0[.]2[.][1-9]{1,2}:([1-9]{1,5}|0*80))|",
                r"\\ip\\(::1|\[::1\]:7|1[.]2)?|\\ip|\\final|\\queryid\\1[.]1|\\|x){0,12}",
            ),
        ) {
            let mut reported = Reported::default();
            let heard = super::text(text.as_bytes(), Some(place()), &mut reported);
            prop_assert_eq!(reported, pair_by_pair(text.as_bytes()));
            let scanned = words::scan(text.as_bytes());
            prop_assert_eq!(heard.first, scanned.first);
            prop_assert_eq!(heard.properties, scanned.properties);
            prop_assert_eq!((heard.closed, heard.after), (scanned.closed, scanned.after));
            prop_assert_eq!((heard.fault, heard.open_key), (scanned.fault, scanned.open_key));
            prop_assert_eq!(heard.numbered_after, scanned.numbered_after);
        }

        #[test]
        fn a_usual_server_is_one_by_a_closer_look(
            text in concat!(
                r"[0-9]{1,3}[.][0-9]{1,3}[.]25[3-7][.][0-9]{1,3}",
                r"[:.]?[:;]?[0-9]{0,7}[0-9 .:\x00]?",
            ),
        ) {
            let server = text.parse().ok().filter(|_| is_address(text.as_bytes()));
            let digits = text.rsplit(':').next().unwrap_or_default().len();
            let expected = server.filter(|_| digits <= 7).map(|server| (server, 4 + text.len()));
            let text = format!("\\ip\\{text}");
            prop_assert_eq!(first_usual(text.as_bytes()), expected);
            let after = format!("{text}\\ip\\");
            prop_assert_eq!(first_usual(after.as_bytes()), expected);
        }

        #[test]
        fn what_programs_write_is_usual(address: u32, port in 1_u16..) {
            let server = SocketAddrV4::new(address.into(), port);
            let text = format!("\\ip\\{server}");
            prop_assert_eq!(first_usual(text.as_bytes()), Some((server, text.len())));
        }
    }

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
    fn blocks_end_at_the_end_of_the_data() {
        assert_eq!(blocks_end(b"\x0aM\0\x02\x1eb\\final\\"), Some(6));
        assert_eq!(blocks_end(b"\x0aM\0\x02\x1eb\\final"), Some(6));
        assert_eq!(blocks_end(b"\\final\\"), Some(0));
        assert_eq!(blocks_end(b"\\final\\final\\"), Some(6), "92.102.105.110:24940");
        assert_eq!(blocks_end(b"123456\\final\\rest"), Some(6));
        assert_eq!(blocks_end(b"12345\\final\\"), Some(5), "not whole blocks");
        assert_eq!(blocks_end(b"123456123\\final\\"), Some(9));
        assert_eq!(blocks_end(b"12345\\final"), None);
        assert_eq!(blocks_end(b"123456"), None);
    }
}

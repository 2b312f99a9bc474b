//! The response to `/c`: lines of a file that the game client executes, with flags, the latest
//! version and the servers.

use std::net::{IpAddr, SocketAddr};

use crate::kit::dotted::{self, DottedEndpoint};
use crate::kit::{Field, Reader, Sink, Span, TextPlace};

use super::fields::*;
use super::lines::{BodyState, Line, lines, newline};
use super::params::{address, decimal};
use super::rules;

/// A word of a line, and its span.
#[derive(Clone, Copy, Debug)]
struct LineWord<'a> {
    text: &'a [u8],
    at: Span,
}

/// The words of a line. The first one is the keyword.
fn words<'a>(line: &Line<'a>) -> impl Iterator<Item = LineWord<'a>> {
    let start = line.at.start as usize;
    let mut at = start;
    let words = line.text.split(|&byte| byte == b' ').map(move |text| {
        let word = LineWord { text, at: Span::new(at, at + text.len()) };
        at += text.len() + 1;
        word
    });
    words.filter(|word| !word.text.is_empty())
}

fn keyword<'a>(line: &Line<'a>) -> &'a [u8] {
    words(line).next().map(|word| word.text).unwrap_or_default()
}

const SERVER_LINE: &[u8] = b"addserver";
/// Its usual beginning.
const OPENING: &[u8; 10] = b"addserver ";
/// The port of a server line without one.
pub(super) const USUAL_PORT: u16 = 28770;
/// The maximum port of a server line.
const MOST_PORT: u64 = 65534;

fn is_server(line: &Line<'_>) -> bool {
    line.text.starts_with(OPENING) || keyword(line) == SERVER_LINE
}

/// A server line in the usual spelling, with single spaces between its words. Offsets of the words'
/// ends count from the start of the line.
struct UsualServerLine {
    address_end: usize,
    port: u32,
    port_end: usize,
    weight: Option<u32>,
    /// Without the newline.
    end: usize,
}

impl UsualServerLine {
    /// The line at the start of `bytes`, [`OPENING`] and an endpoint. `None`: another spelling.
    #[inline(always)]
    fn of(bytes: &[u8], endpoint: &DottedEndpoint) -> Option<UsualServerLine> {
        let address_end = OPENING.len() + endpoint.address_end;
        let (port, port_end) = (endpoint.number, OPENING.len() + endpoint.end);
        let (weight, end) = match bytes.get(port_end..)? {
            [b'\n', ..] => (None, port_end),
            // Most weights have one digit.
            [b' ', digit @ b'0'..=b'9', b'\n', ..] => (Some((digit - b'0').into()), port_end + 2),
            [b' ', weight @ ..] => {
                let (weight, digits) = dotted::number(weight)?;
                (Some(weight), port_end + 1 + digits)
            }
            _ => return None,
        };
        let is_sound = u64::from(port) <= MOST_PORT && bytes.get(end) == Some(&b'\n');
        is_sound.then_some(UsualServerLine { address_end, port, port_end, weight, end })
    }

    /// The length of the line with its end.
    fn whole(&self) -> usize {
        self.end + 1
    }

    /// Reports the line at `start`, from the known ends of its words.
    #[inline(always)]
    fn show<S: Sink>(&self, start: usize, sink: &mut S) {
        let at = |from, to| Span::known(start + from, start + to);
        let keyword = at(0, SERVER_LINE.len());
        let address = at(OPENING.len(), self.address_end);
        let keyword = (&KEYWORD, keyword, TextPlace::at(keyword).value());
        let address_at = at(SERVER_LINE.len(), self.address_end);
        let address = (&ADDRESS, address_at, TextPlace::at(address).value());
        let port = (&PORT, at(self.address_end, self.port_end), self.port.into());
        let newline = (&NEWLINE, at(self.end, self.whole()), 0);
        let line = at(0, self.whole());
        match self.weight {
            Some(weight) => {
                let weight = (&WEIGHT, at(self.port_end, self.end), weight.into());
                sink.group(&SERVER, line, [keyword, address, port, weight, newline]);
            }
            None => sink.group(&SERVER, line, [keyword, address, port, newline]),
        }
    }
}

/// Decodes the lines. All servers are one list; other lines among them come after it. An incomplete
/// last line is not decoded.
pub(super) fn read<S: Sink>(r: &mut Reader<'_, S>, checked: bool, state: BodyState) {
    let BodyState { is_cut, is_whole, .. } = state;
    let (bytes, start) = (r.peek(), r.at());
    let whole =
        if is_cut { memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1) } else { bytes.len() };
    let end = start + whole;
    let mut others = OtherLines { checked, ..OtherLines::default() };
    let whole_lines = |at: usize| bytes.get(at - start..whole).unwrap_or_default();
    while let Some(line) = lines(whole_lines(r.at()), r.at()).next().filter(|line| !is_server(line))
    {
        others.read(r, &line);
    }
    let (list, first) = (whole_lines(r.at()), r.at());
    r.open(&SERVERS);
    let found = server_lines(r, list, first, checked);
    if checked {
        rules::server_lines(found.usual, r.sink);
    }
    r.close();
    r.leaf(&SERVER_COUNT, 0, found.count);
    if found.others {
        for line in lines(list, first).filter(|line| !is_server(line)) {
            r.seek(line.at.start as usize);
            others.read(r, &line);
        }
    }
    if checked && !others.flags {
        rules::flags_missing(Span::new(start, end), r.sink);
    }
    r.seek(end);
    if r.rest() > 0 {
        r.text_of(&LINE, r.rest());
    }
    // A page of something else is no list.
    if !is_cut && (others.flags || !is_whole) {
        r.leaf(&WHOLE, 0, is_whole.into());
    }
    if checked && is_cut {
        rules::lines_lost(Span::new(end, r.at()), r.sink);
    }
}

/// The contents of a list of servers.
#[derive(Default)]
struct ListContents {
    /// The number of servers in the usual spelling, which are still to be checked.
    usual: u32,
    /// The number of all servers.
    count: u64,
    /// There are invalid lines among them.
    others: bool,
}

/// The server lines among those at `at`.
fn server_lines<S: Sink>(
    r: &mut Reader<'_, S>,
    mut rest: &[u8],
    mut at: usize,
    checked: bool,
) -> ListContents {
    let mut found = ListContents::default();
    let are_shown = r.sink.keeps_fields();
    loop {
        let (length, usual) = dotted::each(rest, OPENING, b' ', |begin, bytes, endpoint| {
            let server = UsualServerLine::of(bytes, endpoint)?;
            if are_shown {
                server.show(at + begin, r.sink);
            }
            listed(endpoint.address.into(), server.port.into(), r.sink);
            Some(server.whole())
        });
        if usual > 0 {
            found.usual += usual;
            found.count += u64::from(usual);
            rest = rest.get(length..).unwrap_or_default();
            at += length;
            r.seek(at);
        }
        let Some(line) = lines(rest, at).next() else { break };
        if is_server(&line) {
            r.seek(at);
            server_line(r, &line, checked);
            found.count += 1;
        } else {
            found.others = true;
        }
        rest = rest.get(line.whole..).unwrap_or_default();
        at += line.whole;
    }
    found
}

/// Reports the server of a line.
#[inline(always)]
fn listed<S: Sink>(address: IpAddr, port: u64, sink: &mut S) {
    if let Ok(port) = u16::try_from(port) {
        sink.listed(SocketAddr::new(address, port));
    }
}

/// The lines that are not servers.
#[derive(Default)]
struct OtherLines {
    checked: bool,
    /// The flags were reported.
    flags: bool,
    /// The version was reported.
    version: bool,
}

impl OtherLines {
    /// The line at this place.
    fn read<S: Sink>(&mut self, r: &mut Reader<'_, S>, line: &Line<'_>) {
        match keyword(line) {
            b"masterserver_flags" if !self.flags => {
                self.flags = true;
                flags_line(r, line, self.checked);
            }
            b"current_version" if !self.version => {
                self.version = true;
                version_line(r, line, self.checked);
            }
            _ => other_line(r, line, self.checked),
        }
    }
}

/// A word and the spaces before it.
fn word<S: Sink>(r: &mut Reader<'_, S>, field: &'static Field, word: &LineWord<'_>) {
    let length = (word.at.end as usize).saturating_sub(r.at());
    r.text_in(field, length, word.at);
}

/// A number, or the text in its place.
fn number<S: Sink>(
    r: &mut Reader<'_, S>,
    field: &'static Field,
    as_text: &'static Field,
    value: Option<u64>,
    at: &LineWord<'_>,
) {
    match value {
        Some(value) => {
            r.leaf(field, (at.at.end as usize).saturating_sub(r.at()), value);
        }
        None => word(r, as_text, at),
    }
}

/// The rest of the line after its known words, and its end.
fn finish<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>) {
    let left = (line.at.end as usize).saturating_sub(r.at());
    if left > 0 {
        r.text_of(&LINE, left);
    }
    newline(r, line);
}

fn flags_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, checked: bool) {
    let mut words = words(line);
    let (Some(name), value) = (words.next(), words.next()) else { return };
    let surplus = words.next().is_some();
    word(r, &KEYWORD, &name);
    let flags = value.and_then(|value| decimal(value.text));
    if let Some(value) = value {
        number(r, &FLAGS, &FLAGS_TEXT, flags, &value);
    }
    finish(r, line);
    if checked {
        let sound = flags.filter(|&flags| flags <= u16::MAX.into() && !surplus);
        rules::flags_line(line.text, sound.is_some(), line.at, r.sink);
        if let (Some(flags), Some(value)) = (sound, value) {
            rules::flags_reserved(flags, value.at, r.sink);
        }
    }
}

fn version_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, checked: bool) {
    let mut words = words(line);
    let Some(name) = words.next() else { return };
    let (version, protocol) = (words.next(), words.next());
    let surplus = words.next().is_some();
    word(r, &KEYWORD, &name);
    let mut sound = !surplus;
    for (value, field, as_text) in
        [(version, &VERSION, &VERSION_TEXT), (protocol, &PROTOCOL, &PROTOCOL_TEXT)]
    {
        let read = value.and_then(|value| decimal(value.text));
        sound &= read.is_some_and(|read| read <= u32::MAX.into());
        if let Some(value) = value {
            number(r, field, as_text, read, &value);
        }
    }
    finish(r, line);
    if checked {
        rules::version_line(line.text, sound, line.at, r.sink);
    }
}

fn server_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, checked: bool) {
    let mut words = words(line);
    let Some(name) = words.next() else { return };
    let (host, port, weight) = (words.next(), words.next(), words.next());
    let mut fault = words.next().map(|_| "has too many words");
    r.open(&SERVER);
    word(r, &KEYWORD, &name);
    match host {
        Some(host) => {
            word(r, &ADDRESS, &host);
            let port = port.map_or(Some(USUAL_PORT.into()), |port| decimal(port.text));
            match (address(host.text), port) {
                (None, _) => fault = Some("has no IPv4 or IPv6 address"),
                (Some(address), Some(port)) => listed(address, port, r.sink),
                (Some(_), None) => {}
            }
        }
        None => fault = Some("has no address"),
    }
    if let Some(port) = port {
        let value = decimal(port.text);
        number(r, &PORT, &PORT_TEXT, value, &port);
        if value.is_none_or(|value| value > MOST_PORT) {
            fault = fault.or(Some("has a port that is not from 0 to 65534"));
        }
    }
    if let Some(weight) = weight {
        let value = std::str::from_utf8(weight.text).ok().and_then(|text| text.parse().ok());
        number(r, &WEIGHT, &WEIGHT_TEXT, value.map(|value: i32| value as i64 as u64), &weight);
        if value.is_none() {
            fault = fault.or(Some("has a weight that is not a 32-bit integer"));
        }
    }
    finish(r, line);
    r.close();
    if checked {
        rules::addserver_line(line.text, fault, line.at, r.sink);
        rules::line_known(None, line.at, r.sink);
    }
}

fn other_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, checked: bool) {
    finish(r, line);
    if checked && !line.text.trim_ascii().is_empty() {
        rules::line_known(Some(line.text), line.at, r.sink);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::kit::http::ENDINGS;
    use crate::kit::{Rule, Tree, decode};

    use super::*;

    /// The fields of a line: name, span, value.
    fn fields(line: &[u8], show: impl FnOnce(&mut Reader<'_, Tree>)) -> Vec<(&str, Span, u64)> {
        let mut tree = Tree::default();
        decode(line, &ENDINGS, &mut tree, |r| {
            show(r);
            Ok(())
        });
        tree.nodes().iter().map(|node| (node.field.name, node.span, node.value)).collect()
    }

    /// How often rules failed and passed.
    #[derive(Default)]
    struct CheckCounts([u32; 2]);

    impl Sink for CheckCounts {
        fn checked(&mut self, _: &'static Rule, ok: bool, _: Span, _: impl FnOnce() -> String) {
            self.0[usize::from(ok)] += 1;
        }
    }

    fn checked(line: &[u8], show: impl FnOnce(&mut Reader<'_, CheckCounts>)) -> [u32; 2] {
        let mut sink = CheckCounts::default();
        decode(line, &ENDINGS, &mut sink, |r| {
            show(r);
            Ok(())
        });
        sink.0
    }

    fn first_usual(bytes: &[u8]) -> Option<UsualServerLine> {
        let mut first = None;
        dotted::each(bytes, OPENING, b' ', |_, bytes, endpoint| {
            first = UsualServerLine::of(bytes, endpoint);
            None
        });
        first
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn a_usual_line_is_shown_and_checked_as_by_a_closer_look(
            text in concat!(
                r"addserver [1-9]{1,2}[.]0[.]25[3-6][.][1-9]{1,3}",
                r" [0-9]{1,5}( [0-9]{1,7})?[ \r]?\n",
            ),
        ) {
            let bytes = text.as_bytes();
            let line = lines(bytes, 0).next().unwrap();
            let closer = checked(bytes, |r| server_line(r, &line, true));
            match first_usual(bytes) {
                Some(usual) => {
                    prop_assert_eq!(usual.whole(), bytes.len());
                    let shown = fields(bytes, |r| {
                        usual.show(0, r.sink);
                        r.seek(usual.whole());
                    });
                    prop_assert_eq!(shown, fields(bytes, |r| server_line(r, &line, false)));
                    prop_assert_eq!(closer, [0, 2]);
                }
                None => {
                    let ends_oddly = text.ends_with(" \n") || text.ends_with("\r\n");
                    prop_assert!(ends_oddly || closer != [0, 2]);
                }
            }
        }
    }

    #[test]
    fn lists_of_masters_have_the_usual_form() {
        let ends = |line: &str| {
            let usual = first_usual(line.as_bytes())?;
            Some((usual.address_end, usual.port, usual.port_end, usual.weight, usual.whole()))
        };
        let line = "addserver 10.0.0.2 28770 1\naddserver";
        assert_eq!(ends(line), Some((18, 28770, 24, Some(1), 27)));
        assert_eq!(ends("addserver 10.0.0.2 0\n"), Some((18, 0, 20, None, 21)));
        for other in [
            "addserver 10.0.0.2\n",
            "addserver 10.0.0.2 28770",
            "addserver 10.0.0.2 28770\r\n",
            "addserver 10.0.0.2 65535\n",
            "addserver 10.0.0.2 28770 -1\n",
            "addserver 10.0.0.2 28770 1 1\n",
            "addserver 10.0.0.2 28770 \n",
            "addserver  10.0.0.2 28770\n",
            "addserver 10.0.0.2  28770\n",
            "addserver 2001:db8::2 28770\n",
            "addserver",
            "",
        ] {
            assert_eq!(ends(other), None, "{other:?}");
        }
    }
}

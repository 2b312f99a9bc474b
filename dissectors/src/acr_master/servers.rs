//! `/c`: the lines of a file that the game client runs: flags, the latest version, the servers.

use crate::kit::{Field, Reader, Sink, Span};

use super::fields::*;
use super::params::{address, decimal};
use super::response::{Line, lines, newline};
use super::rules;

/// A word of a line, and where it stands.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a [u8],
    at: Span,
}

/// The words of a line. The first one is the keyword.
fn words<'a>(line: &Line<'a>) -> impl Iterator<Item = Word<'a>> {
    let start = line.at.start as usize;
    let mut at = start;
    let words = line.text.split(|&byte| byte == b' ').map(move |text| {
        let word = Word { text, at: Span::new(at, at + text.len()) };
        at += text.len() + 1;
        word
    });
    words.filter(|word| !word.text.is_empty())
}

fn keyword<'a>(line: &Line<'a>) -> &'a [u8] {
    words(line).next().map(|word| word.text).unwrap_or_default()
}

const SERVER_LINE: &[u8] = b"addserver";

/// Decodes the lines: first all that are no server, then the servers, as one list wherever they
/// stand.
pub(super) fn read<S: Sink>(r: &mut Reader<'_, S>, judged: bool) {
    let (bytes, start) = (r.peek(), r.at());
    let (mut flags, mut version) = (false, false);
    let (mut first, mut last) = (None, start + bytes.len());
    for line in lines(bytes, start) {
        let at = line.at.start as usize;
        r.seek(at);
        match keyword(&line) {
            SERVER_LINE => {
                first = first.or(Some(at));
                last = at + line.whole;
            }
            b"masterserver_flags" if !flags => {
                flags = true;
                flags_line(r, &line, judged);
            }
            b"current_version" if !version => {
                version = true;
                version_line(r, &line, judged);
            }
            _ => other_line(r, &line, judged),
        }
    }
    if judged && !flags {
        rules::flags_missing(Span::new(start, start + bytes.len()), r.sink);
    }
    r.seek(first.unwrap_or(last));
    r.open(&SERVERS);
    for line in lines(bytes, start).filter(|line| keyword(line) == SERVER_LINE) {
        r.seek(line.at.start as usize);
        server_line(r, &line, judged);
    }
    r.seek(last);
    r.close();
    r.seek(start + bytes.len());
}

/// A word and the spaces before it.
fn word<S: Sink>(r: &mut Reader<'_, S>, field: &'static Field, word: &Word<'_>) {
    let length = (word.at.end as usize).saturating_sub(r.at());
    r.text_in(field, length, word.at);
}

/// A number, or the text that stands in its place.
fn number<S: Sink>(
    r: &mut Reader<'_, S>,
    (field, as_text): (&'static Field, &'static Field),
    value: Option<u64>,
    at: &Word<'_>,
) {
    match value {
        Some(value) => {
            r.leaf(field, (at.at.end as usize).saturating_sub(r.at()), value);
        }
        None => word(r, as_text, at),
    }
}

/// What stands behind the words that mean something, and the end of the line.
fn finish<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>) {
    let left = (line.at.end as usize).saturating_sub(r.at());
    if left > 0 {
        r.text_of(&LINE, left);
    }
    newline(r, line);
}

fn flags_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, judged: bool) {
    let mut words = words(line);
    let (Some(name), value) = (words.next(), words.next()) else { return };
    let surplus = words.next().is_some();
    word(r, &KEYWORD, &name);
    let flags = value.and_then(|value| decimal(value.text));
    if let Some(value) = value {
        number(r, (&FLAGS, &FLAGS_TEXT), flags, &value);
    }
    finish(r, line);
    if judged {
        let sound = flags.filter(|&flags| flags <= u16::MAX.into() && !surplus);
        rules::flags_line(line.text, sound.is_some(), line.at, r.sink);
        if let (Some(flags), Some(value)) = (sound, value) {
            rules::flags_reserved(flags, value.at, r.sink);
        }
    }
}

fn version_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, judged: bool) {
    let mut words = words(line);
    let Some(name) = words.next() else { return };
    let (version, protocol) = (words.next(), words.next());
    let surplus = words.next().is_some();
    word(r, &KEYWORD, &name);
    let mut sound = !surplus;
    for (value, fields) in
        [(version, (&VERSION, &VERSION_TEXT)), (protocol, (&PROTOCOL, &PROTOCOL_TEXT))]
    {
        let read = value.and_then(|value| decimal(value.text));
        sound &= read.is_some_and(|read| read <= u32::MAX.into());
        if let Some(value) = value {
            number(r, fields, read, &value);
        }
    }
    finish(r, line);
    if judged {
        rules::version_line(line.text, sound, line.at, r.sink);
    }
}

fn server_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, judged: bool) {
    let mut words = words(line);
    let Some(name) = words.next() else { return };
    let (host, port, weight) = (words.next(), words.next(), words.next());
    let mut fault = words.next().map(|_| "has too many words");
    r.open(&SERVER);
    word(r, &KEYWORD, &name);
    match host {
        Some(host) => {
            word(r, &ADDRESS, &host);
            if address(host.text).is_none() {
                fault = Some("has no IPv4 or IPv6 address");
            }
        }
        None => fault = Some("has no address"),
    }
    if let Some(port) = port {
        let value = decimal(port.text);
        number(r, (&PORT, &PORT_TEXT), value, &port);
        if value.is_none_or(|value| value > 65534) {
            fault = fault.or(Some("has a port that is none from 0 to 65534"));
        }
    }
    if let Some(weight) = weight {
        let value = std::str::from_utf8(weight.text).ok().and_then(|text| text.parse().ok());
        number(r, (&WEIGHT, &WEIGHT_TEXT), value.map(|value: i32| value as i64 as u64), &weight);
        if value.is_none() {
            fault = fault.or(Some("has a weight that is no 32-bit integer"));
        }
    }
    finish(r, line);
    r.close();
    if judged {
        rules::addserver_line(line.text, fault, line.at, r.sink);
        rules::line_known(None, line.at, r.sink);
    }
}

fn other_line<S: Sink>(r: &mut Reader<'_, S>, line: &Line<'_>, judged: bool) {
    finish(r, line);
    if judged && !line.text.trim_ascii().is_empty() {
        rules::line_known(Some(line.text), line.at, r.sink);
    }
}

//! HTTP, for protocols that are carried by it: the beginning of a message and its end.
//!
//! `httparse` reads the headers; the length of the body follows from them, see RFC 9112 section 6.

mod fields;
mod head;
mod kept;

use std::borrow::Cow;

pub(crate) use fields::*;
pub(crate) use head::{ENDINGS, accepts_codings, headers, line, values, word};
pub(crate) use kept::is_known_word;

use crate::kit::{Budget, Framed, Limit, Limits, Side, Unread};

/// Maximum number of headers.
const HEADERS: usize = 64;

/// The length of a message's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Body {
    /// This many bytes.
    Length(usize),
    /// Chunks, up to one of length 0.
    Chunked,
    /// All bytes until the connection is closed.
    UntilClose,
}

/// The length information in a message's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MessageHead {
    /// Bytes up to and with the blank line.
    length: usize,
    /// The body.
    body: Body,
    /// It is compressed, for example.
    coded: bool,
}

/// The read position in the current message of each direction.
#[derive(Default)]
pub(crate) struct Framing {
    progress: [Progress; 2],
    /// The latest message was longer than the limit: its rest is left out.
    cut: [bool; 2],
    /// The body of the latest message ended as its headers say, or with an orderly close if they say nothing.
    whole: [bool; 2],
}

#[derive(Clone, Copy, Default)]
struct Progress {
    /// Number of bytes that were searched for the end of the headers.
    searched: usize,
    head: Option<MessageHead>,
    walk: ChunkWalk,
}

/// The read position in a chunked body, so that no byte is read twice even if it arrives in small
/// pieces.
#[derive(Clone, Copy, Default)]
struct ChunkWalk {
    /// The start of the next chunk or trailer line.
    at: usize,
    /// Number of bytes that were searched for the end of its line.
    searched: usize,
    next: ChunkState,
}

/// What comes next in a chunked body.
#[derive(Clone, Copy, Default)]
enum ChunkState {
    /// A line with the length of a chunk.
    #[default]
    Line,
    /// The bytes of this chunk.
    Chunk { start: usize, end: usize },
    /// A trailer line, or the empty one that ends the body.
    Trailer,
    /// Nothing: the body has ended.
    End,
    /// Invalid bytes: the body has no end.
    Broken,
}

impl ChunkWalk {
    /// The end of the body that begins at `start`, if it is complete.
    fn end(&mut self, bytes: &[u8], start: usize) -> Option<usize> {
        self.at = self.at.max(start);
        loop {
            match self.next {
                ChunkState::Line => {
                    self.line_end(bytes)?;
                    let chunk = Chunks { bytes, at: self.at }.announced();
                    self.next = chunk.map_or(ChunkState::Broken, |(start, end)| {
                        ChunkState::Chunk { start, end }
                    });
                }
                ChunkState::Chunk { start, end } => {
                    self.at = after_chunk(bytes, start, end)?;
                    self.next = if start == end { ChunkState::Trailer } else { ChunkState::Line };
                }
                ChunkState::Trailer => {
                    let end = self.line_end(bytes)?;
                    let line = bytes.get(self.at..end);
                    self.at = end;
                    if matches!(line, Some(b"\n" | b"\r\n")) {
                        self.next = ChunkState::End;
                    }
                }
                ChunkState::End => return Some(self.at),
                ChunkState::Broken => return None,
            }
        }
    }

    /// Whether the empty line after the last chunk was read.
    fn is_at_end(&self) -> bool {
        matches!(self.next, ChunkState::End)
    }

    /// The end of the current line, if it is complete.
    fn line_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let from = self.searched.max(self.at);
        let found = memchr::memchr(b'\n', bytes.get(from..)?);
        self.searched = found.map_or(bytes.len(), |_| 0);
        found.map(|at| from + at + 1)
    }
}

/// The position after a chunk, if the chunk is complete.
fn after_chunk(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    match bytes.get(end..)? {
        _ if start == end => Some(end),
        [b'\r', b'\n', ..] => Some(end + 2),
        [b'\n', ..] => Some(end + 1),
        [] | [b'\r'] => None,
        _ => Some(end),
    }
}

impl Framing {
    /// The next message in a direction. `bodiless`: the response is one to HEAD.
    pub(crate) fn next(
        &mut self,
        side: Side,
        unread: &Unread<'_>,
        bodiless: bool,
        limits: &Limits,
        budget: &mut Budget,
    ) -> Framed {
        let progress = &mut self.progress[side.index()];
        let next = progress.next(unread, bodiless, limits);
        self.cut[side.index()] = next.is_err();
        self.whole[side.index()] = match next {
            Ok(Framed::Message(length)) => progress.is_whole(length, unread, bodiless),
            _ => false,
        };
        let framed = match next {
            Ok(framed) => framed,
            Err((limit, framed)) => {
                budget.meet(limit);
                framed
            }
        };
        if framed != Framed::More {
            *progress = Progress::default();
        }
        framed
    }

    /// Whether a message in this direction is incomplete.
    pub(crate) fn is_midway(&self, side: Side) -> bool {
        self.progress[side.index()].searched > 0
    }

    /// Whether the latest message in a direction was longer than the limit.
    pub(crate) fn is_cut(&self, side: Side) -> bool {
        self.cut[side.index()]
    }

    /// Whether the latest message in a direction has its whole body.
    pub(crate) fn is_whole(&self, side: Side) -> bool {
        self.whole[side.index()]
    }
}

impl Progress {
    /// What comes next; `Err` if that is because of a limit. A longer message is read up to the
    /// limit.
    fn next(
        &mut self,
        unread: &Unread<'_>,
        bodiless: bool,
        limits: &Limits,
    ) -> Result<Framed, (Limit, Framed)> {
        let bytes = unread.bytes;
        if self.searched == 0 && !is_start(bytes) {
            if may_start(bytes) && !unread.ended {
                return Ok(Framed::More);
            }
            return Ok(Framed::Junk(next_start(bytes).unwrap_or(bytes.len())));
        }
        let all = bytes.len();
        let unfinished = if unread.ended { Framed::Message(all) } else { Framed::More };
        let head = match self.head {
            Some(head) => head,
            None => {
                let from = self.searched.saturating_sub(3);
                self.searched = bytes.len();
                if head_end(bytes.get(from..).unwrap_or_default()).is_none() {
                    let is_over = all > limits.http_header;
                    return if is_over {
                        Err((Limit::HttpHeader, Framed::Junk(all)))
                    } else {
                        Ok(unfinished)
                    };
                }
                match head(bytes) {
                    // As if it had arrived in pieces.
                    Ok(head) if head.length > limits.http_header => {
                        return Err((Limit::HttpHeader, Framed::Junk(head.length)));
                    }
                    Ok(head) => *self.head.insert(head),
                    Err(fault) => {
                        let passed = Framed::Junk(head_end(bytes).unwrap_or(all));
                        let is_over = fault == httparse::Error::TooManyHeaders;
                        return if is_over { Err((Limit::HttpHeader, passed)) } else { Ok(passed) };
                    }
                }
            }
        };
        let is_over = !unread.ended && all - head.length.min(all) > limits.http_body;
        let rest =
            if is_over { Err((Limit::HttpBody, Framed::Message(all))) } else { Ok(unfinished) };
        let length = match head.body {
            _ if bodiless => head.length,
            Body::Length(length) => head.length.saturating_add(length),
            Body::Chunked => match self.walk.end(bytes, head.length) {
                Some(end) => end,
                None => return rest,
            },
            Body::UntilClose => return rest,
        };
        if length <= all { Ok(Framed::Message(length)) } else { rest }
    }

    /// Whether a message of this length has its whole body.
    fn is_whole(&self, length: usize, unread: &Unread<'_>, bodiless: bool) -> bool {
        let Some(head) = self.head else { return false };
        match head.body {
            _ if bodiless => true,
            Body::Length(announced) => length >= head.length.saturating_add(announced),
            Body::Chunked => self.walk.is_at_end(),
            Body::UntilClose => unread.ended && !unread.is_reset,
        }
    }
}

/// Whether these bytes begin a response.
pub(crate) fn is_response(bytes: &[u8]) -> bool {
    bytes.starts_with(b"HTTP/")
}

/// Whether these bytes begin with an interim response, which is followed by the response.
pub(crate) fn is_interim(bytes: &[u8]) -> bool {
    bytes.split(|&byte| byte == b' ').nth(1).is_some_and(|status| status.starts_with(b"1"))
}

/// What the headers say about the body: its chunks if it is chunked, and whether it is compressed,
/// in which case it is not read.
pub(crate) fn coding(bytes: &[u8]) -> (Option<Chunks<'_>>, bool) {
    let Ok(MessageHead { length, body, coded }) = head(bytes) else { return (None, false) };
    ((body == Body::Chunked).then_some(Chunks { bytes, at: length }), coded)
}

/// The length of the request at the start of these bytes, if it is complete.
pub(crate) fn whole_request(bytes: &[u8]) -> Option<usize> {
    let head = head(bytes).ok()?;
    match head.body {
        Body::Length(length) => head.length.checked_add(length).filter(|&end| end <= bytes.len()),
        Body::Chunked | Body::UntilClose => None,
    }
}

/// The available part of a message's body after complete headers, and whether that is all.
pub(crate) fn body_so_far(bytes: &[u8]) -> Option<(Cow<'_, [u8]>, bool)> {
    let head = head(bytes).ok()?;
    let body = bytes.get(head.length..)?;
    match head.body {
        Body::Length(length) => {
            let body = body.get(..length).unwrap_or(body);
            return Some((Cow::Borrowed(body), body.len() == length));
        }
        Body::UntilClose => return Some((Cow::Borrowed(body), false)),
        Body::Chunked => {}
    }
    let is_whole = ChunkWalk::default().end(bytes, head.length).is_some();
    let chunks = Chunks { bytes, at: head.length };
    let held: Vec<&[u8]> = chunks.filter_map(|(from, to)| bytes.get(from..to)).collect();
    Some((Cow::Owned(held.concat()), is_whole))
}

/// Reads complete headers. A fault in a header does not make the message unreadable.
fn head(bytes: &[u8]) -> Result<MessageHead, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS];
    if is_response(bytes) {
        let mut response = httparse::Response::new(&mut headers);
        let mut config = httparse::ParserConfig::default();
        config
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true)
            .ignore_invalid_headers_in_responses(true);
        let httparse::Status::Complete(length) = config.parse_response(&mut response, bytes)?
        else {
            return Err(httparse::Error::NewLine);
        };
        let body = match response.code.unwrap_or_default() {
            100..=199 | 204 | 304 => Body::Length(0),
            _ => body(response.headers).unwrap_or(Body::UntilClose),
        };
        return Ok(MessageHead { length, body, coded: is_compressed(response.headers) });
    }
    let mut request = httparse::Request::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    config.ignore_invalid_headers_in_requests(true);
    let httparse::Status::Complete(length) = config.parse_request(&mut request, bytes)? else {
        return Err(httparse::Error::NewLine);
    };
    let body = body(request.headers).unwrap_or(Body::Length(0));
    Ok(MessageHead { length, body, coded: is_compressed(request.headers) })
}

/// The end of the body, if a header determines it.
fn body(headers: &[httparse::Header<'_>]) -> Option<Body> {
    match codings(headers, "transfer-encoding").last() {
        Some(last) if last.eq_ignore_ascii_case(b"chunked") => return Some(Body::Chunked),
        Some(last) if !last.eq_ignore_ascii_case(b"identity") => return None,
        _ => {}
    }
    // The same length may appear there several times (RFC 9110 section 8.6).
    let length = codings(headers, "content-length").next()?;
    std::str::from_utf8(length).ok()?.parse().ok().map(Body::Length)
}

/// Whether the body is compressed.
fn is_compressed(headers: &[httparse::Header<'_>]) -> bool {
    let plain = |coding: &[u8]| {
        [b"chunked".as_slice(), b"identity"].iter().any(|it| coding.eq_ignore_ascii_case(it))
    };
    ["transfer-encoding", "content-encoding"]
        .into_iter()
        .any(|name| codings(headers, name).any(|coding| !plain(coding)))
}

/// The list elements of all headers with this name, in order.
fn codings<'h>(
    headers: &'h [httparse::Header<'_>],
    name: &'static str,
) -> impl Iterator<Item = &'h [u8]> {
    let named = headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name));
    let listed = named.flat_map(|header| header.value.split(|&byte| byte == b','));
    listed.map(<[u8]>::trim_ascii).filter(|coding| !coding.is_empty())
}

/// The end of the blank line after the headers.
fn head_end(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).find_map(|at| match bytes.get(at + 1..)? {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

const METHODS: [&[u8]; 8] =
    [b"GET ", b"POST ", b"HEAD ", b"PUT ", b"DELETE ", b"OPTIONS ", b"PATCH ", b"HTTP/"];

/// Whether these bytes begin a request, or may when more arrive.
pub(crate) fn may_be_request(bytes: &[u8]) -> bool {
    let mut requests = METHODS.iter().filter(|method| !is_response(method));
    requests.any(|method| bytes.starts_with(method) || method.starts_with(bytes))
}

/// Whether these bytes begin a response, or may when more arrive.
pub(crate) fn may_be_response(bytes: &[u8]) -> bool {
    is_response(bytes) || b"HTTP/".starts_with(bytes)
}

/// Whether these bytes begin a message.
pub(crate) fn is_start(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| bytes.starts_with(method))
}

/// Whether they may begin one when more arrive.
fn may_start(bytes: &[u8]) -> bool {
    METHODS.iter().any(|method| method.starts_with(bytes))
}

/// After a gap, or after bytes that are not a message: the next line that begins or may begin a
/// message.
fn next_start(bytes: &[u8]) -> Option<usize> {
    let mut lines = memchr::memchr_iter(b'\n', bytes).map(|at| at + 1);
    lines.find(|&at| bytes.get(at..).is_some_and(|rest| is_start(rest) || may_start(rest)))
}

/// The chunks of a body, one by one.
#[derive(Clone, Copy)]
pub(crate) struct Chunks<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Chunks<'_> {
    /// The number of bytes before the first chunk.
    pub(crate) fn start(&self) -> usize {
        self.at
    }

    /// The position of the next chunk, from its first line.
    fn announced(&self) -> Option<(usize, usize)> {
        let rest = self.bytes.get(self.at..)?;
        let httparse::Status::Complete((line, size)) = httparse::parse_chunk_size(rest).ok()?
        else {
            return None;
        };
        let start = self.at.checked_add(line)?;
        Some((start, start.checked_add(usize::try_from(size).ok()?)?))
    }
}

/// The chunks that are not empty; of the last one, the available part.
impl Iterator for Chunks<'_> {
    type Item = (usize, usize);

    fn next(&mut self) -> Option<(usize, usize)> {
        let (start, end) = self.announced()?;
        let there = end.min(self.bytes.len());
        self.at = after_chunk(self.bytes, start, end).unwrap_or(self.bytes.len());
        (start < there).then_some((start, there))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(framing: &mut Framing, unread: &Unread<'_>, budget: &mut Budget) -> Framed {
        framing.next(Side::First, unread, false, &Limits::default(), budget)
    }

    #[test]
    fn a_head_and_a_body_that_do_not_end_are_given_up_and_reported() {
        let endless = [b"GET /c HTTP/1.1\r\n".to_vec(), b"X: y\r\n".repeat(4000)].concat();
        let many = [b"GET /c HTTP/1.1\r\n".to_vec(), b"X: y\r\n".repeat(99)].concat();
        let many = [many, b"\r\n".to_vec()].concat();
        let followed = [&many[..], b"GET /c HTTP/1.0\r\n\r\n"].concat();
        let body = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n".to_vec();
        let body = [body, vec![b'x'; (1 << 20) + (16 << 10)]].concat();
        let whole = body.len();
        let long =
            [b"GET /c HTTP/1.1\r\nX: ".to_vec(), b"y".repeat(20 << 10), b"\r\n\r\n".to_vec()]
                .concat();
        for (bytes, limit, expected) in [
            (&long, Limit::HttpHeader, Framed::Junk(long.len())),
            (&endless, Limit::HttpHeader, Framed::Junk(endless.len())),
            (&many, Limit::HttpHeader, Framed::Junk(many.len())),
            (&followed, Limit::HttpHeader, Framed::Junk(many.len())),
            (&body, Limit::HttpBody, Framed::Message(whole)),
        ] {
            let (mut framing, mut budget) = (Framing::default(), Budget::new(0));
            let unread = Unread { bytes, ..Unread::default() };
            assert_eq!(next(&mut framing, &unread, &mut budget), expected);
            assert_eq!(budget.take_met().collect::<Vec<_>>(), [limit]);
        }
    }

    /// The lengths of the messages when the bytes arrive in pieces of this length.
    fn lengths(bytes: &[u8], step: usize) -> Vec<usize> {
        let (mut framing, mut lengths) = (Framing::default(), Vec::new());
        let (mut from, mut to, mut seen) = (0, 0, 0);
        while from < bytes.len() {
            to = (to + step).min(bytes.len()).max(from + 1);
            loop {
                let ended = to == bytes.len();
                let bytes = &bytes[from..to];
                let unread = Unread { bytes, seen, ended, ..Unread::default() };
                if unread.bytes.is_empty() {
                    break;
                }
                match next(&mut framing, &unread, &mut Budget::new(0)) {
                    Framed::More => {
                        seen = to - from;
                        break;
                    }
                    Framed::Message(length) | Framed::Junk(length) => {
                        lengths.push(length);
                        (from, seen) = (from + length, 0);
                    }
                }
            }
        }
        lengths
    }

    #[test]
    fn the_header_determines_the_end_of_a_message() {
        let messages: [&[u8]; 7] = [
            b"GET /c HTTP/1.1\r\nHost: m\r\n\r\n",
            b"GET /c HTTP/1.0\n\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n*bw\r\n",
            b"HTTP/1.1 204 No Content\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n*a\n\r\nb;x=y\r\n*c123456789\r\n0\r\nT: x\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;aaaaaaaaaaaaaaaa\r\nx\n000;b\r\na\nb\r\n\n",
            b"HTTP/1.0 200 OK\r\n\r\nmasterserver_flags 0\n",
        ];
        let all = messages.concat();
        let expected: Vec<_> = messages.iter().map(|message| message.len()).collect();
        for step in [1, 2, 3, 7, all.len()] {
            assert_eq!(lengths(&all, step), expected, "in pieces of {step}");
        }
    }

    #[test]
    fn faults_of_a_header_do_not_end_the_message() {
        let messages: [&[u8]; 8] = [
            b"GET /c HTTP/1.1\r\nX-Foo: a\r\n b\r\nHost: m\r\n\r\n",
            b"GET /c HTTP/1.1\r\nHost : m\r\n\r\n",
            b"GET /c HTTP/1.1\r\nno colon\r\nHost: m\r\n\r\n",
            b"GET /c HTTP/1.1\r\nX Foo: a\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nX-Foo: a\r\n b\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nX Foo: a\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nX-Foo : a\r\nContent-Length: 2\r\n\r\nab",
            b"HTTP/1.1 200 OK\r\nX-Foo: a\r\nContent-Length: 2\n\r\nab",
        ];
        for message in messages {
            assert_eq!(
                lengths(&message.repeat(2), 5),
                [message.len(); 2],
                "{}",
                message.escape_ascii()
            );
        }
        // Bytes that are not a header do not affect later ones.
        let bad = b"GET /c HTTP/x\r\n\r\n".as_slice();
        for step in [1, 64] {
            let both = [bad, b"GET /c HTTP/1.0\r\n\r\n"].concat();
            assert_eq!(lengths(&both, step), [bad.len(), 19]);
        }
    }

    #[test]
    fn transfer_and_content_codings() {
        for (header, expected, coded) in [
            ("Transfer-Encoding: gzip, chunked", Body::Chunked, true),
            ("Transfer-Encoding: gzip\r\nTransfer-Encoding: Chunked", Body::Chunked, true),
            ("Transfer-Encoding: chunked\r\nContent-Length: 3", Body::Chunked, false),
            ("Transfer-Encoding: gzip\r\nContent-Length: 3", Body::UntilClose, true),
            ("Transfer-Encoding: identity\r\nContent-Length: 3", Body::Length(3), false),
            ("Content-Encoding: gzip\r\nContent-Length: 3", Body::Length(3), true),
            ("Content-Encoding: identity", Body::UntilClose, false),
            ("Content-Length: 21, 21", Body::Length(21), false),
            ("Content-Length: 21\r\nContent-Length: 21", Body::Length(21), false),
        ] {
            let response = format!("HTTP/1.1 200 OK\r\n{header}\r\n\r\n");
            let head = head(response.as_bytes()).unwrap();
            assert_eq!((head.body, head.coded), (expected, coded), "{header}");
        }
    }

    #[test]
    fn chunks_are_reported_separately_from_their_content() {
        let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n*a\n\r\n2\r\nxy\r\n0\r\n\r\n";
        let held: Vec<_> = coding(bytes).0.unwrap().map(|(from, to)| &bytes[from..to]).collect();
        assert_eq!(held, [b"*a\n".as_slice(), b"xy"]);
    }

    #[test]
    fn bytes_before_a_message_are_skipped() {
        let empty = b"GET /c HTTP/1.0\n\n\r\nGET /c HTTP/1.0\n\n\nHTTP/1.0 204\n\n";
        for step in 1..empty.len() {
            let lengths = lengths(empty, step);
            let messages: Vec<_> = lengths.into_iter().filter(|&length| length > 2).collect();
            assert_eq!(messages, [17, 17, 14], "in pieces of {step}");
        }
        assert_eq!(lengths(b"rest of a body\nGET /c HTTP/1.0\n\n", 64), [15, 17]);
        assert_eq!(lengths(b"nothing of ours", 64), [15]);
    }
}

//! Decodes the fields of one whole message: a function per packet, in the specification's order.
//! The contents of a server information response are decoded in `response`.

use super::fields as f;
use super::packet::{
    CHALLENGE, INFO, PacketKind, RequestForm, RequestSummary, ResponseSummary, decimal,
};
use super::response::{self, DecodeContext};
use super::rules;
use super::variables;
use crate::kit::{Cut, Endings, Field, Read, Reader, Sink, Span, TextPlace, decode};

/// The reader checks no rules: the specification's layouts differ too much.
static ENDINGS: Endings = Endings { whole: None, terminated: None, utf8: None, after: None };

/// Zeros in place of the text "splitnum" of a response.
const BLANK: [u8; 9] = [0; 9];

/// Decodes packets 1 and 3, from a client. `given`: the challenge that it was given last.
pub(super) fn request<S: Sink>(bytes: &[u8], given: Option<i32>, sink: &mut S) -> RequestSummary {
    let mut summary = RequestSummary::default();
    decode(bytes, &ENDINGS, sink, |r| {
        let magic = u16::from_be_bytes(*r.peek().first_chunk().ok_or(Cut::Short)?);
        let at = r.leaf(&f::MAGIC, 2, 0);
        summary.sound = rules::magic(magic, at, r.sink);
        if r.is_empty() {
            summary.sound = summary.sound && rules::request_type(None, r.here(), r.sink);
            return Ok(());
        }
        let kind = r.u8(&f::REQUEST_TYPE)?;
        summary.sound = summary.sound && rules::request_type(Some(kind.value), kind.at, r.sink);
        match kind.value {
            CHALLENGE => challenge_request(r, &mut summary),
            INFO => info_request(r, given, &mut summary),
            _ => {
                leftover(r, &f::BODY);
                Ok(())
            }
        }
    });
    summary
}

/// All remaining bytes as one field.
fn leftover<S: Sink>(r: &mut Reader<'_, S>, field: &'static Field) {
    if !r.is_empty() {
        r.bytes(field, r.rest());
    }
}

/// "Packet 1: Initial request".
fn challenge_request<S: Sink>(
    r: &mut Reader<'_, S>,
    summary: &mut RequestSummary,
) -> Result<(), Cut> {
    summary.kind = PacketKind::Challenge;
    let after = r.peek().get(4..);
    summary.sound = summary.sound && rules::challenge_request_length(r.at(), after, r);
    summary.timestamp = Some(r.u32_be(&f::TIMESTAMP)?.value);
    leftover(r, &f::PADDING);
    Ok(())
}

/// "Packet 3: Second request", in the specification's form and in those of other games.
fn info_request<S: Sink>(
    r: &mut Reader<'_, S>,
    given: Option<i32>,
    summary: &mut RequestSummary,
) -> Result<(), Cut> {
    summary.kind = PacketKind::Info;
    if r.rest() < 4 {
        summary.sound =
            summary.sound && rules::request_tail(RequestForm::Other, r.peek(), r.here(), r.sink);
    }
    summary.timestamp = Some(r.u32_be(&f::TIMESTAMP)?.value);
    let (form, with_challenge) = request_form(r.peek(), given);
    summary.form = form;
    if with_challenge {
        summary.challenge = Some(r.i32_be(&f::CHALLENGE)?);
    }
    let tail = r.peek();
    let at = Span::new(r.at(), r.at() + tail.len());
    leftover(r, &f::TAIL);
    r.leaf(&f::FORM, 0, form as u64);
    summary.sound = summary.sound && rules::request_tail(form, tail, at, r.sink);
    Ok(())
}

/// The form of an info request, from the bytes after the timestamp, and whether they begin with a
/// challenge.
///
/// The GameSpy SDK reads a selector each for server, player and team variables (0: none, FF: all)
/// and flags. A selector of server variables comes first, so that only a small negative challenge
/// can look the same.
pub(super) fn request_form(rest: &[u8], given: Option<i32>) -> (RequestForm, bool) {
    let some = |all: [u8; 3]| all.contains(&0xFF) && all.iter().all(|&s| s == 0 || s == 0xFF);
    let selectors = |a: u8, b: u8, c: u8| a == 0xFF && some([a, b, c]);
    match *rest {
        [] => (RequestForm::Qr2, false),
        [a, b, c] if some([a, b, c]) => (RequestForm::Qr2, false),
        [a, b, c, flags] => {
            let is_given = given == Some(i32::from_be_bytes([a, b, c, flags]));
            if selectors(a, b, c) && flags <= 3 && !is_given {
                return (RequestForm::Qr2, false);
            }
            (RequestForm::MinecraftBasic, true)
        }
        [_, _, _, _, a, b, c] if some([a, b, c]) => (RequestForm::Qr2Challenge, true),
        [_, _, _, _, 0xFF, 0xFF, 0xFF, 0x01] => (RequestForm::Ut3, true),
        [_, _, _, _, 0, 0, 0, 0] => (RequestForm::MinecraftFull, true),
        [_, _, _, _, 0xFF, 0xFF, 0xFF, 0x02] => (RequestForm::JustCause, true),
        [_, _, _, _, a, b, c, 0x01] if some([a, b, c]) => (RequestForm::Qr2Challenge, true),
        _ => (RequestForm::Other, rest.len() >= 4),
    }
}

/// Decodes packet 2: "First response".
pub(super) fn challenge_response<S: Sink>(bytes: &[u8], sink: &mut S) -> ResponseSummary {
    let mut summary = ResponseSummary::default();
    decode(bytes, &ENDINGS, sink, |r| {
        r.u8(&f::RESPONSE_TYPE)?;
        let whole = r.rest() > 4;
        if !whole {
            let end = bytes.len();
            rules::challenge_number(None, &[], Span::new(end, end), r.sink);
        }
        summary.timestamp = Some(r.u32_be(&f::TIMESTAMP)?);
        if !whole {
            return Ok(());
        }
        let field = r.peek();
        let at = Span::new(r.at(), r.at() + field.len());
        let length = field.iter().position(|&byte| byte == 0);
        summary.challenge = length.and_then(|length| decimal(field.get(..length)?));
        rules::challenge_number(summary.challenge, field, at, r.sink);
        if let (Some(number), Some(length)) = (summary.challenge, length) {
            rules::challenge_width(field, length, at, r.sink);
            r.leaf(&f::CHALLENGE, length + 1, i64::from(number) as u64);
        } else {
            r.text(&f::CHALLENGE_TEXT)?;
        }
        leftover(r, &f::PADDING);
        Ok(())
    });
    summary
}

/// Decodes nothing.
pub(super) fn unknown<S: Sink>(bytes: &[u8], sink: &mut S) {
    decode(bytes, &ENDINGS, sink, |r| {
        leftover(r, &f::BODY);
        Ok(())
    });
}

/// The first 16 bytes of a packet of a server information response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) timestamp: u32,
    /// The low 7 bits of byte 15.
    pub(super) index: u8,
    /// Its high bit.
    pub(super) last: bool,
    /// Byte 16, which "isn't understood": the first section in the packet.
    pub(super) section: u8,
}

impl Header {
    /// Where the section byte is.
    pub(super) const SECTION: usize = 15;

    /// Reads it, if present. By the specification its text is random; in practice it is "splitnum".
    /// Another text is distinguished from the first variable of a response without a header: it is
    /// not a known variable's name, and other bytes follow it.
    pub(super) fn of(bytes: &[u8]) -> Option<Header> {
        let [_, t0, t1, t2, t3, text @ ..] = bytes else { return None };
        let (text, rest) = text.split_first_chunk::<9>()?;
        let [number, section, ..] = *rest else { return None };
        let conventional = text == b"splitnum\0";
        let plausible = match text {
            [random @ .., 0] => {
                !random.contains(&0)
                    && !variables::is_name(random)
                    && !(0x20..0x80).contains(&number)
                    && section < 0x20
            }
            _ => false,
        };
        // Zeros in its place mean that the text is missing, if a variable follows.
        let first = rest.get(2..).and_then(|rest| rest.split(|&byte| byte == 0).next());
        let blank = *text == BLANK && first.is_some_and(variables::is_name);
        (conventional || plausible || blank).then_some(Header {
            timestamp: u32::from_be_bytes([*t0, *t1, *t2, *t3]),
            index: number & 0x7F,
            last: number & 0x80 != 0,
            section,
        })
    }
}

/// The text before a packet's number, or zeros in its place.
fn splitnum<'a, S: Sink>(r: &mut Reader<'a, S>) -> Result<Read<&'a [u8]>, Cut> {
    if !r.peek().starts_with(&BLANK) {
        return r.text(&f::SPLITNUM);
    }
    let none = Span::new(r.at(), r.at());
    Ok(Read { value: b"", at: r.leaf(&f::SPLITNUM, BLANK.len(), TextPlace::at(none).value()) })
}

/// Whether a response without a header is Minecraft's plain list.
pub(super) fn is_basic_response(bytes: &[u8]) -> bool {
    bytes.get(5..).is_some_and(response::is_basic)
}

/// Decodes packet 4: "Server information response", whole or joined from several packets.
pub(super) fn info_response<S: Sink>(
    bytes: &[u8],
    known: DecodeContext,
    sink: &mut S,
) -> ResponseSummary {
    let mut summary = ResponseSummary::default();
    decode(bytes, &ENDINGS, sink, |r| {
        r.u8(&f::RESPONSE_TYPE)?;
        summary.timestamp = Some(r.u32_be(&f::TIMESTAMP)?);
        match Header::of(bytes) {
            Some(header) => {
                let splitnum = splitnum(r)?;
                if known.checks {
                    rules::splitnum(splitnum, r.sink);
                }
                r.u8(&f::PACKET_NUMBER)?;
                if !known.checks {
                    r.leaf(&f::INDEX, 0, header.index.into());
                    r.leaf(&f::LAST, 0, header.last.into());
                }
                r.u8(&f::SECTION)?;
                response::split(r, bytes, header.section, known, &mut summary)
            }
            None => response::unsplit(r, known, &mut summary),
        }
    });
    summary
}

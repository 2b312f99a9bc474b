//! Responses: lines of text after the headers, interpreted by the request.

use crate::kit::{Reader, Sink, Span, decode};

use super::fields::*;
use super::lines::{BodyState, Response, lines, newline};
use super::params::{ApiPath, decimal, hex};
use super::request::Request;
use super::rules;
use super::servers;
use crate::kit::http::*;

/// Decodes and checks a response. `asked`: its request, if known.
pub(super) fn response<S: Sink>(
    bytes: &[u8],
    state: BodyState,
    asked: Option<&Request>,
    sink: &mut S,
) -> Response {
    let BodyState { coded, is_cut, .. } = state;
    let mut response = Response { coded, ..Response::default() };
    decode(bytes, &ENDINGS, sink, |r| {
        let (length, whole) = line(r.peek());
        let (version, with_space) = word(r.peek(), length);
        r.text_in(&HTTP_VERSION, with_space, Span::new(0, version));
        let left = length - with_space;
        let (status, with_space) = word(r.peek(), left);
        let status_at = Span::new(r.at(), r.at() + status);
        // Digits at the end of the bytes may be a part of it.
        let is_status = with_space > status || whole > length;
        let number = r.peek().get(..status).and_then(decimal).filter(|_| is_status);
        match number {
            Some(number) => _ = r.leaf(&STATUS, with_space, number),
            None if is_status => _ = r.text_in(&STATUS_TEXT, with_space, status_at),
            None => {}
        }
        response.status = number.unwrap_or_default();
        let reason = Span::new(r.at(), length);
        r.text_in(&REASON, whole - r.at(), reason);
        if headers(r) {
            body(r, asked, state, &mut response);
        } else {
            response.ends_in_headers = !is_cut;
            let is_list = asked.is_some_and(Request::wants_list);
            match is_list && (number == Some(200) || whole == length) {
                true if is_cut => rules::lines_lost(Span::new(r.at(), r.at()), r.sink),
                true => _ = r.leaf(&WHOLE, 0, false.into()),
                false => {}
            }
        }
        Ok(())
    });
    response
}

/// The body, in the format of the endpoint's response lines.
fn body<S: Sink>(
    r: &mut Reader<'_, S>,
    asked: Option<&Request>,
    state: BodyState,
    response: &mut Response,
) {
    let endpoint = asked.and_then(|asked| asked.endpoint);
    let (Some(asked), Some(endpoint), 200) = (asked, endpoint, response.status) else {
        if !r.is_empty() {
            r.text_of(&BODY, r.rest());
        }
        return;
    };
    let checked = (asked.sound || is_answer(endpoint, r.peek())) && !asked.bodiless;
    if response.coded && !r.is_empty() {
        let at = r.text_of(&BODY, r.rest()).at;
        r.leaf(&ENCODED, 0, true.into());
        if endpoint == ApiPath::Client && !state.is_cut {
            r.leaf(&WHOLE, 0, state.is_whole.into());
        }
        if checked && !asked.accepts_codings {
            rules::encoded(endpoint, at, r.sink);
        }
        return;
    }
    let bytes = r.peek();
    if checked && !bytes.is_empty() {
        let return_at = memchr::memchr(b'\r', bytes).map(|at| r.at() + at);
        let all = Span::new(r.at(), r.at() + bytes.len());
        let at = return_at.map_or(all, |at| Span::new(at, at + 1));
        rules::lines_lf(at, return_at.is_some(), state.is_cut, r.sink);
    }
    match endpoint {
        ApiPath::Client => servers::read(r, checked, state),
        ApiPath::Register => text(r, checked),
        ApiPath::Auth => auth(r, asked, response, checked),
        ApiPath::Verify => verify(r, response, checked),
    }
}

/// Whether a response is in the endpoint's format, so that it is checked whatever was requested: a wrong request is owed
/// none, and may be answered in other words.
fn is_answer(endpoint: ApiPath, bytes: &[u8]) -> bool {
    match endpoint {
        ApiPath::Client => bytes.starts_with(b"masterserver_flags"),
        ApiPath::Register | ApiPath::Verify => bytes.starts_with(b"*"),
        ApiPath::Auth => false,
    }
}

/// `/r`: a text for people.
fn text<S: Sink>(r: &mut Reader<'_, S>, checked: bool) {
    let bytes = r.peek();
    let end = bytes.trim_ascii_end().len();
    let at = r.text_of(&TEXT, end).at;
    if r.rest() > 0 {
        r.bytes(&NEWLINE, r.rest());
    }
    if checked {
        rules::register_response(bytes.get(..end).unwrap_or_default(), at, r.sink);
    }
}

/// `/a`: the result of the lookup, and a challenge if one was requested.
fn auth<S: Sink>(r: &mut Reader<'_, S>, asked: &Request, response: &mut Response, checked: bool) {
    let (start, wants_auth) = (r.at(), asked.wants_challenge());
    let (mut first, mut lookup, mut lookups) = (None, None, 0);
    for line in lines(r.peek(), start) {
        let is_first = first.is_none();
        first = first.or((!line.text.is_empty()).then_some(line));
        match line.text {
            [b'*', kind @ (b'f' | b'c'), rest @ ..] if response.auth.is_none() => {
                r.leaf(&CONTROL, 1, b'*'.into());
                r.leaf(&AUTH, 1, (*kind).into());
                if !rest.is_empty() {
                    r.text_of(&CHALLENGE, rest.len());
                }
                response.auth = Some(*kind);
                response.auth_lines = 1;
                response.auth_at = line.at;
                response.challenge = hex(rest).map(Box::new).filter(|_| *kind == b'c');
            }
            [b'*', b'f' | b'c', ..] => {
                r.text_of(&LINE, line.text.len());
                response.auth_lines += 1;
            }
            // It stands in place of the auth line.
            [b'*', kind, ..] if wants_auth && is_first && !b"ab".contains(kind) => {
                r.text_of(&LINE, line.text.len());
            }
            [b'*', rest @ ..] => {
                lookups += 1;
                if lookup.is_none() {
                    r.leaf(&CONTROL, 1, b'*'.into());
                    r.text_of(&LOOKUP, rest.len());
                } else {
                    r.text_of(&LINE, line.text.len());
                }
                lookup.get_or_insert(line);
            }
            [] => {}
            text => {
                r.text_of(&LINE, text.len());
            }
        }
        newline(r, &line);
    }
    let all = r.since(start);
    if !checked {
        return;
    }
    if first.is_some() || wants_auth {
        rules::auth_response(wants_auth, first, response, all, r.sink);
    }
    if let Some(challenge) = response.challenge.as_deref() {
        rules::challenge_random(challenge, response.auth_at, r.sink);
    }
    rules::address_response(lookup, lookups, all, r.sink);
}

/// `/v`: the result.
fn verify<S: Sink>(r: &mut Reader<'_, S>, response: &mut Response, checked: bool) {
    let start = r.at();
    let (mut first, mut lines_with_text) = (None, 0);
    for line in lines(r.peek(), start) {
        lines_with_text += usize::from(!line.text.trim_ascii().is_empty());
        match line.text {
            [b'*', result, rest @ ..] if response.result.is_none() => {
                r.leaf(&CONTROL, 1, b'*'.into());
                r.leaf(&RESULT, 1, (*result).into());
                response.result = Some(*result);
                response.result_at = line.at;
                if let [privilege, name @ ..] = rest {
                    r.leaf(&PRIVILEGE, 1, (*privilege).into());
                    r.text_of(&NAME, name.len());
                }
                first = Some(line);
            }
            [] => {}
            text => {
                r.text_of(&LINE, text.len());
            }
        }
        newline(r, &line);
    }
    if checked {
        rules::verify_response(
            first.map(|line| line.text),
            lines_with_text,
            r.since(start),
            r.sink,
        );
    }
}

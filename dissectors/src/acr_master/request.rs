//! Requests: a line with the endpoint and its parameters.

use crate::kit::{Field, Reader, Sink, Span, TextPlace, decode};

use super::digest::{DIGEST, NONCE};
use super::fields::*;
use super::params::{self, ApiPath, ParamValue, QueryParameter, decimal, decoded, hex, pieces};
use super::rules;
use crate::kit::http::*;

/// The specification's default for the server port.
pub(super) const DEFAULT_PORT: u64 = 28770;

/// The properties of a request that its response depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) endpoint: Option<ApiPath>,
    /// Its response has no body.
    pub(super) bodiless: bool,
    /// It accepts some coding of the response's body.
    pub(super) accepts_codings: bool,
    /// It is complete and valid, so that a response is due.
    pub(super) sound: bool,
    /// The server's port: `p`, or its default.
    pub(super) port: u64,
    /// The request ID.
    pub(super) id: Option<u64>,
    /// The user ID.
    pub(super) user: Option<Box<[u8]>>,
    /// The client's nonce.
    pub(super) nonce: Option<Box<[u8; NONCE]>>,
    /// Its digest.
    pub(super) digest: Option<Box<[u8; DIGEST]>>,
}

impl Request {
    /// Heap memory in bytes.
    pub(super) fn held(&self) -> usize {
        self.user.as_deref().map_or(0, size_of_val)
            + self.nonce.as_deref().map_or(0, size_of_val)
            + self.digest.as_deref().map_or(0, size_of_val)
    }

    /// The ports of the server that registers: where players join, and where it answers queries, which is the next.
    pub(super) fn ports(&self) -> Option<[u16; 2]> {
        let port = u16::try_from(self.port).ok()?;
        Some([port, port.checked_add(1)?])
    }

    /// Whether it requests the servers, and they are due.
    pub(super) fn wants_list(&self) -> bool {
        self.endpoint == Some(ApiPath::Client) && self.sound && !self.bodiless
    }

    /// Whether this is an auth check that requests a challenge: it has both the ID and the user.
    pub(super) fn wants_challenge(&self) -> bool {
        self.endpoint == Some(ApiPath::Auth) && self.id.is_some() && self.user.is_some()
    }
}

/// Whether the request names the game's own programs.
pub(super) fn names_game(request: &[u8]) -> bool {
    let is_games =
        |agent: &[u8]| agent.get(..4).is_some_and(|agent| agent.eq_ignore_ascii_case(b"ACR-"));
    values(request, "user-agent").any(is_games)
}

/// Decodes and checks a request.
pub(super) fn request<S: Sink>(bytes: &[u8], sink: &mut S) -> Request {
    let mut asked = Request { port: DEFAULT_PORT, sound: true, ..Request::default() };
    decode(bytes, &ENDINGS, sink, |r| {
        let (length, whole) = line(r.peek());
        let (method, with_space) = word(r.peek(), length);
        let method_at = r.text_in(&METHOD, with_space, Span::new(0, method));
        let (target, _) = word(r.peek(), length - with_space);
        let target_at = Span::new(r.at(), r.at() + target);
        let text = |at: Span| bytes.get(at.start as usize..at.end as usize).unwrap_or_default();
        let method = text(Span::new(0, method));
        asked.bodiless = method == b"HEAD";
        asked.endpoint = ApiPath::of(text(target_at));
        rules::method_get(method, method_at, r.sink);
        if asked.endpoint.is_some() || names_game(bytes) || !params::is_page(text(target_at)) {
            rules::endpoint_known(asked.endpoint.is_some(), text(target_at), target_at, r.sink);
        }
        asked.sound = method == b"GET" && asked.endpoint.is_some();
        self::target(r, text(target_at), target_at.start as usize, &mut asked);
        // The space before the version belongs to the version.
        let version = Span::new((r.at() + 1).min(length), length);
        if r.at() < whole {
            r.text_in(&HTTP_VERSION, whole - r.at(), version);
        }
        asked.sound &= headers(r) && whole > length;
        asked.accepts_codings = accepts_codings(bytes);
        if !r.is_empty() {
            r.text_of(&BODY, r.rest());
        }
        Ok(())
    });
    asked
}

/// Path and parameters.
fn target<S: Sink>(r: &mut Reader<'_, S>, target: &[u8], start: usize, asked: &mut Request) {
    let (path, query) = params::split(target);
    let path_at = Span::new(start, start + path.len());
    r.text_in(&PATH, path.len(), path_at);
    let Some(query) = query else {
        missing(&[], asked, path_at, r.sink);
        return;
    };
    let mut there: Vec<&str> = Vec::new();
    for piece in pieces(query, start + path.len() + 1) {
        // An empty string between two separators is not a parameter.
        if piece.name_at.start < piece.value_at.end {
            parameter(r, &piece, asked, &mut there);
        }
    }
    let end = start + target.len();
    if r.at() < end {
        r.bytes(&SEPARATORS, end - r.at());
    }
    missing(&there, asked, path_at, r.sink);
}

fn parameter<S: Sink>(
    r: &mut Reader<'_, S>,
    piece: &QueryParameter<'_>,
    asked: &mut Request,
    there: &mut Vec<&'static str>,
) {
    let value_start = piece.value_at.start as usize;
    let value_end = piece.value_at.end as usize;
    let name_length = value_start.saturating_sub(r.at());
    let value_length = value_end - value_start;
    let name = decoded(piece.name);
    let found = asked.endpoint.and_then(|endpoint| endpoint.parameter(&name));
    let Some((_, parameter)) = found else {
        r.open(&UNKNOWN);
        text_value(r, &UNKNOWN_NAME, name_length, piece.name, piece.name_at, &name);
        r.decoded(&UNKNOWN_VALUE, value_length, &decoded(piece.value));
        r.close();
        if asked.endpoint.is_some() && !piece.name.is_empty() {
            rules::parameter_unknown(&name, piece.name_at, r.sink);
        }
        return;
    };
    r.text_in(&PARAMETER, name_length, piece.name_at);
    if there.contains(&parameter.name) {
        r.text_in(&REPEATED, value_length, piece.value_at);
        rules::parameter_repeated(parameter.name, piece.name_at, r.sink);
        return;
    }
    there.push(parameter.name);
    rules::parameter_known(piece.name_at, r.sink);
    if parameter.name == "guid32" {
        rules::parameter_deprecated(true, piece.name_at, r.sink);
    }
    let text = decoded(piece.value);
    let number = match parameter.value {
        ParamValue::Number { field, as_text, most } => {
            let number = decimal(&text);
            asked.sound &= number.is_some_and(|number| number <= most);
            match number {
                Some(number) => r.leaf(field, value_length, number),
                None => r.decoded(as_text, value_length, &text),
            };
            rules::parameter_range(parameter.name, &text, number, most, piece.value_at, r.sink);
            number
        }
        ParamValue::Text(field) => {
            text_value(r, field, value_length, piece.value, piece.value_at, &text);
            None
        }
    };
    note(asked, parameter.name, number, &text, piece.value_at, r.sink);
}

/// The text is the payload's own, unless it is percent-encoded.
fn text_value<S: Sink>(
    r: &mut Reader<'_, S>,
    field: &'static Field,
    length: usize,
    written: &[u8],
    at: Span,
    text: &[u8],
) {
    if text == written {
        r.leaf(field, length, TextPlace::at(at).value());
    } else {
        r.decoded(field, length, text);
    }
}

/// Checks a value by its meaning, and stores it if the response depends on it.
fn note<S: Sink>(
    asked: &mut Request,
    name: &str,
    number: Option<u64>,
    text: &[u8],
    at: Span,
    sink: &mut S,
) {
    let Some(endpoint) = asked.endpoint else { return };
    match (endpoint, name) {
        (_, "p") => asked.port = number.unwrap_or(DEFAULT_PORT),
        (_, "i") => asked.id = number,
        (_, "u") => asked.user = Some(text.into()),
        (ApiPath::Auth, "a") => asked.sound &= rules::address_ipv6(text, at, sink),
        (ApiPath::Verify, "c") => {
            let nonce = hex::<NONCE>(text);
            asked.sound &= nonce.is_some();
            rules::nonce_hex("the client nonce", NONCE, text, nonce.is_some(), at, sink);
            asked.nonce = nonce.map(Box::new);
        }
        (ApiPath::Verify, "a") => {
            let digest = hex::<DIGEST>(text);
            asked.sound &= digest.is_some();
            rules::nonce_hex("the digest", DIGEST, text, digest.is_some(), at, sink);
            asked.digest = digest.map(Box::new);
        }
        _ => {}
    }
}

/// Checks for missing parameters.
fn missing<S: Sink>(there: &[&str], asked: &mut Request, at: Span, sink: &mut S) {
    let Some(endpoint) = asked.endpoint else { return };
    let has = |name: &str| there.contains(&name);
    let mut required = endpoint.parameters().iter().filter(|parameter| parameter.required);
    if required.clone().next().is_some() {
        let missing = required.find(|parameter| !has(parameter.name));
        let missing = missing.map(|parameter| parameter.name);
        asked.sound &= missing.is_none();
        rules::parameter_required(endpoint.name(), missing, at, sink);
    }
    if endpoint.parameter(b"guid32").is_some() && !has("guid32") {
        rules::parameter_deprecated(false, at, sink);
    }
    if endpoint == ApiPath::Auth && (has("i") || has("u")) {
        rules::pair_whole(has("i"), has("u"), at, sink);
    }
}

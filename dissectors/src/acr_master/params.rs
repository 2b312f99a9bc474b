//! The endpoints and their parameters, from the specification's lists; and the parsing of the query
//! part of a request's target.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::kit::{Field, Span};

use super::fields::*;

crate::named! {
    /// The endpoints.
    pub(super) enum ApiPath {
        /// `/c`: a game client requests the servers.
        Client = "/c",
        /// `/r`: a game server registers.
        Register = "/r",
        /// `/a`: whether this player may enter.
        Auth = "/a",
        /// `/v`: whether the player answered the challenge.
        Verify = "/v",
    }
}

/// One parameter of an endpoint.
pub(super) struct Parameter {
    /// Its name.
    pub(super) name: &'static str,
    /// The type of its value.
    pub(super) value: ParamValue,
    /// The specification requires it.
    pub(super) required: bool,
}

/// The type of a parameter's value.
pub(super) enum ParamValue {
    /// A decimal number up to `most`.
    Number { field: &'static Field, as_text: &'static Field, most: u64 },
    /// A text.
    Text(&'static Field),
}

const fn number(
    name: &'static str,
    most: u64,
    required: bool,
    field: &'static Field,
    as_text: &'static Field,
) -> Parameter {
    Parameter { name, value: ParamValue::Number { field, as_text, most }, required }
}

const fn text(name: &'static str, required: bool, field: &'static Field) -> Parameter {
    Parameter { name, value: ParamValue::Text(field), required }
}

const U8: u64 = u8::MAX as u64;
const U16: u64 = u16::MAX as u64;
const U32: u64 = u32::MAX as u64;

static OF_CLIENT: &[Parameter] = &[
    number("build_defs", U8, false, &BUILD_DEFS, &BUILD_DEFS_TEXT),
    number("guid32", U32, false, &GUID32, &GUID32_TEXT),
];
static OF_REGISTER: &[Parameter] = &[
    number("p", U32, false, &P, &P_TEXT),
    number("v", U32, true, &V, &V_TEXT),
    number("g", U32, false, &G, &G_TEXT),
    number("guid32", U32, false, &GUID32, &GUID32_TEXT),
];
static OF_AUTH: &[Parameter] = &[
    number("p", U16, false, &P, &P_TEXT),
    text("a", true, &A_ADDRESS),
    number("guid32", U32, false, &GUID32, &GUID32_TEXT),
    number("i", U32, false, &I, &I_TEXT),
    text("u", false, &U),
];
static OF_VERIFY: &[Parameter] = &[
    number("p", U16, false, &P, &P_TEXT),
    number("i", U32, true, &I, &I_TEXT),
    text("c", true, &C),
    text("a", true, &A_DIGEST),
];

/// So many hexadecimal digits are no number, and no word.
const LEAST_OF_DIGEST: usize = 16;

impl ApiPath {
    /// The endpoint in a request's target, with any prefix.
    pub(super) fn of(target: &[u8]) -> Option<ApiPath> {
        let (path, _) = split(target);
        match &*decoded(path.rsplit(|&byte| byte == b'/').next()?) {
            b"c" => Some(ApiPath::Client),
            b"r" => Some(ApiPath::Register),
            b"a" => Some(ApiPath::Auth),
            b"v" => Some(ApiPath::Verify),
            _ => None,
        }
    }

    /// Its parameters, in the specification's order.
    pub(super) fn parameters(self) -> &'static [Parameter] {
        match self {
            ApiPath::Client => OF_CLIENT,
            ApiPath::Register => OF_REGISTER,
            ApiPath::Auth => OF_AUTH,
            ApiPath::Verify => OF_VERIFY,
        }
    }

    /// The parameter with this name, which may be percent-encoded.
    pub(super) fn parameter(self, name: &[u8]) -> Option<(usize, &'static Parameter)> {
        let name = decoded(name);
        let mut all = self.parameters().iter().enumerate();
        all.find(|(_, parameter)| parameter.name.as_bytes() == &*name)
    }

    /// Whether the parameters show that this is the game's endpoint, and not another site's path of
    /// one letter.
    pub(super) fn is_likely(self, query: &[u8]) -> bool {
        let (mut there, mut numbers, mut has_digest) = ([false; 8], 0, false);
        for piece in pieces(query, 0) {
            let Some((at, parameter)) = self.parameter(piece.name) else { continue };
            let is_number = decimal(&decoded(piece.value)).is_some();
            if matches!(parameter.value, ParamValue::Number { .. }) && is_number {
                numbers += 1;
            }
            there[at] = match (self, parameter.name) {
                (ApiPath::Auth, "a") => address(&decoded(piece.value)).is_some(),
                _ => true,
            };
            has_digest |= matches!((self, parameter.name), (ApiPath::Verify, "c" | "a"))
                && may_be_digest(&decoded(piece.value));
        }
        match self {
            ApiPath::Client => there[0] || there[1],
            ApiPath::Register => numbers >= 2,
            ApiPath::Auth => there[1],
            // Other sites have keys of one letter, too.
            ApiPath::Verify => there[1] && there[2] && there[3] && (there[0] || has_digest),
        }
    }
}

/// Whether a value is a digest, or a part of one.
fn may_be_digest(value: &[u8]) -> bool {
    value.len() >= LEAST_OF_DIGEST && value.iter().all(u8::is_ascii_hexdigit)
}

/// Path and query of a target.
pub(super) fn split(target: &[u8]) -> (&[u8], Option<&[u8]>) {
    match target.iter().position(|&byte| byte == b'?') {
        Some(at) => (target.get(..at).unwrap_or_default(), target.get(at + 1..)),
        None => (target, None),
    }
}

/// Whether a target is a page or a file of a web site, which a browser asks for by itself on the same connection.
pub(super) fn is_page(target: &[u8]) -> bool {
    let last = split(target).0.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    last.is_empty() || last.contains(&b'.')
}

/// One `name=value` of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueryParameter<'a> {
    pub(super) name: &'a [u8],
    pub(super) value: &'a [u8],
    /// The span of the name.
    pub(super) name_at: Span,
    /// The span of the value.
    pub(super) value_at: Span,
}

/// The parameters of a query that is `start` bytes into the payload.
pub(super) fn pieces(query: &[u8], start: usize) -> impl Iterator<Item = QueryParameter<'_>> {
    let mut at = start;
    query.split(|&byte| byte == b'&').map(move |piece| {
        let begins = at;
        at += piece.len() + 1;
        let equals = piece.iter().position(|&byte| byte == b'=');
        let name = piece.get(..equals.unwrap_or(piece.len())).unwrap_or_default();
        let value = equals.and_then(|equals| piece.get(equals + 1..)).unwrap_or_default();
        let ends = begins + piece.len();
        QueryParameter {
            name,
            value,
            name_at: Span::new(begins, begins + name.len()),
            value_at: Span::new(ends - value.len(), ends),
        }
    })
}

/// A value after percent-decoding.
pub(super) fn decoded(value: &[u8]) -> Cow<'_, [u8]> {
    if !value.iter().any(|byte| matches!(byte, b'%' | b'+')) {
        return Cow::Borrowed(value);
    }
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let [first, after @ ..] = rest {
        let hex = |at: usize| after.get(at).and_then(|&digit| (digit as char).to_digit(16));
        (rest, _) = match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => {
                (after.get(2..).unwrap_or_default(), bytes.push((high << 4 | low) as u8))
            }
            (b'+', ..) => (after, bytes.push(b' ')),
            (other, ..) => (after, bytes.push(*other)),
        };
    }
    Cow::Owned(bytes)
}

/// A decimal number: only digits, and at most 64 bits.
pub(super) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// An IPv4 or IPv6 address in any form that RFC 1123 and RFC 4291 write.
pub(super) fn address(text: &[u8]) -> Option<IpAddr> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The bytes of lowercase hex digits, exactly this many.
pub(super) fn hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if text.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair.first()?)? << 4 | digit(pair.get(1)?)?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_the_last_segment_of_the_path() {
        assert_eq!(ApiPath::of(b"/c"), Some(ApiPath::Client));
        assert_eq!(ApiPath::of(b"/ms/r?v=140"), Some(ApiPath::Register));
        assert_eq!(ApiPath::of(b"http://ms.example/a?a=::1"), Some(ApiPath::Auth));
        assert_eq!(ApiPath::of(b"/c/"), None);
        assert_eq!(ApiPath::of(b"/cc"), None);
        assert_eq!(ApiPath::of(b"/x?a=/v"), None);
    }

    #[test]
    fn sites_with_paths_of_one_letter_are_not_taken_for_the_master() {
        assert!(ApiPath::Register.is_likely(b"v=140&g=180300&p=28770"));
        assert!(ApiPath::Auth.is_likely(b"p=28770&a=%3A%3Affff:192.0.2.1"));
        assert!(ApiPath::Register.is_likely(b"%76=140&p=2877%30"));
        assert_eq!(ApiPath::of(b"/ms/%72?v=140"), Some(ApiPath::Register));
        assert!(!ApiPath::Register.is_likely(b"v=2"));
        assert!(!ApiPath::Register.is_likely(b"url=http://example.com&v=x&p=y"));
        assert!(!ApiPath::Auth.is_likely(b"a=click&i=4"));
        assert!(!ApiPath::Verify.is_likely(b"v=dQw4w9WgXcQ"));
        assert!(!ApiPath::Verify.is_likely(b"i=12&c=3&a=play"));
        assert!(ApiPath::Verify.is_likely(b"i=12&c=3&a=0123456789abcdef"));
        assert!(!ApiPath::Client.is_likely(b"id=7"));
    }

    #[test]
    fn percent_encoding_is_undone() {
        assert_eq!(&*decoded(b"%3A%3affff%zz%4"), b"::ffff%zz%4");
        assert_eq!(&*decoded(b"a+b"), b"a b");
    }

    #[test]
    fn hex_is_lowercase_and_of_its_length() {
        assert_eq!(hex(b"00ff"), Some([0x00, 0xFF]));
        assert_eq!(hex::<2>(b"00FF"), None);
        assert_eq!(hex::<2>(b"00f"), None);
    }
}

//! What `scrub` keeps of texts.

use crate::kit::{Treatment, kept_if, words};

use super::params::ApiPath;

words! {
    /// Headers of which a reader needs the value, or that are usual.
    HEADERS = "accept accept-encoding cache-control connection content-encoding \
    content-length content-type date expires host keep-alive pragma referer server \
    transfer-encoding user-agent vary";

    /// Words of the values of headers about codings and connections, and about types.
    CODINGS = "alive br chunked close compress deflate gzip identity keep zstd";
    TYPES = "8 charset html json plain text utf";

    /// Words of what a master says about a registration.
    SAID = "banned been blacklisted denied error failed from has is not register registered \
        registering registers registration renewed server success successful successfully \
        unregistered updated was your";

    METHODS = "GET POST HEAD PUT DELETE OPTIONS PATCH";

    /// The reason phrases of RFC 9110, with hyphens for spaces.
    REASONS = "Continue Switching-Protocols OK Created Accepted No-Content Partial-Content \
    Moved-Permanently Found See-Other Not-Modified Temporary-Redirect Permanent-Redirect \
    Bad-Request Unauthorized Forbidden Not-Found Method-Not-Allowed Not-Acceptable Request-Timeout \
    Conflict Gone Length-Required Content-Too-Large URI-Too-Long Too-Many-Requests \
    Internal-Server-Error Not-Implemented Bad-Gateway Service-Unavailable Gateway-Timeout";
}

pub(super) fn is_method(text: &[u8]) -> bool {
    METHODS.contains(text)
}

/// Of a path: the name of an endpoint, and the folder that the specification's examples have.
pub(super) fn is_path(word: &[u8]) -> bool {
    matches!(word, b"a" | b"c" | b"ms" | b"r" | b"v")
}

pub(super) fn is_version(word: &[u8]) -> bool {
    matches!(word, b"HTTP" | b"0" | b"1" | b"2")
}

pub(super) fn is_reason(text: &[u8]) -> bool {
    let with_hyphens =
        Vec::from_iter(text.iter().map(|&byte| if byte == b' ' { b'-' } else { byte }));
    text.is_empty() || REASONS.contains(&*with_hyphens)
}

pub(super) fn is_header(name: &[u8]) -> bool {
    HEADERS.contains(&*name.to_ascii_lowercase())
}

pub(super) fn header_value(name: &[u8], value: &[u8]) -> Treatment {
    let value = value.to_ascii_lowercase();
    match &*name.to_ascii_lowercase() {
        b"content-length" => kept_if(value.len() <= 8 && value.iter().all(u8::is_ascii_digit)),
        b"transfer-encoding" | b"content-encoding" | b"accept-encoding" | b"connection" => {
            Treatment::Words(|word| CODINGS.contains(&*word.to_ascii_lowercase()))
        }
        b"content-type" | b"accept" => {
            Treatment::Words(|word| TYPES.contains(&*word.to_ascii_lowercase()))
        }
        // By which the game's own programs are recognized.
        b"user-agent" => Treatment::Words(|word| {
            [&b"acr"[..], b"client", b"server"].iter().any(|it| it.eq_ignore_ascii_case(word))
        }),
        _ => Treatment::Replaced,
    }
}

/// A word of what a master says.
pub(super) fn is_said(word: &[u8]) -> bool {
    SAID.contains(&*word.to_ascii_lowercase())
}

/// The name of a parameter of an endpoint.
pub(super) fn is_parameter(word: &[u8]) -> bool {
    let endpoints = [ApiPath::Client, ApiPath::Register, ApiPath::Auth, ApiPath::Verify];
    endpoints.iter().any(|endpoint| endpoint.parameter(word).is_some())
}

pub(super) fn are_separators(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'?' | b'&' | b'='))
}

/// The keyword of a line.
pub(super) fn is_line(text: &[u8]) -> bool {
    matches!(text, b"addserver" | b"current_version" | b"masterserver_flags")
}

/// The result of a lookup.
pub(super) fn is_lookup(text: &[u8]) -> bool {
    matches!(text, b"a" | b"bi" | b"bm" | b"bw")
}

/// Whether a text is a word by which readers find their way.
pub(super) fn is_known_word(text: &[u8]) -> bool {
    is_method(text) || is_line(text) || is_header(text) || is_version(text) && text.len() > 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_kept_that_a_reader_needs() {
        let is_kept = |name: &str, value: &str| {
            matches!(header_value(name.as_bytes(), value.as_bytes()), Treatment::Kept)
        };
        assert!(is_kept("Content-Length", "33") && !is_kept("Content-Length", "3405803786"));
        for (name, value) in [("User-Agent", "ACR-Client/20700"), ("Host", "m"), ("X-Real-IP", "7")]
        {
            assert!(!is_kept(name, value), "{name}");
        }
        assert!(is_reason(b"Not Found") && is_reason(b"") && !is_reason(b"Not Ann"));
        assert!(is_parameter(b"build_defs") && !is_parameter(b"pin"));
        assert!(is_header(b"Content-length") && !is_header(b"X-Ann"));
    }
}

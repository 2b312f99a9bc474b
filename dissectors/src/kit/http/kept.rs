//! What `scrub` keeps of texts.

use crate::kit::{Treatment, kept_if, words};

words! {
    /// Headers of which a reader needs the value, or that are usual.
    HEADERS = "accept accept-encoding cache-control connection content-encoding \
    content-length content-type date expires host keep-alive pragma referer server \
    transfer-encoding user-agent vary";

    /// Words of the values of headers about codings and connections, and about types.
    CODINGS = "alive br chunked close compress deflate gzip identity keep zstd";
    TYPES = "8 charset html json plain text utf";

    /// The reason phrases of RFC 9110, with hyphens for spaces.
    REASONS = "Continue Switching-Protocols OK Created Accepted No-Content Partial-Content \
    Moved-Permanently Found See-Other Not-Modified Temporary-Redirect Permanent-Redirect \
    Bad-Request Unauthorized Forbidden Not-Found Method-Not-Allowed Not-Acceptable Request-Timeout \
    Conflict Gone Length-Required Content-Too-Large URI-Too-Long Too-Many-Requests \
    Internal-Server-Error Not-Implemented Bad-Gateway Service-Unavailable Gateway-Timeout";

    /// Words of the names of programs by which readers recognize them.
    PROGRAMS = "acr client curl server";
}

pub(super) fn is_method(text: &[u8]) -> bool {
    super::METHODS.iter().any(|method| method.strip_suffix(b" ") == Some(text))
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
        b"user-agent" => Treatment::Words(|word| PROGRAMS.contains(&*word.to_ascii_lowercase())),
        _ => Treatment::Replaced,
    }
}

/// Whether a text is a word by which readers find their way.
pub(crate) fn is_known_word(text: &[u8]) -> bool {
    is_method(text) || is_header(text) || is_version(text) && text.len() > 1
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
        assert!(is_header(b"Content-length") && !is_header(b"X-Ann"));
    }
}

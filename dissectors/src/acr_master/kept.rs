//! What `scrub` keeps of texts.

use crate::kit::{http, words};

use super::digest::period;
use super::rules::LONGEST_PERIOD;

words! {
    /// The names of all parameters.
    PARAMETERS = "a build_defs c g guid32 i p u v";

    /// Words of what a master says about a registration.
    SAID = "banned been blacklisted denied error failed from has is not register registered \
        registering registers registration renewed server success successful successfully \
        unregistered updated was your";
}

/// Of a path: the name of an endpoint, and the folder that the specification's examples have.
pub(super) fn is_path(word: &[u8]) -> bool {
    matches!(word, b"a" | b"c" | b"ms" | b"r" | b"v")
}

/// The digits of a challenge that is not random: a rule reports it.
pub(super) fn is_periodic(digits: &[u8]) -> bool {
    period(digits, 2 * LONGEST_PERIOD).is_some()
}

/// A word of what a master says.
pub(super) fn is_said(word: &[u8]) -> bool {
    SAID.contains(&*word.to_ascii_lowercase())
}

/// The name of a parameter of an endpoint.
pub(super) fn is_parameter(word: &[u8]) -> bool {
    PARAMETERS.contains(word)
}

pub(super) fn are_separators(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| matches!(byte, b'?' | b'&' | b'='))
}

/// The keywords of lines.
const LINES: [&[u8]; 3] = [b"addserver", b"current_version", b"masterserver_flags"];

/// The keyword of a line.
pub(super) fn is_line(text: &[u8]) -> bool {
    LINES.contains(&text)
}

/// The keyword of a line, or the beginning of one.
pub(super) fn begins_line(text: &[u8]) -> bool {
    LINES.iter().any(|keyword| keyword.starts_with(text))
}

/// The result of a lookup.
pub(super) fn is_lookup(text: &[u8]) -> bool {
    matches!(text, b"a" | b"bi" | b"bm" | b"bw")
}

/// Whether a text is a word by which readers find their way.
pub(super) fn is_known_word(text: &[u8]) -> bool {
    is_line(text) || http::is_known_word(text)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::params::ApiPath;
    use super::*;

    #[test]
    fn parameters_are_kept_that_an_endpoint_has() {
        let endpoints = [ApiPath::Client, ApiPath::Register, ApiPath::Auth, ApiPath::Verify];
        let names = endpoints.iter().flat_map(|endpoint| endpoint.parameters());
        let names: HashSet<_> = names.map(|parameter| parameter.name.as_bytes()).collect();
        assert_eq!(names, PARAMETERS.iter().copied().collect());
        assert!(!is_parameter(b"pin"));
    }
}

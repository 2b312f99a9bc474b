//! Identifies the same finding in other recordings of the same software.

use std::fmt;

use dissectors::kit::Role;
use serde::{Deserialize, Serialize};

use super::ReportedFinding;

/// A finding without the parts that vary between recordings: packets, times, addresses, and numbers
/// and quoted texts in its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fingerprint {
    /// The rule's code.
    pub rule: String,
    /// The kind of party that the rule applies to.
    pub who: String,
    /// The protocol's name; empty for none.
    pub protocol: String,
    /// The message's name; empty if the finding is about an earlier message or none.
    pub message: String,
    /// What is wrong: `#` replaces a number, `"…"` a quoted text.
    pub detail: String,
}

impl Fingerprint {
    /// The fingerprint of a finding.
    pub fn of(found: &ReportedFinding) -> Fingerprint {
        Fingerprint {
            rule: found.rule.code.to_string(),
            who: found.rule.who.name().to_owned(),
            protocol: found.protocol.to_owned(),
            message: found.message.to_owned(),
            detail: lasting(&found.detail),
        }
    }

    /// Whether the rule applies to this kind of party.
    pub fn is_of(&self, who: Role) -> bool {
        self.who == who.name()
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fingerprint { rule, who, protocol, message, detail } = self;
        write!(f, "{rule}/{who}/{protocol}/{message}/{detail}")
    }
}

/// The text with `#` for each run of numbers, and `"…"` for each quoted text.
fn lasting(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (token, after) = if first == '"' {
            (r#""…""#, unquoted(rest))
        } else {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let minus = usize::from(first == '-' && !out.ends_with(word));
            let (sign, number) = rest.split_at(minus);
            let (run, after) = number.split_at(number.find(|c| !word(c)).unwrap_or(number.len()));
            if is_number(run) {
                ("#", after)
            } else if run.is_empty() && sign.is_empty() {
                rest.split_at(first.len_utf8())
            } else {
                rest.split_at(sign.len() + run.len())
            }
        };
        // Bytes in hex are consecutive, and their number varies, too.
        let is_repeated = token == "#" && (out.ends_with("# ") || out.ends_with("#, "));
        if is_repeated {
            out.truncate(out.trim_end_matches([' ', ',']).len());
        } else {
            out.push_str(of_many(&out, token));
        }
        rest = after;
    }
    out
}

/// The plural of a word after a number: the singular would be another finding.
fn of_many<'t>(before: &str, word: &'t str) -> &'t str {
    match word {
        "byte" if before.ends_with("# ") => "bytes",
        "character" if before.ends_with("# ") => "characters",
        "condition" if before.ends_with("# ") => "conditions",
        "entry" if before.ends_with("# ") => "entries",
        "rule" if before.ends_with("# ") => "rules",
        "player" if before.ends_with("# ") => "players",
        "bot" if before.ends_with("# ") => "bots",
        "follows" if before.ends_with("# bytes ") => "follow",
        "travels" if before.ends_with("# bytes ") => "travel",
        "is" if before.ends_with("# bytes ") => "are",
        _ => word,
    }
}

/// The text after the quoted text that begins here. It contains no quotes; a cut one is followed by
/// three dots.
fn unquoted(text: &str) -> &str {
    let inside = text.get(1..).unwrap_or_default();
    let after = inside.split_once('"').map_or("", |(_, after)| after);
    after.strip_prefix("...").unwrap_or(after)
}

/// Digits, hex with a digit in it, or whole bytes in upper-case hex.
fn is_number(word: &str) -> bool {
    let is_hex = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_bytes = is_hex && word.len().is_multiple_of(2) && word == word.to_ascii_uppercase();
    !word.is_empty()
        && (word.starts_with(|first: char| first.is_ascii_digit())
            || is_hex && has_digit
            || is_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_and_quoted_texts_are_left_out() {
        for (text, left) in [
            (
                "Num Players says 12, the packet holds 1 entry",
                "Num Players says #, the packet holds # entries",
            ),
            ("the challenge -7 was never issued", "the challenge # was never issued"),
            ("the challenge 7 was never issued", "the challenge # was never issued"),
            ("s32779 is \"6\", not 1 to 5", "s32779 is \"…\", not # to #"),
            (r#"the rule "a\x22b\" occurs twice"#, "the rule \"…\" occurs twice"),
            (r#"the rule "aaa"... occurs twice"#, "the rule \"…\" occurs twice"),
            (
                "reads the master's [4B, A1, FF, 22] as big-endian",
                "reads the master's [#] as big-endian",
            ),
            ("FF FF FF FF 66 is followed by 0B, not by 0A", "# is followed by #, not by #"),
            ("comes from [fe80::1]:27015", "comes from [#::#]:#"),
            ("EDF 0xA5 has bits 0x04", "EDF # has bits #"),
            ("5 m-bytes - as it is", "# m-bytes - as it is"),
            ("not UTF-8, says Größe 9µ", "not UTF-#, says Größe #"),
            ("never \"closed", "never \"…\""),
            ("1 byte follows the last field", "# bytes follow the last field"),
            ("4 bytes follow the last field", "# bytes follow the last field"),
            ("", ""),
        ] {
            assert_eq!(lasting(text), left);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_left_with_no_digit_at_a_word_s_beginning(text in any::<String>()) {
            let left = lasting(&text);
            prop_assert_eq!(lasting(&left), left);
        }
    }
}

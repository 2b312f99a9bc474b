//! What `scrub` keeps of texts.

use crate::kit::{Treatment, is_game, is_plain, is_small_number, kept_if, words};

use super::claim::has_broken_header;
use super::conditions;
use super::conditions::{TABLE, XASH3D};
use super::info_keys;

words! {
    /// Keys whose values are numbers or flags.
    NUMBERS = "appid bots buildnum collapse_addr_hash dedicated empty full lan linux max \
    nand napp nat noplayers nor password players protocol proxy region secure white";
}

/// Whether it is a key of the specification, or of Xash3D.
pub(super) fn is_key(key: &[u8]) -> bool {
    info_keys::find(key).is_some()
        || conditions::find(TABLE, key).is_some()
        || conditions::find(XASH3D, key).is_some()
}

pub(super) fn value(key: &[u8], value: &[u8]) -> Treatment {
    match key {
        b"challenge" => Treatment::Challenge,
        b"key" => Treatment::Hexadecimal,
        b"gamedir" | b"product" => kept_if(is_game(value)),
        b"os" | b"type" => kept_if(value.len() == 1),
        b"version" | b"version_match" | b"clver" => Treatment::Replaced,
        _ => kept_if(NUMBERS.contains(key) && (is_plain(value) || is_small_number(value))),
    }
}

/// Where the blocks of a list begin that has a wrong header.
pub(super) fn broken_header(bytes: &[u8]) -> Option<usize> {
    if !has_broken_header(bytes) {
        return None;
    }
    let before = bytes.len() % 6;
    let end = bytes.windows(2).take(5).position(|two| two == b"f\n").map_or(6, |at| at + 2);
    Some(if end % 6 == before { end } else { before })
}

/// Whether a text is a word by which readers find their way.
pub(super) fn is_known_word(text: &[u8]) -> bool {
    is_key(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_kept_by_their_keys() {
        let is_kept = |key: &str, text: &str| {
            is_key(key.as_bytes())
                && matches!(value(key.as_bytes(), text.as_bytes()), Treatment::Kept)
        };
        for (key, value) in
            [("players", "4"), ("gamedir", "cstrike"), ("os", "l"), ("napp", "500"), ("nor", "2")]
        {
            assert!(is_kept(key, value), "{key} {value}");
        }
        for (key, value) in [
            ("map", "4"),
            ("players", "3405803786"),
            ("gamedir", "ann"),
            ("version", "1.0"),
            ("name_match", "*"),
            ("key", "cb007109"),
            ("challenge", "1"),
            ("rcon_pw", "4711"),
        ] {
            assert!(!is_kept(key, value), "{key} {value}");
        }
    }

    #[test]
    fn the_blocks_after_a_wrong_header_are_found() {
        for (header, length) in
            [(&b"\xFF\xFF\xFF\xFFg\n"[..], 6), (b"f\n", 2), (b"\xFF\xFF\xFFf\n", 5)]
        {
            let list = [header, b"\x0A\0\0\x02\x69\x87\0\0\0\0\0\0"].concat();
            assert_eq!(broken_header(&list), Some(length), "{list:?}");
        }
        assert_eq!(broken_header(b"hello"), None);
    }
}

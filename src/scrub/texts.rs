//! Replaces texts by others of the same length and form: letters by letters, figures by figures;
//! other characters stay.

use super::secret::{Key, NumberStream};

const TEXT: u8 = 1;

/// The replacement of a text, which is always the same.
pub(super) fn other(key: &Key, text: &[u8]) -> Vec<u8> {
    let mut numbers = key.numbers(TEXT, text);
    let mut out = Vec::with_capacity(text.len());
    // A digest, a nonce, an IPv6 address.
    let is_hex =
        text.len() >= 8 && text.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b':');
    if is_hex {
        out.extend(text.iter().map(|&byte| match byte {
            b'1'..=b'9' => b'1' + numbers.below(9) as u8,
            b'a'..=b'f' => b'a' + numbers.below(6) as u8,
            b'A'..=b'F' => b'A' + numbers.below(6) as u8,
            _ => byte,
        }));
        return out;
    }
    for chunk in text.utf8_chunks() {
        let mut chars = chunk.valid().chars().peekable();
        while let Some(c) = chars.next() {
            // A percent sign and two hexadecimal digits are one character of an address in HTTP.
            let is_escape = c == '%' && {
                let mut ahead = chars.clone();
                (0..2).all(|_| ahead.next().is_some_and(|c| c.is_ascii_hexdigit()))
            };
            if is_escape {
                let digits = Vec::from_iter(chars.by_ref().take(2));
                let value = digits.iter().fold(0, |sum, c| sum * 16 + c.to_digit(16).unwrap_or(0));
                // Letters, and bytes of letters, are replaced; punctuation stays.
                let is_form = value < 0x80 && !(value as u8).is_ascii_alphanumeric();
                let digits = if is_form { digits } else { vec!['6', '1'] };
                out.push(b'%');
                out.extend(digits.into_iter().map(|c| c as u8));
            } else {
                let other = character(c, &mut numbers);
                out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        // Invalid bytes are replaced by invalid ones, so that it stays invalid UTF-8. Bytes of
        // headers stay.
        out.extend(chunk.invalid().iter().map(|&byte| match byte {
            0xFE | 0xFF => byte,
            _ => 0xF8 + numbers.below(6) as u8,
        }));
    }
    out
}

/// A character of the same length and kind.
fn character(c: char, numbers: &mut NumberStream) -> char {
    let mut from = |first: u32, count: u32| {
        char::from_u32(first + numbers.below(count)).unwrap_or(char::REPLACEMENT_CHARACTER)
    };
    match c {
        'a'..='z' => from(u32::from('a'), 26),
        'A'..='Z' => from(u32::from('A'), 26),
        '0'..='9' => from(u32::from('0'), 10),
        '\0'..='\x7F' => c,
        c if crate::text::is_hidden(c) => c,
        c => match c.len_utf8() {
            2 => from(0x430, 32),
            3 => from(0x4E00, 0x5000),
            _ => from(0x1_F600, 64),
        },
    }
}

/// Whether a value describes the software rather than people: a number, yes or no, one letter.
pub(super) fn is_plain_value(value: &[u8]) -> bool {
    let is_number = value.len() <= 10
        && value.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
    let words: [&[u8]; 6] = [b"true", b"false", b"yes", b"no", b"on", b"off"];
    is_number || value.len() < 2 || words.iter().any(|word| word.eq_ignore_ascii_case(value))
}

/// Whether values of this key are always replaced.
pub(super) fn is_secret_key(key: &[u8]) -> bool {
    let key = key.to_ascii_lowercase();
    let parts: [&[u8]; 11] = [
        b"passw",
        b"key",
        b"steam",
        b"guid",
        b"digest",
        b"auth",
        b"hash",
        b"token",
        b"mail",
        b"playerid",
        b"ownerid",
    ];
    let has = |part: &&[u8]| key.windows(part.len()).any(|window| window == *part);
    // `password` itself only says whether there is one.
    key != b"password" && parts.iter().any(has)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_form_of_a_text_stays() {
        let key = Key::new(b"a key");
        let text = "Mill Creek 24/7 | ctf_2fort \u{200B}Größe 東京 😀\0".as_bytes();
        let new = other(&key, text);
        assert_eq!(new, other(&key, text));
        assert_ne!(new, other(&Key::new(b"another"), text));
        let (old, new) = (std::str::from_utf8(text).unwrap(), std::str::from_utf8(&new).unwrap());
        for (old, new) in old.chars().zip(new.chars()) {
            assert_eq!(old.len_utf8(), new.len_utf8());
            assert_eq!(old.is_alphabetic(), new.is_alphabetic(), "{old} {new}");
            assert!(old.is_alphanumeric() || old == new || old == '😀');
        }
        assert_eq!(other(&key, b"%20%41%C3a%zz")[..9], *b"%20%61%61");
    }

    #[test]
    fn personal_data_is_identified_by_key() {
        assert!(is_secret_key(b"SteamID") && is_secret_key(b"rcon_password"));
        assert!(!is_secret_key(b"password") && !is_secret_key(b"mapname"));
        assert!(is_plain_value(b"27015") && is_plain_value(b"True") && is_plain_value(b"d"));
        assert!(!is_plain_value(b"de_dust2") && !is_plain_value(b"76561198000000000"));
    }

    proptest! {
        #[test]
        fn any_bytes_keep_length_and_validity(text: Vec<u8>) {
            let new = other(&Key::new(b"k"), &text);
            prop_assert_eq!(new.len(), text.len());
            prop_assert_eq!(std::str::from_utf8(&new).is_ok(), std::str::from_utf8(&text).is_ok());
        }
    }
}

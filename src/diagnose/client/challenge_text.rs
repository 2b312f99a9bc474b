//! Texts in the place of challenges.

use std::borrow::Cow;

/// The text that is sent in place of a challenge, which is a number of four bytes. `bytes`: from the challenge on.
pub(in crate::diagnose) fn text_as_challenge(bytes: &[u8]) -> Option<Cow<'_, str>> {
    const NUMBER: usize = 4;
    // The bytes of a number may all be characters, too, but hardly what programs write for nothing.
    const NOTHING: [&[u8]; 4] = [b"null", b"NULL", b"None", b"-1\0\0"];
    let count = bytes.iter().take_while(|byte| byte.is_ascii_graphic()).count();
    let is_text = count > NUMBER || NOTHING.iter().any(|it| bytes.starts_with(it));
    is_text.then(|| String::from_utf8_lossy(bytes.get(..count).unwrap_or_default()))
}

/// What follows the header of a short request, if it is readable.
pub(in crate::diagnose) fn shown_tail(bytes: &[u8]) -> Option<String> {
    let tail = bytes.get(5..).filter(|tail| (1..=32).contains(&tail.len()))?;
    let is_text = tail.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    is_text.then(|| String::from_utf8_lossy(tail).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_as_text_is_recognized() {
        let of = |bytes: &'static [u8]| text_as_challenge(bytes);
        assert_eq!(of(b"4294967295").as_deref(), Some("4294967295"));
        assert_eq!(of(b"9513307\0\0\0\0").as_deref(), Some("9513307"));
        assert_eq!(of(b"-564035698\xFF\xFF\xFF\x01").as_deref(), Some("-564035698"));
        assert_eq!(of(b"0x2F9A11C4").as_deref(), Some("0x2F9A11C4"));
        assert_eq!(of(b"null").as_deref(), Some("null"));
        assert_eq!(of(b"-1\0\0").as_deref(), Some("-1"));
        assert_eq!(of(b"-123456").as_deref(), Some("-123456"));
        assert_eq!(of(b"1234"), None, "four bytes may all be digits");
        assert_eq!(of(b"Uabc"), None, "four bytes may all be characters");
        assert_eq!(of(b"\x12null"), None);
        assert_eq!(shown_tail(b"\xFF\xFF\xFF\xFFU%s").as_deref(), Some("%s"));
    }
}

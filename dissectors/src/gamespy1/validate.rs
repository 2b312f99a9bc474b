//! The response to a secure challenge, which proves that the sender is the game.
//!
//! It implements the GameSpy algorithm and knows one game's key. Keys are used only in the
//! computation and never printed.

use crate::kit::Settings;

/// The only key that is known by default.
const KEY: &[u8] = b"Z5Nfb0";
/// Its game's name, the key.
const KEYS: [(&[u8], &[u8]); 1] = [(b"ut", KEY)];
/// The cipher's state for this key, precomputed because it is used most.
static STATE: [u8; 256] = schedule(KEY);

/// Characters of a challenge.
pub(super) const CHALLENGE: usize = 6;
/// Characters of a response.
pub(super) const RESPONSE: usize = 8;

/// The correct response to the challenge, for the encoding type in the request. `None` if the key
/// or the encoding type is unknown.
pub(super) fn expected(
    game: &[u8],
    challenge: [u8; CHALLENGE],
    enctype: u8,
    settings: &Settings,
) -> Option<[u8; RESPONSE]> {
    let given =
        settings.protocols.gamespy1.keys.iter().map(|(game, key)| (game.as_bytes(), key.bytes()));
    let mut keys = given.chain(KEYS).filter(|(_, key)| !key.is_empty());
    let (_, key) = keys.find(|(name, _)| name.eq_ignore_ascii_case(game))?;
    let mut response = encipher(challenge, key);
    match enctype {
        0 => {}
        2 => response.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key),
        _ => return None,
    }
    Some(base64(response))
}

/// The RC4 key schedule for a key that is not empty.
const fn schedule(key: &[u8]) -> [u8; 256] {
    let mut state = [0; 256];
    let mut i = 0;
    while i < state.len() {
        state[i] = i as u8;
        i += 1;
    }
    let (mut i, mut j) = (0, 0_u8);
    while i < state.len() {
        j = j.wrapping_add(state[i]).wrapping_add(key[i % key.len()]);
        state.swap(i, j as usize);
        i += 1;
    }
    state
}

/// RC4 with another generator: the first index advances by the plain byte plus one, not by one.
fn encipher(mut text: [u8; CHALLENGE], key: &[u8]) -> [u8; CHALLENGE] {
    let mut state = if key == KEY { STATE } else { schedule(key) };
    let (mut i, mut j) = (0_u8, 0_u8);
    for byte in &mut text {
        i = i.wrapping_add(*byte).wrapping_add(1);
        let first = state[usize::from(i)];
        j = j.wrapping_add(first);
        let second = state[usize::from(j)];
        state.swap(usize::from(i), usize::from(j));
        *byte ^= state[usize::from(first.wrapping_add(second))];
    }
    text
}

/// Six bytes, six bits at a time.
fn base64(bytes: [u8; CHALLENGE]) -> [u8; RESPONSE] {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let [a, b, c, d, e, f] = bytes;
    let bits = u64::from_be_bytes([0, 0, a, b, c, d, e, f]);
    std::array::from_fn(|i| DIGITS[(bits >> (42 - 6 * i)) as usize & 0x3F])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::Secret;

    fn response(game: &str, challenge: &[u8; 6], settings: &Settings) -> Option<String> {
        let response = expected(game.as_bytes(), *challenge, 0, settings)?;
        Some(String::from_utf8(response.to_vec()).unwrap())
    }

    #[test]
    fn the_tcp_example_of_the_specification_is_valid() {
        let settings = Settings::default();
        assert_eq!(response("ut", b"XDWAOR", &settings).unwrap(), "3JOdDFU5");
        assert_eq!(response("UT", b"XDWAOR", &settings).unwrap(), "3JOdDFU5");
    }

    #[test]
    fn the_udp_example_of_the_specification_is_not_valid() {
        let response = response("ut", b"l8jfVy", &Settings::default()).unwrap();
        assert_eq!(response, "SAaJHX96");
        assert_ne!(response, "XuXkWPKC");
    }

    #[test]
    fn encoding_types() {
        let response = |enctype| expected(b"ut", *b"HRZJLG", enctype, &Settings::default());
        assert_eq!(response(0).as_ref(), Some(b"K8bTorkx"));
        assert_eq!(response(2).as_ref(), Some(b"cfOdxNsB"), "as a client in a recording answered");
        assert_eq!(response(1), None);
    }

    #[test]
    fn the_user_s_keys_count_first() {
        let key = |game: &str, key: &str| (game.to_owned(), Secret::new(key.as_bytes()));
        let mut settings = Settings::default();
        settings.protocols.gamespy1.keys =
            vec![key("unreal", "LabKey"), key("empty", ""), key("ut", "LabKey")];
        assert_eq!(response("unreal", b"TONXSR", &settings).unwrap(), "Uej7hxuk");
        assert_eq!(response("ut", b"TONXSR", &settings).unwrap(), "Uej7hxuk");
        assert_eq!(response("empty", b"TONXSR", &settings), None);
        assert_eq!(response("deusex", b"TONXSR", &settings), None);
        assert!(!format!("{settings:?}").contains("LabKey"));
    }
}

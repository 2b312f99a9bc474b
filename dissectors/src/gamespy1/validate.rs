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
    code(given.chain(KEYS), game, challenge, enctype)
}

/// The same for a game whose key is known by default.
pub(super) fn usual(
    game: &[u8],
    challenge: [u8; CHALLENGE],
    enctype: u8,
) -> Option<[u8; RESPONSE]> {
    code(KEYS.into_iter(), game, challenge, enctype)
}

/// The response to the challenge with one of these keys of games.
fn code<'k>(
    keys: impl Iterator<Item = (&'k [u8], &'k [u8])>,
    game: &[u8],
    challenge: [u8; CHALLENGE],
    enctype: u8,
) -> Option<[u8; RESPONSE]> {
    let mut keys = keys.filter(|(_, key)| !key.is_empty());
    let (_, key) = keys.find(|(name, _)| name.eq_ignore_ascii_case(game))?;
    let mut response = encipher(challenge, key);
    mask(&mut response, key, enctype)?;
    Some(base64(response))
}

/// What the encoding type adds to the cipher, which undoes itself. `None`: unknown.
fn mask(response: &mut [u8; CHALLENGE], key: &[u8], enctype: u8) -> Option<()> {
    match enctype {
        0 => {}
        2 => response.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key),
        _ => return None,
    }
    Some(())
}

/// The response to another challenge, if this one is correct for some challenge of a game whose key
/// is known by default. `renew`: the other challenge, if this is the one that was given; several
/// challenges can have the same response.
pub(super) fn renewed(
    response: [u8; RESPONSE],
    mut renew: impl FnMut([u8; CHALLENGE]) -> Option<[u8; CHALLENGE]>,
) -> Option<[u8; RESPONSE]> {
    let enciphered = unbase64(response)?;
    for (_, key) in KEYS {
        for enctype in [0, 2] {
            let mut bytes = enciphered;
            mask(&mut bytes, key, enctype)?;
            let state = if key == KEY { STATE } else { schedule(key) };
            let place = Place { state, i: 0, j: 0 };
            if let Some(challenge) = search(&bytes, [0; CHALLENGE], 0, place, &mut renew) {
                let mut other = encipher(challenge, key);
                mask(&mut other, key, enctype)?;
                return Some(base64(other));
            }
        }
    }
    None
}

/// The cipher before a character.
#[derive(Clone, Copy)]
struct Place {
    state: [u8; 256],
    i: u8,
    j: u8,
}

impl Place {
    /// Enciphers a character.
    fn next(&mut self, byte: u8) -> u8 {
        self.i = self.i.wrapping_add(byte).wrapping_add(1);
        let first = self.state[usize::from(self.i)];
        self.j = self.j.wrapping_add(first);
        let second = self.state[usize::from(self.j)];
        self.state.swap(usize::from(self.i), usize::from(self.j));
        byte ^ self.state[usize::from(first.wrapping_add(second))]
    }
}

/// What `renew` makes of a challenge that is enciphered so. The first characters are known: few
/// have a given result in each place.
fn search(
    bytes: &[u8; CHALLENGE],
    known: [u8; CHALLENGE],
    at: usize,
    place: Place,
    renew: &mut dyn FnMut([u8; CHALLENGE]) -> Option<[u8; CHALLENGE]>,
) -> Option<[u8; CHALLENGE]> {
    let Some(&wanted) = bytes.get(at) else { return renew(known) };
    (b'0'..=b'z').filter(u8::is_ascii_alphanumeric).find_map(|byte| {
        let (mut next, mut known) = (place, known);
        if next.next(byte) != wanted {
            return None;
        }
        known[at] = byte;
        search(bytes, known, at + 1, next, renew)
    })
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
fn encipher(text: [u8; CHALLENGE], key: &[u8]) -> [u8; CHALLENGE] {
    let state = if key == KEY { STATE } else { schedule(key) };
    let mut place = Place { state, i: 0, j: 0 };
    text.map(|byte| place.next(byte))
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The six bytes of a response.
fn unbase64(text: [u8; RESPONSE]) -> Option<[u8; CHALLENGE]> {
    let digit = |byte: u8| DIGITS.iter().position(|&digit| digit == byte);
    let bits = text.iter().try_fold(0, |bits, &byte| Some(bits << 6 | digit(byte)? as u64))?;
    bits.to_be_bytes().last_chunk().copied()
}

/// Six bytes, six bits at a time.
fn base64(bytes: [u8; CHALLENGE]) -> [u8; RESPONSE] {
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
    fn a_correct_response_becomes_that_to_another_challenge() {
        let right = |challenge: &[u8; 6], enctype| {
            expected(b"ut", *challenge, enctype, &Settings::default()).unwrap()
        };
        for enctype in [0, 2] {
            for challenge in [b"XDWAOR", b"l8jfVy", b"000000", b"zzzzzz"] {
                let mut from = Vec::new();
                let renew = |it: [u8; 6]| {
                    from.push(it);
                    (it == *challenge).then_some(*b"HRZJLG")
                };
                let other = renewed(right(challenge, enctype), renew);
                assert_eq!(other, Some(right(b"HRZJLG", enctype)));
                let all = from.iter().all(|it| right(it, enctype) == right(challenge, enctype));
                assert!(all, "{from:?}");
            }
        }
        for wrong in [b"12345678", b"cb007109", b"........"] {
            assert_eq!(renewed(*wrong, Some), None);
        }
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

//! Whether bytes belong to this protocol. Most messages are hard to identify: one or two bytes need
//! the usual port or a known flow, and the right direction.

use crate::kit::{Claim, Hint};

use super::endpoint::{self, ZERO};
use super::info::int;

/// Maximum length of a message to a master without clear signs, such as a join or a quit.
const LONGEST_WEAK: usize = 8;

/// The longest IP:Port and its zero.
const LONGEST_SEED: usize = "255.255.255.255:65535\0".len();

pub(super) fn claim(bytes: &[u8], hint: Hint) -> Claim {
    let to_master = weak(hint.to_port || hint.known || hint.forced);
    let from_master = weak(hint.from_port || hint.known || hint.forced);
    let speaks = hint.known || hint.forced;
    match bytes {
        _ if hint.known && has_broken_header(bytes) => Claim::Weak,
        [b'1', rest @ ..] if seed(rest).is_some() => Claim::Sure,
        [b'1', rest @ ..] if may_be_query(rest, speaks) => to_master,
        [b'0', b'\n', b'\\', ..] if is_info(bytes) => Claim::Sure,
        [b'0', b'\n', b'\\', ..] => to_master,
        [b'0', b'\\', rest @ ..] if speaks || is_text(rest) => to_master,
        [b'0', b'\n', rest @ ..] if is_text(rest) => to_master,
        [b'0', rest @ ..] if before_info(rest) > 0 && is_info(bytes) => to_master,
        [b'q'] | [b'q', 0] | [b'q', 0xFF, _, _, _, _] => to_master,
        [b'b', b'\n'] | [b'b', b'\n', 0] => to_master,
        [b'q' | b'b', rest @ ..] if rest.len() < LONGEST_WEAK => to_master,
        // Whatever its first byte is, a list without the line feed is none of these words.
        [0xFF, 0xFF, 0xFF, 0xFF, b'f', blocks @ ..] if is_list(blocks) => from_master,
        // A word in place of the line feed belongs to another protocol: `statusResponse` of a Quake
        // 3 server.
        [0xFF, 0xFF, 0xFF, 0xFF, b'f' | b's', b'A'..=b'Z' | b'a'..=b'z', ..] => weak(hint.forced),
        [0xFF, 0xFF, 0xFF, 0xFF, b'f', b'\n', blocks @ ..] if is_list(blocks) => Claim::Sure,
        [0xFF, 0xFF, 0xFF, 0xFF, b'f', ..] => from_master,
        [0xFF, 0xFF, 0xFF, 0xFF, b's', b'\n', _, _, _, _, rest @ ..]
            if matches!(rest.len(), 0 | 4) =>
        {
            Claim::Sure
        }
        [0xFF, 0xFF, 0xFF, 0xFF, b's', ..] => from_master,
        [0xFF, 0xFF, 0xFF, 0xFF, b'c', b' ', client @ ..] if is_client(client) => from_master,
        _ => weak(hint.forced),
    }
}

const fn weak(so: bool) -> Claim {
    if so { Claim::Weak } else { Claim::No }
}

/// The challenge that an info string returns.
pub(super) fn returned(bytes: &[u8]) -> Option<u32> {
    const KEY: &[u8] = b"\\challenge\\";
    let at = bytes.windows(KEY.len()).position(|it| it == KEY)?;
    int(bytes.get(at + KEY.len()..)?.split(|byte| matches!(byte, b'\\' | b'\n' | 0)).next()?)
}

/// A join, or a query from 0.0.0.0:0, needs no earlier message.
pub(super) fn opens(bytes: &[u8]) -> bool {
    match bytes {
        [b'1', rest @ ..] => seed(rest) == Some(ZERO),
        _ => is_join(bytes),
    }
}

/// A join, of Source or of Xash3D's dialect.
pub(super) fn is_join(bytes: &[u8]) -> bool {
    matches!(bytes, [b'q'] | [b'q', 0] | [b'q', 0xFF, _, _, _, _])
}

/// The address after which a query continues: the terminated IP:Port after the region byte.
fn seed(after_type: &[u8]) -> Option<endpoint::Endpoint> {
    let text = after_type.get(1..)?;
    let length = text.iter().take(LONGEST_SEED).position(|&byte| byte == 0)?;
    endpoint::parse(text.get(..length)?)
}

/// A query with an invalid IP:Port: still a text, and not a long one. Unless the flow `speaks` this protocol, what follows
/// it must be one, too: packets of a game begin with a number, which says nothing if its first byte is that of a query.
fn may_be_query(after_type: &[u8], speaks: bool) -> bool {
    let text = after_type.get(1..).unwrap_or_default();
    let length = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
    let is_printable = |text: &[u8]| text.iter().all(|byte| matches!(byte, b' '..=b'~'));
    let (seed, rest) = text.split_at(length);
    let is_empty = seed.is_empty() && rest.starts_with(&[0, 0]);
    let follows = |rest: &[u8]| match is_empty {
        true => rest.iter().all(|&byte| byte == 0),
        false => rest.split(|&byte| byte == 0).all(is_printable),
    };
    length <= 2 * LONGEST_SEED && is_printable(seed) && (speaks || follows(rest))
}

/// The number of bytes between the type of an info string and its first backslash: one line feed, or what some servers
/// have in its place.
pub(super) fn before_info(after_type: &[u8]) -> usize {
    match after_type {
        [b'\r', b'\n', b'\\', ..] => 2,
        [b'\r' | 0, b'\\', ..] | [b'\n', ..] => 1,
        _ => 0,
    }
}

/// Pairs that only this protocol's info strings have.
fn is_info(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(256)).unwrap_or_default();
    let has = |key: &[u8]| start.windows(key.len()).any(|window| window == key);
    has(b"\\challenge\\") && has(b"\\protocol\\")
}

/// Whether this may be an info string without its usual beginning: no control character except at
/// its end.
fn is_text(text: &[u8]) -> bool {
    let zeros = text.iter().rev().take_while(|&&byte| byte == 0).count();
    let text = text.get(..text.len() - zeros).unwrap_or_default();
    !text.strip_suffix(b"\n").unwrap_or(text).iter().any(u8::is_ascii_control)
}

/// Complete address blocks of possible servers; the last one may be the end mark.
fn is_list(blocks: &[u8]) -> bool {
    let (whole, rest) = blocks.as_chunks();
    let Some((last, others)) = whole.split_last() else { return false };
    let possible = |&[a, _, _, _, e, f]: &[u8; 6]| matches!(a, 1..224) && [e, f] != [0, 0];
    rest.is_empty() && others.iter().all(possible) && (possible(last) || *last == ZERO)
}

/// A list of servers with a wrong header: cut short, or with a wrong byte. It counts as a reply
/// only if one is due.
pub(super) fn has_broken_header(bytes: &[u8]) -> bool {
    let list = match *bytes {
        [0xFF, 0xFF, 0xFF, 0xFF, b'f', ..] => None,
        [0xFF, 0xFF, 0xFF, 0xFF, _, b'\n', ref list @ ..] => Some(list),
        [_, _, _, _, b'f', b'\n', ref list @ ..] => Some(list),
        _ => {
            let header = bytes.get(..5).unwrap_or(bytes);
            let after = header.windows(2).position(|two| two == b"f\n").map(|at| at + 2);
            after.and_then(|after| bytes.get(after..))
        }
    };
    list.is_some_and(is_list)
}

/// The client that a master announces to a server behind NAT.
fn is_client(text: &[u8]) -> bool {
    let text = std::str::from_utf8(text).unwrap_or_default();
    text.parse::<std::net::SocketAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::valve_master::tests::document;

    const NONE: Hint = Hint { from_port: false, to_port: false, known: false, forced: false };
    const TO: Hint = Hint { to_port: true, ..NONE };
    const FROM: Hint = Hint { from_port: true, ..NONE };
    const KNOWN: Hint = Hint { known: true, ..NONE };

    #[test]
    fn messages_with_distinctive_bytes_are_identified_on_any_port() {
        let sure: Vec<_> =
            document::all().iter().map(|bytes| claim(bytes, NONE) == Claim::Sure).collect();
        let [query, napp, reply, join, challenge, info, source, orange_box, quit, quit0] = sure[..]
        else {
            panic!("the document shows ten messages");
        };
        assert!(query && napp && reply && challenge && info && source && orange_box);
        assert!(!join && !quit && !quit0);
        assert_eq!(claim(b"\xFF\xFF\xFF\xFFs\nabcdefgh", NONE), Claim::Sure);
    }

    #[test]
    fn the_rest_needs_a_port_or_a_flow_that_speaks_for_it() {
        let to_master: [&[u8]; 15] = [
            b"q",
            b"q\0",
            b"q\xFF\x19\x9eU!",
            b"b\n",
            b"b\n\0",
            b"1",
            b"1\xFF0.0.0.0\0\0",
            b"1\xFFa master:27010\0\\gamedir\\tf\0",
            b"1\xFF\0\\gamedir\\tf\0",
            b"1\xFF\0\0\0",
            b"0\\a\\b\n",
            b"0\nprotocol\\47\\challenge\\5\n",
            b"0\n",
            b"0\n\n",
            b"0\nhello\n\0",
        ];
        for bytes in to_master {
            let claims = [NONE, FROM, TO, KNOWN].map(|hint| claim(bytes, hint));
            assert_eq!(claims, [Claim::No, Claim::No, Claim::Weak, Claim::Weak], "{bytes:?}");
        }
        let from_master: [&[u8]; 5] = [
            b"\xFF\xFF\xFF\xFFf\n",
            b"\xFF\xFF\xFF\xFFf\0\x0A\0\0\x02\x69\x87",
            b"\xFF\xFF\xFF\xFFs\nab",
            b"\xFF\xFF\xFF\xFFs\nabcde",
            b"\xFF\xFF\xFF\xFFc 127.0.0.1:33974",
        ];
        for bytes in from_master {
            let claims = [NONE, FROM, TO, KNOWN].map(|hint| claim(bytes, hint));
            assert_eq!(claims, [Claim::No, Claim::Weak, Claim::No, Claim::Weak], "{bytes:?}");
        }
    }

    #[test]
    fn similar_traffic_is_not_identified() {
        let alike: [&[u8]; 12] = [
            b"\xFF\xFF\xFF\xFFstatusResponse\n\\mapname\\q3dm17\n",
            b"\xFF\xFF\xFF\xFFfull",
            b"0\n\x8A\x1C\x11\x02\x53\x49\x0E\x77",
            b"1\x2A\x01\0\0\x01\0\0\0\0\0\0\x03www\x07example\x03com\0\0\x01\0\x01",
            b"\xFF\xFF\xFF\xFF\xFF\xFF\0\x11\x22\x33\x44\x55\0\x11\x22\x33\x44\x55",
            b"\xFF\xFF\xFF\xFF!L_ \xA0\x01\0\0",
            b"\xFF\xFF\xFF\xFFTSource Engine Query\0",
            b"\xFF\xFF\xFF\xFFconnectResponse",
            b"\xFF\xFF\xFF\xFFgetservers 68 empty full",
            b"\xCA\xFE\xBA\xBE\0\0\0\0",
            b"quit: a text that begins with q",
            b"",
        ];
        for bytes in alike {
            for hint in [NONE, TO, FROM, KNOWN] {
                assert_eq!(claim(bytes, hint), Claim::No, "{bytes:?}");
            }
        }
    }

    /// Numbers of packets that count up from one, and the numbers that these confirm.
    #[test]
    fn a_number_at_the_start_of_a_game_packet_is_no_type() {
        for number in [0x31_u32, 0x0231, 0x2031, 0x0001_2031, 0x5C30, 0x0001_5C30] {
            for confirmed in [7_u32, 0x30, 0x2020, 0x0001_2020] {
                for content in [&b""[..], b"\x01text", b"\0\0\0\0text", &[0; 8]] {
                    let numbers = [number.to_le_bytes(), confirmed.to_le_bytes()].concat();
                    let bytes = [&numbers, content].concat();
                    for hint in [NONE, TO, FROM] {
                        assert_eq!(claim(&bytes, hint), Claim::No, "{bytes:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_list_after_another_header_is_identified_by_its_flow() {
        let foreign: [&[u8]; 5] = [
            b"f\n\x0A\0\0\x02\x69\x87\0\0\0\0\0\0",
            b"\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87",
            b"\xFE\xFF\xFF\xFFf\n\x0A\0\0\x02\x69\x87",
            b"\xFF\xFF\xFF\xFFg\n\x0A\0\0\x02\x69\x87",
            b"\0\0\0\0f\n\0\0\0\0\0\0",
        ];
        for bytes in foreign {
            let claims = [NONE, FROM, TO, KNOWN].map(|hint| claim(bytes, hint));
            assert_eq!(claims, [Claim::No, Claim::No, Claim::No, Claim::Weak], "{bytes:?}");
        }
    }

    #[test]
    fn the_challenge_of_an_info_string_is_read() {
        let info = b"0\n\\protocol\\7\\challenge\\305419896\\players\\0\n";
        assert_eq!(returned(info), Some(305_419_896));
        assert_eq!(returned(b"0\n\\challenge\\-2"), Some(u32::MAX - 1));
        assert_eq!(returned(b"0\n\\challenge\\x\\"), None);
        assert_eq!(returned(b"0\n\\players\\0"), None);
    }

    #[test]
    fn joins_and_first_queries_open_a_conversation() {
        assert!(
            document::all()
                .iter()
                .map(|bytes| opens(bytes))
                .eq([true, true, false, true, false, false, false, false, false, false])
        );
        assert!(opens(b"q\xFF\x19\x9eU!"));
        assert!(!opens(b"1\xFF10.0.0.2:27015\0\0"));
    }
}

//! Recognizes datagrams and streams of this protocol. Other text protocols begin with a backslash, too.

use crate::kit::scan::is_plain_text;
use crate::kit::{Claim, Hint, StreamView};

use super::rules::is_secure_string;
use super::words::{self, Numbering, TextPairs, is_query};

/// Bytes at the end of a datagram that are searched for `\queryid\`.
const TAIL: usize = 64;

/// Whether a datagram belongs to this protocol.
pub(super) fn claim(bytes: &[u8], hint: Hint) -> Claim {
    let [b'\\', rest @ ..] = bytes else {
        let expected = hint.forced
            || hint.known && (!is_of_others(bytes) || is_zeros(bytes))
            || hint.to_port && bytes.starts_with(b"heartbeat\\");
        return if expected { Claim::Weak } else { Claim::No };
    };
    if is_sure(bytes) {
        return Claim::Sure;
    }
    let key = rest.iter().take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_').count();
    let is_pair = key >= 2 && rest.get(key) == Some(&b'\\');
    if is_pair || hint.known || hint.forced { Claim::Weak } else { Claim::No }
}

/// Whether a datagram without a leading backslash begins like one of another protocol, so that it cannot
/// be a response of this one after another header.
fn is_of_others(bytes: &[u8]) -> bool {
    match bytes {
        // A whole word after it excludes Valve's messages.
        [0xFF, 0xFF, 0xFF, 0xFF, text @ ..] => {
            let word = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            !matches!(text.get(word), Some(b'\\')) && (word < 4 || text.get(word) != Some(&b'\n'))
        }
        [b'q' | b'b', ..] => bytes.len() < 8,
        [] | [0xFE | 0x00 | 0x09 | b'0' | b'1', ..] => true,
        _ => false,
    }
}

/// Whether a server may have sent this buffer without filling it.
fn is_zeros(bytes: &[u8]) -> bool {
    bytes.len() >= 4 && bytes.iter().all(|byte| *byte == 0)
}

fn is_sure(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\\heartbeat\\")
        || is_closed(bytes)
        || is_challenge(bytes)
        || is_query_only(bytes)
        || words::is_unknown_query(bytes)
        || bytes.strip_prefix(b"\\validate\\").is_some_and(|code| code.len() == 8)
}

/// Whether it ends like a response: with `\final\`, or with the number of its part.
fn is_closed(bytes: &[u8]) -> bool {
    if bytes.ends_with(b"\\final\\") || bytes.ends_with(b"\\final") {
        return true;
    }
    let tail = bytes.get(bytes.len().saturating_sub(TAIL)..).unwrap_or(bytes);
    let number = tail.windows(9).rposition(|window| window == b"\\queryid\\");
    let number = number.and_then(|at| tail.get(at..));
    number.is_some_and(|number| matches!(words::scan(number).numbering, Numbering::Parts { .. }))
}

fn is_challenge(bytes: &[u8]) -> bool {
    let openings = [&b"\\basic\\\\secure\\"[..], b"\\basic\\secure\\", b"\\secure\\"];
    let challenge = openings.into_iter().find_map(|opening| bytes.strip_prefix(opening));
    challenge.is_some_and(|challenge| {
        let challenge = challenge.split(|&byte| byte == b'\\').next().unwrap_or_default();
        is_secure_string(challenge) || bytes.starts_with(b"\\basic")
    })
}

/// Whether it consists of queries only: `\info\`, `\rules\\players\`, `\status\xserverquery`.
fn is_query_only(bytes: &[u8]) -> bool {
    bytes.len() <= TAIL
        && TextPairs::new(bytes, 0).all(|pair| {
            let bare = is_query(pair.key) && matches!(pair.text(), b"" | b"xserverquery");
            bare && pair.opened
                || pair.key.is_empty() && pair.value.is_none()
                || pair.key == words::FINAL
        })
        && bytes.len() > 1
}

/// Whether a datagram opens a conversation: a heartbeat that answers no challenge.
pub(super) fn opens(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\\heartbeat\\") && words::scan(bytes).validate.is_none()
}

/// How a stream's directions begin.
const STREAMS: [&[u8]; 8] = [
    b"\\basic\\\\secure\\",
    b"\\basic\\secure\\",
    b"\\basic\\\\final",
    b"\\secure\\",
    b"\\gamename\\",
    b"\\list\\\\gamename\\",
    b"\\list\\gamename\\",
    b"\\list\\cmp\\gamename\\",
];
/// Recognizes later bytes, if the beginning is not in the capture or does not follow the specification.
const LATER: [&[u8]; 5] = [b"\\ip\\", b"\\list\\", b"\\echo\\", b"\\basic\\", b"\\error\\"];

/// Greetings of servers of other protocols.
const GREETINGS: [&[u8]; 3] = [b"SSH-", b"220", b"HTTP/"];

/// Whether a stream belongs to this protocol.
pub(super) fn claim_stream(view: &StreamView<'_>, hint: Hint) -> Claim {
    let starts = |bytes: &[u8], with: &[&[u8]]| with.iter().any(|start| bytes.starts_with(start));
    if view.bytes.iter().any(|bytes| starts(bytes, &STREAMS)) {
        return Claim::Sure;
    }
    let may_open = |bytes: &[u8]| STREAMS.iter().any(|start| start.starts_with(bytes));
    if view.bytes.iter().any(|bytes| starts(bytes, &LATER) && !may_open(bytes)) {
        return Claim::Weak;
    }
    let undecided = |bytes: &[u8], ended: bool| {
        let may = |start: &&&[u8]| start.len() > bytes.len() && start.starts_with(bytes);
        !ended && STREAMS.iter().chain(&LATER).any(|start| may(&start))
    };
    let [first, second] = view.bytes;
    let [first_ended, second_ended] = view.ended;
    let silent = first.is_empty() && second.is_empty();
    if undecided(first, first_ended) && undecided(second, second_ended) && !silent {
        return Claim::Undecided;
    }
    // Plain text from a master on its usual port, before the client sends anything.
    let greeting = match (hint.to_port, hint.from_port) {
        (true, _) if first.is_empty() => second,
        (_, true) if second.is_empty() => first,
        _ => &[],
    };
    if is_plain(greeting) && view.began == [true; 2] {
        return Claim::Weak;
    }
    match (silent, hint.known || hint.forced) {
        (true, _) if !(first_ended && second_ended) => Claim::Undecided,
        (_, true) => Claim::Weak,
        _ => Claim::No,
    }
}

/// Whether it is text that does not begin with a key, nor with a greeting of another protocol.
fn is_plain(bytes: &[u8]) -> bool {
    let begins = |greeting: &&[u8]| bytes.starts_with(greeting) || greeting.starts_with(bytes);
    !bytes.is_empty()
        && bytes.first() != Some(&b'\\')
        && is_plain_text(bytes)
        && !GREETINGS.iter().any(begins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(bytes: &[u8]) -> Claim {
        claim(bytes, Hint::default())
    }

    fn stream(first: &[u8], second: &[u8]) -> Claim {
        let view = StreamView { bytes: [first, second], began: [true; 2], ended: [false; 2] };
        claim_stream(&view, Hint::default())
    }

    #[test]
    fn traffic_that_is_identified_by_content() {
        for text in [
            r"\heartbeat\7778\gamename\ut\",
            r"\heartbeat\x",
            r"\basic\secure\l8jfVy",
            r"\basic\\secure\l8-fVy",
            r"\secure\SLXIUJ",
            r"\status\",
            r"\status\xserverquery",
            r"\info\\rules\\players\",
            r"\basic\",
            r"\bots\",
            r"\STATUS\",
            r"\validate\SAaJHX96",
            r"\validate\a+uKBylT\queryid\1.1",
            r"\validate\\final\",
            r"\score_16\0\teamname_1\allied\final\\queryid\1142.3",
            r"\hostname\x\queryid\1.1",
        ] {
            assert_eq!(datagram(text.as_bytes()), Claim::Sure, "{text}");
        }
    }

    #[test]
    fn traffic_that_other_protocols_share() {
        let weak = [r"\hostname\x", r"\echo\hello", r"\info\file", r"\status\ready"];
        for text in weak {
            assert_eq!(datagram(text.as_bytes()), Claim::Weak, "{text}");
        }
        let no: [&[u8]; 8] = [
            b"",
            b"\\",
            b"\\\\server\\share",
            b"\\\x00\\",
            b"0\n\\protocol\\47\\challenge\\1\n",
            b"\xFF\xFF\xFF\xFFstatusResponse\n\\mapname\\q3dm1",
            b"\\MAILSLOT",
            b"text \\final\\",
        ];
        for bytes in no {
            assert_eq!(datagram(bytes), Claim::No, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn streams() {
        assert_eq!(stream(b"", br"\basic\\secure\XDWAOR"), Claim::Sure);
        assert_eq!(stream(br"\gamename\gamespy2\gam", b""), Claim::Sure);
        assert_eq!(stream(b"", br"\basic\"), Claim::Undecided);
        assert_eq!(stream(b"", b""), Claim::Undecided);
        assert_eq!(stream(br"\ip\1.2.3.4", b""), Claim::Weak);
        assert_eq!(stream(b"GET / HTTP/1.1\r\n", b""), Claim::No);
        assert_eq!(stream(br"\basic instinct", b""), Claim::No);
        assert_eq!(stream(b"", br"\"), Claim::Undecided);
        assert_eq!(stream(b"", br"\i"), Claim::Undecided);
        assert_eq!(stream(b"", br"\basic\\final\"), Claim::Sure);
        assert_eq!(stream(b"", br"\error\go away\final\"), Claim::Weak);
    }

    #[test]
    fn plain_text_of_a_master() {
        let claim = |text: &[u8], client: &[u8], to_port| {
            let view = StreamView { bytes: [client, text], began: [true; 2], ended: [false; 2] };
            claim_stream(&view, Hint { to_port, ..Hint::default() })
        };
        assert_eq!(claim(b"welcome\r\n", b"", true), Claim::Weak);
        assert_eq!(claim(b"welcome\r\n", b"", false), Claim::No);
        assert_eq!(claim(b"welcome\r\n", b"GET / HTTP/1.0", true), Claim::No);
        assert_eq!(claim(b"SSH-2.0-x\r\n", b"", true), Claim::No);
        assert_eq!(claim(b"\x16\x03\x01", b"", true), Claim::No);
    }
}

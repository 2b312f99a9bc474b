//! Which datagrams are A2S. Other protocols share the header FF FF FF FF, and the port.

use crate::kit::{Claim, Hint, Rule, Sink, Span};

use super::decode::{self, DecodeContext};
use super::layout::{Layout, SINGLE, SPLIT, SplitHeader, is_total};
use super::rules::{A2S006, A2S008, A2S030, A2S033};
use super::{split, words};

/// The whole of an info request.
const INFO_REQUEST: &[u8] = b"TSource Engine Query\0";

/// The whole of a Source server's response to a ping.
const PING_RESPONSE: &[u8] = b"j00000000000000\0";

/// Whether a datagram is A2S.
pub(super) fn claim(bytes: &[u8], hint: Hint) -> Claim {
    let expected = hint.known || hint.forced;
    let weak = |plausible| if plausible || expected { Claim::Weak } else { Claim::No };
    if bytes.starts_with(&SPLIT) {
        // Toward a server, it is an attack, whatever follows.
        return weak(is_split(bytes) || hint.to_port && !hint.from_port);
    }
    let Some(message) = bytes.strip_prefix(&SINGLE) else {
        // Games use the same port for their own traffic; only a conversation with a pending request
        // can tell these apart.
        return weak(is_runt(bytes) && hint.to_port && !hint.from_port);
    };
    if is_of_another(message) && !hint.forced {
        return Claim::No;
    }
    let sure = |sure| if sure { Claim::Sure } else { Claim::Weak };
    match *message {
        [] => weak(hint.to_port),
        [b'T', ..] => sure(message.starts_with(INFO_REQUEST) || is_begun_request(message)),
        [b'U' | b'V', _, _, _, _] | [b'W' | b'i'] => Claim::Sure,
        // One library appends four bytes; a text of nine characters may belong to any game.
        [b'U' | b'V', ref rest @ ..] if rest.len() == 8 => sure(!rest.is_ascii()),
        [b'U' | b'V', ref rest @ ..] => weak(rest.len() < 16 || is_padded(rest)),
        // A list without entries is too short to be certain. On a known flow no further check is
        // needed.
        [b'I' | b'm' | b'D' | b'E', _, _, _, ..] => sure(!expected && is_whole(bytes)),
        [b'I' | b'm' | b'D' | b'E', ..] => Claim::Weak,
        [b'j', ..] if message == PING_RESPONSE => Claim::Sure,
        [b'j'] | [b'j', .., 0] | [b'l', ..] => Claim::Weak,
        // Some clients write the header twice.
        [0xFF, 0xFF, 0xFF, 0xFF, ref rest @ ..] if rest.starts_with(INFO_REQUEST) => Claim::Sure,
        [b'A', ref rest @ ..] => weak((1..=8).contains(&rest.len())),
        _ => weak(hint.to_port && words::command_of_client(message).is_some()),
    }
}

/// Whether nothing but zeros follows a challenge.
fn is_padded(bytes: &[u8]) -> bool {
    bytes.iter().skip(4).all(|&byte| byte == 0)
}

/// Whether these are the first bytes of an info request, as in a capture with a small snaplen: more than any other text
/// would have by chance.
fn is_begun_request(message: &[u8]) -> bool {
    message.len() >= 8 && INFO_REQUEST.starts_with(message)
}

/// Whether these are messages of other protocols after FF FF FF FF: Valve's master servers, Steam
/// clients that look for each other, games that were asked for info before (no ping; `infostring` is of the engines of
/// A2S), and server logs (no print).
#[inline]
fn is_of_another(message: &[u8]) -> bool {
    match message {
        [b'f' | b's', b'\n', ..] | [b'!', ..] | [b'l', b'o', b'g', b' ', b'L', b' ', ..] => true,
        [b'i', b'n', b'f', b'o', rest @ ..] => !rest.starts_with(b"string"),
        _ => false,
    }
}

/// Whether a message ends at the end of its fields, and its list has the announced number of
/// entries.
fn is_whole(bytes: &[u8]) -> bool {
    let mut ends = Ends { right: true };
    decode::message(bytes, DecodeContext::default(), &mut ends).whole && ends.right
}

/// Records whether a message ends where its contents say.
struct Ends {
    right: bool,
}

impl Sink for Ends {
    fn checked(&mut self, rule: &'static Rule, ok: bool, _: Span, _: impl FnOnce() -> String) {
        let of_the_end = [&A2S006, &A2S008, &A2S030, &A2S033];
        self.right &= ok || of_the_end.iter().all(|end| *end != rule);
    }
    fn kept(&mut self, _: &'static Rule, _: u32) {}
}

/// Whether a datagram is an incomplete header of a single packet.
pub(super) fn is_runt(bytes: &[u8]) -> bool {
    !bytes.is_empty() && SINGLE.starts_with(bytes)
}

/// Whether a datagram's header shows that it belongs to a known A2S server.
pub(super) fn is_for_server(bytes: &[u8]) -> bool {
    is_runt(bytes)
        || bytes.starts_with(&SPLIT)
        || bytes.strip_prefix(&SINGLE).is_some_and(|message| !is_of_another(message))
}

/// Whether a complete request follows a wrong header. Short requests may be game traffic: for
/// these, the header must be nearly correct.
pub(super) fn is_request_after(bytes: &[u8]) -> bool {
    let Some((long, message)) = bytes.split_first_chunk::<4>() else { return false };
    let is_near = long.iter().filter(|&&byte| byte == 0xFF).count() == 3;
    match *message {
        [b'T', ..] => {
            let after = message.strip_prefix(INFO_REQUEST);
            after.is_some_and(|challenge| matches!(challenge.len(), 0 | 4))
        }
        [b'U' | b'V', _, _, _, _] | [b'W' | b'i'] => is_near,
        _ => false,
    }
}

/// Whether a split packet's header is plausible in some layout. The payload may be missing, which
/// is reported later.
fn is_split(bytes: &[u8]) -> bool {
    [Layout::GoldSrc, Layout::Source].into_iter().any(|layout| {
        SplitHeader::read(bytes, layout)
            .is_some_and(|header| header.number < header.total && is_total(layout, header.total))
    })
}

/// Whether engines send such a split packet, with whatever content. Those that are sent to crash servers have none.
pub(super) fn is_of_engine(bytes: &[u8]) -> bool {
    is_split(bytes) && !split::carries_request(bytes) && !split::carries_nothing(bytes)
}

/// Whether a datagram opens a conversation: a request that needs no earlier message.
pub(super) fn opens(bytes: &[u8]) -> bool {
    match bytes.strip_prefix(&SINGLE) {
        Some([b'W' | b'i', ..]) => true,
        Some([b'U' | b'V', challenge @ ..]) => asks(challenge),
        Some(message @ [b'T', ..]) => message
            .strip_prefix(INFO_REQUEST)
            .is_none_or(|challenge| challenge.is_empty() || asks(challenge)),
        _ => false,
    }
}

/// Whether a challenge field requests a challenge: it is -1, or missing. Some clients send 0, which servers may also have
/// given.
fn asks(challenge: &[u8]) -> bool {
    challenge.is_empty() || challenge.starts_with(&[0xFF; 4])
}

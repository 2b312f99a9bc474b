//! Whether bytes belong to GameSpy 4.

use super::decode;
use super::packet::{self, RequestForm};
use crate::kit::scan::is_plain_text;
use crate::kit::{Claim, Hint, Payload};

/// Whether a datagram is GameSpy 4's.
pub(super) fn claim(bytes: &[u8], hint: Hint) -> Claim {
    match *bytes {
        [0xFE, 0xFD, ..] => claim_request(bytes, hint),
        [packet::CHALLENGE, ..] if !packet::has_split_header(bytes) => claim_challenge(bytes, hint),
        [packet::INFO, ..] => claim_info(bytes, hint),
        _ if hint.known && packet::response_after_any_type(bytes).is_some() => Claim::Weak,
        _ if hint.known && is_words(bytes) => Claim::Weak,
        _ if packet::is_damaged_request(bytes) && (hint.known || hint.to_port) => Claim::Weak,
        _ if hint.forced => Claim::Weak,
        _ => Claim::No,
    }
}

/// Whether a server may answer with this text in place of a response.
pub(super) fn is_words(bytes: &[u8]) -> bool {
    let text = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    text.trim_ascii().contains(&b' ') && is_plain_text(text)
}

/// A challenge request with the timestamp 0, or the response of an SDK master that is asked whether
/// it is running.
const IS_UP: [u8; 7] = [0xFE, 0xFD, packet::CHALLENGE, 0, 0, 0, 0];

/// Whether this is one of these; four zeros may follow it.
fn is_up(bytes: &[u8]) -> bool {
    bytes.strip_prefix(&IS_UP).is_some_and(|rest| matches!(rest, [] | [0, 0, 0, 0]))
}

/// The fixed port on which the SDK's games ask this.
const MASTER_PORT: u16 = 27900;

/// Whether this asks a master, or a server with the timestamp 0, whether it is running; not the
/// master's response.
pub(super) fn asks_whether_up(payload: &Payload<'_>) -> bool {
    is_up(payload.bytes) && payload.from.port() != MASTER_PORT
}

/// The types of the SDK's messages between a server and a master, besides 09.
const OF_MASTERS: [u8; 7] = [0x01, 0x02, 0x04, 0x06, 0x08, 0x0A, packet::CHALLENGE];

/// FE FD: a request, or a master server's message to a game server.
fn claim_request(bytes: &[u8], hint: Hint) -> Claim {
    match *bytes {
        _ if is_up(bytes) && !hint.any() => Claim::Weak,
        [_, _, packet::CHALLENGE, _, _, _, _]
        | [_, _, packet::CHALLENGE, _, _, _, _, 0, 0, 0, 0] => Claim::Sure,
        [_, _, packet::INFO, _, _, _, _, ref rest @ ..] => {
            match decode::request_form(rest, None).0 {
                RequestForm::Other => Claim::Weak,
                // GameSpy 2 has the same first bytes, no challenge and other responses.
                RequestForm::Qr2 if rest.len() == 3 => Claim::No,
                RequestForm::Qr2 if rest.is_empty() => Claim::Weak,
                _ => Claim::Sure,
            }
        }
        [_, _, packet::INFO | packet::CHALLENGE, ..] if bytes.len() <= 32 => Claim::Weak,
        [_, _, _, ..] if hint.known || hint.forced => Claim::Weak,
        // Other messages of the SDK also come to the query port, from its master.
        [_, _, kind, ..] if hint.to_port && !OF_MASTERS.contains(&kind) => Claim::Weak,
        _ => Claim::No,
    }
}

/// 09: a response with a challenge, whose text must be a number if only the port indicates the
/// protocol.
fn claim_challenge(bytes: &[u8], hint: Hint) -> Claim {
    match packet::challenge_digits(bytes.get(5..).unwrap_or_default()) {
        Some(5..) => Claim::Sure,
        Some(_) => Claim::Weak,
        None if (hint.known || hint.forced) && bytes.len() <= 64 => Claim::Weak,
        None => Claim::No,
    }
}

/// 00: a response with variables.
fn claim_info(bytes: &[u8], hint: Hint) -> Claim {
    if packet::has_split_header(bytes) {
        return Claim::Sure;
    }
    match bytes.get(5..) {
        Some([_, ..]) if hint.known || hint.forced => Claim::Weak,
        _ => Claim::No,
    }
}

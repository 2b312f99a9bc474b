//! The kind of a datagram, without its flow.

use super::layout::{Layout, SINGLE, SPLIT, SplitHeader};
use super::messages as m;
use super::rules::{SEC001, SEC002};
use super::{claim, decode, words};
use crate::kit::{Blind, Outline};

/// The text of an info request; a challenge may follow.
const QUERY: &[u8] = b"Source Engine Query\0";

/// The kind of the datagram, if its first bytes show it.
pub(super) fn outline(bytes: &[u8]) -> Option<Outline> {
    if bytes.starts_with(&SPLIT) {
        let is_last = |layout: Layout| {
            let header = SplitHeader::read(bytes, layout)?;
            (header.number < header.total).then(|| header.number + 1 == header.total)
        };
        // Source's layout first: in GoldSource's, the byte after number and total belongs to the
        // text.
        let last = is_last(Layout::Source).or_else(|| is_last(Layout::GoldSrc)).unwrap_or(false);
        let may_be_of_game = claim::is_of_engine(bytes);
        let (last_part, crashes) = (Some(last), Some(&SEC001));
        let outline = Outline::of(&m::SPLIT_FRAGMENT);
        return Some(Outline { last_part, crashes, may_be_of_game, ..outline });
    }
    if claim::is_runt(bytes) {
        return Some(Outline { crashes: Some(&SEC002), ..Outline::of(&m::UNKNOWN) });
    }
    let message = bytes.strip_prefix(&SINGLE)?;
    let (kind, rest) = message.split_first()?;
    let (named, challenge) = match kind {
        b'T' => (&m::INFO_REQUEST, rest.strip_prefix(QUERY)),
        b'U' => (&m::PLAYER_REQUEST, Some(rest)),
        b'V' => (&m::RULES_REQUEST, Some(rest)),
        b'W' => (&m::CHALLENGE_REQUEST, None),
        b'i' if words::command(message).is_none() => (&m::PING_REQUEST, None),
        b'A' => (&m::CHALLENGE_RESPONSE, Some(rest)),
        b'I' => (&m::INFO_RESPONSE, None),
        b'm' => (&m::INFO_RESPONSE_GOLDSRC, None),
        b'D' => (&m::PLAYER_RESPONSE, None),
        b'E' => (&m::RULES_RESPONSE, None),
        b'j' => (&m::PING_RESPONSE, None),
        b'l' => (&m::PRINT, None),
        _ => return None,
    };
    // -1 requests a challenge.
    let challenge = challenge.and_then(<[u8]>::first_chunk).map(|bytes| u32::from_le_bytes(*bytes));
    let challenge = challenge.filter(|challenge| *challenge != u32::MAX);
    let is_costly = matches!(kind, b'U' | b'V') && challenge.is_some();
    let game_port = (kind == &b'I')
        .then(|| decode::message(bytes, decode::DecodeContext::default(), &mut Blind).game_port);
    let game_port = game_port.flatten();
    Some(Outline { challenge, is_costly, game_port, ..Outline::of(named) })
}

#[cfg(test)]
mod tests {
    use super::outline;

    #[test]
    fn players_and_rules_are_costly_if_the_challenge_may_be_right() {
        let is_costly = |bytes: &[u8]| outline(bytes).is_some_and(|outline| outline.is_costly);
        assert!(is_costly(b"\xFF\xFF\xFF\xFFU\x01\x02\x03\x04"));
        assert!(is_costly(b"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04"));
        assert!(!is_costly(b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF"), "it gets a challenge");
        assert!(!is_costly(b"\xFF\xFF\xFF\xFFTSource Engine Query\0\x01\x02\x03\x04"));
    }

    #[test]
    fn infostring_is_no_ping() {
        assert!(outline(b"\xFF\xFF\xFF\xFFinfostring\0").is_none());
        assert!(outline(b"\xFF\xFF\xFF\xFFi").is_some());
    }

    #[test]
    fn any_number_of_a_part_is_read() {
        let last = |head: [u8; 2]| {
            let bytes = [&b"\xFE\xFF\xFF\xFF\x01\0\0\0"[..], &head, b"\xE0\x04text"].concat();
            outline(&bytes).and_then(|outline| outline.last_part)
        };
        assert_eq!(last([2, 0]), Some(false));
        assert_eq!(last([2, 1]), Some(true));
        assert_eq!(last([255, 254]), Some(true));
        // Invalid in all layouts.
        assert_eq!(last([0, 255]), Some(false));
        assert_eq!(outline(b"\xFE\xFF\xFF\xFF").and_then(|outline| outline.last_part), Some(false));
    }
}

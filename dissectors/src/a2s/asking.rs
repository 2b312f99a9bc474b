//! What a client asks a server.

use super::layout::SINGLE;
use crate::kit::{Asking, Elsewhere, Inquiry, Transport, WITH_CHALLENGE};

/// Info first, with the challenge if the server gives one; then the lists, with the challenge that they demand.
pub(super) static ASKING: &[Asking] = &[Asking {
    name: "a2s",
    transport: Transport::Udp,
    is_usual: true,
    is_of_master: false,
    questions: &[
        Inquiry { label: "A2S_INFO", request: info, most: WITH_CHALLENGE },
        Inquiry { label: "A2S_PLAYER", request: |answer| list(b'U', answer), most: WITH_CHALLENGE },
        Inquiry { label: "A2S_RULES", request: |answer| list(b'V', answer), most: WITH_CHALLENGE },
    ],
    elsewhere: &[Elsewhere::Above(1), Elsewhere::Below(1), Elsewhere::Above(123)],
}];

fn info(answer: &[u8]) -> Option<Vec<u8>> {
    let request = request(b"TSource Engine Query\0");
    match answer {
        [] => Some(request),
        answer => challenge(answer).map(|challenge| [&request[..], challenge].concat()),
    }
}

fn list(kind: u8, answer: &[u8]) -> Option<Vec<u8>> {
    let challenge: &[u8] = match answer {
        [] => &[0xFF; 4],
        answer => challenge(answer)?,
    };
    Some([&request(&[kind])[..], challenge].concat())
}

fn request(text: &[u8]) -> Vec<u8> {
    [&SINGLE[..], text].concat()
}

/// The challenge in an answer, if there is nothing else in it.
fn challenge(answer: &[u8]) -> Option<&[u8]> {
    answer.strip_prefix(&SINGLE)?.strip_prefix(b"A")?.get(..4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_returned_and_data_ends_the_question() {
        const CHALLENGE: &[u8] = b"\xFF\xFF\xFF\xFFA\x01\x02\x03\x04";
        assert_eq!(
            info(CHALLENGE).unwrap(),
            b"\xFF\xFF\xFF\xFFTSource Engine Query\0\x01\x02\x03\x04"
        );
        assert_eq!(list(b'U', &[]).unwrap(), b"\xFF\xFF\xFF\xFFU\xFF\xFF\xFF\xFF");
        assert_eq!(list(b'V', CHALLENGE).unwrap(), b"\xFF\xFF\xFF\xFFV\x01\x02\x03\x04");
        assert_eq!(list(b'U', b"\xFF\xFF\xFF\xFFD\0"), None);
        assert_eq!(info(b"\xFF\xFF\xFF\xFFA\x01"), None);
    }
}

//! What a client asks a server.

use super::packet::{CHALLENGE, INFO, MAGIC, decimal};
use crate::kit::{Asking, Elsewhere, Inquiry, Transport, WITH_CHALLENGE};

/// Four bytes of the client's choice, which each answer repeats. Minecraft masks them with 0F0F0F0F.
const TIMESTAMP: [u8; 4] = [1, 2, 3, 4];

/// All information, for which a challenge is needed.
pub(super) static ASKING: &[Asking] = &[Asking {
    name: "gamespy4",
    transport: Transport::Udp,
    is_usual: true,
    is_of_master: false,
    questions: &[Inquiry {
        label: "GameSpy 4 challenge and info",
        request: info,
        most: WITH_CHALLENGE,
    }],
    elsewhere: &[Elsewhere::At(6500)],
}];

fn info(answer: &[u8]) -> Option<Vec<u8>> {
    let head = |kind: u8| [&MAGIC.to_be_bytes()[..], &[kind], &TIMESTAMP].concat();
    match answer {
        [] => Some(head(CHALLENGE)),
        [CHALLENGE, _, _, _, _, text @ ..] => {
            let text = text.split(|&byte| byte == 0).next().unwrap_or_default();
            let challenge = decimal(text)? as u32;
            Some([&head(INFO)[..], &challenge.to_be_bytes(), &[0xFF, 0xFF, 0xFF, 1]].concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_returned_in_binary() {
        assert_eq!(info(&[]).unwrap(), b"\xFE\xFD\x09\x01\x02\x03\x04");
        assert_eq!(
            info(b"\x09\x01\x02\x03\x04-2\0").unwrap(),
            b"\xFE\xFD\x00\x01\x02\x03\x04\xFF\xFF\xFF\xFE\xFF\xFF\xFF\x01"
        );
        assert_eq!(info(b"\0\x01\x02\x03\x04"), None);
        assert_eq!(info(b"\x09\x01\x02\x03\x04text\0"), None);
    }
}

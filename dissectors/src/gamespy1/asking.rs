//! What a client asks servers and masters.

use super::validate::{CHALLENGE, expected};
use crate::kit::{Asking, Elsewhere, Inquiry, Settings, Transport};

/// What a master says before its challenge.
const SECURE: &[u8] = b"\\secure\\";

/// The game whose list is asked for: its key is known.
const GAME: &str = "ut";

pub(super) static ASKING: &[Asking] = &[
    // The information that lists of servers show.
    Asking {
        name: "gamespy1",
        transport: Transport::Udp,
        is_usual: true,
        is_of_master: false,
        questions: &[Inquiry {
            label: "GameSpy \\info\\",
            request: |answer| answer.is_empty().then(|| b"\\info\\".to_vec()),
            most: 1,
        }],
        elsewhere: &[Elsewhere::Above(1)],
    },
    Asking {
        name: "gamespy1_master",
        transport: Transport::Tcp,
        is_usual: false,
        is_of_master: true,
        questions: &[Inquiry {
            label: "validate and list of servers of ut",
            request: |greeting| validate_and_list(greeting),
            most: 1,
        }],
        elsewhere: &[],
    },
];

/// The answer to a master's greeting, with the request for its list.
fn validate_and_list(greeting: &[u8]) -> Option<Vec<u8>> {
    let at = greeting.windows(SECURE.len()).position(|window| window == SECURE)?;
    let challenge = greeting.get(at + SECURE.len()..)?;
    let challenge = challenge.split(|&byte| byte == b'\\').next()?;
    let challenge: [u8; CHALLENGE] = challenge.trim_ascii_end().try_into().ok()?;
    let code = expected(GAME.as_bytes(), challenge, 0, &Settings::default())?;
    let code = String::from_utf8_lossy(&code).into_owned();
    let validate = format!("\\gamename\\{GAME}\\location\\0\\validate\\{code}\\final\\");
    Some(format!("{validate}\\list\\\\gamename\\{GAME}\\final\\").into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_master_is_answered_with_the_code_of_its_challenge() {
        assert_eq!(validate_and_list(b""), None);
        assert_eq!(validate_and_list(b"\\basic\\\\secure\\XDW"), None);
        let said = validate_and_list(b"\\basic\\\\secure\\XDWAOR").unwrap();
        let expected = r"\gamename\ut\location\0\validate\3JOdDFU5\final\\list\\gamename\ut\final\";
        assert_eq!(String::from_utf8(said).unwrap(), expected);
        assert!(validate_and_list(b"\\basic\\\\secure\\XDWAOR\\final\\").is_some());
    }
}

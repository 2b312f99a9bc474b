//! Challenges that the recorder lost.

use crate::gamespy4::GameSpy4;
use crate::kit::lab;

const CLIENT: &str = "10.0.0.1:50000";
const SERVER: &str = "10.0.0.2:6500";

/// A client asks for a challenge, gets `challenge`, if there is one, and then asks with 7.
fn asked(challenge: Option<&str>) -> lab::Lab<GameSpy4, lab::TestRecorder> {
    let mut lab = lab::Lab::new();
    lab.udp(0.0, CLIENT, SERVER, b"\xFE\xFD\x09\0\0\0\x01");
    if let Some(challenge) = challenge {
        let given = format!("\x09\0\0\0\x01{challenge}\0");
        lab.udp(0.04, SERVER, CLIENT, given.as_bytes());
    }
    lab.udp(0.05, CLIENT, SERVER, b"\xFE\xFD\x00\0\0\0\x02\0\0\0\x07\xFF\xFF\xFF\x01");
    lab
}

/// The server answers, and the capture goes on.
fn answered(mut lab: lab::Lab<GameSpy4, lab::TestRecorder>) -> Vec<String> {
    lab.udp(0.1, SERVER, CLIENT, b"\0\0\0\0\x02splitnum\0\x80\0hostport\x007777\0\0");
    lab.end(9.0);
    lab.codes()
}

#[test]
fn a_response_proves_that_the_challenge_was_given() {
    let codes = answered(asked(None));
    for inconclusive in ["GS4008?", "GS4010?"] {
        assert!(codes.iter().any(|code| code == inconclusive), "{codes:?}");
    }
    assert!(!codes.iter().any(|code| code.starts_with("GS4031")), "both were answered: {codes:?}");
    for wrong in ["GS4007", "GS4008", "GS4010"] {
        assert!(!codes.iter().any(|code| code == wrong), "{codes:?}");
    }
}

/// The client uses it as long as it likes.
#[test]
fn a_challenge_that_was_not_recorded_stays_right() {
    let mut lab = asked(None);
    lab.udp(0.1, SERVER, CLIENT, b"\0\0\0\0\x02splitnum\0\x80\0hostport\x007777\0\0");
    lab.udp(20.0, CLIENT, SERVER, b"\xFE\xFD\x00\0\0\0\x02\0\0\0\x07\xFF\xFF\xFF\x01");
    lab.udp(20.1, SERVER, CLIENT, b"\0\0\0\0\x02splitnum\0\x80\0hostport\x007778\0\0");
    lab.end(30.0);
    let codes = lab.codes();
    let unproven = codes.iter().filter(|code| code.as_str() == "GS4008?").count();
    assert_eq!(unproven, 1, "{codes:?}");
    assert!(!codes.iter().any(|code| code == "GS4008" || code == "GS4010"), "{codes:?}");
}

#[test]
fn a_wrong_challenge_beside_one_that_was_recorded_is_a_fault() {
    let codes = answered(asked(Some("8")));
    assert!(codes.contains(&"GS4007".to_owned()), "{codes:?}");
    assert!(codes.contains(&"GS4010".to_owned()), "{codes:?}");
    let codes = answered(asked(Some("7")));
    assert!(!codes.iter().any(|code| code.starts_with("GS40")), "{codes:?}");
}

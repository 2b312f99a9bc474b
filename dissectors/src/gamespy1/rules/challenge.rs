//! The secure challenge and its response.

use crate::kit::{CrossFlowEvent, Evidence, Mark, NewFor, Read, SeenMessage, Sink};
use crate::rule;

use crate::gamespy1::validate::{CHALLENGE, RESPONSE};

rule! {
    /// Games answer no others: with a longer or invalid challenge they cannot register.
    pub GS1003 "secure-string" { severity: Error, who: Master, needs: Message,
        asks: "the challenge is 6 characters of A-Z a-z 0-9",
        cite: [("Servers", "The challenge consists of a 6 byte string of random characters that consists of lowercase and uppercase characters, as well as numbers")],
        right: registered!(),
        wrong: concat!(
            r"0.00 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\'", "\n",
            r"0.02 m > s:7778  '\\basic\\\\secure\\l8-fVy'") }
}

/// Whether a challenge is valid.
pub(in crate::gamespy1) fn is_secure_string(challenge: &[u8]) -> bool {
    challenge.len() == CHALLENGE && challenge.iter().all(u8::is_ascii_alphanumeric)
}

pub(in crate::gamespy1) fn secure_string<S: Sink>(challenge: Read<&[u8]>, sink: &mut S) {
    sink.checked(&GS1003, is_secure_string(challenge.value), challenge.at, || {
        format!("the challenge is {}", crate::kit::Quoted(challenge.value))
    });
}

rule! {
    /// Six encrypted bytes always make eight characters: other lengths are not results of the
    /// algorithm.
    pub GS1004 "validate-string" { severity: Error, who: Any, needs: Message,
        asks: "the response is 8 characters",
        cite: [("Clients", "responds with its game name, location and 8 byte validation code")],
        right: registered!(),
        wrong: challenged!(r"0.03 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\validate\\SAaJHX9\\final\\'") }
}

pub(in crate::gamespy1) fn validate_string<S: Sink>(code: Read<&[u8]>, sink: &mut S) {
    sink.checked(&GS1004, code.value.len() == RESPONSE, code.at, || {
        format!("the response has {}", crate::kit::counted(code.value.len(), "character"))
    });
}

rule! {
    /// By this code a master recognizes a game: with a wrong one, a server is not listed, and a
    /// client gets no list.
    pub GS1005 "validate-code" { severity: Error, who: Any, needs: Interval,
        asks: "the response is the result of the GameSpy algorithm for the challenge and the game's key (known games only; inconclusive if the challenge and the beginning are not in the capture)",
        cite: [("Clients", "All legitimate game clients automatically respond with the correct code")],
        right: registered!(),
        wrong: challenged!(r"0.03 s:7778 > m  '\\heartbeat\\7778\\gamename\\ut\\validate\\XuXkWPKC\\final\\'") }
}

/// Checks a response of the right length, of a game with a known key. `expected`: the code for one
/// of the given challenges.
pub(in crate::gamespy1) fn validate_code<S: Sink>(
    code: Read<&[u8]>,
    ok: bool,
    expected: [u8; RESPONSE],
    sink: &mut S,
) {
    sink.checked(&GS1005, ok, code.at, || wrong_code(code.value, expected));
}

/// The same, if the response came before its challenge.
pub(in crate::gamespy1) fn early_code<S: Sink>(
    code: &[u8],
    expected: [u8; RESPONSE],
    lost: bool,
    mark: &Mark,
    sink: &mut S,
) {
    let evidence = Evidence { lost, ..Evidence::default() };
    sink.recalled(&GS1005, code == expected, evidence, mark, || {
        format!("{}; it came before the challenge", wrong_code(code, expected))
    });
}

/// The challenge of a response is not in the capture.
pub(in crate::gamespy1) fn challenge_unseen<S: Sink>(mark: &Mark, sink: &mut S) {
    let evidence = Evidence { lost: true, ..Evidence::default() };
    sink.recalled(&GS1005, false, evidence, mark, || {
        "the challenge that it answers to is not in the capture".into()
    });
}

rule! {
    /// With a challenge that comes again, an answer that was heard once opens the list to anybody.
    ///
    /// The ledger checks this rule, because it needs more than one pair of hosts.
    pub GS1006 "challenge-random" { severity: Note, who: Master, needs: Interval,
        asks: "one challenge is not given to several parties within a minute",
        cite: [("Servers", "The challenge consists of a 6 byte string of random characters that consists of lowercase and uppercase characters, as well as numbers")],
        right: registered!(
            r"1.00 m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'",
            "1.02 c > m:28900  tcp fin"),
        wrong: registered!(
            r"1.00 m:28900 > c  tcp '\\basic\\\\secure\\l8jfVy'",
            "1.02 c > m:28900  tcp fin") }
}

/// A master gives a valid challenge.
pub(in crate::gamespy1) fn challenge_given<S: Sink>(
    challenge: &[u8],
    seen: SeenMessage,
    sink: &mut S,
) {
    if is_secure_string(challenge) {
        sink.cross_flow(CrossFlowEvent::handed_out(challenge, &GS1006, NewFor::OtherHosts), seen);
    }
}

fn wrong_code(code: &[u8], expected: [u8; RESPONSE]) -> String {
    let (code, expected) = (crate::kit::Quoted(code), crate::kit::Quoted(&expected));
    format!("the response is {code}, the algorithm gives {expected}")
}

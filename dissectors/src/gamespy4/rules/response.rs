//! The format of responses: packet 2, and the source port.

use super::request::Hex;
use crate::kit::{Evidence, Payload, Sink, Span};
use crate::rule;

rule! {
    /// The client converts the text to the number that it must send back; this fails if it is not a
    /// number, or too large.
    pub GS4005 "challenge-number" { severity: Error, who: Server, needs: Message,
        asks: "the challenge is an ASCII decimal, '-' allowed, zero-terminated, within 32 bits signed",
        cite: [("Packet 2: First response", "is an ASCII represented number. This number can start with a minus sign, and is null-padded at the end."),
               ("Packet 3: Second request", "(signed 4-byte big-endian integer)")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '-2147483648' 00",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '2147483648\\0\\0'" }
}
rule! {
    /// A reader with fixed lengths takes 12 bytes; UT3 pads the number, Minecraft and others end
    /// the packet after its zero.
    pub GS4006 "challenge-width" { severity: Note, who: Server, needs: Message,
        asks: "the challenge is padded with zeros to 12 bytes",
        cite: [("Packet 2: First response", "Bytes 7 to 18 (YY YY YY YY YY YY YY YY YY YY YY YY)")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0'" }
}
rule! {
    /// Browsers and firewalls of players expect UT3's queries there; since version 1.01 the port
    /// can be set.
    pub GS4032 "query-port" { severity: Note, who: Server, needs: Message,
        asks: "a UT3 server's query port is 6500 plus a multiple of 100",
        cite: [("UT3 query protocol", "The query port (on the server) is 6500 by default"),
               ("UT3 query protocol", "in steps of 100, i.e. 6600 would be the next runner up")],
        right: "0.00 c > s:6600  FEFD09 10203040\n0.02 s:6600 > c  09 10203040 '7\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0'\n0.03 c > s:6600  FEFD00 10203041 00000007 FFFFFF01\n0.05 s:6600 > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s:7780  FEFD09 10203040\n0.02 s:7780 > c  09 10203040 '7\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0'\n0.03 c > s:7780  FEFD00 10203041 00000007 FFFFFF01\n0.05 s:7780 > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'" }
}

rule! {
    /// Clients identify a packet by this byte, and drop unknown ones.
    pub GS4034 "response-type" { severity: Error, who: Server, needs: Message,
        asks: "a response starts with the type of its request: 09 or 00",
        cite: [("Packet 2: First response", "The first byte (09) indicates this is a reply to the initial request."),
               ("Packet 4: Server information response", "Byte 1 (00) indicates that this is a reply for a server information request.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  08 10203040 '7\\0'" }
}

/// The first byte of a response.
pub(in crate::gamespy4) fn response_type<S: Sink>(
    asked: u8,
    payload: &Payload<'_>,
    evidence: Evidence,
    sink: &mut S,
) {
    let got = payload.bytes.first().copied().unwrap_or_default();
    let evidence = Evidence { lost: payload.lost, ..evidence };
    sink.recalled(&GS4034, got == asked, evidence, &payload.mark(), || {
        format!("the answer starts with {got:02X}, its request has the type {asked:02X}")
    });
}

/// `field`: all bytes after the timestamp.
pub(in crate::gamespy4) fn challenge_number<S: Sink>(
    number: Option<i32>,
    field: &[u8],
    at: Span,
    sink: &mut S,
) {
    sink.checked(&GS4005, number.is_some(), at, || {
        let text = field.split(|&byte| byte == 0).next().unwrap_or_default();
        if field.is_empty() {
            "the answer ends before the challenge".to_owned()
        } else if text.len() == field.len() {
            format!("no zero ends the challenge {}", crate::kit::Quoted(text))
        } else if text.is_empty() && field.iter().any(|&byte| byte != 0) {
            format!("the challenge is no text, but the bytes {}", Hex(field))
        } else if text.is_ascii() {
            let text = crate::kit::Quoted(text);
            format!("the challenge {text} is not a signed 32-bit decimal number")
        } else {
            format!("the challenge {} is not ASCII", Hex(text))
        }
    });
}

/// `length`: of the number, without its terminating zero.
pub(in crate::gamespy4) fn challenge_width<S: Sink>(
    field: &[u8],
    length: usize,
    at: Span,
    sink: &mut S,
) {
    let padding = field.get(length..).unwrap_or_default();
    let zeros = padding.iter().all(|&byte| byte == 0);
    sink.checked(&GS4006, field.len() == 12 && zeros, at, || {
        if zeros {
            format!("the challenge takes {}, not 12", crate::kit::counted(field.len(), "byte"))
        } else {
            format!("{} follows the challenge, not zeros", Hex(padding))
        }
    });
}

/// Checked once per flow, if its responses show no other game than UT3.
pub(in crate::gamespy4) fn query_port<S: Sink>(port: u16, sink: &mut S) {
    let ok = port.checked_sub(6500).is_some_and(|above| above.is_multiple_of(100));
    sink.checked(&GS4032, ok, Span::default(), || {
        format!("the query port is {port}, not 6500 plus a multiple of 100")
    });
}

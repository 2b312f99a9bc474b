//! The format of requests: packets 1 and 3.

use crate::gamespy4::packet::{MAGIC, RequestForm};
use crate::kit::{Reader, Sink, Span};
use crate::rule;

rule! {
    /// These two bytes distinguish queries from game traffic on the same port; without them a
    /// server does not respond.
    pub GS4001 "magic" { severity: Error, who: Client, needs: Message,
        asks: "a request starts with FE FD",
        cite: [("Packet 1: Initial request", "The first 2 bytes (FE FD) are protocol identifier."),
               ("Packet 3: Second request", "The first two bytes (FE FD) again indicate the query protocol.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'\n0.03 c > s  FEFC00 10203040 0091295B FFFFFF01" }
}
rule! {
    /// The byte is the kind of request; a server ignores other values, or treats them as a master
    /// server's message.
    pub GS4002 "request-type" { severity: Error, who: Client, needs: Message,
        asks: "FE FD is followed by 09 (challenge) or 00 (server information)",
        cite: [("Packet 1: Initial request", "Byte 3 (09) indicate that the client wishes to receive the challenge string."),
               ("Packet 3: Second request", "Byte 3 (00) indicates that this is a request for server information.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'\n0.03 c > s  FEFD05 10203040 0091295B FFFFFF01" }
}
rule! {
    /// Servers that compare the length drop a longer request; a shorter one has no timestamp to
    /// identify it.
    pub GS4003 "challenge-request-length" { severity: Error, who: Client, needs: Message,
        asks: "a challenge request is 7 bytes: FE FD 09 and 4 bytes of timestamp",
        cite: [("Packet 1: Initial request", "Bytes 4 to 7 (XX XX XX XX) are a binary-packed timestamp, in seconds.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'\n0.10 c > s  FEFD09 10203041 FF" }
}
rule! {
    /// The last four bytes select the sections, and show that the client accepts a response in
    /// several packets.
    pub GS4009 "request-tail" { severity: Error, who: Client, needs: Message,
        asks: "FF FF FF 01 closes the info request (00 00 00 00, no tail, and the SDK's selectors FF 00 00 and 00 FF FF are known deviations)",
        cite: [("Packet 3: Second request", "Bytes 12 to 15 are always (FF FF FF 01).")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'\n0.03 c > s  FEFD00 10203041 0091295B FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '9513307\\0\\0\\0\\0\\0'\n0.03 c > s  FEFD00 10203041 0091295B 01020304" }
}

/// Whether the first two bytes are the protocol's.
pub(in crate::gamespy4) fn magic<S: Sink>(magic: u16, at: Span, sink: &mut S) -> bool {
    let ok = magic == MAGIC;
    sink.checked(&GS4001, ok, at, || format!("the request starts with {magic:04X}, not FEFD"));
    ok
}

/// The messages of QR2, another protocol: a master sends them to the query port of a server.
const OF_QR2: [u8; 6] = [0x01, 0x02, 0x04, 0x06, 0x08, 0x0A];

/// Checks whether the third byte, if present, is a request of the specification.
pub(in crate::gamespy4) fn request_type<S: Sink>(kind: Option<u8>, at: Span, sink: &mut S) -> bool {
    if kind.is_some_and(|kind| OF_QR2.contains(&kind)) {
        return false;
    }
    let ok = matches!(kind, Some(0x00 | 0x09));
    sink.checked(&GS4002, ok, at, || match kind {
        Some(kind) => format!("the request's type is {kind:02X}, neither 09 nor 00"),
        None => "the request ends before its type".to_owned(),
    });
    ok
}

/// `after`: the bytes after the timestamp, if that is complete.
pub(in crate::gamespy4) fn challenge_request_length<S: Sink>(
    before: usize,
    after: Option<&[u8]>,
    r: &mut Reader<'_, S>,
) -> bool {
    let length = before + r.rest();
    let at = Span::new(length.min(before + 4), length);
    match after {
        Some([0, 0, 0, 0]) => {
            r.sink.noted(&GS4003, at, || {
                "4 zero bytes follow the timestamp, as some clients send them".to_owned()
            });
            true
        }
        _ => {
            let ok = after.is_some_and(<[u8]>::is_empty);
            r.sink.checked(&GS4003, ok, at, || {
                format!("the challenge request has {}, not 7", crate::kit::counted(length, "byte"))
            });
            ok
        }
    }
}

/// `tail`: the bytes after the challenge, or in its place.
pub(in crate::gamespy4) fn request_tail<S: Sink>(
    form: RequestForm,
    tail: &[u8],
    at: Span,
    sink: &mut S,
) -> bool {
    let known = match form {
        RequestForm::Ut3 => None,
        RequestForm::Qr2 if tail == [0xFF, 0xFF, 0xFF, 0x01] => None,
        RequestForm::MinecraftFull => Some("00 00 00 00 closes the request, as Minecraft takes it"),
        RequestForm::Qr2 if tail.is_empty() => Some("nothing closes the request"),
        RequestForm::MinecraftBasic => Some("nothing closes the request: Minecraft's basic form"),
        RequestForm::Qr2 | RequestForm::Qr2Challenge
            if matches!(tail, [0xFF, 0, 0] | [0, 0xFF, 0xFF]) =>
        {
            Some("the sections that are asked for close it, as the GameSpy SDK has it")
        }
        RequestForm::Qr2
        | RequestForm::Qr2Challenge
        | RequestForm::JustCause
        | RequestForm::Unsplit
        | RequestForm::Split
        | RequestForm::Other => {
            sink.checked(&GS4009, false, at, || {
                format!("{} closes the request, not FF FF FF 01", Hex(tail))
            });
            return false;
        }
    };
    match known {
        None => sink.checked(&GS4009, true, at, String::new),
        Some(known) => sink.noted(&GS4009, at, || known.to_owned()),
    }
    true
}

/// The first bytes in hex, for people.
pub(super) struct Hex<'a>(pub(super) &'a [u8]);

impl std::fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("nothing");
        }
        for (number, byte) in self.0.iter().take(16).enumerate() {
            let space = if number > 0 { " " } else { "" };
            write!(f, "{space}{byte:02X}")?;
        }
        if self.0.len() > 16 { f.write_str(" ...") } else { Ok(()) }
    }
}

//! The format of joins, challenges and quits.

use crate::kit::{Read, Sink, Span};
use crate::rule;

rule! {
    /// Masters compare the whole datagram.
    pub VM030 "join-layout" { severity: Error, who: Server, needs: Message,
        asks: "a join is the byte 0x71 alone (one zero after it, and Xash3D's FF and 4 bytes, are known deviations)",
        cite: [("Join", "The game server sends each master server \"q\" (71).")],
        right: joined!(goldsrc!("1339895702")),
        wrong: "0.00 s:27015 > m  71 0A\n0.02 m > s:27015  FFFFFFFF 730A le32:1339895702" }
}

/// `at`: the bytes after the 0x71.
pub(in crate::valve_master) fn join_layout<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&VM030, at.is_empty(), at, || {
        let s = if at.len() == 1 { "byte follows" } else { "bytes follow" };
        format!("{} {s} the 0x71", at.len())
    });
}

/// Some servers end the join with a zero: a known deviation.
pub(in crate::valve_master) fn join_with_zero<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&VM030, at, || "a zero follows the 0x71".to_owned());
}

/// Xash3D's servers send a challenge of their own: a known deviation.
pub(in crate::valve_master) fn join_of_xash3d<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&VM030, at, || {
        "a challenge of the server's own follows: Xash3D's dialect".to_owned()
    });
}

rule! {
    /// A server that reads another number than the master sent is never listed.
    pub VM031 "challenge-layout" { severity: Error, who: Master, needs: Message,
        asks: "a challenge is FF FF FF FF 73 0A and exactly 4 bytes (Xash3D's echo of the join's 4 bytes after them is a known deviation)",
        cite: [("Join", "The master servers each respond by sending FF FF FF FF 73 0A followed by a (relatively) unique 4-byte \"challenge\" number.")],
        right: joined!(goldsrc!("1339895702")),
        wrong: "0.00 s:27015 > m  71\n0.02 m > s:27015  FFFFFFFF 730A le16:12118" }
}

/// `fed`: 0A follows the 73; `length`: the number of bytes after that.
pub(in crate::valve_master) fn challenge_layout<S: Sink>(
    fed: bool,
    length: usize,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&VM031, fed && length == 4, at, || {
        if fed {
            format!("the challenge has {}, not 4", crate::kit::counted(length, "byte"))
        } else {
            "FF FF FF FF 73 is not followed by 0A".to_owned()
        }
    });
}

/// `sent`: the challenge in the join, if known.
pub(in crate::valve_master) fn challenge_of_xash3d<S: Sink>(
    repeated: Read<u32>,
    sent: Option<Option<u32>>,
    sink: &mut S,
) {
    if sent.is_none_or(|sent| sent == Some(repeated.value)) {
        sink.noted(&VM031, repeated.at, || {
            "the server's own challenge is repeated: Xash3D's dialect".to_owned()
        });
        return;
    }
    sink.checked(&VM031, false, repeated.at, || {
        let bytes = repeated.value;
        match sent.flatten() {
            Some(sent) => format!("the join sent 0x{sent:08X} along, 0x{bytes:08X} is repeated"),
            None => "the challenge has 8 bytes, not 4".to_owned(),
        }
    });
}

rule! {
    /// If a master does not understand the quit, the server stays in the list until it times out.
    pub VM050 "quit-layout" { severity: Error, who: Server, needs: Message,
        asks: "a quit is 62 0A (GoldSrc) or 62 0A 00 (Source)",
        cite: [("Quit", "The game server sends the master server 62 0A to signal that the game server has shut down."),
               ("Quit", "The game server sends the master server 62 0A 00 to signal that the game server has shut down.")],
        right: registered!("9.00 s:27015 > m  62 0A"),
        wrong: registered!("9.00 s:27015 > m  62 0A 01") }
}

pub(in crate::valve_master) fn quit_layout<S: Sink>(ok: bool, at: Span, sink: &mut S) {
    sink.checked(&VM050, ok, at, || "the quit is neither 62 0A nor 62 0A 00".to_owned());
}

//! How a response is divided into packets, and the format of the joined response.

use super::exchange::GS4033;
use crate::kit::{Evidence, Mark, Name, PartsFound, Read, ResponseRules, Sink, Span};
use crate::rule;

rule! {
    /// The text marks a response that may have several packets; some readers require it.
    pub GS4020 "splitnum-string" { severity: Note, who: Server, needs: Message,
        asks: "the zero-terminated string after the timestamp is \"splitnum\"",
        cite: [("Packet 4: Server information response", "This is random, and conventionally set to the string splitnum, null terminated.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'SPLITNUM\\0' 80 00 'hostport\\07777\\0\\0'" }
}
rule! {
    /// A reader orders the packets by their index; if one is missing or repeated, the response is
    /// unreadable.
    pub GS4021 "packet-index" { severity: Error, who: Server, needs: Response,
        asks: "the packet indices of one response run from 0 without a gap or a repeat",
        cite: [("Packet 4: Server information response", "The low 7 bits are the packet index (starting at zero).")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 81 01 'player_\\0' 00 'Ann\\0\\0\\0'\n0.06 s > c  00 10203041 'splitnum\\0' 00 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 00 00 'hostport\\07777\\0\\0'\n0.06 s > c  00 10203041 'splitnum\\0' 82 01 'player_\\0' 00 'Ann\\0\\0\\0'\nend 10" }
}
rule! {
    /// Only the last packet shows how many there are: without the bit a reader waits for ever, with
    /// two it stops too early.
    pub GS4022 "last-bit" { severity: Error, who: Server, needs: Response,
        asks: "the high bit is set on the last packet of a response and on no other",
        cite: [("Packet 4: Server information response", "The high bit is whether or not this is the last packet.")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 00 00 'hostport\\07777\\0\\0'\nend 10" }
}
rule! {
    /// Readers take names and values alternately: after the first gap, every value is read as a
    /// name.
    pub GS4023 "pairs-complete" { severity: Error, who: Server, needs: Message,
        asks: "names and values alternate, all zero-terminated, over the joined response",
        cite: [("Packet 4: Server information response", "This data is then exploded, meaning that the \\0 character is used to separate different values."),
               ("Packet 4: Server information response", "These values can be combined as \"value n\" => \"value n+1\"")],
        right: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0p1073741828\\0\\0\\0'",
        wrong: "0.00 c > s  FEFD09 10203040\n0.02 s > c  09 10203040 '7\\0'\n0.03 c > s  FEFD00 10203041 00000007 FFFFFF01\n0.05 s > c  00 10203041 'splitnum\\0' 80 00 'hostport\\07777\\0p1073741828\\0p268435704\\050\\0\\0'" }
}

/// How the text of a response deviates from alternating names and values: only the first fault is
/// reported.
#[derive(Default)]
pub(in crate::gamespy4) struct PacketLayout {
    fault: Option<(Span, &'static str)>,
    quirk: Option<(Span, &'static str)>,
}

impl PacketLayout {
    pub(in crate::gamespy4) fn fault(&mut self, at: Span, what: &'static str) {
        self.fault.get_or_insert((at, what));
    }

    /// Whether names and values alternate.
    pub(in crate::gamespy4) fn is_in_pairs(&self) -> bool {
        self.fault.is_none()
    }

    /// A deviation that readers are known to tolerate.
    pub(in crate::gamespy4) fn quirk(&mut self, at: Span, what: &'static str) {
        self.quirk.get_or_insert((at, what));
    }
}

pub(in crate::gamespy4) fn pairs_complete<S: Sink>(layout: &PacketLayout, sink: &mut S) {
    match (layout.fault, layout.quirk) {
        (Some((at, what)), _) => {
            sink.checked(&GS4023, false, at, || format!("at byte {}: {what}", at.start));
        }
        (None, Some((at, what))) => {
            sink.noted(&GS4023, at, || format!("at byte {}: {what}", at.start));
        }
        (None, None) => sink.checked(&GS4023, true, Span::default(), String::new),
    }
}

pub(in crate::gamespy4) fn splitnum<S: Sink>(text: Read<&[u8]>, sink: &mut S) {
    sink.checked(&GS4020, text.value == b"splitnum", text.at, || {
        format!("the string is {}, not \"splitnum\"", crate::kit::Quoted(text.value))
    });
}

/// The response has no split header although the request shows that the client accepts several
/// packets.
pub(in crate::gamespy4) fn no_splitnum<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&GS4020, false, at, || {
        "no string, packet number and section come before the variables".to_owned()
    });
}

/// All packets of a response have arrived, once each, and the last one is marked as such.
pub(in crate::gamespy4) fn packets_whole<S: Sink>(sink: &mut S) {
    let at = Span::new(14, 15);
    sink.checked(&GS4021, true, at, String::new);
    sink.checked(&GS4022, true, at, String::new);
}

/// An identical copy of a packet. One without a header has no index.
pub(in crate::gamespy4) fn packet_copy<S: Sink>(index: Option<u8>, sink: &mut S) {
    let at = index.map_or(Span::default(), |_| Span::new(14, 15));
    let index = index.unwrap_or_default();
    sink.noted(&GS4021, at, || format!("an identical copy of packet {index}"));
}

/// A packet with the index of another packet of the same response.
pub(in crate::gamespy4) fn packet_repeated<S: Sink>(
    index: u8,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&GS4021, false, evidence, mark, || {
        format!("packet {index} came twice, with different bytes")
    });
}

/// A packet that contradicts a last bit.
pub(in crate::gamespy4) fn last_bit_misplaced<S: Sink>(
    index: u8,
    last: u8,
    evidence: Evidence,
    mark: &Mark,
    sink: &mut S,
) {
    sink.recalled(&GS4022, false, evidence, mark, || {
        format!("the high bit is set on packet {last}, and there is a packet {index} as well")
    });
}

/// The rules about the address that the packets of a response come from: by what shows that some are missing.
static PACKETS_FROM: ResponseRules =
    ResponseRules { from_asked: &GS4033, asked_for: Some(&GS4021), answered: &GS4021 };
static UNMARKED_FROM: ResponseRules =
    ResponseRules { from_asked: &GS4033, asked_for: Some(&GS4022), answered: &GS4022 };

/// The packets of an incomplete response that came: those at the set bits, and the last one. `is_ended`: what came is a
/// response in one packet, but for the high bit; `None`: nobody knows. Returns what is wrong if these are all.
pub(in crate::gamespy4) fn packets_found(
    have: u128,
    last: Option<u8>,
    is_ended: Option<bool>,
    has_request: bool,
) -> (&'static ResponseRules, PartsFound) {
    let missing = have.trailing_ones();
    let highest = last.map_or(127_u32.saturating_sub(have.leading_zeros()), u32::from);
    let has_gap = missing < highest;
    let (rules, says) = match last {
        Some(_) => (&PACKETS_FROM, "packet {missing} of 0 to {last} is missing"),
        None if has_gap => {
            (&PACKETS_FROM, "packet {missing} is missing, packet {highest} is there")
        }
        None if is_ended == Some(false) => (
            &PACKETS_FROM,
            "the last packet is missing: number {highest}, from 0, is not marked as the last",
        ),
        None => (&UNMARKED_FROM, "no packet after packet {highest}, and the high bit on none"),
    };
    let parts = PartsFound {
        found: have.count_ones() as u16,
        total: last.map_or(0, |last| u16::from(last) + 1),
        missing: missing as u16,
        highest: highest as u16,
        has_request,
        says: Name(says),
    };
    (rules, parts)
}

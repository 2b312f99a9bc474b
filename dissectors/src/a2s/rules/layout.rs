//! The format of all packets and fields.

use crate::a2s::layout::PACKET_SIZE;
use crate::kit::{Evidence, Mark, Quoted, Read, Rule, Sink, Span};
use crate::rule;

rule! {
    /// Only these four bytes distinguish single from split packets; a reader cannot interpret
    /// others.
    pub A2S001 "packet-header" { severity: Error, who: Any, needs: Message,
        asks: "the first long is -1 (single) or -2 (split)",
        cite: [("Protocol", "So by reading the first 4 bytes you can decide whether the data is split (-2) or in one packet (-1).")],
        right: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: "0.00 c > s  FFFFFFFF 55 FFFFFFFF\n0.02 s > c  FEFFFF7F 41 4BA1D522" }
}

pub(in crate::a2s) fn packet_header<S: Sink>(header: Read<i32>, sink: &mut S) {
    sink.checked(&A2S001, matches!(header.value, -1 | -2), header.at, || {
        format!("the packet begins with {}, neither -1 nor -2", header.value)
    });
}

/// A response too short for a header, or one without any.
pub(in crate::a2s) fn no_header<S: Sink>(bytes: &[u8], sink: &mut S) {
    let at = Span::new(0, bytes.len().min(4));
    sink.checked(&A2S001, false, at, || match bytes.first_chunk() {
        Some(&header) => {
            format!("the packet begins with {}, neither -1 nor -2", i32::from_le_bytes(header))
        }
        None => format!(
            "the packet has {}, less than a header",
            crate::kit::counted(bytes.len(), "byte")
        ),
    });
}

/// Some servers write the header twice.
pub(in crate::a2s) fn doubled_header<S: Sink>(rule: &'static Rule, at: Span, sink: &mut S) {
    sink.noted(rule, at, || "FF FF FF FF occurs twice".to_owned());
}

rule! {
    /// Longer packets are fragmented on their way, and many networks drop fragments.
    pub A2S002 "packet-size" { severity: Warning, who: Any, needs: Message,
        asks: "a UDP payload is at most 1400 bytes",
        cite: [("Protocol", "Steam uses a packet size of 1400 bytes + IP/UDP headers.")],
        right: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'x'*1000 00"),
        wrong: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'x'*1400 00") }
}

pub(in crate::a2s) fn packet_size<S: Sink>(length: usize, sink: &mut S) {
    sink.checked(&A2S002, length <= PACKET_SIZE, Span::new(PACKET_SIZE, length), || {
        too_long(length)
    });
}

/// The same for one packet of a response, which is not the current message.
pub(in crate::a2s) fn part_size<S: Sink>(evidence: Evidence, part: &Mark, sink: &mut S) {
    let length = part.length as usize;
    sink.recalled(&A2S002, length <= PACKET_SIZE, evidence, part, || too_long(length));
}

fn too_long(length: usize) -> String {
    format!("the packet has {length} bytes, {} more than 1400", length - PACKET_SIZE)
}

rule! {
    /// Engines use the port and the header for messages of their own; readers skip unknown ones.
    pub A2S003 "known-message" { severity: Note, who: Any, needs: Message,
        asks: "the message byte is one of the specification (other connectionless requests to a known A2S server, such as the old text commands `details`, `players`, `rules`, `ping`, break this rule)",
        cite: [("Requests", "The server responds to 5 queries:")],
        right: "0.00 c > s  FFFFFFFF 57\n0.02 s > c  FFFFFFFF 41 4BA1D522",
        wrong: info_answered!("6C 'Banned by server' 00") }
}

/// `named`: the specification names the message byte.
pub(in crate::a2s) fn known_message<S: Sink>(kind: Read<u8>, named: bool, sink: &mut S) {
    sink.checked(&A2S003, named, kind.at, || {
        format!("the specification has no message 0x{:02X}", kind.value)
    });
}

/// A message of the game, by the word that it begins with.
pub(in crate::a2s) fn game_message<S: Sink>(command: &[u8], at: Span, sink: &mut S) {
    sink.checked(&A2S003, false, at, || {
        format!("{} is a message of the game, not of A2S", Quoted(command))
    });
}

rule! {
    /// Without its zero a string continues into the next field, or past the packet's end, which can
    /// crash a reader.
    pub A2S004 "string-terminated" { severity: Error, who: Any, needs: Message,
        asks: "every string ends in 0x00 inside the packet",
        cite: [("Data Types", "variable-length byte field, encoded in UTF-8, terminated by 0x00")],
        right: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'hello' 00"),
        wrong: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'hello'") }
}
rule! {
    /// Other users see garbage in place of names in a local character set.
    pub A2S005 "string-utf8" { severity: Warning, who: Any, needs: Message,
        asks: "strings are UTF-8",
        cite: [("Data Types", "variable-length byte field, encoded in UTF-8, terminated by 0x00")],
        right: players_answered!("FFFFFFFF 44 01 00 'Zo' C3AB 00 03000000 f32:61.5"),
        wrong: players_answered!("FFFFFFFF 44 01 00 'Zo' EB 00 03000000 f32:61.5") }
}
rule! {
    /// Additional bytes show that sender and reader disagree on the layout.
    pub A2S006 "nothing-behind" { severity: Warning, who: Any, needs: Message,
        asks: "no bytes after the last field",
        cite: [("A2S_SERVERQUERY_GETCHALLENGE", "The challenge number to use")],
        right: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'hello' 00"),
        wrong: rules_answered!("FFFFFFFF 45 0100 'motd' 00 'hello' 00 0102") }
}
rule! {
    /// A truncated field has no value, and a reader that does not check the length reads foreign
    /// memory.
    pub A2S007 "whole-message" { severity: Error, who: Any, needs: Message,
        asks: "no field runs past the end of the packet",
        cite: [("A2S_PLAYER", "Then for each player the following fields are sent:")],
        right: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5"),
        wrong: players_answered!("FFFFFFFF 44 01 00 'Ann' 00 0300") }
}

/// Bytes after the compressed data, which are not in the decompressed message. If there are none,
/// the message itself exercises the rule.
pub(in crate::a2s) fn after_bzip2<S: Sink>(length: usize, sink: &mut S) {
    if length > 0 {
        sink.checked(&A2S006, false, Span::default(), || {
            crate::kit::counted(length, "byte follows/bytes follow") + " the compressed data"
        });
    }
}

/// Zeros after a request: a known deviation.
pub(in crate::a2s) fn padding<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&A2S006, at, || match at.len() {
        1 => "1 zero pads the request".to_owned(),
        zeros => format!("{zeros} zeros pad the request"),
    });
}

/// The values that The Ship sends after the player list: a known deviation.
pub(in crate::a2s) fn ship_players<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&A2S006, at, || {
        "the list is followed by deaths and money of each player, as The Ship sends them".to_owned()
    });
}

/// The same values in each entry, where one reader expects them: The Ship's own servers send them after the list.
pub(in crate::a2s) fn ship_players_inside<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&A2S006, at, || {
        "each entry has deaths and money after Duration, which The Ship sends after the list"
            .to_owned()
    });
}

/// "HLTV servers may respond with a late request that is either incomplete or incorrect if the
/// number of slots is 255."
pub(in crate::a2s) fn hltv_incomplete<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&A2S007, at, || {
        "the answer is incomplete, as HLTV servers' are where the slots are 255".to_owned()
    });
}

/// A relay counts no bots: its response in the obsolete format ends before their number.
pub(in crate::a2s) fn hltv_no_bots<S: Sink>(at: Span, sink: &mut S) {
    sink.noted(&A2S007, at, || "the answer ends before Bots, as HLTV proxies' do".to_owned());
}

/// The four bytes FF at the start of a split response's payload are checked as one message; the
/// rule a console text or an odd message byte breaks is [`A2S003`].
pub(in crate::a2s) const fn is_named(kind: u8) -> bool {
    matches!(kind, b'i' | b'j' | b'T' | b'I' | b'm' | b'W' | b'A' | b'U' | b'D' | b'V' | b'E')
}

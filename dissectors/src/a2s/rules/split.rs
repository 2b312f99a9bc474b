//! Split responses: headers, the joined response, and its compression.

use crate::kit::{Name, ResponseRules, Sink, Span};
use crate::rule;

use super::{A2S065, doubled_header};
use crate::a2s::layout::{Layout, is_total};
use crate::a2s::split::Repeat;

rule! {
    /// A reader allocates by this number, and waits for this number of packets.
    pub A2S040 "split-total" { severity: Error, who: Server, needs: Message,
        asks: "total is 2 to 15 in the GoldSrc layout, not 0 in the Source layouts (real Source servers send compressed responses with total 1, which is A2S051 only)",
        cite: [("Multi-packet Response", "bottom 4 bits represent the total number of packets (2 to 15).")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 00 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236 00\nend 9") }
}

pub(in crate::a2s) fn split_total<S: Sink>(layout: Layout, total: u8, at: Span, sink: &mut S) {
    sink.checked(&A2S040, is_total(layout, total), at, || {
        format!("the total is {total} in the {} layout", layout.name())
    });
}

rule! {
    /// A reader that keeps packets in a table by number writes past its end.
    pub A2S041 "split-number" { severity: Error, who: Server, needs: Message,
        asks: "number < total",
        cite: [("Multi-packet Response", "The number of the packet. Starts at 0.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 02 E004 'x'*100 00\nend 9") }
}

/// `beyond`: a number and the total that it is not below.
pub(in crate::a2s) fn split_number<S: Sink>(beyond: Option<(u8, u8)>, at: Span, sink: &mut S) {
    sink.checked(&A2S041, beyond.is_none(), at, || {
        let (number, total) = beyond.unwrap_or_default();
        format!("number {number} is in a response of {total}")
    });
}

rule! {
    /// If the packets of one response disagree, a reader cannot know when the response is complete.
    pub A2S042 "split-consistent" { severity: Error, who: Server, needs: Message,
        asks: "total (and Size, and the compressed bit) is the same in all packets of one ID",
        cite: [("Multi-packet Response", "The total number of packets in the response.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E003 'x'*100 00") }
}

/// `differs`: what differs between packets.
pub(in crate::a2s) fn split_consistent<S: Sink>(
    differs: Option<&'static str>,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&A2S042, differs.is_none(), at, || {
        format!("{} differs between packets of one ID", differs.unwrap_or_default())
    });
}

rule! {
    /// If one packet is lost, the whole response is lost: there are no retransmissions.
    pub A2S043 "split-complete" { severity: Error, who: Server, needs: Response,
        asks: "every number 0..total-1 arrives",
        cite: [("Multi-packet Response", "collect and assemble all the packets of the answer")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 03 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 03 02 E004 'x'*100 00\nend 9") }
}

/// All packets of a response arrived.
pub(in crate::a2s) fn split_complete<S: Sink>(sink: &mut S) {
    sink.checked(&A2S043, true, Span::default(), String::new);
}

/// What is wrong with a response whose packets did not all arrive.
pub(in crate::a2s) const PARTS_MISSING: Name =
    Name("{found} of {total} packets arrived; the first missing one is the {nth}");

/// The rules about the address that packets come from.
pub(in crate::a2s) static PARTS_FROM: ResponseRules =
    ResponseRules { from_asked: &A2S065, asked_for: Some(&A2S043), answered: &A2S043 };

rule! {
    /// A reader keeps the first or the last copy: if they differ, readers see different responses.
    pub A2S044 "split-repeat" { severity: Error, who: Server, needs: Message,
        asks: "a packet with a repeated number has the same bytes (identical copies: a note)",
        cite: [("Multi-packet Response", "every packet should be verified by its \"ID\" and \"Number\"!")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'y'*1236
0.07 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00") }
}

pub(in crate::a2s) fn split_repeat<S: Sink>(repeat: Repeat, at: Span, sink: &mut S) {
    match repeat {
        Repeat::None => sink.checked(&A2S044, true, at, String::new),
        Repeat::Same => sink.noted(&A2S044, at, || "an identical copy came as well".to_owned()),
        Repeat::Differs(number) => sink.checked(&A2S044, false, at, || {
            format!("number {number} came twice, with different bytes")
        }),
    }
}

rule! {
    /// These bytes show a reader that it has joined the packets correctly.
    pub A2S045 "split-inner-header" { severity: Error, who: Server, needs: Message,
        asks: "the reassembled payload begins with FF FF FF FF",
        cite: [("Multi-packet Response", "is continued with an integer -1 (0xFFFFFFFF) and the user data.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 45 0100 'motd' 00 'x'*1240
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00") }
}

pub(in crate::a2s) fn inner_header<S: Sink>(there: bool, at: Span, sink: &mut S) {
    sink.checked(&A2S045, there, at, || {
        "the reassembled payload does not begin with FF FF FF FF".to_owned()
    });
}

pub(in crate::a2s) fn doubled_inner_header<S: Sink>(at: Span, sink: &mut S) {
    doubled_header(&A2S045, at, sink);
}

rule! {
    /// Only the bit in the ID marks compression: if it is wrong, a reader cannot decompress the
    /// response.
    pub A2S046 "bzip2-decodes" { severity: Error, who: Server, needs: Message,
        asks: "a response with the compressed bit decompresses as bzip2",
        cite: [("Multi-packet Response", "then the response was compressed with bzip2 before being cut and sent.")],
        right: rules_answered!("FEFFFFFF 01000080 01 00 E004 le32:18 217F1CC2 425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D"),
        wrong: rules_answered!("FEFFFFFF 01000080 01 00 E004 le32:18 217F1CC2 'BZh9' 00*40") }
}

/// `failed`: why decompression failed.
pub(in crate::a2s) fn bzip2_decodes<S: Sink>(failed: Option<&'static str>, at: Span, sink: &mut S) {
    sink.checked(&A2S046, failed.is_none(), at, || {
        format!("the compressed bit is set, yet {}", failed.unwrap_or_default())
    });
}

/// The recording lost bytes of the compressed data.
pub(in crate::a2s) fn bzip2_lost<S: Sink>(at: Span, sink: &mut S) {
    sink.checked(&A2S046, false, at, || "the capture does not hold all compressed data".to_owned());
}

rule! {
    /// Readers allocate by this number before they decompress.
    pub A2S047 "bzip2-size" { severity: Error, who: Server, needs: Message,
        asks: "a compressed response decompresses to the announced size (the first packet has it, and the CRC32, ahead of the data)",
        cite: [("Multi-packet Response", "Size of the whole response once it is decompressed.")],
        right: rules_answered!("FEFFFFFF 01000080 01 00 E004 le32:18 217F1CC2 425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D"),
        wrong: rules_answered!("FEFFFFFF 01000080 01 00 E004 le32:99 217F1CC2 425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D") }
}

/// `more`: there are more bytes after `length`.
pub(in crate::a2s) fn bzip2_size<S: Sink>(announced: u32, length: usize, more: bool, sink: &mut S) {
    let ok = !more && length as u64 == u64::from(announced);
    sink.checked(&A2S047, ok, Span::default(), || {
        let than = if more { "more than " } else { "" };
        let announced = crate::kit::counted(announced as usize, "byte is/bytes are");
        format!("{announced} announced, {than}{length} in fact")
    });
}

/// The compressed data begins where size and CRC32 should be.
pub(in crate::a2s) fn bzip2_size_missing<S: Sink>(sink: &mut S) {
    sink.checked(&A2S047, false, Span::new(0, 4), || {
        "the compressed data is not preceded by its decompressed size and CRC32".to_owned()
    });
}

rule! {
    /// Only the checksum distinguishes a damaged response from a good one.
    pub A2S048 "bzip2-crc32" { severity: Error, who: Server, needs: Message,
        asks: "a decompressed response has the announced CRC32",
        cite: [("Multi-packet Response", "CRC32 checksum of uncompressed response.")],
        right: rules_answered!("FEFFFFFF 01000080 01 00 E004 le32:18 217F1CC2 425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D"),
        wrong: rules_answered!("FEFFFFFF 01000080 01 00 E004 le32:18 12345678 425A6839314159265359AA00404D0000094580E0000200064684000000A000220341908069A68428DDAE9E330B538F177245385090AA00404D") }
}

pub(in crate::a2s) fn bzip2_crc32<S: Sink>(announced: u32, sum: u32, at: Span, sink: &mut S) {
    sink.checked(&A2S048, announced == sum, at, || {
        format!("CRC32 {announced:08X} is announced, the bytes have {sum:08X}")
    });
}

rule! {
    /// A reader computes each packet's position from this size; with another size it puts the bytes
    /// in the wrong places.
    pub A2S050 "split-size" { severity: Warning, who: Server, needs: Message,
        asks: "no payload is longer than Size (default 1248), and all but the last are of equal length",
        cite: [("Multi-packet Response", "Maximum size of packet before packet switching occurs.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1300
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00") }
}

/// `size`: `None` in layouts without it, for which the specification only says that the size cannot
/// be changed. `longest`: the payload length of the longest packet; `uneven`: two packets that are
/// not the last have different lengths.
pub(in crate::a2s) fn split_size<S: Sink>(
    size: Option<u16>,
    longest: usize,
    uneven: bool,
    sink: &mut S,
) {
    let beyond = size.filter(|&size| longest > usize::from(size));
    sink.checked(&A2S050, beyond.is_none() && !uneven, Span::default(), || match beyond {
        Some(size) => {
            format!("a packet carries {}, Size is {size}", crate::kit::counted(longest, "byte"))
        }
        None => "packets before the last carry unequally many bytes".to_owned(),
    });
}

rule! {
    /// Larger packets are fragmented on the way, and firewalls drop fragments.
    pub A2S055 "split-size-limit" { severity: Note, who: Server, needs: Message,
        asks: "Size is at most 1248, the default that an administrator can only decrease",
        cite: [("Multi-packet Response", "The default value is 1248 bytes (0x04E0), but the server administrator can decrease this.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 1405 FFFFFFFF 45 0100 'motd' 00 'x'*1288
0.06 s > c  FEFFFFFF 01000000 02 01 1405 'x'*100 00") }
}

/// The default of Size.
const DEFAULT_SIZE: u16 = 1248;

pub(in crate::a2s) fn split_size_limit<S: Sink>(size: u16, sink: &mut S) {
    sink.checked(&A2S055, size <= DEFAULT_SIZE, Span::default(), || {
        format!("Size is {size}, above the default of {DEFAULT_SIZE}")
    });
}

rule! {
    /// Each further packet increases the risk of loss. Proxies split small responses, too.
    pub A2S051 "split-needless" { severity: Note, who: Server, needs: Message,
        asks: "a response that fits in one packet is not split",
        cite: [("Protocol", "If a request or response needs more packets for the data it starts the packets with an additional header.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'llo' 00") }
}

pub(in crate::a2s) fn split_needless<S: Sink>(length: usize, fits: usize, sink: &mut S) {
    sink.checked(&A2S051, length > fits, Span::default(), || {
        format!("the whole has {}, one packet holds {fits}", crate::kit::counted(length, "byte"))
    });
}

rule! {
    /// Only the ID distinguishes packets: if responses share one, a late packet corrupts the next
    /// response.
    pub A2S052 "split-id-unique" { severity: Warning, who: Server, needs: Interval,
        asks: "an ID is not used for two responses in one conversation",
        cite: [("Multi-packet Response", "Unique number assigned by server per answer.")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'llo' 00
0.10 c > s  FFFFFFFF 56 4BA1D522
0.12 s > c  FEFFFFFF 02000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.13 s > c  FEFFFFFF 02000000 02 01 E004 'llo' 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'llo' 00
0.10 c > s  FFFFFFFF 56 4BA1D522
0.12 s > c  FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.13 s > c  FEFFFFFF 01000000 02 01 E004 'llo' 00") }
}

pub(in crate::a2s) fn split_id_unique<S: Sink>(unique: bool, id: u32, sink: &mut S) {
    sink.checked(&A2S052, unique, Span::default(), || format!("ID {id} was an earlier answer's"));
}

rule! {
    /// A packet does not identify its layout: clients determine a server's layout once, and keep
    /// it.
    pub A2S053 "split-layout" { severity: Error, who: Server, needs: Interval,
        asks: "one server uses one split layout (GoldSrc, old Source, Orange Box)",
        cite: [("Multi-packet Response", "(Orange Box Engine and above only.)")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'llo' 00
0.10 c > s  FFFFFFFF 56 4BA1D522
0.12 s > c  FEFFFFFF 02000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.13 s > c  FEFFFFFF 02000000 02 01 E004 'llo' 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'he'
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'llo' 00
0.10 c > s  FFFFFFFF 56 4BA1D522
0.12 s > c  FEFFFFFF 02000000 02 00 FFFFFFFF 45 0100 'motd' 00 'he'
0.13 s > c  FEFFFFFF 02000000 02 01 'llo' 00") }
}

pub(in crate::a2s) fn split_layout<S: Sink>(layout: Layout, before: Layout, sink: &mut S) {
    sink.checked(&A2S053, layout == before, Span::default(), || {
        format!("the {} layout follows the {} layout", layout.name(), before.name())
    });
}

rule! {
    /// Networks reorder packets; a client that relies on their order shows garbage.
    pub A2S054 "split-order" { severity: Note, who: Capture, needs: Message,
        asks: "the packets of one response arrive in order",
        cite: [("Multi-packet Response", "Because UDP packets can arrive in different order or delayed")],
        right: rules_answered!("FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236
0.06 s > c  FEFFFFFF 01000000 02 01 E004 'x'*100 00"),
        wrong: rules_answered!("FEFFFFFF 01000000 02 01 E004 'x'*100 00
0.06 s > c  FEFFFFFF 01000000 02 00 E004 FFFFFFFF 45 0100 'motd' 00 'x'*1236") }
}

pub(in crate::a2s) fn split_order<S: Sink>(in_order: bool, sink: &mut S) {
    sink.checked(&A2S054, in_order, Span::default(), || {
        "the packets of the answer arrived out of order".to_owned()
    });
}

//! The library's `Decoder`: any packets, at any times, with any needs.

use dissectors::kit::Time;
use dissectors::net_rules;
use gamewire::capture::{LinkType, Notice, Packet};
use gamewire::{
    Checked, Datagrams, Decoder, Event, FieldLimits, Findings, Messages, Needs, Options, Passes,
};

use crate::input::Input;

/// Link types of packets, by the lowest bits of a byte.
const LINKS: [LinkType; 8] = [
    LinkType::ETHERNET,
    LinkType::RAW,
    LinkType::NULL,
    LinkType::PPP,
    LinkType::LINUX_SLL,
    // IEEE 802.11, whose frames may contain several packets; PPI; NFLOG.
    LinkType(105),
    LinkType(192),
    LinkType(239),
];

/// A packet in the input format of the target, a millisecond after the previous one; `None` for other link
/// types.
pub(crate) fn record(packet: &Packet<'_>) -> Option<Vec<u8>> {
    let link = LINKS.iter().position(|&link| link == packet.link)? as u8;
    let length = u16::try_from(packet.data.len()).ok()?;
    let mut record = vec![10, link];
    record.extend(length.to_le_bytes());
    record.extend(packet.data);
    Some(record)
}

/// Input: a byte with the needs, then packets: time step, link type, two bytes of length, the bytes.
pub(crate) fn run(bytes: &[u8]) {
    let whole = decoded(bytes, 0, 1);
    let halves = [decoded(bytes, 0, 2), decoded(bytes, 1, 2)];
    assert_eq!(whole.packets, halves[0].packets);
    assert_eq!(whole.flows, halves[0].flows + halves[1].flows, "flows of parts");
    let mut parts = [&halves[0].messages[..], &halves[1].messages[..]].concat();
    let mut messages = whole.messages;
    parts.sort();
    messages.sort();
    assert_eq!(messages, parts, "messages of parts");
}

/// The result of a part.
struct Decoded {
    packets: u64,
    flows: u32,
    /// Each with its packet and its fields.
    messages: Vec<(u64, String)>,
}

fn decoded(bytes: &[u8], nth: usize, of: usize) -> Decoded {
    let mut input = Input(bytes);
    let needs = needs(input.u8());
    let mut decoder = Decoder::of_thread(Options { needs, ..Options::default() }, nth, of);
    let (mut time, mut messages) = (0_i64, Vec::new());
    while !input.is_empty() {
        let (step, kind, length) = (input.u8(), input.u8(), input.u16());
        time = time.saturating_add(Input::step(step));
        match kind >> 4 {
            // The clock of a live capture, and notices of a recorder.
            1 => decoder.reach(Time(time)),
            2 => decoder.notice(&Notice::Drops { path: "-".into(), interface: 0, count: 1 }),
            3 => decoder.pass_over(),
            _ => {
                let data = input.bytes(length.into());
                let link = LINKS[usize::from(kind) % LINKS.len()];
                decoder.push(&Packet { link, ..Packet::new(time, data) });
            }
        }
        read(&mut decoder, &mut messages);
    }
    while decoder.finish() {
        read(&mut decoder, &mut messages);
    }
    assert!(!decoder.finish() && !decoder.has_events(), "it is over");
    let (packets, flows) = (decoder.packets(), decoder.flows());
    drop(decoder.into_totals());
    Decoded { packets, flows, messages }
}

fn needs(bits: u8) -> Needs {
    let has = |bit: u8| bits >> bit & 1 == 1;
    Needs {
        messages: if has(0) { Messages::All } else { Messages::WithFindings },
        fields: has(1)
            .then(|| if has(7) { FieldLimits::of_servers() } else { FieldLimits::default() }),
        servers: has(5),
        findings: [
            Findings::None,
            Findings::OfMessages,
            Findings::All { in_words: false },
            Findings::All { in_words: true },
        ][usize::from(bits >> 2 & 3)],
        passes: if has(4) { Passes::All } else { Passes::None },
        cross_flow: has(5),
        elsewhere: has(4),
        unanswered: has(4),
        traffic: has(6).then_some(8),
        icmp: has(7),
        refusals: has(5),
        flows: has(7),
        flow_details: has(6),
        files: has(5),
        ports: has(6),
        hosts: has(6),
        pairs: has(6),
        // Rarely, because it excludes all other needs.
        datagrams: if bits == 0xA5 { Datagrams::Only } else { Datagrams::None },
    }
}

/// Reads all properties of the events.
fn read(decoder: &mut Decoder, messages: &mut Vec<(u64, String)>) {
    let mut events = decoder.events();
    while let Some(event) = events.next() {
        match event {
            Event::Message(message) => {
                let payload = message.payload();
                let unlisted = message.tree().and_then(|tree| message.message().unlisted(&tree));
                assert_eq!(unlisted, None, "a field that {} does not list", message.path());
                let names = message.tree().map_or(&[][..], |tree| tree.nodes).iter();
                let fields = names.flat_map(|node| message.values(node.field.name));
                let fields =
                    fields.take(64).fold(message.path(), |all, field| format!("{all} {field}"));
                messages.push((payload.frame, fields));
                for finding in message.checked().findings {
                    let is_within = finding.span.end as usize <= payload.bytes.len();
                    // Losses of the recording are measured before chunks of HTTP are joined.
                    let is_of_recording = finding.rule.code.group() == &net_rules::GROUP;
                    assert!(is_within || is_of_recording || finding.mark.is_some(), "{finding:?}");
                }
            }
            Event::Checked(it) => {
                let Checked { findings, left_out, passes } = it.checked();
                assert!(findings.len() + left_out.len() + passes.len() > 0);
            }
            Event::CrossFlow(it) => assert!(it.servers.len() <= 1 << 20),
            Event::Icmp(it) => assert!(it.frame >= it.message),
            Event::Unanswered(it) => assert!(it.frame > 0),
            Event::Datagram(it) => assert!(it.bytes.len() <= it.headers.length as usize),
            Event::File(it) => assert!(it.frame > 0 && it.place.frame > 0),
            Event::FlowEnded(row) => assert!(row.flow > 0 && !row.protocol.is_empty()),
        }
    }
}

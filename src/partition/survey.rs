//! The first pass over a file: which pairs of hosts may use a supported protocol, the number of
//! packets, and their times.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::Path;

use dissectors::kit::{StreamView, Time, Transport};
use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

use super::pair::pair;
use crate::capture::{self, CaptureError, Event, LinkType, Packet};
use crate::flows::identify::Undecided;
use crate::flows::{Identifier, is_usual};
use crate::net::{
    Fragment, Ip, Outcome, TransportPayload, UnreadLayer, decode, decode_ip_payload, glance,
};
use crate::session::{Links, Options, PortPackets, Recording, Translations};

/// A payload cut to fewer bytes than this may belong to any protocol.
const TELLING: usize = 4;

/// Maximum depth of nested fragments.
const NESTED: usize = 4;

/// The survey of one file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Survey {
    /// Packets.
    pub packets: u64,
    /// Packets and notices.
    pub events: u64,
    /// Bytes of the packets, as they were on the wire.
    pub bytes: u64,
    /// The earliest and the latest time of a packet.
    pub span: Option<[i64; 2]>,
    /// Its beginning and end in the merged order, in which times never go backwards.
    pub place: Option<[i64; 2]>,
    /// The position of the last packet in that order, and its own time.
    pub last: Option<(i64, i64)>,
    /// How many digits of a second the last packet's time has.
    pub digits: u8,
    /// The packets' link types.
    pub links: Links,
    /// Packets whose link type cannot be read, and the first such type.
    pub unknown_links: (u64, Option<LinkType>),
    /// Packets of layers that are not read, by [`UnreadLayer`].
    pub unread: Vec<u64>,
    /// Packets by port.
    pub foreign: PortPackets,
    /// Texts about faults of the recording.
    pub warnings: Vec<String>,
    /// Pairs of hosts that may use a supported protocol, by `pair`.
    pub speaking: RoaringBitmap,
    /// Pairs of hosts that send fragments of possible tunnels.
    pub tunnels: RoaringBitmap,
    /// All pairs of hosts may use one.
    pub all_speak: bool,
    /// Addresses of hosts whose datagrams may have been recorded before and behind NAT.
    pub translated: BTreeSet<IpAddr>,
}

/// Looks through a file.
///
/// # Errors
/// It cannot be read.
pub fn survey(path: &Path, options: &Options, memory: usize) -> Result<Survey, CaptureError> {
    let mut packets = capture::open_within(path, memory)?;
    let mut survey = Survey {
        unread: vec![0; UnreadLayer::ALL.len()],
        // For checksums, every packet counts.
        all_speak: options.verify_checksums,
        ..Survey::default()
    };
    let mut translations = Translations::of_survey();
    while let Some(time) = packets.advance() {
        let [first, latest] = survey.place.unwrap_or([time, time]);
        let at = latest.max(time);
        survey.place = Some([first, at]);
        survey.events += 1;
        match packets.current() {
            Event::Packet(packet) => {
                survey.packet(&packet, at, &options.identifier, &mut translations);
            }
            Event::Notice(notice) if notice.is_warning() => {
                survey.warnings.push(notice.to_string());
            }
            Event::Notice(_) => {}
        }
    }
    survey.translated = translations.into_candidates();
    Ok(survey)
}

impl Survey {
    /// Maximum number of addresses of hosts behind NAT.
    pub(super) const TRANSLATED: usize = Translations::CANDIDATES;

    fn packet(
        &mut self,
        packet: &Packet<'_>,
        at: i64,
        identifier: &Identifier,
        translations: &mut Translations,
    ) {
        let time = packet.time;
        let [first, latest] = self.span.unwrap_or([time, time]);
        self.span = Some([first.min(time), latest.max(time)]);
        self.last = Some((at, time));
        self.packets += 1;
        self.bytes += u64::from(packet.original_length);
        self.digits = packet.digits;
        self.links.see(packet.link);
        let frame = self.packets;
        outcome_of(packet).each(&mut |outcome| {
            if let Outcome::Udp(datagram) = &outcome {
                let now = Recording::of(datagram, frame, Time(time));
                translations.see(&now, datagram.payload.bytes, identifier);
            }
            self.see(&outcome, identifier);
        });
    }

    fn see(&mut self, outcome: &Outcome<'_>, identifier: &Identifier) {
        match outcome {
            Outcome::Udp(datagram) => {
                let ports = [datagram.source_port, datagram.destination_port];
                self.foreign.add_packets(Transport::Udp, ports, 1);
                let payload = &datagram.payload;
                let is_claimed = || identifier.datagram(payload.bytes, ports, None).is_some();
                if may_be_cut(payload, ports) || is_claimed() {
                    self.speaks(&datagram.ip);
                }
            }
            Outcome::Tcp(segment) => {
                let ports = [segment.source_port, segment.destination_port];
                self.foreign.add_packets(Transport::Tcp, ports, 1);
                let payload = &segment.payload;
                if may_be_cut(payload, ports) || may_begin(payload.bytes, ports, identifier) {
                    self.speaks(&segment.ip);
                }
            }
            Outcome::Fragment(fragment) => self.fragment(fragment, 0),
            Outcome::UnknownLink(link) => {
                self.unknown_links.0 += 1;
                self.unknown_links.1.get_or_insert(*link);
            }
            Outcome::Unread(layer) => {
                if let Some(count) = self.unread.get_mut(*layer as usize) {
                    *count += 1;
                }
            }
            Outcome::OtherIcmp(icmp) => {
                icmp.echo().into_iter().for_each(|echo| self.foreign.add_echo(echo));
            }
            Outcome::Malformed(_)
            | Outcome::Snapped
            | Outcome::Icmp(_)
            | Outcome::Aggregate(_)
            | Outcome::Other => {}
        }
    }

    /// The datagram may be complete only in another file: senders of fragments count as users of a
    /// protocol, and so do hosts in a tunnel whose first fragment shows them.
    fn fragment(&mut self, fragment: &Fragment<'_>, depth: usize) {
        self.speaks(&fragment.ip);
        if !fragment.may_be_tunnel() {
            return;
        }
        self.tunnels.insert(pair(fragment.ip.source, fragment.ip.destination));
        if fragment.at > 0 {
            return;
        }
        let inner = decode_ip_payload(fragment.ip, fragment.protocol, fragment.payload.bytes);
        inner.each(&mut |outcome| match (&outcome, outcome.hosts()) {
            (Outcome::Fragment(inner), _) if depth < NESTED => {
                self.fragment(inner, depth + 1);
            }
            (_, Some([a, b])) => {
                self.speaking.insert(pair(a, b));
            }
            // Its contents begin in a later fragment.
            (Outcome::Malformed(_) | Outcome::Snapped, None) => self.all_speak = true,
            _ => {}
        });
    }

    fn speaks(&mut self, ip: &Ip) {
        self.speaking.insert(pair(ip.source, ip.destination));
    }
}

/// Decodes a packet.
pub(super) fn outcome_of<'p>(packet: &Packet<'p>) -> Outcome<'p> {
    match glance(packet.link, packet.data) {
        Some(glance) => glance.outcome(),
        None => decode(packet.link, packet.data, packet.original_length),
    }
}

/// Whether it was cut, and may have been a message of a supported protocol.
fn may_be_cut(payload: &TransportPayload<'_>, ports: [u16; 2]) -> bool {
    payload.snapped && (payload.bytes.len() < TELLING || ports.into_iter().any(is_usual))
}

/// Whether a stream that begins with these bytes, from either side, may use a supported protocol.
fn may_begin(bytes: &[u8], [from, to]: [u16; 2], identifier: &Identifier) -> bool {
    !bytes.is_empty()
        && [(true, false), (true, true), (false, false), (false, true)].into_iter().any(
            |(began, is_second)| {
                let (mut both, mut ports) = ([bytes, &[]], [from, to]);
                let mut begun = [began, true];
                if is_second {
                    both.swap(0, 1);
                    ports.swap(0, 1);
                    begun.swap(0, 1);
                }
                let view = StreamView { bytes: both, began: begun, ended: [false; 2] };
                identifier.stream(&view, ports) != Err(Undecided::None)
            },
        )
}

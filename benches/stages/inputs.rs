//! The inputs of the stages: reproducible captures of a few thousand packets.

use std::collections::HashMap;
use std::fs;
use std::io::Cursor;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use captures::bulk::{self, Input, Size};
use dissectors::Id;
use dissectors::kit::{FlowFacts, Side, Time, Transport};
use gamewire::capture::LinkType;
use gamewire::capture::{self, Event};
use gamewire::flows::{FlowKey, Identifier};
use gamewire::net::{Outcome, decode};

/// Number of packets that are searched for conversations of each protocol.
const SEARCHED: u64 = 60_000;

/// Number of conversations for a dissector.
const CONVERSATIONS: usize = 300;

/// A capture in a temporary file.
pub(super) struct File(PathBuf);

impl File {
    pub(super) fn of(input: Input, packets: u64) -> Self {
        let name = format!("gamewire-bench-{}-{}.pcap", input.name(), std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::write(&path, bytes(input, packets)).expect("a writable folder");
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for File {
    fn drop(&mut self) {
        fs::remove_file(&self.0).ok();
    }
}

/// A packet that outlives its capture.
pub(super) struct Packet {
    pub(super) link: LinkType,
    pub(super) bytes: Vec<u8>,
    time: i64,
}

impl Packet {
    /// The packet in the borrowed form of a capture.
    pub(super) fn borrowed(&self) -> capture::Packet<'_> {
        capture::Packet {
            time: self.time,
            link: self.link,
            interface: 0,
            original_length: self.bytes.len() as u32,
            data: &self.bytes,
            file: 0,
            number: 0,
            offset: 0,
            digits: 6,
        }
    }
}

fn bytes(input: Input, packets: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bulk::write(input, Size::Packets(packets), &mut bytes).expect("memory");
    bytes
}

/// The packets of a capture.
pub(super) fn packets(input: Input, packets: u64) -> Vec<Packet> {
    let bytes = Cursor::new(bytes(input, packets));
    let mut capture =
        capture::open_stream(Path::new("memory"), Box::new(bytes)).expect("a capture");
    let mut packets = Vec::new();
    while let Some(event) = capture.next() {
        if let Event::Packet(packet) = event {
            let bytes = packet.data.to_vec();
            packets.push(Packet { link: packet.link, bytes, time: packet.time });
        }
    }
    packets
}

/// The flow keys of the datagrams of a capture.
pub(super) fn keys(input: Input, count: u64) -> Vec<FlowKey> {
    packets(input, count).iter().filter_map(|packet| Some(datagram(packet)?.0)).collect()
}

fn datagram(packet: &Packet) -> Option<(FlowKey, &[u8])> {
    let outcome = decode(packet.link, &packet.bytes, packet.bytes.len() as u32);
    let Outcome::Udp(datagram) = outcome else { return None };
    let ports = [datagram.source_port, datagram.destination_port];
    let (source, destination) = (datagram.ip.source, datagram.ip.destination);
    let key = FlowKey { source, destination, ports, transport: Transport::Udp };
    Some((key, datagram.payload.bytes))
}

/// A datagram, or data that one end sent in a stream without interruption.
pub(super) struct SentMessage {
    pub(super) side: Side,
    pub(super) frame: u64,
    pub(super) time: Time,
    pub(super) bytes: Vec<u8>,
}

/// The data of a conversation between two ends.
pub(super) struct Conversation {
    ends: [SocketAddr; 2],
    number: u32,
    pub(super) transport: Transport,
    pub(super) sent: Vec<SentMessage>,
}

impl Conversation {
    /// The flow before the first packet.
    pub(super) fn facts(&self) -> FlowFacts {
        FlowFacts {
            ends: self.ends,
            began: true,
            seen: [false; 2],
            silence: 0,
            lossy: false,
            number: self.number,
            transport: self.transport,
        }
    }
}

/// Conversations of a protocol.
pub(super) fn conversations(id: Id) -> Vec<Conversation> {
    match id {
        Id::AcrMaster => vec![list_over_http()],
        Id::A2s => datagrams(id, Input::A2s, SEARCHED / 10),
        _ => datagrams(id, Input::Mixed, SEARCHED),
    }
}

/// The first conversations over UDP in a capture.
fn datagrams(id: Id, input: Input, count: u64) -> Vec<Conversation> {
    let identifier = Identifier::default();
    let mut places: HashMap<[SocketAddr; 2], usize> = HashMap::new();
    let mut conversations: Vec<Conversation> = Vec::new();
    for (frame, packet) in (1..).zip(&packets(input, count)) {
        let Some((key, bytes)) = datagram(packet) else { continue };
        let mut ends = [key.from(), key.to()];
        ends.sort();
        let place = places.get(&ends).copied();
        let known = place.map(|_| id);
        if identifier.datagram(bytes, key.ports, known) != Some(id) {
            continue;
        }
        let place = match place {
            Some(place) => place,
            None if conversations.len() < CONVERSATIONS => {
                let number = conversations.len() as u32 + 1;
                let (ends_of_flow, transport) = ([key.from(), key.to()], Transport::Udp);
                let sent = Vec::new();
                places.insert(ends, conversations.len());
                conversations.push(Conversation { ends: ends_of_flow, number, transport, sent });
                conversations.len() - 1
            }
            None => continue,
        };
        let conversation = &mut conversations[place];
        let is_first = conversation.ends[0] == key.from();
        let side = if is_first { Side::First } else { Side::Second };
        let time = Time(packet.time);
        conversation.sent.push(SentMessage { side, frame, time, bytes: bytes.to_vec() });
    }
    assert!(!conversations.is_empty(), "no conversation of {}", id.info().id);
    conversations
}

/// A client requests the list repeatedly on one connection.
fn list_over_http() -> Conversation {
    let request = b"GET /c?build_defs=4 HTTP/1.1\r\nHost: ms.example.net\r\n\
        User-Agent: ACR-Client/20700\r\n\r\n";
    let mut list = "masterserver_flags 0\ncurrent_version 20700 140\n".to_owned();
    for host in 1..=250 {
        list += &format!("addserver 192.0.2.{host} 28770 0\n");
    }
    let response = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{list}", list.len());
    let sent = (0..40).map(|number| {
        let (side, bytes) = if number % 2 == 0 {
            (Side::First, request.to_vec())
        } else {
            (Side::Second, response.clone().into_bytes())
        };
        SentMessage { side, frame: number + 1, time: Time(number as i64 * 1_000_000_000), bytes }
    });
    Conversation {
        ends: [SocketAddr::from(([10, 0, 0, 1], 50_000)), SocketAddr::from(([10, 0, 0, 9], 80))],
        number: 1,
        transport: Transport::Tcp,
        sent: sent.collect(),
    }
}

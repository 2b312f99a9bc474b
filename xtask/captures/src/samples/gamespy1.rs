//! Samples of the GameSpy text protocol, as specified by "333networks MasterServer".

use crate::bytes::Bytes;
use crate::exchange::Setting;
use crate::samples::{Sample, play};
use crate::wire::{Capture, Connection, End, Ip, Link, START, Segment, protocol};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "gamespy1-heartbeat.pcap",
        shows: "servers send heartbeats, are challenged once, and respond with the code of their \
                game; Linux cooked capture",
        make: || {
            let setting = Setting { link: Link::Sll, ..SETTING };
            play(include_str!("gamespy1-heartbeat.txt"), &setting, &[]).pcap()
        },
    },
    Sample {
        name: "gamespy1-list.pcap",
        shows: "two clients fetch lists over TCP, as text and as blocks, from the challenge to the \
                close: in segments, one retransmitted, two out of order",
        make: list,
    },
    Sample {
        name: "gamespy1-query.pcap",
        shows: "queries of servers: responses in one datagram and in four out of order, and in the \
                format of GameSpy's own software",
        make: || play(include_str!("gamespy1-query.txt"), &SETTING, &[]).pcap(),
    },
    Sample {
        name: "gamespy1-faults.pcap",
        shows: "faults: wrong codes, ports and addresses, a list without a valid code, a truncated \
                list and a truncated response",
        make: || play(include_str!("gamespy1-faults.txt"), &SETTING, &[]).pcap(),
    },
];

/// The usual port for heartbeats.
const SETTING: Setting = Setting::udp(27900);

/// The conversations that conform to the specification.
pub(super) fn conversations() -> Vec<(String, Setting)> {
    let scripts =
        [include_str!("gamespy1-heartbeat.txt"), include_str!("gamespy1-query.txt"), FETCH];
    scripts.map(|script| (script.to_owned(), SETTING)).into()
}

/// A list like that of `gamespy1-list.pcap`, without loss and reordering.
const FETCH: &str = r"
    0.000  m:28900 > c  tcp '\\basic\\\\secure\\XDWAOR'
    0.020  c > m:28900  tcp '\\gamename\\ut\\location\\0\\validate\\3JOdDFU5\\final\\'
    0.021  c > m:28900  tcp '\\list\\\\gamename\\ut\\final\\'
    0.040  m:28900 > c  tcp '\\ip\\203.0.113.1:7778'*50 '\\ip\\203.0.113.2:7778\\final\\' fin
    0.041  c > m:28900  tcp fin
";

/// Bytes of a segment, so few that a short list needs several.
const SEGMENT: usize = 536;

/// A client's messages and a master's list, between the challenge and the close.
struct Session {
    client: &'static str,
    challenge: &'static str,
    proof: &'static str,
    request: &'static str,
    list: Vec<u8>,
}

fn list() -> Vec<u8> {
    let mut capture = Capture::new(Link::Ethernet);
    let text = Session {
        client: "10.0.0.1:50000",
        challenge: r"\basic\\secure\XDWAOR",
        proof: r"\gamename\ut\location\0\validate\3JOdDFU5\final\",
        request: r"\list\\gamename\ut\final\",
        list: text_list(90),
    };
    text.record(&mut capture, 0);
    let blocks = Session {
        client: "10.0.1.1:50000",
        challenge: r"\basic\\secure\HRZJLG",
        proof: r"\gamename\ut\location\0\validate\K8bTorkx\final\",
        request: r"\list\cmp\gamename\ut\final\",
        list: block_list(12),
    };
    blocks.record(&mut capture, 2000);
    capture.pcap()
}

/// "The masterserver then sends a complete list of server addresses".
fn text_list(count: u8) -> Vec<u8> {
    let servers = (1..=count).map(|host| format!(r"\ip\203.0.113.{host}:7778"));
    (servers.collect::<String>() + r"\final\").into_bytes()
}

/// The form that is not in the specification: 4 bytes of address and 2 of port for each server.
fn block_list(count: u8) -> Vec<u8> {
    let servers =
        (1..=count).fold(Bytes::new(), |servers, host| servers.raw(&[192, 0, 2, host]).be16(7778));
    servers.raw(br"\final\").done()
}

impl Session {
    /// The connection, which starts after this number of milliseconds.
    fn record(&self, capture: &mut Capture, from: u64) {
        let address = |text: &str| text.parse().expect("an address");
        let ends = (address(self.client), address("10.0.0.9:28900"));
        let mut connection = Connection::new(ends.0, ends.1, [0x1000, u32::MAX - 600]);
        let mut push = |after: u64, segment: &Segment| {
            let (source, destination) = (segment.source.ip(), segment.destination.ip());
            let ip = Ip { id: capture.packets.len() as u32, ..Ip::new(source, destination) };
            capture.push(START.after_ms(from + after), &ip.packet(protocol::TCP, &segment.bytes()));
        };
        let (client, master) = (End::Opener, End::Listener);

        for segment in connection.handshake() {
            push(0, &segment);
        }
        for segment in connection.send(master, self.challenge.as_bytes(), SEGMENT) {
            push(20, &segment);
        }
        // The client's segments end where its buffer was full, not at the ends of messages.
        for segment in connection.send(client, self.proof.as_bytes(), 24) {
            push(40, &segment);
        }
        push(41, &connection.acknowledge(master));
        for segment in connection.send(client, self.request.as_bytes(), SEGMENT) {
            push(42, &segment);
        }
        let mut segments = connection.send(master, &self.list, SEGMENT);
        if segments.len() > 3 {
            // The second one is lost after the capture and retransmitted; the last two overtake it.
            let again = segments[1].clone();
            segments.insert(3, again);
            segments.swap(2, 4);
        }
        for (number, segment) in (0..).zip(&segments) {
            push(60 + number, segment);
        }
        push(80, &connection.finish(master));
        push(81, &connection.acknowledge(client));
        push(82, &connection.finish(client));
        push(83, &connection.acknowledge(master));
    }
}

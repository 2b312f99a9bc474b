//! Turns steps into packets.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use dissectors::script::{Options, Say, Step, What};

use crate::exchange::address::{self, socket};
use crate::exchange::{ScriptError, Setting, Transport};
use crate::wire::{
    Capture, Checksum, Connection, Datagram, End, Ip, START, Segment, Tag, Time, TimedPacket, icmp,
    protocol,
};

/// Maximum payload of a segment and of a datagram.
const SEGMENT: usize = 1460;
const DATAGRAM: usize = 65_507;

pub(super) fn play(steps: &[Step], setting: &Setting) -> Result<Capture, ScriptError> {
    let mut player = Player {
        setting,
        capture: Capture::new(setting.link),
        connections: HashMap::new(),
        opened: 0,
        last_ids: HashMap::new(),
        sent: HashMap::new(),
    };
    for step in steps {
        let time = START.after(step.at);
        let played = match &step.what {
            What::End => player.stranger(time),
            What::Say(say) => player.say(time, say),
        };
        played.map_err(|message| ScriptError { line: step.line, column: 1, message })?;
    }
    Ok(player.capture)
}

struct Player<'a> {
    setting: &'a Setting,
    capture: Capture,
    /// The open connections, by opener and listener.
    connections: HashMap<[SocketAddr; 2], Open>,
    /// The number of all connections so far, from which sequence numbers are derived.
    opened: u32,
    /// The last IP identification of each host.
    last_ids: HashMap<IpAddr, u32>,
    /// The latest datagram of each endpoint, in its IP packet.
    sent: HashMap<SocketAddr, Vec<u8>>,
}

struct Open {
    connection: Connection,
    finished: [bool; 2],
}

impl Player<'_> {
    fn say(&mut self, time: Time, say: &Say) -> Result<(), String> {
        let transport = say.options.transport.unwrap_or(self.setting.transport);
        let from = socket(say.from, self.setting, transport);
        let to = socket(say.to, self.setting, transport);
        if from == to {
            return Err(format!("{from} sends to itself"));
        }
        if !say.options.vlans.is_empty() && !self.setting.link.has_tags() {
            return Err(format!("{:?} has no VLAN tags", self.setting.link));
        }
        match transport {
            Transport::Udp => self.say_udp(time, from, to, say),
            Transport::Tcp => {
                let opens =
                    if say.from.opens_towards(say.to) { End::Opener } else { End::Listener };
                self.say_tcp(time, from, to, opens, say)
            }
        }
    }

    fn say_udp(
        &mut self,
        time: Time,
        source: SocketAddr,
        destination: SocketAddr,
        say: &Say,
    ) -> Result<(), String> {
        let options = &say.options;
        if options.fin || options.rst || options.nosyn || options.tcp_checksum.is_some() {
            return Err("fin, rst, nosyn and tcpsum are for TCP: `tcp` is missing".to_owned());
        }
        if options.refused {
            return Err("only a TCP connection is refused: `tcp` is missing".to_owned());
        }
        if say.payload.len() > DATAGRAM {
            return Err(format!("{} bytes do not fit a datagram", say.payload.len()));
        }
        if let Some(error) = options.icmp {
            let quoted = match self.sent.get(&destination) {
                _ if icmp::is_echo(error, source.ip()) => &[][..],
                Some(quoted) => quoted,
                None => return Err(format!("{destination} has sent no datagram yet")),
            };
            let mtu = options.mtu.unwrap_or(0);
            let error = icmp::error(error, mtu, [source.ip(), destination.ip()], quoted);
            let protocol = icmp::protocol(source.ip());
            self.send(time, source.ip(), destination.ip(), protocol, &error, options);
            return Ok(());
        }
        let checksum = options.udp_checksum.unwrap_or_default();
        let datagram = Datagram { source, destination, payload: say.payload.clone(), checksum };
        let sent = self.send(
            time,
            source.ip(),
            destination.ip(),
            protocol::UDP,
            &datagram.bytes(),
            options,
        );
        self.sent.insert(source, sent);
        Ok(())
    }

    fn say_tcp(
        &mut self,
        time: Time,
        source: SocketAddr,
        destination: SocketAddr,
        end: End,
        say: &Say,
    ) -> Result<(), String> {
        let options = &say.options;
        if options.udp_checksum.is_some() {
            return Err("udpsum is for UDP".to_owned());
        }
        if options.refused {
            self.refuse(time, [destination, source], options);
            return Ok(());
        }
        // If both have the same role, the first sender has opened the connection.
        let end = match end {
            End::Opener if self.connections.contains_key(&[destination, source]) => End::Listener,
            end => end,
        };
        let key = match end {
            End::Opener => [source, destination],
            End::Listener => [destination, source],
        };
        let found = self.connections.remove(&key);
        let is_new = found.is_none();
        let mut open = match found {
            Some(_) if options.nosyn => {
                return Err("nosyn on a connection that is open already".to_owned());
            }
            Some(open) => open,
            None => self.open(time, key, options),
        };
        if open.finished[end as usize] && (options.fin || !say.payload.is_empty()) {
            return Err(format!("{source} has closed its direction"));
        }

        let mut segments = open.connection.send(end, &say.payload, SEGMENT);
        let opens_only = is_new && !options.nosyn && !options.fin && !options.rst;
        if options.fin {
            segments.push(open.connection.finish(end));
        }
        if options.rst {
            segments.push(open.connection.reset(end));
        }
        if segments.is_empty() && !opens_only {
            segments.push(open.connection.acknowledge(end));
        }
        for segment in &mut segments {
            segment.checksum = options.tcp_checksum.unwrap_or_default();
            self.send_segment(time, segment, options);
        }
        if options.fin {
            let acknowledgement = open.connection.acknowledge(end.other());
            self.send_segment(time, &acknowledgement, &of_the_way(options));
            open.finished[end as usize] = true;
        }
        if !options.rst && open.finished != [true; 2] {
            self.connections.insert(key, open);
        }
        Ok(())
    }

    /// The first end opens a connection, and the other one refuses it.
    fn refuse(&mut self, time: Time, [opener, listener]: [SocketAddr; 2], options: &Options) {
        self.opened += 1;
        let base = self.opened.wrapping_mul(1_000_000);
        let mut connection = Connection::new(opener, listener, [base, 0]);
        let [syn, ..] = connection.handshake();
        let refusal = Segment { sequence: 0, ..connection.reset(End::Listener) };
        let sent = self.send_segment(time, &syn, &of_the_way(options));
        let (from, to) = (listener.ip(), opener.ip());
        match options.icmp {
            Some(error) => {
                let error = icmp::error(error, options.mtu.unwrap_or(0), [from, to], &sent);
                self.send(time, from, to, icmp::protocol(from), &error, options);
            }
            None => _ = self.send_segment(time, &refusal, options),
        }
    }

    fn open(&mut self, time: Time, ends: [SocketAddr; 2], options: &Options) -> Open {
        self.opened += 1;
        let base = self.opened.wrapping_mul(1_000_000);
        let mut connection = Connection::new(ends[0], ends[1], [base, base + 500_000]);
        if options.nosyn {
            connection.skip_handshake();
        } else {
            for segment in connection.handshake() {
                self.send_segment(time, &segment, &of_the_way(options));
            }
        }
        Open { connection, finished: [false; 2] }
    }

    /// Returns its first packet.
    fn send_segment(&mut self, time: Time, segment: &Segment, options: &Options) -> Vec<u8> {
        let (from, to) = (segment.source.ip(), segment.destination.ip());
        self.send(time, from, to, protocol::TCP, &segment.bytes(), options)
    }

    /// Sends a UDP datagram or TCP segment in IP packets, and records them. Returns the first packet.
    fn send(
        &mut self,
        time: Time,
        source: IpAddr,
        destination: IpAddr,
        protocol: u8,
        payload: &[u8],
        options: &Options,
    ) -> Vec<u8> {
        let id = self.last_ids.entry(source).or_default();
        *id += 1;
        let ip = Ip {
            id: *id,
            ttl: options.ttl.unwrap_or(64),
            dont_fragment: options.dont_fragment,
            checksum: options.ip_checksum,
            ..Ip::new(source, destination)
        };
        let packets = match options.fragment {
            Some(size) => ip.fragments(protocol, size, payload),
            None => vec![ip.packet(protocol, payload)],
        };
        let first = packets.first().cloned().unwrap_or_default();
        if options.lost {
            return first;
        }
        let (tags, times) = (tags(options), if options.twice { 2 } else { 1 });
        let recorded = |nth: &usize| options.lacks != Some(nth + 1);
        let packets = packets.into_iter().enumerate().filter(|(nth, _)| recorded(nth));
        for (_, packet) in packets {
            let packet = TimedPacket::new(time, self.setting.link.frame(&tags, &packet));
            let packet = packet.snapped(options.snap.unwrap_or(usize::MAX));
            self.capture.packets.extend(std::iter::repeat_n(packet, times));
        }
        first
    }

    /// A datagram of other hosts.
    fn stranger(&mut self, time: Time) -> Result<(), String> {
        let host = |last| address::address(Ipv4Addr::new(192, 0, 2, last), self.setting.ipv6);
        let (source, destination) = (SocketAddr::new(host(1), 9), SocketAddr::new(host(2), 9));
        let payload = b"end".to_vec();
        let datagram = Datagram { source, destination, payload, checksum: Checksum::Right };
        self.capture.push(time, &datagram.packet());
        Ok(())
    }
}

/// The options that also apply to additional packets of a step, such as acknowledgements: those of the path,
/// not those of loss.
fn of_the_way(options: &Options) -> Options {
    Options { vlans: options.vlans.clone(), ttl: options.ttl, ..Options::default() }
}

fn tags(options: &Options) -> Vec<Tag> {
    match options.vlans[..] {
        [] => Vec::new(),
        [ref outer @ .., inner] => {
            let outer = outer.iter().copied().map(Tag::provider);
            outer.chain([Tag::vlan(inner)]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hex;
    use crate::exchange::capture;
    use crate::wire::{Link, flags};

    const RAW: Setting = Setting { link: Link::Raw, ..Setting::udp(27015) };

    fn packets(script: &str) -> Vec<TimedPacket> {
        capture(script, &RAW).unwrap().packets
    }

    fn refusal(script: &str) -> ScriptError {
        capture(script, &RAW).unwrap_err()
    }

    /// Port of the sender, flags, sequence and acknowledgement number after the connection's
    /// first, and payload of each segment.
    fn segments(script: &str) -> Vec<(u16, u8, u32, u32, Vec<u8>)> {
        let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap()) % 500_000;
        let segment = |packet: &TimedPacket| {
            let bytes = &packet.bytes[20..];
            let head = usize::from(bytes[12] >> 4) * 4;
            let port = u16::from_be_bytes([bytes[0], bytes[1]]);
            let numbers = (number(&bytes[4..8]), number(&bytes[8..12]));
            (port, bytes[13], numbers.0, numbers.1, bytes[head..].to_vec())
        };
        packets(script).iter().map(segment).collect()
    }

    #[test]
    fn a_datagram_by_hand() {
        let made = capture("0.25 c > s FFFFFFFF 69", &Setting::udp(27015)).unwrap();
        assert_eq!(made.packets[0].time, START.after_ms(250));
        // As the datagram by hand of the UDP writer, but for the identification 1.
        let expected = [
            "02000A000002",
            "02000A000001",
            "0800", // Ethernet
            "45000021",
            "00010000",
            "401166C9",
            "0A000001",
            "0A000002", // IP
            "C3506987",
            "000D55F9",
            "FFFFFFFF69", // UDP
        ];
        assert_eq!(hex(&made.packets[0].bytes), expected.concat());
    }

    #[test]
    fn a_connection_by_hand() {
        const ACK: u8 = flags::ACK;
        let said = segments(
            "0 m > c tcp 'hello'
             1 c > m tcp 'ab' fin
             2 m > c tcp lost 'xyz'
             3 m > c tcp 'end' fin",
        );
        let expected = [
            (50000, flags::SYN, 0, 0, ""),
            (27015, flags::SYN | ACK, 0, 1, ""),
            (50000, ACK, 1, 1, ""),
            (27015, flags::PSH | ACK, 1, 1, "hello"),
            (50000, flags::PSH | ACK, 1, 6, "ab"),
            (50000, flags::FIN | ACK, 3, 6, ""),
            (27015, ACK, 6, 4, ""),
            (27015, flags::PSH | ACK, 9, 4, "end"),
            (27015, flags::FIN | ACK, 12, 4, ""),
            (50000, ACK, 4, 13, ""),
        ];
        let expected = expected.map(|(port, flags, sequence, acknowledgement, payload)| {
            (port, flags, sequence, acknowledgement, payload.as_bytes().to_vec())
        });
        assert_eq!(said, expected);
    }

    #[test]
    fn long_payloads_are_segmented() {
        let said = segments("0 c > s tcp nosyn 'x'*3000");
        let lengths: Vec<_> = said.iter().map(|segment| segment.4.len()).collect();
        assert_eq!(lengths, [1460, 1460, 80]);
    }

    #[test]
    fn a_step_without_bytes_opens_or_acknowledges() {
        assert_eq!(segments("0 c > s tcp").len(), 3);
        assert_eq!(segments("0 c > s tcp\n1 c > s tcp").len(), 4);
        assert_eq!(segments("0 c > s tcp nosyn").len(), 1);
    }

    #[test]
    fn a_closed_connection_is_reopened() {
        let count = |script| segments(script).iter().filter(|it| it.1 == flags::SYN).count();
        assert_eq!(count("0 c > s tcp 'a'\n1 s > c tcp rst\n2 c > s tcp 'b'"), 2);
        assert_eq!(count("0 c > s tcp fin\n1 s > c tcp fin\n2 c > s tcp 'b'"), 2);
        assert_eq!(count("0 c > s tcp fin\n1 s > c tcp 'b'"), 1);
        assert_eq!(count("0 c > s tcp 'a'\n1 c2 > s tcp 'a'"), 2);
    }

    #[test]
    fn parties_of_one_role_share_the_connection_of_the_first_sender() {
        assert_eq!(segments("0 d > c tcp 'a'\n1 c > d tcp 'b'").len(), 3 + 2);
    }

    #[test]
    fn options_of_the_path_and_of_loss() {
        assert_eq!(packets("0 c > s lost 00"), []);
        let fragments = packets("0 c > s frag=16 '.'*40");
        assert_eq!(fragments.len(), 3);
        assert_eq!(
            packets("0 c > s frag=16 lacks=2 '.'*40"),
            [&fragments[..1], &fragments[2..]].concat()
        );
        let snapped = &packets("0 c > s snap=30 '.'*40")[0];
        assert_eq!((snapped.bytes.len(), snapped.length), (30, 68));
        assert_eq!(packets("0 c > s ttl=3 00")[0].bytes[8], 3);
        assert_eq!(packets("0 c > s df 00")[0].bytes[6], 0x40);
        assert_eq!(packets("0 c > s udpsum=none 00")[0].bytes[26..28], [0, 0]);
        let (good, bad) = (packets("0 c > s 00"), packets("0 c > s ipsum=bad udpsum=bad 00"));
        for sum in [10..12, 26..28] {
            assert_ne!(good[0].bytes[sum.clone()], bad[0].bytes[sum]);
        }
        let tagged = capture("0 c > s vlan=5 vlan=7 00", &Setting::udp(1)).unwrap();
        assert_eq!(hex(&tagged.packets[0].bytes[12..20]), "88A8000581000007");
    }

    #[test]
    fn a_duplicate_is_the_same_packet() {
        let made = packets("0 c > s twice 00\n1 c > s 00");
        assert_eq!((made.len(), &made[0]), (3, &made[1]));
        assert_ne!(made[0].bytes, made[2].bytes);
    }

    #[test]
    fn an_icmp_error_quotes_the_latest_datagram_of_its_receiver() {
        let made = packets("0 c > s 01\n1 c > s 02\n2 m > c icmp=3.3");
        assert_eq!((made[2].bytes[9], &made[2].bytes[20..22]), (1, &[3, 3][..]));
        assert_eq!(made[2].bytes[28..], made[1].bytes);
        assert_eq!(crate::wire::internet_checksum(&[&made[2].bytes[20..]]), 0);
        let too_big = &packets("0 c > s df 01\n1 m > c icmp=3.4 mtu=1400")[1];
        assert_eq!(too_big.bytes[24..28], [0, 0, 5, 120]);
        assert_eq!(crate::wire::internet_checksum(&[&too_big.bytes[20..]]), 0);
        assert!(refusal("0 m > c icmp=3.3").message.contains("no datagram"));
        assert!(refusal("0 m > c icmp=3").message.contains("a type and a code"));
    }

    #[test]
    fn the_end_is_a_datagram_of_other_hosts() {
        let made = packets("0 c > s 00\nend 5");
        assert_eq!(made[1].time, START.after_ms(5000));
        assert_eq!(made[1].bytes[12..20], [192, 0, 2, 1, 192, 0, 2, 2]);
    }

    #[test]
    fn ipv6_hosts() {
        let setting = Setting { ipv6: true, ..RAW };
        let made = capture("0 c > s frag=8 '.'*8\nend 1", &setting).unwrap();
        assert_eq!(made.packets.len(), 3);
        assert_eq!(hex(&made.packets[0].bytes[8..24]), "FD00000000000000000000000A000001");
    }

    #[test]
    fn impossible_steps_are_rejected() {
        for (script, message) in [
            ("\n0 c > c 00", "sends to itself"),
            ("\n0 c > s 00 fin", "`tcp` is missing"),
            ("\n0 c > s tcp udpsum=bad 00", "is for UDP"),
            ("\n0 c > s vlan=1 00", "no VLAN tags"),
            ("\n0 c > s 'x'*65508", "do not fit"),
            ("0 c > s tcp 'a'\n1 c > s tcp nosyn 'a'", "open already"),
            ("0 c > s tcp fin\n1 c > s tcp 'a'", "has closed"),
            ("0 c > s tcp fin\n1 c > s tcp fin", "has closed"),
        ] {
            let error = refusal(script);
            assert_eq!(error.line, 2, "{script}: {error}");
            assert!(error.message.contains(message), "{script}: {error}");
        }
    }
}

//! `gamewire scrub` loses what is planted: random texts and addresses, in every field, header,
//! option, block, padding and trailer that the readers know, in the forms that programs write them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::support::canary::{Canary, Planted};
use crate::support::{gamewire, samples};
use captures::exchange::{Setting, capture};
use captures::wire::{
    ByteOrder, Checksum, Datagram, End, Interface, Ip, Link, PcapNg, Prng, TimedPacket, layers,
    transport_checksum,
};
use gamewire::capture::{self, Event as Recorded};
use gamewire::session::FieldLimits;
use gamewire::{Decoder, Event, Needs, Options};

const QUERY: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

/// The ends of made-up flows.
const CLIENT: &str = "192.0.2.1:50000";
const SERVER: &str = "198.51.100.7:27015";

/// A file for a test, which is removed with it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let name = format!("gamewire-canaries-{}-{name}", std::process::id());
        Scratch(std::env::temp_dir().join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Scrubs a capture. Returns the copy, and its messages as JSON.
fn scrub(bytes: &[u8], name: &str, options: &[&str]) -> Vec<u8> {
    let (from, to) = (Scratch::new(&format!("{name}.in")), Scratch::new(&format!("{name}.out")));
    std::fs::write(&from.0, bytes).unwrap();
    let args = ["scrub", "--no-config", "--key", "canary", from.path(), "-o", to.path()];
    let run = gamewire(args.iter().chain(options));
    assert!(run.code == 0, "{name}: {}", run.err);
    let mut all = std::fs::read(&to.0).unwrap();
    let dissect = ["dissect", "--no-config", "--full", "--format", "json", "--tree", to.path()];
    all.extend(gamewire(dissect).out.into_bytes());
    all
}

/// Asserts that what was planted is in the capture, and not in its copy.
fn loses(bytes: &[u8], planted: &[Planted], name: &str, options: &[&str]) {
    for canary in planted {
        assert!(canary.is_in(bytes), "{name}: {canary:?} is not in the capture");
    }
    let copy = scrub(bytes, name, options);
    for canary in planted {
        assert_eq!(canary.found(&copy), None, "{name}: {canary:?}");
    }
}

/// A little-endian pcap file of whole packets, a second after each other.
fn pcap(link: u16, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = [&0xA1B2_C3D4_u32.to_le_bytes()[..], &[2, 0, 4, 0], &[0; 8]].concat();
    file.extend([0xFF, 0xFF, 0, 0]);
    file.extend(u32::from(link).to_le_bytes());
    for (second, packet) in (1_767_225_600_u32..).zip(packets) {
        let length = packet.len() as u32;
        [second, 0, length, length].iter().for_each(|it| file.extend(it.to_le_bytes()));
        file.extend(packet);
    }
    file
}

/// Each packet with four bytes of an address at one of the places.
fn with_addresses(
    packet: &[u8],
    places: impl IntoIterator<Item = usize>,
    numbers: &mut Prng,
) -> (Vec<Vec<u8>>, Vec<Planted>) {
    let (mut packets, mut planted) = (Vec::new(), Vec::new());
    for at in places.into_iter().filter(|at| at + 4 <= packet.len()) {
        let canary = Canary::new(numbers).as_bytes();
        let mut packet = packet.to_vec();
        packet[at..at + 4].copy_from_slice(&canary.form);
        packets.push(packet);
        planted.push(canary);
    }
    (packets, planted)
}

/// Every byte below the innermost IP header of every link type, tag and tunnel.
#[test]
fn nothing_below_ip_is_left() {
    let (mut numbers, mut count) = (Prng::new(47), 0);
    for layered in layers(QUERY) {
        let inner = layered.packet.len() - QUERY.len() - 8;
        let inner = if layered.packet.ends_with(&v6(QUERY)) { inner - 40 } else { inner - 20 };
        let (packets, planted) = with_addresses(&layered.packet, 0..inner.max(4) - 3, &mut numbers);
        let mut all = vec![layered.packet.clone()];
        all.extend(packets);
        // Behind the IP packet: padding, and a checksum of the frame.
        let after = Canary::new(&mut numbers).as_bytes();
        all.push([&layered.packet[..], &after.form].concat());
        count += planted.len();
        let name = format!("layer-{}", layered.link);
        let planted = Vec::from_iter(planted.into_iter().chain([after]));
        loses(&pcap(layered.link, &all), &planted, &name, &[]);
    }
    assert!(count > 1000, "{count}");
}

fn v4(payload: &[u8]) -> Vec<u8> {
    Datagram::new(CLIENT, SERVER, payload).packet()
}

fn v6(payload: &[u8]) -> Vec<u8> {
    Datagram::new("[2001:db8::1]:50000", "[2001:db8::7]:27015", payload).packet()
}

/// Layers that hold whole fragments are still told apart, by other numbers.
#[test]
fn identifiers_of_networks_of_fragments_are_not_left() {
    let mut numbers = Prng::new(48);
    let ip = Ip { id: 7, ..Ip::new("192.0.2.1".parse().unwrap(), "198.51.100.7".parse().unwrap()) };
    let parts = ip.fragments(17, 16, &Datagram::new(CLIENT, SERVER, QUERY).bytes());
    let (mut packets, mut planted) = (vec![v4(QUERY)], Vec::new());
    for part in parts {
        let key = Canary::new(&mut numbers).as_bytes();
        let gre = [&[0x20, 0, 8, 0], &key.form[..], &part].concat();
        let outer = Ip::new("203.0.113.1".parse().unwrap(), "203.0.113.2".parse().unwrap());
        packets.push(outer.packet(47, &gre));
        planted.push(key);
    }
    loses(&pcap(101, &packets), &planted, "networks", &[]);
}

/// The fields of IP, UDP and ICMP that no reader needs, also in fragments and damaged packets.
#[test]
fn nothing_in_headers_is_left() {
    let mut numbers = Prng::new(49);
    let (client, server) = ("192.0.2.1".parse().unwrap(), "198.51.100.7".parse().unwrap());
    let datagram = Datagram::new(CLIENT, SERVER, QUERY).bytes();
    let mut all = Planting::new(&mut numbers);
    // Addresses, identification, options, bytes after the datagram.
    for at in [4, 12, 16] {
        all.overwrite(&v4(QUERY), at);
    }
    for kind in [7, 68, 82, 131, 136, 137, 148, 30, 222] {
        let canary = all.address();
        let options = [&[kind, 8, 4, 0][..], &canary].concat();
        all.push(Ip { options, ..Ip::new(client, server) }.packet(17, &datagram));
    }
    let canary = all.text();
    all.push(Ip::new(client, server).packet(17, &[&datagram[..], &canary].concat()));
    // IPv6: the flow label, addresses, extension headers, authentication.
    for at in [0, 8, 12, 16, 20, 24, 28, 32, 36] {
        all.overwrite(&v6(QUERY), at);
    }
    let [from, to] = ["2001:db8::1", "2001:db8::7"].map(|it| it.parse().unwrap());
    let inner = Datagram::new("[2001:db8::1]:50000", "[2001:db8::7]:27015", QUERY).bytes();
    for kind in [0, 60, 43] {
        let canary = all.text();
        let content = [&[0, 0, 0, 0, 0, 0][..], &canary].concat();
        let ip = Ip { extensions: vec![(kind, content)], ..Ip::new(from, to) };
        all.push(ip.packet(17, &inner));
    }
    let canary = all.address();
    let authentication = [&[17, 4, 0, 0][..], &canary, &[0; 16]].concat();
    all.push(Ip::new(client, server).packet(51, &[&authentication[..], &datagram].concat()));
    // Fragments of the client: identifications, contents.
    for (ip, id) in [(Ip::new(client, server), false), (Ip::new(from, to), true)] {
        let (canary, number) = (all.text(), all.address());
        let number = u32::from_be_bytes(number.try_into().unwrap());
        let ip = Ip { id: if id { number } else { 9 }, ..ip };
        if !id {
            all.planted.pop();
        }
        // The text is in one of them.
        for part in ip.fragments(17, 16, &[&datagram[..], &[b'.'; 15], &canary].concat()) {
            all.push(part);
        }
    }
    // ICMP errors: unused bytes, and what is quoted but for the ports.
    let quoted = v4(QUERY);
    for at in [4, 20, 24, 32, 36, 40, 44, 48] {
        let mut error = captures::wire::icmp::error([3, 3], 0, [server, client], &quoted);
        error.extend([0x20, 0, 0, 0, 0, 8, 1, 1, 9, 9, 9, 9]);
        let canary = all.address();
        error[at..at + 4].copy_from_slice(&canary);
        all.push(Ip::new(server, client).packet(1, &error));
    }
    let canary = all.address();
    let mut error = captures::wire::icmp::error([2, 0], 0, [to, from], &v6(QUERY));
    error[4..8].copy_from_slice(&canary);
    all.push(Ip::new(to, from).packet(58, &error));
    // Headers that cannot be parsed.
    for length in 9..28 {
        let canary = all.address();
        let mut packet = v4(QUERY)[..length].to_vec();
        packet.splice(4..8, canary);
        all.push(packet);
    }
    let (packets, planted) = (all.packets, all.planted);
    let first = [v4(QUERY), v6(QUERY)];
    let packets = Vec::from_iter(first.into_iter().chain(packets));
    loses(&pcap(101, &packets), &planted, "headers", &[]);
    loses(&pcap(101, &packets), &planted, "headers-foreign", &["--keep-foreign"]);
}

/// Packets with something planted.
struct Planting<'n> {
    numbers: &'n mut Prng,
    packets: Vec<Vec<u8>>,
    planted: Vec<Planted>,
}

impl Planting<'_> {
    fn new(numbers: &mut Prng) -> Planting<'_> {
        Planting { numbers, packets: Vec::new(), planted: Vec::new() }
    }

    /// Four bytes to be planted.
    fn address(&mut self) -> Vec<u8> {
        self.planted.push(Canary::new(self.numbers).as_bytes());
        self.planted.last().unwrap().form.clone()
    }

    /// A text to be planted.
    fn text(&mut self) -> Vec<u8> {
        self.planted.push(Canary::new(self.numbers).in_form(0));
        self.planted.last().unwrap().form.clone()
    }

    fn push(&mut self, packet: Vec<u8>) {
        self.packets.push(packet);
    }

    /// A packet with an address at this place.
    fn overwrite(&mut self, packet: &[u8], at: usize) {
        let mut packet = packet.to_vec();
        packet[at..at + 4].copy_from_slice(&self.address());
        self.push(packet);
    }
}

/// Options and numbers of TCP, in the connection of a message.
#[test]
fn nothing_in_segments_is_left() {
    let mut numbers = Prng::new(50);
    let ends = ["192.0.2.1:50000", "198.51.100.7:80"].map(|end| end.parse().unwrap());
    let mut connection = captures::wire::Connection::new(ends[0], ends[1], [1000, 2000]);
    let mut packets = Vec::from_iter(connection.handshake().iter().map(|it| it.packet()));
    let request = b"GET /c?build_defs=4 HTTP/1.1\r\nHost: m\r\n\r\n";
    packets.extend(connection.send(End::Opener, request, 1000).iter().map(|it| it.packet()));
    let mut all = Planting::new(&mut numbers);
    let plain = packets[0].clone();
    // An unused acknowledgment number and, with the checksum, the urgent pointer.
    for at in [24, 28, 36] {
        all.overwrite(&plain, at);
    }
    for (kind, length) in [
        (254, 8),
        (253, 8),
        (28, 8),
        (8, 10),
        (34, 10),
        (30, 12),
        (19, 18),
        (3, 9),
        (2, 8),
        (77, 6),
    ] {
        let canary = all.address();
        let mut option = vec![kind, length];
        option.extend(canary.iter().cycle().take(usize::from(length) - 2));
        all.push(with_options(&plain, &option));
    }
    // After the end, and in options that reach beyond the header.
    for before in [&[0, 0, 0, 0][..], &[1, 1, 8, 40], &[5, 0, 0, 0]] {
        let canary = all.address();
        all.push(with_options(&plain, &[before, &canary].concat()));
    }
    let (mut file, planted) = (packets, all.planted);
    file.extend(all.packets);
    loses(&pcap(101, &file), &planted, "segments", &[]);
}

/// A packet of TCP with these options.
fn with_options(packet: &[u8], options: &[u8]) -> Vec<u8> {
    let mut options = options.to_vec();
    options.resize(options.len().next_multiple_of(4), 0);
    let mut segment = packet[20..40].to_vec();
    segment[12] = (5 + options.len() as u8 / 4) << 4;
    segment[16..18].fill(0);
    segment.extend(&options);
    segment.extend(&packet[40..]);
    let ends = ["192.0.2.1", "198.51.100.7"].map(|end| end.parse().unwrap());
    let sum = transport_checksum(ends[0], ends[1], 6, &segment);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    Ip::new(ends[0], ends[1]).packet(6, &segment)
}

/// Options of every block of pcapng, and blocks without packets.
#[test]
fn nothing_in_blocks_is_left() {
    let mut numbers = Prng::new(51);
    let mut planted: Vec<Planted> = Vec::new();
    let mut plant = |form: usize| {
        planted.push(Canary::new(&mut numbers).in_form(form));
        planted.last().unwrap().form.clone()
    };
    let option = |code: u16, value: &[u8]| {
        let padding = value.len().next_multiple_of(4) - value.len();
        [&code.to_le_bytes()[..], &(value.len() as u16).to_le_bytes(), value, &[0; 3][..padding]]
            .concat()
    };
    // Times and resolutions mean something.
    let codes =
        |but: &'static [u16]| (1..=20).chain([2988, 2989, 19_372]).filter(|it| !but.contains(it));
    let mut options = |but: &'static [u16]| {
        let all =
            Vec::from_iter(codes(but).map(|code| option(code, &plant(usize::from(code) % 8))));
        [&all.concat()[..], &[0; 4]].concat()
    };
    let mut file = PcapNg::new(ByteOrder::Little);
    let number = file.interface(Interface::new(Link::Raw));
    file.enhanced(number, &TimedPacket::new(captures::wire::START, v4(QUERY)));
    let section = [&0x1A2B_3C4D_u32.to_le_bytes()[..], &[1, 0, 0, 0], &[0xFF; 8]].concat();
    file.block(0x0A0D_0D0A, &[section, options(&[])].concat());
    file.block(1, &[&[101, 0, 0, 0, 0, 0, 0, 0][..], &options(&[9, 14])].concat());
    let packet = v4(QUERY);
    let length = (packet.len() as u32).to_le_bytes();
    let padded = [&packet[..], &[0; 3][..packet.len().next_multiple_of(4) - packet.len()]].concat();
    let head = [&[0; 12][..], &length, &length, &padded].concat();
    file.block(6, &[head.clone(), options(&[])].concat());
    file.block(2, &[head, options(&[])].concat());
    file.block(5, &[&[0; 12][..], &options(&[2, 3])].concat());
    for kind in [4, 9, 10, 0x0BAD, 0x4000_0BAD, 0x201, 0x8000_0001, 0xDEAD] {
        let body = [options(&[]), options(&[])].concat();
        file.block(kind, &body);
    }
    loses(&file.done(), &planted, "blocks", &[]);
}

/// The fields of a capture's messages with at least four bytes: packet, place and length.
fn leaves(file: &Path) -> Vec<(u64, usize, usize)> {
    let mut leaves = Vec::new();
    let fields = Some(FieldLimits::default());
    let options =
        Options { needs: Needs { fields, ..Needs::messages_with_fields() }, ..Options::default() };
    let mut packets = capture::open(file).unwrap();
    Decoder::new(options).read(&mut *packets, |event| {
        let Event::Message(message) = event else { return };
        let payload = message.payload();
        if payload.inflated {
            return;
        }
        for node in message.tree().unwrap().nodes.iter().filter(|node| node.descendants == 0) {
            let (start, end) = (node.span.start, node.span.end);
            for piece in payload.pieces {
                let (from, to) = (start.max(piece.at), end.min(piece.at + piece.length));
                if from + 4 <= to {
                    let place = (piece.offset + from - piece.at) as usize;
                    leaves.push((piece.frame, place, (to - from) as usize));
                }
            }
        }
    });
    leaves
}

/// Where each packet's bytes are in the file.
fn places(file: &Path) -> Vec<(usize, usize)> {
    let (mut places, mut packets) = (Vec::new(), capture::open(file).unwrap());
    while let Some(event) = packets.next() {
        if let Recorded::Packet(packet) = event {
            places.push((packet.offset as usize, packet.data.len()));
        }
    }
    places
}

/// Every kind of field of every protocol, as samples have them: something in place of a part of it.
#[test]
fn nothing_in_fields_of_samples_is_left() {
    const ROUNDS: u64 = 4;
    let mut count = 0;
    for sample in samples() {
        // Many packets are alike.
        if sample.to_string_lossy().contains("abuse-") {
            continue;
        }
        let (leaves, places) = (leaves(&sample), places(&sample));
        for round in 0..ROUNDS {
            let mut numbers = Prng::new(52 + round);
            let (mut bytes, mut planted) = (std::fs::read(&sample).unwrap(), Vec::new());
            let mut taken = BTreeSet::new();
            for &(frame, place, length) in &leaves {
                if numbers.below(3) > 0 || !taken.insert(frame) {
                    continue;
                }
                let canary = Canary::new(&mut numbers).fitting(length, &mut numbers);
                let room = length - canary.form.len();
                let (start, _) = places[frame as usize - 1];
                let at = start + place + numbers.below(room as u64 + 1) as usize;
                bytes[at..at + canary.form.len()].copy_from_slice(&canary.form);
                planted.push(canary);
            }
            count += planted.len();
            let name = sample.file_name().unwrap().to_string_lossy().into_owned();
            loses(&bytes, &planted, &format!("{round}-{name}"), &[]);
        }
    }
    assert!(count > 1500, "{count}");
}

/// The words in the texts of a script, and runs of bytes of a number, with their places.
fn words(script: &str) -> Vec<(std::ops::Range<usize>, bool)> {
    let mut found = Vec::new();
    let (mut is_text, mut start) = (false, None);
    for (at, c) in script.char_indices().chain([(script.len(), ' ')]) {
        let is_part = if is_text { c.is_ascii_alphanumeric() } else { c.is_ascii_hexdigit() };
        match (start, is_part) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                let length = at - from;
                let is_line_start =
                    script[..from].rfind('\n').map_or(from, |it| from - it - 1) < 18;
                let is_bytes =
                    length == 8 && !is_line_start && !script[..from].ends_with([':', '.']);
                if is_text && length > 2 || !is_text && is_bytes {
                    found.push((from..at, is_text));
                }
                start = None;
            }
            _ => {}
        }
        if c == '\'' {
            (is_text, start) = (!is_text, None);
        }
    }
    found
}

/// Every message of the rules' examples: something in place of a word.
#[test]
fn nothing_in_examples_of_rules_is_left() {
    const EACH: usize = 3;
    let (mut numbers, mut count) = (Prng::new(53), 0);
    for rule in dissectors::catalogue::rules() {
        for script in [rule.right, rule.wrong] {
            let words = words(script);
            for _ in 0..EACH.min(words.len()) {
                let (place, is_text) = numbers.pick(&words).clone();
                let canary = Canary::new(&mut numbers);
                let (canary, text) = if is_text {
                    let canary = canary.in_form(numbers.below(Canary::FORMS as u64) as usize);
                    let text = String::from_utf8(canary.form.clone());
                    match text {
                        Ok(text) if !text.contains(['\'', '\\']) => (canary, text),
                        _ => continue,
                    }
                } else {
                    let canary = canary.as_bytes();
                    let text = captures::bytes::hex(&canary.form);
                    (canary, text)
                };
                let script = [&script[..place.start], &text, &script[place.end..]].concat();
                let setting = Setting::of_rule(&rule.code.to_string());
                let Ok(capture) = capture(&script, &setting) else { continue };
                let bytes = capture.pcap();
                // A part of it may be in another segment.
                if canary.is_in(&bytes) {
                    count += 1;
                    loses(&bytes, &[canary], &rule.code.to_string(), &[]);
                }
            }
        }
    }
    assert!(count > 500, "{count}");
}

/// What no protocol claims has headers only, if it is written at all.
#[test]
fn nothing_of_other_traffic_is_left() {
    let mut numbers = Prng::new(54);
    let mut all = Planting::new(&mut numbers);
    for port in [53, 123, 5060, 27015, 40_000] {
        for form in 0..Canary::FORMS {
            let canary = Canary::new(all.numbers).in_form(form);
            let payload = [b"\x12\x34 hello ", &canary.form[..], b" 4711\r\n"].concat();
            all.planted.push(canary);
            let datagram = Datagram {
                checksum: Checksum::Right,
                ..Datagram::new(CLIENT, &format!("203.0.113.5:{port}"), &payload)
            };
            all.push(datagram.packet());
        }
    }
    let (packets, planted) = (all.packets, all.planted);
    for options in [&[][..], &["--keep-foreign"]] {
        loses(&pcap(101, &packets), &planted, "foreign", options);
    }
}

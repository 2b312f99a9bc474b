//! Samples of attacks and misuse.

use crate::exchange::Setting;
use crate::samples::{Sample, play};
use crate::wire::{Capture, Datagram, Ip, Link, START, Time, protocol};

pub(super) const SAMPLES: &[Sample] = &[
    Sample {
        name: "abuse-answers-from-another-host.pcap",
        shows: "a fault: a server responds from another address than the one that was asked, and the \
                client continues with that challenge; responses about players and rules also come \
                from there (only A2S065)",
        make: || play(ANOTHER_HOST, &Setting::udp(27015), &[]).pcap(),
    },
    Sample {
        name: "abuse-reflector.pcap",
        shows: "a fault: a server sends info without a challenge, 40 times in four seconds to one \
                source, which may be forged (SEC005)",
        make: reflector,
    },
    Sample {
        name: "abuse-victim.pcap",
        shows: "a fault: 30 servers send info to a victim that did not request it, because an attacker \
                forged its address (SEC005)",
        make: victim,
    },
    Sample {
        name: "abuse-players.pcap",
        shows: "no attack: 150 players reconnect within a second after a restart, and return their \
                challenges",
        make: players,
    },
    Sample {
        name: "abuse-query-flood.pcap",
        shows: "a fault: 6,000 requests in four seconds from 3,600 sources, most of which send only \
                one packet; two of ten are answered with a challenge (SEC006); also 20 players",
        make: flood,
    },
];

const ANOTHER_HOST: &str = r"
    0.00 c > s  FFFFFFFF 55 FFFFFFFF
    0.02 t > c  FFFFFFFF 41 4BA1D522
    0.03 c > s  FFFFFFFF 55 4BA1D522
    0.05 t > c  FFFFFFFF 44 01 00 'Ann' 00 03000000 f32:61.5
    0.10 c > s  FFFFFFFF 56 4BA1D522
    0.12 t > c  FFFFFFFF 45 0100 'motd' 00 'hello' 00
    9.00 d > s  FFFFFFFF 69
    9.02 s > d  FFFFFFFF 6A '00000000000000' 00
";

const SERVER: &str = "23.17.34.51:27015";
const INFO: &[u8] = b"\xFF\xFF\xFF\xFFTSource Engine Query\0";

fn after(milliseconds: u64) -> Time {
    Time(START.0 + milliseconds * 1_000_000)
}

fn reflector() -> Vec<u8> {
    let victim = "198.51.100.7:80";
    let response = b"\xFF\xFF\xFF\xFFI\x11A server that anybody may use against others\0de_dust2\0\
        csgo\0Counter-Strike: Global Offensive\0\xDA\x02\x05\x20\0dl\0\x011.38.7.9\0";
    let mut capture = Capture::new(Link::Ethernet);
    for n in 0..40 {
        push(&mut capture, n * 100, &Datagram::new(victim, SERVER, INFO));
        push(&mut capture, n * 100 + 1, &Datagram::new(SERVER, victim, response));
    }
    capture.pcap()
}

fn victim() -> Vec<u8> {
    let mut capture = Capture::new(Link::Ethernet);
    for n in 0..120_u64 {
        let server = format!("23.17.{}.51:27015", n % 30);
        let response = b"\xFF\xFF\xFF\xFFI\x11One of many\0de_dust2\0csgo\0Counter-Strike: Global \
            Offensive\0\xDA\x02\x05\x20\0dl\0\x011.38.7.9\0";
        push(&mut capture, n * 30, &Datagram::new(&server, "198.51.100.7:80", response));
    }
    capture.pcap()
}

/// A player requests info, returns the challenge, and receives the info.
fn player(capture: &mut Capture, n: u32, now: u64) {
    let response = b"\xFF\xFF\xFF\xFFI\x11Back again\0de_dust2\0csgo\0Counter-Strike: Global \
        Offensive\0\xDA\x02\x05\x20\0dl\0\x011.38.7.9\0";
    let [a, b, c, _] = n.wrapping_mul(0x9E37_79B1).to_be_bytes();
    let player = format!("{}.{b}.{c}.7:{}", 11 + a % 80, 50_000 + n);
    let challenge = [&b"\xFF\xFF\xFF\xFFA"[..], &n.to_le_bytes()].concat();
    let asked = [INFO, &n.to_le_bytes()].concat();
    let hop_limit = 48 + (n % 12) as u8;
    push_from(capture, now, hop_limit, &Datagram::new(&player, SERVER, INFO));
    push(capture, now + 1, &Datagram::new(SERVER, &player, &challenge));
    push_from(capture, now + 2, hop_limit, &Datagram::new(&player, SERVER, &asked));
    push(capture, now + 3, &Datagram::new(SERVER, &player, response));
}

fn players() -> Vec<u8> {
    let mut capture = Capture::new(Link::Ethernet);
    (0..150).for_each(|n| player(&mut capture, n, u64::from(n) * 4));
    capture.pcap()
}

/// Appends a datagram with its own identification, so that it is not a copy of another one.
fn push(capture: &mut Capture, milliseconds: u64, datagram: &Datagram) {
    push_from(capture, milliseconds, 64, datagram);
}

/// The same, with a time to live.
fn push_from(capture: &mut Capture, milliseconds: u64, ttl: u8, datagram: &Datagram) {
    let id = capture.packets.len() as u32 + 1;
    let ip = Ip { id, ttl, ..Ip::new(datagram.source.ip(), datagram.destination.ip()) };
    capture.push(after(milliseconds), &ip.packet(protocol::UDP, &datagram.bytes()));
}

fn flood() -> Vec<u8> {
    let mut capture = Capture::new(Link::Ethernet);
    for n in 0..6000_u32 {
        // Two of five are from recurring sources.
        let number = if n % 5 < 3 { n } else { n % 5 + 100_000 * (n % 13) };
        let [a, b, ..] = number.wrapping_mul(0x9E37_79B1).to_be_bytes();
        let source = format!("100.{}.{a}.{b}:{}", 64 + number % 64, 1024 + number % 60_000);
        let now = u64::from(n) * 2 / 3;
        push_from(&mut capture, now, 244, &Datagram::new(&source, SERVER, INFO));
        if n % 10 < 2 {
            let challenge = [&b"\xFF\xFF\xFF\xFFA"[..], &number.to_le_bytes()].concat();
            push(&mut capture, now, &Datagram::new(SERVER, &source, &challenge));
        }
        if n % 300 == 299 {
            player(&mut capture, n / 300, now);
        }
    }
    capture.in_time().pcap()
}

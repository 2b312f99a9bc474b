//! Prints the number of players that each server reports: `cargo run --example players CAPTURE`.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::collections::BTreeMap;
use std::net::SocketAddr;

use gamewire::{Decoder, Event, Needs, Options, capture};

fn players(file: &str) -> Result<BTreeMap<SocketAddr, u64>, capture::CaptureError> {
    let mut packets = capture::open(file.as_ref())?;
    let needs = Needs::messages_with_fields();
    let mut players = BTreeMap::new();
    Decoder::new(Options { needs, ..Options::default() }).read(&mut *packets, |event| {
        let Event::Message(message) = event else { return };
        if let ("a2s.info_response", Some(count)) = (&*message.path(), message.field("players")) {
            players.insert(message.ends()[0], count.as_u64().unwrap_or(0));
        }
    });
    Ok(players)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a capture")?;
    players(&file)?.iter().for_each(|(server, count)| println!("{server}: {count} players"));
    Ok(())
}

#[test]
fn a_server_of_a_sample_has_three_players() {
    let players = players("samples/a2s-info-players-rules.pcap").unwrap();
    assert_eq!(players, BTreeMap::from([("10.0.0.2:27015".parse().unwrap(), 3)]));
}

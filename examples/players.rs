//! Counts the players that servers say they have: `cargo run --example players CAPTURE`.
#![allow(clippy::print_stdout, reason = "it is a program")]

use std::collections::BTreeMap;

use gamewire::{Decoder, Event, Needs, Options, capture};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args_os().nth(1).ok_or("which capture?")?;
    let mut packets = capture::open(file.as_ref())?;
    let needs = Needs::messages_with_fields();
    let decoder = Decoder::new(Options { needs, ..Options::default() });
    let mut players = BTreeMap::new();
    decoder.read(&mut *packets, |event| {
        let Event::Message(message) = event else { return };
        if let ("a2s.info_response", Some(count)) = (&*message.path(), message.field("players")) {
            players.insert(message.ends()[0], count.as_u64().unwrap_or(0));
        }
    });
    players.iter().for_each(|(server, count)| println!("{server}: {count} players"));
    Ok(())
}

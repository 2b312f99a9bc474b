//! A test of a server that checks a capture of its own traffic: `cargo test --example conforms`.
#![allow(clippy::print_stdout, reason = "it is a program")]

use gamewire::check::{Outcome, Selection, check};
use gamewire::{Options, capture};

fn checked(file: &str) -> Result<Outcome, capture::CaptureError> {
    let mut packets = capture::open(file.as_ref())?;
    Ok(check(&mut *packets, Options::default(), Selection::default(), true))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("name a capture")?;
    for found in checked(&file)?.findings {
        println!("{} {}: {}", found.place(), found.rule.code, found.detail);
    }
    Ok(())
}

#[test]
fn the_server_conforms_to_the_specification() {
    let outcome = checked("samples/a2s-info-players-rules.pcap").unwrap();
    assert!(
        outcome.messages > 0 && !outcome.is_broken(gamewire::Severity::Error),
        "{:?}",
        outcome.findings
    );
}

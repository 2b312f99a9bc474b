//! Filters of `gamewire abuse` in words: what they drop, and what that costs.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::abuse::{FirewallFilter, Match, RateLimit};
use crate::text::{counted, grouped, percent};

/// What follows a filter on a terminal: how to get its text.
pub(super) const EMITTED: &str = "  (--emit nft)";

/// The text about what a filter drops.
fn dropped(filter: &FirewallFilter) -> String {
    let matches = filter.matches.iter().map(|it| match it {
        Match::HopLimit(limits) => ranged("hop limit", limits),
        Match::Length(lengths) if lengths.start() == lengths.end() => {
            counted(u64::from(*lengths.start()), "byte")
        }
        Match::Length(lengths) => format!("{} to {} bytes", lengths.start(), lengths.end()),
        Match::MissingChallenge(length) => format!("{length} bytes and no challenge"),
        Match::SourcePort(ports) => ranged("source port", ports),
        Match::Identification(it) => format!("IP identification {it}"),
        Match::Bogons => "addresses that no host of the Internet has".to_owned(),
        Match::Bytes { at, bytes } => {
            let bytes: String = bytes.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("bytes {bytes} at {at}")
        }
        Match::Sources(sources) => match sources[..] {
            [source] => format!("the real address {source}"),
            _ => format!("one of {} real addresses", sources.len()),
        },
    });
    let matches = matches.collect::<Vec<_>>().join(" and ");
    let those = if matches.is_empty() { String::new() } else { format!(" with {matches}") };
    match filter.limit {
        None if matches.is_empty() => "drop them all".to_owned(),
        None => format!("drop those{those}"),
        Some(RateLimit::OfSource(rate)) => format!("at most {rate}/s of a source{those}"),
        Some(RateLimit::OfNetwork(rate, bits)) => {
            format!("at most {rate}/s of a network /{bits}{those}")
        }
        Some(RateLimit::OfAll(rate)) => format!("at most {rate}/s of all sources together{those}"),
    }
}

/// A value, or a range of values.
fn ranged<T: PartialEq + Display>(what: &str, range: &RangeInclusive<T>) -> String {
    let (from, to) = (range.start(), range.end());
    if from == to { format!("{what} {from}") } else { format!("{what} {from} to {to}") }
}

/// What to do where no property of the packets separates an attack from players.
pub(super) fn nothing_separates(price: Option<&FirewallFilter>, has_players: bool) -> String {
    let price = price.map_or(String::new(), |limit| {
        let cost = match limit.collateral.map(percent) {
            Some(share) => format!("{share} of the players' packets"),
            None => "players' packets as well, as many as exceed it".to_owned(),
        };
        format!("; a limit ({}) would drop {cost}", dropped(limit))
    });
    let why = match has_players {
        true => "nothing in these packets separates them from the players'",
        false => "no packet of a player is in the capture to compare these with",
    };
    format!(
        "none: {why}; what would separate them: challenges that the server enforces, a cache in front of it, or a \
         filter of the provider's{price}"
    )
}

/// The best filter, and its effect.
pub(super) fn filtered(filter: &FirewallFilter) -> String {
    let cost = match filter.collateral.map(percent) {
        None if filter.any_port => "it asked for none to measure by".to_owned(),
        None => "no players to measure by".to_owned(),
        Some(share) if filter.any_port => format!("{share} of the responses that it asked for"),
        Some(share) => format!("{share} of the players' packets"),
    };
    let remains = match filter.remains {
        remains if remains >= 0.5 => format!(", {} /s remain", grouped(remains.round() as u64)),
        _ => String::new(),
    }
    .replace(" /s", "/s");
    let drops = percent(filter.drops);
    format!("{}: drops {drops} of the attack, {cost}{remains}{EMITTED}", dropped(filter))
}

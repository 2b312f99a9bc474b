//! `gamewire abuse`: attacks, for a terminal or a script.

use serde::Serialize;

use super::clock::Clock;
use super::firewall::{self, Firewall};
use super::flows::string;
use super::json::line;
use super::paint::{Paint, Tone};
use super::put;
use crate::abuse::{Attack, Filter, Forged, Rule, Seat};
use crate::text::{counted, escaped, grouped, percent};

/// Attacks to be written.
pub struct Report<'r> {
    /// The attacks.
    pub attacks: &'r [Attack],
    /// The capture's name, where there are several.
    pub capture: Option<&'r str>,
    /// Digits of a second that the capture has.
    pub digits: u8,
    /// There were more targets than are kept.
    pub is_cut: bool,
}

impl Report<'_> {
    /// For a terminal.
    pub fn text(&self, paint: Paint, out: &mut Vec<u8>) {
        if let Some(capture) = self.capture {
            put(out, format_args!("==> {} <==\n", escaped(capture)));
        }
        if self.attacks.is_empty() {
            put(out, format_args!("no attack\n"));
        }
        for (at, attack) in self.attacks.iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            one(attack, paint, out);
        }
        if self.is_cut {
            let note = "there are more targets than fit into memory; see --memory";
            paint.paint(Tone::Faint, out, |out| put(out, format_args!("{note}\n")));
        }
    }

    /// The best filter against each attack, for a firewall.
    pub fn rules(&self, firewall: Firewall, out: &mut Vec<u8>) {
        for (attack, number) in self.attacks.iter().zip(1..) {
            put(out, format_args!("# {}\n", headline(attack)));
            match attack.filters.first() {
                Some(filter) => {
                    let rules = firewall::rules(filter, firewall, &format!("gamewire{number}"));
                    out.extend_from_slice(rules.as_bytes());
                }
                None => {
                    put(out, format_args!("# Nothing in its packets tells them from others.\n"))
                }
            }
        }
    }

    /// For a script.
    pub fn json(&self, out: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct Capture<'r> {
            #[serde(skip_serializing_if = "Option::is_none")]
            capture: Option<&'r str>,
            attacks: Vec<JsonAttack<'r>>,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            cut: bool,
        }
        let attacks = self.attacks.iter().map(|it| JsonAttack::of(it, self.digits)).collect();
        let capture = Capture { capture: self.capture, attacks, cut: self.is_cut };
        // Writing numbers and texts to a vector cannot fail.
        let _ = line(&capture, out);
    }
}

#[derive(Serialize)]
struct JsonAttack<'r> {
    seat: &'static str,
    targets: [String; 1],
    protocol: Option<&'static str>,
    begin: String,
    end: String,
    packets: u64,
    bytes: u64,
    rate: Rate,
    kinds: Vec<Counted<&'r str>>,
    sources: Sources<'r>,
    forged: &'static str,
    evidence: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    amplification: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    legitimate: Option<Legitimate>,
    filters: Vec<JsonFilter>,
}

#[derive(Serialize)]
struct Rate {
    mean: f64,
    peak: f64,
}

#[derive(Serialize)]
struct Counted<T> {
    name: T,
    packets: u64,
}

#[derive(Serialize)]
struct Sources<'r> {
    count: u64,
    error: f64,
    single_packet_share: f64,
    top: Vec<Counted<String>>,
    prefixes: Vec<Counted<&'r str>>,
}

#[derive(Serialize)]
struct Legitimate {
    clients: u64,
    packets: u64,
}

#[derive(Serialize)]
struct JsonFilter {
    kind: &'static str,
    text: String,
    drops: f64,
    collateral: Option<f64>,
}

impl JsonFilter {
    fn of(filter: &Filter) -> JsonFilter {
        JsonFilter {
            kind: filter.rule.name(),
            text: firewall::rules(filter, Firewall::Nft, "gamewire"),
            drops: rounded(filter.drops),
            collateral: filter.collateral.map(|share| (share * 1e6).round() / 1e6),
        }
    }
}

/// With three digits: more would promise what it does not keep.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

impl JsonAttack<'_> {
    fn of(attack: &Attack, digits: u8) -> JsonAttack<'_> {
        let [begin, end] =
            attack.span.map(|time| string(|out| Clock::default().rfc3339(time, digits, out)));
        let [mean, peak] = attack.rate.map(rounded);
        let sources = &attack.sources;
        let kind =
            |(name, packets): &(&'static str, u64)| Counted { name: *name, packets: *packets };
        JsonAttack {
            seat: attack.seat.name(),
            targets: [attack.target.to_string()],
            protocol: attack.protocol.map(|id| id.info().id),
            begin,
            end,
            packets: attack.packets,
            bytes: attack.bytes,
            rate: Rate { mean, peak },
            kinds: attack.kinds.iter().map(kind).collect(),
            sources: Sources {
                count: sources.count,
                error: rounded(sources.error),
                single_packet_share: rounded(sources.single_packet_share),
                top: sources
                    .top
                    .iter()
                    .map(|(source, packets)| Counted {
                        name: source.to_string(),
                        packets: *packets,
                    })
                    .collect(),
                prefixes: sources
                    .prefixes
                    .iter()
                    .map(|(prefix, packets)| Counted { name: prefix.as_str(), packets: *packets })
                    .collect(),
            },
            forged: attack.forged.name(),
            evidence: &attack.evidence,
            amplification: attack.amplification.map(rounded),
            legitimate: attack
                .legitimate
                .map(|it| Legitimate { clients: it.clients, packets: it.packets }),
            filters: attack.filters.iter().map(JsonFilter::of).collect(),
        }
    }
}

/// One attack.
fn one(attack: &Attack, paint: Paint, out: &mut Vec<u8>) {
    use dissectors::kit::{Severity, Verdict};
    let tone = Tone::Finding(Severity::Error, Verdict::Fail);
    paint.paint(tone, out, |out| put(out, format_args!("{}\n", headline(attack))));
    let mut say = |what: &str, text: String| put(out, format_args!("  {what:<10} {text}\n"));
    let [mean, peak] = attack.rate.map(|rate| grouped(rate.round() as u64));
    say("rate", format!("peak {peak}/s, mean {mean}/s  {}", attack.sparkline));
    say("packets", amount(attack));
    let kinds = attack.kinds.iter().map(|(name, count)| format!("{name} {}", grouped(*count)));
    say("kinds", kinds.collect::<Vec<_>>().join(", "));
    say("sources", sources(attack));
    let forged = match attack.forged {
        Forged::Yes => "very likely: ",
        Forged::No if attack.seat == Seat::Victim => "",
        Forged::No => "no: ",
        Forged::Unknown => "cannot be told: ",
    };
    say("forged", format!("{forged}{}", attack.evidence.join("; ")));
    if let Some(real) = attack.legitimate {
        let clients = match real.clients {
            0 => "no client returned a challenge".to_owned(),
            clients => format!(
                "{} returned a challenge: {}",
                counted(clients, "client"),
                counted(real.packets, "packet")
            ),
        };
        say("players", clients);
    }
    if let Some(filter) = attack.filters.first() {
        say("filter", filtered(filter));
    }
}

/// The best filter, and what it would have done.
fn filtered(filter: &Filter) -> String {
    let what = match filter.rule {
        Rule::Payload => "drop them all".to_owned(),
        Rule::HopLimit(limit) => format!("drop those with hop limit {limit}"),
        Rule::RateOfSource(rate) => format!("at most {rate}/s of a source"),
        Rule::RateOfAll(rate) => format!("at most {rate}/s of all sources together"),
    };
    let cost = filter.collateral.map_or("no players to measure by".to_owned(), |share| {
        format!("{} of the players' packets", percent(share))
    });
    format!("{what}: drops {} of the attack, {cost}  (--emit nft)", percent(filter.drops))
}

fn headline(attack: &Attack) -> String {
    let [begin, end] = attack.span.map(|time| {
        let mut clock = Clock::default();
        string(|out| clock.seconds_of_day(time, out))
    });
    let kind = attack.kinds.first().map_or("messages", |(name, _)| name);
    let target = attack.target;
    let what = match attack.seat {
        Seat::FloodedServer => format!("{target} is flooded with {kind}s"),
        Seat::Reflector => {
            format!("{target} is made to flood others: it answers {kind}s without a challenge")
        }
        Seat::Victim => format!("{} gets responses that it never asked for: {kind}", target.ip()),
        Seat::CrashAttempt => format!("{target} is sent what crashes servers: {kind}"),
    };
    format!("{what}, {begin} - {end} UTC")
}

/// How much is sent in, and out.
fn amount(attack: &Attack) -> String {
    let bytes = format!("{} in, {} bytes", grouped(attack.packets), grouped(attack.bytes));
    match (attack.responses, attack.amplification) {
        ([packets, out], Some(factor)) => {
            format!("{bytes}; {} out, {} bytes (x {factor:.1})", grouped(packets), grouped(out))
        }
        _ => bytes,
    }
}

fn sources(attack: &Attack) -> String {
    let sources = &attack.sources;
    let error = match sources.error {
        error if error > 0.0 => format!(" (+-{:.1} %)", 100.0 * error),
        _ => String::new(),
    };
    let single = (1000.0 * sources.single_packet_share).floor() / 10.0;
    let mut text = format!("{}{error}, {single:.1} % sent one packet", grouped(sources.count));
    let top = sources.top.iter().filter(|(_, packets)| *packets > 1);
    let top: Vec<_> =
        top.take(3).map(|(source, packets)| format!("{source} {}", grouped(*packets))).collect();
    if !top.is_empty() {
        text += &format!("; most from {}", top.join(", "));
    }
    text
}

//! `gamewire abuse`: attacks, for a terminal or a script.

use std::net::{IpAddr, SocketAddr};

use dissectors::kit::Time;
use serde::Serialize;

use super::abuse_figures::{attack_on, figures, network, service};
use super::clock::rfc3339;
use super::firewall::{self, Firewall, RuleNames};
use super::json::line;
use super::paint::{TextStyle, Tone};
use super::{TimeFormatter, TimeStyle, put};
use crate::abuse::{Attack, AttackKind, FirewallFilter, Legitimate, Omitted, SeenTraffic};
use crate::text::{counted, escaped, grouped, hanging, percent};

/// Attacks to be written.
pub struct AbuseReport<'r> {
    /// The attacks.
    pub attacks: &'r [Attack],
    /// The capture's name, where there are several.
    pub capture: Option<&'r str>,
    /// Digits of a second that the capture has.
    pub digits: u8,
    /// How times are written for people, and the first one of the capture.
    pub times: (TimeStyle, Option<Time>),
    /// What was left out because of the memory limit.
    pub omitted: Omitted,
    /// Packets of the capture.
    pub packets: u64,
    /// Those of TCP, which are not looked at.
    pub tcp: u64,
    /// Datagrams of which fragments are missing, which are not looked at, either.
    pub unfinished: u64,
    /// Those that were looked at.
    pub seen: SeenTraffic,
}

impl AbuseReport<'_> {
    /// For people; on a terminal, lines are at most as long as it is wide.
    pub fn text(&self, style: TextStyle, out: &mut Vec<u8>) {
        let TextStyle { terminal, paint } = style;
        if let Some(capture) = self.capture {
            put(out, format_args!("==> {} <==\n", escaped(capture)));
        }
        if self.attacks.is_empty() {
            let none = hanging(&self.no_attack(), 0, terminal);
            put(out, format_args!("{none}\n"));
        }
        let mut stamp = self.stamp();
        for (at, attack) in self.attacks.iter().enumerate() {
            if at > 0 {
                out.push(b'\n');
            }
            self.one(attack, style, &mut stamp, out);
        }
        for note in self.omitted.notes() {
            let note = hanging(note, 0, terminal);
            paint.paint(Tone::Faint, out, |out| put(out, format_args!("{note}\n")));
        }
    }

    /// That there is no attack, and of how much this is said.
    fn no_attack(&self) -> String {
        let SeenTraffic { packets, innocent, one_way, is_heard, one_way_client, unknown, .. } =
            self.seen;
        let over = if self.tcp > 0 { " over UDP" } else { "" };
        let share = percent(packets as f64 / self.packets.max(1) as f64);
        let read = grouped(packets);
        let all = counted(self.packets, "packet");
        let highest = self.highest_rate();
        let innocent = innocent.map_or(String::new(), |why| format!(", {why}"));
        let one_way = one_way.map_or(String::new(), |server| match is_heard {
            true => format!(
                "; {server} sends nothing of the game, so that what it gets may be of players whose server hangs or has \
                 ended, or a flood"
            ),
            false => format!(
                "; nothing that {server} sends was recorded, so that what it gets may be of players or a flood: record \
                 both directions"
            ),
        });
        let client = one_way_client.map_or(String::new(), |address| {
            format!(
                "; no request was recorded, so that {address} may have asked for the responses that it gets, or be a \
                 victim: record both directions"
            )
        });
        let unknown = unknown.map_or(String::new(), |(host, packets, rate)| {
            format!(
                "; {} to ports of {host} that nothing shows to be a game server's, {}/s, may be a flood, and are not \
                 measured further",
                counted(packets, "packet"),
                grouped(rate.round() as u64)
            )
        });
        let tcp = match self.tcp {
            0 => String::new(),
            tcp => format!(
                "; {} of TCP are not measured, only read for registrations of servers",
                counted(tcp, "packet")
            ),
        };
        let unfinished = match self.unfinished {
            0 => String::new(),
            some => {
                let datagrams = counted(some, "IP datagram");
                format!(
                    "; the fragments of {datagrams} that never became whole are not measured, and may be a flood"
                )
            }
        };
        format!(
            "no attack: {read} of {all} ({share}) are of game servers or masters{over}{highest}{innocent}{one_way}{client}{unknown}{tcp}{unfinished}"
        )
    }

    /// How near to a flood the traffic came.
    fn highest_rate(&self) -> String {
        let SeenTraffic { highest, threshold, seconds, is_too_short, .. } = self.seen;
        let Some((target, rate)) = highest else { return String::new() };
        let seconds = (seconds * 1e3).round() / 1e3;
        let threshold = grouped(threshold as u64);
        let rate = match rate.round() {
            0.0 => format!("{rate:.1}"),
            rate => grouped(rate as u64),
        };
        if is_too_short {
            return format!(
                "; {rate}/s over {seconds} s toward {target} may be a flood, which begins at {threshold}/s: the \
                 capture is too short to tell"
            );
        }
        format!(
            "; the highest rate is {rate}/s over {seconds} s toward {target}, a flood begins at {threshold}/s"
        )
    }

    /// The first line about an attack: its kind, its target and its time.
    pub(in crate::report) fn headline(&self, attack: &Attack, stamp: &mut TimeFormatter) -> String {
        let (span, zone) = self.span(attack.span, stamp);
        format!("{}, {span}{zone}", attack_on(attack))
    }

    /// What is known about an attack: a name and a text each.
    pub(in crate::report) fn figures(
        &self,
        attack: &Attack,
        stamp: &mut TimeFormatter,
    ) -> Vec<(&'static str, String)> {
        figures(attack, |span| self.span(span, stamp).0)
    }

    pub(in crate::report) fn stamp(&self) -> TimeFormatter {
        let (style, first) = self.times;
        TimeFormatter::new(style).since(first)
    }

    /// Beginning and end, and the suffix of times.
    pub(in crate::report) fn span(
        &self,
        span: [Time; 2],
        stamp: &mut TimeFormatter,
    ) -> (String, String) {
        let [(begin, _), (end, zone)] = span.map(|time| stamp.second(time, self.digits));
        (format!("{begin} - {end}"), zone)
    }

    /// The best filter against each attack, for a firewall; at a victim those that are applied
    /// together.
    pub fn rules(&self, firewall: Firewall, names: &mut RuleNames, out: &mut Vec<u8>) {
        let mut stamp = self.stamp();
        for attack in self.attacks {
            let comment = firewall.comment();
            let headline = self.headline(attack, &mut stamp);
            put(out, format_args!("{comment} {headline}\n"));
            let within = if attack.applied > 1 { attack.applied } else { attack.filters.len() };
            let taken = attack.filters.iter().take(within).filter(|it| firewall.takes(it));
            let best: Vec<_> = taken.take(attack.applied).collect();
            if let Some(filter) = best.first() {
                let name = names.next(filter);
                out.extend_from_slice(firewall::rules(&best, firewall, &name, names).as_bytes());
            } else {
                let nothing = "No property that this firewall can match distinguishes its packets from others.";
                put(out, format_args!("{comment} {nothing}\n"));
            }
        }
    }

    /// For a script.
    pub fn json(&self, out: &mut Vec<u8>) {
        #[derive(Serialize)]
        struct CaptureJson<'r> {
            #[serde(skip_serializing_if = "Option::is_none")]
            capture: Option<&'r str>,
            attacks: Vec<JsonAttack<'r>>,
            seen: SeenJson,
            #[serde(skip_serializing_if = "std::ops::Not::not")]
            cut: bool,
        }
        let attacks = self.attacks.iter().map(|it| JsonAttack::of(it, self.digits)).collect();
        let seen = SeenJson {
            packets: self.packets,
            read: self.seen.packets,
            share_read: self.seen.packets as f64 / self.packets.max(1) as f64,
            highest: self.seen.highest.map(|(target, rate)| HighestRate { target, rate }),
            threshold: self.seen.threshold,
            too_short: self.seen.is_too_short,
            unknown: self.seen.unknown.map(|(host, packets, rate)| UnknownHost {
                host,
                packets,
                rate,
            }),
        };
        let capture =
            CaptureJson { capture: self.capture, attacks, seen, cut: !self.omitted.is_nothing() };
        // Writing numbers and texts to a vector cannot fail.
        let _ = line(&capture, out);
    }
}

/// Of how much something is said.
#[derive(Serialize)]
struct SeenJson {
    packets: u64,
    read: u64,
    share_read: f64,
    highest: Option<HighestRate>,
    threshold: f64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    too_short: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<UnknownHost>,
}

/// A host that gets many packets at ports of nothing that is known.
#[derive(Serialize)]
struct UnknownHost {
    host: IpAddr,
    packets: u64,
    rate: f64,
}

#[derive(Serialize)]
struct HighestRate {
    target: SocketAddr,
    rate: f64,
}

#[derive(Serialize)]
struct JsonAttack<'r> {
    seat: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    also: Option<&'static str>,
    targets: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<String>,
    protocol: Option<&'static str>,
    begin: String,
    end: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pulses: Vec<[String; 2]>,
    packets: u64,
    bytes: u64,
    responses: Responses,
    rate: RateJson,
    kinds: Vec<CountedKind>,
    costly: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    other_services: Vec<CountedSources<String>>,
    sources: SourcesJson<'r>,
    forged: &'static str,
    evidence: &'r [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    amplification: Option<f64>,
    answered: f64,
    legitimate: LegitimateJson,
    filters: Vec<JsonFilter>,
}

#[derive(Serialize)]
struct Responses {
    packets: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct RateJson {
    mean: f64,
    peak: f64,
    mean_bits: f64,
    peak_bits: f64,
    mean_bits_out: f64,
}

/// Packets of one kind. `name` is what `kind` was called before.
#[derive(Serialize)]
struct CountedKind {
    kind: &'static str,
    name: &'static str,
    packets: u64,
}

#[derive(Serialize)]
struct CountedSources<T> {
    name: T,
    packets: u64,
}

#[derive(Serialize)]
struct SourcesJson<'r> {
    count: u64,
    error: f64,
    single_packet_share: f64,
    new_share: f64,
    top: Vec<CountedSources<String>>,
    top_error: u64,
    prefixes: Vec<CountedSources<&'r str>>,
}

#[derive(Serialize)]
struct LegitimateJson {
    clients: u64,
    packets: u64,
    returned_challenge: u64,
    finished_split: u64,
    went_on: u64,
    plays: u64,
}

impl LegitimateJson {
    fn of(real: Legitimate) -> LegitimateJson {
        let [returned_challenge, finished_split, went_on, plays] = real.proofs;
        let Legitimate { clients, packets, .. } = real;
        LegitimateJson { clients, packets, returned_challenge, finished_split, went_on, plays }
    }
}

#[derive(Serialize)]
struct JsonFilter {
    kind: String,
    text: String,
    drops: f64,
    remains: f64,
    collateral: Option<f64>,
    host_collateral: Option<f64>,
}

impl JsonFilter {
    fn of(filter: &FirewallFilter) -> JsonFilter {
        let millionths = |share: f64| (share * 1e6).round() / 1e6;
        JsonFilter {
            kind: filter.name(),
            text: firewall::rules(
                &[filter],
                Firewall::Nft,
                &firewall::name(filter),
                &mut RuleNames::default(),
            ),
            drops: millionths(filter.drops),
            remains: rounded(filter.remains),
            collateral: filter.collateral.map(millionths),
            host_collateral: filter.host_collateral.map(millionths),
        }
    }
}

/// Rounded to three digits, the precision of the measurement.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

impl JsonAttack<'_> {
    fn of(attack: &Attack, digits: u8) -> JsonAttack<'_> {
        let written = |time| rfc3339(time, digits);
        let [begin, end] = attack.span.map(written);
        let several = attack.pulses.len() > 1;
        let pulses = attack.pulses.iter().filter(|_| several);
        let [mean, peak] = attack.rate.map(rounded);
        let [mean_bits, peak_bits, mean_bits_out] = attack.bits.map(f64::round);
        let sources = &attack.sources;
        let kind = |(kind, packets): &(&'static str, u64)| CountedKind {
            kind,
            name: kind,
            packets: *packets,
        };
        let named = |(name, packets): (String, u64)| CountedSources { name, packets };
        JsonAttack {
            seat: attack.kind.name(),
            also: attack.also.map(AttackKind::name),
            targets: attack.targets.iter().map(SocketAddr::to_string).collect(),
            network: network(attack),
            protocol: attack.protocol.map(|id| id.info().id),
            begin,
            end,
            pulses: pulses.map(|pulse| pulse.map(written)).collect(),
            packets: attack.packets,
            bytes: attack.bytes,
            responses: Responses { packets: attack.responses[0], bytes: attack.responses[1] },
            rate: RateJson { mean, peak, mean_bits, peak_bits, mean_bits_out },
            kinds: attack.kinds.iter().map(kind).collect(),
            costly: attack.costly,
            other_services: attack
                .other_services
                .iter()
                .map(|(port, packets)| named((service(*port), *packets)))
                .collect(),
            sources: SourcesJson {
                count: sources.count,
                error: rounded(sources.error),
                single_packet_share: rounded(sources.single_packet_share),
                new_share: rounded(sources.new_share),
                top: sources
                    .top
                    .iter()
                    .map(|(it, count)| named((it.to_string(), *count)))
                    .collect(),
                top_error: sources.top_error,
                prefixes: sources
                    .prefixes
                    .iter()
                    .map(|(prefix, packets)| CountedSources {
                        name: prefix.as_str(),
                        packets: *packets,
                    })
                    .collect(),
            },
            forged: attack.forged.name(),
            evidence: &attack.evidence,
            amplification: attack.amplification.map(rounded),
            answered: rounded(attack.answered),
            legitimate: LegitimateJson::of(attack.legitimate.unwrap_or_default()),
            filters: attack.filters.iter().map(JsonFilter::of).collect(),
        }
    }
}

impl AbuseReport<'_> {
    /// One attack.
    fn one(&self, attack: &Attack, style: TextStyle, stamp: &mut TimeFormatter, out: &mut Vec<u8>) {
        let TextStyle { terminal, paint } = style;
        use dissectors::kit::{Severity, Verdict};
        let tone = Tone::Finding(Severity::Error, Verdict::Fail);
        let headline = hanging(&self.headline(attack, stamp), 0, terminal);
        paint.paint(tone, out, |out| put(out, format_args!("{headline}\n")));
        for (what, text) in self.figures(attack, stamp) {
            let text = hanging(&text, 13, terminal);
            put(out, format_args!("  {what:<10} {text}\n"));
        }
    }
}

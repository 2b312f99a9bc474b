//! What is known about an attack, in words.

use dissectors::kit::Time;

use super::abuse_filters::{filtered, nothing_separates};
use crate::abuse::{Attack, AttackKind, Forged, Legitimate, plural};
use crate::text::{counted, grouped, percent};

/// Minimum number of sources for showing the share of new ones.
const MANY: u64 = 20;

/// A service by its port: `DNS (53)`.
pub(super) fn service(port: u16) -> String {
    let name = match port {
        17 => "QOTD",
        19 => "chargen",
        53 => "DNS",
        111 => "portmap",
        123 => "NTP",
        137 => "NetBIOS",
        161 => "SNMP",
        389 => "CLDAP",
        427 => "SLP",
        520 => "RIP",
        1900 => "SSDP",
        3283 => "ARD",
        3702 => "WS-Discovery",
        5353 => "mDNS",
        11211 => "memcached",
        _ => return format!("port {port}"),
    };
    format!("{name} ({port})")
}

/// The network that is attacked, if it is not one host.
pub(super) fn network(attack: &Attack) -> Option<String> {
    attack.network.map(|bits| format!("{}/{bits}", attack.target.ip()))
}

/// What is known about an attack: a name and a text each. `span`: a span of time as text.
pub(super) fn figures(
    attack: &Attack,
    mut span: impl FnMut([Time; 2]) -> String,
) -> Vec<(&'static str, String)> {
    let mut figures = traffic(attack, &mut span);
    let mut say = |what, text| figures.push((what, text));
    say("forged", forged(attack));
    if let Some(real) = &attack.legitimate {
        say("players", players(real));
    }
    match attack.applied {
        0 if attack.kind == AttackKind::CrashAttempt => {
            let remedy = "keep the server up to date: newer ones withstand such packets";
            say("remedy", remedy.to_owned());
        }
        // The servers that are misused are on the other side of the link.
        0 if attack.legitimate.is_none() && attack.kind == AttackKind::Transit => {}
        0 => {
            let has_players = attack.legitimate.is_some_and(|real| real.clients > 0);
            say("filter", nothing_separates(attack.price.as_ref(), has_players));
        }
        best => attack.filters.iter().take(best).for_each(|it| say("filter", filtered(it))),
    }
    figures
}

/// How much an attack is, of what, and from where.
fn traffic(
    attack: &Attack,
    span: &mut impl FnMut([Time; 2]) -> String,
) -> Vec<(&'static str, String)> {
    let mut figures = Vec::new();
    let mut say = |what, text| figures.push((what, text));
    if let Some(also) = attack.also {
        say("also", also_is(also).to_owned());
    }
    let [mean, peak] = attack.rate.map(|rate| grouped(rate.round() as u64));
    say("rate", format!("peak {peak}/s, mean {mean}/s; {}  {}", bits(attack), attack.sparkline));
    if attack.pulses.len() > 1 {
        let pulses = attack.pulses.iter().take(4).map(|it| span(*it));
        let more = if attack.pulses.len() > 4 { ", ..." } else { "" };
        let pulses = pulses.collect::<Vec<_>>().join(", ");
        say("pulses", format!("{}: {pulses}{more}", attack.pulses.len()));
    }
    say("packets", amount(attack));
    let kinds = attack.kinds.iter().map(|(name, count)| format!("{name} {}", grouped(*count)));
    let costly = match attack.costly {
        0 => String::new(),
        costly => format!(
            "; {} for players or rules, which cost the server most",
            counted(costly, "request")
        ),
    };
    say("kinds", kinds.collect::<Vec<_>>().join(", ") + &costly);
    if !attack.other_services.is_empty() {
        let named = attack.other_services.iter();
        let named = named.map(|(port, count)| format!("{} {}", service(*port), grouped(*count)));
        say("services", named.collect::<Vec<_>>().join(", "));
    }
    say("sources", sources(attack));
    if !attack.sources.prefixes.is_empty() {
        let prefixes = attack.sources.prefixes.iter().take(3);
        let prefixes = prefixes.map(|(name, count)| format!("{name} {}", grouped(*count)));
        say("networks", prefixes.collect::<Vec<_>>().join(", "));
    }
    figures
}

/// Whether its sources are forged, and what shows that.
fn forged(attack: &Attack) -> String {
    let forged = match attack.forged {
        Forged::Yes => "very likely: ",
        Forged::No if attack.kind == AttackKind::Victim => "",
        Forged::No => "no: ",
        Forged::Unknown => "unknown: ",
    };
    let evidence = match attack.evidence.join("; ") {
        none if none.is_empty() => "nothing shows it".to_owned(),
        evidence => evidence,
    };
    format!("{forged}{evidence}")
}

/// The clients among its sources that are real.
fn players(real: &Legitimate) -> String {
    let [.., plays] = real.proofs;
    let shown = match plays {
        0 => "returned a challenge or sent a further request",
        _ => "returned a challenge, sent a further request, or play",
    };
    match real.clients {
        0 if real.lacks_challenges => {
            "unknown: requests were not recorded whole, and their challenges may be cut off"
                .to_owned()
        }
        0 => "none is known: no client returned a challenge, or asked for something else after a response".to_owned(),
        clients => {
            format!("{} {shown}: {}", counted(clients, "client"), counted(real.packets, "packet"))
        }
    }
}

/// The text for the second kind.
fn also_is(kind: AttackKind) -> &'static str {
    match kind {
        AttackKind::FloodedServer => "the server is flooded: it gets more than it can answer",
        AttackKind::FloodedMaster => "the master is flooded: it gets more than it can answer",
        AttackKind::Reflector => {
            "the server is made to flood others: it answers without a challenge"
        }
        AttackKind::Victim => "an address gets responses that it never asked for",
        AttackKind::Transit => "the capture is from a link between",
        AttackKind::CrashAttempt => "the server is sent what crashes servers",
    }
}

/// The kind of an attack, and its target.
pub(super) fn attack_on(attack: &Attack) -> String {
    let kind = attack.kinds.first().map_or("messages", |(name, _)| name);
    let target = match network(attack) {
        None if attack.targets.len() > 1 => {
            format!("{}, on {} ports,", attack.target.ip(), attack.targets.len())
        }
        None => attack.target.to_string(),
        Some(network) => {
            let hosts = attack.targets.len();
            format!("{network}, {hosts} hosts on port {},", attack.target.port())
        }
    };
    let is = if attack.network.is_some() { "are" } else { "is" };
    match attack.kind {
        AttackKind::FloodedServer | AttackKind::FloodedMaster => {
            let what = match attack.other_services.is_empty() {
                true => plural(kind),
                false => "packets from ports of other services".to_owned(),
            };
            format!("{target} {is} flooded with {what}")
        }
        AttackKind::Reflector => {
            format!(
                "{target} {is} made to flood others: it answers {} without a challenge",
                plural(kind)
            )
        }
        AttackKind::Victim => {
            let (target, get) = match network(attack) {
                Some(network) => (format!("{network}, {} hosts,", attack.targets.len()), "get"),
                None => (attack.target.ip().to_string(), "gets"),
            };
            format!("{target} {get} responses that it never asked for: {kind}")
        }
        AttackKind::Transit => {
            format!("an attack on {target} with {} passes this link", plural(kind))
        }
        AttackKind::CrashAttempt => format!("{target} is sent what crashes servers: {kind}"),
    }
}

/// Bits of payload a second, in and out.
fn bits(attack: &Attack) -> String {
    if attack.bytes == 0 {
        return "no payload".to_owned();
    }
    let written = |bits: f64| match bits {
        bits if bits >= 1e6 => format!("{:.1} Mbit/s", bits / 1e6),
        bits => format!("{:.1} kbit/s", bits / 1e3),
    };
    let [mean, _, out] = attack.bits;
    match attack.amplification {
        Some(factor) => format!("{} in, {} out (x {factor:.1})", written(mean), written(out)),
        None => format!("{} in", written(mean)),
    }
}

/// The amount of traffic in both directions.
fn amount(attack: &Attack) -> String {
    let bytes = format!("{} in, {} bytes", grouped(attack.packets), grouped(attack.bytes));
    match attack.responses {
        [0, _] => bytes,
        [packets, out] => format!(
            "{bytes}; {} out, {} bytes: {} answered",
            grouped(packets),
            grouped(out),
            percent(attack.answered)
        ),
    }
}

/// Most sources whose number says more than that of all.
const FEW: usize = 3;

/// Where a few of the sources sent nine of ten packets: these, what they sent, and how many others there are.
fn few_of_many(attack: &Attack) -> Option<String> {
    let sources = &attack.sources;
    let sent = |few: usize| sources.top.iter().take(few).map(|(_, packets)| packets).sum::<u64>();
    let few = (1..=sources.top.len().min(FEW)).find(|few| 10 * sent(*few) >= 9 * attack.packets)?;
    let others = sources.count.checked_sub(few as u64).filter(|others| *others > 0)?;
    let share = percent(sent(few) as f64 / attack.packets as f64);
    let named = sources.top.iter().take(few);
    let named = named.map(|(source, packets)| format!("{source} {}", grouped(*packets)));
    let named = Vec::from_iter(named).join(", ");
    Some(format!("{few} sent {share}: {named}; {} the rest", counted(others, "other")))
}

fn sources(attack: &Attack) -> String {
    if let Some(few) = few_of_many(attack) {
        return few;
    }
    let sources = &attack.sources;
    let error = match sources.error {
        error if error > 0.0 => format!(" (+-{:.1} %)", 100.0 * error),
        _ => String::new(),
    };
    let tenths = |share: f64| (1000.0 * share).floor() / 10.0;
    let mut text = format!(
        "{}{error}, {:.1} % sent one packet",
        grouped(sources.count),
        tenths(sources.single_packet_share),
    );
    if sources.count >= MANY {
        text += &format!(", {:.1} % of each second's are new", tenths(sources.new_share));
    }
    let top = sources.top.iter().filter(|(_, packets)| *packets > 1);
    let top: Vec<_> =
        top.take(3).map(|(source, packets)| format!("{source} {}", grouped(*packets))).collect();
    if !top.is_empty() {
        text += &format!("; most from {}", top.join(", "));
    }
    text
}

//! Kinds of attacks.

use super::target::Target;

/// Maximum number of addresses for a reflection: responses are directed at these.
const FEW: usize = 16;

dissectors::named! {
    /// The kind of an attack, and the position of the capture.
    pub enum AttackKind {
        /// A server gets more requests than it can answer.
        FloodedServer = "flooded_server",
        /// A master gets more joins, heartbeats or requests for lists than it can answer.
        FloodedMaster = "flooded_master",
        /// A server is misused to flood others.
        Reflector = "reflector",
        /// An address gets responses that it never requested.
        Victim = "victim",
        /// A link between networks: both requests and responses have passed routers.
        Transit = "transit",
        /// A server gets packets that are known to crash it.
        CrashAttempt = "crash_attempt",
    }
}

/// The kind for a server that is flooded, misused against others, or both. A flood from many
/// sources is aimed at the server; if few addresses send nearly all requests, and most are answered,
/// the responses are aimed at these. If both requests and responses have passed routers, the capture
/// is from a link between. `is_master`: it is one, whatever it gets.
pub(super) fn kind_of(
    target: &Target,
    is_master: bool,
    [flooded, reflecting]: [bool; 2],
) -> (AttackKind, Option<AttackKind>) {
    let [answers, requests] =
        target.sources.sum(|_, source| [source.responses.into(), source.packets.into()]);
    let answers_most = answers.saturating_mul(2) >= requests;
    let reflecting = reflecting && (answers_most || !flooded);
    let drawn: u64 = target.sources.top(FEW).0.iter().map(|(_, packets)| packets).sum();
    let is_toward_few = drawn.saturating_mul(2) >= target.packets[0];
    let is_master = is_master || target.lists.saturating_mul(2) >= target.packets[0];
    let is_flooded = if is_master { AttackKind::FloodedMaster } else { AttackKind::FloodedServer };
    let (kind, also) = match (flooded, reflecting) {
        (true, true) if is_toward_few => (AttackKind::Reflector, Some(is_flooded)),
        (true, true) => (is_flooded, Some(AttackKind::Reflector)),
        (true, false) => (is_flooded, None),
        (false, _) => (AttackKind::Reflector, None),
    };
    match target.hops.map(|hops| hops.all_routed()) {
        [true, true] => (AttackKind::Transit, Some(kind)),
        _ => (kind, also),
    }
}

/// Packets by the ports of other services that they come from: at a server only if they are most of its flood, since
/// sources that choose their ports at random have some of these, too.
pub(super) fn of_services(kind: AttackKind, target: &Target) -> Vec<(u16, u64)> {
    let all: u64 = target.others.iter().map(|(_, count)| count).sum();
    match kind == AttackKind::Victim || all.saturating_mul(2) > target.packets[0] {
        true => target.others.clone(),
        false => Vec::new(),
    }
}

/// Several of a kind of message, within a sentence.
pub fn plural(kind: &str) -> String {
    let several = |kind: &str| match kind.strip_suffix("ry") {
        Some(stem) => format!("{stem}ries"),
        None => format!("{kind}s"),
    };
    // What follows says of what, and for what.
    let ends = [" of ", " for ", " to "].into_iter().filter_map(|word| kind.find(word));
    let (kind, what) = kind.split_at(ends.min().unwrap_or(kind.len()));
    in_a_sentence(&several(kind)) + what
}

/// A name of the specification within a sentence: `Joins` are joins, but `A2S_INFO requests` stay so.
fn in_a_sentence(name: &str) -> String {
    let mut letters = name.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            format!("{}{second}{}", first.to_lowercase(), letters.as_str())
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn several_of_a_kind_are_named() {
        for (one, several) in [
            ("A2S_INFO request", "A2S_INFO requests"),
            ("packet of other content", "packets of other content"),
            ("Query for a list of servers", "queries for a list of servers"),
            ("Answer to a query", "answers to a query"),
            ("Join", "joins"),
        ] {
            assert_eq!(plural(one), several);
        }
    }
}

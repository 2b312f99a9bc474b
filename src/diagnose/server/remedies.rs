//! What to do about unanswered requests, where what they have in common says more than the cause alone.

use dissectors::kit::causes;

use super::Server;
use crate::diagnose::exchanges::pattern::PatternFailure;
use crate::diagnose::facts::ENOUGH;

/// As many clients that ask once are no few players.
const CROWD: usize = 100;

const OF_CLIENTS: &str = "Only some clients are concerned: look for bans, blocked networks and limits for each address, in the \
                          server and in firewalls on the way.";
const OF_NETWORKS: &str = "Only clients in some networks are concerned: look whether the port is forwarded to the server, and for \
                           firewalls and settings that let only its own network, or some countries, in.";
const OF_KIND: &str = "Only these requests are concerned: look for what handles them apart from others, such as plugins, caches, \
                       and filters that know some kinds only.";
const OF_LENGTH: &str = "Only requests of this length are concerned: look for a filter that drops packets by their length or \
                         content, in front of the server.";
const OF_ALL: &str = "No server answers anybody in that time: look at the network of those who ask, and of the recorder, before \
                      the servers.";
const OF_CROWD: &str = "Nearly all of these clients send one packet and return no challenge, as forged addresses do: a limit \
                        for all together keeps players out, too. Drop such packets in front of the server.";

/// What to do about a server whose unanswered requests have this in common.
pub(in crate::diagnose) fn of_pattern(
    server: &Server,
    found: &PatternFailure,
) -> Option<&'static str> {
    let cause = found.failure.cause;
    if cause == &causes::answers::RATE_LIMITED {
        return never_go_on(server).then_some(OF_CROWD);
    }
    if found.is_of_all {
        return Some(OF_ALL);
    }
    let (by, _) = found.by.as_ref().filter(|_| cause == &causes::answers::SOMETIMES_UNANSWERED)?;
    match *by {
        "client" | "all_but" => Some(OF_CLIENTS),
        "network" => Some(OF_NETWORKS),
        "kind" => Some(OF_KIND),
        "length" | "shorter_than" => Some(OF_LENGTH),
        _ => None,
    }
}

/// Whether it is asked by very many clients, nearly all of which ask once, and leave its challenges.
fn never_go_on(server: &Server) -> bool {
    let are_left = server.left >= ENOUGH && 10 * server.left >= 9 * (server.left + server.returned);
    server.clients.len() >= CROWD && are_left && server.pattern.is_asked_once_by_each()
}

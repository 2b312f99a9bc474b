//! Requesting a list page by page.

use crate::kit::{Sink, Span};
use crate::rule;
use crate::valve_master::endpoint::{Endpoint, ZERO, shown};
use crate::valve_master::listing::{Change, QueryPosition};
use crate::valve_master::reply::ReplySummary;

rule! {
    /// On a new socket the master sends the first page for any query: the client takes it for a
    /// later one.
    pub VM020 "first-seed-zero" { severity: Error, who: Client, needs: Beginning,
        asks: "the first query on a socket asks from 0.0.0.0:0",
        cite: [("IP:Port", "The first IP:Port you should send is \"0.0.0.0:0\"")],
        right: listed!("31 FF '0.0.0.0:0' 00 00"),
        wrong: registered!("0.10 s:27015 > m  31 FF '10.0.1.2:27015' 00 00\n0.12 m > s:27015  FFFFFFFF 660A ip:10.0.2.2:27015 00*6") }
}
rule! {
    /// From another address the master continues elsewhere: servers are left out or repeated.
    pub VM021 "seed-follows-last" { severity: Error, who: Client, needs: Interval,
        asks: "each further query on the socket asks from the last address of the reply before it",
        cite: [("IP:Port", "From then on, IP:Port becomes the last IP:Port received in the master servers reply."),
               ("End of IP address list", "Subsequent packets must be requested by using the last received IP address and Port as the 'seed' in the next request.")],
        right: paged!("0.03 c > m  31 FF '10.0.1.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6"),
        wrong: paged!("0.03 c > m  31 FF '10.0.0.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6") }
}
rule! {
    /// The master treats a new socket as a new client, which gets the first page again: the list
    /// never ends.
    pub VM022 "same-socket" { severity: Error, who: Client, needs: Interval,
        asks: "a listing is continued from the socket it began on: a new port starts from 0.0.0.0:0",
        cite: [("IP:Port", "Do not close your socket between packets."),
               ("IP:Port", "Note that whenever you open a new socket (and thus get a new random client port), the Master Server will always send you the first batch of IPs even if you pass a valid game server IP.")],
        right: paged!("0.03 c > m  31 FF '10.0.1.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6"),
        wrong: paged!("0.03 c1 > m  31 FF '10.0.1.2:27015' 00 00\n0.05 m > c1  FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27015") }
}
rule! {
    /// After the end the list begins again: a client that does not stop there never stops.
    pub VM023 "stop-at-end" { severity: Warning, who: Client, needs: Interval,
        asks: "after the 0.0.0.0:0 block the listing is not continued",
        cite: [("End of IP address list", "The end of the IP list is indicated by a received IP address of 0.0.0.0 Port:0.")],
        right: paged!("0.03 c > m  31 FF '10.0.1.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6\n0.10 c > m  31 FF '0.0.0.0:0' 00 00\n0.12 m > c  FFFFFFFF 660A ip:10.0.0.2:27015 00*6"),
        wrong: "0.00 c > m  31 FF '0.0.0.0:0' 00 00\n0.02 m > c  FFFFFFFF 660A ip:10.0.0.2:27015 00*6\n0.03 c > m  31 FF '10.0.0.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A 00*6" }
}
rule! {
    /// Pages of two different lists do not form one list.
    pub VM024 "paging-stable" { severity: Warning, who: Client, needs: Interval,
        asks: "region and filter stay the same while a listing is paged",
        cite: [("IP:Port", "This allows steam to then grab another list of more servers.")],
        right: paged!("0.03 c > m  31 FF '10.0.1.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6"),
        wrong: paged!("0.03 c > m  31 03 '10.0.1.2:27015' 00 00\n0.05 m > c  FFFFFFFF 660A ip:10.0.2.2:27015 00*6") }
}

/// Where the fields of a query are.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::valve_master) struct QueryPlaces {
    pub(in crate::valve_master) region: Span,
    pub(in crate::valve_master) seed: Span,
    pub(in crate::valve_master) filter: Span,
}

/// Checks the address after which a query continues, by how it relates to earlier ones on its
/// socket.
pub(in crate::valve_master) fn asked<S: Sink>(
    asked: QueryPosition,
    seed: Endpoint,
    places: QueryPlaces,
    sink: &mut S,
) {
    let at = places.seed;
    match asked {
        QueryPosition::First { elsewhere: true } => sink.checked(&VM022, false, at, || {
            format!("the listing that stopped at {} is continued from another port", shown(seed))
        }),
        QueryPosition::First { elsewhere: false } => sink.checked(&VM020, seed == ZERO, at, || {
            format!("the first query on this socket asks from {}", shown(seed))
        }),
        QueryPosition::On { last: None, ended: false, lost: true, .. } => {
            for rule in [&VM021, &VM023] {
                sink.checked(rule, false, at, || {
                    "the capture does not hold the reply before, or its end".to_owned()
                });
            }
        }
        // During the silence, NAT may have given the port to another client.
        QueryPosition::Resumed
        | QueryPosition::Again
        | QueryPosition::On { last: None, ended: false, .. } => {}
        QueryPosition::Anew { ended } => {
            if ended {
                sink.checked(&VM023, true, at, String::new);
            }
        }
        QueryPosition::On { ended: true, .. } => sink.checked(&VM023, false, at, || {
            format!("the list has ended, and is asked for from {} on", shown(seed))
        }),
        QueryPosition::On { last: Some(last), change, .. } => {
            sink.checked(&VM021, seed == last, at, || {
                format!("asks from {}; the reply before ends with {}", shown(seed), shown(last))
            });
            sink.checked(&VM022, true, at, String::new);
            sink.checked(&VM023, true, at, String::new);
            let (what, at) = match change {
                Some(Change::Region) => ("region", places.region),
                Some(Change::Filter) => ("filter", places.filter),
                None => ("", at),
            };
            sink.checked(&VM024, change.is_none(), at, || {
                format!("the {what} is not the listing's first query's")
            });
        }
    }
}

rule! {
    /// A client that trusts the master takes a later page for the first one: servers are missing.
    pub VM017 "first-batch" { severity: Warning, who: Master, needs: Beginning,
        asks: "a query with an address as seed on a socket's first use is answered by the first batch (judged where that batch, same region and filter, is in the capture within a minute)",
        cite: [("IP:Port", "Note that whenever you open a new socket (and thus get a new random client port), the Master Server will always send you the first batch of IPs even if you pass a valid game server IP.")],
        right: paged!("1.00 c:50001 > m  31 FF '10.0.1.2:27015' 00 00\n1.02 m > c:50001  FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27015"),
        wrong: paged!("1.00 c:50001 > m  31 FF '10.0.1.2:27015' 00 00\n1.02 m > c:50001  FFFFFFFF 660A ip:10.0.2.2:27015 00*6") }
}

/// `first`: the first server of the reply; `page`: that of the first page.
pub(in crate::valve_master) fn first_page<S: Sink>(
    first: Option<Endpoint>,
    page: Endpoint,
    at: Span,
    sink: &mut S,
) {
    sink.checked(&VM017, first == Some(page), at, || {
        let first = first.map_or("no server".to_owned(), shown);
        format!(
            "a new socket's first reply begins with {first}, the first page with {}",
            shown(page)
        )
    });
}

rule! {
    /// A client that queries no listed server may be a tool and not a game.
    ///
    /// The ledger checks this rule, because it needs more than one pair of hosts.
    pub VM028 "listed-then-queried" { severity: Note, who: Client, needs: Beginning,
        asks: "a client queries the servers of the list it got",
        cite: [("Reply format", "Some of the servers may be unreachable, so query each server directly to find out.")],
        right: concat!(listed!("31 FF '0.0.0.0:0' 00 00"), "\n1.00 c > s:27015  FFFFFFFF 54 'Source Engine Query' 00\n1.02 s:27015 > c  FFFFFFFF 49 11 'a' 00 'm' 00 'f' 00 'g' 00 0A00 00 10 00 64 6C 00 01 '1' 00"),
        wrong: concat!(listed!("31 FF '0.0.0.0:0' 00 00"), "\nend 60") }
}

rule! {
    /// Browsers show each address once, or the servers of one address only: others waste the page.
    ///
    /// The ledger compares the other conditions with what listed servers say of themselves within a minute, and only
    /// notes a difference, since a server may have changed meanwhile.
    pub VM015 "list-obeys-filter" { severity: Warning, who: Master, needs: Message,
        asks: "after `\\collapse_addr_hash\\1` each address is listed once, after `\\gameaddr\\` only that address (other conditions: a note where a listed server's next info response within a minute contradicts them)",
        cite: [("Filter", "\\collapse_addr_hash\\1 Return only one server for each unique IP address matched"),
               ("Filter", "\\gameaddr\\[ip]")],
        right: listed!("31 FF '0.0.0.0:0' 00 '\\\\gameaddr\\\\10.0.0.2' 00"),
        wrong: listed!("31 FF '0.0.0.0:0' 00 '\\\\gameaddr\\\\10.0.0.9' 00") }
}

/// The query asks for one server of each address. `twice`: the first block of an address that came before in the listing.
pub(in crate::valve_master) fn one_each<S: Sink>(
    reply: &ReplySummary<'_>,
    twice: Option<usize>,
    sink: &mut S,
) {
    let (block, at) = twice.map_or((&[][..], reply.at), |at| reply.block_at(at));
    sink.checked(&VM015, twice.is_none(), at, || {
        let again = block.try_into().map(shown).unwrap_or_default();
        format!(
            "one server for each address was asked for: {again} is of an address that came before"
        )
    });
}

/// The query asks for the servers of one address, and of one port, if it is not 0.
pub(in crate::valve_master) fn only_address<S: Sink>(
    reply: &ReplySummary<'_>,
    only: Endpoint,
    sink: &mut S,
) {
    let is_it = |block: &[u8]| match (block, only) {
        ([a, b, c, d, ..], [e, f, g, h, 0, 0]) => [*a, *b, *c, *d] == [e, f, g, h],
        (block, only) => *block == only,
    };
    let mut blocks = reply.blocks.chunks_exact(reply.block.max(1)).enumerate();
    let other = blocks.find(|(_, block)| !is_it(block));
    let at = other.map_or(reply.at, |(at, _)| reply.block_at(at).1);
    sink.checked(&VM015, other.is_none(), at, || {
        let listed = other.and_then(|(_, block)| block.try_into().ok()).map(shown);
        let wanted = shown(only);
        let wanted = wanted.strip_suffix(":0").unwrap_or(&wanted);
        format!("{wanted} was asked for, {} is listed", listed.unwrap_or_default())
    });
}

rule! {
    /// Repeated servers are queried twice, and displace others in lists of clients with a limit.
    pub VM025 "no-repeats" { severity: Note, who: Master, needs: Interval,
        asks: "no address is sent twice in one listing",
        cite: [("Reply format", "")],
        right: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.1.2:27015 00*6"),
        wrong: replied!("FFFFFFFF 660A ip:10.0.0.2:27015 ip:10.0.0.2:27015 00*6") }
}

/// `repeated`: a block of the reply that was sent before in this listing.
pub(in crate::valve_master) fn repeats<S: Sink>(
    repeated: Option<(&[u8], Span)>,
    at: Span,
    sink: &mut S,
) {
    let (block, at) = repeated.unwrap_or((&[], at));
    sink.checked(&VM025, repeated.is_none(), at, || match block.try_into() {
        Ok(block) => format!("{} is sent twice", shown(block)),
        Err(_) => "an address is sent twice".to_owned(),
    });
}

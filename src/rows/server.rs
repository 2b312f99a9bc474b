//! Game servers.

use dissectors::kit::Socket;

use super::cell::nth;
use super::column::{columns, shown};
use super::{Cell, Rows};
use crate::summary::{Latest, Server};

/// The table of servers.
pub enum ServerTable {}

impl Rows for ServerTable {
    const NAME: &'static str = "servers";
    const TITLE: &'static str = "Game servers";
    const ABOUT: &'static str = "A row for each game server, as in `summary`: every host that was queried, joined a \
        master, sent heartbeats or registered. As many as fit into a sixteenth of `--memory`: some 50,000 with 1 GB.";
    const ORDER: &'static str = "exchanges";
    type Row<'r> = (Socket, &'r Server);

    columns! { ServerTable, (Socket(end), it) =>
        /// The server, as `address:port`.
        server: Text = end, shown("SERVER").usual(21);
        /// Its address.
        [Extra] address: Text = end.ip();
        /// Its port.
        [Extra] port: Integer = end.port();
        /// The protocol of the latest message from or to it.
        protocol: Text or absent = it.protocol().map(|id| id.info().id), shown("PROTOCOL").useful(4);
        /// Its latest name.
        name: Text or absent = text(&it.name), shown("NAME").shortened(16).usual(18);
        /// Its latest map.
        map: Text or absent = text(&it.map), shown("MAP").useful(7).shortened(8);
        /// The latest number of players.
        players: Count or absent = it.players.get().copied(), shown("PLAYERS").useful(6).left(), players(it);
        /// The latest maximum number of players.
        max_players: Count or absent = it.max_players.get().copied();
        /// Its version.
        version: Text or absent = text(&it.version), shown("VERSION").spare(0);
        /// The number of changes of its name or map.
        changes: Count = it.changes, shown("CHANGES").useful(2).rare();
        /// The first time that it was queried, responded or announced itself.
        first: Time or absent = it.seen.map(|seen| seen.first), shown("FIRST").spare(1);
        /// The last such time.
        last: Time or absent = it.seen.map(|seen| seen.last), shown("LAST").spare(1);
        /// Requests that were sent to it, with repeats.
        sent: Count = it.sent;
        /// The same, without repeats of a request that was still waiting.
        requests: Count = it.requests;
        /// Requests, with all their repeats and challenges counted as one.
        exchanges: Count = it.exchanges.asked, shown("ASKED");
        /// The number of these that were answered.
        answered: Count = it.exchanges.answered, shown("ANSWERED").of("exchanges"),
            Cell::Portion(it.exchanges.answered, it.exchanges.asked);
        /// Responses that only asked for a challenge.
        challenged: Count = it.challenged;
        /// Median response time, in seconds.
        response_time_p50: Seconds or absent = nth(&it.times, 0), shown("P50").useful(5);
        /// 95th percentile of response times, in seconds.
        response_time_p95: Seconds or absent = nth(&it.times, 1), shown("P95").useful(0);
        /// Maximum response time, in seconds.
        response_time_max: Seconds or absent = nth(&it.times, 2), shown("MAX").useful(3);
        /// Its largest response, in bytes as sent.
        largest: Bytes = it.largest, shown("LARGEST").useful(1);
        /// Certain findings in its flows.
        findings: Count = it.findings.certain(), shown("FINDINGS").toned();
    }
}

fn text(text: &Latest<String>) -> Option<&str> {
    text.get().map(String::as_str)
}

/// The number of players, and the maximum.
fn players(server: &Server) -> Option<String> {
    let [players, most] = [&server.players, &server.max_players].map(Latest::get);
    let count = |count: Option<&u64>| count.map_or("?".to_owned(), u64::to_string);
    players.or(most).map(|_| format!("{}/{}", count(players), count(most)))
}

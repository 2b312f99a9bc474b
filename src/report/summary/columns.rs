//! The columns of the tables.

use dissectors::Id;
use dissectors::kit::{Host, Socket};

use super::super::json::transport;
use super::super::text_table::Importance;
use super::cell::SummaryCell;
use crate::flows::ResponseTimes;
use crate::session::Port;
use crate::summary::{Client, Kind, Latest, Master, Protocol, Server};

/// A row with its key.
pub(super) type KeyedRow<'s, K, V> = (K, &'s V);

/// A column: its name for scripts, its heading for people, and its value. A column without a name
/// or a heading is left out there.
pub(super) struct SummaryColumn<T> {
    pub(super) heading: SummaryHeading,
    pub(super) cell: fn(&T) -> SummaryCell,
}

/// A column without its values.
#[derive(Clone, Copy)]
pub(super) struct SummaryHeading {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
    pub(super) importance: Importance,
    /// The minimum width of shortened cells.
    pub(super) shortest: Option<usize>,
    /// People see it only if some row has more than 0.
    pub(super) is_rare: bool,
}

fn column<T>(
    name: &'static str,
    heading: &'static str,
    cell: fn(&T) -> SummaryCell,
) -> SummaryColumn<T> {
    let heading = SummaryHeading {
        name,
        text: heading,
        importance: Importance::Essential,
        shortest: None,
        is_rare: false,
    };
    SummaryColumn { heading, cell }
}

/// A column that is left out on a narrow terminal: smaller numbers first.
fn useful<T>(place: u8, column: SummaryColumn<T>) -> SummaryColumn<T> {
    let heading = SummaryHeading { importance: Importance::Useful(place), ..column.heading };
    SummaryColumn { heading, ..column }
}

/// A column that is left out on a narrow terminal before any text is shortened: smaller numbers first.
fn spare<T>(place: u8, column: SummaryColumn<T>) -> SummaryColumn<T> {
    let heading = SummaryHeading { importance: Importance::Spare(place), ..column.heading };
    SummaryColumn { heading, ..column }
}

/// A column whose cells are shortened on a narrow terminal, down to this width.
fn shortened<T>(shortest: usize, column: SummaryColumn<T>) -> SummaryColumn<T> {
    let heading = SummaryHeading { shortest: Some(shortest), ..column.heading };
    SummaryColumn { heading, ..column }
}

/// A column that people see only if some row has more than 0.
fn rare<T>(column: SummaryColumn<T>) -> SummaryColumn<T> {
    SummaryColumn { heading: SummaryHeading { is_rare: true, ..column.heading }, ..column }
}

fn some(text: impl ToString) -> SummaryCell {
    SummaryCell::Text(Some(text.to_string()))
}

fn name_of(id: Option<Id>) -> SummaryCell {
    SummaryCell::Text(id.map(|id| id.info().id.to_owned()))
}

fn nth(times: &ResponseTimes, nth: usize) -> SummaryCell {
    SummaryCell::Span(times.of_half_most_all().and_then(|times| times.get(nth).copied()))
}

fn text_of(text: &Latest<String>) -> SummaryCell {
    SummaryCell::Text(text.get().cloned())
}

fn players(server: &Server) -> SummaryCell {
    let [players, most] = [&server.players, &server.max_players].map(Latest::get);
    let count = |count: Option<&u64>| count.map_or("?".to_owned(), u64::to_string);
    let known = players.or(most);
    SummaryCell::Text(known.map(|_| format!("{}/{}", count(players), count(most))))
}

pub(super) fn of_protocols<'s>() -> Vec<SummaryColumn<&'s Protocol>> {
    vec![
        column("protocol", "PROTOCOL", |it| some(it.id.info().id)),
        column("messages", "MESSAGES", |it| SummaryCell::Count(Some(it.messages))),
        useful(1, column("flows", "FLOWS", |it| SummaryCell::Count(Some(it.flows)))),
        column("exchanges", "ASKED", |it| SummaryCell::Count(Some(it.requests))),
        column("answered", "", |it| SummaryCell::Count(Some(it.answered))),
        column("", "ANSWERED", |it| SummaryCell::Share(it.answered, it.requests)),
        column("response_time_p50", "P50", |it| nth(&it.times, 0)),
        useful(0, column("response_time_p95", "P95", |it| nth(&it.times, 1))),
        column("response_time_max", "MAX", |it| nth(&it.times, 2)),
        column("findings", "FINDINGS", |it| SummaryCell::Count(Some(it.findings))),
    ]
}

pub(super) fn of_servers<'s>() -> Vec<SummaryColumn<KeyedRow<'s, Socket, Server>>> {
    vec![
        column("server", "SERVER", |it| some(it.0.0)),
        useful(4, column("protocol", "PROTOCOL", |it| name_of(it.1.protocol()))),
        shortened(16, column("name", "NAME", |it| text_of(&it.1.name))),
        useful(7, shortened(8, column("map", "MAP", |it| text_of(&it.1.map)))),
        column("players", "", |it| SummaryCell::Count(it.1.players.get().copied())),
        column("max_players", "", |it| SummaryCell::Count(it.1.max_players.get().copied())),
        useful(6, column("", "PLAYERS", |it| players(it.1))),
        spare(0, column("version", "VERSION", |it| text_of(&it.1.version))),
        useful(2, rare(column("changes", "CHANGES", |it| SummaryCell::Count(Some(it.1.changes))))),
        spare(
            1,
            column("first", "FIRST", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.first))),
        ),
        spare(1, column("last", "LAST", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.last)))),
        column("sent", "", |it| SummaryCell::Count(Some(it.1.sent))),
        column("requests", "", |it| SummaryCell::Count(Some(it.1.requests))),
        column("exchanges", "ASKED", |it| SummaryCell::Count(Some(it.1.exchanges))),
        column("answered", "", |it| SummaryCell::Count(Some(it.1.answered))),
        column("", "ANSWERED", |it| SummaryCell::Share(it.1.answered, it.1.exchanges)),
        column("challenged", "", |it| SummaryCell::Count(Some(it.1.challenged))),
        useful(5, column("response_time_p50", "P50", |it| nth(&it.1.times, 0))),
        useful(0, column("response_time_p95", "P95", |it| nth(&it.1.times, 1))),
        useful(3, column("response_time_max", "MAX", |it| nth(&it.1.times, 2))),
        useful(1, column("largest", "LARGEST", |it| SummaryCell::Bytes(it.1.largest))),
        column("findings", "FINDINGS", |it| SummaryCell::Count(Some(it.1.findings))),
    ]
}

pub(super) fn of_masters<'s>() -> Vec<SummaryColumn<KeyedRow<'s, Socket, Master>>> {
    vec![
        column("master", "MASTER", |it| some(it.0.0)),
        useful(3, column("protocol", "PROTOCOL", |it| name_of(it.1.protocol.get().copied()))),
        spare(
            0,
            column("first", "FIRST", |it| SummaryCell::Time(it.1.seen().map(|seen| seen.first))),
        ),
        spare(0, column("last", "LAST", |it| SummaryCell::Time(it.1.seen().map(|seen| seen.last)))),
        column("lists_asked", "LISTS ASKED", |it| SummaryCell::Count(Some(it.1.lists_asked))),
        column("lists_whole", "WHOLE", |it| {
            SummaryCell::Known(it.1.lists_whole, it.1.lists_enciphered)
        }),
        column("lists_enciphered", "", |it| SummaryCell::Count(Some(it.1.lists_enciphered))),
        column("listed", "SERVERS LISTED", |it| SummaryCell::Count(Some(it.1.listed.len() as u64))),
        column("joins", "JOINS", |it| SummaryCell::Count(Some(it.1.joins))),
        column("heartbeats", "HEARTBEATS", |it| SummaryCell::Count(Some(it.1.heartbeats))),
        useful(4, column("rejected", "REJECTED", |it| SummaryCell::Count(Some(it.1.rejected)))),
        useful(2, column("response_time_p50", "P50", |it| nth(&it.1.times, 0))),
        useful(0, column("response_time_p95", "P95", |it| nth(&it.1.times, 1))),
        useful(1, column("response_time_max", "MAX", |it| nth(&it.1.times, 2))),
        column("findings", "FINDINGS", |it| SummaryCell::Count(Some(it.1.findings))),
    ]
}

pub(super) fn of_clients<'s>() -> Vec<SummaryColumn<KeyedRow<'s, Host, Client>>> {
    vec![
        column("client", "CLIENT", |it| some(it.0.0)),
        useful(
            0,
            column("sockets", "SOCKETS", |it| SummaryCell::Count(Some(it.1.sockets.len() as u64))),
        ),
        spare(
            0,
            column("first", "FIRST", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.first))),
        ),
        spare(0, column("last", "LAST", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.last)))),
        column("sent", "SENT", |it| SummaryCell::Count(Some(it.1.sent))),
        column("requests", "", |it| SummaryCell::Count(Some(it.1.requests))),
        column("rate", "RATE", |it| SummaryCell::Rate(it.1.rate())),
        column("exchanges", "ASKED", |it| SummaryCell::Count(Some(it.1.exchanges))),
        column("answered", "", |it| SummaryCell::Count(Some(it.1.answered))),
        column("", "ANSWERED", |it| SummaryCell::Share(it.1.answered, it.1.exchanges)),
        shortened(
            20,
            column("kinds", "REQUESTS", |it| {
                let kind = |kind: &Kind| {
                    (format!("{}.{}", kind.id.info().id, kind.message.name), kind.count)
                };
                SummaryCell::Counts(it.1.kinds().iter().map(kind).collect())
            }),
        ),
        shortened(10, column("libraries", "LIBRARY", |it| SummaryCell::Names(it.1.libraries()))),
    ]
}

pub(super) fn of_ports<'s>() -> Vec<SummaryColumn<&'s Port>> {
    vec![
        column("transport", "TRANSPORT", |it| some(transport(it.transport))),
        column("port", "PORT", |it| SummaryCell::Port(it.port)),
        column("packets", "PACKETS", |it| SummaryCell::Count(Some(it.packets))),
    ]
}

/// The names and headings of all columns that a table can be sorted by.
pub fn columns() -> Vec<(&'static str, &'static str)> {
    fn names<T>(columns: &[SummaryColumn<T>]) -> Vec<(&'static str, &'static str)> {
        let named = columns.iter().map(|it| it.heading).filter(|it| !it.name.is_empty());
        named.map(|it| (it.name, it.text)).collect()
    }
    let mut all = names(&of_servers());
    let others =
        [names(&of_protocols()), names(&of_masters()), names(&of_clients()), names(&of_ports())]
            .concat();
    for column in others {
        if all.iter().all(|(name, _)| *name != column.0) {
            all.push(column);
        }
    }
    all
}

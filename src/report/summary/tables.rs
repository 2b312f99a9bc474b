//! The tables: columns and their contents.

use std::cmp::Ordering;
use std::net::{IpAddr, SocketAddr};

use dissectors::Id;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::clock::Stamp;
use super::super::flows::csv_line;
use super::super::json::transport;
use super::super::markdown;
use super::super::paint::{Paint, Tone};
use super::super::put;
use super::cell::SummaryCell;
use super::{Order, Shown};
use crate::flows::ResponseTimes;
use crate::session::Port;
use crate::summary::{Client, Kind, Latest, Master, Protocol, Server, Summary};
use crate::text::grouped;

/// A table of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum SummaryTable {
    /// The protocols
    Protocols,
    /// Game servers
    Servers,
    /// Master servers
    Masters,
    /// Hosts that send requests
    Clients,
    /// Ports of other traffic
    Ports,
}

impl SummaryTable {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            SummaryTable::Protocols => "protocols",
            SummaryTable::Servers => "servers",
            SummaryTable::Masters => "masters",
            SummaryTable::Clients => "clients",
            SummaryTable::Ports => "ports",
        }
    }
}

/// A column: its name for scripts, its heading for people, and its value. A column without a name
/// or a heading is left out there.
struct SummaryColumn<T> {
    name: &'static str,
    heading: &'static str,
    cell: fn(&T) -> SummaryCell,
}

const fn column<T>(
    name: &'static str,
    heading: &'static str,
    cell: fn(&T) -> SummaryCell,
) -> SummaryColumn<T> {
    SummaryColumn { name, heading, cell }
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

/// The name, and the number of changes of name or map.
fn latest(name: &str, server: &Server) -> String {
    match server.changes {
        0 => name.to_owned(),
        1 => format!("{name} (1 change)"),
        changes => format!("{name} ({changes} changes)"),
    }
}

type KeyedRow<'s, K, V> = (K, &'s V);

/// What a row has in the column that its table is sorted by, if it is; its place among those that have the
/// same; and the row.
type SortedRow<T, P> = (Option<SummaryCell>, P, T);

/// A row, which its key gives its place.
fn keyed<K: Copy, V>((key, row): KeyedRow<'_, K, V>) -> (KeyedRow<'_, K, V>, K) {
    ((key, row), key)
}

fn of_protocols<'s>() -> Vec<SummaryColumn<&'s Protocol>> {
    vec![
        column("protocol", "PROTOCOL", |it| some(it.id.info().id)),
        column("messages", "MESSAGES", |it| SummaryCell::Count(Some(it.messages))),
        column("flows", "FLOWS", |it| SummaryCell::Count(Some(it.flows))),
        column("exchanges", "ASKED", |it| SummaryCell::Count(Some(it.requests))),
        column("answered", "", |it| SummaryCell::Count(Some(it.answered))),
        column("", "ANSWERED", |it| SummaryCell::Share(it.answered, it.requests)),
        column("response_time_p50", "P50", |it| nth(&it.times, 0)),
        column("response_time_p95", "P95", |it| nth(&it.times, 1)),
        column("response_time_max", "MAX", |it| nth(&it.times, 2)),
        column("findings", "FINDINGS", |it| SummaryCell::Count(Some(it.findings))),
    ]
}

fn of_servers<'s>() -> Vec<SummaryColumn<KeyedRow<'s, SocketAddr, Server>>> {
    vec![
        column("server", "SERVER", |it| some(it.0)),
        column("protocol", "PROTOCOL", |it| name_of(it.1.protocol())),
        column("name", "", |it| text_of(&it.1.name)),
        column("", "NAME", |it| SummaryCell::Text(it.1.name.get().map(|name| latest(name, it.1)))),
        column("map", "MAP", |it| text_of(&it.1.map)),
        column("players", "", |it| SummaryCell::Count(it.1.players.get().copied())),
        column("max_players", "", |it| SummaryCell::Count(it.1.max_players.get().copied())),
        column("", "PLAYERS", |it| players(it.1)),
        column("version", "", |it| text_of(&it.1.version)),
        column("changes", "", |it| SummaryCell::Count(Some(it.1.changes))),
        column("first", "", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.first))),
        column("last", "", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.last))),
        column("sent", "", |it| SummaryCell::Count(Some(it.1.sent))),
        column("requests", "", |it| SummaryCell::Count(Some(it.1.requests))),
        column("exchanges", "ASKED", |it| SummaryCell::Count(Some(it.1.exchanges))),
        column("answered", "", |it| SummaryCell::Count(Some(it.1.answered))),
        column("", "ANSWERED", |it| SummaryCell::Share(it.1.answered, it.1.exchanges)),
        column("challenged", "", |it| SummaryCell::Count(Some(it.1.challenged))),
        column("response_time_p50", "P50", |it| nth(&it.1.times, 0)),
        column("response_time_p95", "P95", |it| nth(&it.1.times, 1)),
        column("response_time_max", "MAX", |it| nth(&it.1.times, 2)),
        column("largest", "LARGEST", |it| SummaryCell::Bytes(it.1.largest)),
        column("findings", "FINDINGS", |it| SummaryCell::Count(Some(it.1.findings))),
    ]
}

fn of_masters<'s>() -> Vec<SummaryColumn<KeyedRow<'s, SocketAddr, Master>>> {
    vec![
        column("master", "MASTER", |it| some(it.0)),
        column("protocol", "PROTOCOL", |it| name_of(it.1.protocol.get().copied())),
        column("first", "", |it| SummaryCell::Time(it.1.seen().map(|seen| seen.first))),
        column("last", "", |it| SummaryCell::Time(it.1.seen().map(|seen| seen.last))),
        column("lists_asked", "LISTS ASKED", |it| SummaryCell::Count(Some(it.1.lists_asked))),
        column("lists_whole", "WHOLE", |it| {
            SummaryCell::Known(it.1.lists_whole, it.1.lists_enciphered)
        }),
        column("lists_enciphered", "", |it| SummaryCell::Count(Some(it.1.lists_enciphered))),
        column("listed", "SERVERS LISTED", |it| SummaryCell::Count(Some(it.1.listed.len() as u64))),
        column("joins", "JOINS", |it| SummaryCell::Count(Some(it.1.joins))),
        column("heartbeats", "HEARTBEATS", |it| SummaryCell::Count(Some(it.1.heartbeats))),
        column("rejected", "REJECTED", |it| SummaryCell::Count(Some(it.1.rejected))),
        column("response_time_p50", "P50", |it| nth(&it.1.times, 0)),
        column("response_time_p95", "P95", |it| nth(&it.1.times, 1)),
        column("response_time_max", "MAX", |it| nth(&it.1.times, 2)),
        column("findings", "FINDINGS", |it| SummaryCell::Count(Some(it.1.findings))),
    ]
}

fn of_clients<'s>() -> Vec<SummaryColumn<KeyedRow<'s, IpAddr, Client>>> {
    vec![
        column("client", "CLIENT", |it| some(it.0)),
        column("sockets", "SOCKETS", |it| SummaryCell::Count(Some(it.1.sockets.len() as u64))),
        column("first", "", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.first))),
        column("last", "", |it| SummaryCell::Time(it.1.seen.map(|seen| seen.last))),
        column("sent", "SENT", |it| SummaryCell::Count(Some(it.1.sent))),
        column("requests", "", |it| SummaryCell::Count(Some(it.1.requests))),
        column("rate", "PER SECOND", |it| SummaryCell::Number(it.1.rate())),
        column("exchanges", "ASKED", |it| SummaryCell::Count(Some(it.1.exchanges))),
        column("answered", "", |it| SummaryCell::Count(Some(it.1.answered))),
        column("", "ANSWERED", |it| SummaryCell::Share(it.1.answered, it.1.exchanges)),
        column("kinds", "REQUESTS", |it| {
            let kind =
                |kind: &Kind| (format!("{}.{}", kind.id.info().id, kind.message.name), kind.count);
            SummaryCell::Counts(it.1.kinds().iter().map(kind).collect())
        }),
        column("libraries", "LIBRARY", |it| SummaryCell::Names(it.1.libraries())),
    ]
}

fn of_ports<'s>() -> Vec<SummaryColumn<&'s Port>> {
    vec![
        column("transport", "TRANSPORT", |it| some(transport(it.transport))),
        column("port", "PORT", |it| SummaryCell::Port(it.port)),
        column("packets", "PACKETS", |it| SummaryCell::Count(Some(it.packets))),
    ]
}

/// The names and headings of all columns that a table can be sorted by.
pub fn columns() -> Vec<(&'static str, &'static str)> {
    fn names<T>(columns: &[SummaryColumn<T>]) -> Vec<(&'static str, &'static str)> {
        let named = columns.iter().filter(|it| !it.name.is_empty());
        named.map(|it| (it.name, it.heading)).collect()
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

/// A table with its rows.
pub(super) struct Grid {
    pub(super) table: SummaryTable,
    /// Names and headings.
    columns: Vec<(&'static str, &'static str)>,
    pub(super) rows: Vec<Vec<SummaryCell>>,
    /// Some rows were left out because of the limit.
    pub(super) is_cut: bool,
    /// Rows that are not shown.
    left_out: usize,
}

impl Grid {
    /// A table of a summary.
    pub(super) fn of(
        table: SummaryTable,
        summary: &Summary,
        ports: &[Port],
        shown: &Shown,
    ) -> Grid {
        match table {
            SummaryTable::Protocols => {
                let seen = summary.protocols.iter().filter(|it| it.messages > 0).zip(0..);
                Grid::new(table, &of_protocols(), seen, false, shown)
            }
            SummaryTable::Servers => {
                let rows = summary.servers.seen().map(keyed);
                Grid::new(table, &of_servers(), rows, summary.servers.is_cut, shown)
            }
            SummaryTable::Masters => {
                let rows = summary.masters.seen().map(keyed);
                Grid::new(table, &of_masters(), rows, summary.masters.is_cut, shown)
            }
            SummaryTable::Clients => {
                let rows = summary.clients.seen().map(keyed);
                Grid::new(table, &of_clients(), rows, summary.clients.is_cut, shown)
            }
            SummaryTable::Ports => {
                Grid::new(table, &of_ports(), ports.iter().zip(0..), false, shown)
            }
        }
    }

    /// From rows in any order, each with the key that decides between rows that are equal in the sort column.
    /// There may be very many rows, of which few are shown: only these are sorted.
    fn new<T, P: Ord>(
        table: SummaryTable,
        columns: &[SummaryColumn<T>],
        rows: impl Iterator<Item = (T, P)>,
        is_cut: bool,
        shown: &Shown,
    ) -> Grid {
        let by = order(table, columns, shown.order.as_ref());
        let mut rows: Vec<_> =
            rows.map(|(row, place)| (by.map(|by| (by.cell)(&row)), place, row)).collect();
        let compare = |a: &SortedRow<T, P>, b: &SortedRow<T, P>| {
            let by = a.0.as_ref().zip(b.0.as_ref()).map(|(a, b)| a.compare(b));
            by.unwrap_or(Ordering::Equal).then_with(|| a.1.cmp(&b.1))
        };
        let left_out = rows.len().saturating_sub(shown.top);
        if left_out > 0 {
            rows.select_nth_unstable_by(shown.top, compare);
            rows.truncate(shown.top);
        }
        rows.sort_by(compare);
        let cells = |row: &T| columns.iter().map(|column| (column.cell)(row)).collect();
        let rows = rows.iter().map(|(_, _, row)| cells(row)).collect();
        let columns = columns.iter().map(|it| (it.name, it.heading)).collect();
        Grid { table, columns, rows, is_cut, left_out }
    }

    /// A note about what is not shown.
    pub(super) fn note(&self) -> Option<String> {
        let all = self.table.name();
        let name = if self.left_out == 1 { all.trim_end_matches('s') } else { all };
        let more = grouped(self.left_out as u64);
        match (self.left_out, self.is_cut) {
            (0, false) => None,
            (0, true) => Some(format!("there are more {all} than fit into memory; see --memory")),
            (_, false) => Some(format!("{more} more {name}; see --top")),
            (_, true) => Some(format!(
                "{more} more {name}, and others that did not fit into memory; see --top, --memory"
            )),
        }
    }

    /// The columns for people, with their indices.
    fn headed(&self) -> Vec<(usize, &'static str)> {
        let columns = self.columns.iter().enumerate();
        columns.map(|(at, (_, heading))| (at, *heading)).filter(|it| !it.1.is_empty()).collect()
    }

    /// With columns as wide as their cells.
    pub(super) fn text(&self, paint: Paint, out: &mut Vec<u8>) {
        let headed = self.headed();
        let cells = |row: &Vec<SummaryCell>| -> Vec<(String, bool)> {
            let cells = headed.iter().filter_map(|(at, _)| row.get(*at));
            cells.map(|cell| (cell.text(), cell.is_number())).collect()
        };
        let rows: Vec<_> = self.rows.iter().map(cells).collect();
        let is_number = |at: usize| {
            rows.first().and_then(|row| row.get(at)).is_some_and(|(_, is_number)| *is_number)
        };
        let headings = headed.iter().enumerate();
        let headings: Vec<_> =
            headings.map(|(at, (_, text))| ((*text).to_owned(), is_number(at))).collect();
        let width = |at: usize| {
            let cells = rows.iter().chain([&headings]).filter_map(|row| row.get(at));
            cells.map(|(text, _)| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..headings.len()).map(width).collect();
        let line = |row: &[(String, bool)], out: &mut Vec<u8>| {
            let mut text = String::new();
            for (at, ((cell, is_number), width)) in row.iter().zip(&widths).enumerate() {
                let gap = if at > 0 { "  " } else { "" };
                text.push_str(&match is_number {
                    true => format!("{gap}{cell:>width$}"),
                    false => format!("{gap}{cell:<width$}"),
                });
            }
            put(out, format_args!("{}\n", text.trim_end()));
        };
        paint.paint(Tone::Faint, out, |out| line(&headings, out));
        rows.iter().for_each(|row| line(row, out));
    }

    /// As a table of GitHub's Markdown.
    pub(super) fn markdown(&self, out: &mut Vec<u8>) {
        let headed = self.headed();
        for (_, heading) in &headed {
            put(out, format_args!("| {heading} "));
        }
        out.extend_from_slice(b"|\n");
        for (at, _) in &headed {
            let cell = self.rows.first().and_then(|row| row.get(*at));
            let rule = if cell.is_some_and(SummaryCell::is_number) { "|--:" } else { "|---" };
            out.extend_from_slice(rule.as_bytes());
        }
        out.extend_from_slice(b"|\n");
        for row in &self.rows {
            for cell in headed.iter().filter_map(|(at, _)| row.get(*at)) {
                put(out, format_args!("| {} ", markdown::cell(&cell.text())));
            }
            out.extend_from_slice(b"|\n");
        }
    }

    /// As RFC 4180 has it.
    pub(super) fn csv(
        &self,
        capture: Option<&str>,
        header: bool,
        digits: u8,
        stamp: &mut Stamp,
        out: &mut Vec<u8>,
    ) {
        let named = |(at, (name, _)): (usize, &(&'static str, _))| {
            (!name.is_empty()).then_some((at, *name))
        };
        let named: Vec<_> = self.columns.iter().enumerate().filter_map(named).collect();
        if header {
            let names = named.iter().map(|(_, name)| *name);
            csv_line(names.chain(capture.map(|_| "capture")), out);
        }
        for row in &self.rows {
            let cells = named.iter().filter_map(|(at, _)| row.get(*at));
            let cells: Vec<_> = cells.map(|cell| cell.csv(digits, stamp)).collect();
            csv_line(cells.iter().map(String::as_str).chain(capture), out);
        }
    }

    /// For JSON: an array of objects.
    pub(super) fn json(&self, digits: u8) -> impl Serialize {
        GridJson { grid: self, digits }
    }
}

/// The sort column of a table; by default the number of requests.
fn order<'c, T>(
    table: SummaryTable,
    columns: &'c [SummaryColumn<T>],
    by: Option<&Order>,
) -> Option<&'c SummaryColumn<T>> {
    let usual = match table {
        SummaryTable::Protocols | SummaryTable::Ports => None,
        SummaryTable::Servers => Some("exchanges"),
        SummaryTable::Masters => Some("lists_asked"),
        SummaryTable::Clients => Some("sent"),
    };
    let named = |name: &str| {
        let is_named = |column: &&SummaryColumn<T>| {
            [column.name, column.heading].iter().any(|it| it.eq_ignore_ascii_case(name))
        };
        columns.iter().filter(|column| !column.name.is_empty()).find(is_named)
    };
    by.and_then(|by| named(&by.0)).or_else(|| usual.and_then(named))
}

struct GridJson<'g> {
    grid: &'g Grid,
    digits: u8,
}

struct JsonRow<'g>(&'g GridJson<'g>, &'g [SummaryCell]);

impl Serialize for GridJson<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut rows = to.serialize_seq(Some(self.grid.rows.len()))?;
        self.grid.rows.iter().try_for_each(|row| rows.serialize_element(&JsonRow(self, row)))?;
        rows.end()
    }
}

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut row = to.serialize_map(None)?;
        for ((name, _), cell) in self.0.grid.columns.iter().zip(self.1) {
            if !name.is_empty() {
                row.serialize_entry(name, &cell.json(self.0.digits))?;
            }
        }
        row.end()
    }
}

//! The rows of the tabs: conversations, servers, findings.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::net::SocketAddr;

use dissectors::kit::{Severity, Socket, Time, Verdict};
use roaring::RoaringBitmap;

use super::index::{ConversationRow, weight};
use super::model::Model;
use crate::check::ReportedFinding;
use crate::flows::ResponseTimes;
use crate::report::ladder;
use crate::report::paint::Tone;
use crate::report::{TimeFormatter, TimeStyle};
use crate::summary::{Latest, Master, Server};
use crate::text::{escaped, grouped};

/// A tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    /// Conversations.
    #[default]
    Conversations,
    /// Game servers and masters.
    Servers,
    /// Findings.
    Findings,
}

impl Tab {
    /// All of them, in their order.
    pub(super) const ALL: [Tab; 3] = [Tab::Conversations, Tab::Servers, Tab::Findings];

    /// Its title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Tab::Conversations => "Conversations",
            Tab::Servers => "Servers",
            Tab::Findings => "Findings",
        }
    }

    /// Its columns.
    pub(super) fn columns(self) -> &'static [TabColumn] {
        match self {
            Tab::Conversations => CONVERSATIONS,
            Tab::Servers => SERVERS,
            Tab::Findings => FINDINGS,
        }
    }
}

/// A column: its heading, its width, and the minimum screen width for it.
pub(super) struct TabColumn {
    /// Its heading.
    pub(super) heading: &'static str,
    /// Its width; 0: the remaining width.
    pub(super) width: u16,
    /// The minimum screen width.
    pub(super) from: u16,
    /// Its cells are numbers.
    pub(super) is_number: bool,
}

const fn text(heading: &'static str, width: u16, from: u16) -> TabColumn {
    TabColumn { heading, width, from, is_number: false }
}

const fn number(heading: &'static str, width: u16, from: u16) -> TabColumn {
    TabColumn { heading, width, from, is_number: true }
}

const CONVERSATIONS: &[TabColumn] = &[
    text("START", 8, 0),
    text("FROM", 0, 0),
    text("TO", 0, 0),
    text("PROTOCOL", 12, 0),
    text("FIRST MESSAGE", 22, 110),
    number("MSGS", 5, 0),
    number("SLOWEST", 8, 0),
    text("FINDINGS", 9, 0),
];

const SERVERS: &[TabColumn] = &[
    text("SERVER", 21, 0),
    text("PROTOCOL", 12, 112),
    text("NAME", 0, 0),
    text("MAP", 12, 100),
    number("PLAYERS", 7, 0),
    number("ASKED", 6, 0),
    number("ANSWERED", 8, 0),
    number("P50", 7, 0),
    number("MAX", 7, 120),
    number("FINDINGS", 8, 0),
];

const FINDINGS: &[TabColumn] = &[
    text("SEVERITY", 8, 0),
    text("RULE", 7, 0),
    text("TIME", 8, 110),
    text("PARTY", 21, 0),
    number("FRAME", 7, 0),
    text("WHAT", 0, 0),
];

/// The sort order of a tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct SortOrder {
    /// The column; `None`: the original order, or for servers and findings the most important
    /// first.
    pub(super) column: Option<usize>,
    /// The other way round.
    pub(super) is_reversed: bool,
}

/// A row as it is shown.
pub(super) struct ShownRow {
    /// One cell for each column, with terminal controls escaped.
    pub(super) cells: Vec<String>,
    /// Its style, if special.
    pub(super) tone: Option<Tone>,
    /// The uncut row as a line.
    pub(super) whole: String,
}

/// No value.
const NONE: &str = "-";

/// A time of day, to the second.
fn clock(time: Time, style: TimeStyle) -> String {
    let mut out = Vec::new();
    TimeFormatter::new(style).second_of_day(time, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Microseconds.
fn span(microseconds: u64) -> String {
    match microseconds {
        0..1_000 => format!("{microseconds} us"),
        1_000..100_000 => format!("{:.1} ms", microseconds as f64 / 1e3),
        100_000..1_000_000 => format!("{} ms", microseconds / 1000),
        _ => format!("{:.1} s", microseconds as f64 / 1e6),
    }
}

/// A severity, with `?` if inconclusive.
fn severity(severity: Severity, verdict: Verdict) -> String {
    let mark = if verdict == Verdict::Inconclusive { "?" } else { "" };
    format!("{}{mark}", severity.name())
}

/// A conversation's row.
pub(super) fn conversation(it: &ConversationRow, model: &Model, time: TimeStyle) -> ShownRow {
    let [from, to] = it.ends.map(|end| end.to_string());
    let findings = it.worst.map_or(NONE.to_owned(), |(weight, verdict)| {
        let several = if it.findings > 1 { format!(" {}", it.findings) } else { String::new() };
        severity(weight, verdict) + &several
    });
    let slowest = it.slowest.map_or(NONE.to_owned(), |time| span(time.into()));
    let protocol = it.protocol.info().id;
    let capture = match model.index.captures() {
        [_, _, ..] => format!("{}: ", model.index.name_of(it.capture)),
        _ => String::new(),
    };
    let whole = format!(
        "{capture}{from} > {to}, {protocol}, from packet {}: {}",
        it.frames[0],
        crate::text::counted(it.messages.into(), "message"),
    );
    ShownRow {
        cells: vec![
            clock(it.start, time),
            from,
            to,
            protocol.to_owned(),
            it.message.to_owned(),
            it.messages.to_string(),
            slowest,
            findings,
        ],
        tone: it.worst.map(|(weight, verdict)| Tone::Finding(weight, verdict)),
        whole,
    }
}

/// Puts conversations into an order.
pub(super) fn sort_conversations(numbers: &mut [u32], order: SortOrder, model: &Model) {
    let get = |number: &u32| model.index.get(*number);
    match order.column.map(|at| CONVERSATIONS[at].heading) {
        None => {}
        Some("START") => numbers.sort_by_cached_key(|it| get(it).map(|it| it.start)),
        Some("FROM") => numbers.sort_by_cached_key(|it| get(it).map(|it| it.ends[0])),
        Some("TO") => numbers.sort_by_cached_key(|it| get(it).map(|it| it.ends[1])),
        Some("PROTOCOL") => {
            numbers.sort_by_cached_key(|it| get(it).map(|it| it.protocol.info().id));
        }
        Some("FIRST MESSAGE") => numbers.sort_by_cached_key(|it| get(it).map(|it| it.message)),
        Some("MSGS") => numbers.sort_by_cached_key(|it| Reverse(get(it).map(|it| it.messages))),
        Some("SLOWEST") => numbers.sort_by_cached_key(|it| Reverse(get(it).map(|it| it.slowest))),
        Some(_) => numbers.sort_by_cached_key(|it| {
            let found = |it: ConversationRow| (it.worst.map(|it| weight(it.0, it.1)), it.findings);
            Reverse(get(it).map(found))
        }),
    }
    if order.is_reversed {
        numbers.reverse();
    }
}

/// A server or a master.
pub(super) struct PartyRow {
    /// Where it is.
    pub(super) end: SocketAddr,
    cells: Vec<String>,
    numbers: [u64; 5],
}

impl PartyRow {
    /// Its row.
    pub(super) fn shown(&self) -> ShownRow {
        let (heads, cells) = (SERVERS.iter().map(|column| column.heading), &self.cells);
        let said = heads.zip(cells).filter(|(_, cell)| *cell != NONE).skip(1);
        let said: Vec<_> = said.map(|(head, cell)| format!("{head} {cell}")).collect();
        let tone = Tone::Finding(Severity::Warning, Verdict::Fail);
        ShownRow {
            cells: cells.clone(),
            tone: Some(tone).filter(|_| self.numbers[4] > 0),
            whole: format!("{}  {}", self.end, said.join("  ")),
        }
    }

    fn server(end: SocketAddr, it: &Server) -> PartyRow {
        let count = |count: Option<&u64>| count.map_or("?".to_owned(), u64::to_string);
        let [playing, most] = [&it.players, &it.max_players].map(Latest::get);
        let players = playing
            .or(most)
            .map_or(NONE.to_owned(), |_| format!("{}/{}", count(playing), count(most)));
        let [name, map] = [&it.name, &it.map]
            .map(|text| text.get().map_or(NONE.to_owned(), |text| escaped(text).into_owned()));
        let protocol = it.protocol().map_or(NONE, |id| id.info().id).to_owned();
        let names = [protocol, name, map];
        PartyRow::of(
            end,
            names,
            players,
            playing.copied(),
            [it.exchanges, it.answered, it.findings],
            &it.times,
        )
    }

    fn master(end: SocketAddr, it: &Master) -> PartyRow {
        let listed = it.listed.len() as u64;
        let protocol = it.protocol.get().map_or(NONE, |id| id.info().id).to_owned();
        let name = format!(
            "master: {} listed, {} joins, {} heartbeats",
            grouped(listed),
            grouped(it.joins),
            grouped(it.heartbeats)
        );
        let names = [protocol, name, NONE.to_owned()];
        let numbers = [it.lists_asked, it.lists_whole, it.findings];
        PartyRow::of(end, names, NONE.to_owned(), None, numbers, &it.times)
    }

    fn of(
        end: SocketAddr,
        [protocol, name, map]: [String; 3],
        players: String,
        playing: Option<u64>,
        [asked, answered, findings]: [u64; 3],
        times: &ResponseTimes,
    ) -> PartyRow {
        let times = times.of_half_most_all();
        let [half, _, most] = times.unwrap_or_default();
        let took = |time: u64| times.map_or(NONE.to_owned(), |_| span(time / 1000));
        let share = match asked {
            0 => NONE.to_owned(),
            _ => crate::text::percent(answered as f64 / asked as f64),
        };
        let cells = vec![
            end.to_string(),
            protocol,
            name,
            map,
            players,
            grouped(asked),
            share,
            took(half),
            took(most),
            grouped(findings),
        ];
        PartyRow { end, cells, numbers: [playing.unwrap_or(0), asked, half, most, findings] }
    }
}

/// The conversations that a display filter selects, or all.
fn wanted(model: &Model) -> impl Iterator<Item = ConversationRow> {
    let matches = model.matches.as_ref().map(|matches| &matches.conversations);
    let numbers = model.index.order().iter().copied();
    let wanted = numbers.filter(move |it| matches.is_none_or(|matches| matches.contains(*it)));
    wanted.filter_map(|number| model.index.get(number))
}

/// The selected conversations of a server, up to the size of a ladder, and their total number. If
/// none has its port, because only its heartbeats name it, those of its host.
pub(super) fn of_party(model: &Model, end: SocketAddr) -> (RoaringBitmap, u64) {
    let of = |is_it: &dyn Fn(SocketAddr) -> bool| {
        let (mut first, mut all, mut messages) = (RoaringBitmap::new(), 0, 0);
        for it in wanted(model).filter(|it| it.ends.iter().any(|end| is_it(*end))) {
            if messages < ladder::STEPS {
                first.insert(it.number);
            }
            messages = messages.saturating_add(it.messages as usize);
            all += 1;
        }
        (first, all)
    };
    let found = of(&|it| it == end);
    if found.1 > 0 { found } else { of(&|it| it.ip() == end.ip()) }
}

/// Keeps the parties of conversations that the display filter selects.
fn narrow(parties: &mut Vec<PartyRow>, model: &Model) {
    if model.matches.is_none() {
        return;
    }
    let (ends, hosts): (HashSet<_>, HashSet<_>) =
        parties.iter().map(|it| (it.end, it.end.ip())).unzip();
    let (mut theirs, mut of_hosts) = (HashSet::new(), HashSet::new());
    for end in wanted(model).flat_map(|it| it.ends) {
        theirs.extend(Some(end).filter(|end| ends.contains(end)));
        of_hosts.extend(Some(end.ip()).filter(|host| hosts.contains(host)));
    }
    // The ports of some are only named in their heartbeats.
    let all = model.index.order().iter().filter_map(|&number| model.index.get(number));
    let known: HashSet<_> = all.flat_map(|it| it.ends).filter(|end| ends.contains(end)).collect();
    parties.retain(|it| match known.contains(&it.end) {
        true => theirs.contains(&it.end),
        false => of_hosts.contains(&it.end.ip()),
    });
}

/// Servers and masters with selected conversations, in an order.
pub(super) fn parties(model: &Model, order: SortOrder) -> Vec<PartyRow> {
    let summary = model.summary();
    let masters = summary.masters.rows();
    let servers = summary.servers.rows();
    let masters = masters.into_iter().map(|(Socket(end), it)| PartyRow::master(end, it));
    let servers = servers.into_iter().map(|(Socket(end), it)| PartyRow::server(end, it));
    let mut parties: Vec<_> = masters.chain(servers).collect();
    narrow(&mut parties, model);
    let text = |at: usize| move |it: &PartyRow| it.cells.get(at).cloned();
    match order.column.map(|at| (at, SERVERS[at].heading)) {
        Some((_, "SERVER")) => parties.sort_by_key(|it| it.end),
        Some((_, "PLAYERS")) => parties.sort_by_key(|it| Reverse(it.numbers[0])),
        None | Some((_, "ASKED")) => parties.sort_by_key(|it| Reverse(it.numbers[1])),
        Some((_, "P50")) => parties.sort_by_key(|it| Reverse(it.numbers[2])),
        Some((_, "MAX")) => parties.sort_by_key(|it| Reverse(it.numbers[3])),
        Some((_, "FINDINGS")) => parties.sort_by_key(|it| Reverse(it.numbers[4])),
        Some((at, _)) => parties.sort_by_cached_key(text(at)),
    }
    if order.is_reversed {
        parties.reverse();
    }
    parties
}

/// A finding, and in which capture it is.
pub(super) struct FindingRow {
    /// The index of the capture.
    pub(super) capture: usize,
    /// The conversation, where it is about one.
    pub(super) conversation: Option<u32>,
    /// The packet; 0 for none.
    pub(super) frame: u64,
    cells: Vec<String>,
    whole: String,
    weight: (Severity, Verdict),
    time: Time,
}

impl FindingRow {
    /// As it is shown.
    pub(super) fn shown(&self) -> ShownRow {
        ShownRow {
            cells: self.cells.clone(),
            tone: Some(Tone::Finding(self.weight.0, self.weight.1)),
            whole: self.whole.clone(),
        }
    }

    fn of(capture: usize, found: &ReportedFinding, model: &Model, time: TimeStyle) -> FindingRow {
        let party = found.party.map_or("the recording".to_owned(), |party| party.to_string());
        let frame = found.frame();
        let (code, detail) = (found.rule.code.to_string(), escaped(&found.detail).into_owned());
        let severity = severity(found.severity, found.verdict);
        let at = if frame == 0 { NONE.to_owned() } else { frame.to_string() };
        let whole = format!("{severity} {code} {}: {detail}", found.rule.slug);
        let cells = vec![
            severity,
            code,
            clock(found.time, time),
            party,
            at,
            format!("{}: {detail}", found.rule.slug),
        ];
        FindingRow {
            capture,
            conversation: model.conversation_of(capture, found.flow),
            frame,
            cells,
            whole,
            weight: (found.severity, found.verdict),
            time: found.time,
        }
    }
}

/// The findings, in an order: only of selected conversations, if there is a filter.
pub(super) fn findings(model: &Model, order: SortOrder, time: TimeStyle) -> Vec<FindingRow> {
    let wanted = |row: &FindingRow| match &model.matches {
        None => true,
        Some(matches) => row.conversation.is_some_and(|it| matches.conversations.contains(it)),
    };
    let rows = model.found().map(|(capture, found)| FindingRow::of(capture, found, model, time));
    let mut rows: Vec<_> = rows.filter(wanted).collect();
    let text = |at: usize| move |it: &FindingRow| it.cells.get(at).cloned();
    let heaviest = |it: &FindingRow| Reverse(weight(it.weight.0, it.weight.1));
    match order.column.map(|at| (at, FINDINGS[at].heading)) {
        None | Some((_, "SEVERITY")) => rows.sort_by_key(heaviest),
        Some((_, "TIME")) => rows.sort_by_key(|it| it.time),
        Some((_, "FRAME")) => rows.sort_by_key(|it| (it.capture, it.frame)),
        Some((at, _)) => rows.sort_by_cached_key(text(at)),
    }
    if order.is_reversed {
        rows.reverse();
    }
    rows
}

//! The rows of the tabs: conversations, servers, findings.

use std::collections::HashSet;
use std::net::SocketAddr;

use dissectors::kit::{Severity, Socket, Verdict};
use roaring::RoaringBitmap;

use super::model::{Matches, Model};
use crate::check::ReportedFinding;
use crate::report::TimeStyle;
use crate::report::ladder;
use crate::report::paint::Tone;
use crate::report::table::{PeopleTable, PeopleTimes, TimeForm};
use crate::rows::{
    AnyRow, Cell, ConversationRow, ConversationTable, FindingRow, FindingTable, Of, PacketPlaces,
    ServerTable, Sorting, Table,
};
use crate::session::Files;
use crate::summary::Server;
use crate::text::{counted, escaped};

/// A tab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Tab {
    /// What is wrong, and what to do.
    #[default]
    Answer,
    /// Conversations.
    Conversations,
    /// Game servers and masters.
    Servers,
    /// Findings.
    Findings,
    /// All messages in time.
    Messages,
}

impl Tab {
    /// All of them, in their order.
    pub(super) const ALL: [Tab; 5] =
        [Tab::Answer, Tab::Conversations, Tab::Servers, Tab::Findings, Tab::Messages];

    /// Its title.
    pub(super) fn title(self) -> &'static str {
        match self {
            Tab::Answer => "Answer",
            Tab::Conversations => "Conversations",
            Tab::Servers => "Servers",
            Tab::Findings => "Findings",
            Tab::Messages => "Messages",
        }
    }

    /// Its table, if it is one.
    pub(super) fn table(self) -> Option<Table> {
        match self {
            Tab::Answer | Tab::Messages => None,
            Tab::Conversations => Some(Table::Conversations),
            Tab::Servers => Some(Table::Servers),
            Tab::Findings => Some(Table::Findings),
        }
    }

    /// The columns of its table.
    pub(super) fn columns(self) -> Option<PeopleTable> {
        self.table().map(columns)
    }
}

/// The columns of a table, without rare ones: which rows there are changes while a capture is read.
fn columns(table: Table) -> PeopleTable {
    PeopleTable::of(table, &[])
}

/// A row as it is shown.
#[derive(Clone)]
pub(super) struct ShownRow {
    /// One cell for each column, with terminal controls escaped.
    pub(super) cells: Vec<String>,
    /// Its style, if special.
    pub(super) tone: Option<Tone>,
    /// The uncut row as a line.
    pub(super) whole: String,
}

impl ShownRow {
    fn of(
        row: &dyn AnyRow<'_>,
        times: &mut PeopleTimes,
        tone: Option<Tone>,
        whole: String,
    ) -> ShownRow {
        ShownRow { cells: columns(row.table()).cells(row, times), tone, whole }
    }
}

impl ShownRow {
    /// Replaces a cell of a conversation's row.
    pub(super) fn set(&mut self, heading: &str, text: String) {
        let columns = columns(Table::Conversations);
        let at = columns.shown().position(|shown| shown.heading == heading);
        if let Some(cell) = at.and_then(|at| self.cells.get_mut(at)) {
            *cell = text;
        }
    }
}

/// How lists write times: of the day, or the seconds that the style counts.
fn times(model: &Model, style: TimeStyle) -> PeopleTimes {
    PeopleTimes { stamp: model.stamp(style), digits: 6, form: TimeForm::Brief }
}

/// The width of a time in a list.
pub(super) fn width_of_time(style: TimeStyle) -> usize {
    match style {
        TimeStyle::Utc | TimeStyle::Local => 8,
        TimeStyle::Relative | TimeStyle::Delta => 11,
        TimeStyle::Epoch => 17,
    }
}

/// The order that was chosen, or the usual one of a table.
fn chosen(sorting: Sorting, table: Table) -> Sorting {
    let column = sorting.column.or_else(|| table.column(table.usual_order()));
    Sorting::by(table, column, sorting.is_reversed)
}

/// A conversation's row. `before`: the one above it.
pub(super) fn conversation(
    it: &ConversationRow,
    before: Option<&ConversationRow>,
    model: &Model,
    time: TimeStyle,
) -> ShownRow {
    let [from, to] = it.ends;
    let capture = model.index.prefix_of(it.capture);
    let whole = format!(
        "{capture}{from} > {to}, {}, from packet {}: {}",
        it.protocol.info().id,
        it.frames[0],
        counted(it.messages.into(), "message"),
    );
    let tone = it.worst.map(|(weight, verdict)| Tone::Finding(weight, verdict));
    let mut times = times(model, time);
    times.stamp = match before {
        Some(before) if time == TimeStyle::Delta => times.stamp.since(Some(before.start)),
        _ => times.stamp,
    };
    ShownRow::of(&Of::<ConversationTable>(*it), &mut times, tone, whole)
}

/// Puts conversations into an order.
pub(super) fn sort_conversations(numbers: &mut Vec<u32>, sorting: Sorting, model: &Model) {
    if sorting.column.is_none() && sorting.is_reversed {
        return numbers.reverse();
    }
    let cell = |number: &u32| {
        let row = model.index.get(*number).map(Of::<ConversationTable>);
        row.map_or(Cell::Absent, |row| sorting.cell(&row))
    };
    *numbers = sorting.first(std::mem::take(numbers), usize::MAX, cell).0;
}

/// A server or a master.
pub(super) struct PartyRow {
    /// Where it is.
    pub(super) end: SocketAddr,
    /// Its row.
    pub(super) shown: ShownRow,
}

impl PartyRow {
    fn of((Socket(end), it): (Socket, &Server), times: &mut PeopleTimes) -> PartyRow {
        let tone = Tone::Finding(Severity::Warning, Verdict::Fail);
        let tone = Some(tone).filter(|_| it.findings.certain() > 0);
        let mut shown =
            ShownRow::of(&Of::<ServerTable>((Socket(end), it)), times, tone, String::new());
        let (columns, cells) = (columns(Table::Servers), &shown.cells);
        let known = columns.shown().zip(cells).skip(1).filter(|(_, cell)| *cell != "-");
        let known: Vec<_> = known.map(|(it, cell)| format!("{} {cell}", it.heading)).collect();
        shown.whole = format!("{end}  {}", known.join("  "));
        PartyRow { end, shown }
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
        first_of(wanted(model).filter(|it| it.ends.iter().any(|end| is_it(*end))))
    };
    let found = of(&|it| it == end);
    if found.1 > 0 { found } else { of(&|it| it.ip() == end.ip()) }
}

/// The first of these conversations, up to the size of a ladder, and their total number.
pub(super) fn first_of(all: impl Iterator<Item = ConversationRow>) -> (RoaringBitmap, u64) {
    let (mut first, mut count, mut messages) = (RoaringBitmap::new(), 0, 0);
    for it in all {
        if messages < ladder::STEPS {
            first.insert(it.number);
        }
        messages = messages.saturating_add(it.messages as usize);
        count += 1;
    }
    (first, count)
}

/// Keeps the parties of conversations that the display filter selects.
fn narrow(parties: &mut Vec<(Socket, &Server)>, model: &Model) {
    if model.matches.is_none() {
        return;
    }
    let (ends, hosts): (HashSet<_>, HashSet<_>) =
        parties.iter().map(|(Socket(end), _)| (*end, end.ip())).unzip();
    let (mut theirs, mut of_hosts) = (HashSet::new(), HashSet::new());
    for end in wanted(model).flat_map(|it| it.ends) {
        theirs.extend(Some(end).filter(|end| ends.contains(end)));
        of_hosts.extend(Some(end.ip()).filter(|host| hosts.contains(host)));
    }
    // The ports of some are only named in their heartbeats.
    let all = model.index.order().iter().filter_map(|&number| model.index.get(number));
    let known: HashSet<_> = all.flat_map(|it| it.ends).filter(|end| ends.contains(end)).collect();
    parties.retain(|(Socket(end), _)| match known.contains(end) {
        true => theirs.contains(end),
        false => of_hosts.contains(&end.ip()),
    });
}

/// Servers and masters with selected conversations, in an order.
pub(super) fn parties(model: &Model, sorting: Sorting, time: TimeStyle) -> Vec<PartyRow> {
    let (summary, sorting) = (model.summary(), chosen(sorting, Table::Servers));
    let masters = summary.masters.rows().into_iter().map(|(end, it)| (end, it.as_server()));
    let masters: Vec<_> = masters.collect();
    let masters = masters.iter().map(|(end, it)| (*end, it));
    let mut parties: Vec<_> = masters.chain(summary.servers.rows()).collect();
    narrow(&mut parties, model);
    let (parties, _) =
        sorting.first(parties, usize::MAX, |row| sorting.cell(&Of::<ServerTable>(*row)));
    let mut times = times(model, time);
    parties.into_iter().map(|row| PartyRow::of(row, &mut times)).collect()
}

/// How much there is of what the filter selects.
#[derive(Clone, Copy, Default)]
pub(super) struct TabCounts {
    pub(super) conversations: usize,
    /// Servers and masters.
    pub(super) servers: usize,
    pub(super) findings: usize,
    pub(super) messages: usize,
}

impl TabCounts {
    pub(super) fn of(model: &Model) -> TabCounts {
        let (summary, findings) = (model.summary(), wanted_findings(model).count());
        match &model.matches {
            None => TabCounts {
                conversations: model.index.order().len(),
                servers: summary.servers.len() + summary.masters.len(),
                findings,
                messages: model.messages.counted(),
            },
            Some(matches) => TabCounts {
                conversations: wanted(model).count(),
                servers: parties(model, Sorting::default(), TimeStyle::Utc).len(),
                findings,
                messages: model.messages.counted_of(|of, frame| matches.has(of, frame)),
            },
        }
    }
}

/// A finding, with its capture, and with its conversation, where it is about one.
#[derive(Clone, Copy)]
struct PlacedFinding<'m> {
    capture: usize,
    conversation: Option<u32>,
    found: &'m ReportedFinding,
}

/// The findings: only of selected messages, if there is a filter.
fn wanted_findings(model: &Model) -> impl Iterator<Item = PlacedFinding<'_>> {
    let all = model.found().map(|(capture, found)| {
        let conversation = model.conversation_of(capture, found.flow);
        PlacedFinding { capture, conversation, found }
    });
    all.filter(|it| {
        let is_about =
            |matches: &Matches| it.conversation.is_some_and(|of| matches.has(of, it.found.frame()));
        model.matches.as_ref().is_none_or(is_about)
    })
}

/// A finding.
pub(super) struct FoundRow {
    /// The conversation, where it is about one.
    pub(super) conversation: Option<u32>,
    /// The packet; 0 for none.
    pub(super) frame: u64,
    /// Its row.
    pub(super) shown: ShownRow,
}

/// The findings, in an order: only of selected messages, if there is a filter.
pub(super) fn findings(model: &Model, sorting: Sorting, time: TimeStyle) -> Vec<FoundRow> {
    let (places, files) = (PacketPlaces::default(), Files::default());
    let sorting = chosen(sorting, Table::Findings);
    let rows = wanted_findings(model).map(|it| (it, FindingRow::of(it.found, &places, &files)));
    let rows: Vec<_> = rows.collect();
    let all = rows.iter().collect();
    let (rows, _) =
        sorting.first(all, usize::MAX, |(.., row)| sorting.cell(&Of::<FindingTable>(row)));
    let mut times = times(model, time);
    let shown = rows.into_iter().map(|(PlacedFinding { capture, conversation, found }, row)| {
        let (code, slug, detail) = (found.rule.code, found.rule.slug, escaped(&found.detail));
        let mark = if found.verdict == Verdict::Inconclusive { "?" } else { "" };
        let (capture, severity) = (model.index.prefix_of(*capture), found.severity.name());
        let whole = format!("{capture}{severity}{mark} {code} {slug}: {detail}");
        let tone = Some(Tone::Finding(found.severity, found.verdict));
        let shown = ShownRow::of(&Of::<FindingTable>(row), &mut times, tone, whole);
        FoundRow { conversation: *conversation, frame: found.frame(), shown }
    });
    shown.collect()
}

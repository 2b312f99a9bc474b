//! Rows for people: as a table for a terminal, or of Markdown.

use dissectors::kit::{Time, Verdict};

use super::clock::TimeFormatter;
use super::markdown;
use super::paint::{Paint, TextStyle};
use super::put;
use super::text_table::{TextColumn, TextTable};
use crate::rows::{AnyRow, BoxedRow, Cell, Kind, Shown, ShownColumn, Table};
use crate::text::{brief_span, escaped, grouped};

/// The columns that people see of a table.
pub struct PeopleTable {
    columns: Vec<ShownColumn>,
}

impl PeopleTable {
    /// All columns of a table that people may see.
    pub fn all(table: Table) -> PeopleTable {
        PeopleTable { columns: table.for_people() }
    }

    /// The same without rare columns that are 0 or empty in all these rows.
    pub fn of(table: Table, rows: &[BoxedRow<'_>]) -> PeopleTable {
        let mut all = PeopleTable::all(table);
        let is_nothing = |cell: Cell<'_>| matches!(cell, Cell::Absent | Cell::Integer(0));
        let is_empty = |at: usize| rows.iter().all(|row| is_nothing(row.cell(at)));
        all.columns.retain(|column| !(column.shown.is_rare && is_empty(column.at)));
        all
    }

    /// How people see the columns.
    pub fn shown(&self) -> impl Iterator<Item = &Shown> {
        self.columns.iter().map(|column| &column.shown)
    }

    /// The indices of the columns in their table.
    pub fn indices(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().map(|column| column.at)
    }

    /// Whether each column is aligned to the right.
    pub fn are_numbers(&self) -> impl Iterator<Item = bool> {
        self.columns.iter().map(|column| column.kind.is_number() && !column.shown.is_left)
    }

    /// The columns, to be laid out.
    pub(super) fn layout(&self) -> Vec<TextColumn> {
        let columns = self.shown().zip(self.are_numbers()).map(|(shown, is_number)| TextColumn {
            heading: shown.heading.to_owned(),
            is_number,
            importance: shown.importance,
            shortest: shown.shortest,
        });
        columns.collect()
    }

    /// The widths of columns on a screen that is as wide as this; `None`: there is no room for it.
    pub fn on_screen(&self, width: usize, time: usize) -> Vec<Option<usize>> {
        let usual = self.columns.iter().map(|column| {
            column.shown.usual.unwrap_or(match column.kind {
                Kind::Count => 6,
                Kind::Integer | Kind::Seconds => 7,
                Kind::Time => time,
                Kind::Bytes | Kind::Rate => 8,
                Kind::Text => 12,
                Kind::Json | Kind::Counts | Kind::Integers | Kind::Texts => 20,
            })
        });
        TextTable::on_screen(self.layout(), &Vec::from_iter(usual), width)
    }

    /// The cells of a row as text.
    pub fn cells(&self, row: &dyn AnyRow<'_>, times: &mut PeopleTimes) -> Vec<String> {
        self.columns.iter().map(|it| text(&row.people(it.at), it.kind, times)).collect()
    }

    /// A whole table that is as wide as a terminal at most. `all`: the options that show all columns.
    pub fn text(
        &self,
        rows: &[BoxedRow<'_>],
        all: &str,
        times: &mut PeopleTimes,
        style: TextStyle,
        out: &mut Vec<u8>,
    ) {
        let TextStyle { terminal, paint } = style;
        let rows: Vec<_> = rows.iter().map(|row| self.cells(&**row, times)).collect();
        let mut table = TextTable::new(self.layout(), terminal);
        rows.iter().for_each(|row| table.widen(row));
        table.header(paint, out);
        rows.iter().for_each(|row| table.row(row, out));
        table.note(all, paint, out);
    }

    /// As a table of GitHub's Markdown.
    pub fn markdown(&self, rows: &[BoxedRow<'_>], times: &mut PeopleTimes, out: &mut Vec<u8>) {
        self.shown().for_each(|shown| put(out, format_args!("| {} ", shown.heading)));
        out.extend_from_slice(b"|\n");
        self.are_numbers().for_each(|is_number| {
            out.extend_from_slice(if is_number { b"|--:" } else { b"|---" });
        });
        out.extend_from_slice(b"|\n");
        for row in rows {
            let cells = self.cells(&**row, times);
            cells.iter().for_each(|cell| put(out, format_args!("| {} ", markdown::cell(cell))));
            out.extend_from_slice(b"|\n");
        }
    }
}

/// A table whose rows are written one by one; its columns are as wide as the cells of the first ones.
pub struct LongTable {
    columns: PeopleTable,
    layout: TextTable,
    times: PeopleTimes,
}

impl LongTable {
    /// A table that begins with these rows. On a terminal with this many columns, columns that do not fit are left
    /// out.
    pub fn new<'r>(
        table: Table,
        rows: impl Iterator<Item = impl AnyRow<'r>>,
        terminal: Option<usize>,
        mut times: PeopleTimes,
    ) -> LongTable {
        let columns = PeopleTable::all(table);
        let mut layout = TextTable::new(columns.layout(), terminal);
        rows.for_each(|row| layout.widen(&columns.cells(&row, &mut times)));
        LongTable { columns, layout, times }
    }

    /// Writes the headings.
    pub fn header(&self, paint: Paint, out: &mut Vec<u8>) {
        self.layout.header(paint, out);
    }

    /// Writes the next row.
    pub fn row(&mut self, row: &dyn AnyRow<'_>, out: &mut Vec<u8>) {
        self.layout.row(&self.columns.cells(row, &mut self.times), out);
    }

    /// Writes a note about columns that are left out, if any is; `all`: the options that show all columns.
    pub fn end(&self, all: &str, paint: Paint, out: &mut Vec<u8>) {
        self.layout.note(all, paint, out);
    }
}

/// A value for people.
fn text(cell: &Cell<'_>, kind: Kind, times: &mut PeopleTimes) -> String {
    let number = |number: i64| match (kind, number.unsigned_abs()) {
        (Kind::Integer, _) => number.to_string(),
        (Kind::Bytes, 0) => "-".to_owned(),
        (Kind::Bytes, count) => format!("{} B", grouped(count)),
        (_, count) => grouped(count),
    };
    match cell {
        Cell::Absent | Cell::Portion(_, 0) => "-".to_owned(),
        Cell::Text(text) => escaped(text).into_owned(),
        Cell::Json(text) => escaped(text).into_owned(),
        Cell::End(end) => end.to_string(),
        Cell::Address(address) => address.to_string(),
        Cell::Integer(it) => number(*it),
        Cell::Sides([a, b]) => format!("{}/{}", short(*a), short(*b)),
        // Rounded down, so that 100 % means all.
        Cell::Portion(some, all) => {
            let tenths = u128::from(*some) * 1000 / u128::from(*all);
            format!("{}.{} %", tenths / 10, tenths % 10)
        }
        Cell::Seconds(span) => brief_span(span.unsigned_abs()),
        Cell::Rate(rate) => rate_in_words(*rate),
        Cell::Time(time) => times.text(*time),
        Cell::Integers(many) => Vec::from_iter(many.iter().map(i64::to_string)).join(", "),
        Cell::Texts(texts) if texts.is_empty() => "-".to_owned(),
        Cell::Texts(texts) => escaped(&texts.join(", ")).into_owned(),
        Cell::Counts(counts) => {
            let each = counts.iter().map(|(name, count)| format!("{name} {}", grouped(*count)));
            Vec::from_iter(each).join(", ")
        }
        Cell::Severity(severity, verdict, count) => {
            let mark = if *verdict == Verdict::Inconclusive { "?" } else { "" };
            let several = if *count > 1 { format!(" {count}") } else { String::new() };
            format!("{}{mark}{several}", severity.name())
        }
    }
}

/// A count with few digits.
fn short(count: u64) -> String {
    match count {
        0..100_000 => count.to_string(),
        100_000..10_000_000 => format!("{}K", count / 1000),
        10_000_000..10_000_000_000 => format!("{}M", count / 1_000_000),
        _ => format!("{}G", count / 1_000_000_000),
    }
}

/// A rate in the first unit in which it is at least 1.
fn rate_in_words(per_second: f64) -> String {
    let units = [("s", 1.0), ("min", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    // Rounded first: what would be shown as less than 1 is shown in the next unit.
    let shown = units.map(|(unit, seconds)| (unit, (per_second * seconds * 10.0).round() / 10.0));
    let [.., last] = shown;
    let (unit, rate) = shown.into_iter().find(|(_, rate)| *rate >= 1.0).unwrap_or(last);
    match rate {
        100.0.. => format!("{}/{unit}", grouped(rate.round() as u64)),
        _ => format!("{rate:.1}/{unit}"),
    }
}

/// How times are shown to people.
pub struct PeopleTimes {
    /// Their style.
    pub stamp: TimeFormatter,
    /// Digits of a second.
    pub digits: u8,
    /// What is shown of them.
    pub form: TimeForm,
}

/// What is shown of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeForm {
    /// The time of day, or the seconds that the style counts.
    Brief,
    /// The same with the date, because the capture spans several days.
    WithDate,
    /// The time of day in any style.
    OfDay,
}

impl PeopleTimes {
    fn text(&mut self, time: Time) -> String {
        match self.form {
            TimeForm::Brief => self.stamp.second(time, self.digits).0,
            form => super::to_text(|out| match form {
                TimeForm::OfDay => self.stamp.second_of_day(time, out),
                _ => self.stamp.date_and_second(time, self.digits, out),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TimeStyle;
    use super::*;

    #[test]
    fn numbers_for_people() {
        let mut times =
            PeopleTimes { stamp: TimeFormatter::default(), digits: 6, form: TimeForm::Brief };
        let shown = [(9999, 10_000), (3, 3), (0, 0)];
        let shown =
            shown.map(|(some, all)| text(&Cell::Portion(some, all), Kind::Count, &mut times));
        assert_eq!(shown, ["99.9 %", "100.0 %", "-"], "not all is not 100 %");
        let rates = [1510.0, 1.0, 0.997, 0.2, 1.0 / 60.0, 1.0 / 300.0, 1.0 / 7200.0, 1e-6, 0.0];
        let expected = [
            "1,510/s", "1.0/s", "1.0/s", "12.0/min", "1.0/min", "12.0/h", "12.0/d", "0.1/d",
            "0.0/d",
        ];
        assert_eq!(rates.map(rate_in_words), expected);
    }

    #[test]
    fn times_have_a_date_where_they_need_one() {
        let time = Time(1_795_168_800_123_456_789);
        let shown = |style, form| {
            let stamp = TimeFormatter::new(style).since(Some(Time(time.0 - 90_000_000_000)));
            PeopleTimes { stamp, digits: 6, form }.text(time)
        };
        assert_eq!(shown(TimeStyle::Utc, TimeForm::Brief), "10:00:00");
        assert_eq!(shown(TimeStyle::Utc, TimeForm::WithDate), "2026-11-20 10:00:00");
        let relative =
            [TimeForm::WithDate, TimeForm::Brief].map(|it| shown(TimeStyle::Relative, it));
        assert_eq!(relative, ["90.000000"; 2]);
        assert_eq!(shown(TimeStyle::Relative, TimeForm::OfDay), "10:00:00");
    }
}

//! Tables for people: each column is as wide as its cells, and the table is not wider than the terminal.
//!
//! If it would be wider, columns of little importance are left out, then texts are shortened, then further
//! columns are left out; a note lists them. Without a known width, as in a pipe, the table is complete.

use super::paint::{Paint, Tone};
use super::put;
use crate::rows::Importance;
use crate::text::{shortened, width, wrapped};

/// Maximum width of a column without a terminal: a longer cell widens only its own line.
const WIDE: usize = 80;

/// From this width on, a text can be shortened on a small screen, such as an address.
const LONG: usize = 16;

/// Its width there: that of a port, and of the beginning of the address.
const NARROW: usize = 8;

/// The heading and layout of a column.
#[derive(Clone, Debug)]
pub(super) struct TextColumn {
    pub(super) heading: String,
    /// It is aligned to the right.
    pub(super) is_number: bool,
    pub(super) importance: Importance,
    /// The minimum width of shortened cells; `None` if cells are not shortened.
    pub(super) shortest: Option<usize>,
}

/// A table with a line of headings.
pub(super) struct TextTable {
    columns: Vec<TextColumn>,
    /// The widest cell of each column.
    natural: Vec<usize>,
    /// The width of each column; `None` if it is left out.
    shown: Vec<Option<usize>>,
    /// The width of the terminal.
    terminal: Option<usize>,
    /// The number of spaces between columns.
    gap: usize,
}

impl TextTable {
    /// A table without rows.
    pub(super) fn new(columns: Vec<TextColumn>, terminal: Option<usize>) -> TextTable {
        let natural: Vec<_> = columns.iter().map(|column| width(&column.heading)).collect();
        let mut table = TextTable { columns, natural, shown: Vec::new(), terminal, gap: 2 };
        table.fit();
        table
    }

    /// The widths of columns that are usually as wide as `usual`, one space apart, on a screen of this width;
    /// `None` for those that are left out. Texts that can be shortened take all the room that remains.
    pub(super) fn on_screen(
        columns: Vec<TextColumn>,
        usual: &[usize],
        screen: usize,
    ) -> Vec<Option<usize>> {
        let mut table = TextTable { gap: 1, ..TextTable::new(columns, Some(screen)) };
        let shortest: Vec<_> = table.columns.iter().map(|column| column.shortest).collect();
        let columns = table.columns.iter_mut().zip(&mut table.natural).zip(usual);
        for ((column, natural), usual) in columns {
            *natural = (*natural).max(*usual);
            // No text is shortened in favour of a lesser column.
            column.shortest = column.shortest.map(|_| *natural);
        }
        table.fit();
        for (column, shortest) in table.columns.iter_mut().zip(shortest) {
            column.shortest = shortest;
        }
        table.shorten(screen);
        table.squeeze(screen);
        let mut room = screen.saturating_sub(table.taken(false));
        let columns = table.columns.iter().zip(&mut table.shown);
        let texts = columns.filter(|(column, _)| column.shortest.is_some());
        let texts: Vec<_> = texts.filter_map(|(_, shown)| shown.as_mut()).collect();
        let count = texts.len();
        for (width, left) in texts.into_iter().zip((1..=count).rev()) {
            let more = room.div_ceil(left);
            *width += more;
            room -= more;
        }
        table.shown
    }

    /// Makes a table fit that is still too wide: long texts become as short as possible, then columns are left out from
    /// the right.
    fn squeeze(&mut self, screen: usize) {
        if self.taken(false) <= screen {
            return;
        }
        for (column, natural) in self.columns.iter_mut().zip(&self.natural) {
            if !column.is_number && *natural >= LONG {
                column.shortest = Some(column.shortest.unwrap_or(NARROW).min(NARROW));
            }
        }
        self.shorten(screen);
        for at in (1..self.columns.len()).rev() {
            if self.taken(false) <= screen {
                break;
            }
            if let Some(shown) = self.shown.get_mut(at) {
                *shown = None;
            }
        }
    }

    /// Widens the columns for a row with these cells.
    pub(super) fn widen<C: AsRef<str>>(&mut self, cells: &[C]) {
        let mut is_wider = false;
        for ((column, natural), cell) in self.columns.iter().zip(&mut self.natural).zip(cells) {
            let most = match (self.terminal, column.shortest) {
                (None, _) => WIDE,
                (Some(_), None) => usize::MAX,
                (Some(terminal), Some(shortest)) => terminal.max(shortest),
            };
            let width = width(cell.as_ref()).min(most);
            is_wider |= width > *natural;
            *natural = width.max(*natural);
        }
        if is_wider {
            self.fit();
        }
    }

    /// Determines the columns to show, and their widths.
    fn fit(&mut self) {
        self.shown = self.natural.iter().copied().map(Some).collect();
        let Some(terminal) = self.terminal else { return };
        let mut order: Vec<_> = (0..self.columns.len()).collect();
        order.sort_by_key(|at| self.columns.get(*at).map(|column| column.importance));
        let mut left_out = None;
        for at in order {
            let Some(column) = self.columns.get(at) else { continue };
            let is_shortened = !matches!(column.importance, Importance::Spare(_));
            let is_among = left_out == Some(column.importance);
            let fits = || !is_among && self.taken(is_shortened) <= terminal;
            if column.importance == Importance::Essential || fits() {
                break;
            }
            left_out = Some(column.importance);
            self.shown[at] = None;
        }
        self.shorten(terminal);
    }

    /// The table's width, with texts in full or as short as possible.
    fn taken(&self, is_shortened: bool) -> usize {
        let widths = self.columns.iter().zip(&self.shown);
        let widths = widths.filter_map(|(column, shown)| {
            let least = column.shortest.filter(|_| is_shortened).unwrap_or(usize::MAX);
            shown.map(|width| width.min(least.max(self::width(&column.heading))) + self.gap)
        });
        widths.sum::<usize>().saturating_sub(self.gap)
    }

    /// Shortens the widest texts until the table fits, or all are as short as possible.
    fn shorten(&mut self, terminal: usize) {
        let mut excess = self.taken(false).saturating_sub(terminal);
        while excess > 0 {
            let mut room: Vec<_> = self.columns.iter().zip(&mut self.shown).collect();
            let can_be = room.iter_mut().filter_map(|(column, shown)| {
                let least = column.shortest?.max(width(&column.heading));
                let width = shown.as_mut()?;
                (*width > least).then_some((width, least))
            });
            let mut widths: Vec<_> = can_be.collect();
            widths.sort_by_key(|(width, _)| std::cmp::Reverse(**width));
            // The widest column becomes narrower than the next one by one.
            let next = widths.get(1).map_or(0, |(width, _)| **width);
            let Some((widest, least)) = widths.into_iter().next() else { return };
            let goal = next.saturating_sub(1).max(least).max(widest.saturating_sub(excess));
            excess -= *widest - goal;
            *widest = goal;
        }
    }

    /// Writes the headings.
    pub(super) fn header(&self, paint: Paint, out: &mut Vec<u8>) {
        let headings: Vec<_> = self.columns.iter().map(|column| &*column.heading).collect();
        paint.paint(Tone::Faint, out, |out| self.row(&headings, out));
    }

    /// Writes a row. On a terminal, the last column has the remaining width.
    pub(super) fn row<C: AsRef<str>>(&self, cells: &[C], out: &mut Vec<u8>) {
        let mut line = String::new();
        let last = self.shown.iter().rposition(Option::is_some);
        let gap = " ".repeat(self.gap);
        for (at, (column, cell)) in self.columns.iter().zip(cells).enumerate() {
            let Some(Some(shown)) = self.shown.get(at).copied() else { continue };
            let cell = cell.as_ref();
            let rest = self.terminal.filter(|_| last == Some(at) && !column.is_number);
            let rest = rest.map_or(0, |terminal| terminal.saturating_sub(width(&line)));
            let most = match column.shortest.and(self.terminal) {
                Some(_) => shown.max(rest),
                None => usize::MAX,
            };
            let cell = shortened(cell, most);
            let pad = " ".repeat(shown.saturating_sub(width(&cell)));
            let [before, after] = if column.is_number { [&*pad, ""] } else { ["", &*pad] };
            line.extend([before, &cell, after, &gap]);
        }
        put(out, format_args!("{}\n", line.trim_end()));
    }

    /// Writes a note about columns that are left out; `all`: the options that show all columns.
    pub(super) fn note(&self, all: &str, paint: Paint, out: &mut Vec<u8>) {
        let columns = self.columns.iter().zip(&self.shown);
        let left_out = columns.filter(|(_, shown)| shown.is_none());
        let left_out: Vec<_> = left_out.map(|(column, _)| &*column.heading).collect();
        if left_out.is_empty() {
            return;
        }
        let note = format!("no room for {}; see {all}", left_out.join(", "));
        for line in wrapped(&note, self.terminal.unwrap_or(usize::MAX)) {
            paint.paint(Tone::Faint, out, |out| put(out, format_args!("{line}\n")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(heading: &str, importance: Importance, shortest: Option<usize>) -> TextColumn {
        TextColumn { heading: heading.to_owned(), is_number: false, importance, shortest }
    }

    /// A table with an address, a name, a map, a version and a number, in this width.
    fn table(terminal: Option<usize>) -> [String; 2] {
        let columns = vec![
            column("SERVER", Importance::Essential, None),
            column("NAME", Importance::Essential, Some(6)),
            column("MAP", Importance::Useful(1), Some(4)),
            column("VERSION", Importance::Spare(0), Some(4)),
            TextColumn { is_number: true, ..column("P95", Importance::Useful(0), None) },
        ];
        let rows = [
            ["10.0.0.2:27015", "Mill Creek 24/7", "ctf_2fort", "8622567", "22ms"],
            ["10.0.0.3:27015", "\u{6771}\u{4EAC}\u{6771}\u{4EAC}\u{6771}\u{4EAC}", "b", "1", "5ms"],
        ];
        let mut table = TextTable::new(columns, terminal);
        rows.iter().for_each(|row| table.widen(row));
        let mut out = Vec::new();
        table.header(Paint::new(false), &mut out);
        rows.iter().for_each(|row| table.row(row, &mut out));
        let mut note = Vec::new();
        table.note("csv", Paint::new(false), &mut note);
        [out, note].map(|out| String::from_utf8(out).expect("UTF-8"))
    }

    #[test]
    fn a_table_becomes_narrower_step_by_step() {
        let [whole, note] = table(None);
        assert_eq!(
            whole,
            "SERVER          NAME             MAP        VERSION   P95\n\
             10.0.0.2:27015  Mill Creek 24/7  ctf_2fort  8622567  22ms\n\
             10.0.0.3:27015  \u{6771}\u{4EAC}\u{6771}\u{4EAC}\u{6771}\u{4EAC}     b          1         5ms\n"
        );
        assert_eq!(note, "");
        assert_eq!(table(Some(57)), [whole, note]);
        // First unimportant columns, then long texts, then other columns.
        let [spare, note] = table(Some(56));
        assert_eq!(spare.lines().nth(1), Some("10.0.0.2:27015  Mill Creek 24/7  ctf_2fort  22ms"));
        assert_eq!(note, "no room for VERSION; see csv\n");
        let [short, _] = table(Some(40));
        assert_eq!(
            short,
            "SERVER          NAME      MAP        P95\n\
             10.0.0.2:27015  Mill Cr\u{2026}  ctf_2fo\u{2026}  22ms\n\
             10.0.0.3:27015  \u{6771}\u{4EAC}\u{6771}\u{2026}   b          5ms\n"
        );
        let [narrow, note] = table(Some(30));
        assert_eq!(
            narrow.lines().nth(1),
            Some("10.0.0.2:27015  Mill \u{2026}  ctf_2\u{2026}"),
            "{narrow}"
        );
        assert_eq!(note, "no room for VERSION, P95; see\ncsv\n");
    }

    #[test]
    fn a_table_is_never_wider_than_its_terminal_if_it_can_be_helped() {
        for terminal in 22..70 {
            let text = table(Some(terminal)).concat();
            let widest = text.lines().map(width).max();
            assert!(widest <= Some(terminal), "{terminal}:\n{text}");
        }
        // An address is never shortened.
        let [narrow, _] = table(Some(5));
        assert!(narrow.contains("10.0.0.2:27015  Mill \u{2026}"), "{narrow}");
    }

    #[test]
    fn on_a_screen_texts_take_the_room_that_remains() {
        let columns = || {
            vec![
                column("SERVER", Importance::Essential, None),
                column("NAME", Importance::Essential, Some(6)),
                column("VERSION", Importance::Spare(0), None),
            ]
        };
        let widths = |screen| TextTable::on_screen(columns(), &[21, 10, 12], screen);
        assert_eq!(widths(60), [Some(21), Some(25), Some(12)]);
        assert_eq!(widths(44), [Some(21), Some(22), None]);
        assert_eq!(widths(30), [Some(21), Some(8), None]);
        assert_eq!(widths(20), [Some(13), Some(6), None], "an address is shortened then");
        assert_eq!(widths(14), [Some(14), None, None], "and the last columns are left out");
    }

    #[test]
    fn in_a_pipe_a_long_cell_widens_only_its_line() {
        let mut table = TextTable::new(
            vec![
                column("NAME", Importance::Essential, Some(6)),
                column("MAP", Importance::Essential, None),
            ],
            None,
        );
        let long = "x".repeat(WIDE + 12);
        table.widen(&[&*long, "a"]);
        let mut out = Vec::new();
        table.row(&[&*long, "a"], &mut out);
        table.row(&["y", "b"], &mut out);
        let expected = format!("{long}  a\ny{}b\n", " ".repeat(WIDE + 1));
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}

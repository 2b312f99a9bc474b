//! Rows for scripts: as comma-separated values, or as objects of JSON.

use super::clock::{Clock, TimeFormatter};
use super::json::{seconds, string};
use super::put;
use super::spreadsheet::{csv_cell, csv_json, csv_line, csv_text};
use crate::rows::{AnyRow, CAPTURE, Cell, PlacedHeading};

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Durations have as many digits as times.
    Digits,
    /// Durations are as JSON has them: `2.0`.
    Floats,
    /// As tables store them: durations as short as possible, `2`, and an empty text is no value.
    Stored,
}

/// The columns of a line, and the name of the capture, if that comes before or after them.
#[derive(Clone, Copy)]
pub struct LineColumns<'c> {
    /// The columns.
    pub columns: &'c [PlacedHeading],
    /// The capture, as the first column.
    pub before: Option<&'c str>,
    /// The capture, as the last column.
    pub after: Option<&'c str>,
}

impl<'c> LineColumns<'c> {
    /// The line of names, as RFC 4180 has it.
    pub fn header(self, out: &mut Vec<u8>) {
        let own = self.columns.iter().map(|(_, heading)| heading.name);
        let [before, after] = [self.before, self.after].map(|it| it.map(|_| CAPTURE.name));
        csv_line(before.into_iter().chain(own).chain(after), out);
    }

    /// The names of a row's values, and the values.
    fn of<'r: 'c>(self, row: &'c dyn AnyRow<'r>) -> impl Iterator<Item = (&'static str, Cell<'c>)> {
        let own = self.columns.iter().map(|(at, heading)| (heading.name, row.cell(*at)));
        let [before, after] =
            [self.before, self.after].map(|name| name.map(|name| (CAPTURE.name, Cell::from(name))));
        before.into_iter().chain(own).chain(after)
    }
}

/// Writes rows, one line each.
pub struct LineWriter {
    /// In CSV, times are in the user's style. In JSON, they are in UTC.
    stamp: TimeFormatter,
    clock: Clock,
    values: Values,
    /// Digits of a second in times.
    pub digits: u8,
}

impl LineWriter {
    /// With times in this style, with these digits.
    pub fn new(stamp: TimeFormatter, digits: u8, values: Values) -> LineWriter {
        LineWriter { stamp, clock: Clock::default(), values, digits }
    }

    /// A row as RFC 4180 has it.
    pub fn csv(&mut self, columns: LineColumns<'_>, row: &dyn AnyRow<'_>, out: &mut Vec<u8>) {
        for (nth, (_, cell)) in columns.of(row).enumerate() {
            if nth > 0 {
                out.push(b',');
            }
            self.csv_value(&cell, out);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// A row as an object.
    pub fn object(&mut self, columns: LineColumns<'_>, row: &dyn AnyRow<'_>, out: &mut Vec<u8>) {
        for (nth, (name, cell)) in columns.of(row).enumerate() {
            put(out, format_args!("{}\"{name}\":", if nth > 0 { ',' } else { '{' }));
            self.json_value(&cell, out);
        }
        out.push(b'}');
    }

    fn csv_value(&mut self, cell: &Cell<'_>, out: &mut Vec<u8>) {
        match cell {
            Cell::Absent => {}
            Cell::Text(text) => csv_text(text, out),
            Cell::Json(text) => csv_json(text, out),
            // The elements of a list are separated by commas.
            Cell::Texts(texts) => csv_text(&texts.join(","), out),
            Cell::Integers(many) => {
                csv_cell(&Vec::from_iter(many.iter().map(i64::to_string)).join(","), out);
            }
            Cell::Counts(counts) => {
                let each = counts.iter().map(|(name, count)| format!("{name}={count}"));
                csv_cell(&Vec::from_iter(each).join(" "), out);
            }
            Cell::Time(time) => self.stamp.next(*time, self.digits, out),
            Cell::End(end) => put(out, format_args!("{end}")),
            Cell::Address(address) => put(out, format_args!("{address}")),
            Cell::Severity(severity, ..) => out.extend_from_slice(severity.name().as_bytes()),
            // Numbers are not text from the wire: their minus sign begins no formula.
            number => self.json_value(number, out),
        }
    }

    /// One value as JSON.
    pub fn json_value(&mut self, cell: &Cell<'_>, out: &mut Vec<u8>) {
        match cell {
            Cell::Absent | Cell::Portion(..) => out.extend_from_slice(b"null"),
            Cell::Text(text) if text.is_empty() && self.values == Values::Stored => {
                out.extend_from_slice(b"null");
            }
            Cell::Text(text) => quoted(text, out),
            Cell::Json(text) => out.extend_from_slice(text.as_bytes()),
            Cell::End(end) => put(out, format_args!("\"{end}\"")),
            Cell::Address(address) => put(out, format_args!("\"{address}\"")),
            Cell::Severity(severity, ..) => quoted(severity.name(), out),
            Cell::Integer(number) => put(out, format_args!("{number}")),
            Cell::Sides([a, b]) => put(out, format_args!("{}", a.saturating_add(*b))),
            Cell::Seconds(span) => match self.values {
                Values::Digits => seconds(out, *span, self.digits),
                Values::Stored => put(out, format_args!("{}", *span as f64 / 1e9)),
                Values::Floats => float(*span as f64 / 1e9, out),
            },
            Cell::Rate(rate) => float(*rate, out),
            Cell::Time(time) => {
                out.push(b'"');
                self.clock.rfc3339(*time, self.digits, out);
                out.push(b'"');
            }
            Cell::Integers(many) => list("[]", many, out, |it, out| put(out, format_args!("{it}"))),
            Cell::Texts(texts) => list("[]", texts, out, |text, out| quoted(text, out)),
            Cell::Counts(counts) => list("{}", counts, out, |(name, count), out| {
                quoted(name, out);
                put(out, format_args!(":{count}"));
            }),
        }
    }
}

fn list<T>(brackets: &str, many: &[T], out: &mut Vec<u8>, mut each: impl FnMut(&T, &mut Vec<u8>)) {
    let (open, close) = brackets.split_at(1);
    out.extend_from_slice(open.as_bytes());
    for (nth, one) in many.iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        each(one, out);
    }
    out.extend_from_slice(close.as_bytes());
}

fn quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    string(out, text.as_bytes());
    out.push(b'"');
}

/// A number that is finite.
fn float(value: f64, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail.
    let _ = serde_json::to_writer(out, &value);
}

#[cfg(test)]
mod tests {
    use dissectors::kit::Time;

    use super::*;
    use crate::rows::Table;

    /// A row with few cells.
    struct ShortRow(Vec<Cell<'static>>);

    impl AnyRow<'static> for ShortRow {
        fn table(&self) -> Table {
            Table::Verdicts
        }

        fn cell(&self, at: usize) -> Cell<'static> {
            self.0[at].clone()
        }

        fn people(&self, at: usize) -> Cell<'static> {
            self.cell(at)
        }
    }

    fn cells() -> ShortRow {
        ShortRow(vec![
            Cell::Absent,
            "=1+1, \"a\"\n\u{1B}".into(),
            (-1_i64).into(),
            Cell::Seconds(-250_000_000),
            Time(1_795_168_800_000_000_001).into(),
            Cell::Integers(&[5, -6]),
            Cell::Json(r#"{"a":[1]}"#),
            Cell::Counts(vec![("a.b".to_owned(), 1), ("c".to_owned(), 2)]),
        ])
    }

    fn written(write: impl FnOnce(&mut LineWriter, LineColumns<'_>, &mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        let columns: Vec<_> = Table::Verdicts.of_file().into_iter().take(8).collect();
        let columns = LineColumns { columns: &columns, before: None, after: Some("a.pcap") };
        write(&mut LineWriter::new(TimeFormatter::default(), 9, Values::Stored), columns, &mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_row_of_comma_separated_values() {
        let row = written(|lines, columns, out| lines.csv(columns, &cells(), out));
        let expected = concat!(
            r#","'=1+1, ""a""\x0A\x1B",-1,-0.25,2026-11-20T10:00:00.000000001Z,"5,-6","#,
            "\"{\"\"a\"\":[1]}\",a.b=1 c=2,a.pcap\r\n"
        );
        assert_eq!(row, expected);
        let header = written(|_, columns, out| columns.header(out));
        assert!(header.starts_with("rule,slug,") && header.ends_with(",capture\r\n"), "{header}");
    }

    #[test]
    fn a_row_of_json() {
        let row = written(|lines, columns, out| lines.object(columns, &cells(), out));
        let expected = concat!(
            r#"{"rule":null,"slug":"=1+1, \"a\"\n\u001b","severity":-1,"who":-0.25,"#,
            r#""verdict":"2026-11-20T10:00:00.000000001Z","passed":[5,-6],"failed":{"a":[1]},"#,
            r#""inconclusive":{"a.b":1,"c":2},"capture":"a.pcap"}"#
        );
        assert_eq!(row, expected);
    }

    #[test]
    fn durations_and_empty_texts() {
        let each = [Values::Digits, Values::Floats, Values::Stored].map(|values| {
            let mut lines = LineWriter::new(TimeFormatter::default(), 6, values);
            let (mut out, cells) = (Vec::new(), [Cell::Seconds(2_000_000_000), "".into()]);
            cells.iter().for_each(|cell| lines.json_value(cell, &mut out));
            String::from_utf8(out).expect("UTF-8")
        });
        assert_eq!(each, ["2.000000\"\"", "2.0\"\"", "2null"]);
    }
}

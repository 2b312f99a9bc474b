//! Rows as lines: comma-separated values, or an object of JSON each.

use std::io::{self, Write};

use dissectors::kit::Time;

use super::{Cell, Heading, Sink, Table, TableRow};
use crate::report::clock::Clock;
use crate::report::json::string;
use crate::report::spreadsheet::{csv_cell, csv_json, csv_line, csv_text};

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, with a header line.
    Csv,
    /// A JSON object.
    Ndjson,
}

/// Writes the rows of each table to a separate output.
pub struct Lines<W> {
    format: Format,
    outputs: [Option<TextOutput<W>>; Table::ALL.len()],
    clock: Clock,
    line: Vec<u8>,
}

struct TextOutput<W> {
    headings: Vec<Heading>,
    to: W,
}

impl<W: Write> Lines<W> {
    /// For these tables; rows of others are ignored.
    ///
    /// # Errors
    /// Those of the outputs.
    pub fn new(
        format: Format,
        outputs: impl IntoIterator<Item = (Table, W)>,
    ) -> io::Result<Lines<W>> {
        let mut lines = Lines {
            format,
            outputs: [const { None }; Table::ALL.len()],
            clock: Clock::default(),
            line: Vec::new(),
        };
        for (table, mut to) in outputs {
            let headings = table.columns();
            if format == Format::Csv {
                csv_line(headings.iter().map(|heading| heading.name), &mut lines.line);
                to.write_all(&lines.line)?;
                lines.line.clear();
            }
            lines.outputs[table as usize] = Some(TextOutput { headings, to });
        }
        Ok(lines)
    }

    /// The outputs, once all rows were written.
    pub fn into_outputs(self) -> impl Iterator<Item = (Table, W)> {
        let outputs = Table::ALL.into_iter().zip(self.outputs);
        outputs.filter_map(|(table, output)| Some((table, output?.to)))
    }
}

impl<W: Write> Sink for Lines<W> {
    fn row(&mut self, table: Table, row: &dyn TableRow) -> io::Result<()> {
        let Lines { format, outputs, clock, line } = self;
        let Some(output) = &mut outputs[table as usize] else { return Ok(()) };
        let mut headings = output.headings.iter();
        line.clear();
        match format {
            Format::Csv => {
                row.cells(&mut |cell| {
                    if !line.is_empty() || headings.len() < output.headings.len() {
                        line.push(b',');
                    }
                    headings.next();
                    csv(cell, clock, line);
                });
                line.extend_from_slice(b"\r\n");
            }
            Format::Ndjson => {
                row.cells(&mut |cell| {
                    let Some(heading) = headings.next() else { return };
                    line.push(if line.is_empty() { b'{' } else { b',' });
                    quoted(heading.name, line);
                    line.push(b':');
                    json(cell, clock, line);
                });
                line.extend_from_slice(b"}\n");
            }
        }
        output.to.write_all(line)
    }
}

/// A cell of a line of CSV. The elements of a list are separated by commas.
fn csv(cell: Cell<'_>, clock: &mut Clock, out: &mut Vec<u8>) {
    match cell {
        Cell::Text(text) => csv_text(text, out),
        Cell::Json(text) => csv_json(text, out),
        Cell::Texts(texts) => csv_text(&texts.join(","), out),
        Cell::Integers(many) => {
            let many: Vec<_> = many.iter().map(i64::to_string).collect();
            csv_cell(&many.join(","), out);
        }
        // Numbers are not text from the wire: their minus sign begins no formula.
        Cell::Time(time) => clock.rfc3339(Time(time), DIGITS, out),
        Cell::Integer(_) | Cell::Number(_) => json(cell, clock, out),
        Cell::Absent => {}
    }
}

/// Digits of a second in times.
const DIGITS: u8 = 9;

fn json(cell: Cell<'_>, clock: &mut Clock, out: &mut Vec<u8>) {
    match cell {
        Cell::Text(text) => quoted(text, out),
        Cell::Json(text) => out.extend_from_slice(text.as_bytes()),
        Cell::Time(time) => {
            out.push(b'"');
            clock.rfc3339(Time(time), DIGITS, out);
            out.push(b'"');
        }
        Cell::Integer(value) => number(value, out),
        Cell::Number(value) => number(value, out),
        Cell::Integers(many) => list(many, out, |value, out| number(value, out)),
        Cell::Texts(texts) => list(texts, out, |text, out| quoted(text, out)),
        Cell::Absent => out.extend_from_slice(b"null"),
    }
}

fn list<T>(many: &[T], out: &mut Vec<u8>, mut each: impl FnMut(&T, &mut Vec<u8>)) {
    out.push(b'[');
    for (nth, one) in many.iter().enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        each(one, out);
    }
    out.push(b']');
}

fn quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    string(out, text.as_bytes());
    out.push(b'"');
}

/// A number that is finite.
fn number(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    let _ = write!(out, "{value}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row with few cells.
    struct ShortRow(Vec<Cell<'static>>);

    impl TableRow for ShortRow {
        fn cells(&self, each: &mut dyn FnMut(Cell<'_>)) {
            self.0.iter().for_each(|cell| each(*cell));
        }
    }

    fn written(format: Format, cells: &[Cell<'static>]) -> String {
        let outputs = [(Table::Verdicts, Vec::new())];
        let mut lines = Lines::new(format, outputs).expect("a vector takes all");
        lines.row(Table::Verdicts, &ShortRow(cells.to_vec())).expect("a vector takes all");
        lines.row(Table::Flows, &ShortRow(cells.to_vec())).expect("an output");
        let (table, out) = lines.into_outputs().next().expect("one output");
        assert_eq!(table, Table::Verdicts);
        String::from_utf8(out).expect("UTF-8")
    }

    const CELLS: [Cell<'static>; 7] = [
        Cell::Absent,
        Cell::Text("=1+1, \"a\"\n\u{1B}"),
        Cell::Integer(-1),
        Cell::Number(-0.25),
        Cell::Time(1_795_168_800_000_000_001),
        Cell::Integers(&[5, -6]),
        Cell::Json(r#"{"a":[1]}"#),
    ];

    #[test]
    fn a_row_of_comma_separated_values() {
        let text = written(Format::Csv, &CELLS);
        let (header, row) = text.split_once("\r\n").expect("two lines");
        assert!(header.starts_with("capture,rule,slug,"), "{header}");
        let expected =
            r#","'=1+1, ""a""\x0A\x1B",-1,-0.25,2026-11-20T10:00:00.000000001Z,"5,-6",""#;
        assert!(row.starts_with(expected), "{row}");
        assert!(row.ends_with("\"{\"\"a\"\":[1]}\"\r\n"), "{row}");
    }

    #[test]
    fn a_row_of_json() {
        let row = written(Format::Ndjson, &CELLS);
        let expected = concat!(
            r#"{"capture":null,"rule":"=1+1, \"a\"\n\u001b","slug":-1,"severity":-0.25,"#,
            r#""who":"2026-11-20T10:00:00.000000001Z","verdict":[5,-6],"passed":{"a":[1]}}"#,
            "\n"
        );
        assert_eq!(row, expected);
    }
}

//! Rows as lines: comma-separated values, or an object of JSON each.

use std::io::{self, Write};

use super::{AnyRow, Sink, Table};
use crate::report::TimeFormatter;
use crate::report::lines::{LineColumns, LineWriter, Values};
use crate::rows::PlacedHeading;

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values, with a header line.
    Csv,
    /// A JSON object.
    Ndjson,
}

/// Digits of a second in times.
const DIGITS: u8 = 9;

/// Writes the rows of each table to a separate output.
pub struct Lines<W> {
    format: Format,
    outputs: Vec<TextOutput<W>>,
    writer: LineWriter,
    line: Vec<u8>,
}

struct TextOutput<W> {
    table: Table,
    columns: Vec<PlacedHeading>,
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
        let writer = LineWriter::new(TimeFormatter::default(), DIGITS, Values::Stored);
        let mut lines = Lines { format, outputs: Vec::new(), writer, line: Vec::new() };
        for (table, mut to) in outputs {
            let columns = table.of_file();
            if format == Format::Csv {
                lines.line.clear();
                LineColumns { columns: &columns, before: Some(""), after: None }
                    .header(&mut lines.line);
                to.write_all(&lines.line)?;
            }
            lines.outputs.push(TextOutput { table, columns, to });
        }
        Ok(lines)
    }

    /// The outputs, once all rows were written.
    pub fn into_outputs(self) -> impl Iterator<Item = (Table, W)> {
        self.outputs.into_iter().map(|output| (output.table, output.to))
    }
}

impl<W: Write> Sink for Lines<W> {
    fn row(&mut self, capture: &str, row: &dyn AnyRow<'_>) -> io::Result<()> {
        let Lines { format, outputs, writer, line } = self;
        let table = row.table();
        let Some(output) = outputs.iter_mut().find(|it| it.table == table) else { return Ok(()) };
        let columns = LineColumns { columns: &output.columns, before: Some(capture), after: None };
        line.clear();
        match format {
            Format::Csv => writer.csv(columns, row, line),
            Format::Ndjson => {
                writer.object(columns, row, line);
                line.push(b'\n');
            }
        }
        output.to.write_all(line)
    }
}

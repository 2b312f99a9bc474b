//! The rows of `gamewire flows`: as a table, as JSON, as CSV.
//!
//! The names of the columns are the same in JSON and CSV: `flow`, `transport`, `a` (who sent the
//! first packet that was recorded), `b` (the other end), `protocol`, `first`, `last` (times of the
//! first and the last packet), `packets`, `bytes` (of payload), `messages`, `findings`; of several
//! captures also `capture`.

use crate::flows::FlowRow;
use crate::report::clock::Clock;
use crate::report::json::{address, of_capture, transport};
use crate::report::paint::{Paint, Tone};
use crate::report::put;

const COLUMNS: [&str; 11] = [
    "flow",
    "transport",
    "a",
    "b",
    "protocol",
    "first",
    "last",
    "packets",
    "bytes",
    "messages",
    "findings",
];

/// How many cells from the end are numbers, and so stand to the right of their column.
const NUMBERS_FROM: usize = 7;

/// A table with a line of headings; its columns are as wide as the cells of its first rows.
pub struct Table {
    widths: [usize; COLUMNS.len()],
}

impl Table {
    /// A table that begins with these rows: writes its headings.
    pub fn new(rows: &[FlowRow], paint: Paint, out: &mut Vec<u8>) -> Table {
        let mut clock = Clock::default();
        let mut widths = COLUMNS.map(str::len);
        for row in rows {
            for (width, cell) in widths.iter_mut().zip(cells(row, &mut clock)) {
                *width = cell.len().max(*width);
            }
        }
        let headings = COLUMNS.map(str::to_uppercase);
        paint.paint(Tone::Faint, out, |out| line(&headings, &widths, out));
        Table { widths }
    }

    /// Writes the next rows.
    pub fn rows(&self, rows: &[FlowRow], out: &mut Vec<u8>) {
        let mut clock = Clock::default();
        for row in rows {
            let mut cells = cells(row, &mut clock);
            if row.protocol.is_empty() {
                cells[4].push('-');
            }
            line(&cells, &self.widths, out);
        }
    }
}

fn line(cells: &[String; COLUMNS.len()], widths: &[usize], out: &mut Vec<u8>) {
    for (index, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        let gap = if index > 0 { "  " } else { "" };
        if index == 0 || index >= NUMBERS_FROM {
            put(out, format_args!("{gap}{cell:>width$}"));
        } else {
            put(out, format_args!("{gap}{cell:<width$}"));
        }
    }
    out.push(b'\n');
}

/// One object, and the end of its line; with the capture where there are several.
pub fn json(row: &FlowRow, capture: Option<&str>, out: &mut Vec<u8>) {
    let cells = cells(row, &mut Clock::default());
    for (index, (name, cell)) in COLUMNS.iter().zip(&cells).enumerate() {
        put(out, format_args!("{}\"{name}\":", if index > 0 { "," } else { "{" }));
        match index {
            // No cell holds a character that JSON would have to escape.
            1..NUMBERS_FROM if !cell.is_empty() => put(out, format_args!("\"{cell}\"")),
            1..NUMBERS_FROM => out.extend_from_slice(b"null"),
            _ => out.extend_from_slice(cell.as_bytes()),
        }
    }
    if let Some(capture) = capture {
        of_capture(capture, out);
    }
    out.extend_from_slice(b"}\n");
}

/// The line of headings; with a column for the capture where there are several.
pub fn csv_header(has_captures: bool, out: &mut Vec<u8>) {
    csv_line(COLUMNS.into_iter().chain(has_captures.then_some("capture")), out);
}

/// One line as RFC 4180 has it.
pub fn csv(row: &FlowRow, capture: Option<&str>, out: &mut Vec<u8>) {
    let cells = cells(row, &mut Clock::default());
    csv_line(cells.iter().map(String::as_str).chain(capture), out);
}

fn csv_line<'c>(cells: impl Iterator<Item = &'c str>, out: &mut Vec<u8>) {
    for (index, cell) in cells.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        csv_cell(cell, out);
    }
    out.extend_from_slice(b"\r\n");
}

/// A cell that a spreadsheet would run as a formula has a `'` before it.
fn csv_cell(cell: &str, out: &mut Vec<u8>) {
    let quote = if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
    if cell.contains(['"', ',', '\r', '\n']) {
        put(out, format_args!("\"{quote}{}\"", cell.replace('"', "\"\"")));
    } else {
        put(out, format_args!("{quote}{cell}"));
    }
}

fn cells(row: &FlowRow, clock: &mut Clock) -> [String; COLUMNS.len()] {
    let end = |end| string(|out| address(out, end));
    let [a, b] = row.ends.map(end);
    let mut time = |time| string(|out| clock.rfc3339(time, row.digits, out));
    [
        row.flow.to_string(),
        transport(row.transport).to_owned(),
        a,
        b,
        row.protocol.to_owned(),
        time(row.first),
        time(row.last),
        row.packets.to_string(),
        row.bytes.to_string(),
        row.messages.to_string(),
        row.findings.to_string(),
    ]
}

fn string(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use dissectors::kit::{Time, Transport};

    use super::*;

    fn rows() -> [FlowRow; 2] {
        let end = |text: &str| text.parse().expect("an endpoint");
        let first = FlowRow {
            flow: 1,
            transport: Transport::Udp,
            ends: [end("10.0.0.1:50000"), end("10.0.0.2:27015")],
            protocol: "a2s",
            first: Time(1_795_168_800_123_456_789),
            last: Time(1_795_168_801_000_000_000),
            packets: 2,
            bytes: 120,
            messages: 2,
            findings: 0,
            digits: 6,
        };
        let second = FlowRow {
            flow: 12,
            transport: Transport::Tcp,
            ends: [end("[2001:db8::1]:50000"), end("[::1]:80")],
            protocol: "",
            digits: 9,
            bytes: 123_456,
            ..first
        };
        [first, second]
    }

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn a_table() {
        let table = written(|out| Table::new(&rows(), Paint::new(false), out).rows(&rows(), out));
        insta::assert_snapshot!(table, @r#"
    FLOW  TRANSPORT  A                    B               PROTOCOL  FIRST                           LAST                            PACKETS   BYTES  MESSAGES  FINDINGS
       1  udp        10.0.0.1:50000       10.0.0.2:27015  a2s       2026-11-20T10:00:00.123456Z     2026-11-20T10:00:01.000000Z           2     120         2         0
      12  tcp        [2001:db8::1]:50000  [::1]:80        -         2026-11-20T10:00:00.123456789Z  2026-11-20T10:00:01.000000000Z        2  123456         2         0
    "#);
    }

    #[test]
    fn an_object_a_line() {
        let lines = written(|out| rows().iter().for_each(|row| json(row, None, out)));
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let first = serde_json::json!({
            "flow": 1, "transport": "udp", "a": "10.0.0.1:50000", "b": "10.0.0.2:27015",
            "protocol": "a2s", "first": "2026-11-20T10:00:00.123456Z",
            "last": "2026-11-20T10:00:01.000000Z", "packets": 2, "bytes": 120, "messages": 2,
            "findings": 0,
        });
        assert_eq!(lines[0], first);
        assert_eq!(lines[1]["protocol"], serde_json::Value::Null);
        assert_eq!(lines[1]["a"], "[2001:db8::1]:50000");
    }

    #[test]
    fn a_spreadsheet() {
        let table = written(|out| {
            csv_header(false, out);
            rows().iter().for_each(|row| csv(row, None, out));
        });
        let lines: Vec<_> = table.split("\r\n").collect();
        assert_eq!(
            lines,
            [
                "flow,transport,a,b,protocol,first,last,packets,bytes,messages,findings",
                "1,udp,10.0.0.1:50000,10.0.0.2:27015,a2s,2026-11-20T10:00:00.123456Z,\
                 2026-11-20T10:00:01.000000Z,2,120,2,0",
                "12,tcp,[2001:db8::1]:50000,[::1]:80,,2026-11-20T10:00:00.123456789Z,\
                 2026-11-20T10:00:01.000000000Z,2,123456,2,0",
                "",
            ]
        );
    }

    #[test]
    fn no_cell_is_a_formula_or_breaks_its_line() {
        let line = written(|out| {
            csv_line(["=1+1", "+1", "-1", "@a", "\tb", "a=b", "c,\"d\"\n"].into_iter(), out)
        });
        assert_eq!(line, "'=1+1,'+1,'-1,'@a,'\tb,a=b,\"c,\"\"d\"\"\n\"\r\n");
    }
}

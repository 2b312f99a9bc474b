//! The rows of `gamewire flows`: as a table, as JSON, as CSV.
//!
//! The names of the columns are the same in JSON, in CSV and for `--sort`: `flow`, `transport`, `a`
//! (the sender of the first recorded packet), `b` (the other end), `protocol`, `first`, `last`
//! (times of the first and the last packet), `packets`, `bytes` (of payload), `messages`,
//! `findings`; `role_a`, `role_b` (client, server or master, if the end has sent messages);
//! `packets_a`, `packets_b`, `bytes_a`, `bytes_b`, `messages_a`, `messages_b` (sent by each end);
//! `duration` (in seconds, like the following times); `requests` (each with its repeats and
//! its challenge round), `answered`, `response_time_p50`, `response_time_p95`, `response_time_max` (percentiles by
//! nearest rank; with more than a thousand values, within 2 %); of several captures also `capture`.
//!
//! The table has the client on the left and the server on the right, and counts of both as `1/2`.

use std::cmp::Ordering;
use std::net::SocketAddr;

use dissectors::kit::{Role, Time};

use crate::flows::FlowRow;
use crate::report::clock::{Clock, TimeFormatter};
use crate::report::json::{address, of_capture, seconds, transport};
use crate::report::paint::Paint;
use crate::report::put;
use crate::report::spreadsheet::csv_line;
use crate::report::text_table::{Importance, TextColumn, TextTable};
use crate::text::brief_span;

/// The value of a row in a column. Counts and measurements are sorted with the largest first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum FlowCell {
    Absent,
    Number(u32),
    Text(&'static str),
    Address(SocketAddr),
    Time(Time),
    Count(u64),
    /// Seconds, in nanoseconds.
    Seconds(u64),
}

/// The columns, by name.
type FlowColumns = [(&'static str, fn(&FlowRow) -> FlowCell); 25];

const COLUMNS: FlowColumns = [
    ("flow", |row| FlowCell::Number(row.flow)),
    ("transport", |row| FlowCell::Text(transport(row.transport))),
    ("a", |row| FlowCell::Address(row.ends[0])),
    ("b", |row| FlowCell::Address(row.ends[1])),
    ("protocol", |row| text(Some(row.protocol))),
    ("first", |row| FlowCell::Time(row.first)),
    ("last", |row| FlowCell::Time(row.last)),
    ("packets", |row| both(row.packets)),
    ("bytes", |row| both(row.bytes)),
    ("messages", |row| both(row.messages)),
    ("findings", |row| FlowCell::Count(row.findings)),
    ("role_a", |row| text(row.roles[0].map(Role::name))),
    ("role_b", |row| text(row.roles[1].map(Role::name))),
    ("packets_a", |row| FlowCell::Count(row.packets[0])),
    ("packets_b", |row| FlowCell::Count(row.packets[1])),
    ("bytes_a", |row| FlowCell::Count(row.bytes[0])),
    ("bytes_b", |row| FlowCell::Count(row.bytes[1])),
    ("messages_a", |row| FlowCell::Count(row.messages[0])),
    ("messages_b", |row| FlowCell::Count(row.messages[1])),
    ("duration", |row| FlowCell::Seconds(duration(row))),
    ("requests", |row| FlowCell::Count(row.exchanges)),
    ("answered", |row| FlowCell::Count(row.exchanges_answered)),
    ("response_time_p50", |row| response_time(row, 0)),
    ("response_time_p95", |row| response_time(row, 1)),
    ("response_time_max", |row| response_time(row, 2)),
];

fn text(text: Option<&'static str>) -> FlowCell {
    text.filter(|text| !text.is_empty()).map_or(FlowCell::Absent, FlowCell::Text)
}

fn both([a, b]: [u64; 2]) -> FlowCell {
    FlowCell::Count(a.saturating_add(b))
}

fn duration(row: &FlowRow) -> u64 {
    row.last.0.saturating_sub(row.first.0).max(0).unsigned_abs()
}

fn response_time(row: &FlowRow, nth: usize) -> FlowCell {
    let time = row.response_times.and_then(|times| times.get(nth).copied());
    time.map_or(FlowCell::Absent, FlowCell::Seconds)
}

/// A column, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowColumn(usize);

impl FlowColumn {
    /// That of this name.
    pub fn named(name: &str) -> Option<FlowColumn> {
        COLUMNS.iter().position(|(column, _)| *column == name).map(FlowColumn)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        COLUMNS.get(self.0).map_or("", |(name, _)| name)
    }

    /// The order of two rows: larger counts and durations, earlier times and texts first, or
    /// reversed; rows without a value last. For equal values, the flow that began first.
    pub fn compare(self, reverse: bool, a: &FlowRow, b: &FlowRow) -> Ordering {
        let Some((_, value)) = COLUMNS.get(self.0) else { return a.flow.cmp(&b.flow) };
        let (x, y) = (value(a), value(b));
        let order = match (&x, &y) {
            (FlowCell::Absent, _) | (_, FlowCell::Absent) => y.cmp(&x),
            (FlowCell::Count(_) | FlowCell::Seconds(_), _) if !reverse => y.cmp(&x),
            (FlowCell::Count(_) | FlowCell::Seconds(_), _) => x.cmp(&y),
            _ if reverse => y.cmp(&x),
            _ => x.cmp(&y),
        };
        order.then(a.flow.cmp(&b.flow))
    }
}

/// The names of all columns.
pub fn columns() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().map(|(name, _)| *name)
}

/// The headings of the table, whether cells are aligned to the right, and what is left out on a narrow terminal.
const HEADINGS: [(&str, bool, Importance); 13] = [
    ("FLOW", true, Importance::Essential),
    ("PROTOCOL", false, Importance::Essential),
    ("CLIENT", false, Importance::Essential),
    ("SERVER", false, Importance::Essential),
    ("DURATION", true, Importance::Useful(3)),
    ("PACKETS", true, Importance::Useful(5)),
    ("BYTES", true, Importance::Useful(1)),
    ("MESSAGES", true, Importance::Useful(4)),
    ("ANSWERED", true, Importance::Essential),
    ("P50", true, Importance::Useful(2)),
    ("P95", true, Importance::Useful(0)),
    ("MAX", true, Importance::Useful(6)),
    ("FINDINGS", true, Importance::Essential),
];

/// A table with a line of headings; its columns are as wide as the cells of its first rows.
pub struct FlowTableWriter {
    table: TextTable,
}

impl FlowTableWriter {
    /// A table that begins with these rows: writes its header. On a terminal with this many
    /// columns, columns that do not fit are left out.
    pub fn new(
        rows: &[FlowRow],
        terminal: Option<usize>,
        paint: Paint,
        out: &mut Vec<u8>,
    ) -> FlowTableWriter {
        let column = |(heading, is_number, importance): (&str, bool, Importance)| TextColumn {
            heading: heading.to_owned(),
            is_number,
            importance,
            shortest: None,
        };
        let mut table = TextTable::new(HEADINGS.map(column).into(), terminal);
        rows.iter().for_each(|row| table.widen(&cells(row)));
        table.header(paint, out);
        FlowTableWriter { table }
    }

    /// Writes the next rows.
    pub fn rows(&self, rows: &[FlowRow], out: &mut Vec<u8>) {
        rows.iter().for_each(|row| self.table.row(&cells(row), out));
    }

    /// Writes a note about columns that are left out, if any is.
    pub fn end(&self, paint: Paint, out: &mut Vec<u8>) {
        self.table.note("--format csv", paint, out);
    }
}

/// The cells of a flow.
fn cells(row: &FlowRow) -> [String; HEADINGS.len()] {
    let ends = if client_is_second(row) { [1, 0] } else { [0, 1] };
    let end = |nth: usize, heading: Role| {
        let name = string(|out| address(out, row.ends[ends[nth]]));
        match row.roles[ends[nth]] {
            Some(who) if who != heading => format!("{name} ({})", who.name()),
            _ => name,
        }
    };
    let each = |counts: [u64; 2]| {
        let [left, right] = ends.map(|end| short(counts[end]));
        format!("{left}/{right}")
    };
    let times = row.response_times.map(|times| times.map(brief_span));
    let [p50, p95, max] = times.unwrap_or_else(|| ["-"; 3].map(str::to_owned));
    let answered = match row.exchanges {
        0 => "-".to_owned(),
        requests => format!("{}/{}", short(row.exchanges_answered), short(requests)),
    };
    [
        row.flow.to_string(),
        if row.protocol.is_empty() { "-" } else { row.protocol }.to_owned(),
        end(0, Role::Client),
        end(1, Role::Server),
        brief_span(duration(row)),
        each(row.packets),
        each(row.bytes),
        each(row.messages),
        answered,
        p50,
        p95,
        max,
        short(row.findings),
    ]
}

/// Whether the second end is the client.
fn client_is_second(row: &FlowRow) -> bool {
    match row.roles {
        [Some(Role::Client), _] => false,
        [_, Some(Role::Client)] | [Some(Role::Master), _] => true,
        [Some(Role::Server), None] => true,
        _ => false,
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

/// One object, and the end of its line; with the capture where there are several.
pub fn json(row: &FlowRow, capture: Option<&str>, out: &mut Vec<u8>) {
    for (index, (name, value)) in COLUMNS.iter().enumerate() {
        put(out, format_args!("{}\"{name}\":", if index > 0 { "," } else { "{" }));
        match value(row) {
            FlowCell::Absent => out.extend_from_slice(b"null"),
            // These texts need no JSON escapes.
            value @ (FlowCell::Text(_) | FlowCell::Address(_) | FlowCell::Time(_)) => {
                out.push(b'"');
                write(&value, row.digits, out);
                out.push(b'"');
            }
            value => write(&value, row.digits, out),
        }
    }
    if let Some(capture) = capture {
        of_capture(capture, out);
    }
    out.extend_from_slice(b"}\n");
}

/// The line of headings; with a column for the capture where there are several.
pub fn csv_header(has_captures: bool, out: &mut Vec<u8>) {
    csv_line(columns().chain(has_captures.then_some("capture")), out);
}

/// One line as RFC 4180 has it.
pub fn csv(row: &FlowRow, capture: Option<&str>, stamp: &mut TimeFormatter, out: &mut Vec<u8>) {
    let cells = COLUMNS.map(|(_, value)| {
        string(|out| match value(row) {
            FlowCell::Time(time) => stamp.next(time, row.digits, out),
            value => write(&value, row.digits, out),
        })
    });
    csv_line(cells.iter().map(String::as_str).chain(capture), out);
}

fn write(value: &FlowCell, digits: u8, out: &mut Vec<u8>) {
    match *value {
        FlowCell::Absent => {}
        FlowCell::Number(number) => put(out, format_args!("{number}")),
        FlowCell::Count(count) => put(out, format_args!("{count}")),
        FlowCell::Text(text) => out.extend_from_slice(text.as_bytes()),
        FlowCell::Address(end) => address(out, end),
        FlowCell::Time(time) => Clock::default().rfc3339(time, digits, out),
        FlowCell::Seconds(span) => seconds(out, i64::try_from(span).unwrap_or(i64::MAX), digits),
    }
}

/// The output as text.
pub(super) fn string(write: impl FnOnce(&mut Vec<u8>)) -> String {
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
            frame: 1,
            transport: Transport::Udp,
            ends: [end("10.0.0.1:50000"), end("10.0.0.2:27015")],
            protocol: "a2s",
            first: Time(1_795_168_800_123_456_789),
            last: Time(1_795_168_801_000_000_000),
            roles: [Some(Role::Client), Some(Role::Server)],
            packets: [1, 2],
            bytes: [25, 120],
            messages: [1, 1],
            exchanges: 1,
            exchanges_answered: 1,
            asks_for_lists: false,
            asks_for_others: true,
            response_times: Some([22_000_000; 3]),
            findings: 0,
            digits: 6,
        };
        let second = FlowRow {
            flow: 12,
            transport: Transport::Tcp,
            ends: [end("[2001:db8::1]:50000"), end("[::1]:80")],
            protocol: "",
            digits: 9,
            roles: [Some(Role::Master), None],
            bytes: [0, 123_456],
            exchanges: 0,
            exchanges_answered: 0,
            asks_for_lists: false,
            asks_for_others: false,
            response_times: None,
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
        let table = written(|out| {
            FlowTableWriter::new(&rows(), None, Paint::new(false), out).rows(&rows(), out)
        });
        insta::assert_snapshot!(table, @r#"
    FLOW  PROTOCOL  CLIENT          SERVER                        DURATION  PACKETS   BYTES  MESSAGES  ANSWERED   P50   P95   MAX  FINDINGS
       1  a2s       10.0.0.1:50000  10.0.0.2:27015                   877ms      1/2  25/120       1/1       1/1  22ms  22ms  22ms         0
      12  -         [::1]:80        [2001:db8::1]:50000 (master)     877ms      2/1  123K/0       1/1         -     -     -     -         0
    "#);
    }

    #[test]
    fn a_table_fits_its_terminal() {
        let wide = written(|out| _ = FlowTableWriter::new(&rows(), None, Paint::new(false), out));
        for terminal in [60, 80, 100, 120, 200] {
            let table = written(|out| {
                FlowTableWriter::new(&rows(), Some(terminal), Paint::new(false), out)
                    .rows(&rows(), out);
            });
            let longest = table.lines().map(str::len).max().unwrap_or(0);
            assert!(longest <= terminal || terminal == 60, "{terminal}:\n{table}");
            assert!(table.contains("SERVER") && table.contains("ANSWERED"), "{table}");
            assert_eq!(table.contains("P95"), terminal > wide.trim_end().len(), "{table}");
        }
    }

    #[test]
    fn an_object_a_line() {
        let lines = written(|out| rows().iter().for_each(|row| json(row, None, out)));
        let lines: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let first = serde_json::json!({
            "flow": 1, "transport": "udp", "a": "10.0.0.1:50000", "b": "10.0.0.2:27015",
            "protocol": "a2s", "first": "2026-11-20T10:00:00.123456Z",
            "last": "2026-11-20T10:00:01.000000Z", "packets": 3, "bytes": 145, "messages": 2,
            "role_a": "client", "role_b": "server", "packets_a": 1, "packets_b": 2, "bytes_a": 25,
            "bytes_b": 120, "messages_a": 1, "messages_b": 1, "duration": 0.876_543,
            "requests": 1, "answered": 1, "response_time_p50": 0.022, "response_time_p95": 0.022,
            "response_time_max": 0.022,
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
            let stamp = &mut TimeFormatter::default();
            rows().iter().for_each(|row| csv(row, None, stamp, out));
        });
        let lines: Vec<_> = table.split("\r\n").collect();
        assert_eq!(
            lines,
            [
                "flow,transport,a,b,protocol,first,last,packets,bytes,messages,findings,role_a,role_b,\
                 packets_a,packets_b,bytes_a,bytes_b,messages_a,messages_b,duration,requests,\
                 answered,response_time_p50,response_time_p95,response_time_max",
                "1,udp,10.0.0.1:50000,10.0.0.2:27015,a2s,2026-11-20T10:00:00.123456Z,\
                 2026-11-20T10:00:01.000000Z,3,145,2,0,client,server,1,2,25,120,1,1,0.876543,1,1,\
                 0.022000,0.022000,0.022000",
                "12,tcp,[2001:db8::1]:50000,[::1]:80,,2026-11-20T10:00:00.123456789Z,\
                 2026-11-20T10:00:01.000000000Z,3,123456,2,0,master,,1,2,0,123456,1,1,0.876543211,\
                 0,0,,,",
                "",
            ]
        );
    }
}

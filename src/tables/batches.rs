//! Rows as record batches of Arrow.

use std::collections::{HashMap, VecDeque};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::{AnyRow, Cell, Heading, Kind, Sink, Table, VERSION};

/// Rows of a batch at most.
const ROWS: usize = 1 << 13;

/// Default maximum bytes of text in a batch.
const BYTES: usize = 4 << 20;

impl Table {
    /// The Arrow schema. Its metadata have `gamewire.table` and `gamewire.version`.
    pub fn schema(self) -> SchemaRef {
        let field = |it: &Heading| Field::new(it.name, it.kind.data_type(), !it.always);
        let fields: Vec<_> = self.columns().iter().map(field).collect();
        let metadata =
            [("gamewire.table", self.name()), ("gamewire.version", &VERSION.to_string())]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
        Arc::new(Schema::new_with_metadata(fields, HashMap::from(metadata)))
    }
}

impl Kind {
    fn data_type(self) -> DataType {
        let list = |kind: Kind| DataType::new_list(kind.data_type(), false);
        match self {
            Kind::Text | Kind::Json | Kind::Counts => DataType::Utf8,
            Kind::Integer | Kind::Count | Kind::Bytes => DataType::Int64,
            Kind::Seconds | Kind::Rate => DataType::Float64,
            Kind::Time => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Kind::Integers => list(Kind::Integer),
            Kind::Texts => list(Kind::Text),
        }
    }
}

/// Collects rows into record batches of bounded size.
pub struct Batches {
    /// Maximum bytes of text in a batch, without its last row.
    most: usize,
    open: [Option<OpenBatch>; Table::EVERY.len()],
    ready: VecDeque<(Table, RecordBatch)>,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches::of(BYTES)
    }
}

impl Batches {
    /// Batches of about this many bytes at most, and of 4 MiB at most.
    pub fn of(bytes: usize) -> Batches {
        let most = bytes.min(BYTES);
        Batches { most, open: [const { None }; Table::EVERY.len()], ready: VecDeque::new() }
    }

    /// The next batch that is full.
    pub fn next_full(&mut self) -> Option<(Table, RecordBatch)> {
        self.ready.pop_front()
    }

    /// There are no more rows: the remaining ones become batches.
    ///
    /// # Errors
    /// None for rows of a table.
    pub fn finish(&mut self) -> io::Result<()> {
        for table in Table::ALL {
            self.close(table)?;
        }
        Ok(())
    }

    fn close(&mut self, table: Table) -> io::Result<()> {
        let open = self.open.get_mut(table as usize).and_then(Option::take);
        if let Some(open) = open.filter(|open| open.rows > 0) {
            self.ready.push_back((table, open.batch().map_err(io::Error::other)?));
        }
        Ok(())
    }
}

impl Sink for Batches {
    fn row(&mut self, capture: &str, row: &dyn AnyRow<'_>) -> io::Result<()> {
        let table = row.table();
        let Some(place) = self.open.get_mut(table as usize) else { return Ok(()) };
        let open = place.get_or_insert_with(|| OpenBatch::new(table));
        open.push(capture, row);
        if open.rows >= ROWS || open.bytes >= self.most { self.close(table) } else { Ok(()) }
    }
}

/// A batch that takes rows.
struct OpenBatch {
    schema: SchemaRef,
    capture: ColumnValues,
    /// The index of each column, and its values.
    columns: Vec<(usize, ColumnValues)>,
    rows: usize,
    bytes: usize,
}

impl OpenBatch {
    fn new(table: Table) -> OpenBatch {
        let values = |(at, heading): (usize, Heading)| (at, ColumnValues::new(&heading));
        let columns = table.of_file().into_iter().map(values).collect();
        let capture = ColumnValues::new(&crate::rows::CAPTURE);
        OpenBatch { schema: table.schema(), capture, columns, rows: 0, bytes: 0 }
    }

    fn push(&mut self, capture: &str, row: &dyn AnyRow<'_>) {
        self.bytes += self.capture.push(&capture.into());
        self.bytes +=
            self.columns.iter_mut().map(|(at, column)| column.push(&row.cell(*at))).sum::<usize>();
        self.rows += 1;
    }

    fn batch(self) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.into_iter().map(|(_, column)| column);
        let columns = std::iter::once(self.capture).chain(columns).map(|it| it.values.finish());
        RecordBatch::try_new(self.schema, columns.collect())
    }
}

/// The values of a column.
struct ColumnValues {
    /// An empty text is no value.
    may_be_absent: bool,
    values: Values,
}

enum Values {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Time(TimestampNanosecondBuilder),
    Integers(ListBuilder<Int64Builder>),
    Texts(ListBuilder<StringBuilder>),
}

impl ColumnValues {
    fn new(heading: &Heading) -> ColumnValues {
        let item = |kind: Kind| Field::new_list_field(kind.data_type(), false);
        let kind = heading.kind;
        let values = match kind {
            Kind::Text | Kind::Json | Kind::Counts => Values::Text(StringBuilder::new()),
            Kind::Integer | Kind::Count | Kind::Bytes => Values::Integer(Int64Builder::new()),
            Kind::Seconds | Kind::Rate => Values::Number(Float64Builder::new()),
            Kind::Time => {
                Values::Time(TimestampNanosecondBuilder::new().with_data_type(kind.data_type()))
            }
            Kind::Integers => Values::Integers(
                ListBuilder::new(Int64Builder::new()).with_field(item(Kind::Integer)),
            ),
            Kind::Texts => {
                Values::Texts(ListBuilder::new(StringBuilder::new()).with_field(item(Kind::Text)))
            }
        };
        ColumnValues { may_be_absent: !heading.always, values }
    }

    /// Adds a cell of its kind. Returns how many bytes that takes.
    fn push(&mut self, cell: &Cell<'_>) -> usize {
        match (&mut self.values, cell) {
            (Values::Text(values), Cell::Text(text)) if text.is_empty() && self.may_be_absent => {
                values.append_null();
            }
            (Values::Text(values), cell) => return text(values, cell),
            (Values::Integer(values), Cell::Integer(value)) => values.append_value(*value),
            (Values::Number(values), Cell::Seconds(span)) => {
                values.append_value(*span as f64 / 1e9)
            }
            (Values::Number(values), Cell::Rate(rate)) => values.append_value(*rate),
            (Values::Time(values), Cell::Time(value)) => values.append_value(value.0),
            (Values::Integers(values), Cell::Integers(many)) => {
                values.values().append_slice(many);
                values.append(true);
                return size_of_val(*many);
            }
            (Values::Texts(values), Cell::Texts(many)) => {
                many.iter().for_each(|text| values.values().append_value(text));
                values.append(true);
                return many.iter().map(|text| text.len()).sum();
            }
            (Values::Integer(values), _) => values.append_null(),
            (Values::Number(values), _) => values.append_null(),
            (Values::Time(values), _) => values.append_null(),
            (Values::Integers(values), _) => values.append(false),
            (Values::Texts(values), _) => values.append(false),
        }
        size_of::<i64>()
    }
}

/// Adds a cell as text. Returns how many bytes that takes.
fn text(values: &mut StringBuilder, cell: &Cell<'_>) -> usize {
    let before = values.values_slice().len();
    // Writing to a builder cannot fail.
    let _ = match cell {
        Cell::Text(text) => values.write_str(text),
        Cell::Json(text) => values.write_str(text),
        Cell::End(end) => write!(values, "{end}"),
        Cell::Address(address) => write!(values, "{address}"),
        Cell::Severity(severity, ..) => values.write_str(severity.name()),
        Cell::Counts(counts) => {
            let counts = counts.iter().map(|(name, count)| (name.clone(), (*count).into()));
            write!(values, "{}", serde_json::Value::Object(counts.collect()))
        }
        _ => {
            values.append_null();
            return size_of::<i64>();
        }
    };
    // Ends the value.
    values.append_value("");
    values.values_slice().len() - before + size_of::<i32>()
}

impl Values {
    fn finish(self) -> ArrayRef {
        match self {
            Values::Text(mut values) => ArrayBuilder::finish(&mut values),
            Values::Integer(mut values) => ArrayBuilder::finish(&mut values),
            Values::Number(mut values) => ArrayBuilder::finish(&mut values),
            Values::Time(mut values) => ArrayBuilder::finish(&mut values),
            Values::Integers(mut values) => ArrayBuilder::finish(&mut values),
            Values::Texts(mut values) => ArrayBuilder::finish(&mut values),
        }
    }
}

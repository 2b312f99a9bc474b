//! Rows as record batches of Arrow.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Float64Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampNanosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::{Cell, Heading, Kind, Sink, Table, TableRow, VERSION};

/// Rows of a batch at most.
const ROWS: usize = 1 << 13;

/// Default maximum bytes of text in a batch.
const BYTES: usize = 4 << 20;

impl Table {
    /// The Arrow schema. Its metadata have `gamewire.table` and `gamewire.version`.
    pub fn schema(self) -> SchemaRef {
        let fields: Vec<_> = self.columns().iter().map(Heading::field).collect();
        let metadata =
            [("gamewire.table", self.name()), ("gamewire.version", &VERSION.to_string())]
                .map(|(key, value)| (key.to_owned(), value.to_owned()));
        Arc::new(Schema::new_with_metadata(fields, HashMap::from(metadata)))
    }
}

impl Heading {
    fn field(&self) -> Field {
        Field::new(self.name, self.kind.data_type(), !self.always)
    }
}

impl Kind {
    fn data_type(self) -> DataType {
        let list = |kind: Kind| DataType::new_list(kind.data_type(), false);
        match self {
            Kind::Text | Kind::Json => DataType::Utf8,
            Kind::Integer => DataType::Int64,
            Kind::Number => DataType::Float64,
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
    open: [Option<OpenBatch>; Table::ALL.len()],
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
        Batches { most, open: [const { None }; Table::ALL.len()], ready: VecDeque::new() }
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
    fn row(&mut self, table: Table, row: &dyn TableRow) -> io::Result<()> {
        let Some(place) = self.open.get_mut(table as usize) else { return Ok(()) };
        let open = place.get_or_insert_with(|| OpenBatch::new(table));
        open.push(row);
        if open.rows >= ROWS || open.bytes >= self.most { self.close(table) } else { Ok(()) }
    }
}

/// A batch that takes rows.
struct OpenBatch {
    schema: SchemaRef,
    columns: Vec<ColumnValues>,
    rows: usize,
    bytes: usize,
}

impl OpenBatch {
    fn new(table: Table) -> OpenBatch {
        let columns =
            table.columns().iter().map(|heading| ColumnValues::new(heading.kind)).collect();
        OpenBatch { schema: table.schema(), columns, rows: 0, bytes: 0 }
    }

    fn push(&mut self, row: &dyn TableRow) {
        let mut columns = self.columns.iter_mut();
        row.cells(&mut |cell| {
            self.bytes += columns.next().map_or(0, |column| column.push(cell));
        });
        self.rows += 1;
    }

    fn batch(self) -> Result<RecordBatch, ArrowError> {
        let columns = self.columns.into_iter().map(ColumnValues::finish).collect();
        RecordBatch::try_new(self.schema, columns)
    }
}

/// The values of a column.
enum ColumnValues {
    Text(StringBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Time(TimestampNanosecondBuilder),
    Integers(ListBuilder<Int64Builder>),
    Texts(ListBuilder<StringBuilder>),
}

impl ColumnValues {
    fn new(kind: Kind) -> ColumnValues {
        let item = |kind: Kind| Field::new_list_field(kind.data_type(), false);
        match kind {
            Kind::Text | Kind::Json => ColumnValues::Text(StringBuilder::new()),
            Kind::Integer => ColumnValues::Integer(Int64Builder::new()),
            Kind::Number => ColumnValues::Number(Float64Builder::new()),
            Kind::Time => ColumnValues::Time(
                TimestampNanosecondBuilder::new().with_data_type(kind.data_type()),
            ),
            Kind::Integers => ColumnValues::Integers(
                ListBuilder::new(Int64Builder::new()).with_field(item(Kind::Integer)),
            ),
            Kind::Texts => ColumnValues::Texts(
                ListBuilder::new(StringBuilder::new()).with_field(item(Kind::Text)),
            ),
        }
    }

    /// Adds a cell of its kind. Returns how many bytes that takes.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        match (self, cell) {
            (ColumnValues::Text(values), Cell::Text(text) | Cell::Json(text)) => {
                values.append_value(text);
                return text.len() + size_of::<i32>();
            }
            (ColumnValues::Integer(values), Cell::Integer(value)) => values.append_value(value),
            (ColumnValues::Number(values), Cell::Number(value)) => values.append_value(value),
            (ColumnValues::Time(values), Cell::Time(value)) => values.append_value(value),
            (ColumnValues::Integers(values), Cell::Integers(many)) => {
                values.values().append_slice(many);
                values.append(true);
                return size_of_val(many);
            }
            (ColumnValues::Texts(values), Cell::Texts(many)) => {
                many.iter().for_each(|text| values.values().append_value(text));
                values.append(true);
                return many.iter().map(|text| text.len()).sum();
            }
            (ColumnValues::Text(values), _) => values.append_null(),
            (ColumnValues::Integer(values), _) => values.append_null(),
            (ColumnValues::Number(values), _) => values.append_null(),
            (ColumnValues::Time(values), _) => values.append_null(),
            (ColumnValues::Integers(values), _) => values.append(false),
            (ColumnValues::Texts(values), _) => values.append(false),
        }
        size_of::<i64>()
    }

    fn finish(self) -> ArrayRef {
        match self {
            ColumnValues::Text(mut values) => ArrayBuilder::finish(&mut values),
            ColumnValues::Integer(mut values) => ArrayBuilder::finish(&mut values),
            ColumnValues::Number(mut values) => ArrayBuilder::finish(&mut values),
            ColumnValues::Time(mut values) => ArrayBuilder::finish(&mut values),
            ColumnValues::Integers(mut values) => ArrayBuilder::finish(&mut values),
            ColumnValues::Texts(mut values) => ArrayBuilder::finish(&mut values),
        }
    }
}

//! `gamewire export`: tables as files, and exchanges as test vectors.

#[cfg(feature = "parquet")]
mod parquet;
mod vectors;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Terminal;
use crate::capture::Stop;
use crate::check::{self, Selection};
use crate::cli::{self, ExportFormat};
use crate::commands::consumer::Consumer;
use crate::commands::read::{display, read};
use crate::commands::{Failure, check as checking, files_of, outputs, settings_of};
use crate::config::Config;
use crate::output_file::{OutputFile, create_folder};
use crate::session::{Event, FieldLimits, Needs, Totals};
use crate::tables::{AnyRow, Collector, Format, Lines, SelectedRows, Sink, Table};
use crate::text::{escaped, grouped};

/// Runs the command.
///
/// # Errors
/// The input cannot be read, or the output not be written.
pub fn run(
    args: &cli::ExportArgs,
    err: &mut dyn Write,
    terminal: Terminal<'_>,
) -> Result<(), Failure> {
    let input = &args.input;
    if input.live.interface.is_some() || input.live.write.is_some() {
        let why = "export reads files and writes to -o; --interface and -w are for other commands";
        return Err(Failure::Other(why.to_owned()));
    }
    outputs::refuse_dash(&args.output, "-o", "export writes several files; name a folder")?;
    if args.format == ExportFormat::Vectors {
        return vectors::run(args, err, terminal);
    }
    if args.format == ExportFormat::Parquet && !cfg!(feature = "parquet") {
        let why = "--format parquet: this gamewire was built without it, since that doubles the time of a \
                   build; use --format csv or ndjson, or build it with `cargo build --release --features \
                   parquet`";
        return Err(Failure::Other(why.to_owned()));
    }
    let config = settings_of(input, err)?;
    let wanted = wanted(args, &config, err)?;
    for place in places(args, &wanted.tables) {
        outputs::refuse_capture(&place, "one of the tables", &input.files)?;
    }
    let mut consumer = ExportConsumer {
        args,
        #[cfg(feature = "parquet")]
        row_group: (input.limits().flow_bytes / 32).min(ROW_GROUP),
        collector: Collector::new(wanted),
        rows: [0; Table::EVERY.len()],
        output: None,
    };
    let ran = read(input, &config, &mut consumer, terminal, err, terminal.err);
    let stop = terminal.stop.map_or(Stop::default(), |stop| stop());
    // The input from a pipe ends with an interrupt; a file would be incomplete.
    if stop.is_asked() && input.files.iter().any(|file| file.is_file()) {
        return Err(Failure::Interrupted);
    }
    let folder = display(&args.output);
    let failed = |error: io::Error| Failure::unwritable(&args.output, &error);
    match ran {
        Ok(()) | Err(Failure::Reported) => {}
        Err(Failure::Output(error)) => return Err(failed(error)),
        Err(failure) => return Err(failure),
    }
    let cut = consumer.collector.cut().iter().map(|table| table.name());
    let cut = Vec::from_iter(cut).join(" and ");
    if let Some(rows) = consumer.finish().map_err(failed)? {
        writeln!(err, "gamewire: wrote to {folder}, in rows: {rows}").ok();
    }
    if !cut.is_empty() {
        writeln!(err, "gamewire: warning: there are more {cut} than fit in --memory").ok();
    }
    ran
}

/// The selected rows.
fn wanted(
    args: &cli::ExportArgs,
    config: &Config,
    err: &mut dyn Write,
) -> Result<SelectedRows, Failure> {
    let (input, limits) = (&args.input, args.input.limits());
    let is_named = |table: &Table| args.tables.is_empty() || args.tables.contains(table);
    let (fields, depth) = (limits.fields, limits.depth);
    let mut wanted = SelectedRows {
        tables: Table::ALL.into_iter().filter(is_named).collect(),
        filter: input.wanted.filter(true).map_err(Failure::Other)?,
        selection: Selection::default(),
        ledger_settings: check::ledger_settings(&config.settings, limits.protocols.remembered),
        complete: args.complete.unwrap_or(config.complete),
        fields: FieldLimits { fields, depth, ..FieldLimits::default() },
        bytes: limits.flow_bytes / 4,
    };
    if wanted.checks() {
        wanted.selection = checking::selection_of(&input.wanted, config, err)?;
    }
    Ok(wanted)
}

/// Maximum bytes of a row group of Parquet, if there is enough memory.
#[cfg(feature = "parquet")]
const ROW_GROUP: usize = 32 << 20;

/// The files that are written.
fn places(args: &cli::ExportArgs, tables: &[Table]) -> impl Iterator<Item = PathBuf> {
    let name = |table: &Table| format!("{}.{}", table.name(), args.format.ending());
    tables.iter().map(move |table| args.output.join(name(table)))
}

/// Writes rows to files.
trait FileSink: Sink {
    /// There are no more rows. Returns the files, still under temporary names.
    fn finish(self: Box<Self>) -> io::Result<Vec<OutputFile>>;
}

impl FileSink for Lines<OutputFile> {
    fn finish(self: Box<Self>) -> io::Result<Vec<OutputFile>> {
        Ok(self.into_outputs().map(|(_, file)| file).collect())
    }
}

struct ExportConsumer<'a> {
    args: &'a cli::ExportArgs,
    /// Bytes of a row group.
    #[cfg(feature = "parquet")]
    row_group: usize,
    collector: Collector,
    /// Rows that were written, by table.
    rows: [u64; Table::EVERY.len()],
    /// Created once a capture could be read.
    output: Option<Box<dyn FileSink>>,
}

impl ExportConsumer<'_> {
    /// Renames the files. Returns the number of rows, as text; `None`: no capture could be read.
    fn finish(self) -> io::Result<Option<String>> {
        let Some(output) = self.output else { return Ok(None) };
        let mut files = output.finish()?;
        files.iter_mut().try_for_each(OutputFile::complete)?;
        files.into_iter().try_for_each(OutputFile::put)?;
        let rows = self.collector.wanted().tables.iter().map(|&table| {
            let count = self.rows.get(table as usize).copied().unwrap_or_default();
            format!("{} {}", table.name(), grouped(count))
        });
        Ok(Some(Vec::from_iter(rows).join(", ")))
    }

    /// Creates the files.
    fn create(&self) -> io::Result<Box<dyn FileSink>> {
        create_folder(&self.args.output)?;
        let tables = &self.collector.wanted().tables;
        let places = places(self.args, tables);
        let files = tables.iter().zip(places).map(|(&table, at)| Ok((table, create_file(&at)?)));
        let files = files.collect::<io::Result<Vec<_>>>()?;
        Ok(match self.args.format {
            ExportFormat::Csv => Box::new(Lines::new(Format::Csv, files)?),
            ExportFormat::Ndjson => Box::new(Lines::new(Format::Ndjson, files)?),
            #[cfg(feature = "parquet")]
            ExportFormat::Parquet => Box::new(parquet::Thread::new(files, self.row_group)?),
            ExportFormat::Vectors => return Err(io::ErrorKind::Unsupported.into()),
            #[cfg(not(feature = "parquet"))]
            ExportFormat::Parquet => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
}

/// Creates a file of the folder, which the error about a refused one names.
fn create_file(at: &Path) -> io::Result<OutputFile> {
    OutputFile::create(at).map_err(|error| match (error.kind(), at.file_name()) {
        (io::ErrorKind::Other, Some(name)) => {
            io::Error::other(format!("{}: {error}", escaped(&name.to_string_lossy())))
        }
        _ => error,
    })
}

/// Passes rows on, and counts them.
struct CountingSink<'o> {
    rows: &'o mut [u64; Table::EVERY.len()],
    output: Option<&'o mut (dyn FileSink + 'static)>,
}

impl Sink for CountingSink<'_> {
    fn row(&mut self, capture: &str, row: &dyn AnyRow<'_>) -> io::Result<()> {
        self.rows[row.table() as usize] += 1;
        self.output.as_mut().map_or(Ok(()), |output| output.row(capture, row))
    }
}

impl Consumer for ExportConsumer<'_> {
    fn needs(&self) -> Needs {
        self.collector.wanted().needs()
    }

    fn selects_messages(&self) -> bool {
        !self.collector.wanted().needs_all()
    }

    fn has_selected(&self, _: &Totals) -> bool {
        self.collector.has_selected()
    }

    fn complete(&self) -> bool {
        self.collector.wanted().complete
    }

    fn begin(&mut self, name: Option<&str>) -> io::Result<()> {
        if self.output.is_none() {
            self.output = Some(self.create()?);
        }
        self.collector.begin(&files_of(&self.args.input, name));
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> io::Result<()> {
        let ExportConsumer { collector, rows, output, .. } = self;
        collector.event(event, &mut CountingSink { rows, output: output.as_deref_mut() })
    }

    fn end(&mut self, read: &mut Totals) -> io::Result<()> {
        let ExportConsumer { collector, rows, output, .. } = self;
        collector.end(read, &mut CountingSink { rows, output: output.as_deref_mut() }).map(drop)
    }
}

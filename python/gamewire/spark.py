"""Captures of any number of files and recorders, read by Apache Spark. It comes to what one process makes
of the same files, merged:

    from gamewire import spark as on_spark

    verdict = on_spark.verdict(spark, paths)
    messages = on_spark.messages(spark, paths, "a2s.info_response")

Every path must name the same file on every machine; files are opened there, and never go through the
driver. `docs/cluster.md` says how it works, and what size a cluster wants.
"""

from __future__ import annotations

import json
import os
import warnings
from itertools import groupby
from operator import itemgetter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _native
from ._errors import CaptureWarning
from ._verdict import Verdict, _verdict

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql import DataFrame, SparkSession

    from ._sources import Path

__all__ = ["findings", "messages", "servers", "verdict"]

#: By what the rows of a partition are sorted.
_ORDER = ("partition", "frame", "kind", "time", "file", "number")


class _Arguments(NamedTuple):
    """What every task makes its reading and its selection of: those themselves do not go over the wire."""

    filter: str | None
    reading: dict[str, Any]
    selection: dict[str, Any]

    def native_reading(self) -> Any:
        return _native.Reading(self.filter, **self.reading)

    def native_selection(self) -> Any:
        return _native.Selection(**self.selection)


def messages(
    spark: SparkSession,
    paths: Sequence[Path],
    filter: str | None = None,
    *,
    partitions: int | None = None,
    **reading: Any,
) -> DataFrame:
    """The table of messages, in no order.

    :param spark: the session
    :param paths: files, each by a path that names it on every machine
    :param filter: only messages that this display filter wants
    :param partitions: parts of all pairs of hosts; if not given, twice as many as tasks run at a time
    :param reading: as of `gamewire.messages`. `memory` is what a task may take
    :raises CaptureError: a file cannot be read
    """
    arguments = _Arguments(filter, reading, {})
    plan, rows, partitions = _rows(spark, paths, arguments, partitions)

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        found = _native.MessagesOf(plan.value, arguments.native_reading())
        for batch in batches:
            yield from _for_spark("messages", found.rows(batch))
        yield from _for_spark("messages", found.finish())

    return rows.mapInArrow(analyse, _spark_schema("messages"))


def servers(
    spark: SparkSession,
    paths: Sequence[Path],
    filter: str | None = None,
    *,
    partitions: int | None = None,
    **reading: Any,
) -> DataFrame:
    """The table of servers, in no order. It takes what `messages` takes.

    Where some do not fit in `memory`, a task warns of it in the log of its executor.
    """
    arguments = _Arguments(filter, reading, {})
    plan, rows, partitions = _rows(spark, paths, arguments, partitions)

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        found = _native.SummariesOf(plan.value, arguments.native_reading())
        for batch in batches:
            yield found.rows(batch)
        yield found.finish()

    def put_together(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for _, own in groupby(_by_share(batches), key=itemgetter(0)):
            portions = map(itemgetter(1), own)
            found, is_cut = _native.servers(plan.value, arguments.native_reading(), portions)
            if is_cut:
                warnings.warn("there are more servers than fit in memory", CaptureWarning, 2)
            yield from _for_spark("servers", found)

    portions = rows.mapInArrow(analyse, _columns(_native.schemas()[1]))
    # What all partitions have of a server is put together in one place, each share of them in another.
    return (
        portions.repartition(partitions, "share")
        .sortWithinPartitions("share", "from", "partition", "number")
        .mapInArrow(put_together, _spark_schema("servers"))
    )


def findings(spark: SparkSession, paths: Sequence[Path], **options: Any) -> DataFrame:
    """The table of findings. It takes what `verdict` takes."""
    _, batches = _judged(spark, paths, **options)
    import pyarrow

    table = pyarrow.Table.from_batches(batches, _table_schema("findings"))
    return spark.createDataFrame(table)


def verdict(spark: SparkSession, paths: Sequence[Path], **options: Any) -> Verdict:
    """What the specifications say of the files, read as one capture: what `gamewire.check(paths)` returns.

    :param spark: the session
    :param paths: files, each by a path that names it on every machine
    :param options: `partitions`, as of `messages`; all others as of `gamewire.check`
    :raises CaptureError: a file cannot be read
    """
    found, _ = _judged(spark, paths, **options)
    return found


def _judged(
    spark: SparkSession,
    paths: Sequence[Path],
    filter: str | None = None,
    *,
    partitions: int | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    require: Sequence[str] = (),
    who: str | None = None,
    host: str | None = None,
    fail_on: str = "error",
    **reading: Any,
) -> tuple[Verdict, list[pyarrow.RecordBatch]]:
    selection = dict(
        select=select, ignore=ignore, require=require, who=who, host=host, fail_on=fail_on
    )
    arguments = _Arguments(filter, reading, selection)
    plan, rows, partitions = _rows(spark, paths, arguments, partitions)

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        portions = _native.PortionsOf(
            plan.value, arguments.native_reading(), arguments.native_selection()
        )
        for batch in batches:
            yield portions.rows(batch)
        yield portions.finish()

    def judge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        reading, selection = arguments.native_reading(), arguments.native_selection()
        found, text, tables = _native.judge(plan.value, reading, selection, iter(batches))
        written = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(written, _native.schemas()[3]) as writer:
            for table in tables:
                writer.write_batch(table)
        yield pyarrow.RecordBatch.from_pydict(
            {"found": [found], "text": [text], "findings": [written.getvalue().to_pybytes()]}
        )

    portions = rows.mapInArrow(analyse, _columns(_native.schemas()[1]))
    # What spans pairs of hosts is judged in one place, as it comes: sorted, so that little waits.
    judged = (
        portions.repartition(1)
        .sortWithinPartitions("from", "partition", "number")
        .mapInArrow(judge, "found string, text string, findings binary")
        .collect()
    )
    import pyarrow

    [(found, text, tables)] = judged
    batches = list(_for_spark("findings", pyarrow.ipc.open_stream(bytes(tables))))
    return _verdict(json.loads(found), text), batches


def _rows(
    spark: SparkSession, paths: Sequence[Path], arguments: _Arguments, partitions: int | None
) -> tuple[Any, DataFrame, int]:
    """The plan of all files, and their rows by partition, each in order; how many partitions there are."""
    # What is wrong with the arguments is said here, and not in a task.
    arguments.native_reading()
    if arguments.selection:
        arguments.native_selection()
    names = [os.fspath(path) for path in paths]
    if not names:
        raise ValueError("an empty list of paths: there is nothing to read")
    context = spark.sparkContext
    partitions = partitions or 2 * context.defaultParallelism
    # A task for each file: as many run at a time as there are cores.
    numbered = context.parallelize(list(enumerate(names)), len(names))
    files = spark.createDataFrame(numbered, "file int, path string")

    def survey(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        for batch in batches:
            reading = arguments.native_reading()
            surveys = [_native.survey(path, reading) for path in batch["path"].to_pylist()]
            yield pyarrow.RecordBatch.from_pydict({"file": batch["file"], "survey": surveys})

    surveyed = files.mapInArrow(survey, "file int, survey binary").collect()
    surveys = {file: bytes(found) for file, found in surveyed}
    made, notices = _native.plan(
        [(name, surveys[file]) for file, name in enumerate(names)], partitions
    )
    for notice in notices:
        warnings.warn(notice, CaptureWarning, stacklevel=4)
    plan = context.broadcast(made)

    def route(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            for file in batch["file"].to_pylist():
                yield from _native.Route(plan.value, file, arguments.native_reading())

    rows = files.mapInArrow(route, _columns(_native.schemas()[0]))
    rows = rows.repartition(partitions, "partition").sortWithinPartitions(*_ORDER)
    return plan, rows, partitions


def _columns(schema: pyarrow.Schema) -> str:
    """The columns of rows and portions, in Spark's words."""
    kinds = {"int32": "int", "int64": "bigint", "binary": "binary"}
    return ", ".join(f"`{field.name}` {kinds[str(field.type)]}" for field in schema)


def _table_schema(name: str) -> pyarrow.Schema:
    """The schema of a table, but for times: Spark has microseconds."""
    import pyarrow

    schema = _native.schemas()[{"messages": 2, "findings": 3, "servers": 4}[name]]
    micro = pyarrow.timestamp("us", "UTC")
    fields = [
        field.with_type(micro) if pyarrow.types.is_timestamp(field.type) else field
        for field in schema
    ]
    return pyarrow.schema(fields)


def _spark_schema(name: str) -> Any:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(_table_schema(name))


def _for_spark(
    name: str, batches: Iterable[pyarrow.RecordBatch]
) -> Iterator[pyarrow.RecordBatch]:
    import pyarrow

    schema = _table_schema(name)
    for batch in batches:
        columns = [
            # Nanoseconds that Spark has no room for are left out.
            column.cast(field.type, safe=False) for column, field in zip(batch.columns, schema)
        ]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _by_share(
    batches: Iterable[pyarrow.RecordBatch],
) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """Portions with the same share, as far as they are in one batch."""
    for batch in batches:
        first = 0
        for share, rows in groupby(batch["share"].to_pylist()):
            count = sum(1 for _ in rows)
            yield share, batch.slice(first, count)
            first += count

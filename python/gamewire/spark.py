"""Reads captures of any number of files and recorders with Apache Spark. The results equal those of one
process that reads the same files, merged:

    from gamewire import spark as on_spark

    verdict = on_spark.verdict(spark, paths)
    messages = on_spark.messages(spark, paths, "a2s.info_response")

Every path must name the same file on every machine; executors open the files, which never pass through the
driver. `docs/cluster.md` describes how it works, and how large a cluster should be.
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

__all__ = ["clients", "findings", "masters", "messages", "servers", "verdict"]

#: The sort order of a partition's rows.
_ORDER = ("partition", "frame", "kind", "time", "file", "number")


class _Arguments(NamedTuple):
    """Arguments from which each task makes its reading and selection, which cannot be serialized."""

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
    """The table of messages, in no particular order.

    :param spark: the session
    :param paths: files, with the same path on every machine
    :param filter: only messages that match this display filter
    :param partitions: number of partitions of all host pairs; by default twice as many as parallel tasks
    :param reading: as for `gamewire.messages`. `memory` is the limit of a task
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
    """The table of servers, in no particular order. It has the parameters of `messages`.

    If some do not fit into `memory`, a task warns about it in the log of its executor.
    """
    return _parties("servers", spark, paths, filter, partitions, reading)


def masters(
    spark: SparkSession,
    paths: Sequence[Path],
    filter: str | None = None,
    *,
    partitions: int | None = None,
    **reading: Any,
) -> DataFrame:
    """The table of masters. It is like that of `servers`."""
    return _parties("masters", spark, paths, filter, partitions, reading)


def clients(
    spark: SparkSession,
    paths: Sequence[Path],
    filter: str | None = None,
    *,
    partitions: int | None = None,
    **reading: Any,
) -> DataFrame:
    """The table of clients. It is like that of `servers`."""
    return _parties("clients", spark, paths, filter, partitions, reading)


def _parties(
    table: str,
    spark: SparkSession,
    paths: Sequence[Path],
    filter: str | None,
    partitions: int | None,
    reading: dict[str, Any],
) -> DataFrame:
    arguments = _Arguments(filter, reading, {})
    plan, rows, partitions = _rows(spark, paths, arguments, partitions)

    def analyse(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        found = _native.SummariesOf(plan.value, arguments.native_reading())
        for batch in batches:
            yield found.rows(batch)
        yield found.finish()

    def put_together(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for _, own in groupby(_by_task(batches), key=itemgetter(0)):
            portions = map(itemgetter(1), own)
            reading = arguments.native_reading()
            found, is_cut = _native.parties(table, plan.value, reading, portions)
            if is_cut:
                warnings.warn(f"there are more {table} than fit in memory", CaptureWarning, 2)
            yield from _for_spark(table, found)

    portions = rows.mapInArrow(analyse, _columns(_native.schemas()[1]))
    # One task merges what all partitions have of a host; each has some of the hosts.
    return (
        portions.repartition(partitions, "task")
        .sortWithinPartitions("task", "from", "partition", "number")
        .mapInArrow(put_together, _spark_schema(table))
    )


def findings(spark: SparkSession, paths: Sequence[Path], **options: Any) -> DataFrame:
    """The table of findings. It has the parameters of `verdict`."""
    _, batches = _checked(spark, paths, **options)
    import pyarrow

    table = pyarrow.Table.from_batches(batches, _table_schema("findings"))
    return spark.createDataFrame(table)


def verdict(spark: SparkSession, paths: Sequence[Path], **options: Any) -> Verdict:
    """Checks the files, read as one capture, against the specifications: the result of `gamewire.check(paths)`.

    :param spark: the session
    :param paths: files, with the same path on every machine
    :param options: `partitions` as for `messages`; all others as for `gamewire.check`
    :raises CaptureError: a file cannot be read
    """
    found, _ = _checked(spark, paths, **options)
    return found


def _checked(
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

    def check(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        import pyarrow

        reading, selection = arguments.native_reading(), arguments.native_selection()
        found, text, tables = _native.verdict(plan.value, reading, selection, iter(batches))
        written = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(written, _native.schemas()[3]) as writer:
            for table in tables:
                writer.write_batch(table)
        yield pyarrow.RecordBatch.from_pydict(
            {"found": [found], "text": [text], "findings": [written.getvalue().to_pybytes()]}
        )

    portions = rows.mapInArrow(analyse, _columns(_native.schemas()[1]))
    # One task checks rules that span host pairs; its input is sorted, so that it stores little.
    checked = (
        portions.repartition(1)
        .sortWithinPartitions("from", "partition", "number")
        .mapInArrow(check, "found string, text string, findings binary")
        .collect()
    )
    import pyarrow

    [(found, text, tables)] = checked
    batches = list(_for_spark("findings", pyarrow.ipc.open_stream(bytes(tables))))
    return _verdict(json.loads(found), text), batches


def _rows(
    spark: SparkSession, paths: Sequence[Path], arguments: _Arguments, partitions: int | None
) -> tuple[Any, DataFrame, int]:
    """The plan of all files, their sorted rows by partition, and the number of partitions."""
    # Invalid arguments raise an error here, not in a task.
    arguments.native_reading()
    if arguments.selection:
        arguments.native_selection()
    names = [os.fspath(path) for path in paths]
    if not names:
        raise ValueError("the list of paths is empty; name at least one file")
    context = spark.sparkContext
    partitions = partitions or 2 * context.defaultParallelism
    # A task for each file.
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
    """The columns of rows and portions as a Spark schema."""
    kinds = {"int32": "int", "int64": "bigint", "binary": "binary"}
    return ", ".join(f"`{field.name}` {kinds[str(field.type)]}" for field in schema)


def _table_schema(name: str) -> pyarrow.Schema:
    """The schema of a table, with times in microseconds for Spark."""
    import pyarrow

    tables = ["messages", "findings", "servers", "masters", "clients"]
    schema = _native.schemas()[2 + tables.index(name)]
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
            # Spark's times have no nanoseconds.
            column.cast(field.type, safe=False) for column, field in zip(batch.columns, schema)
        ]
        yield pyarrow.RecordBatch.from_arrays(columns, schema=schema)


def _by_task(
    batches: Iterable[pyarrow.RecordBatch],
) -> Iterator[tuple[int, pyarrow.RecordBatch]]:
    """Groups of portions with the same task within a batch."""
    for batch in batches:
        first = 0
        for task, rows in groupby(batch["task"].to_pylist()):
            count = sum(1 for _ in rows)
            yield task, batch.slice(first, count)
            first += count

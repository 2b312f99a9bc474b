"""The results of Spark equal those of one process. It runs as on a cluster: with two executors in separate
processes, one of which is killed while it is working."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import struct
import sys
import threading
import time
from pathlib import Path

import gamewire
import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed")
if shutil.which("java") is None:
    pytest.skip("Java is not installed", allow_module_level=True)

import pyarrow
import pyarrow.parquet

from gamewire import spark as on_spark

SAMPLES = Path(__file__).resolve().parents[2] / "samples"

#: The captures of four simultaneous recorders: split responses, lists over TCP, a master over HTTP, and faults.
RECORDED = ["a2s-quirks.pcap", "a2s-split-order.pcap", "gamespy1-faults.pcap", "acr-master-faults.pcap"]

#: A capture of datagrams in VLANs and over IPv6, one in three fragments. The file is divided between the last two of
#: these, after this number of packets.
FRAGMENTS, CUT = "a2s-vlan-ipv6-fragments.pcapng", 9

# Warnings of Spark itself: about pandas, and sockets that it leaves to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{kind}")
    for kind in ("DeprecationWarning", "FutureWarning", "ResourceWarning", "UserWarning")
]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.executor.memory", "1g")
        .config("spark.python.worker.faulthandler.enabled", "true")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def cut(capture: Path, into: Path, parts: int) -> list[str]:
    """Divides a pcap file into this number of parts, as a recorder with rotation does."""
    data = capture.read_bytes()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    records, at = [], 24
    while at < len(data):
        [length] = struct.unpack_from(order + "I", data, at + 8)
        records.append(data[at : at + 16 + length])
        at += 16 + length
    paths = []
    for part in range(parts):
        first, end = (len(records) * it // parts for it in (part, part + 1))
        path = into / f"{capture.stem}-{part:02}.pcap"
        path.write_bytes(data[:24] + b"".join(records[first:end]))
        paths.append(str(path))
    return paths


def cut_after(capture: Path, into: Path, packets: int) -> list[str]:
    """Divides a little-endian pcapng file after this number of packets; both parts have its interfaces."""
    data = capture.read_bytes()
    head, at, left = b"", 0, packets
    while left > 0:
        kind, length = struct.unpack_from("<II", data, at)
        if kind in (0x0A0D0D0A, 1):
            head += data[at : at + length]
        left -= kind == 6
        at += length
    paths = [into / f"{capture.stem}-{part}.pcapng" for part in range(2)]
    for path, part in zip(paths, [data[:at], head + data[at:]]):
        path.write_bytes(part)
    return [str(path) for path in paths]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rotated")
    rotated = [path for name in RECORDED for path in cut(SAMPLES / name, folder, 3)]
    return [*rotated, *cut_after(SAMPLES / FRAGMENTS, folder, CUT)]


@pytest.fixture(scope="module")
def one(files):
    """The results of one process."""
    messages = pyarrow.table(gamewire.messages(files))
    rows = messages.to_pylist()
    # The datagram whose fragments are in two files is larger than each fragment.
    joined = [row for row in rows if row["bytes"] > 1000 and row["src"].startswith("[fd00::")]
    assert len(joined) == 2
    return gamewire.check(files), named(rows)


def named(rows):
    """Messages in the order of file and frame, with each flow named by its first message, because flow numbers differ
    in Spark, and times without nanoseconds."""
    rows = [{**row, "time": row["time"].replace(nanosecond=0)} if hasattr(row["time"], "nanosecond") else row for row in rows]
    rows.sort(key=lambda row: (row["time"], row["file"], row["frame"], row["nth"]))
    flows = {}
    for row in rows:
        row["flow"] = flows.setdefault(row["flow"], (row["file"], row["frame"]))
        row["time"] = row["time"].timestamp()
    return rows


def same_verdict(found, expected):
    assert found.text == expected.text
    assert found == expected


@pytest.mark.parametrize("partitions", [1, 2, 4])
def test_messages_findings_and_verdict_are_those_of_one_process(spark, files, one, partitions):
    expected, messages = one
    assert len(messages) > 100 and len(expected.findings) > 10
    same_verdict(on_spark.verdict(spark, files, partitions=partitions), expected)
    found = on_spark.messages(spark, files, partitions=partitions).toArrow().to_pylist()
    assert named(found) == messages


@pytest.mark.parametrize("partitions", [2, 4])
def test_the_servers_are_those_of_one_process(spark, files, partitions):
    expected = pyarrow.table(gamewire.servers(files)).to_pylist()
    assert len(expected) > 5 and any(row["changes"] for row in expected)
    found = on_spark.servers(spark, files, partitions=partitions).toArrow().to_pylist()
    assert by_server(found) == by_server(expected)


def by_server(rows):
    """The rows by server, with times without nanoseconds, and without findings: which are proven, only the whole capture
    shows."""
    for row in rows:
        row.pop("findings")
        row.update({name: row[name].timestamp() for name in ("first", "last")})
    return sorted(rows, key=lambda row: row["server"])


def test_the_table_of_findings_has_a_row_for_each(spark, files, one):
    expected, _ = one
    rows = on_spark.findings(spark, files, partitions=2).collect()
    assert [(row.rule, row.verdict) for row in rows] == [
        (found.rule, found.verdict) for found in expected.findings
    ]


def test_an_executor_is_killed_while_it_is_working(spark, files, one):
    expected, _ = one
    killed = []

    def kill():
        tracker = spark.sparkContext.statusTracker()
        for _ in range(600):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            if any(stage and stage.numCompletedTasks > 0 for stage in stages):
                process = executors(spark.sparkContext.applicationId)[0]
                os.kill(process, signal.SIGKILL)
                killed.append(process)
                return
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    found = on_spark.verdict(spark, files, partitions=4)
    killer.join()
    assert killed, "no executor was killed while the job ran"
    same_verdict(found, expected)


def executors(application):
    """The processes that run the tasks of an application."""
    found = []
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words:
            if application.encode() in words:
                found.append(int(process.name))
    return sorted(found)


def test_errors_of_reading_name_the_file(spark, files):
    with pytest.raises(Exception, match="no-such-file.pcap"):
        on_spark.verdict(spark, [*files, "/no-such-file.pcap"], partitions=1)
    with pytest.raises(ValueError, match="the list of paths is empty"):
        on_spark.messages(spark, [])


def test_the_example_runs(spark, tmp_path, monkeypatch, capsys):
    """The last test, because it stops the session, which all tests share."""
    example = Path(__file__).resolve().parents[1] / "examples" / "cluster.py"
    captures = [str(SAMPLES / name) for name in ("a2s-quirks.pcap", "gamespy1-query.pcap")]
    monkeypatch.setattr(sys, "argv", [str(example), str(tmp_path), *captures])
    runpy.run_path(str(example), run_name="__main__")
    out = capsys.readouterr().out
    assert gamewire.check(captures).text in out and "10.0.0.2:27015" in out
    for name, table in [("messages", gamewire.messages), ("servers", gamewire.servers)]:
        written = pyarrow.parquet.read_table(tmp_path / name)
        assert written.num_rows == pyarrow.table(table(captures)).num_rows > 0

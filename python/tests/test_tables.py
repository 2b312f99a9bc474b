"""Tables equal the program's output, and every engine can read them."""

import json
import sys
import threading
import time

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest
from reference import SAMPLE, run

import gamewire

QUIRKS = SAMPLE.with_name("a2s-quirks.pcap")
#: Maximum wait for another thread in seconds.
PATIENCE = 60


def rows(table):
    """Rows with times as nanoseconds since 1970."""
    read = pa.table(table)
    for at, column in enumerate(read.schema):
        if pa.types.is_timestamp(column.type):
            assert column.type == pa.timestamp("ns", tz="UTC")
            read = read.set_column(at, column.name, read.column(at).cast(pa.int64()))
    return read.to_pylist()


def nanoseconds(text):
    """`2026-01-01T00:00:00.020000Z` as nanoseconds since 1970."""
    return pa.scalar(text.removesuffix("Z")).cast(pa.timestamp("ns")).value


def socket(row, which):
    address, port = row[f"{which}_address"], row[f"{which}_port"]
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def as_dissected(row):
    """A row in the form of `dissect`, without findings."""
    return {
        "frame": row["frame"],
        "frames": row["frames"],
        "time": row["time"],
        "flow": row["flow"],
        "transport": row["transport"],
        "src": socket(row, "src"),
        "dst": socket(row, "dst"),
        "protocol": row["protocol"],
        "message": row["message"],
        "via": row["via"],
        "request": row["request_frame"],
        "response_time": row["response_time"],
        "waited": row["waited"],
        "tries": row["tries"],
        "copy_of": row["copy_of_frame"],
        "fields": json.loads(row["fields"]),
        "rules": row["rules"],
    }


def assert_messages(table, dissected):
    read = [as_dissected(row) for row in rows(table)]
    for row, message in zip(read, dissected, strict=True):
        # Findings that depend on other flows are left out.
        rules, found = row.pop("rules"), {finding["rule"] for finding in message["findings"]}
        assert len(set(rules)) == len(rules) and found.issuperset(rules), message["frame"]
        expected = {**message, "time": nanoseconds(message["time"])}
        for name, value in row.items():
            assert value == expected.get(name), (name, message["frame"])


def test_messages_are_those_of_the_program(sample):
    assert_messages(gamewire.messages(sample), run("dissect", "--format", "json", sample))


def test_messages_name_the_rules_that_they_break():
    rules = {row["frame"]: row["rules"] for row in rows(gamewire.messages(QUIRKS))}
    assert rules[22] == ["A2S005"] and rules[3] == []


def test_a_filter_selects_messages():
    chosen = "a2s.info_response.players > 0 or udp.port == 50001"
    dissected = run("dissect", "--format", "json", "-Y", chosen, QUIRKS)
    assert 0 < len(dissected) < len(run("dissect", "--format", "json", QUIRKS))
    assert_messages(gamewire.messages(QUIRKS, chosen), dissected)


def test_findings_are_those_of_the_program(sample):
    (checked,) = run("check", "--format", "json", sample)
    read = rows(gamewire.findings(sample))
    for row, finding in zip(read, checked["findings"], strict=True):
        assert row["detail"] == finding["message"]
        assert row["message"] == finding["about"]
        same = ["rule", "slug", "severity", "verdict", "who", "party", "frames", "protocol"]
        for name in [*same, "offset", "length"]:
            assert row[name] == finding[name], name
        if finding["frames"]:
            assert row["time"] == nanoseconds(finding["time"])
    if not read:
        assert checked["findings"] == []


def test_findings_that_do_not_count_are_left_out():
    faulty = SAMPLE.with_name("valve-master-faults.pcap")
    codes = {row["rule"] for row in rows(gamewire.findings(faulty, select=["VM04"], who="server"))}
    expected = gamewire.check(faulty, select=["VM04"], who="server").findings
    assert codes == {finding.rule for finding in expected} != set()
    assert rows(gamewire.findings(faulty, ignore=["VM", "NET", "SEC"])) == []


def test_verdicts_are_those_of_check(sample):
    names = ["passed", "failed", "inconclusive", "verdict", "severity"]
    read = {row["rule"]: [row[name] for name in names] for row in rows(gamewire.verdicts(sample))}
    rules = gamewire.check(sample).rules
    assert read == {rule.code: [getattr(rule, name) for name in names] for rule in rules}


def test_flows_are_those_of_the_program(sample):
    expected = {row["flow"]: row for row in run("flows", "--format", "json", sample)}
    read = {row["flow"]: row for row in rows(gamewire.flows(sample))}
    assert read.keys() == {flow for flow, row in expected.items() if row["protocol"]}
    for flow, row in read.items():
        assert (socket(row, "a"), socket(row, "b")) == (expected[flow]["a"], expected[flow]["b"])
        for name in ["protocol", "packets", "bytes_a", "messages_b", "findings", "answered"]:
            assert row[name] == expected[flow][name], name
        # The program writes as many digits as the first packet's time has.
        assert row["first"] // 1000 == nanoseconds(expected[flow]["first"]) // 1000


def test_servers_are_those_of_the_program(sample):
    (expected,) = run("summary", "--format", "json", sample)
    read = {row["server"]: row for row in rows(gamewire.servers(sample))}
    assert read.keys() == {server["server"] for server in expected["servers"]}
    for server in expected["servers"]:
        row = read[server["server"]]
        for name in ["name", "map", "players", "exchanges", "answered", "findings"]:
            assert row[name] == server[name], name


def test_a_list_of_files_is_read_as_one_capture():
    files = [str(QUIRKS), str(SAMPLE)]
    read = rows(gamewire.messages(files))
    dissected = run("dissect", "--format", "json", "--merge", *files)
    assert [row["time"] for row in read] == [nanoseconds(it["time"]) for it in dissected]
    assert {row["file"] for row in read} == set(files)


def test_a_table_can_be_read_repeatedly_but_a_file_object_only_once():
    table = gamewire.messages(QUIRKS)
    assert pa.table(table) == pa.table(table)
    with QUIRKS.open("rb") as file:
        once = gamewire.messages(file)
        assert pa.table(once).num_rows == pa.table(table).num_rows
        with pytest.raises(gamewire.CaptureError, match="a file object can be read only once"):
            pa.table(once)


def test_a_table_has_a_name_and_a_schema():
    table = gamewire.messages(QUIRKS)
    assert repr(table) == f"<gamewire.Table messages of {QUIRKS}>"
    assert table.columns == pa.table(table).column_names
    schema = pa.schema(table)
    assert schema == pa.table(table).schema
    assert schema.metadata[b"gamewire.table"] == b"messages"


def test_engines_read_tables():
    expected = pa.table(gamewire.messages(QUIRKS)).num_rows
    names = pa.table(gamewire.messages(QUIRKS)).column("message").to_pylist()

    frame = polars.DataFrame(gamewire.messages(QUIRKS))
    assert (frame.height, frame["message"].to_list()) == (expected, names)
    assert frame.schema["time"] == polars.Datetime("ns", "UTC")

    frame = pandas.DataFrame.from_arrow(gamewire.messages(QUIRKS))
    assert (len(frame), frame["message"].tolist()) == (expected, names)

    asked = gamewire.messages(QUIRKS)  # DuckDB finds it by the name of the variable.
    count, players = duckdb.sql("select count(*), max(players) from asked").fetchall()[0]
    assert (count, players) == (expected, max(frame["players"].dropna()))
    assert asked is not None


# Large captures.


def flood(count):
    """A capture of this number of requests and responses."""
    client, server = ("10.0.0.1", 50000), ("10.0.0.2", 27015)
    request = b"\xff\xff\xff\xffTSource Engine Query\0"
    about = b"\x11Mill Creek\0cp_well\0tf\0Team Fortress\0\xb8\x01\x03\x18\0dl\0\x018\0\0"
    response = b"\xff\xff\xff\xffI" + about
    exchange = [(0.0, client, server, request), (0.01, server, client, response)]
    return gamewire.capture_of(
        (1_800_000_000 + nth + since, *ends, data)
        for nth in range(count // 2)
        for since, *ends, data in exchange
    )


@pytest.fixture(scope="module")
def large():
    return flood(60_000)


class Counting:
    """A file object that counts the bytes that were read."""

    name = "counting"

    def __init__(self, data):
        self.data, self.at = memoryview(data), 0

    def read(self, size):
        part = bytes(self.data[self.at : self.at + size])
        self.at += len(part)
        return part


def test_batches_are_bounded_and_read_on_request(large):
    counting = Counting(large)
    reader = pa.RecordBatchReader.from_stream(gamewire.messages(counting))
    assert counting.at <= 1 << 17, "only enough to see that it is a capture"
    first = reader.read_next_batch()
    assert 0 < first.num_rows <= 10_000
    assert first.nbytes < 16 << 20
    assert counting.at < len(large) / 3
    sizes = [first.num_rows, *(batch.num_rows for batch in reader)]
    assert sum(sizes) == 60_000 and max(sizes) <= 10_000
    assert counting.at == len(large)


def test_an_unfinished_stream_is_released(large):
    counting = Counting(large)
    reader = pa.RecordBatchReader.from_stream(gamewire.messages(counting))
    reader.read_next_batch()
    del reader
    assert counting.at < len(large) / 3
    assert sys.getrefcount(counting) <= 3, "its method is released, too"


class Meanwhile:
    """Another thread, which counts while it can run."""

    def __enter__(self):
        self.count, self.ends = 0, False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def run(self):
        while not self.ends:
            self.count += 1
            time.sleep(0.001)

    def __exit__(self, *_):
        self.ends = True
        self.thread.join(PATIENCE)


@pytest.mark.parametrize(
    "read",
    [
        lambda data: gamewire.check(data),
        lambda data: pa.table(gamewire.messages(data)),
        # All of its rows are in one batch, which needs the complete capture.
        lambda data: polars.DataFrame(gamewire.servers(data)),
        lambda data: duckdb.from_arrow(gamewire.messages(data)).fetchall(),
    ],
    ids=["check", "pyarrow", "polars", "duckdb"],
)
def test_other_threads_run_meanwhile(read, large):
    with Meanwhile() as meanwhile:
        began, before = time.monotonic(), meanwhile.count
        read(large)
        took, counted = time.monotonic() - began, meanwhile.count - before
    # It sleeps a millisecond at a time, so it counts almost nothing if the GIL is held.
    assert counted > 20, f"{counted} in {took:.2f} s"


def test_two_threads_read_one_table(large):
    table = gamewire.messages(large)
    sizes = []
    threads = [threading.Thread(target=lambda: sizes.append(pa.table(table).num_rows)) for _ in "ab"]
    [thread.start() for thread in threads]
    [thread.join(PATIENCE) for thread in threads]
    assert sizes == [60_000, 60_000]


# Errors.


def test_errors_of_opening_are_raised_when_the_table_is_made():
    with pytest.raises(gamewire.CaptureError, match="no/such.pcap: no such file"):
        gamewire.messages("no/such.pcap")
    with pytest.raises(gamewire.FilterError, match=r"\^\^\^\^ did you mean"):
        gamewire.flows(SAMPLE, "a2s.info_respons")
    with pytest.raises(TypeError, match="a source is a path"):
        gamewire.servers(None)


def test_a_file_that_disappears_is_an_error(tmp_path):
    files = [tmp_path / "mon.pcap", tmp_path / "tue.pcap"]
    for file in files:
        file.write_bytes(SAMPLE.read_bytes())
    table = gamewire.messages(files)
    files[1].unlink()
    with pytest.raises(Exception, match="CaptureError: .*tue.pcap: no such file"):
        pa.table(table)


def test_errors_of_a_file_object_end_the_stream(large):
    class Breaking(Counting):
        def read(self, size):
            if self.at > len(self.data) / 2:
                raise ConnectionError("the store hung up")
            return super().read(size)

    reader = pa.RecordBatchReader.from_stream(gamewire.messages(Breaking(large)))
    assert reader.read_next_batch().num_rows > 0
    with pytest.raises(Exception, match="ConnectionError: the store hung up"):
        reader.read_all()


def test_a_truncated_capture_is_read_with_a_warning():
    data = QUIRKS.read_bytes()[:-3]
    with pytest.warns(gamewire.CaptureWarning, match="<bytes>: the file ends inside the record") as all:
        read = pa.table(gamewire.messages(data))
    assert read.num_rows == 41, "the last packet is of another protocol"
    assert len(all) == 1

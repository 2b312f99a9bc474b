"""The tables of `gamewire export` as DuckDB and pyarrow read them, and the queries of docs/queries.md.

Run by `.ci/tables`, from the root of the repository: python3 tests/tables.py PATH/TO/gamewire
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, defaultdict
from datetime import datetime, timezone
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

GAMEWIRE = os.path.abspath(sys.argv.pop(1))
SAMPLES = sorted(str(path) for path in Path("samples").glob("*.pcap*"))
TABLES = ["messages", "flows", "findings", "servers", "masters", "clients", "verdicts"]
QUERIES = re.findall(r"^## (.+?)\n.*?```sql\n(.*?)```", Path("docs/queries.md").read_text(), re.S | re.M)


def gamewire(*args):
    ran = subprocess.run([GAMEWIRE, *args], capture_output=True, text=True)
    if ran.returncode > 1:
        raise AssertionError(ran.stderr)
    return ran.stdout


def lines(command, *args):
    out = gamewire(command, "--no-config", "--format", "json", *args)
    return [json.loads(line) for line in out.splitlines()]


def is_copy(message):
    return "copy_of" in message


class Exported(unittest.TestCase):
    """All samples, each a capture of its own, in every format."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        root = Path(cls.folder.name)
        for format, folder in [("parquet", "tables"), ("ndjson", "lines"), ("csv", "csv")]:
            gamewire("export", "--no-config", "--format", format, "-o", str(root / folder), *SAMPLES)
        cls.root = root
        cls.database = duckdb.connect()
        cls.database.execute(f"SET file_search_path = '{root}'; SET TimeZone = 'UTC'")
        cls.messages = lines("dissect", *SAMPLES)
        cls.counted = [message for message in cls.messages if not is_copy(message)]

    @classmethod
    def tearDownClass(cls):
        cls.database.close()
        cls.folder.cleanup()

    def rows(self, query):
        cursor = self.database.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row)) for row in cursor.fetchall()]

    def asked(self, heading):
        """The rows of a query of the page."""
        found = [query for name, query in QUERIES if heading in name]
        self.assertEqual(len(found), 1, heading)
        return self.rows(found[0])


class Formats(Exported):
    def test_pyarrow_reads_the_schema_that_is_promised(self):
        for table in TABLES:
            schema = pq.read_schema(self.root / "tables" / f"{table}.parquet")
            self.assertEqual(schema.metadata[b"gamewire.table"], table.encode())
            self.assertEqual(schema.metadata[b"gamewire.version"], b"1")
        messages = pq.read_schema(self.root / "tables/messages.parquet")
        self.assertEqual(messages.field("time").type, pa.timestamp("ns", tz="UTC"))
        self.assertEqual(messages.field("frames").type.value_type, pa.int64())

    def test_parquet_and_lines_of_json_say_the_same(self):
        for table in TABLES:
            read = pq.read_table(self.root / "tables" / f"{table}.parquet")
            times = [field.name for field in read.schema if pa.types.is_timestamp(field.type)]
            for name in times:
                at = read.schema.get_field_index(name)
                read = read.set_column(at, name, read.column(name).cast(pa.int64()))
            rows = read.to_pylist()
            text = (self.root / "lines" / f"{table}.ndjson").read_text()
            said = [json.loads(line) for line in text.splitlines()]
            self.assertEqual(len(rows), len(said), table)
            self.assertGreater(len(rows), 10, table)
            for row, line in zip(rows, said):
                for name, value in line.items():
                    found = row[name]
                    if name in ("fields", "beside", "kinds") and found is not None:
                        found = json.loads(found)
                    elif name in times and found is not None:
                        second = datetime.fromtimestamp(found // 10**9, timezone.utc)
                        found = f"{second:%Y-%m-%dT%H:%M:%S}.{found % 10**9:09}Z"
                    self.assertEqual(found, value, f"{table}.{name}")

    def test_row_groups_are_snappy_and_there_is_one_of_few_rows(self):
        file = pq.ParquetFile(self.root / "tables/messages.parquet")
        self.assertEqual(file.num_row_groups, 1)
        self.assertEqual(file.metadata.row_group(0).column(0).compression, "SNAPPY")

    def test_duckdb_counts_the_same_in_all_formats(self):
        for table in TABLES:
            read = [f"'tables/{table}.parquet'", f"read_json('lines/{table}.ndjson', format = 'newline_delimited')",
                    f"read_csv('csv/{table}.csv', all_varchar = true)"]
            counts = {self.rows(f"SELECT count(*) AS n FROM {rows}")[0]["n"] for rows in read}
            self.assertEqual(len(counts), 1, table)


class Queries(Exported):
    def test_there_are_ten(self):
        self.assertEqual(len(QUERIES), 10)

    def test_servers_that_answer_badly(self):
        expected = defaultdict(lambda: [0, 0])
        for summary in lines("summary", *SAMPLES):
            for server in summary["servers"]:
                expected[server["server"]][0] += server["exchanges"]
                expected[server["server"]][1] += server["answered"]
        rows = self.asked("unanswered")
        self.assertEqual({row["server"]: row["asked"] for row in rows},
                         {server: asked for server, (asked, _) in expected.items() if asked})
        for row in rows:
            asked, answered = expected[row["server"]]
            self.assertAlmostEqual(row["answered_percent"], 100 * answered / asked, places=1)
        self.assertLess(rows[0]["answered_percent"], 100)

    def test_slow_responses_by_hour(self):
        expected = defaultdict(list)
        for message in self.counted:
            if "response_time" in message:
                expected[message["time"][:13]].append(message["response_time"])
        rows = self.asked("responses slow")
        self.assertEqual(len(rows), len(expected))
        for row in rows:
            times = expected[row["hour"].strftime("%Y-%m-%dT%H")]
            self.assertEqual((row["responses"], row["longest"]), (len(times), max(times)))
            self.assertIn(row["p95"], times)

    def test_who_asked_most(self):
        expected = Counter()
        for summary in lines("summary", *SAMPLES):
            for client in summary["clients"]:
                expected[summary["capture"], client["client"]] = client["sent"]
        rows = self.asked("most requests")
        sent = {row["client"]: row["sent"] for row in rows}
        # Masters that check servers send requests, too, but are not clients in `summary`.
        for row in self.rows("""SELECT capture, src_address AS client, count(*) AS sent FROM 'tables/messages.parquet'
                                WHERE speaker = 'client' AND copy_of_frame IS NULL GROUP BY ALL"""):
            key = (row["capture"], row["client"])
            self.assertEqual(row["sent"], expected.setdefault(key, row["sent"]), key)
        by_client = Counter()
        for (_, client), count in expected.items():
            by_client[client] += count
        self.assertEqual(sent, by_client)
        self.assertEqual(rows[0]["sent"], max(sent.values()))

    def test_map_changes(self):
        rows = self.asked("change its map")
        self.assertTrue(rows)
        known, expected = {}, []
        for message in self.messages:
            if message["protocol"] == "a2s" and message["message"].startswith("info_response"):
                key, map = (message["capture"], message["src"]), message["fields"]["map"]
                if map and known.setdefault(key, map) != map:
                    expected.append((message["src"], known[key], map, message["capture"], message["frame"]))
                    known[key] = map
        found = [(row["server"], row["before"], row["map"], row["file"], row["frame"]) for row in rows]
        self.assertTrue(expected and set(expected) <= set(found), f"{expected} {found}")

    def test_players(self):
        rows = self.asked("How many players")
        self.assertTrue(rows and all(row["servers"] > 0 for row in rows))
        self.assertEqual(rows, sorted(rows, key=lambda row: row["quarter"]))
        peak = self.rows("SELECT max(players) AS most FROM 'tables/messages.parquet' WHERE speaker = 'server'")
        self.assertGreaterEqual(max(row["players"] for row in rows), peak[0]["most"])

    def test_what_the_traffic_is_made_of(self):
        expected = Counter((message["protocol"], message["message"]) for message in self.counted)
        rows = self.asked("traffic consist of")
        self.assertEqual({(row["protocol"], row["message"]): row["messages"] for row in rows}, expected)

    def test_servers_that_amplify(self):
        rows = self.asked("misused to flood")
        by_place = {(message["capture"], message["frame"]): message for message in self.messages}
        responses = Counter()
        for message in self.messages:
            request = by_place.get((message["capture"], message.get("request")))
            if request and message["transport"] == "udp":
                responses[message["src"], message["message"]] += 1
        self.assertTrue(rows)
        for row in rows:
            self.assertGreater(row["amplification"], 3)
            self.assertLessEqual(row["responses"], responses[row["server"], row["message"]])

    def test_who_breaks_rules(self):
        expected = Counter()
        for found in lines("check", *SAMPLES)[0]["findings"]:
            if found["verdict"] == "fail":
                expected[found["party"], found["rule"], found["severity"]] += 1
        rows = self.asked("breaks which rules")
        self.assertEqual({(row["party"], row["rule"], row["severity"]): row["at_least"] for row in rows}, expected)

    def test_what_masters_list(self):
        expected = set()
        for message in self.messages:
            if message["message"] in ("reply", "list_response"):
                expected |= set(message["fields"].get("servers", []))
        rows = {row["server"]: row["asked"] for row in self.asked("masters list")}
        self.assertTrue(expected - {"0.0.0.0:0"} <= set(rows), expected - set(rows))

    def test_kept_here_and_broken_there(self):
        kept, broken = defaultdict(list), defaultdict(list)
        for sample in SAMPLES:
            for rule in lines("check", sample)[0]["rules"]:
                if rule["verdict"] in ("pass", "fail"):
                    (kept if rule["verdict"] == "pass" else broken)[rule["code"]].append(sample)
        rows = {row["rule"]: (row["passed"], row["failed"]) for row in self.asked("pass in one capture")}
        self.assertEqual(rows, {code: (kept[code], broken[code]) for code in kept if code in broken})


if __name__ == "__main__":
    unittest.main(verbosity=2)

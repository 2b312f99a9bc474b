"""The code in docs/python.md runs, and equals the examples."""

import gzip
import re
from pathlib import Path

from reference import ROOT, SAMPLE

PAGE = (ROOT / "docs" / "python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
EXAMPLE = Path(__file__).parents[1] / "examples" / "test_query_library.py"


def test_the_example_is_that_of_the_page():
    (shown,) = [block for block in BLOCKS if "recorder" in block]
    assert EXAMPLE.read_text().endswith(shown)


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    for name in ["session.pcap", "large.pcap"]:
        (tmp_path / name).write_bytes(SAMPLE.read_bytes())
    for name in ["mon.pcap.gz", "tue.pcap.gz"]:
        (tmp_path / name).write_bytes(gzip.compress(SAMPLE.read_bytes()))
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in BLOCKS:
        if "recorder" not in block:
            exec(block, names)
    names["test_the_recorded_session_conforms"]()
    assert "ctf_2fort" in capsys.readouterr().out

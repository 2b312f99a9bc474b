"""Decodes the query and master-server traffic of game servers from packet captures, and checks it
against the protocols' specifications.

    verdict = gamewire.check("session.pcap")
    assert verdict.passed, verdict

    messages = polars.DataFrame(gamewire.messages("session.pcap", "a2s.info_response.players > 0"))

`check` and `assert_conforms` check a capture. `messages`, `flows`, `servers`, `masters`, `clients`, `findings`
and `verdicts` are its tables: Arrow streams with the PyCapsule interface, which pyarrow, polars, DuckDB and
pandas read without a copy.

A source is a path, a list of paths that are read as one capture, bytes, or a binary file object: pcap or
pcapng, plain or compressed with gzip or zstd.
"""

from ._capture import capture_of
from ._errors import CaptureError, CaptureWarning, FilterError, GamewireError
from ._native import Table, __version__
from ._tables import clients, findings, flows, masters, messages, servers, verdicts
from ._verdict import Finding, RuleOutcome, Verdict, assert_conforms, check

__all__ = [
    "CaptureError",
    "CaptureWarning",
    "FilterError",
    "Finding",
    "GamewireError",
    "RuleOutcome",
    "Table",
    "Verdict",
    "__version__",
    "assert_conforms",
    "capture_of",
    "check",
    "clients",
    "findings",
    "flows",
    "masters",
    "messages",
    "servers",
    "verdicts",
]

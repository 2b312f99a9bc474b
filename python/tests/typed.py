"""Uses the package, for the type checker only: it is not run."""

from pathlib import Path

import gamewire


def use(path: Path) -> str:
    verdict = gamewire.check([path, "b.pcap"], select=["A2S"], complete=True, memory="512M")
    gamewire.assert_conforms(path.open("rb"), "a2s", who="client")
    table: gamewire.Table = gamewire.messages(b"", gamespy_keys={"ut": "key"})
    first: gamewire.Finding = verdict.findings[0]
    seen = [(0.5, ("::1", 50000, 0, 0), ("::1", 27015), b"")]
    return f"{first.party or table.columns[0]} {gamewire.capture_of(seen)!r}"

"""The samples, and the program, whose output is the reference."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "samples").glob("*.pcap*"))
SAMPLE = ROOT / "samples" / "a2s-info-players-rules.pcap"


def program() -> Path:
    """The program, from `GAMEWIRE` or a build in this repository."""
    if named := os.environ.get("GAMEWIRE"):
        return Path(named).resolve()
    built = [ROOT / "target" / profile / "gamewire" for profile in ("debug", "release")]
    built = [path for path in built if path.exists()]
    if not built:
        pytest.skip("gamewire is not built: cargo build")
    return max(built, key=lambda path: path.stat().st_mtime)


def run(*arguments) -> list:
    """The output of the program: one JSON object per line."""
    command = [program(), *arguments, "--no-config"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]

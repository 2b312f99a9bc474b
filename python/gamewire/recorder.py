"""Records what a test says to a server, through a relay of the program `gamewire record`: a fixture for pytest.

    pytest_plugins = ["gamewire.recorder"]

    def test_the_library_conforms(server, recorder):
        with recorder(server) as recording:
            query_library.info(recording.address)
        gamewire.assert_conforms(recording.capture, who="client", complete=True)

It needs no permission to capture, but the program: in `PATH`, or named by the environment variable `GAMEWIRE`.
"""

from __future__ import annotations

import ipaddress
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import pytest

from ._capture import Address
from ._errors import GamewireError

#: The command that is recorded: it says where the relay listens, and lasts until its input is closed.
_HOLD = "import os, sys; print(os.environ['GAMEWIRE_RELAY_1'], flush=True); sys.stdin.read()"

#: Seconds that the program may take to end: its own wait for answers is shorter.
_ENDING = 30


@dataclass(frozen=True)
class Recording:
    """A recording of what is said to a relay."""

    address: tuple[str, int]
    """Where the relay listens: the test sends here instead of to the server."""
    capture: Path
    """The recording, once it has ended. It names the server, not the relay."""


@contextmanager
def record(
    target: Address, capture: Path, *, transport: str = "udp", linger: str = "200ms"
) -> Iterator[Recording]:
    """Records what is sent to a relay, and what the server responds, until the `with` block ends.

    :param target: the server's address as in `socket`: an IP address and a port
    :param capture: the pcapng file to write
    :param transport: udp or tcp
    :param linger: how long nothing must be said at the end; at most 5s
    :raises GamewireError: the program is not found, or cannot record
    """
    host = ipaddress.ip_address(target[0].partition("%")[0])
    listen, server = ("127.0.0.1", f"{host}") if host.version == 4 else ("[::1]", f"[{host}]")
    relay = f"{transport}:{listen}:0={server}:{target[1]}"
    options = ["--write", str(capture), "--linger", linger, "--relay", relay]
    command = [_program(), "record", *options, "--", sys.executable, "-c", _HOLD]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout
        address, _, port = process.stdout.readline().strip().rpartition(":")
        try:
            if port:
                yield Recording((address.strip("[]"), int(port)), capture)
        finally:
            try:
                # This closes the command's input.
                _, said = process.communicate(timeout=_ENDING)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
    if not port or process.returncode != 0:
        raise GamewireError(said.strip())


@pytest.fixture
def recorder(tmp_path: Path) -> Callable[..., AbstractContextManager[Recording]]:
    """Begins recordings: `with recorder(server) as recording`. Its options are those of `record`."""
    captures = (tmp_path / f"recording-{number}.pcapng" for number in range(1, sys.maxsize))

    def begin(target: Address, **options: Any) -> AbstractContextManager[Recording]:
        return record(target, next(captures), **options)

    return begin


def _program() -> str:
    program = os.environ.get("GAMEWIRE") or shutil.which("gamewire")
    if program is None:
        raise GamewireError(
            "the program gamewire is not in PATH; install it with `cargo install`, or name it in GAMEWIRE"
        )
    return program

"""Types of sources, and of options for reading them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict, Union


class BinaryFile(Protocol):
    """A file that was opened with mode "rb", or another object whose `read` returns bytes."""

    def read(self, size: int, /) -> bytes: ...


Path = Union[str, "os.PathLike[str]"]

#: A path, a list of paths that are read as one capture in the order of time, the bytes of a capture,
#: or a binary file object, which is read once, from its current position.
Source = Union[Path, Sequence[Path], bytes, bytearray, memoryview, BinaryFile]


class Reading(TypedDict, total=False):
    """Options for reading a capture."""

    #: The capture is complete: messages that are missing from it were not sent.
    complete: bool
    #: Ports to decode as a given protocol: `["udp.port==27999,a2s"]`.
    decode_as: Sequence[str]
    #: Keys of games by name, for validate codes of the GameSpy text protocol.
    gamespy_keys: Mapping[str, str]
    #: Keys of users by name, for digests of AssaultCube Reloaded's master.
    acr_keys: Mapping[str, bytes]
    #: Maximum memory, such as "512M"; by default a quarter of the machine's, at most 1G.
    memory: str

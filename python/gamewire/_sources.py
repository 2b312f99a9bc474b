"""What can be read, and how: types only."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Protocol, TypedDict, Union


class BinaryFile(Protocol):
    """A file that was opened with mode "rb", or anything else whose `read` gives bytes."""

    def read(self, size: int, /) -> bytes: ...


Path = Union[str, "os.PathLike[str]"]

#: A path, a list of paths that are read as one capture in the order of time, the bytes of a capture,
#: or a binary file object, which is read once, from where it is.
Source = Union[Path, Sequence[Path], bytes, bytearray, memoryview, BinaryFile]


class Reading(TypedDict, total=False):
    """How a capture is read."""

    #: Nothing of the capture is missing: what it lacks did not happen.
    complete: bool
    #: Protocols that are forced on ports: `["udp.port==27999,a2s"]`.
    decode_as: Sequence[str]
    #: Keys of games by their names, for what the GameSpy text protocol signs.
    gamespy_keys: Mapping[str, str]
    #: Keys of users by their names, for what AssaultCube Reloaded's master signs.
    acr_keys: Mapping[str, bytes]
    #: How much memory it may take, such as "512M"; a quarter of the machine's, 1G at most, if not given.
    memory: str

from collections.abc import Mapping, Sequence
from typing import final

from ._sources import Source

__all__ = ["Reading", "Selection", "Table", "__version__", "check"]
__version__: str

@final
class Reading:
    def __new__(
        cls,
        filter: str | None = None,
        *,
        complete: bool = False,
        decode_as: Sequence[str] = ...,
        gamespy_keys: Mapping[str, str] | None = None,
        acr_keys: Mapping[str, bytes] | None = None,
        memory: str | None = None,
    ) -> Reading: ...

@final
class Selection:
    def __new__(
        cls,
        *,
        select: Sequence[str] = ...,
        ignore: Sequence[str] = ...,
        require: Sequence[str] = ...,
        who: str | None = None,
        host: str | None = None,
        fail_on: str = "error",
    ) -> Selection: ...

@final
class Table:
    """A table of a capture. Nothing of it is in memory: each stream reads the capture anew."""

    def __new__(
        cls, name: str, source: Source, reading: Reading, selection: Selection
    ) -> Table: ...
    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of record batches, by Arrow's PyCapsule interface. The capture is read
        as batches are asked for."""
    def __arrow_c_schema__(self) -> object:
        """Its schema, by Arrow's PyCapsule interface."""

def check(source: Source, reading: Reading, selection: Selection) -> tuple[str, str]: ...

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from ._sources import Source

__all__ = [
    "MessagesOf",
    "PortionsOf",
    "Reading",
    "Route",
    "Selection",
    "SummariesOf",
    "Table",
    "__version__",
    "check",
    "parties",
    "plan",
    "schemas",
    "survey",
    "verdict",
]
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
    """A table of a capture. It is not in memory: each stream reads the capture."""

    def __new__(
        cls, name: str, source: Source, reading: Reading, selection: Selection
    ) -> Table: ...
    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """The table as a stream of record batches, by Arrow's PyCapsule interface. The capture is read
        as batches are requested."""
    def __arrow_c_schema__(self) -> object:
        """Its schema, by Arrow's PyCapsule interface."""

def check(source: Source, reading: Reading, selection: Selection) -> tuple[str, str]: ...

# Steps of `gamewire.spark`, with batches of pyarrow.
@final
class Route:
    def __new__(cls, plan: bytes, file: int, reading: Reading) -> Route: ...
    def __iter__(self) -> Route: ...
    def __next__(self) -> Any: ...

@final
class PortionsOf:
    def __new__(cls, plan: bytes, reading: Reading, selection: Selection) -> PortionsOf: ...
    def rows(self, batch: Any) -> Any: ...
    def finish(self) -> Any: ...

@final
class MessagesOf:
    def __new__(cls, plan: bytes, reading: Reading) -> MessagesOf: ...
    def rows(self, batch: Any) -> list[Any]: ...
    def finish(self) -> list[Any]: ...

@final
class SummariesOf:
    def __new__(cls, plan: bytes, reading: Reading) -> SummariesOf: ...
    def rows(self, batch: Any) -> Any: ...
    def finish(self) -> Any: ...

def survey(path: str, reading: Reading) -> bytes: ...
def plan(files: Sequence[tuple[str, bytes]], partitions: int) -> tuple[bytes, list[str]]: ...
def verdict(
    plan: bytes, reading: Reading, selection: Selection, portions: Iterator[Any]
) -> tuple[str, str, list[Any]]: ...
def parties(
    table: str, plan: bytes, reading: Reading, portions: Iterator[Any]
) -> tuple[list[Any], bool]: ...
def schemas() -> list[Any]: ...

from collections.abc import Mapping, Sequence

from ._sources import Source

__version__: str

class Reading:
    def __new__(
        cls,
        filter: str | None = None,
        *,
        complete: bool = False,
        decode_as: Sequence[str] = (),
        gamespy_keys: Mapping[str, str] | None = None,
        acr_keys: Mapping[str, bytes] | None = None,
        memory: str | None = None,
    ) -> Reading: ...

class Selection:
    def __new__(
        cls,
        *,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        require: Sequence[str] = (),
        who: str | None = None,
        host: str | None = None,
        fail_on: str = "error",
    ) -> Selection: ...

def check(source: Source, reading: Reading, selection: Selection) -> tuple[str, str]: ...

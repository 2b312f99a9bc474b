"""Tables of captures, for engines that take streams of Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._sources import Reading, Source


def messages(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each message, in the order of the capture: times, ends, protocol, message, what it
    responds to, and its fields as JSON and, the commonest, as columns.

    :param source: a path, a list of paths that are read as one capture, bytes, or a binary file object
    :param filter: only messages that this display filter wants: `a2s.info_response.players > 0`
    :param reading: see `Reading`
    :raises CaptureError: the source cannot be read
    :raises FilterError: the filter is none
    """
    return _table("messages", source, _native.Reading(filter, **reading))


def flows(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each flow of a supported protocol, in the order in which they end: who talked to whom,
    how much, and how requests fared. With a filter, of flows that have a message it wants.

    It takes what `messages` takes.
    """
    return _table("flows", source, _native.Reading(filter, **reading))


def servers(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each game server: what it says of itself, how many requests it had, how many of them
    it answered, and how fast. Its rows come when the capture has been read.

    It takes what `messages` takes.
    """
    return _table("servers", source, _native.Reading(filter, **reading))


def findings(
    source: Source,
    filter: str | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    who: str | None = None,
    host: str | None = None,
    **reading: Unpack[Reading],
) -> _native.Table:
    """A row for each finding of `check`: which rule was broken, by whom, in which packets. Its rows come
    when the capture has been read.

    It takes what `check` takes.
    """
    rules = _native.Selection(select=select, ignore=ignore, who=who, host=host)
    return _table("findings", source, _native.Reading(filter, **reading), rules)


def verdicts(
    source: Source,
    filter: str | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    who: str | None = None,
    host: str | None = None,
    **reading: Unpack[Reading],
) -> _native.Table:
    """A row for each rule: how often the capture keeps and breaks it. Its rows come when the capture has
    been read.

    It takes what `check` takes.
    """
    rules = _native.Selection(select=select, ignore=ignore, who=who, host=host)
    return _table("verdicts", source, _native.Reading(filter, **reading), rules)


def _table(
    name: str,
    source: Source,
    reading: _native.Reading,
    rules: _native.Selection | None = None,
) -> _native.Table:
    return _native.Table(name, source, reading, rules or _native.Selection())

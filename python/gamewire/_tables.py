"""Tables of captures for engines that read Arrow streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._sources import Reading, Source


def messages(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each message, in the order of the capture: time, addresses, protocol, message, the request
    that it responds to, and its fields as JSON, and common ones as columns.

    :param source: a path, a list of paths that are read as one capture, bytes, or a binary file object
    :param filter: only messages that match this display filter: `a2s.info_response.players > 0`
    :param reading: see `Reading`
    :raises CaptureError: the source cannot be read
    :raises FilterError: the filter is invalid
    """
    return _table("messages", source, _native.Reading(filter, **reading))


def flows(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each flow of a supported protocol, in the order of their ends: addresses, amounts of traffic,
    and how many requests were answered. With a filter, only flows with a message that matches it.

    It has the parameters of `messages`.
    """
    return _table("flows", source, _native.Reading(filter, **reading))


def servers(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each game server: its properties, the number of requests to it and of those that it answered,
    and its response times. Rows are available when the capture has been read.

    It has the parameters of `messages`.
    """
    return _table("servers", source, _native.Reading(filter, **reading))


def masters(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each master server: the lists that it was asked for and those that it sent to their ends, the
    servers that joined it, and its response times. Rows are available when the capture has been read.

    It has the parameters of `messages`.
    """
    return _table("masters", source, _native.Reading(filter, **reading))


def clients(source: Source, filter: str | None = None, **reading: Unpack[Reading]) -> _native.Table:
    """A row for each host that sends requests: their number and kinds, how many of them were answered, and the
    libraries or programs that it was recognized by. Rows are available when the capture has been read.

    It has the parameters of `messages`.
    """
    return _table("clients", source, _native.Reading(filter, **reading))


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
    """A row for each finding of `check`: the broken rule, the party, and the packets. Rows are available when
    the capture has been read.

    It has the parameters of `check`.
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
    """A row for each rule: how often the capture keeps and breaks it. Rows are available when the capture has
    been read.

    It has the parameters of `check`.
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

"""Verdicts: what the specifications say of a capture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _native

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._sources import Reading, Source


@dataclass(frozen=True)
class Finding:
    """One place where a rule was broken, or might have been. The names are those of
    `gamewire check --format json`."""

    rule: str
    """The rule's code, such as A2S030; `gamewire explain A2S030` says what it asks."""
    slug: str
    """The rule's name."""
    severity: str
    """error, warning or note."""
    verdict: str
    """fail, note, or inconclusive: what is missing from the capture could explain it."""
    who: str
    """Which kind of party is at fault: client, server, master, any; capture, for the recording's own."""
    party: str | None
    """Its address and port."""
    flow: int
    """The flow's number; 0 for none."""
    frames: tuple[int, ...]
    """The packets it is about; the last one completed the message."""
    time: str
    """When that was, in UTC."""
    message: str
    """What is wrong, in words."""
    protocol: str | None
    capture: str
    """The file it was found in."""
    offset: int
    """Where in the message the bytes in question begin."""
    length: int
    """How many these are."""
    about: str | None = None
    """The name of the message, where one is concerned."""
    frames_left_out: int = 0
    """How many more packets there are, before the last one."""


@dataclass(frozen=True)
class RuleOutcome:
    """How a rule fared."""

    code: str
    slug: str
    severity: str
    who: str
    verdict: str
    """fail, pass, inconclusive or not_exercised."""
    passed: int
    failed: int
    inconclusive: int
    missing: int = 0
    """It was required, and not exercised."""


@dataclass(frozen=True)
class Verdict:
    """What came of checking a capture. True if it passed; as text, what `gamewire check` prints."""

    verdict: str
    """fail, pass, inconclusive or not_exercised."""
    captures: tuple[str, ...]
    packets: int
    messages: int
    flows: int
    requests: int
    """Requests that were checked, each with its repeats and its challenge as one."""
    answered: int
    """Those of them that were answered."""
    rules: tuple[RuleOutcome, ...] = field(repr=False)
    """Every rule that counts, exercised or not."""
    findings: tuple[Finding, ...] = field(repr=False)
    """What was found, in the order of the packets: also what is only noted, and what is inconclusive."""
    findings_left_out: int
    """Further findings that were counted, but not kept: of a rule a thousand are."""
    holds: str | None
    """What the capture holds, where that is nothing of what was asked for."""
    text: str = field(repr=False)
    """The verdict for people, as `gamewire check` prints it."""

    @property
    def passed(self) -> bool:
        """Something was checked, and no rule was broken of the severity that fails."""
        return self.verdict == "pass"

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self.text


def check(
    source: Source,
    filter: str | None = None,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    require: Sequence[str] = (),
    who: str | None = None,
    host: str | None = None,
    fail_on: str = "error",
    **reading: Unpack[Reading],
) -> Verdict:
    """Checks a capture against the protocols' specifications, as `gamewire check` does.

    :param source: a path, a list of paths that are read as one capture, bytes, or a binary file object
    :param filter: only findings of messages that this display filter wants count
    :param select: only these rules count, by their codes, beginnings of codes such as "A2S", or names
    :param ignore: these rules do not count
    :param require: rules that must be exercised; otherwise the capture fails
    :param who: only what this kind of party did counts: "client", "server" or "master"
    :param host: only what this host did counts: "10.0.0.2", "10.0.0.0/8" or "10.0.0.2:27015"
    :param fail_on: from which severity on what is broken fails the capture: "error", "warning" or "note"
    :param reading: `complete=True` vouches that nothing of the capture is missing: then a request
        without a response is a fault. `decode_as`, `gamespy_keys`, `acr_keys`, `memory`: see `Reading`
    :raises CaptureError: the source cannot be read
    :raises FilterError: the filter is none
    """
    rules = _native.Selection(
        select=select, ignore=ignore, require=require, who=who, host=host, fail_on=fail_on
    )
    found, text = _native.check(source, _native.Reading(filter, **reading), rules)
    return _verdict(json.loads(found), text)


def assert_conforms(source: Source, filter: str | None = None, **options: Any) -> Verdict:
    """Fails a test unless a capture conforms to the specifications: something was checked in it, and
    nothing is wrong. What is wrong is in the failure, in words and bytes.

    It takes what `check` takes, and returns the verdict.

    :raises AssertionError: it does not conform, or holds nothing that could be checked
    """
    __tracebackhide__ = True  # pytest then shows the test's line, not this one.
    verdict = check(source, filter, **options)
    if verdict.passed:
        return verdict
    if verdict.verdict == "fail":
        why = "does not conform to the specifications"
    elif verdict.holds is not None:
        why = f"holds nothing that could be checked: {verdict.holds}"
    else:
        why = "does not show whether it conforms to the specifications: no rule could be decided"
    raise AssertionError(f"{', '.join(verdict.captures)} {why}\n\n{verdict}")


def _verdict(found: dict[str, Any], text: str) -> Verdict:
    lacking = found.get("no_traffic", [])
    findings = ({**finding, "frames": tuple(finding["frames"])} for finding in found["findings"])
    return Verdict(
        verdict=found["verdict"],
        captures=tuple(found["captures"]),
        packets=found["packets"],
        messages=found["messages"],
        flows=found["flows"],
        requests=found["requests"],
        answered=found["answered"],
        rules=tuple(RuleOutcome(**rule) for rule in found["rules"]),
        findings=tuple(Finding(**finding) for finding in findings),
        findings_left_out=found.get("findings_left_out", 0),
        holds=lacking[0]["holds"] if lacking else None,
        text=text,
    )

"""Checks captures against the specifications."""

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
    """One place where a rule was broken, or may have been. The names are those of
    `gamewire check --format json`."""

    rule: str
    """The rule's code, such as A2S030; `gamewire explain A2S030` describes it."""
    slug: str
    """The rule's name."""
    severity: str
    """error, warning or note."""
    verdict: str
    """fail, note, or inconclusive if packets missing from the capture could explain it."""
    who: str
    """The kind of party at fault: client, server, master or any; capture for faults of the recording."""
    party: str | None
    """Its address and port."""
    flow: int
    """The flow's number; 0 for none."""
    frames: tuple[int, ...]
    """The packets of the finding; the last one completed the message."""
    time: str
    """The time of the last packet in UTC."""
    message: str
    """A description of the fault."""
    protocol: str | None
    capture: str
    """The file of the finding."""
    offset: int
    """The offset of the faulty bytes in the message."""
    length: int
    """The number of faulty bytes."""
    about: str | None = None
    """The name of the message, if the finding is about one."""
    frames_left_out: int = 0
    """The number of packets before the last one that `frames` leaves out."""


@dataclass(frozen=True)
class RuleOutcome:
    """The verdict on a rule."""

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
    """The rule was required, but not exercised."""


@dataclass(frozen=True)
class Verdict:
    """The result of checking a capture. True if it passed; as text, the output of `gamewire check`."""

    verdict: str
    """fail, pass, inconclusive or not_exercised."""
    captures: tuple[str, ...]
    packets: int
    messages: int
    flows: int
    requests: int
    """Number of requests; one with repeats and a challenge counts once."""
    answered: int
    """Number of those that were answered."""
    rules: tuple[RuleOutcome, ...] = field(repr=False)
    """All selected rules, exercised or not."""
    findings: tuple[Finding, ...] = field(repr=False)
    """All findings in the order of packets, including notes and inconclusive ones."""
    findings_left_out: int
    """Number of further findings: only a thousand are kept of each rule."""
    holds: str | None
    """The content of the capture, if it has nothing that could be checked."""
    text: str = field(repr=False)
    """The verdict as text, as `gamewire check` prints it."""

    @property
    def passed(self) -> bool:
        """Whether something was checked, and no rule was broken that fails the capture."""
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
    :param filter: only findings in messages that match this display filter count
    :param select: only these rules count: codes, code prefixes such as "A2S", or names
    :param ignore: these rules do not count
    :param require: rules that must be exercised; otherwise the capture fails
    :param who: only findings about this kind of party count: "client", "server" or "master"
    :param host: only findings about this host count: "10.0.0.2", "10.0.0.0/8" or "10.0.0.2:27015"
    :param fail_on: lowest severity of a broken rule that fails the capture: "error", "warning" or "note"
    :param reading: `complete=True` states that the capture is complete: then a request without a
        response is a fault. `decode_as`, `gamespy_keys`, `acr_keys`, `memory`: see `Reading`
    :raises CaptureError: the source cannot be read
    :raises FilterError: the filter is invalid
    """
    rules = _native.Selection(
        select=select, ignore=ignore, require=require, who=who, host=host, fail_on=fail_on
    )
    found, text = _native.check(source, _native.Reading(filter, **reading), rules)
    return _verdict(json.loads(found), text)


def assert_conforms(source: Source, filter: str | None = None, **options: Any) -> Verdict:
    """Fails a test unless a capture conforms to the specifications: something was checked, and no rule
    failed. The failure shows the findings and their bytes.

    It has the parameters of `check`, and returns the verdict.

    :raises AssertionError: the capture does not conform, or contains nothing that could be checked
    """
    __tracebackhide__ = True  # pytest shows the test's line, not this one.
    verdict = check(source, filter, **options)
    if verdict.passed:
        return verdict
    if verdict.verdict == "fail":
        why = "does not conform to the specifications"
    elif verdict.holds is not None:
        why = f"contains nothing that could be checked: {verdict.holds}"
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

"""Verdicts equal those of the program, and failures of tests explain them."""

import dataclasses

import pytest
from reference import SAMPLE, SAMPLES, run

import gamewire

FAULTY = SAMPLE.with_name("valve-master-faults.pcap")
FOREIGN = SAMPLE.with_name("silence-others.pcap")


def assert_is(verdict, expected):
    for name in ["verdict", "packets", "messages", "flows", "requests", "answered"]:
        assert getattr(verdict, name) == expected[name], name
    assert list(verdict.captures) == expected["captures"]
    assert verdict.findings_left_out == expected.get("findings_left_out", 0)
    rules = [dataclasses.asdict(rule) for rule in verdict.rules]
    assert rules == [{"missing": 0, **rule} for rule in expected["rules"]]
    optional = {"about": None, "frames_left_out": 0}
    findings = [{**dataclasses.asdict(it), "frames": list(it.frames)} for it in verdict.findings]
    assert findings == [{**optional, **finding} for finding in expected["findings"]]


def test_verdicts_are_those_of_the_program(sample):
    (expected,) = run("check", "--format", "json", sample)
    assert_is(gamewire.check(sample), expected)


def test_a_list_of_files_is_checked_as_one_capture():
    files = [str(path) for path in SAMPLES[:6]]
    (expected,) = run("check", "--format", "json", "--merge", *files)
    assert_is(gamewire.check(files), expected)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        ({"complete": True}, ["--complete"]),
        ({"select": ["VM040", "NET"]}, ["--select", "VM040,NET"]),
        ({"ignore": ["VM"]}, ["--ignore", "VM"]),
        ({"who": "server"}, ["--who", "server"]),
        ({"host": "10.0.0.2"}, ["--host", "10.0.0.2"]),
        ({"require": ["A2S030"]}, ["--require", "A2S030"]),
        ({"fail_on": "note"}, ["--fail-on", "note"]),
        ({"filter": "valve_master.challenge_response"}, ["-Y", "valve_master.challenge_response"]),
        ({"memory": "16M"}, ["--memory", "16M"]),
        ({"decode_as": ["udp.port==27010,a2s"]}, ["-d", "udp.port==27010,a2s"]),
    ],
    ids=lambda it: next(iter(it), None) if isinstance(it, dict) else "",
)
def test_options_are_those_of_the_program(options, arguments):
    (expected,) = run("check", "--format", "json", *arguments, FAULTY)
    assert_is(gamewire.check(FAULTY, **options), expected)


def test_keys_are_used():
    sample = SAMPLE.with_name("gamespy1-heartbeat.pcap")
    (expected,) = run("check", "--format", "json", "--gamespy-key", "ut=Z5Nfb0", sample)
    assert_is(gamewire.check(sample, gamespy_keys={"ut": "Z5Nfb0"}), expected)
    sample = SAMPLE.with_name("acr-master.pcap")
    (expected,) = run("check", "--format", "json", "--acr-key", "user=a,key=6162", sample)
    assert_is(gamewire.check(sample, acr_keys={"a": b"ab"}), expected)


def test_a_verdict_is_true_if_something_was_checked_and_nothing_failed():
    assert gamewire.check(SAMPLE)
    assert gamewire.check(SAMPLE).passed
    assert not gamewire.check(FAULTY)
    assert not gamewire.check(FOREIGN), "nothing was checked"
    assert gamewire.check(FAULTY, select=["A2S"]).verdict == "not_exercised"


def test_a_conforming_capture_passes():
    assert gamewire.assert_conforms(SAMPLE).messages > 0


def test_a_failure_names_the_fault_the_party_the_packet_and_what_is_expected():
    with pytest.raises(AssertionError) as failure:
        gamewire.assert_conforms(FAULTY, select=["VM040"])
    said = str(failure.value)
    assert said.startswith(f"{FAULTY} does not conform to the specifications\n\nFAIL  ")
    for part in [
        "error VM040 challenge-echo: reads the master's 12 34 56 78 as big-endian",
        "expected: the challenge in the info string is the master's 4 bytes read as",
        "server 10.0.0.2:27015",
        "frame 13, 2026-01-01T00:00:03.021000Z, challenge_response",
        "[33 30 35 34 31 39 38 39 36]",
    ]:
        assert part in said


def test_a_capture_with_nothing_to_check_fails():
    with pytest.raises(AssertionError, match="contains nothing that could be checked: 4 packets, none of"):
        gamewire.assert_conforms(FOREIGN)
    with pytest.raises(AssertionError, match="no rule could be decided"):
        gamewire.assert_conforms(SAMPLE.with_name("silence-unanswered.pcap"), select=["VM046"])


def test_a_required_rule_that_was_not_exercised_fails():
    with pytest.raises(AssertionError, match="required A2S030 player-count: it was not exercised"):
        gamewire.assert_conforms(SAMPLE.with_name("valve-master-list.pcap"), require=["A2S030"])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"select": ["A2X"]}, 'select: "A2X": no rule has this code or name'),
        ({"who": "clients"}, 'who: "clients": valid parties are client, server and master'),
        ({"fail_on": "never"}, 'fail_on: "never": valid severities are error, warning and note'),
        ({"host": "nowhere"}, 'host: "nowhere": write it as 10.0.0.2'),
        ({"memory": "1"}, 'memory: "1": the minimum is 16M'),
        ({"decode_as": ["a2s"]}, 'decode_as: "a2s": write it as udp.port==27999,a2s'),
    ],
)
def test_invalid_arguments_are_rejected(options, says):
    with pytest.raises(ValueError, match="^" + says):
        gamewire.check(SAMPLE, **options)


def test_unknown_arguments_are_rejected():
    with pytest.raises(TypeError, match="strict"):
        gamewire.check(SAMPLE, strict=True)


def test_errors_in_a_filter_show_the_position():
    source = "ip.src == 10.0.0.1 and a2s.info_respons.players > 3"
    with pytest.raises(gamewire.FilterError) as failure:
        gamewire.check(SAMPLE, source)
    error = failure.value
    assert isinstance(error, ValueError)
    assert (error.filter, source[error.start : error.end]) == (source, "a2s.info_respons.players")
    lines = str(error).splitlines()
    assert lines[0] == "there is no field `a2s.info_respons.players`"
    assert source in lines[2]
    assert "^^^^ did you mean `a2s.info_response.players`" in lines[3]


def test_positions_in_a_filter_are_in_characters():
    source = 'a2s.info_response.name == "Größe" and nothing'
    with pytest.raises(gamewire.FilterError) as failure:
        gamewire.check(SAMPLE, source)
    assert source[failure.value.start : failure.value.end] == "nothing"

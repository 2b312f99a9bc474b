"""Captures are read from paths, bytes and file objects; errors contain the name."""

import gzip
import io
import os
import os
import pickle
import signal
import struct
import subprocess
import sys
import warnings
from pathlib import Path

import pyarrow
import pytest
from reference import ROOT, SAMPLE

import gamewire

BYTES = SAMPLE.read_bytes()


class Dribbling(io.RawIOBase):
    """Returns a few bytes at a time, as a network may."""

    def __init__(self, data):
        self.left = io.BytesIO(data)

    def readable(self):
        return True

    def read(self, size=-1):
        return self.left.read(min(size, 7))


@pytest.mark.parametrize(
    "source",
    [
        str(SAMPLE),
        Path(SAMPLE),
        [SAMPLE],
        (str(SAMPLE),),
        BYTES,
        bytearray(BYTES),
        memoryview(BYTES),
        gzip.compress(BYTES),
        io.BytesIO(BYTES),
        Dribbling(BYTES),
    ],
    ids=lambda source: type(source).__name__,
)
def test_every_kind_of_source_has_the_same_verdict(source):
    expected = gamewire.check(SAMPLE)
    verdict = gamewire.check(source)
    assert (verdict.messages, verdict.rules) == (expected.messages, expected.rules)


def test_open_files_are_read_and_named():
    with SAMPLE.open("rb") as file:
        assert gamewire.check(file).captures == (str(SAMPLE),)
        file.seek(0)
        assert gamewire.check(file.raw).passed
    assert gamewire.check(BYTES).captures == ("<bytes>",)
    assert gamewire.check(io.BytesIO(BYTES)).captures == ("<file object>",)


def test_invalid_sources_are_rejected():
    with pytest.raises(TypeError, match="^a source is a path, a list of paths, bytes, .* not int"):
        gamewire.check(3)
    with pytest.raises(ValueError, match="the list of paths is empty"):
        gamewire.check([])


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("no/such.pcap", "no/such.pcap: no such file"),
        (["no/such.pcap", SAMPLE], "no/such.pcap: no such file"),
        (ROOT / "README.md", r"README.md: not a capture file: it seems to be text; give a pcap"),
        (b"", "<bytes>: not a capture file: it is empty"),
        (BYTES[:10], "<bytes>: not a capture file: it ends inside the header"),
    ],
)
def test_errors_of_reading_have_the_name_and_a_remedy(source, says):
    with pytest.raises(gamewire.CaptureError, match=says) as failure:
        gamewire.check(source)
    assert failure.value.path in str(failure.value)
    copy = pickle.loads(pickle.dumps(failure.value))  # as Spark does
    assert (type(copy), str(copy), copy.path) == (
        gamewire.CaptureError,
        str(failure.value),
        failure.value.path,
    )


def linked(link, packets=1):
    """Captures of packets of this link type."""
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, link)
    return header + packets * (struct.pack("<IIII", 0, 0, 4, 4) + b"abcd")


def test_unknown_link_types_are_reported():
    for read in [gamewire.check, lambda source: pyarrow.table(gamewire.flows(source))]:
        with pytest.raises(Exception, match="gamewire cannot read any of its packets: link type 147"):
            read(linked(147))
    assert gamewire.check(linked(101)).verdict == "not_exercised"


def test_text_files_are_rejected():
    with open(SAMPLE, encoding="latin-1") as file, pytest.raises(TypeError, match='mode "rb"'):
        gamewire.check(file)


class Breaking(io.BytesIO):
    def read(self, size=-1):
        if self.tell() > 100:
            raise ConnectionError("the store hung up")
        return super().read(min(size, 64))


class Overfull:
    def read(self, size):
        return bytes(size + 1)


def test_errors_of_a_file_object_are_raised():
    with pytest.raises(ConnectionError, match="^the store hung up$"):
        gamewire.check(Breaking(BYTES))
    with pytest.raises(ValueError, match="more bytes than requested"):
        gamewire.check(Overfull())


def test_a_truncated_capture_is_read_with_a_warning():
    with pytest.warns(gamewire.CaptureWarning) as warned:
        verdict = gamewire.check(BYTES[:-3])
    (warning,) = warned
    assert str(warning.message).startswith("<bytes>: the file ends inside the record at byte ")
    assert warning.filename == __file__, "the line that checks it"
    assert any(finding.rule == "NET009" for finding in verdict.findings)


def test_a_warning_can_be_made_an_error():
    with warnings.catch_warnings():
        warnings.simplefilter("error", gamewire.CaptureWarning)
        with pytest.raises(gamewire.CaptureWarning, match="ends inside the record"):
            gamewire.check(BYTES[:-3])


def test_ctrl_c_ends_the_reading_of_an_endless_source(tmp_path):
    fifo = tmp_path / "endless.pcap"
    os.mkfifo(fifo)
    code = "import gamewire, sys; gamewire.check(sys.argv[1])"
    reading = subprocess.Popen([sys.executable, "-c", code, fifo], stderr=subprocess.PIPE, text=True)
    header, packets = BYTES[:24], BYTES[24:] * 100
    with fifo.open("wb", buffering=0) as file, pytest.raises(BrokenPipeError):
        file.write(header)
        for nth in range(10_000):
            if nth == 10:  # It is reading by now.
                reading.send_signal(signal.SIGINT)
            file.write(packets)
    _, said = reading.communicate(timeout=60)
    assert said.endswith("KeyboardInterrupt\n")
    assert reading.returncode == -signal.SIGINT


def hostile():
    """Hostile captures: the fuzzer's corpus, and samples with changed bytes."""
    corpus = sorted((ROOT / "fuzz" / "corpus" / "capture").iterdir())
    yield from (path.read_bytes() for path in corpus)
    yield from (BYTES[:length] for length in range(0, 200, 3))
    yield from (gzip.compress(BYTES)[:length] for length in range(0, 200, 3))
    for at in range(24, len(BYTES), 5):
        yield BYTES[:at] + b"\xff" + BYTES[at + 1 :]


@pytest.mark.filterwarnings("ignore::gamewire.CaptureWarning")
def test_hostile_captures_are_read_or_rejected():
    read = refused = 0
    for data in hostile():
        try:
            checked = gamewire.check(data)
            assert pyarrow.table(gamewire.messages(data)).num_rows >= checked.messages
            read += 1
        except gamewire.CaptureError:
            refused += 1
    assert read > 100 and refused > 5

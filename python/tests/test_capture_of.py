"""Captures that a test makes of its datagrams equal those of a recorder."""

import pyarrow as pa
import pytest

import gamewire

PLAYERS = b"\xff\xff\xff\xffU"
CHALLENGE = b"\x12\x34\x56\x78"
NOBODY = b"\xff\xff\xff\xffD\0"


def exchange(client, server, challenge=CHALLENGE):
    return gamewire.capture_of(
        [
            (1_800_000_000.25, client, server, PLAYERS + b"\xff\xff\xff\xff"),
            (1_800_000_000.5, server, client, b"\xff\xff\xff\xffA" + CHALLENGE),
            (1_800_000_000.75, client, server, PLAYERS + challenge),
            (1_800_000_001.0, server, client, NOBODY),
        ]
    )


V4 = ("10.0.0.1", 50000), ("10.0.0.2", 27015)
V6 = ("fe80::1%eth0", 50000, 0, 2), ("2001:db8::2", 27015)


@pytest.mark.parametrize("ends", [V4, V6], ids=["IPv4", "IPv6"])
def test_datagrams_are_messages(ends):
    capture = exchange(*ends)
    read = pa.table(gamewire.messages(capture)).select(["src_address", "src_port", "message"])
    client, server = ((end[0].removesuffix("%eth0"), end[1]) for end in ends)
    assert [tuple(row.values()) for row in read.to_pylist()] == [
        (*client, "player_request"),
        (*server, "challenge_response"),
        (*client, "player_request"),
        (*server, "player_response"),
    ]
    times = pa.table(gamewire.messages(capture)).column("time").cast(pa.int64()).to_pylist()
    assert times == [1_800_000_000_250_000_000 + nth * 250_000_000 for nth in range(4)]
    assert gamewire.assert_conforms(capture, who="client", complete=True).messages == 4


def test_a_library_that_swaps_the_challenge_fails():
    with pytest.raises(AssertionError, match="A2S022 challenge-echo") as failure:
        gamewire.assert_conforms(exchange(*V4, challenge=CHALLENGE[::-1]), who="client")
    assert "client 10.0.0.1:50000" in str(failure.value)


def test_addresses_of_different_versions_of_ip_are_rejected():
    with pytest.raises(ValueError, match="10.0.0.1 and ::1 have different versions of IP"):
        gamewire.capture_of([(0, ("10.0.0.1", 1), ("::1", 2), b"")])

"""What a test says through a relay is recorded as if it were said to the server."""

import socket

import pyarrow as pa
import pytest
import reference

import gamewire

pytest_plugins = ["gamewire.recorder"]

PING = b"\xff\xff\xff\xffi"
PONG = b"\xff\xff\xff\xffj00000000000000\0"


@pytest.fixture(autouse=True)
def program(monkeypatch):
    monkeypatch.setenv("GAMEWIRE", str(reference.program()))


@pytest.mark.parametrize(
    "family, host", [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"]
)
def test_a_recording_names_client_and_server(recorder, family, host):
    with socket.socket(family, socket.SOCK_DGRAM) as server, socket.socket(
        family, socket.SOCK_DGRAM
    ) as asking:
        for end in server, asking:
            end.bind((host, 0))
            end.settimeout(20)
        with recorder(server.getsockname()) as recording:
            asking.sendto(PING, recording.address)
            request, relay = server.recvfrom(100)
            server.sendto(PONG, relay)
            response, _ = asking.recvfrom(100)
        assert (request, response) == (PING, PONG)
        client, target = asking.getsockname()[1], server.getsockname()[1]
    rows = pa.table(gamewire.messages(recording.capture))
    rows = rows.select(["src_address", "src_port", "dst_port", "message"]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (host, client, target, "ping_request"),
        (host, target, client, "ping_response"),
    ]


def test_what_the_program_refuses_is_an_error(recorder, monkeypatch):
    with pytest.raises(gamewire.GamewireError, match="nothing can be sent to 127.0.0.1:0"):
        with recorder(("127.0.0.1", 0)):
            pass
    monkeypatch.delenv("GAMEWIRE")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(gamewire.GamewireError, match="name it in GAMEWIRE"):
        with recorder(("127.0.0.1", 1)):
            pass

"""A server for the examples: it responds to A2S_INFO after a challenge."""

import socket
import threading

import pytest
from query_library import INFO

CHALLENGE = b"\x12\x34\x56\x78"
ABOUT = b"\x11Mill Creek\0cp_well\0tf\0Team Fortress\0\xb8\x01\x03\x18\x00dl\x00\x018622567\0\x00"


def _serve(listening):
    while True:
        request, client = listening.recvfrom(65535)
        if request == b"":
            return
        is_known = request == INFO + CHALLENGE
        response = b"I" + ABOUT if is_known else b"A" + CHALLENGE
        listening.sendto(b"\xff\xff\xff\xff" + response, client)


@pytest.fixture
def server():
    """Its address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=_serve, args=[listening], daemon=True)
        thread.start()
        yield listening.getsockname()
        listening.sendto(b"", listening.getsockname())
        thread.join(5)

"""A minimal query library, which test_query_library.py tests."""

import socket

INFO = b"\xff\xff\xff\xffTSource Engine Query\0"


def info(server):
    """A server's properties: A2S_INFO, with the challenge that the server may require."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(5)
        asking.sendto(INFO, server)
        response, _ = asking.recvfrom(65535)
        if response[4:5] == b"A":
            asking.sendto(INFO + response[5:9], server)
            response, _ = asking.recvfrom(65535)
        name, map_name = response[6:].split(b"\0")[:2]
        return name.decode(), map_name.decode()

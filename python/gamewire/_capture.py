"""Makes captures of the datagrams that a test has sent and received."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable
from typing import Any

#: An address as in `socket`: host and port, for IPv6 optionally with more.
Address = tuple[Any, ...]

_RAW_IP = 101
_UDP = 17


def capture_of(datagrams: Iterable[tuple[float, Address, Address, bytes]]) -> bytes:
    """Makes a capture of UDP datagrams that a test has sent and received. It needs no permission to capture.

    :param datagrams: for each, in order: the time in seconds since 1970 (`time.time()`), the addresses of
        sender and receiver as in `socket`, and the payload
    """
    capture = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0xFFFF + 48, _RAW_IP)]
    for time, sender, receiver, payload in datagrams:
        packet = _packet(sender, receiver, payload)
        microseconds = round(time * 1_000_000)
        times = divmod(microseconds, 1_000_000)
        capture += struct.pack("<IIII", *times, len(packet), len(packet)), packet
    return b"".join(capture)


def _packet(sender: Address, receiver: Address, payload: bytes) -> bytes:
    length = 8 + len(payload)
    ends = [ipaddress.ip_address(host.partition("%")[0]) for host in (sender[0], receiver[0])]
    if {end.version for end in ends} == {4}:
        header = struct.pack(">BBHHHBBH", 0x45, 0, 20 + length, 0, 0, 64, _UDP, 0)
    elif {end.version for end in ends} == {6}:
        header = struct.pack(">IHBB", 6 << 28, length, _UDP, 64)
    else:
        raise ValueError(f"{sender[0]} and {receiver[0]} have different versions of IP")
    addresses = ends[0].packed + ends[1].packed
    return header + addresses + struct.pack(">HHHH", sender[1], receiver[1], length, 0) + payload

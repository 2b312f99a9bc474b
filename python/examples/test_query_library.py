"""Tests that a query library conforms to the specification, by recording the datagrams of its socket."""

import socket
import time

import query_library

import gamewire


def test_the_library_conforms(server):
    seen = []

    class Recorded(socket.socket):
        def sendto(self, data, to):
            super().sendto(data, to)
            seen.append((time.time(), ("127.0.0.1", self.getsockname()[1]), to, data))

        def recvfrom(self, size):
            data, sender = super().recvfrom(size)
            seen.append((time.time(), sender, ("127.0.0.1", self.getsockname()[1]), data))
            return data, sender

    assert query_library.info(server, Recorded) == ("Mill Creek", "cp_well")
    gamewire.assert_conforms(gamewire.capture_of(seen), who="client", complete=True)

"""Tests that a query library conforms to the specification, by recording what it says to a server."""

import query_library

import gamewire

pytest_plugins = ["gamewire.recorder"]


def test_the_library_conforms(server, recorder):
    with recorder(server) as recording:
        assert query_library.info(recording.address) == ("Mill Creek", "cp_well")
    gamewire.assert_conforms(recording.capture, who="client", complete=True)

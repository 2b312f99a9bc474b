"""Decodes the query and master-server traffic of game servers from packet captures, and checks it
against the protocols' specifications."""

from ._native import __version__

__all__ = ["__version__"]

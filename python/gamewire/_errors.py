"""Exceptions and warnings."""

from __future__ import annotations


class GamewireError(Exception):
    """Base class of gamewire's exceptions. Invalid arguments raise `ValueError` or `TypeError`."""

    def __str__(self) -> str:
        return str(self.args[0])


class CaptureError(GamewireError):
    """A capture cannot be read: it does not exist, is not a capture, or has an unknown link type.

    The message names the file, what is wrong, and what to do.
    """

    @property
    def path(self) -> str:
        """The file's name."""
        return str(self.args[1])


class FilterError(GamewireError, ValueError):
    """A display filter is invalid, or contains an unknown name.

    The message shows the position in the filter, and suggests corrections.
    """

    @property
    def filter(self) -> str:
        """The filter."""
        return str(self.args[1])

    @property
    def start(self) -> int:
        """The start of the error in the filter."""
        return int(self.args[2])

    @property
    def end(self) -> int:
        """The end of the error in the filter."""
        return int(self.args[3])


class CaptureWarning(UserWarning):
    """A part of a capture is damaged or missing; the rest of it was read.

    The message names the file and the position. `warnings.simplefilter("error", gamewire.CaptureWarning)`
    turns it into an error.
    """

"""What is raised, and what is warned of."""

from __future__ import annotations


class GamewireError(Exception):
    """What gamewire raises. Arguments that make no sense raise `ValueError` and `TypeError`."""

    def __str__(self) -> str:
        return str(self.args[0])


class CaptureError(GamewireError):
    """A capture cannot be read: it is not there, is not a capture, or its packets are of no known kind.

    The message names the file, what is wrong, and what to do.
    """

    @property
    def path(self) -> str:
        """The file, as it was named."""
        return str(self.args[1])


class FilterError(GamewireError, ValueError):
    """A display filter that cannot be read, or that names what there is not.

    The message shows the place in the filter, and says what may have been meant.
    """

    @property
    def filter(self) -> str:
        """The filter."""
        return str(self.args[1])

    @property
    def start(self) -> int:
        """Where in the filter the mistake begins."""
        return int(self.args[2])

    @property
    def end(self) -> int:
        """Where it ends."""
        return int(self.args[3])


class CaptureWarning(UserWarning):
    """Something of a capture is damaged or missing; all the rest of it was read.

    The message names the file and the place. `warnings.simplefilter("error", gamewire.CaptureWarning)`
    makes it an error.
    """

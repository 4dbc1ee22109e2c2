"""Progress: receives the epochs of a run while it is trained."""

from typing import Protocol

from mggcn.training._record import Epoch


class Progress(Protocol):
    """Is called with every finished epoch; if it has a method ``note(text)``, with sentences before the first, too."""

    def epoch(self, epoch: Epoch) -> None:
        """Show one epoch."""
        ...


class Silent:
    """Shows nothing."""

    def epoch(self, epoch: Epoch) -> None:
        """Ignore an epoch."""

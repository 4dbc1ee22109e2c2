"""Presence: which ranks are alive and which end with an error, as they say in the store that PyTorch's ranks share."""

import hashlib
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

_ASKED, _ALIVE, _ERROR = "asked", "alive/{}", "error/{}"
_PATIENCE = 5.0  # seconds for the ranks that are alive to say so
_ANSWER_EVERY = 0.5  # seconds
_POLL = 0.02  # seconds


@dataclass(frozen=True, eq=False)
class Presence:
    """What the ranks say about themselves.

    Args:
        store: that all ranks share; it ends with rank 0 or, under ``torchrun``, with the machine of rank 0.
        rank: the number of this one.
        size: the number of ranks.
    """

    store: "Store"
    rank: int
    size: int

    def start(self) -> "Presence":
        """Answer from now on, in a thread, when a rank asks who is alive."""
        threading.Thread(target=self._answer, daemon=True).start()
        return self

    def _answer(self) -> None:
        try:
            while not self.store.check([_ASKED]):
                time.sleep(_ANSWER_EVERY)
            self.store.set(_ALIVE.format(self.rank), "")
        except RuntimeError:
            return  # the store has ended

    def missing(self) -> tuple[list[int], bool]:
        """Ask who is alive; return the ranks that do not answer, and whether one of them ends with an error."""
        result: list[tuple[list[int], bool]] = []
        thread = threading.Thread(target=lambda: result.append(self._ask()), daemon=True)
        thread.start()
        thread.join(_PATIENCE + 2)  # a store that does not answer would block for ever
        return result[0] if result else ([0], False)

    def _ask(self) -> tuple[list[int], bool]:
        try:
            self.store.set(_ASKED, "")
            deadline = time.monotonic() + _PATIENCE
            silent = [rank for rank in range(self.size) if not self._has_set(_ALIVE.format(rank), deadline)]
            return silent, any(self.store.check([_ERROR.format(rank)]) for rank in range(self.size))
        except RuntimeError:
            return [0], False

    def is_reported(self, message: str) -> bool:
        """Say that this rank ends with an error; return whether the first rank ends with the same one."""
        first = _ERROR.format(0)
        self.store.set(_ERROR.format(self.rank), message)
        if self.rank == 0 or not self._has_set(first, time.monotonic() + _PATIENCE):
            return False
        return bool(self.store.get(first).decode() == message)

    def _has_set(self, name: str, deadline: float) -> bool:
        """Wait for a rank to set a key, until a time."""
        while not self.store.check([name]):
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL)
        return True


def name_of_start(store: "Store", rank: int, size: int) -> str:
    """A name that ranks which were started together agree on.

    When ``torchrun`` starts ranks again, its store still has the keys of the ranks before, with their addresses.
    """
    store.set(f"start/{rank}", uuid4().hex)
    while True:
        starts = [store.get(f"start/{other}").decode() for other in range(size)]
        name = hashlib.sha256(" ".join(starts).encode()).hexdigest()
        store.set(f"{name}/{rank}", "")
        if store.check([f"{name}/{other}" for other in range(size)]):
            return name
        time.sleep(_POLL)

"""Presence: which ranks are alive and which end with an error, as they say in the store that PyTorch's ranks share."""

import hashlib
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import uuid4

if TYPE_CHECKING:
    from torch._C._distributed_c10d import Store

_ASKED, _ALIVE, _ERROR = "asked", "alive/{}", "error/{}"
_PATIENCE = 4.0  # seconds for the ranks that are alive to say so
_ANSWER_EVERY = 0.25  # seconds
_POLL = 0.02  # seconds


class Presence:
    """What the ranks say about themselves.

    When a rank loses another, it asks who is alive. A thread of each rank answers and counts the answers, also of a
    rank that still waits for the lost one.

    Args:
        store: that all ranks share; it ends with rank 0 or, under ``torchrun``, with the machine of rank 0.
        rank: the number of this one.
        size: the number of ranks.
    """

    def __init__(self, store: "Store", rank: int, size: int) -> None:
        self.store, self.rank, self.size = store, rank, size
        self._missing: tuple[list[int], bool] = ([0], False)
        self._has_counted, self._is_stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._answer, daemon=True)

    def start(self) -> "Presence":
        """Answer from now on."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """Answer no more; a thread that is still in the store when Python ends would abort the process."""
        self._is_stopped.set()
        self._thread.join(_PATIENCE)

    def missing(self) -> tuple[list[int], bool]:
        """Ask who is alive; return the ranks that do not answer, and whether one of them ends with an error."""
        threading.Thread(target=self._set, args=(_ASKED,), daemon=True).start()  # blocks if the store does not answer
        self._has_counted.wait(_PATIENCE + 2)
        if self.rank == 0:
            time.sleep(2 * _ANSWER_EVERY)  # for the other ranks to count, as the store may end with this one
        return self._missing

    def _answer(self) -> None:
        try:
            while not self.store.check([_ASKED]):
                if self._is_stopped.wait(_ANSWER_EVERY):
                    return
            self.store.set(_ALIVE.format(self.rank), "")
            deadline = time.monotonic() + _PATIENCE
            silent = [rank for rank in range(self.size) if not self._has_set(_ALIVE.format(rank), deadline)]
            self._missing = silent, any(self.store.check([_ERROR.format(rank)]) for rank in range(self.size))
        except RuntimeError:
            pass  # the store has ended, and with it rank 0
        self._has_counted.set()

    def _set(self, name: str) -> None:
        with suppress(RuntimeError):
            self.store.set(name, "")

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

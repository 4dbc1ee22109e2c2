"""Commands under ``torchrun``: the ranks join at the start, the first one prints, and errors are reported once."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import CycloptsError

from mggcn.errors import InputError, RankError

if TYPE_CHECKING:
    from mggcn.train.ranks import ProcessGroup

_ERROR = "error/{}"
_COMMANDS = ("train", "predict")
_SAME_ERROR = 5.0  # seconds for the first rank to have the error of another


def are_started() -> bool:
    """Whether this process is one of several that ``torchrun``, or another launcher, has started."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def may_print() -> bool:
    """Whether this process prints: the first rank, or one that is alone."""
    return os.environ.get("RANK", "0") == "0"


def is_restarted() -> bool:
    """Whether ``torchrun`` has started the command again after a failure."""
    return os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"


@contextmanager
def joined(tokens: Sequence[str]) -> Iterator[None]:
    """Run a command in the process group of its ranks, if there are several."""
    if not are_started():
        yield
        return
    from torch import distributed as dist

    from mggcn.train import ranks as training

    if not tokens or tokens[0] not in _COMMANDS:
        if not may_print():
            sys.exit(2)
        name = f"{tokens[0]}: " if tokens else ""
        raise InputError(f"{name}runs in one process; only {' and '.join(_COMMANDS)} run under torchrun")
    ranks = training.join()
    if not ranks.is_first:
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    try:
        yield
    except (InputError, CycloptsError, OSError) as error:
        if _has_first_rank(ranks, str(error)):
            sys.exit(2)
        if ranks.is_first:
            raise
        raise InputError(f"rank {ranks.rank}: {error}") from None
    except RankError:
        if _has_ended_with_error(ranks):
            sys.exit(2)
        raise
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()


def _has_ended_with_error(ranks: "ProcessGroup") -> bool:
    """Whether a rank has said that it ends with an error, which it prints."""
    try:
        return ranks.store is not None and any(ranks.store.check([_ERROR.format(rank)]) for rank in range(ranks.size))
    except RuntimeError:  # the store has ended as well
        return False


def _has_first_rank(ranks: "ProcessGroup", message: str) -> bool:
    """Tell the other ranks that this one ends with an error; return whether the first rank has the same one."""
    if ranks.store is None:
        return False
    first = _ERROR.format(0)
    ranks.store.set(_ERROR.format(ranks.rank), message)
    if ranks.is_first or not ranks.has_posted(first, time.monotonic() + _SAME_ERROR):
        return False
    return bool(ranks.store.get(first).decode() == message)

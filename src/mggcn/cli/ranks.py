"""Commands under ``torchrun``: the ranks join at the start, the first one prints, and errors are reported once."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cyclopts import CycloptsError

from mggcn.errors import InputError

_COMMANDS = ("train", "predict")


def are_started() -> bool:
    """Whether this process is one of several that ``torchrun``, or another launcher, has started."""
    return "RANK" in os.environ and "WORLD_SIZE" in os.environ


def may_print() -> bool:
    """Whether this process prints: the first rank, or one that is alone."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def joined(tokens: Sequence[str]) -> Iterator[None]:
    """Run a command in the process group of its ranks, if there are several."""
    if not are_started():
        yield
        return
    from torch import distributed as dist

    from mggcn.training import _ranks as training

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
        if ranks.is_reported(str(error)):
            sys.exit(2)
        if ranks.is_first:
            raise
        raise InputError(f"rank {ranks.rank}: {error}") from None
    finally:
        dist.destroy_process_group()

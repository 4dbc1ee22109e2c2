"""``mggcn data cache``: what was computed from data sets before training and is kept on disk."""

from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import App

if TYPE_CHECKING:
    from mggcn.data import Cache

app = App(name="cache", help="List or clear what was computed from data sets before training.")


@app.command(name="list")
def list_entries(folder: Path | None = None, /) -> None:
    """List what is kept: the folder, its size, the data set, and what was computed.

    Args:
        folder: A dataset folder, beside which it is kept; by default the data root's.
    """
    total = 0
    for entry in _cache(folder).entries():
        what = ", ".join(f"{name} {value}" for name, value in entry.what.items() if name not in _HASHES)
        print(f"{entry.path}  {entry.num_bytes:,} bytes  {what}")  # noqa: T201
        total += entry.num_bytes
    print(f"{total:,} bytes in all")  # noqa: T201


@app.command
def clear(folder: Path | None = None, /) -> None:
    """Remove what is kept; it is computed again when it is needed.

    Args:
        folder: A dataset folder, beside which it is kept; by default the data root's.
    """
    print(f"{_cache(folder).clear():,} bytes removed")  # noqa: T201


_HASHES = ("data", "scaling", "train")


def _cache(folder: Path | None) -> "Cache":
    from mggcn.data import META, PREPARED, Cache, is_dataset, writable_root
    from mggcn.errors import InputError

    if folder is not None and not is_dataset(folder):
        raise InputError(f"{folder}: not a dataset folder ({META} is missing)")
    return Cache((folder.resolve().parent if folder else writable_root()) / PREPARED)

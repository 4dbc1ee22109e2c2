"""Where data files are looked for and where fetched or generated ones are put."""

import os
import tempfile
from pathlib import Path

from mggcn.errors import InputError

ENV = "MGGCN_DATA"


def user_cache() -> Path:
    """The folder of this user for files that can be had again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mggcn"


def data_root(root: Path | None = None) -> Path:
    """The data root: the argument, else ``MGGCN_DATA``, else the per-user cache."""
    if root is not None:
        return root
    named = os.environ.get(ENV)
    return Path(named) if named else user_cache()


def places(root: Path | None = None) -> list[Path]:
    """The folders to look in, first the data root, then the per-user cache that stands in for a read-only root."""
    return list(dict.fromkeys([data_root(root), user_cache()]))


def writable(root: Path | None = None) -> Path:
    """The data root when files can be made in it, else the per-user cache."""
    tried = places(root)
    for place in tried:
        try:
            place.mkdir(parents=True, exist_ok=True)
            if not place.stat().st_mode & 0o222:  # marked read-only; the superuser could write all the same
                continue
            with tempfile.TemporaryFile(dir=place):
                return place
        except OSError:
            continue
    raise InputError(f"{tried[0]}: cannot be written, nor can {tried[-1]}; name a folder in {ENV}")

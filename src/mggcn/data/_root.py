"""The data root: where data files are searched, and where fetched or generated ones are stored."""

import os
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from mggcn._io.temporary import locked_name
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._writer import META, is_dataset
from mggcn.errors import InputError, first_line

ENV = "MGGCN_DATA"
PREPARED = "prepared"


def notice(text: str) -> None:
    """Write one plain line to stderr."""
    sys.stderr.write(f"{text}\n")


def user_cache() -> Path:
    """The user's folder for files that can be fetched or generated again."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "mggcn"


def data_roots(root: Path | None = None) -> list[Path]:
    """The folders to search: the data root, then the per-user cache, which is used if the root is read-only.

    The data root is the argument, else ``MGGCN_DATA``, else the per-user cache.
    """
    folder = root or os.environ.get(ENV)
    return list(dict.fromkeys([Path(folder), user_cache()])) if folder else [user_cache()]


def find_folder(folder: str | Path, files: Iterable[str], root: Path | None) -> Path | None:
    """Return ``folder`` below the first data root in which it holds all ``files``, else None."""
    folders = (base / folder for base in data_roots(root))
    return next((path for path in folders if all((path / file).is_file() for file in files)), None)


def writable_root(root: Path | None = None) -> Path:
    """The data root if files can be created in it, else the per-user cache."""
    folders = data_roots(root)
    for folder in folders:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not folder.stat().st_mode & 0o222:  # marked read-only, though the superuser could write to it
                continue
            with tempfile.TemporaryFile(dir=folder):
                return folder
        except OSError:
            continue
    raise InputError(f"{folders[0]}: cannot be written, nor can {folders[-1]}; name a folder in {ENV}")


def prepared_folder(dataset: Dataset) -> Path:
    """The folder for what is computed from a data set before training.

    It is the one that was asked for, else one beside the data, or in the data root if that cannot be written.
    """
    if dataset.access.cache is not None:
        return dataset.access.cache
    beside = dataset.path.parent if dataset.path is not None else None
    return (beside if beside is not None and os.access(beside, os.W_OK) else writable_root()) / PREPARED


def load_or_build(
    folder: str | Path, build: Callable[[Path], Dataset], *, root: Path | None, mmap: bool | None
) -> Dataset:
    """Load the dataset ``folder`` below the data root; ``build`` writes it if it does not exist."""
    stored = find_folder(folder, [META], root)
    if stored is not None:
        return load_folder(stored, mmap=mmap)
    target = writable_root(root) / folder
    with locked_name(target, wait=True):
        if is_dataset(target):  # another process stored it meanwhile
            return load_folder(target, mmap=mmap)
        try:
            built = build(target)
        except OSError as error:
            raise InputError(f"{target}: cannot be written ({first_line(error)})") from None
    return load_folder(target, mmap=mmap) if mmap or built.mapped else built

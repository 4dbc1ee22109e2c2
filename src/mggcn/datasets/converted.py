"""Data sets kept as dataset folders once they were read or generated, so that the next load is quick and mappable."""

from collections.abc import Callable
from pathlib import Path

from mggcn import storage
from mggcn.dataset import Dataset
from mggcn.datasets.blame import reason
from mggcn.datasets.root import places, writable
from mggcn.errors import InputError


def kept(folder: Path, build: Callable[[], Dataset], *, root: Path | None, mmap: bool) -> Dataset:
    """Load ``folder`` below the data root, or build the data set and store it there first."""
    for place in places(root):
        if storage.is_dataset(place / folder):
            return storage.load(place / folder, mmap=mmap)
    target = writable(root) / folder
    dataset = build()
    try:
        stored = storage.save(dataset, target)
    except (InputError, OSError) as error:
        if storage.is_dataset(target):  # another process stored it meanwhile
            return storage.load(target, mmap=mmap)
        raise InputError(f"{target}: cannot be written ({reason(error)})") from None
    return storage.load(target, mmap=True) if mmap else stored

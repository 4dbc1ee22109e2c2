"""Checking every byte of a dataset folder, which mapping it does not."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mggcn._io.regular import open_regular
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._meta import META, checked_value, read_meta
from mggcn.errors import InputError

_BLOCK = 1 << 24

OnBytes = Callable[[str, int, int], None]
"""Called with the name of a stage, the bytes that are done, and all of them."""


@dataclass(frozen=True)
class Verified:
    """A folder in which every checksum is right.

    Attributes:
        dataset: mapped, unless its values had to be checked.
        num_files: arrays and tables.
        num_bytes: their size.
    """

    dataset: Dataset
    num_files: int
    num_bytes: int


def verify(folder: str | Path, on_bytes: OnBytes = lambda *_: None) -> Verified:
    """Read every file of a dataset folder and compare its checksum; InputError names the files that differ.

    The values of a folder whose ``meta.json`` was edited are checked, too, as when it is loaded.
    """
    root = Path(folder)
    meta = read_meta(root)
    expected = {name: file.sha256 for name, file in meta.files.items()} | meta.tables
    missing = [name for name in expected if not (root / name).is_file()]
    if missing:
        raise InputError(f"{root / missing[0]}: missing, though {META} lists it")
    total, done, damaged = sum((root / name).stat().st_size for name in expected), 0, []
    for name, checksum in expected.items():
        content = hashlib.sha256()
        with open_regular(root / name) as file:
            while block := file.read(_BLOCK):
                content.update(block)
                done += len(block)
                on_bytes("bytes", done, total)
        if content.hexdigest() != checksum:
            damaged.append(name)
    if damaged:
        raise InputError(
            f"{root}: sha256 of {', '.join(damaged)} differs from {META}; the files are damaged or were changed"
        )
    is_checked = meta.checked == checked_value(meta)
    return Verified(load_folder(root, mmap=is_checked), len(expected), total)

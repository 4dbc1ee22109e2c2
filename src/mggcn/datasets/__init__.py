"""Data sets by name, and readers of users' own files; each source is one module.

Nothing is read or fetched until :func:`load` is called.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mggcn import storage
from mggcn.dataset import Dataset
from mggcn.datasets.digits import load as load_digits
from mggcn.datasets.npz import read_npz
from mggcn.datasets.ogb import load as load_ogb
from mggcn.datasets.planetoid import SplitName
from mggcn.datasets.planetoid import load as load_planetoid
from mggcn.datasets.pyg import from_pyg, to_pyg
from mggcn.datasets.pyg import load as load_pyg
from mggcn.datasets.reddit import load as load_reddit
from mggcn.datasets.synthetic import load as load_synthetic
from mggcn.datasets.table import read_tables
from mggcn.errors import InputError, unknown

__all__ = ["from_pyg", "load", "names", "read_npz", "read_tables", "to_pyg"]

Loader = Callable[[Path | None, int, bool], Dataset]
ArgumentLoader = Callable[[str, Path | None, int, bool], Dataset]


def _planetoid(name: str, split: SplitName, root: Path | None, seed: int, _mmap: bool) -> Dataset:
    return load_planetoid(name, split=split, root=root, seed=seed)


def _digits(_root: Path | None, seed: int, _mmap: bool) -> Dataset:
    return load_digits(seed=seed)


_NAMED: dict[str, Loader] = {
    "cora": partial(_planetoid, "cora", "fastgcn"),
    "cora:public": partial(_planetoid, "cora", "public"),
    "citeseer": partial(_planetoid, "citeseer", "fastgcn"),
    "citeseer:public": partial(_planetoid, "citeseer", "public"),
    "pubmed": partial(_planetoid, "pubmed", "fastgcn"),
    "pubmed:public": partial(_planetoid, "pubmed", "public"),
    "digits": _digits,
    "reddit": load_reddit,
    "reddit-like": partial(load_synthetic, "reddit-like", "1"),
    "ethereum-like": partial(load_synthetic, "ethereum-like", "1"),
}

_WITH_ARGUMENT: dict[str, tuple[str, ArgumentLoader]] = {
    "reddit-like": ("SCALE", partial(load_synthetic, "reddit-like")),
    "ethereum-like": ("SCALE", partial(load_synthetic, "ethereum-like")),
    "pyg": ("NAME", load_pyg),
    "ogb": ("NAME", load_ogb),
}


def load(name: str | Path, *, root: Path | None = None, seed: int = 0, mmap: bool = False) -> Dataset:
    """Load a data set.

    Args:
        name: a known name (see :func:`names`) or a dataset folder.
        root: the data root; else the environment's ``MGGCN_DATA``, else the per-user cache.
        seed: of splits that were not published, and of generated data sets.
        mmap: map the arrays of a dataset folder instead of reading them.
    """
    text = str(name)
    if not isinstance(name, Path):
        if text in _NAMED:
            return _NAMED[text](root, seed, mmap)
        kind, colon, argument = text.partition(":")
        if colon and kind in _WITH_ARGUMENT:
            return _WITH_ARGUMENT[kind][1](argument, root, seed, mmap)
    path = Path(name)
    if text and path.is_dir():
        return storage.load(path, mmap=mmap)
    if path.is_file():
        raise InputError(f"{path}: a file, not a dataset folder")
    if isinstance(name, Path) or os.sep in text:
        raise InputError(f"{path}: no such folder")
    raise unknown("data set", text, names())


def names() -> list[str]:
    """The known names, and the patterns of those that take an argument."""
    return [*_NAMED, *(f"{kind}:{argument}" for kind, (argument, _) in _WITH_ARGUMENT.items())]

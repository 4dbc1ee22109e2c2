"""Data sets by name and dataset folders; nothing is read or fetched until :func:`load` is called."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mggcn._io.mapping import Access
from mggcn._io.memory import require_address_space
from mggcn.data import _ogb, _planetoid, _pyg, _synthetic, _synthetic_edges
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._root import data_roots
from mggcn.data._split import Split
from mggcn.data._writer import META
from mggcn.errors import InputError, unknown
from mggcn.graph import Graph

_log = logging.getLogger(__name__)

Loader = Callable[[Any, Path | None, int, bool | None], Dataset]
"""Takes what follows the name and a colon, None if nothing does; the data root, the seed, and whether to map."""


def load(
    name: str | Path,
    *,
    root: Path | None = None,
    seed: int = 0,
    mmap: bool | None = None,
    cache: str | Path | None = None,
    memory: str | None = None,
) -> Dataset:
    """Load a data set.

    Args:
        name: a known name (see :func:`names`) or a dataset folder.
        root: the data root; else the environment's ``MGGCN_DATA``, else the per-user cache.
        seed: of splits that were not published, and of generated data sets.
        mmap: map the arrays of a dataset folder instead of reading them; None does so if they are larger than half of
            the free memory.
        cache: the folder for what is computed from a mapped data set before training; beside the data when None, or in
            the data root if that cannot be written.
        memory: how much computing it may take, such as ``2GB``, the default.
    """
    return load_with(Access.of(mmap, cache, memory), name, root=root, seed=seed)


def load_with(access: Access, name: str | Path, *, root: Path | None = None, seed: int = 0) -> Dataset:
    """See :func:`load`."""
    started = time.perf_counter()
    require_address_space()
    _log.debug("data roots: %s", ", ".join(map(str, data_roots(root))))
    loaded = _load(name, root, seed, access.mmap)
    dataset = replace(loaded, access=access, checked=True, stored_in=loaded.path)
    seconds = time.perf_counter() - started
    how = "loaded" if dataset.mapped is None else "mapped"
    phase = {"phase": "load", "seconds": seconds}
    _log.info("%s: %s in %.2f s: %s", dataset.path or dataset.name, how, seconds, dataset.source, extra=phase)
    return dataset


def _load(name: str | Path, root: Path | None, seed: int, mmap: bool | None) -> Dataset:
    text = str(name)
    kind, colon, argument = text.partition(":")
    endings, loader = _SOURCES.get(kind, ([], None))
    is_known = colon + argument in endings or (colon and endings and endings[-1].isupper())
    if loader is not None and is_known and not isinstance(name, Path):
        return loader(argument if colon else None, root, seed, mmap)
    path = Path(name)
    if text and path.is_dir():
        return load_folder(path, mmap=mmap)
    if path.is_file():
        raise InputError(f"{path}: a file, not a dataset folder")
    if isinstance(name, Path) or os.sep in text:
        raise InputError(f"{path}: no such folder")
    raise unknown("data set", text, names())


def load_digits(_: str | None, _root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Scikit-learn's 1,797 digits of 64 pixels, joined to their 10 nearest; a stratified 60/20/20 split."""
    from sklearn import datasets

    pixels, labels = datasets.load_digits(return_X_y=True)
    squares = (pixels**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * pixels @ pixels.T  # whole numbers, so that they are exact
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :10]  # of equal distances the first
    y = labels.astype(np.int64)
    return Dataset(
        name="digits",
        graph=Graph.from_edges(np.repeat(np.arange(y.size), 10), nearest.ravel(), y.size),
        x=(pixels / 16).astype(np.float32),
        y=y,
        classes=tuple(str(digit) for digit in range(10)),
        split=Split.stratified(y, seed),
        source=f"scikit-learn's digits; graph of 10 nearest neighbours; 60/20/20 split of seed {seed}",
    )


_SOURCES: dict[str, tuple[list[str], Loader]] = {  # what may follow the name; capitals stand for any text
    **{name: (["", ":public"], partial(_planetoid.load, name)) for name in _planetoid.FOLDERS},
    "digits": ([""], load_digits),
    "reddit": ([""], lambda _, root, seed, mmap: _pyg.load("Reddit", root, seed, mmap)),
    "reddit-like": (["", ":SCALE"], partial(_synthetic.load, "reddit-like")),
    "ethereum-like": (["", ":SCALE"], partial(_synthetic.load, "ethereum-like")),
    **{name: ([""], partial(_synthetic_edges.load, name)) for name in _synthetic_edges.NAMES},
    "pyg": ([":NAME"], _pyg.load),
    "ogb": ([":NAME"], _ogb.load),
}


def raw_folder(name: str, root: Path | None = None) -> Path | None:
    """The folder of the raw files of a data set that is read from them at every load, as Cora is, else None."""
    kind, _, public = name.partition(":")
    if kind not in _planetoid.FOLDERS:
        return None
    return _planetoid.locate(kind, root, allow_linqs=not public)


def names() -> list[str]:
    """The known names, and the patterns of those that take an argument."""
    return [f"{name}{ending}" for name, (endings, _) in _SOURCES.items() for ending in endings]


def stored(root: Path) -> list[str]:
    """What a data root holds: data sets whose raw files are there, and dataset folders; nothing is read or fetched."""
    raw = [name for name in _planetoid.FOLDERS if _planetoid.is_stored(name, root)]
    raw += [f"pyg:{path.parent.name}" for path in sorted(root.glob("pyg/*/raw"))]
    raw += [f"ogb:{path.parent.name.replace('_', '-')}" for path in sorted(root.glob("ogb/*/raw"))]
    folders = [path.parent for pattern in ("*", "*/*") for path in sorted(root.glob(f"{pattern}/{META}"))]
    return [*raw, *(str(path.relative_to(root)) for path in folders)]

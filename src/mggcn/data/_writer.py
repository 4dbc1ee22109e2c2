"""Writing a dataset folder row by row, so that no array has to be in memory.

``meta.json`` says what the folder contains, with the type, shape and checksum of each array.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import DTypeLike, NDArray

from mggcn._io.arrays import blocks, header
from mggcn._io.files import checksummed, read_json, replacing, sha256
from mggcn._io.temporary import recover
from mggcn.data._checks import check_name
from mggcn.data._columns import ColumnEncoding
from mggcn.data._features import Measure
from mggcn.data._split import PARTS, Split
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction

META = "meta.json"
EDGE = "edge_"


class ArrayFile(msgspec.Struct, frozen=True):
    """The type, shape and checksum of a ``.npy`` file."""

    dtype: str
    shape: list[int]
    sha256: str


class Meta(msgspec.Struct, frozen=True, kw_only=True):
    """The content of ``meta.json``; ``checked`` is the value of :func:`checked_value` when the folder was written."""

    format: Literal["mggcn-dataset"] = "mggcn-dataset"
    version: Literal[2] = 2
    name: str
    num_nodes: int
    num_edges: int
    num_features: int
    direction: Direction = "both"
    edge_types: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    classes: tuple[str, ...]
    inductive: bool = False
    source: str = ""
    split_seed: int | None = None
    split_shares: tuple[float, ...] = ()
    id_name: str = "id"
    feature_names: tuple[str, ...] = ()
    encoding: tuple[ColumnEncoding, ...] = ()
    measures: dict[str, Measure] = {}
    copies: int = 0
    others: int | msgspec.UnsetType = msgspec.UNSET
    notes: tuple[str, ...] = ()
    tables: dict[str, str] = {}
    files: dict[str, ArrayFile] = {}
    checked: str = ""


def described(owner: object) -> dict[str, Any]:
    """The fields that a data set and ``meta.json`` have in common, of either."""
    names = ("name", "classes", "inductive", "source", "id_name", "feature_names", "encoding", "measures")
    fields = {name: getattr(owner, name) for name in (*names, "copies", "others", "notes")}
    return {name: value for name, value in fields.items() if name != "others" or value}


def is_dataset(folder: str | Path) -> bool:
    """Whether ``folder`` looks like a dataset folder."""
    return (Path(folder) / META).is_file()


def read_meta(root: Path) -> Meta:
    """Read ``meta.json`` of a dataset folder."""
    path = root / META
    recover(root)
    if not path.is_file():
        raise InputError(f"{root}: not a dataset folder ({META} is missing)")
    meta = read_json(path, Meta, is_checksummed=True)
    with prefix_errors(path):
        check_name(meta.name)
    for name in meta.files:
        if Path(name).name != name or not name.endswith(".npy"):
            raise InputError(f"{path}: files holds {name!r}, not the name of a .npy file")
    return meta


def checked_value(meta: Meta) -> str:
    """Return the sha256 of everything that the checks of Graph and Dataset read.

    A folder that stores this value was checked when it was written and has not been changed since.
    """
    lines = "".join(f"{name}:{meta.files[name].sha256}\n" for name in sorted(meta.files))
    arrays = hashlib.sha256(lines.encode()).hexdigest()
    fields: list[Any] = [arrays, meta.direction, len(meta.classes), meta.num_features, meta.num_nodes]
    fields += [meta.edge_types] if meta.edge_types else []
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()


_FEATURES = ("x", "x_indptr", "x_indices", "x_data")
RELATION = "relation_"
RELATIONS = tuple(f"{RELATION}{name}" for name in ("indptr", "indices", "number", "weight"))
_ORDER = [f"{name}.npy" for name in ("indptr", "indices", *RELATIONS, "y", *_FEATURES, *PARTS, "ids")]  # in meta.json


class ArrayWriter:
    """Writes a ``.npy`` file row by row; its header is written last.

    Args:
        path: the file.
        dtype: of the array.
        row_shape: the shape of one row, empty for a vector.
    """

    def __init__(self, path: Path, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> None:
        self.path, self.dtype, self._row_shape = path, np.dtype(dtype), row_shape
        self.num_rows = 0
        self._file = path.open("wb")
        self._file.write(bytes(len(self._header(0))))

    def append(self, rows: NDArray[Any]) -> None:
        """Write rows, [n, *row_shape] of the array's type."""
        if rows.dtype != self.dtype or rows.shape[1:] != self._row_shape:
            raise ValueError(f"{self.path.name}: rows of {rows.dtype} {rows.shape[1:]}, not {self.dtype}")
        for content in blocks(rows):
            self._file.write(content)
        self.num_rows += rows.shape[0]

    def close(self) -> None:
        """Write the header."""
        if not self._file.closed:
            self._file.seek(0)
            self._file.write(self._header(self.num_rows))
            self._file.close()

    def abandon(self) -> None:
        """Close the file as it is."""
        self._file.close()

    def describe(self) -> ArrayFile:
        """Return the type, shape and checksum of the closed file."""
        return ArrayFile(self.dtype.str, [self.num_rows, *self._row_shape], sha256(self.path))

    def _header(self, num_rows: int) -> bytes:
        """The bytes before the first row; NumPy makes them equally long for any number of rows."""
        return header(self.dtype, (num_rows, *self._row_shape))


class FolderWriter:
    """Writes the arrays of a dataset folder in any order, and ``meta.json`` at the end; see :func:`writing`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._arrays: dict[str, ArrayWriter] = {}
        self._tables: dict[str, str] = {}

    def array(self, name: str, dtype: DTypeLike, row_shape: tuple[int, ...] = ()) -> ArrayWriter:
        """Return the writer of a new array, see :class:`ArrayWriter`; its file may be edited once it is closed."""
        self._arrays[name] = ArrayWriter(self.path / f"{name}.npy", dtype, row_shape)
        return self._arrays[name]

    def write(self, name: str, array: NDArray[Any]) -> None:
        """Write a whole array, in memory or mapped."""
        writer = self.array(name, array.dtype, array.shape[1:])
        writer.append(array)
        writer.close()

    def num_rows(self, name: str) -> int:
        """The number of rows of an array that are written."""
        return self._arrays[name].num_rows

    def add_table(self, name: str, path: Path) -> None:
        """Keep a file beside the arrays; it is copied unless it was written there, to ``path`` of this writer."""
        if path != self.path / name:
            shutil.copyfile(path, self.path / name)
        self._tables[name] = sha256(self.path / name)

    def finish(
        self,
        name: str,
        classes: Sequence[str],
        *,
        split: Split | None = None,
        direction: Direction = "both",
        edge_types: Sequence[str] = (),
        num_features: int | None = None,
        **fields: Any,
    ) -> Meta:
        """Write the split and ``meta.json``, with sizes, checksums and tables.

        Args:
            name: as in a data set.
            classes: as in a data set.
            split: as in a data set.
            direction: of the graph.
            edge_types: the names of the types of its edges.
            num_features: the width of ``x`` if it is left out, which sparse features do not say.
            fields: ``inductive``, ``source``, ``id_name``, ``feature_names``, ``encoding``, ``measures``, ``copies``
                and ``notes`` of a data set.
        """
        for part, nodes in split.parts().items() if split else ():
            self.write(part, nodes)
        files = {f"{name}.npy": file for name, file in self.close().items()}
        names = [name for name in _ORDER if name in files] + [name for name in files if name.startswith(EDGE)]
        num_stored = files.get("relation_indices.npy", files["indices.npy"]).shape[0]
        meta = Meta(
            name=name,
            num_nodes=files["indptr.npy"].shape[0] - 1,
            num_edges=num_stored // 2 if direction in ("both", "directed") else num_stored,
            num_features=files["x.npy"].shape[1] if num_features is None else num_features,
            direction=direction,
            edge_types=tuple(edge_types) or msgspec.UNSET,
            classes=tuple(classes),
            split_seed=split.seed if split else None,
            split_shares=split.shares if split else (),
            tables=self._tables,
            files={name: files[name] for name in names},
            **fields,
        )
        meta = msgspec.structs.replace(meta, checked=checked_value(meta))
        write_meta(self.path, meta)
        return meta

    def close(self) -> dict[str, ArrayFile]:
        """Complete all arrays and describe them."""
        for writer in self._arrays.values():
            writer.close()
        with ThreadPoolExecutor() as pool:
            return dict(zip(self._arrays, pool.map(ArrayWriter.describe, self._arrays.values()), strict=True))

    def abandon(self) -> None:
        """Close all files as they are."""
        for writer in self._arrays.values():
            writer.abandon()


def write_meta(folder: Path, meta: msgspec.Struct) -> None:
    """Write ``meta.json``."""
    (folder / META).write_bytes(checksummed(json.dumps(msgspec.to_builtins(meta), indent=2) + "\n"))


@contextmanager
def replacing_arrays(target: Path, check: Callable[[Path], None]) -> Iterator[FolderWriter]:
    """Write arrays to a folder that appears as ``target`` at the end; ``check`` is that of :func:`replacing`."""
    with replacing(target, check) as path:
        folder = FolderWriter(path)
        try:
            yield folder
        finally:
            folder.abandon()


@contextmanager
def writing(target: Path, *, overwrite: bool = False) -> Iterator[FolderWriter]:
    """Write a dataset folder; it appears as ``target`` at the end of the block, and nothing is left if that fails."""
    check_free(target, overwrite=overwrite)
    with replacing_arrays(target, partial(check_free, overwrite=overwrite)) as folder:
        yield folder


def check_free(target: Path, *, overwrite: bool) -> None:
    """Raise InputError unless a dataset folder may be written.

    ``overwrite`` replaces only another dataset folder in which there is nothing else.
    """
    recover(target)
    if not target.exists():
        return
    if not overwrite:
        raise InputError(f"{target}: already exists")
    if not is_dataset(target):
        raise InputError(f"{target}: not a dataset folder, so it is not replaced")
    with prefix_errors("overwrite"):
        meta = read_meta(target)
    listed = {META, *meta.files, *meta.tables}
    others = sorted(path.name for path in target.iterdir() if path.name not in listed or path.is_dir())
    if others:
        raise InputError(f"{target}: holds {others[0]}, which is not of the data set, so it is not replaced")

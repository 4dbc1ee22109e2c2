"""OGB's binary layout, in which ogbn-papers100M comes, as a dataset folder, without its arrays in memory.

``raw/data.npz`` has ``edge_index`` [2, E], ``node_feat`` [num_nodes, features], ``num_nodes_list`` and
``num_edges_list`` of one graph; ``raw/node-label.npz`` has ``node_label`` [num_nodes, 1], NaN without a label. Split
and names of classes are those of the layout of csv.gz files.
"""

import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import connect
from mggcn.data._features import check_finite
from mggcn.data._sorted_edges import IdsOnDisk, limit_of_duckdb, write_graph
from mggcn.data._split import UNLABELLED, Split, check_part
from mggcn.data._tables import OnRows
from mggcn.data._writer import FolderWriter, check_free, writing
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors, require

RAW = ("data.npz", "node-label.npz")

_BLOCK = 1 << 24  # bytes that are read at a time


@dataclass(frozen=True)
class OgbBinary:
    """A data set in OGB's binary layout.

    Args:
        folder: that has ``raw``.
        name: of the data set.
        source: one line on where it comes from.
        split: the nodes of each part.
        class_names: by class number; other classes are called by their number.
        memory: the limit in megabytes.
        on_rows: reports progress.
    """

    folder: Path
    name: str
    source: str
    split: Split
    class_names: dict[int, str]
    memory: int
    on_rows: OnRows = lambda *_: None

    def save(self, target: Path, *, overwrite: bool = False) -> None:
        """Write the dataset folder ``target``."""
        for library in ("duckdb", "pyarrow"):
            require(library, "tables")
        data, labels = (self.folder / "raw" / file for file in RAW)
        check_free(target, overwrite=overwrite)
        target.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=f".{target.name}.work.", dir=target.parent) as work,
            writing(target, overwrite=overwrite) as folder,
        ):
            num_nodes = _single(data, "num_nodes_list")
            y = _read_labels(labels, num_nodes)
            with prefix_errors(self.folder / "split"):
                for part, nodes in self.split.parts().items():
                    check_part(part, nodes, y)
            self._write_features(folder, data, num_nodes)
            self._write_graph(folder, data, num_nodes, Path(work))
            folder.write("y", y)
            classes = [self.class_names.get(label, f"class {label}") for label in range(int(y.max()) + 1)]
            folder.finish(self.name, classes, split=self.split, source=self.source)

    def _write_features(self, folder: FolderWriter, path: Path, num_nodes: int) -> None:
        with _open(path, "node_feat") as stored:
            if stored.is_fortran or len(stored.shape) != 2 or stored.dtype.kind not in "fiub":
                raise InputError("must be a matrix of numbers, row after row")
            if stored.shape[0] != num_nodes:
                raise InputError(f"{stored.shape[0]} rows for {num_nodes} nodes")
            x = folder.array("x", np.float32, (stored.shape[1],), num_nodes)
            for rows in stored.rows(0, num_nodes):
                with np.errstate(over="ignore"):  # too large for float32 becomes inf, which is refused
                    block = rows.astype(np.float32)
                check_finite(block, x.num_rows)
                x.append(block)
                self.on_rows("features", x.num_rows, num_nodes)
            x.close()

    def _write_graph(self, folder: FolderWriter, path: Path, num_nodes: int, work: Path) -> None:
        num_edges = _single(path, "num_edges_list")
        edges = IdsOnDisk(work, "edges", ["source", "target"])
        for ends in _edges(path, num_edges):
            for side, nodes in zip(("source", "target"), ends, strict=True):
                bad = np.flatnonzero((nodes < 0) | (nodes >= num_nodes))
                if bad.size:
                    raise InputError(
                        f"{path}: edge_index: {side} {nodes[bad[0]]} of edge {edges.num_rows + bad[0]} is out of range "
                        f"for {num_nodes} nodes"
                    )
            edges.append([nodes.astype(np.int64) for nodes in ends])
            self.on_rows("edges", edges.num_rows, num_edges)
        edges.close()
        database = connect(work, limit_of_duckdb(self.memory, num_nodes))
        try:
            write_graph(database, edges.query(as_text=False), num_nodes, folder, "both", self.on_rows)
        finally:
            database.close()


@dataclass(frozen=True)
class _Stored:
    """An array in an ``.npz`` file that is read in order; ``file`` is at its first value."""

    file: IO[bytes]
    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    def rows(self, start: int, stop: int, width: int | None = None) -> Iterator[NDArray[Any]]:
        """Rows ``start`` to ``stop`` of ``width`` values each, as many as the last axis has if None; once."""
        width = self.shape[-1] if width is None else width
        row_bytes = self.dtype.itemsize * width
        self.file.seek(start * row_bytes, 1)
        step = max(_BLOCK // max(row_bytes, 1), 1)
        for first in range(start, stop, step):
            count = min(step, stop - first)
            content = self.file.read(count * row_bytes)
            if len(content) != count * row_bytes:
                raise InputError("ends too early")
            yield np.frombuffer(content, self.dtype).reshape(count, width)


@contextmanager
def _open(path: Path, field: str) -> Iterator[_Stored]:
    """Open an array of an ``.npz`` file; errors in the block name both."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    try:
        with zipfile.ZipFile(path) as archive:
            if f"{field}.npy" not in archive.namelist():
                names = ", ".join(name.removesuffix(".npy") for name in archive.namelist()) or "nothing"
                raise InputError(f"{path}: field {field} is missing (it holds {names})")
            with prefix_errors(f"{path}: {field}"), archive.open(f"{field}.npy") as file:
                version = np.lib.format.read_magic(file)
                read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
                stored = _Stored(file, *read(file))
                if stored.dtype.hasobject:
                    raise InputError("must hold numbers, not Python objects")
                yield stored
    except InputError:
        raise
    except ARRAY_ERRORS as error:
        raise InputError(f"{path}: {field}: not readable ({first_line(error)})") from None


def _single(path: Path, field: str) -> int:
    """The number in an array of one."""
    with _open(path, field) as stored:
        if stored.shape != (1,) or stored.dtype.kind not in "iu":
            raise InputError(f"shape {list(stored.shape)}; one graph is needed")
        return int(next(stored.rows(0, 1))[0, 0])


def _edges(path: Path, num_edges: int) -> Iterator[tuple[NDArray[Any], NDArray[Any]]]:
    """The sources and targets of some edges at a time."""
    with _open(path, "edge_index") as sources, _open(path, "edge_index") as targets:
        if sources.shape != (2, num_edges) or sources.dtype.kind not in "iu":
            raise InputError(f"{sources.dtype} of shape {list(sources.shape)}, not integers of [2, {num_edges}]")
        if sources.is_fortran:
            yield from ((rows[:, 0], rows[:, 1]) for rows in sources.rows(0, num_edges, 2))
        else:
            columns = sources.rows(0, num_edges, 1), targets.rows(num_edges, 2 * num_edges, 1)
            yield from ((source[:, 0], target[:, 0]) for source, target in zip(*columns, strict=True))


def _read_labels(path: Path, num_nodes: int) -> NDArray[np.int64]:
    y, start = np.empty(num_nodes, np.int64), 0
    with _open(path, "node_label") as stored:
        if stored.shape != (num_nodes, 1) or stored.dtype.kind not in "fiu":
            raise InputError(
                f"{stored.dtype} of shape {list(stored.shape)}, not one label for each of {num_nodes} nodes"
            )
        for rows in stored.rows(0, num_nodes):
            values = rows[:, 0].astype(np.float64)
            labels = np.where(np.isnan(values), UNLABELLED, values)
            bad = np.flatnonzero((labels < UNLABELLED) | (labels != np.floor(labels)))
            if bad.size:
                raise InputError(f"{labels[bad[0]]} of node {start + bad[0]} is not a class number")
            y[start : start + labels.size] = labels
            start += labels.size
    return y

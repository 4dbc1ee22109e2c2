"""Open Graph Benchmark's node data sets, from their raw ``csv.gz`` or ``.npz`` files below ``ogb/<name>``.

If they are missing, OGB's own class fetches them. Its cached ``processed`` files are pickles and are never read.
"""

import gzip
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mggcn._io.database import connect, megabytes
from mggcn.data._checks import check_names
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features, check_finite
from mggcn.data._folder import load_folder, save
from mggcn.data._root import find_folder, load_or_build, notice, writable_root
from mggcn.data._sorted_edges import IdsOnDisk, limit_of_duckdb, write_graph
from mggcn.data._split import UNLABELLED, Split, check_part
from mggcn.data._tables import OnRows
from mggcn.data._writer import FolderWriter, check_free, writing
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors, require
from mggcn.graph import Graph

RAW = ("edge.csv.gz", "node-feat.csv.gz", "node-label.csv.gz", "num-node-list.csv.gz")
DEFAULT_MEMORY = "4GB"


def load(name: str, root: Path | None, _seed: int, mmap: bool | None) -> Dataset:
    """Load OGB's data set ``name``, for example ``ogbn-arxiv``, converted to a dataset folder the first time."""
    if not name.startswith("ogbn-") or not name.removeprefix("ogbn-").isidentifier():
        raise InputError(f"ogb:{name}: not the name of an OGB node data set, such as ogbn-arxiv or ogbn-products")
    return load_or_build(f"converted/ogb-{name}", partial(_build, name, root), root=root, mmap=mmap)


def import_ogb(
    folder: Path,
    out: Path,
    *,
    memory: str = DEFAULT_MEMORY,
    name: str | None = None,
    overwrite: bool = False,
    on_rows: OnRows = lambda *_: None,
) -> Dataset:
    """Write a data set in one of OGB's layouts as a dataset folder, and return it mapped.

    Args:
        folder: that has ``raw`` with OGB's ``csv.gz`` or ``.npz`` files, ``split`` and ``mapping``.
        out: the folder to write.
        memory: the limit for the layout of ``.npz`` files, which is not read into memory.
        name: the name of the data set; the name of the folder ``out`` if None.
        overwrite: replace an existing dataset folder.
        on_rows: is called with a stage, its rows done and their total.
    """
    check_free(out, overwrite=overwrite)
    title = name or out.resolve().name
    built = read(folder, folder.resolve().name, title, memory, on_rows)
    if isinstance(built, Dataset):
        save(built, out, overwrite=overwrite)
    else:
        built.save(out, overwrite=overwrite)
    return load_folder(out, mmap=True)


def read(
    folder: Path,
    name: str,
    title: str | None = None,
    memory: str = DEFAULT_MEMORY,
    on_rows: OnRows = lambda *_: None,
) -> "Dataset | OgbBinary":
    """Read a data set in one of OGB's layouts: ``raw``, ``split/<scheme>/*.csv.gz``, ``mapping/labelidx2*.csv.gz``.

    Args:
        folder: the folder of the data set.
        name: OGB's name of it.
        title: its name as a data set; ``ogb:`` and the name if None.
        memory: the limit for binary files, which are read only when they are saved as a dataset folder.
        on_rows: reports the progress of that.
    """
    title = title or f"ogb:{name}"
    if (folder / "raw" / BINARY[0]).is_file():
        scheme, split = _split(folder / "split")
        source = f"OGB {name}, raw files; its split by {scheme}"
        return OgbBinary(folder, title, source, split, _class_names(folder / "mapping"), megabytes(memory), on_rows)
    edge, feat, label, count = (folder / "raw" / file for file in RAW)
    counts = _table(count, np.int64).ravel()
    if counts.size != 1:
        raise InputError(f"{count}: {counts.size} graphs; one is needed")
    num_nodes = int(counts[0])
    ends = _table(edge, np.int64, columns=2)
    with prefix_errors(edge):
        graph = Graph.from_edges(ends[:, 0], ends[:, 1], num_nodes)
    y = _labels(label, num_nodes)
    scheme, split = _split(folder / "split")
    x = as_features(_table(feat, np.float32, rows=num_nodes))
    names = _class_names(folder / "mapping")
    classes = tuple(names.get(label, f"class {label}") for label in range(int(y.max()) + 1))
    with prefix_errors(folder):
        return Dataset(title, graph, x, y, classes, split, source=f"OGB {name}, raw files; its split by {scheme}")


def _build(name: str, root: Path | None) -> "Dataset | OgbBinary":
    location = f"ogb/{name.replace('-', '_')}"
    layouts = (find_folder(location, [f"raw/{file}" for file in files], root) for files in (RAW, BINARY))
    stored = next(filter(None, layouts), None)
    return read(stored or _download(name, writable_root(root) / location), name)


def _download(name: str, folder: Path) -> Path:
    try:
        from ogb.nodeproppred import NodePropPredDataset
    except ImportError:
        raise InputError(
            f"ogb:{name}: no raw files in {folder}, and fetching them needs OGB: pip install 'mggcn[ogb]'"
        ) from None
    if (folder / "processed").exists():
        raise InputError(f"{folder}: holds OGB's processed files but not its raw ones; remove the folder")
    notice(f"fetching {name} through OGB into {folder}")
    try:
        NodePropPredDataset(name, root=str(folder.parent))
    except Exception as error:  # noqa: BLE001 - OGB fails in any way its host and files do
        raise InputError(f"ogb:{name}: OGB's download failed ({first_line(error)})") from None
    missing = [file for file in RAW if not (folder / "raw" / file).is_file()]
    if missing and not (folder / "raw" / BINARY[0]).is_file():
        raise InputError(
            f"{folder / 'raw' / missing[0]}: missing; only OGB's sets of one graph in csv.gz or .npz are read"
        )
    return folder


def _table(path: Path, dtype: DTypeLike, *, columns: int | None = None, rows: int | None = None) -> NDArray[Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about an empty file, which raises below
            values = np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2, encoding="ascii")
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: {first_line(error)}") from None
    if columns is not None and values.shape[1] != columns:
        raise InputError(f"{path}: {values.shape[1]} columns, not {columns}")
    if rows is not None and values.shape[0] != rows:
        raise InputError(f"{path}: {values.shape[0]} rows for {rows} nodes")
    return values


def _labels(path: Path, num_nodes: int) -> NDArray[np.int64]:
    values = _table(path, np.float64, rows=num_nodes)
    if values.shape[1] != 1:
        raise InputError(f"{path}: {values.shape[1]} labels a node; nodes with several labels are not supported")
    labels = np.where(np.isnan(values[:, 0]), UNLABELLED, values[:, 0])
    bad = np.flatnonzero((labels < UNLABELLED) | (labels != np.floor(labels)))
    if bad.size:
        raise InputError(f"{path}: line {bad[0] + 1}: {labels[bad[0]]} is not a class number")
    return labels.astype(np.int64)


def _split(folder: Path) -> tuple[str, Split]:
    schemes = sorted(path for path in folder.glob("*") if path.is_dir())
    if len(schemes) != 1:
        raise InputError(f"{folder}: {len(schemes)} split schemes; one is needed")
    parts = [_table(schemes[0] / f"{part}.csv.gz", np.int64, columns=1)[:, 0] for part in ("train", "valid", "test")]
    with prefix_errors(schemes[0]):
        return schemes[0].name, Split.of(*parts)


def _class_names(folder: Path) -> dict[int, str]:
    """Class names from OGB's mapping, by class number; it need not list all."""
    names: dict[int, str] = {}
    for path in folder.glob("labelidx2*.csv.gz"):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(",", 1) for line in file]
        names |= {int(row[0]): row[1] for row in lines if len(row) == 2 and row[0].isdecimal()}
        with prefix_errors(path):
            check_names([*names.values()], "classes")
    return names


BINARY = ("data.npz", "node-label.npz")

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
        data, labels = (self.folder / "raw" / file for file in BINARY)
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
            write_graph(database, edges.query("BIGINT"), num_nodes, folder, "both", self.on_rows)
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

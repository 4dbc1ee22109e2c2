"""Open Graph Benchmark's node data sets, from their raw ``csv.gz`` or ``.npz`` files below ``ogb/<name>``.

If they are missing, OGB's own class fetches them. Its cached ``processed`` files are pickles and are never read.
"""

import gzip
import tempfile
import warnings
import zipfile
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mggcn._io.database import connect, megabytes
from mggcn.data._checks import check_labels, check_names, check_shape
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features, check_finite
from mggcn.data._folder import load_folder, save
from mggcn.data._graph_on_disk import write_graph
from mggcn.data._labels import class_numbers
from mggcn.data._npz import read_count, read_fields
from mggcn.data._root import find_folder, load_or_build, notice, writable_root
from mggcn.data._split import Split, check_part
from mggcn.data._tables import OnRows
from mggcn.data._tables_on_disk import IdsOnDisk, limit_of_duckdb
from mggcn.data._writer import FolderWriter, check_free, writing
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors, require
from mggcn.graph import Graph

RAW = ("edge.csv.gz", "node-feat.csv.gz", "node-label.csv.gz", "num-node-list.csv.gz")
BINARY = ("data.npz", "node-label.npz")
_ROWS = 1 << 14  # of features, or of 64 times as many edges, that are in memory


def load(name: str, root: Path | None, _seed: int, mmap: bool | None) -> Dataset:
    """Load OGB's data set ``name``, for example ``ogbn-arxiv``, converted to a dataset folder the first time."""
    if not name.startswith("ogbn-") or not name.removeprefix("ogbn-").isidentifier():
        raise InputError(f"ogb:{name}: not the name of an OGB node data set, such as ogbn-arxiv or ogbn-products")
    return load_or_build(f"converted/ogb-{name}", partial(_build, name, root), root=root, mmap=mmap)


def _build(name: str, root: Path | None, target: Path) -> Dataset:
    location = f"ogb/{name.replace('-', '_')}"
    layouts = (find_folder(location, [f"raw/{file}" for file in files], root) for files in (RAW, BINARY))
    folder = next(filter(None, layouts), None) or _download(name, writable_root(root) / location)
    return import_ogb(folder, target, name=f"ogb:{name}")


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
    return folder


def import_ogb(
    folder: Path,
    out: Path,
    *,
    memory: str = "4GB",
    name: str | None = None,
    overwrite: bool = False,
    on_rows: OnRows = lambda *_: None,
) -> Dataset:
    """Write a data set in one of OGB's layouts as a dataset folder, and return it mapped.

    Args:
        folder: that has ``raw`` with OGB's ``csv.gz`` or ``.npz`` files, ``split`` and ``mapping``.
        out: the folder to write.
        memory: the limit for the layout of ``.npz`` files, which are unpacked beside ``out`` and mapped.
        name: the name of the data set; the name of the folder ``out`` if None.
        overwrite: replace an existing dataset folder.
        on_rows: is called with a stage, its rows done and their total.
    """
    check_free(out, overwrite=overwrite)
    raw, title = folder / "raw", name or out.resolve().name
    is_binary = (raw / BINARY[0]).is_file()
    if is_binary:
        counts, labels = raw / BINARY[0], raw / BINARY[1]
        count = read_fields(counts, ("num_nodes_list",))["num_nodes_list"]
        values = read_fields(labels, ("node_label",))["node_label"]
    else:
        edge, feat, labels, counts = (raw / file for file in RAW)
        count, values = _table(counts, np.int64), _table(labels, np.float64)
    with prefix_errors(counts):
        num_nodes = read_count(count, "number of nodes")
    with prefix_errors(labels):
        y, numbered = class_numbers(values, num_nodes)
        check_labels(y, len(numbered))
    names = _class_names(folder / "mapping")
    classes = tuple(names.get(number, text) for number, text in enumerate(numbered))
    scheme, split = _split(folder / "split", y)
    source = f"OGB {folder.resolve().name.replace('_', '-')}, raw files; its split by {scheme}"
    if is_binary:
        for library in ("duckdb", "pyarrow"):
            require(library, "tables")
        limit = limit_of_duckdb(megabytes(memory), num_nodes)
        out.parent.mkdir(parents=True, exist_ok=True)
        with (
            tempfile.TemporaryDirectory(prefix=f".{out.name}.work.", dir=out.parent) as work,
            writing(out, overwrite=overwrite) as writer,
        ):
            with prefix_errors(f"{counts}: node_feat"):
                _write_features(writer, _mapped(counts, "node_feat", work), num_nodes, on_rows)
            with prefix_errors(f"{counts}: edge_index"):
                _write_graph(writer, _mapped(counts, "edge_index", work), num_nodes, Path(work), limit, on_rows)
            writer.write("y", y)
            writer.finish(title, classes, split=split, source=source)
    else:
        with prefix_errors(edge):
            ends = _table(edge, np.int64)
            if ends.shape[1] != 2:
                raise InputError(f"{ends.shape[1]} columns, not 2")
            graph = Graph.from_edges(ends[:, 0], ends[:, 1], num_nodes)
        with prefix_errors(feat):
            x = as_features(_table(feat, np.float32))
            dataset = Dataset(title, graph, x, y, classes, split, source=source)
        save(dataset, out, overwrite=overwrite)
    return load_folder(out, mmap=True)


def _table(path: Path, dtype: DTypeLike) -> NDArray[Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # about an empty file, which raises below
            return np.loadtxt(path, dtype=dtype, delimiter=",", ndmin=2, encoding="ascii")
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: {first_line(error)}") from None


def _mapped(path: Path, field: str, work: str) -> NDArray[Any]:
    """Map an array of an ``.npz`` file, which is unpacked in the folder ``work``."""
    try:
        with zipfile.ZipFile(path) as archive:
            array: NDArray[Any] = np.load(archive.extract(f"{field}.npy", work), mmap_mode="r", allow_pickle=False)
    except ARRAY_ERRORS as error:
        raise InputError(f"not readable ({first_line(error)})") from None
    return array


def _write_features(folder: FolderWriter, x: NDArray[Any], num_nodes: int, on_rows: OnRows) -> None:
    check_shape("x", x.shape, num_nodes, 2)
    writer = folder.array("x", np.float32, (x.shape[1],))
    for start in range(0, num_nodes, _ROWS):
        rows = as_features(x[start : start + _ROWS])
        check_finite(rows, start)
        writer.append(np.asarray(rows))
        on_rows("features", writer.num_rows, num_nodes)


def _write_graph(
    folder: FolderWriter, edge_index: NDArray[Any], num_nodes: int, work: Path, limit: int, on_rows: OnRows
) -> None:
    if edge_index.ndim != 2 or edge_index.shape[0] != 2 or edge_index.dtype.kind not in "iu":
        raise InputError(f"{edge_index.dtype} of shape {list(edge_index.shape)}, not integers of [2, E]")
    edges = IdsOnDisk(work, "edges", ["source", "target"], "int64")
    for start in range(0, edge_index.shape[1], 64 * _ROWS):
        ends = np.array(edge_index[:, start : start + 64 * _ROWS], order="C")
        bad = np.argwhere((ends < 0) | (ends >= num_nodes))
        if bad.size:
            side, edge = bad[0]
            raise InputError(f"node {ends[side, edge]} of edge {start + edge} is out of range for {num_nodes} nodes")
        edges.append(list(ends.astype(np.int64)))
        on_rows("edges", edges.num_rows, edge_index.shape[1])
    edges.close()
    database = connect(work, limit)
    try:
        write_graph(database, edges.query("BIGINT"), num_nodes, folder, "both", on_rows)
    finally:
        database.close()


def _split(folder: Path, y: NDArray[np.int64]) -> tuple[str, Split]:
    schemes = sorted(path for path in folder.glob("*") if path.is_dir())
    if len(schemes) != 1:
        raise InputError(f"{folder}: {len(schemes)} split schemes; one is needed")
    parts = [_table(schemes[0] / f"{part}.csv.gz", np.int64).ravel() for part in ("train", "valid", "test")]
    with prefix_errors(schemes[0]):
        split = Split.of(*parts)
        for part, nodes in split.parts().items():
            check_part(part, nodes, y)
    return schemes[0].name, split


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

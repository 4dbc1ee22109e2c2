"""Open Graph Benchmark's node data sets, from their raw ``csv.gz`` or ``.npz`` files below ``ogb/<name>``.

If they are missing, OGB's own class fetches them. Its cached ``processed`` files are pickles and are never read.
"""

import gzip
import warnings
import zlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mggcn._io.database import megabytes
from mggcn.data._checks import check_names
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features
from mggcn.data._folder import load_folder, save
from mggcn.data._ogb_binary import RAW as BINARY
from mggcn.data._ogb_binary import OgbBinary
from mggcn.data._root import find_folder, load_or_build, notice, writable_root
from mggcn.data._split import UNLABELLED, Split
from mggcn.data._tables import OnRows
from mggcn.data._writer import check_free
from mggcn.errors import InputError, first_line, prefix_errors
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
) -> Dataset | OgbBinary:
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


def _build(name: str, root: Path | None) -> Dataset | OgbBinary:
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

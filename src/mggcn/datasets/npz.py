"""One ``.npz`` file as a data set.

Fields: ``num_nodes``; ``edge_index`` [2, E]; ``x`` [num_nodes, features] or the CSR parts ``x_data``, ``x_indices``,
``x_indptr``, ``x_shape``; and optionally ``y`` [num_nodes] (-1: no label), ``class_names``, ``train_idx``,
``val_idx``, ``test_idx``.
"""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Dataset, Features, as_features, csr_parts, numbered_classes
from mggcn.datasets._labels import class_numbers, complete_split
from mggcn.errors import InputError, first_line, prefix_errors
from mggcn.graph import Direction, Graph

Fields = dict[str, NDArray[Any]]

_CSR = ("x_data", "x_indices", "x_indptr", "x_shape")
_SPLIT = ("train_idx", "val_idx", "test_idx")


def read_npz(path: str | Path, *, name: str | None = None, seed: int = 0, direction: Direction = "both") -> Dataset:
    """Read a data set from an ``.npz`` file.

    Args:
        path: the file.
        name: the name of the data set; the file's name without its ending if None.
        seed: of the split or validation part that is drawn if the file contains none.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`.
    """
    file = Path(path)
    fields = read_fields(file, ("num_nodes", "edge_index"), ("x", *_CSR, "y", "class_names", *_SPLIT))
    with prefix_errors(file):
        num_nodes = _num_nodes(fields["num_nodes"])
        graph = _graph(fields["edge_index"], num_nodes, direction)
        y = class_numbers(fields.get("y"), num_nodes, "y:")
        bad = np.flatnonzero(y < UNLABELLED)
        if bad.size:
            raise InputError(f"y: {y[bad[0]]} of node {bad[0]} is neither a class number nor {UNLABELLED}")
        classes = _classes(fields.get("class_names"), y)
        split, note = None, "no labels"
        parts = [_nodes(fields, part) for part in _SPLIT]
        if classes or any(part is not None for part in parts):
            split, note = complete_split(y, parts, seed)
        return Dataset(
            name=name or file.stem,
            graph=graph,
            x=_features(fields, num_nodes),
            y=y,
            classes=classes,
            split=split,
            source="; ".join(filter(None, [file.name, note])),
        )


def read_fields(path: Path, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> Fields:
    """Read the named arrays of an ``.npz`` file, never a pickled one; other arrays in it are ignored."""
    if not path.is_file():
        raise InputError(f"{path}: no such file")
    fields: Fields = {}
    problem = "not a readable .npz file"
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise InputError(f"{path}: a single array, not an .npz file")
            content = ", ".join(archive.files) or "nothing"
            for field in archive.files:
                if field in (*required, *optional):
                    problem = field
                    fields[field] = archive[field]
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: {problem}: {first_line(error)}") from None
    for field in required:
        if field not in fields:
            raise InputError(f"{path}: field {field} is missing (it holds {content})")
    return fields


def _num_nodes(value: NDArray[Any]) -> int:
    if value.size != 1 or not np.issubdtype(value.dtype, np.integer):
        raise InputError(f"num_nodes: must be one integer, not {value.dtype} of shape {value.shape}")
    if value.item() < 1:
        raise InputError(f"num_nodes: {value.item()} is not positive")
    return int(value.item())


def _graph(edges: NDArray[Any], num_nodes: int, direction: Direction) -> Graph:
    if edges.ndim != 2 or edges.shape[0] != 2:
        raise InputError(f"edge_index: must have shape [2, E], not {list(edges.shape)}")
    if edges.size == 0:
        edges = edges.astype(np.int64)
    with prefix_errors("edge_index"):
        return Graph.from_edges(edges[0], edges[1], num_nodes, direction=direction)


def _features(fields: Fields, num_nodes: int) -> Features:
    if "x" in fields:
        x = fields["x"]
        if x.dtype.kind not in "fiub":
            raise InputError(f"x: must hold numbers, not {x.dtype}")
        return as_features(x)
    missing = [part for part in _CSR if part not in fields]
    if missing:
        raise InputError(f"field x is missing, and so is {missing[0]} of its sparse form")
    data, indices, indptr, shape = (fields[part] for part in _CSR)
    if shape.shape != (2,) or shape.dtype.kind not in "iu" or shape[0] != num_nodes:
        raise InputError(f"x_shape: {shape.tolist()} does not begin with the {num_nodes} nodes")
    if data.dtype.kind not in "fiub" or data.ndim != 1:
        raise InputError(f"x_data: must be a vector of numbers, not {data.dtype} of shape {data.shape}")
    for part, array in (("x_indices", indices), ("x_indptr", indptr)):
        if array.dtype.kind not in "iu" or array.ndim != 1:
            raise InputError(f"{part}: must be a vector of integers, not {array.dtype} of shape {array.shape}")
    return as_features(csr_parts(data, indices, indptr, (num_nodes, int(shape[1]))))


def _classes(names: NDArray[Any] | None, y: NDArray[np.int64]) -> tuple[str, ...]:
    if names is None:
        return numbered_classes(y)
    count = int(y.max()) + 1
    if names.ndim != 1 or names.dtype.kind not in "US":
        raise InputError(f"class_names: must be a vector of strings, not {names.dtype} of shape {names.shape}")
    if names.size < count:
        raise InputError(f"y: class {count - 1} has no name among the {names.size} class_names")
    return tuple(str(name) for name in names.astype(str)) if count else ()


def _nodes(fields: Fields, part: str) -> NDArray[np.int64] | None:
    nodes = fields.get(part)
    if nodes is None:
        return None
    if nodes.ndim != 1 or (nodes.size and nodes.dtype.kind not in "iu"):
        raise InputError(f"{part}: must be a vector of node numbers, not {nodes.dtype} of shape {nodes.shape}")
    return nodes.astype(np.int64)

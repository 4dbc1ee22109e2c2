"""The checks of a Dataset's fields, and of objects that are given in its place."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.data._columns import feature_names
from mggcn.data._split import UNLABELLED, Split
from mggcn.errors import InputError
from mggcn.graph import Graph

if TYPE_CHECKING:
    from mggcn.data._dataset import Dataset

MAX_CLASSES = 10_000
"""Tables of true against predicted classes grow with its square."""

_NONE = type(None)
_TYPES = (  # field, types, what they are called, how to convert another type, dimensions of the array
    ("graph", (Graph,), "a Graph", "mggcn.Graph.from_edges(source, target, num_nodes)", 0),
    ("x", (np.ndarray, csr_array), "an array or a csr_array", "mggcn.data.as_features(x)", 2),
    ("y", (np.ndarray,), "an array", "numpy.asarray(y)", 1),
    ("split", (Split, _NONE), "a Split", "mggcn.Split.of(train, val, test)", 0),
    ("node_ids", (np.ndarray, _NONE), "an array", "numpy.asarray(node_ids)", 1),
)


def check_types(dataset: "Dataset") -> None:
    """Raise InputError for a field that is a list, a tensor or another object, or an array of another shape."""
    for field, types, expected, conversion, ndim in _TYPES:
        value = getattr(dataset, field)
        if not issubclass(type(value), types):
            raise InputError(f"{field} must be {expected}, not {type(value).__name__}: use {conversion}")
        if ndim and value is not None:
            check_shape(field, value.shape, dataset.graph.num_nodes, ndim)


def check_shape(what: str, shape: tuple[int, ...], num_nodes: int, ndim: int) -> None:
    """Raise InputError unless an array has ``ndim`` dimensions and a row for each node."""
    if len(shape) != ndim:
        raise InputError(f"{what} must have {ndim} dimension{'s' if ndim > 1 else ''}, not shape {shape}")
    if shape[0] != num_nodes:
        raise InputError(f"{what} has {shape[0]} rows but the graph has {num_nodes} nodes")


def check_name(name: str) -> None:
    """Raise InputError unless a name can be shown on a line and be part of a file's name."""
    if not name.isprintable() or name.startswith(("/", ".")) or ".." in name.split("/"):
        raise InputError(f"name: {name!r} cannot be the name of a data set: folders of results are named after it")


def check_descriptions(dataset: "Dataset") -> None:
    """Raise InputError unless names and encoding fit the features, and attributes the edges."""
    check_name(dataset.name)
    if len(dataset.classes) > MAX_CLASSES:
        raise InputError(f"classes: {len(dataset.classes):,} are more than {MAX_CLASSES:,}")
    check_names(dataset.classes, "classes")
    if not 0 <= dataset.others <= dataset.num_nodes:
        raise InputError(f"others: {dataset.others} of {dataset.num_nodes} nodes cannot be of other types")
    if dataset.others and dataset.inductive:
        raise InputError("inductive: training without test nodes would be without nodes of other types, too")
    check_names(dataset.feature_names, "feature_names")
    if dataset.feature_names and len(dataset.feature_names) != dataset.num_features:
        raise InputError(f"feature_names: {len(dataset.feature_names)} names for {dataset.num_features} features")
    if dataset.encoding and feature_names(dataset.encoding) != dataset.feature_names:
        raise InputError(f"{dataset.name}: encoding describes other features than feature_names")
    for name, values in dataset.edge_attributes.items():
        if "/" in name or not name.isprintable():
            raise InputError(f"edge_attributes: {name!r} cannot be part of a file's name")
        if values.shape != dataset.graph.indices.shape:
            raise InputError(f"edge_{name} has shape {values.shape}, but {dataset.graph.num_stored} edges are stored")


def check_names(names: Sequence[str], field: str) -> None:
    """Raise InputError if a name is there twice."""
    if len(set(names)) < len(names):
        name, count = Counter(names).most_common(1)[0]
        raise InputError(f"{field}: {count} are called {name!r}")


def check_labels(y: NDArray[np.int64], num_classes: int) -> None:
    """Raise InputError unless ``y`` holds class numbers below ``num_classes`` or -1."""
    if y.dtype != np.int64:
        raise InputError(f"y must be int64, not {y.dtype}")
    bad = np.flatnonzero((y < UNLABELLED) | (y >= num_classes))
    if bad.size:
        raise InputError(f"y of node {bad[0]} is {y[bad[0]]}, outside the {num_classes} classes")


def check_characters(array: NDArray[np.generic]) -> None:
    """Raise InputError for an array of text, read from a file, with a number in it that is no character."""
    if array.dtype.kind not in "US" or not array.nbytes:
        return
    codes = np.ascontiguousarray(array).view(f"{array.dtype.byteorder}u4" if array.dtype.kind == "U" else np.uint8)
    if array.dtype.kind == "S" and codes.max() > 127:
        raise InputError("holds bytes that are not ASCII")
    if codes.max() > 0x10FFFF or ((codes >= 0xD800) & (codes <= 0xDFFF)).any():
        raise InputError("holds text with a number that is no character")


def check_ids(ids: NDArray[np.generic]) -> None:
    """Raise InputError unless the ids of the nodes are unique."""
    values, counts = np.unique(ids, return_counts=True)
    if values.size != ids.size:
        raise InputError(f"node_ids: {values[counts > 1][0]!s} stands for more than one node")


_ADVICE = {
    "mggcn.Dataset": "use dataset.to_pyg()",
    "mggcn.Graph": "use mggcn.Dataset(name, graph, x, y, classes, split)",
    "torch_geometric.Data": "use mggcn.Dataset.from_pyg(data)",
    "torch_geometric.HeteroData": "use mggcn.Dataset.from_pyg(data, target=...)",
    "torch_geometric.Dataset": "use its graph, dataset[0]",
    "networkx.Graph": "use mggcn.Dataset.from_networkx(graph)",
    "pandas.DataFrame": "use mggcn.Dataset.from_pandas(edges, nodes)",
    "scipy.spmatrix": "use mggcn.Dataset.from_scipy(adjacency, x, y)",
    "scipy.sparray": "use mggcn.Dataset.from_scipy(adjacency, x, y)",
    "torch.Tensor": "use mggcn.Dataset.from_pyg(torch_geometric.data.Data(x=x, edge_index=edge_index, y=y))",
}
_OTHERS = "use mggcn.load(name), or Dataset.from_pyg, from_networkx, from_pandas or from_scipy"


def check_kind(value: object, expected: str, *kinds: str) -> None:
    """Raise InputError unless ``value`` is of a kind such as ``networkx.Graph``, the class's package and name.

    The error says what is ``expected``, and what to do with this object. Nothing is imported.
    """
    found = [f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in type(value).__mro__]
    if any(kind in found for kind in kinds):
        return
    if isinstance(value, str | Path):
        raise InputError(f"{expected}, not {str(value)!r}: use mggcn.load({str(value)!r})")
    advice = next((_ADVICE[kind] for kind in found if kind in _ADVICE), _OTHERS)
    raise InputError(f"{expected}, not {type(value).__name__}: {advice}")

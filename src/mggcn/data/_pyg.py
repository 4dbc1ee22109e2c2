"""PyTorch Geometric's ``Data`` objects, converted in both directions, and its data sets by name.

The raw files of a data set are searched below the data root (``pyg/<Name>/raw``), else fetched by PyG. Reddit, Flickr
and Reddit2, whose splits are inductive, are read from them. Any other data set is processed anew by PyG's own class
(``force_reload``). PyG's cached ``processed/*.pt`` are pickles that may run code when loaded, so they are never read.
"""

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from mggcn._io.files import check_npy, read_json
from mggcn._io.temporary import temporary_folder
from mggcn.data._dataset import Dataset
from mggcn.data._features import as_features, csr_parts
from mggcn.data._from_arrays import edges_of, from_arrays, ignored_edge_data, unused_notes
from mggcn.data._labels import numbered_classes
from mggcn.data._npz import read_fields
from mggcn.data._objects import require
from mggcn.data._root import find_folder, load_or_build, notice, writable_root
from mggcn.data._split import NO_SPLIT, PART_KEYS, UNLABELLED, Split, complete_split, named_parts
from mggcn.errors import ARRAY_ERRORS, InputError, first_line, prefix_errors, unknown
from mggcn.graph import Direction, Graph, as_array

if TYPE_CHECKING:
    import torch
    from torch_geometric.data import Data

SOURCE = "torch_geometric Data"
_MASKS = ("train_mask", "val_mask", "test_mask")


def from_pyg(
    data: "Data",
    name: str,
    seed: int | None,
    direction: Direction | None = None,
    inductive: bool = False,
    source: str = SOURCE,
    stacklevel: int = 4,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_pyg`; ``stacklevel`` is of the warnings, seen from ``from_arrays``."""
    require(data, "torch_geometric.Data", "from_pyg takes PyG's Data")
    with prefix_errors(name):
        x = _matrix(data.get("x"))
        num_nodes = _num_nodes(data) if x is None else x.shape[0]
        ends, adjacency_values = _edges(data, num_nodes)
        y, ids = _array(data, "y"), data.get("node_ids")
        is_labelled = y is not None and bool((y >= 0).any())
        parts, several = named_parts(partial(_array, data), num_nodes, "data.") if is_labelled else (NO_SPLIT, [])
        edges = "adj_t" if data.get("edge_index") is None else "edge_index"
        used = {"x", "y", "node_ids", "class_names", edges, *(PART_KEYS if is_labelled else ())}
        return from_arrays(
            name,
            num_nodes,
            ends,
            x,
            y=y,
            classes=data.get("class_names") or None,
            parts=parts,
            seed=seed,
            direction=direction,
            source=source,
            notes=[
                *ignored_edge_data(adjacency_values, "data"),
                *unused_notes(set(data.keys()) - used, "data"),
                *several,
            ],
            node_ids=None if ids is None else as_array(list(ids) if isinstance(ids, dict) else ids, "data.node_ids"),
            inductive=inductive,
            stacklevel=stacklevel,
        )


def to_pyg(dataset: Dataset) -> "Data":
    """See :meth:`mggcn.data.Dataset.to_pyg`."""
    module = torch_geometric("to_pyg")
    import torch

    row, column = dataset.graph.edges()
    ends = (row, column) if dataset.graph.direction == "out" else (column, row)
    x = np.array(dataset.x) if isinstance(dataset.x, np.ndarray) else dataset.x.toarray()
    data: Data = module.data.Data(
        x=torch.from_numpy(x),
        edge_index=torch.from_numpy(np.stack(ends).astype(np.int64)),
        y=torch.from_numpy(np.array(dataset.y)),
        class_names=list(dataset.classes),
    )
    if dataset.split is not None:
        for mask, nodes in zip(_MASKS, dataset.split.parts().values(), strict=True):
            data[mask] = torch.zeros(dataset.num_nodes, dtype=torch.bool)
            data[mask][torch.from_numpy(np.array(nodes))] = True
    if dataset.node_ids is not None:
        ids = dataset.ids_of(np.arange(dataset.num_nodes))
        # PyG's loaders slice a tensor with the batch and leave a dictionary of text ids unchanged.
        is_number = ids.dtype.kind in "iu"
        data.node_ids = torch.from_numpy(np.array(ids)) if is_number else {str(key): i for i, key in enumerate(ids)}
    return data


def torch_geometric(purpose: str) -> Any:
    """Import torch_geometric with its data sets; the error says how to install it for ``purpose``."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # PyG compiles old-style scripts when imported
            import torch_geometric
            import torch_geometric.datasets
    except ImportError:
        raise InputError(f"{purpose} needs PyG: pip install 'mggcn[pyg]'") from None
    return torch_geometric


def _array(data: "Data", field: str) -> NDArray[Any] | None:
    value = data.get(field)
    if value is None:
        return None
    return as_array(_tensor(value, field).to_dense(), f"data.{field}")


def _tensor(value: Any, field: str) -> "torch.Tensor":
    import torch

    if not isinstance(value, torch.Tensor):
        raise InputError(f"data.{field} must be a tensor, not {type(value).__name__}")
    return value.detach().cpu()


def _num_nodes(data: "Data") -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # PyG would take the largest end of an edge
        try:
            return int(data.num_nodes)
        except (UserWarning, TypeError):
            raise InputError("data.x and data.num_nodes are missing") from None


def _matrix(x: Any) -> NDArray[Any] | coo_array | None:
    """The features; a sparse tensor stays sparse."""
    if x is None:
        return None
    tensor = _tensor(x, "x")
    if tensor.ndim != 2:
        raise InputError(f"data.x: must have shape [num_nodes, num_features], not {list(tensor.shape)}")
    return as_array(tensor, "data.x") if str(tensor.layout) == "torch.strided" else _sparse(tensor)


def _sparse(tensor: "torch.Tensor") -> coo_array:
    entries = tensor.to_sparse().coalesce()
    return coo_array((as_array(entries.values(), "values"), tuple(entries.indices().numpy())), tuple(entries.shape))


def _edges(data: "Data", num_nodes: int) -> tuple[NDArray[Any], list[str]]:
    """Return [2, E] sources and targets, and ``adj_t`` if it has weights; its rows are the targets."""
    ends, matrix = _array(data, "edge_index"), data.get("adj_t")
    if ends is not None:
        return ends, []
    if matrix is None:
        raise InputError("data.edge_index is missing, and so is data.adj_t")
    if hasattr(matrix, "to_torch_sparse_coo_tensor"):  # SparseTensor of torch_sparse
        matrix = matrix.to_torch_sparse_coo_tensor()
    adjacency = _sparse(_tensor(matrix, "adj_t"))
    if adjacency.shape != (num_nodes, num_nodes):
        raise InputError(f"data.adj_t: shape {list(adjacency.shape)}, but there are {num_nodes} nodes")
    transposed, is_weighted = edges_of(adjacency, "data.adj_t")
    return transposed[::-1], ["the values of adj_t"] * is_weighted


REDDIT_FILES = ("reddit_data.npz", "reddit_graph.npz")
SAINT_FILES = ("adj_full.npz", "feats.npy", "class_map.json", "role.json")
_Node = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class _Roles(msgspec.Struct):
    tr: list[_Node]
    va: list[_Node]
    te: list[_Node]


def read_reddit(folder: Path, name: str) -> Dataset:
    """Read ``reddit_data.npz`` (feature, label, node_types) and ``reddit_graph.npz`` (row, col)."""
    data_file, graph_file = (folder / file for file in REDDIT_FILES)
    data = read_fields(data_file, ("feature", "label", "node_types"))
    ends = read_fields(graph_file, ("row", "col"))
    y, types = data["label"].astype(np.int64), data["node_types"]
    with prefix_errors(graph_file):
        graph = Graph.from_edges(ends["row"], ends["col"], y.size)
    with prefix_errors(data_file):
        if types.shape != (y.size,):
            raise InputError(f"node_types: shape {types.shape} for {y.size} labels")
        split = Split(*(np.flatnonzero(types == number) for number in (1, 2, 3)))  # train, val, test
        source = f"{' and '.join(REDDIT_FILES)} as PyG's Reddit fetches them; published split, inductive"
        x = as_features(data["feature"])
        return Dataset(name, graph, x, y, numbered_classes(y), split, inductive=True, source=source)


def read_saint(folder: Path, name: str) -> Dataset:
    """Read a data set in GraphSAINT's layout."""
    adjacency, feats, class_map, role = (folder / file for file in SAINT_FILES)
    x = _saint_features(feats)
    num_nodes = x.shape[0]
    links = read_fields(adjacency, ("data", "indices", "indptr"))
    with prefix_errors(adjacency):
        matrix = csr_parts(links["data"], links["indices"], links["indptr"], (num_nodes, num_nodes)).tocoo()
        graph = Graph.from_edges(matrix.row, matrix.col, num_nodes)
    y = _saint_labels(class_map, num_nodes)
    roles = read_json(role, _Roles)
    with prefix_errors(role):
        split = Split.of(roles.tr, roles.va, roles.te)
        source = f"{', '.join(SAINT_FILES)} as PyG fetches them; GraphSAINT's split, inductive"
        return Dataset(name, graph, as_features(x), y, numbered_classes(y), split, inductive=True, source=source)


def _saint_features(path: Path) -> NDArray[Any]:
    try:
        check_npy(path)
        x: NDArray[Any] = np.load(path, allow_pickle=False)
    except ARRAY_ERRORS as error:
        raise InputError(f"{path}: {first_line(error)}") from None
    if x.ndim != 2 or x.dtype.kind not in "fiu":
        raise InputError(f"{path}: must be a matrix of numbers, not {x.dtype} of shape {x.shape}")
    return x


def _saint_labels(path: Path, num_nodes: int) -> NDArray[np.int64]:
    y = np.full(num_nodes, UNLABELLED, dtype=np.int64)
    labels = read_json(path, dict[str, Any])
    with prefix_errors(path):
        for key, label in labels.items():
            if isinstance(label, list):
                raise InputError(f"node {key} has a list of labels; nodes with several labels are not supported")
            if not key.isdigit() or int(key) >= num_nodes:
                raise InputError(f"node {key!r} is out of range for {num_nodes} nodes")
            if not isinstance(label, int) or label < 0:
                raise InputError(f"node {key}: {label!r} is not a class number")
            y[int(key)] = label
    return y


_RAW: dict[str, tuple[Callable[[Path, str], Dataset], Sequence[str]]] = {
    "Reddit": (read_reddit, REDDIT_FILES),
    "Flickr": (read_saint, SAINT_FILES),
    "Reddit2": (read_saint, SAINT_FILES),
}
_MULTILABEL = ("Yelp", "AmazonProducts", "PPI")


def load(name: str, root: Path | None, seed: int, mmap: bool | None) -> Dataset:
    """Load PyG's data set ``name``, or ``name/part`` if its class takes a name, for example ``Coauthor/CS``."""
    if not all(word.isidentifier() for word in name.split("/")) or name.count("/") > 1:
        raise InputError(f"pyg:{name}: not the name of a PyG data set, such as Flickr or Coauthor/CS")
    if name in _MULTILABEL:
        raise InputError(f"pyg:{name}: its nodes have several labels each, which is not supported")
    folder = "reddit" if name == "Reddit" else f"pyg-{name.replace('/', '-')}"
    dataset = load_or_build(f"converted/{folder}", partial(_build, name, root), root=root, mmap=mmap)
    if dataset.split is not None or not dataset.classes:
        return dataset
    split, note = complete_split(dataset.y, NO_SPLIT, seed)
    return replace(dataset, split=split, source=f"{dataset.source}; {note}", checked=True)


def dataset_class(name: str) -> Any:
    """Return PyG's data set class called ``name``."""
    classes = torch_geometric(f"pyg:{name}").datasets
    if name not in classes.__all__:
        raise unknown("PyG data set", name, classes.__all__)
    return getattr(classes, name)


def _build(name: str, root: Path | None) -> Dataset:
    if name in _RAW:
        read, files = _RAW[name]
        location = f"pyg/{name}/raw"
        folder = find_folder(location, files, root) or _download(name, files, writable_root(root) / location)
        return read(folder, "reddit" if name == "Reddit" else f"pyg:{name}")
    class_name, _, part = name.partition("/")
    pyg_class = dataset_class(class_name)
    options: dict[str, Any] = {"name": part} if part else {}
    if "force_reload" in inspect.signature(pyg_class).parameters:
        options["force_reload"] = True
    try:
        graphs = pyg_class(root=str(writable_root(root) / "pyg" / class_name), **options)
        count, data = len(graphs), graphs[0]
    except Exception as error:  # noqa: BLE001 - PyG's classes raise whatever their hosts and files cause
        raise InputError(f"pyg:{name}: PyG could not load it ({first_line(error)})") from None
    if count != 1 or "edge_index" not in data:
        raise InputError(f"pyg:{name}: {count} graphs or several kinds of nodes; one plain graph is needed")
    return Dataset.from_pyg(
        data, f"pyg:{name}", seed=None, direction="both", source=f"torch_geometric.datasets.{class_name}"
    )


def _download(name: str, files: Sequence[str], folder: Path) -> Path:
    pyg_class = dataset_class(name)
    notice(f"fetching {name} through PyG into {folder}")
    source = pyg_class.__new__(pyg_class)  # without __init__, which would process the files and load its own pickle
    try:
        with temporary_folder(folder) as temporary:
            source.root, raw = str(temporary), temporary / "raw"
            raw.mkdir()
            source.download()
            folder.mkdir(parents=True, exist_ok=True)
            for file in files:
                (raw / file).replace(folder / file)
    except Exception as error:  # noqa: BLE001 - PyG's downloads raise whatever their hosts cause
        raise InputError(
            f"{name}: PyG's download failed ({first_line(error)}); put {', '.join(files)} into {folder}"
        ) from None
    return folder

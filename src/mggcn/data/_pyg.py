"""PyTorch Geometric's ``Data`` objects, converted in both directions, its ``HeteroData``, and its data sets by name.

PyG's own class fetches the raw files of a data set into the data root (``pyg/<Name>/raw``) if they are not there, and
processes them anew (``force_reload``): cached ``processed/*.pt`` are pickles that may run code when loaded.
"""

import inspect
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data._checks import check_kind
from mggcn.data._dataset import Dataset
from mggcn.data._folder import save
from mggcn.data._from_arrays import from_arrays, unused_notes
from mggcn.data._hetero import hetero_fields
from mggcn.data._pyg_stores import WITHOUT_WEIGHTS, array_in, edges_in, features_in, ids_in
from mggcn.data._root import load_or_build, writable_root
from mggcn.data._split import NO_SPLIT, PART_KEYS, complete_split, named_parts
from mggcn.errors import InputError, first_line, prefix_errors, unknown
from mggcn.graph import Direction, Graph

if TYPE_CHECKING:
    from torch_geometric.data import Data, HeteroData

_DATA, _HETERO = "torch_geometric.Data", "torch_geometric.HeteroData"
_MASKS = ("train_mask", "val_mask", "test_mask")


def from_pyg(
    data: "Data | HeteroData",
    name: str,
    seed: int | None,
    direction: Direction | None = None,
    inductive: bool = False,
    source: str = "",
    *,
    weights: bool = True,
    target: str | None = None,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_pyg`."""
    check_kind(data, "from_pyg takes PyG's Data or HeteroData", _DATA, _HETERO)
    is_hetero = any(kind.__name__ == "HeteroData" for kind in type(data).__mro__)
    with prefix_errors(name):
        if target is not None and not is_hetero:
            raise InputError("target: is for HeteroData; Data has one type of nodes")
        fields = (
            hetero_fields(data, target, direction, weights=weights) if is_hetero else _fields(data, weights=weights)
        )
        return from_arrays(
            name,
            **fields,
            seed=seed,
            direction=direction,
            inductive=inductive,
            source=source or f"torch_geometric {'HeteroData' if is_hetero else 'Data'}",
            without_weights=WITHOUT_WEIGHTS,
        )


def _fields(data: "Data", *, weights: bool) -> dict[str, Any]:
    """The arguments of ``from_arrays`` that are in ``data``."""
    x = features_in(data, "data.")
    num_nodes = data.get("num_nodes") if x is None else x.shape[0]
    if num_nodes is None:
        raise InputError("data.x and data.num_nodes are missing")
    edges = edges_in(data, num_nodes, num_nodes, "data.")
    y, names = array_in(data, "y", "data."), data.get("edge_type_names")
    is_labelled = y is not None and bool((y >= 0).any())
    get = partial(array_in, data, origin="data.")
    parts, several = named_parts(get, num_nodes, "data.") if is_labelled else (NO_SPLIT, [])
    used = {"x", "y", "node_ids", "class_names", *(PART_KEYS if is_labelled else ()), edges.field, edges.weight_field}
    types: dict[str, Any] = {}
    if edges.field == "edge_index":
        types = {"edge_type": get("edge_type"), "types": () if names is None else tuple(names)}
        used |= {"edge_type", "edge_type_names"}
    return {
        "num_nodes": num_nodes,
        "edge_index": edges.ends,
        "x": x,
        "edge_weight": edges.weight if weights else None,
        "weights_from": f"{edges.weight_field} of data",
        **types,
        "y": y,
        "classes": data.get("class_names") or None,
        "parts": parts,
        "notes": [*unused_notes(set(data.keys()) - used, "data"), *several],
        "node_ids": ids_in(data, "data."),
    }


def as_dataset(
    value: "Dataset | Data | HeteroData", purpose: str, *, needs_split: bool, direction: Direction | None = None
) -> Dataset:
    """Return a data set as it is and PyG's ``Data`` or ``HeteroData`` converted; an InputError says what else to do.

    Args:
        value: the data set.
        purpose: the function that takes it, for the error.
        needs_split: whether a ``Data`` without masks must have enough labels to draw a split.
        direction: of a ``Data``, see :meth:`mggcn.Dataset.from_pyg`; the graph of a data set has one already.
    """
    if isinstance(value, Dataset):
        return value
    check_kind(value, f"{purpose} takes a Dataset or PyG's Data", _DATA, _HETERO)
    try:
        return from_pyg(value, "pyg", 0, direction)
    except InputError:
        if needs_split:
            raise
        return from_pyg(value, "pyg", None, direction)


def to_pyg(dataset: Dataset) -> "Data":
    """See :meth:`mggcn.data.Dataset.to_pyg`."""
    module = torch_geometric("to_pyg")
    import torch

    x = np.array(dataset.x) if isinstance(dataset.x, np.ndarray) else dataset.x.toarray()
    data: Data = module.data.Data(
        x=torch.from_numpy(x),
        y=torch.from_numpy(np.array(dataset.y)),
        class_names=list(dataset.classes),
        **{name: torch.from_numpy(array) for name, array in _edge_arrays(dataset.graph).items()},
    )
    if dataset.graph.types:
        data.edge_type_names = list(dataset.graph.types)
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


def _edge_arrays(graph: Graph) -> dict[str, NDArray[Any]]:
    """PyG's arrays of the edges; an edge of a directed graph is there once."""
    if graph.relations is None:
        row, column = graph.edges()
        kept, number, weight = slice(None), None, None
    else:
        row, column = graph.relations.row_numbers(), graph.relations.indices
        number, weight = graph.relations.number, graph.relations.weight
        kept = number % 2 == 1 if number is not None and graph.direction == "directed" else slice(None)
    ends = (row, column) if graph.direction in ("out", "directed") else (column, row)
    arrays = {"edge_index": np.stack([end[kept] for end in ends]).astype(np.int64)}
    if weight is not None:
        arrays["edge_weight"] = np.array(weight[kept])
    if number is not None and graph.types:
        arrays["edge_type"] = number[kept].astype(np.int64) // (2 if graph.direction == "directed" else 1)
    return arrays


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


_INDUCTIVE = ("Reddit", "Reddit2", "Flickr")
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


def _build(name: str, root: Path | None, target: Path) -> Dataset:
    class_name, _, part = name.partition("/")
    classes = torch_geometric(f"pyg:{name}").datasets
    if class_name not in classes.__all__:
        raise unknown("PyG data set", class_name, classes.__all__)
    pyg_class = getattr(classes, class_name)
    home, title = writable_root(root) / "pyg" / class_name, "reddit" if name == "Reddit" else f"pyg:{name}"
    options: dict[str, Any] = {"name": part} if part else {}
    if "force_reload" in inspect.signature(pyg_class).parameters:
        options["force_reload"] = True
    try:
        graphs = pyg_class(root=str(home), **options)
        count, data = len(graphs), graphs[0]
    except Exception as error:  # noqa: BLE001 - PyG's classes raise whatever their hosts and files cause
        raise InputError(f"pyg:{name}: PyG could not load it from {home} ({first_line(error)})") from None
    if count != 1 or "edge_index" not in data:
        raise InputError(f"pyg:{name}: {count} graphs or no edge_index; one graph is needed")
    inductive, source = class_name in _INDUCTIVE, f"torch_geometric.datasets.{class_name}"
    source += "; its split, inductive" if inductive else ""
    return save(from_pyg(data, title, None, "both", inductive, source), target)

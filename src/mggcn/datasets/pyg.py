"""PyTorch Geometric: its ``Data`` objects in both directions, and its data sets by name.

Flickr and Reddit2 are read from their raw files. Any other data set is processed anew by PyG's own class
(``force_reload``), so that a cached ``processed/*.pt`` found in a folder is never trusted.
"""

import inspect
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import UNLABELLED, Dataset, as_features
from mggcn.datasets import pyg_files, reddit, saint
from mggcn.datasets.blame import blaming, reason
from mggcn.datasets.converted import kept
from mggcn.datasets.holdout import complete
from mggcn.datasets.root import writable
from mggcn.errors import InputError
from mggcn.graph import Direction, Graph

if TYPE_CHECKING:
    from torch_geometric.data import Data

_SAINT = ("Flickr", "Reddit2")
_MULTILABEL = ("Yelp", "AmazonProducts", "PPI")
_MASKS = ("train_mask", "val_mask", "test_mask")


def load(name: str, root: Path | None, seed: int, mmap: bool) -> Dataset:
    """Load PyG's data set ``name``, or ``name/part`` where its class takes a name, as ``Coauthor/CS``."""
    if not all(word.isidentifier() for word in name.split("/")) or name.count("/") > 1:
        raise InputError(f"pyg:{name}: not the name of a PyG data set, such as Flickr or Coauthor/CS")
    if name == "Reddit":
        return reddit.load(root, seed, mmap)
    if name in _MULTILABEL:
        raise InputError(f"pyg:{name}: its nodes have several labels each, which is not supported")
    folder = Path("converted") / f"pyg-{name.replace('/', '-')}"
    dataset = kept(folder, partial(_build, name, root), root=root, mmap=mmap)
    if dataset.split is not None or not dataset.classes:
        return dataset
    split, note = complete(dataset.y, [None] * 3, seed)
    return replace(dataset, split=split, source=f"{dataset.source}; {note}")


def from_pyg(
    data: "Data",
    name: str = "pyg",
    *,
    seed: int | None = 0,
    direction: Direction = "both",
    inductive: bool = False,
    source: str = "torch_geometric Data",
) -> Dataset:
    """Convert a ``torch_geometric.data.Data``.

    Args:
        data: with ``x`` and ``edge_index``; where they exist also ``y`` (-1: no label), ``train_mask``, ``val_mask``,
            ``test_mask``, ``node_ids`` and ``class_names``.
        name: of the data set.
        seed: of the split, or of the validation part, where ``data`` holds none; None leaves out a missing split.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`.
        inductive: whether training sees only the sub-graph of training nodes.
        source: one line on where the data came from.
    """
    with blaming(name):
        x, ends = (_array(data, field) for field in ("x", "edge_index"))
        if x is None or ends is None:
            raise InputError(f"data.{'x' if x is None else 'edge_index'} is missing")
        if ends.ndim != 2 or ends.shape[0] != 2 or ends.dtype.kind != "i":
            raise InputError(f"data.edge_index must be integers of shape [2, E], not {ends.dtype} {list(ends.shape)}")
        num_nodes = x.shape[0]
        graph = Graph.from_edges(ends[0], ends[1], num_nodes, direction=direction)
        y = _labels(_array(data, "y"), num_nodes)
        names = data.get("class_names")
        classes = tuple(map(str, names)) if names else tuple(f"class {k}" for k in range(int(y.max(initial=-1)) + 1))
        parts = [_nodes(_array(data, mask), mask, num_nodes) for mask in _MASKS]
        split, note = None, ""
        if classes and not (seed is None and all(part is None for part in parts)):
            split, note = complete(y, parts, seed or 0)
        ids = data.get("node_ids")
        return Dataset(
            name=name,
            graph=graph,
            x=as_features(x),
            y=y,
            classes=classes,
            split=split,
            node_ids=None if ids is None else np.asarray(list(ids) if isinstance(ids, dict) else ids),
            inductive=inductive,
            source="; ".join(filter(None, [source, note])),
        )


def to_pyg(dataset: Dataset) -> "Data":
    """Convert to a ``torch_geometric.data.Data`` with dense ``x``; the masks stand where there is a split."""
    module = pyg_files.torch_geometric("to_pyg")
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
        for mask, nodes in zip(_MASKS, (dataset.split.train, dataset.split.val, dataset.split.test), strict=True):
            data[mask] = torch.zeros(dataset.num_nodes, dtype=torch.bool)
            data[mask][torch.from_numpy(np.array(nodes))] = True
    if dataset.node_ids is not None:
        data.node_ids = _ids_for_pyg(dataset)
    return data


def _ids_for_pyg(dataset: Dataset) -> Any:
    """Numbers as a tensor, which PyG's loaders slice with the rest; text as {id: node}, which they leave alone."""
    ids = dataset.ids_of(np.arange(dataset.num_nodes))
    if ids.dtype.kind in "iu":
        import torch

        return torch.from_numpy(np.array(ids))
    return {str(name): node for node, name in enumerate(ids)}


def _build(name: str, root: Path | None) -> Dataset:
    if name in _SAINT:
        return saint.read(pyg_files.raw_folder(name, saint.FILES, root), f"pyg:{name}")
    kind_name, _, part = name.partition("/")
    kind = pyg_files.dataset_class(kind_name)
    options: dict[str, Any] = {"name": part} if part else {}
    if "force_reload" in inspect.signature(kind).parameters:
        options["force_reload"] = True
    try:
        graphs = kind(root=str(writable(root) / "pyg" / kind_name), **options)
        count, data = len(graphs), graphs[0]
    except Exception as error:  # noqa: BLE001 - PyG's classes fail in any way their hosts and files do
        raise InputError(f"pyg:{name}: PyG could not load it ({reason(error)})") from None
    if count != 1 or "edge_index" not in data:
        raise InputError(f"pyg:{name}: {count} graphs or several kinds of nodes; one plain graph is needed")
    return from_pyg(data, f"pyg:{name}", seed=None, source=f"torch_geometric.datasets.{kind_name}")


def _array(data: "Data", field: str) -> NDArray[Any] | None:
    value = data.get(field)
    if value is None:
        return None
    import torch

    if not isinstance(value, torch.Tensor):
        raise InputError(f"data.{field} must be a tensor, not {type(value).__name__}")
    array: NDArray[Any] = value.detach().cpu().to_dense().numpy()
    return array


def _labels(y: NDArray[Any] | None, num_nodes: int) -> NDArray[np.int64]:
    if y is None:
        return np.full(num_nodes, UNLABELLED, dtype=np.int64)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (num_nodes,):
        raise InputError(f"data.y must have one class a node, not shape {list(y.shape)} for {num_nodes} nodes")
    if y.dtype.kind not in "iu":
        raise InputError(f"data.y must hold integers, not {y.dtype}")
    return y.astype(np.int64)


def _nodes(mask: NDArray[Any] | None, name: str, num_nodes: int) -> NDArray[np.int64] | None:
    if mask is None:
        return None
    if mask.ndim == 2:
        mask = mask[:, 0]
    if mask.dtype != bool or mask.shape != (num_nodes,):
        raise InputError(f"data.{name} must be booleans of shape [{num_nodes}], not {mask.dtype} {list(mask.shape)}")
    return np.flatnonzero(mask)

"""PyTorch Geometric: ``Data`` objects converted in both directions, and PyG's data sets by name.

The raw files of a data set are searched below the data root (``pyg/<Name>/raw``), else fetched by PyG. Reddit, Flickr
and Reddit2 are read from them. Any other data set is processed anew by PyG's own class (``force_reload``). PyG's cached
``processed/*.pt`` are pickles that may run code when loaded, so they are never read.
"""

import inspect
import shutil
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import Dataset
from mggcn.datasets._arrays import NO_SPLIT, complete_split, from_arrays, ignored_edge_data, is_edge_data
from mggcn.datasets._raw_layouts import REDDIT_FILES, SAINT_FILES, read_reddit, read_saint
from mggcn.datasets.root import find_folder, load_or_build, notice, writable_root
from mggcn.errors import InputError, first_line, prefix_errors, unknown
from mggcn.files import replacing
from mggcn.graph import Direction

if TYPE_CHECKING:
    from torch_geometric.data import Data

_MASKS = ("train_mask", "val_mask", "test_mask")
_RAW: dict[str, tuple[Callable[[Path, str], Dataset], Sequence[str]]] = {
    "Reddit": (read_reddit, REDDIT_FILES),
    "Flickr": (read_saint, SAINT_FILES),
    "Reddit2": (read_saint, SAINT_FILES),
}
_MULTILABEL = ("Yelp", "AmazonProducts", "PPI")


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
        data: with ``x`` and ``edge_index``, and optionally ``y`` (-1: no label), ``train_mask``, ``val_mask``,
            ``test_mask``, ``node_ids`` and ``class_names``. Of masks with one column for each split the first column is
            used; for another one assign, for example, ``data.train_mask[:, 1]``. Weights and attributes of edges are
            ignored. A warning says so.
        name: the name of the data set.
        seed: of the split or validation part that is drawn if ``data`` has none; with None a missing split stays None.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`.
        inductive: whether training uses only the subgraph of the training nodes.
        source: one line on where the data came from.
    """
    with prefix_errors(name):
        x, ends = (_array(data, field) for field in ("x", "edge_index"))
        if x is None or ends is None:
            raise InputError(f"data.{'x' if x is None else 'edge_index'} is missing")
        y, ids = _array(data, "y"), data.get("node_ids")
        is_labelled = y is not None and bool((y >= 0).any())
        masks = [_array(data, mask) if is_labelled else None for mask in _MASKS]
        edge_data = sorted(key for key in data.keys() if is_edge_data(key))  # noqa: SIM118
        return from_arrays(
            name,
            x.shape[0],
            ends,
            x,
            y=y,
            classes=data.get("class_names") or None,
            parts=[_nodes(mask, field, x.shape[0]) for field, mask in zip(_MASKS, masks, strict=True)],
            seed=seed,
            direction=direction,
            source=source,
            notes=[*ignored_edge_data(edge_data, "data"), *_first_columns(masks)],
            node_ids=None if ids is None else np.asarray(list(ids) if isinstance(ids, dict) else ids),
            inductive=inductive,
        )


def to_pyg(dataset: Dataset) -> "Data":
    """Convert to a ``torch_geometric.data.Data`` with dense ``x``, and with masks if there is a split."""
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
    import torch

    if not isinstance(value, torch.Tensor):
        raise InputError(f"data.{field} must be a tensor, not {type(value).__name__}")
    array: NDArray[Any] = value.detach().cpu().to_dense().numpy()
    return array


def _nodes(mask: NDArray[Any] | None, name: str, num_nodes: int) -> NDArray[np.int64] | None:
    if mask is None:
        return None
    if mask.ndim == 2:
        mask = mask[:, 0]
    if mask.dtype != bool or mask.shape != (num_nodes,):
        raise InputError(f"data.{name} must be booleans of shape [{num_nodes}], not {mask.dtype} {list(mask.shape)}")
    return np.flatnonzero(mask)


def _first_columns(masks: Sequence[NDArray[Any] | None]) -> list[str]:
    """The note on masks that hold several splits."""
    widths = {
        field: mask.shape[1]
        for field, mask in zip(_MASKS, masks, strict=True)
        if mask is not None and mask.ndim == 2 and mask.shape[1] > 1
    }
    listed = ", ".join(f"{field} ({width} columns)" for field, width in widths.items())
    return [f"several splits in {listed}: column 0 is used"] if listed else []


def load(name: str, root: Path | None, seed: int, mmap: bool) -> Dataset:
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
    return from_pyg(data, f"pyg:{name}", seed=None, source=f"torch_geometric.datasets.{class_name}")


def _download(name: str, files: Sequence[str], folder: Path) -> Path:
    pyg_class = dataset_class(name)
    notice(f"fetching {name} through PyG into {folder}")
    source = pyg_class.__new__(pyg_class)  # without __init__, which would process the files and load its own pickle
    try:
        with replacing(folder) as draft:
            source.root, raw = str(draft), draft / "raw"
            raw.mkdir()
            source.download()
            for file in files:
                (raw / file).rename(draft / file)
            shutil.rmtree(raw)
    except Exception as error:  # noqa: BLE001 - PyG's downloads raise whatever their hosts cause
        raise InputError(
            f"{name}: PyG's download failed ({first_line(error)}); put {', '.join(files)} into {folder}"
        ) from None
    return folder

"""PyTorch Geometric's ``Data`` objects, converted in both directions."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset.arrays import from_arrays, ignored_edge_data, is_edge_data
from mggcn.dataset.dataset import Dataset
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction

if TYPE_CHECKING:
    from torch_geometric.data import Data

_MASKS = ("train_mask", "val_mask", "test_mask")


def from_pyg(data: "Data", name: str, seed: int | None, direction: Direction, inductive: bool, source: str) -> Dataset:
    """See :meth:`mggcn.dataset.Dataset.from_pyg`."""
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
            stacklevel=4,
        )


def to_pyg(dataset: Dataset) -> "Data":
    """See :meth:`mggcn.dataset.Dataset.to_pyg`."""
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

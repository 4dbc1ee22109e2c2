"""What is in PyG's ``Data``, or in one of the stores of a ``HeteroData``, as arrays."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray
from scipy.sparse import coo_array

from mggcn.data._from_arrays import edges_of
from mggcn.errors import InputError
from mggcn.graph import as_array

Store = Mapping[str, Any]
WITHOUT_WEIGHTS = "Dataset.from_pyg(data, weights=False)"


@dataclass(frozen=True)
class EdgesIn:
    """The edges in a store.

    Attributes:
        ends: [2, E] sources and targets.
        weight: [E] or [E, 1] weights; None if there are none.
        field: what holds the ends, ``edge_index`` or ``adj_t``.
        weight_field: what may hold weights: ``edge_weight``, ``edge_attr`` with one column, or ``values of adj_t``.
    """

    ends: NDArray[Any]
    weight: NDArray[Any] | None
    field: str
    weight_field: str


def array_in(store: Store, field: str, origin: str) -> NDArray[Any] | None:
    """A dense array; None if the store has none. ``origin`` stands before the name of the field in errors."""
    value = store.get(field)
    if value is None:
        return None
    return as_array(value.to_dense() if hasattr(value, "to_dense") else value, f"{origin}{field}")


def features_in(store: Store, origin: str) -> "NDArray[Any] | coo_array | None":
    """[num_nodes, num_features] ``x``, a sparse matrix if it is a sparse tensor; None if the store has none."""
    is_sparse = str(getattr(store.get("x"), "layout", "torch.strided")) != "torch.strided"
    x = _sparse(store["x"], f"{origin}x") if is_sparse else array_in(store, "x", origin)
    if x is not None and x.ndim != 2:
        raise InputError(f"{origin}x: must have shape [num_nodes, num_features], not {list(x.shape)}")
    return x


def ids_in(store: Store, origin: str) -> NDArray[Any] | None:
    """[num_nodes] ``node_ids``, an array, a list, or a dictionary with the ids as keys; None if there are none."""
    ids = store.get("node_ids")
    return None if ids is None else as_array(list(ids) if isinstance(ids, dict) else ids, f"{origin}node_ids")


def edges_in(store: Store, num_sources: int, num_targets: int, origin: str) -> EdgesIn:
    """The edges of ``edge_index``, or of ``adj_t``, whose rows are the targets and whose values are weights."""
    ends, matrix = array_in(store, "edge_index", origin), store.get("adj_t")
    if ends is not None:
        attributes = array_in(store, "edge_attr", origin) if store.get("edge_weight") is None else None
        if attributes is not None and (attributes.ndim == 1 or attributes.shape[1:] == (1,)):
            return EdgesIn(ends, attributes, "edge_index", "edge_attr")
        return EdgesIn(ends, array_in(store, "edge_weight", origin), "edge_index", "edge_weight")
    if matrix is None:
        raise InputError(f"{origin}edge_index is missing, and so is {origin}adj_t")
    if hasattr(matrix, "to_torch_sparse_coo_tensor"):  # SparseTensor of torch_sparse
        matrix = matrix.to_torch_sparse_coo_tensor()
    adjacency = _sparse(matrix, f"{origin}adj_t")
    if adjacency.shape != (num_targets, num_sources):
        nodes = (
            f"{num_targets} nodes" if num_targets == num_sources else f"{num_targets} targets, {num_sources} sources"
        )
        raise InputError(f"{origin}adj_t: shape {list(adjacency.shape)}, but there are {nodes}")
    transposed, values = edges_of(adjacency)
    return EdgesIn(transposed[::-1], values, "adj_t", "values of adj_t")


def _sparse(value: Any, field: str) -> coo_array:
    """A sparse or dense tensor as a sparse matrix."""
    if not hasattr(value, "to_sparse"):
        raise InputError(f"{field} must be a tensor, not {type(value).__name__}")
    entries = value.detach().cpu().to_sparse().coalesce()
    return coo_array((as_array(entries.values(), field), tuple(entries.indices().numpy())), tuple(entries.shape))

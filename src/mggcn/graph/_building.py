"""From lists of edges to rows of neighbours: loops and zeros removed, duplicates joined, reverses added."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

from mggcn._io import memory
from mggcn.errors import InputError
from mggcn.graph._entries import MOST_TYPES, Direction, Entries, IntArray, Joiner, starts_of_groups, ways
from mggcn.graph._numbers import as_array, index_dtype

_BYTES_PER_NODE = 32  # row pointers of the edges, of the reversed ones and of their union, then labels
_BYTES_PER_ENTRY = 64  # of edges with weights, types or directions: what is sorted, the order and the result


class Changes(NamedTuple):
    """How edges were changed to make rows: numbers of edges removed, and of reverses added.

    Parallel edges are joined into one; their weights, if any, are added. ``sums`` are the undirected edges that were
    given in both directions and whose weight is the sum of the two.
    """

    loops: int
    duplicates: int
    reverses: int
    zeros: int = 0
    sums: int = 0


class EdgeOptions(TypedDict, total=False):
    """What may be said of edges, see :meth:`mggcn.graph.Graph.from_edges`."""

    direction: Direction
    weight: ArrayLike | None
    edge_type: ArrayLike | None
    types: Sequence[str]


class Rows(NamedTuple):
    """The arrays of a graph."""

    indptr: NDArray[np.int64]
    indices: IntArray
    relations: Entries | None


def build(
    source: ArrayLike,
    target: ArrayLike,
    num_nodes: int,
    direction: Direction = "both",
    weight: ArrayLike | None = None,
    edge_type: ArrayLike | None = None,
    types: Sequence[str] = (),
) -> tuple[Rows, tuple[str, ...], Changes]:
    """The rows of a graph, the names of its types of edges, and how the edges were changed."""
    if not isinstance(num_nodes, int | np.integer) or num_nodes < 0:
        raise InputError(f"num_nodes: {num_nodes!r} is not a number of nodes")
    memory.require(_BYTES_PER_NODE * int(num_nodes), f"num_nodes: a graph of {num_nodes:,} nodes")
    src, dst = _endpoints(source, "source", num_nodes), _endpoints(target, "target", num_nodes)
    if src.shape != dst.shape:
        raise InputError(f"edges: {src.size} sources but {dst.size} targets")
    if direction not in get_args(Direction):
        raise InputError(f"direction: {direction!r} is not one of {', '.join(get_args(Direction))}")
    weights = None if weight is None else edge_weights(weight, src.size)
    kinds, names = edge_types(edge_type, types, src.size)
    has_numbers = bool(names) or direction == "directed"
    if weights is None and not has_numbers:
        rows, changes = _plain(src, dst, num_nodes, direction)
    else:
        kinds = kinds if names else np.zeros(src.size, np.uint16)
        rows, changes = _related(src, dst, num_nodes, direction, weights, kinds, has_numbers=has_numbers)
    return rows, names, changes


def edge_weights(values: ArrayLike, num_edges: int) -> NDArray[np.float32]:
    """Check and convert the weights of edges: one for each, finite and not negative."""
    array = as_array(values, "weight")
    if array.shape != (num_edges,):
        raise InputError(f"weight: shape {array.shape}, not one weight for each of {num_edges} edges")
    if array.dtype.kind not in "iufb":
        raise InputError(f"weight: must be numbers, not {array.dtype}")
    with np.errstate(over="ignore"):
        weights = array.astype(np.float32)
    is_lost = (weights == 0) & (array > 0)
    bad = np.flatnonzero(~(np.isfinite(weights) & (array >= 0)) | is_lost)
    if bad.size:
        value = array[bad[0]]
        problem = "negative" if value < 0 else "missing" if np.isnan(value) else "not finite in float32"
        problem = "0 in float32" if is_lost[bad[0]] else problem
        raise InputError(f"weight: {value} of edge {bad[0]} is {problem}; weights must be numbers of 0 or more")
    return weights


def edge_types(values: ArrayLike | None, types: Sequence[str], num_edges: int) -> tuple[IntArray, tuple[str, ...]]:
    """Check the types of edges, numbers of their names; without names they are called by their numbers."""
    names = tuple(types)
    if values is None:
        if names:
            raise InputError("types: names of types of edges, but no edge_type")
        return np.zeros(0, np.uint8), ()
    array = as_array(values, "edge_type")
    if array.shape != (num_edges,) or (array.dtype.kind not in "iu" and num_edges):
        raise InputError(
            f"edge_type: {array.dtype} of shape {array.shape}, not an integer for each of {num_edges} edges"
        )
    most = int(array.max()) + 1 if array.size else 0
    names = names or tuple(map(str, range(most)))
    check_types(names)
    bad = np.flatnonzero((array < 0) | (array >= len(names)))
    if bad.size:
        raise InputError(f"edge_type: {array[bad[0]]} of edge {bad[0]} is out of range for {len(names)} types")
    return array, names


def check_types(names: Sequence[str]) -> None:
    """Raise InputError unless these can be the names of types of edges."""
    if len(names) > MOST_TYPES:
        raise InputError(f"edge_type: {len(names):,} types of edges, more than {MOST_TYPES}")
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise InputError(f"types: {name!r} is not the name of a type of edges")
        if name in names[:index]:
            raise InputError(f"types: {name!r} occurs twice")


def _plain(src: IntArray, dst: IntArray, num_nodes: int, direction: Direction) -> tuple[Rows, Changes]:
    """Rows of neighbours of which no more is known."""
    row, column = (dst, src) if direction == "in" else (src, dst)
    # SciPy's counting sort needs a fifth of the memory of sorting pairs; a sum of booleans is "or", so duplicates
    # become one entry. Self-loops are stored as False and eliminated.
    is_edge = row != column
    entries = coo_array((is_edge, (row, column)), shape=(num_nodes, num_nodes)).tocsr()
    num_loops, num_duplicates = int((~is_edge).sum()), int(is_edge.sum() - entries.data.sum())
    entries.eliminate_zeros()
    num_given = entries.nnz
    if direction == "both":
        entries = entries + entries.T.tocsr()
    entries.sort_indices()
    indices = entries.indices.astype(index_dtype(num_nodes))  # a copy, because SciPy's array has spare capacity
    changes = Changes(num_loops, num_duplicates, indices.size - num_given)
    return Rows(entries.indptr.astype(np.int64), indices, None), changes


def _related(
    src: IntArray,
    dst: IntArray,
    num_nodes: int,
    direction: Direction,
    weights: NDArray[np.float32] | None,
    kinds: IntArray,
    *,
    has_numbers: bool,
) -> tuple[Rows, Changes]:
    """Rows of neighbours and, beside them, of the relations to them."""
    memory.require(2 * _BYTES_PER_ENTRY * src.size, f"the weights, types or directions of {src.size:,} edges")
    is_loop = src == dst
    is_zero = np.zeros(src.size, bool) if weights is None else (weights == 0) & ~is_loop
    kept = ~(is_loop | is_zero)
    src, dst, kinds = src[kept], dst[kept], kinds[kept]
    weights = None if weights is None else weights[kept]
    columns: list[list[NDArray[Any]]] = [[], [], [], [], []]
    for in_target, number, mirrored in ways(kinds.astype(np.uint16), direction):
        row, neighbour = (dst, src) if in_target else (src, dst)
        side = np.full(row.size, mirrored, np.uint8)
        for column, part in zip(columns, (row, neighbour, number, side, weights), strict=True):
            column.append(np.empty(0, np.float32) if part is None else part)
    row, neighbour, number, side, weight = (np.concatenate(parts) for parts in columns)
    order = np.lexsort((*([weight] if weight.size else []), side, number, neighbour, row))
    joiner = Joiner(weighted=weights is not None, undirected=direction == "both")
    sorted_columns = (
        row[order],
        neighbour[order],
        number[order],
        side[order],
        weight[order] if weight.size else weight,
    )
    parts = [joiner.append(*sorted_columns), joiner.close()]
    rows, neighbours, numbers, sums = map(np.concatenate, zip(*parts, strict=True))
    changes = Changes(
        loops=int(is_loop.sum()),
        duplicates=src.size - joiner.num_given // (2 if direction == "directed" else 1),
        reverses=rows.size - joiner.num_given,
        zeros=int(is_zero.sum()),
        sums=joiner.num_sums,
    )
    indptr, neighbours = _row_starts(rows, num_nodes), neighbours.astype(index_dtype(num_nodes))
    joined = sums * np.float32(joiner.scale) if weights is not None else None
    if not has_numbers:
        return Rows(indptr, neighbours, Entries(indptr, neighbours, None, joined)), changes
    first = starts_of_groups(rows, neighbours)
    relations = Entries(indptr, neighbours, numbers, joined)
    return Rows(_row_starts(rows[first], num_nodes), neighbours[first], relations), changes


def _row_starts(rows: IntArray, num_nodes: int) -> NDArray[np.int64]:
    starts = np.zeros(num_nodes + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=num_nodes), out=starts[1:])
    return starts


def _endpoints(values: ArrayLike, side: str, num_nodes: int) -> IntArray:
    array = as_array(values, f"edges: {side}")
    if array.ndim != 1:
        raise InputError(f"edges: {side} must be one-dimensional, not of shape {array.shape}")
    if array.size == 0:
        return array.astype(np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"edges: {side} must hold integers, not {array.dtype}")
    if array.min() < 0 or array.max() >= num_nodes:
        bad = np.flatnonzero((array < 0) | (array >= num_nodes))[0]
        raise InputError(f"edges: {side} {array[bad]} of edge {bad} is out of range for {num_nodes} nodes")
    return array

"""The graph that every other module works on: a checked adjacency matrix in compressed sparse rows (CSR).

Row ``v`` lists the neighbours N(v) of the paper: sorted, without duplicates and without ``v`` itself. The arrays may
be in memory or memory-mapped; the type is the same.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array

from mggcn._io import memory
from mggcn._io.arrays import checksum, locked, read_only
from mggcn.errors import InputError, first_line
from mggcn.keys import fold_each

Direction = Literal["both", "in", "out"]
IntArray = NDArray[np.integer[Any]]

_CHECK_CHUNK, _THREAD_CHUNK = 1 << 24, 1 << 20  # entries
_BYTES_PER_NODE = 32  # row pointers of the edges, of the reversed ones and of their union, then labels


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in compressed sparse rows, with read-only arrays: arrays that the caller could change are copied.

    Args:
        indptr: [num_nodes + 1] int64, where each row starts.
        indices: [num_stored] int32 (int64 only above 2**31 nodes), the neighbours.
        direction: ``both`` for an undirected graph (every edge is stored in both rows), ``in`` if row v lists the
            sources of the edges into v, ``out`` if it lists the targets of the edges out of v.
        checked: skip the checks and the copies, for arrays that are known to be valid and that nobody else writes to;
            :func:`dataclasses.replace` does not keep it.
    """

    indptr: NDArray[np.int64]
    indices: IntArray
    direction: Direction = "both"
    checked: InitVar[bool] = False

    def __post_init__(self, checked: bool) -> None:
        if not checked:
            _check_types(self.indptr, self.indices, self.direction)
        for name in ("indptr", "indices"):
            array = getattr(self, name)
            object.__setattr__(self, name, locked(array) if checked else read_only(array))
        if not checked:
            _check(self.indptr, self.indices, self.direction)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # copies and unpickled arrays can be written to
        self.__post_init__(checked=True)

    def check_bounds(self) -> None:
        """Raise InputError unless all rows and neighbours exist, which kernels rely on; cheap, for mapped files."""
        _check_rows(self.indptr, self.indices)
        for start in range(0, self.indices.size, _CHECK_CHUNK):
            _check_range(self.indices[start : start + _CHECK_CHUNK], self.num_nodes, start)

    @property
    def checksums(self) -> dict[str, str]:
        """The checksum of each array."""
        return {"indptr": checksum(self.indptr), "indices": checksum(self.indices)}

    @classmethod
    def from_edges(
        cls, source: ArrayLike, target: ArrayLike, num_nodes: int, *, direction: Direction = "both"
    ) -> "Graph":
        """Build a graph from [E] end points; removes duplicates and self-loops, ``both`` makes the edges symmetric."""
        return cls.from_edges_counted(source, target, num_nodes, direction=direction)[0]

    @classmethod
    def from_edges_counted(
        cls, source: ArrayLike, target: ArrayLike, num_nodes: int, *, direction: Direction = "both"
    ) -> "tuple[Graph, int, int, int]":
        """Return the graph of :meth:`from_edges`, and how many loops and duplicates it removed and reverses it added.

        The two directions of an undirected edge are no duplicates of each other.
        """
        if not isinstance(num_nodes, int | np.integer) or num_nodes < 0:
            raise InputError(f"num_nodes: {num_nodes!r} is not a number of nodes")
        memory.require(_BYTES_PER_NODE * int(num_nodes), f"num_nodes: a graph of {num_nodes:,} nodes")
        src, dst = _endpoints(source, "source", num_nodes), _endpoints(target, "target", num_nodes)
        if src.shape != dst.shape:
            raise InputError(f"edges: {src.size} sources but {dst.size} targets")
        if direction not in get_args(Direction):
            raise InputError(f"direction: {direction!r} is not one of both, in, out")
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
        graph = cls(entries.indptr.astype(np.int64), indices, direction, checked=True)
        return graph, num_loops, num_duplicates, graph.num_stored - num_given

    @property
    def num_nodes(self) -> int:
        """The number of nodes, isolated ones included."""
        return self.indptr.size - 1

    @property
    def num_stored(self) -> int:
        """The number of stored entries: twice the edges of an undirected graph."""
        return self.indices.size

    @property
    def num_edges(self) -> int:
        """The number of edges: an undirected edge counts once."""
        return self.num_stored // 2 if self.direction == "both" else self.num_stored

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """[num_nodes] edges at each node; in a directed graph incoming and outgoing ones."""
        stored = np.diff(self.indptr)
        if self.direction == "both":
            return stored
        return stored + np.bincount(self.indices, minlength=self.num_nodes)

    def row(self, node: int) -> IntArray:
        """The neighbours of one node."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def subgraph(self, nodes: ArrayLike) -> "Graph":
        """The graph of all nodes with only the edges between ``nodes``, numbers or a mask; others become isolated."""
        member = self._members(nodes)
        with ThreadPoolExecutor() as pool:
            parts = [*pool.map(partial(self._rows_between, member), self.row_blocks(_THREAD_CHUNK))]
        indptr = np.concatenate([np.zeros(1, np.int64), *(sizes for sizes, _ in parts)]).cumsum()
        indices = np.concatenate([self.indices[:0], *(entries for _, entries in parts)])
        return Graph(indptr, indices, self.direction, checked=True)

    def subgraph_rows(self, nodes: ArrayLike) -> Iterator[tuple[NDArray[np.int64], IntArray]]:
        """The rows of :meth:`subgraph`, some at a time: where each ends, and the neighbours."""
        member, total = self._members(nodes), 0
        for block in self.row_blocks():
            sizes, entries = self._rows_between(member, block)
            yield total + sizes.cumsum(), entries
            total += entries.size

    def _members(self, nodes: ArrayLike) -> NDArray[np.bool_]:
        member = np.zeros(self.num_nodes, bool)
        member[node_numbers(nodes, self.num_nodes)] = True
        return member

    def _rows_between(self, member: NDArray[np.bool_], block: tuple[int, int]) -> tuple[NDArray[np.int64], IntArray]:
        """For a block of rows: how many of its entries each row keeps, and the entries between members."""
        bounds = self.indptr[block[0] : block[1] + 1]
        entries = self.indices[bounds[0] : bounds[-1]]
        keep = member[entries] & np.repeat(member[slice(*block)], np.diff(bounds))
        before = np.zeros(keep.size + 1, index_dtype(keep.size))
        np.cumsum(keep, out=before[1:])
        return np.diff(before[bounds - bounds[0]]).astype(np.int64), entries[keep]

    def row_blocks(self, most: int = _CHECK_CHUNK) -> Iterator[tuple[int, int]]:
        """Ranges of all rows, each of at most ``most`` rows and entries; a row with more entries is a range."""
        start = 0
        while start < self.num_nodes:
            last = int(np.searchsorted(self.indptr, self.indptr[start] + most, side="right")) - 1
            stop = max(start + 1, min(last, start + most, self.num_nodes))
            yield start, stop
            start = stop

    def edges(self) -> tuple[IntArray, IntArray]:
        """The (row, column) end points of every stored entry, each [num_stored]."""
        rows = np.repeat(np.arange(self.num_nodes, dtype=self.indices.dtype), np.diff(self.indptr))
        return rows, self.indices


def index_dtype(num_nodes: int) -> type[np.int32] | type[np.int64]:
    """The narrowest of int32 and int64 that holds every node number."""
    return np.int32 if num_nodes <= np.iinfo(np.int32).max else np.int64


def node_numbers(nodes: ArrayLike, num_nodes: int | None = None, field: str = "nodes") -> NDArray[np.int64]:
    """Convert node numbers or a boolean mask (a list, a range, an array or a tensor) to a vector of node numbers.

    A node may be listed more than once, but a vector of 0 and 1 as long as the graph is refused: it is a mask of
    integers. Numbers and length are checked if ``num_nodes`` is known. ``field`` is the name of the argument in errors.
    """
    vector = numbers_or_mask(nodes, field)
    if vector.dtype == bool:
        if num_nodes not in (None, vector.size):
            raise InputError(f"{field}: the mask has {vector.size} entries, but the graph has {num_nodes} nodes")
        return np.flatnonzero(vector)
    if num_nodes is not None:
        out_of_range = vector[(vector < 0) | (vector >= num_nodes)]
        if out_of_range.size:
            raise InputError(f"{field}: node {out_of_range[0]} is out of range for {num_nodes} nodes")
        if vector.size == num_nodes and vector.max(initial=0) <= 1 and np.unique(vector).size < vector.size:
            raise InputError(f"{field}: {num_nodes} values of 0 and 1 are a mask of integers; give a boolean mask")
    return vector.astype(np.int64, copy=False)


def numbers_or_mask(nodes: ArrayLike, field: str) -> NDArray[Any]:
    """Convert to a vector of integers or of booleans; InputError for everything else."""
    vector = as_array(nodes, field)
    if vector.shape == (0,) and vector.dtype != bool:
        return np.empty(0, np.int64)  # NumPy makes an empty list an array of floats
    if vector.dtype.kind not in "iub":
        kind = str(vector.dtype) if vector.ndim else type(nodes).__name__
        raise InputError(f"{field}: must be node numbers or a boolean mask, not {kind}")
    if vector.ndim != 1:
        raise InputError(f"{field}: must be one-dimensional, not of shape {vector.shape}")
    return vector


def as_array(values: ArrayLike, field: str) -> NDArray[Any]:
    """Convert a list or a tensor to an array; InputError for what NumPy cannot convert."""
    try:
        return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
    except (TypeError, ValueError, RuntimeError) as error:  # a ragged list, or a tensor of a type NumPy does not have
        raise InputError(f"{field}: {type(values).__name__} is not an array ({first_line(error)})") from None


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


def _check_types(indptr: NDArray[np.int64], indices: IntArray, direction: str) -> None:
    if direction not in get_args(Direction):
        raise InputError(f"graph: direction {direction!r} is not one of both, in, out")
    for field, array in (("indptr", indptr), ("indices", indices)):
        if not isinstance(array, np.ndarray):
            raise InputError(
                f"graph: {field} must be an array, not {type(array).__name__}: use numpy.asarray or Graph.from_edges"
            )
    if indptr.ndim != 1 or indptr.size < 1 or indptr.dtype != np.int64:
        raise InputError(f"graph: indptr must be a vector of int64, not {indptr.dtype} of shape {indptr.shape}")
    if indices.ndim != 1 or indices.dtype not in (np.int32, np.int64):
        raise InputError(
            f"graph: indices must be a vector of int32 or int64, not {indices.dtype} of shape {indices.shape}"
        )


def _check(indptr: NDArray[np.int64], indices: IntArray, direction: str, chunk: int = _CHECK_CHUNK) -> None:
    _check_rows(indptr, indices)
    for start in range(0, indices.size, chunk):
        # Each chunk begins with the last entry of the one before, so that a row across the border is checked.
        _check_entries(indptr, indices, max(start - 1, 0), min(start + chunk, indices.size))
    if direction == "both" and not _is_symmetric(Graph(indptr, indices, checked=True), chunk):
        raise InputError("graph: not symmetric; give direction 'in' or 'out' or store every edge in both rows")


def _check_rows(indptr: NDArray[np.int64], indices: IntArray) -> None:
    if indptr[0] != 0 or indptr[-1] != indices.size:
        raise InputError(f"graph: indptr runs from {indptr[0]} to {indptr[-1]}, not from 0 to {indices.size}")
    if np.any(indptr[1:] < indptr[:-1]):
        raise InputError(f"graph: indptr falls at row {np.flatnonzero(indptr[1:] < indptr[:-1])[0]}")


def _check_range(part: IntArray, num_nodes: int, start: int) -> None:
    if part.size and (part.min() < 0 or part.max() >= num_nodes):
        bad = np.flatnonzero((part < 0) | (part >= num_nodes))[0]
        raise InputError(f"graph: index {part[bad]} at position {start + bad} is out of range for {num_nodes} nodes")


def _check_entries(indptr: NDArray[np.int64], indices: IntArray, start: int, stop: int) -> None:
    part, num_nodes = indices[start:stop], indptr.size - 1
    _check_range(part, num_nodes, start)
    row = np.searchsorted(indptr, np.arange(start, stop), side="right") - 1
    loop = np.flatnonzero(part == row)
    if loop.size:
        raise InputError(f"graph: self-loop at node {row[loop[0]]}")
    unsorted = np.flatnonzero((np.diff(part) <= 0) & (np.diff(row) == 0))
    if unsorted.size:
        raise InputError(f"graph: row {row[unsorted[0]]} is not sorted or repeats a neighbour")


def _is_symmetric(graph: Graph, chunk: int) -> bool:
    """Whether :func:`balance` is 0 over all entries; they are not sorted, which takes 18 bytes each."""
    total = np.uint64(0)
    for start, stop in graph.row_blocks(chunk):
        bounds = graph.indptr[start : stop + 1]
        rows = np.repeat(np.arange(start, stop), np.diff(bounds))
        with np.errstate(over="ignore"):
            total += balance(rows, graph.indices[bounds[0] : bounds[-1]])
    return not total


def balance(rows: IntArray, neighbours: IntArray) -> np.uint64:
    """The sum of a hash of (row, neighbour) over entries minus that of (neighbour, row).

    Over all entries of a symmetric graph it is 0, which other graphs reach with probability 2^-64.
    """
    with np.errstate(over="ignore"):
        forward = fold_each(rows.astype(np.uint64), neighbours)
        return np.uint64(np.sum(forward - fold_each(neighbours.astype(np.uint64), rows)))

"""What kernels rely on: rows in range and sorted, without duplicates and loops, and symmetric where they have to be."""

from collections.abc import Iterator
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from mggcn.errors import InputError
from mggcn.graph._entries import Direction, Entries, IntArray, starts_of_groups
from mggcn.keys import fold_each

CHUNK = 1 << 24  # entries


def check_arrays(indptr: NDArray[np.int64], indices: IntArray, direction: str) -> None:
    """Raise InputError unless the arrays are of the right types."""
    if direction not in get_args(Direction):
        raise InputError(f"graph: direction {direction!r} is not one of {', '.join(get_args(Direction))}")
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


def check_graph(indptr: NDArray[np.int64], indices: IntArray, direction: str, chunk: int = CHUNK) -> None:
    """Raise InputError unless rows are sorted, in range, without loops, and symmetric unless of one direction."""
    check_rows(indptr, indices)
    for start in range(0, indices.size, chunk):
        # Each chunk begins with the last entry of the one before, so that a row across the border is checked.
        _check_entries(indptr, indices, max(start - 1, 0), min(start + chunk, indices.size))
    if direction in ("both", "directed") and not _balances(Entries(indptr, indices), chunk):
        raise InputError("graph: not symmetric; give direction 'in' or 'out' or store every edge in both rows")


def check_relations(
    relations: Entries, indptr: NDArray[np.int64], indices: IntArray, direction: Direction, num_types: int
) -> None:
    """Raise InputError unless there is a relation to each neighbour, and to no other node."""
    check_relation_types(relations, direction, num_types)
    if relations.weight is not None:
        for start in range(0, relations.weight.size, CHUNK):
            part = relations.weight[start : start + CHUNK]
            bad = np.flatnonzero(~(np.isfinite(part) & (part > 0)))
            if bad.size:
                raise InputError(f"graph: weight {part[bad[0]]} at position {start + bad[0]} is not above 0 and finite")
    if relations.number is not None:
        _check_numbers(relations, indptr, indices, max(num_types, 1) * (2 if direction == "directed" else 1))
    is_directed = direction == "directed"
    if direction in ("both", "directed") and not _balances(relations, CHUNK, is_directed=is_directed):
        raise InputError("graph: relations or weights are not the same in both rows of an edge")


def check_bounds(relations: Entries, num_nodes: int, num_relations: int) -> None:
    """Raise InputError unless all rows, neighbours and relations exist, which kernels rely on."""
    check_rows(relations.indptr, relations.indices)
    if relations.indptr.size != num_nodes + 1:
        raise InputError(f"graph: relations of {relations.indptr.size - 1} nodes, not of {num_nodes}")
    for start in range(0, relations.indices.size, CHUNK):
        check_range(relations.indices[start : start + CHUNK], num_nodes, start)
        if relations.number is not None:
            _check_number_range(relations.number[start : start + CHUNK], num_relations, start)


def check_relation_types(relations: Entries | None, direction: Direction, num_types: int) -> None:
    """Raise InputError unless there are relations where there must be, and in arrays of the right types."""
    if relations is None:
        if direction == "directed" or num_types:
            raise InputError("graph: one with directions or types of edges needs relations")
        return
    check_arrays(relations.indptr, relations.indices, direction)
    for name, dtype in (("number", np.uint16), ("weight", np.float32)):
        array = getattr(relations, name)
        if array is not None and (array.dtype != dtype or array.shape != relations.indices.shape):
            raise InputError(f"graph: relation {name}s must be a vector of {np.dtype(dtype)} as long as the entries")
    if relations.number is None and (direction == "directed" or num_types > 1):
        raise InputError("graph: relations of a directed graph, or of several types, need numbers")


def _check_numbers(relations: Entries, indptr: NDArray[np.int64], indices: IntArray, num_relations: int) -> None:
    check_rows(relations.indptr, relations.indices)
    if relations.indptr.shape != indptr.shape:
        raise InputError(f"graph: relations of {relations.indptr.size - 1} nodes, not of {indptr.size - 1}")
    for start, stop in row_blocks(relations.indptr, CHUNK):
        block = relations.rows(start, stop)
        rows, neighbours, first_entry = block.row_numbers(), block.indices, int(relations.indptr[start])
        check_range(neighbours, indptr.size - 1, first_entry)
        number = np.zeros(0, np.uint16) if block.number is None else block.number
        _check_number_range(number, num_relations, first_entry)
        in_row, steps = np.diff(rows) == 0, np.diff(neighbours)
        repeats = (steps == 0) & (np.diff(number.astype(np.int64)) <= 0)
        if (in_row & ((steps < 0) | repeats)).any():
            raise InputError(f"graph: the relations of rows {start} to {stop - 1} are not sorted or repeat one")
        first = starts_of_groups(rows, neighbours)
        sizes = np.bincount(rows[first], minlength=stop - start)
        expected = Entries(indptr, indices).rows(start, stop)
        if not (
            np.array_equal(neighbours[first], expected.indices) and np.array_equal(sizes, np.diff(expected.indptr))
        ):
            raise InputError(f"graph: the relations of rows {start} to {stop - 1} are not to their neighbours")


def _check_number_range(part: NDArray[np.uint16], num_relations: int, start: int) -> None:
    if part.size and part.max() >= num_relations:
        bad = np.flatnonzero(part >= num_relations)[0]
        raise InputError(f"graph: relation {part[bad]} at position {start + bad} is out of range for {num_relations}")


def check_rows(indptr: NDArray[np.int64], indices: IntArray) -> None:
    """Raise InputError unless the rows begin and end inside the entries."""
    if indptr[0] != 0 or indptr[-1] != indices.size:
        raise InputError(f"graph: indptr runs from {indptr[0]} to {indptr[-1]}, not from 0 to {indices.size}")
    if np.any(indptr[1:] < indptr[:-1]):
        raise InputError(f"graph: indptr falls at row {np.flatnonzero(indptr[1:] < indptr[:-1])[0]}")


def check_range(part: IntArray, num_nodes: int, start: int) -> None:
    """Raise InputError unless these neighbours, the first of them at position ``start``, exist."""
    if part.size and (part.min() < 0 or part.max() >= num_nodes):
        bad = np.flatnonzero((part < 0) | (part >= num_nodes))[0]
        raise InputError(f"graph: index {part[bad]} at position {start + bad} is out of range for {num_nodes} nodes")


def _check_entries(indptr: NDArray[np.int64], indices: IntArray, start: int, stop: int) -> None:
    part, num_nodes = indices[start:stop], indptr.size - 1
    check_range(part, num_nodes, start)
    row = np.searchsorted(indptr, np.arange(start, stop), side="right") - 1
    loop = np.flatnonzero(part == row)
    if loop.size:
        raise InputError(f"graph: self-loop at node {row[loop[0]]}")
    unsorted = np.flatnonzero((np.diff(part) <= 0) & (np.diff(row) == 0))
    if unsorted.size:
        raise InputError(f"graph: row {row[unsorted[0]]} is not sorted or repeats a neighbour")


def row_blocks(indptr: NDArray[np.int64], most: int = CHUNK) -> Iterator[tuple[int, int]]:
    """Ranges of all rows, each of at most ``most`` rows and entries; a row with more entries is a range."""
    start, num_rows = 0, indptr.size - 1
    while start < num_rows:
        last = int(np.searchsorted(indptr, indptr[start] + most, side="right")) - 1
        stop = max(start + 1, min(last, start + most, num_rows))
        yield start, stop
        start = stop


def _balances(entries: Entries, chunk: int, *, is_directed: bool = False) -> bool:
    """Whether :func:`balance` is 0 over all entries; they are not sorted, which takes 18 bytes each."""
    total = np.uint64(0)
    for start, stop in row_blocks(entries.indptr, chunk):
        block = entries.rows(start, stop)
        rows = block.row_numbers() + start
        with np.errstate(over="ignore"):
            total += balance(rows, block.indices, block.number, block.weight, is_directed=is_directed)
    return not total


def balance(
    rows: IntArray,
    neighbours: IntArray,
    number: NDArray[np.uint16] | None = None,
    weight: NDArray[np.float32] | None = None,
    *,
    is_directed: bool = False,
) -> np.uint64:
    """The sum of a hash of (row, neighbour, relation, weight) over entries minus that of the entries in the other row.

    Over all entries of a symmetric graph it is 0, which other graphs reach with probability 2^-64. An edge into a node
    is out of its neighbour, so ``is_directed`` swaps these relations.
    """
    forward = fold_each(rows.astype(np.uint64), neighbours)
    backward = fold_each(neighbours.astype(np.uint64), rows)
    if number is not None:
        forward = fold_each(forward, number)
        backward = fold_each(backward, number ^ 1 if is_directed else number)
    if weight is not None:
        bits = np.ascontiguousarray(weight).view(np.uint32)
        forward, backward = fold_each(forward, bits), fold_each(backward, bits)
    with np.errstate(over="ignore"):
        return np.uint64(np.sum(forward - backward))

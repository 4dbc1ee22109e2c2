"""What the edges of a graph are: their types, their direction and their weights, beside the rows of neighbours.

A *relation* is a type of edge and, where the direction is kept, which way it goes: relation ``2·t`` are the edges of
type ``t`` into a node and ``2·t + 1`` those out of it. Without directions relation ``t`` is type ``t``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from mggcn._io.arrays import locked, read_only
from mggcn.errors import InputError

Direction = Literal["both", "in", "out", "directed"]
Grouping = Literal["none", "direction", "type", "both"]
EdgePart = Literal["direction", "weight", "type"]
IntArray = NDArray[np.integer[Any]]

EDGE_PARTS: tuple[EdgePart, ...] = get_args(EdgePart)
MOST_TYPES = 255
WAYS = ("in", "out")


@dataclass(frozen=True)
class EdgeSchema:
    """What is known of each edge.

    Attributes:
        directed: the rows of a node hold the edges into it and those out of it as different relations.
        weighted: edges have weights.
        types: the names of the types of edges; empty if there is one type without a name.
    """

    directed: bool = False
    weighted: bool = False
    types: tuple[str, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether all that is known of an edge is that it exists."""
        return self == EdgeSchema()

    @property
    def relations(self) -> tuple[str, ...]:
        """The names of the relations, in the order of their numbers."""
        if not self.directed:
            return self.types or ("",)
        return tuple(f"{name} {way}".strip() for name in self.types or ("",) for way in WAYS)

    def is_one_way(self, relations: Sequence[int]) -> bool:
        """Whether of some type only the edges into nodes, or only those out of them, are among these relations."""
        return self.directed and any(number ^ 1 not in relations for number in relations)

    def groups(self, by: Grouping) -> dict[str, tuple[int, ...]]:
        """The relations that are aggregated together, by name: all of them, or apart by direction, type or both."""
        ways = len(WAYS) if self.directed else 1
        numbers = np.arange(max(len(self.types), 1) * ways).reshape(-1, ways)
        if by == "both" and self.directed and self.types:
            return {name: (number,) for number, name in enumerate(self.relations)}
        if by in ("direction", "both") and self.directed:
            return {way: tuple(numbers[:, index].tolist()) for index, way in enumerate(WAYS)}
        if by in ("type", "both") and self.types:
            return dict(zip(self.types, map(tuple, numbers.tolist()), strict=True))
        return {"": tuple(numbers.reshape(-1).tolist())}


@dataclass(frozen=True, eq=False)
class Entries:
    """The relations in each row: entries sorted by row, neighbour and relation, none of them twice.

    Attributes:
        indptr: [num_nodes + 1] int64, where each row starts.
        indices: [num_entries] the neighbours; one that is connected by several relations is repeated.
        number: [num_entries] uint16 relations; None if there is only one.
        weight: [num_entries] float32 weights above 0; None if all edges count alike.
    """

    indptr: NDArray[np.int64]
    indices: IntArray
    number: NDArray[np.uint16] | None = None
    weight: NDArray[np.float32] | None = None

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that there are."""
        found = {"indptr": self.indptr, "indices": self.indices, "number": self.number, "weight": self.weight}
        return {name: array for name, array in found.items() if array is not None}

    def owned(self, *, checked: bool) -> "Entries":
        """The same with read-only arrays; copies unless they are known to be nobody else's."""
        own = locked if checked else read_only
        return Entries(**{name: own(array) for name, array in self.arrays().items()})

    def rows(self, start: int, stop: int) -> "Entries":
        """The entries of rows start … stop - 1."""
        bounds = self.indptr[start : stop + 1]
        part = slice(bounds[0], bounds[-1])
        number = None if self.number is None else self.number[part]
        weight = None if self.weight is None else self.weight[part]
        return Entries(bounds - bounds[0], self.indices[part], number, weight)

    def row_numbers(self) -> NDArray[np.int64]:
        """[num_entries] the row of each entry."""
        return np.repeat(np.arange(self.indptr.size - 1), np.diff(self.indptr))

    def wanted(self, relations: Sequence[int] | None) -> NDArray[np.bool_] | None:
        """[num_entries] which entries are of some relations; None for all."""
        if relations is None or self.number is None:
            return None
        is_wanted = np.zeros(2 * MOST_TYPES, bool)
        is_wanted[[*relations]] = True
        return None if is_wanted[: int(self.number.max(initial=0)) + 1].all() else is_wanted[self.number]

    def weights(self, dtype: "np.dtype[Any] | type" = np.float32) -> NDArray[Any]:
        """[num_entries] the weights, 1 where there are none."""
        return np.ones(self.indices.size, dtype) if self.weight is None else self.weight.astype(dtype, copy=False)


class Joiner:
    """Joins the entries of a graph that are given sorted, some at a time; parallel edges add their weights.

    An entry of an undirected graph is given in both rows, with ``mirrored`` 1 in the one that the user did not write.
    Batches are sorted by row, neighbour, number, mirrored and weight, so that sums do not depend on how edges were
    ordered. Where weights of undirected edges are given in both directions and are the same for every edge, they are
    weights of the edges and are not added: ``scale`` says at the end by what to multiply all weights.

    Args:
        weighted: whether there are weights.
        undirected: whether entries are mirrored.
    """

    def __init__(self, *, weighted: bool, undirected: bool) -> None:
        self._weighted = weighted
        self._held: tuple[NDArray[Any], ...] | None = None  # entries of the last edge, which the next batch may go on
        self._is_symmetric = undirected and weighted
        self.num_given = 0  # different entries that are not mirrored
        self._num_both = 0  # entries of which there is a mirrored one, too

    @property
    def scale(self) -> float:
        """By what the weights of all entries are to be multiplied at the end."""
        return 0.5 if self._is_symmetric and self.num_given else 1.0

    @property
    def num_sums(self) -> int:
        """The undirected edges whose weight is the sum over both directions."""
        return 0 if self._is_symmetric or not self._weighted else self._num_both // 2

    def append(
        self, rows: IntArray, neighbours: IntArray, number: IntArray, mirrored: IntArray, weight: NDArray[np.float32]
    ) -> "tuple[IntArray, IntArray, NDArray[np.uint16], NDArray[np.float32]]":
        """Return the joined entries that are complete: rows, neighbours, relations and weights."""
        batch: tuple[NDArray[Any], ...] = (rows, neighbours, number, mirrored, weight)
        if self._held is not None:
            batch = tuple(map(np.concatenate, zip(self._held, batch, strict=True)))
        starts = starts_of_groups(*batch[:3])
        cut = starts[-1] if starts.size else 0
        self._held = tuple(part[cut:] for part in batch)
        return self._joined(*(part[:cut] for part in batch))

    def close(self) -> "tuple[IntArray, IntArray, NDArray[np.uint16], NDArray[np.float32]]":
        """Return the entries that were held back."""
        none = np.empty(0, np.int64)
        held, self._held = self._held or (none, none, none, none, np.empty(0, np.float32)), None
        return self._joined(*held)

    def _joined(
        self, rows: IntArray, neighbours: IntArray, number: IntArray, mirrored: IntArray, weight: NDArray[np.float32]
    ) -> "tuple[IntArray, IntArray, NDArray[np.uint16], NDArray[np.float32]]":
        starts = starts_of_groups(rows, neighbours, number)
        edge = np.repeat(np.arange(starts.size), np.diff(starts, append=rows.size))
        given = np.bincount(edge, mirrored == 0, starts.size) > 0
        self.num_given += int(given.sum())
        self._num_both += int((given & (np.bincount(edge, mirrored, starts.size) > 0)).sum())
        kind = number[starts].astype(np.uint16)
        if not self._weighted:
            return rows[starts], neighbours[starts], kind, np.empty(0, np.float32)
        parts = [np.bincount(edge, np.where(mirrored == side, weight, 0), starts.size) for side in (0, 1)]
        if self._is_symmetric:
            self._is_symmetric = np.array_equal(parts[0], parts[1])
        total = parts[0] + parts[1]
        with np.errstate(over="ignore"):
            sums = total.astype(np.float32)
        if not np.isfinite(sums).all():
            bad = int(np.flatnonzero(~np.isfinite(sums))[0])
            ends = f"{rows[starts][bad]} and {neighbours[starts][bad]}"
            raise InputError(
                f"weight: those between nodes {ends} add up to {total[bad]:.4g}, which float32 cannot hold"
            )
        return rows[starts], neighbours[starts], kind, sums


def starts_of_groups(*columns: IntArray) -> NDArray[np.int64]:
    """Where the values of sorted columns differ from those before."""
    changes = np.zeros(columns[0].size, bool)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.flatnonzero(changes)


def ways(types: IntArray, direction: Direction) -> Iterator[tuple[bool, IntArray, int]]:
    """The entries that edges of these types become: whether in the row of the target, the relations, if mirrored."""
    if direction == "directed":
        yield True, 2 * types, 0
        yield False, 2 * types + 1, 0
    elif direction == "both":
        yield False, types, 0
        yield True, types, 1
    else:
        yield direction == "in", types, 0

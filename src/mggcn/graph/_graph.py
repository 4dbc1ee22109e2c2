"""The graph that every other module works on: a checked adjacency matrix in compressed sparse rows (CSR).

Row ``v`` lists the neighbours N(v) of the paper: sorted, without duplicates and without ``v`` itself. Beside the rows,
a graph whose edges have types, weights or directions holds the relations to these neighbours. The arrays may be in
memory or memory-mapped; the type is the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import InitVar, dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from mggcn._io.arrays import checksum, locked, read_only
from mggcn.errors import InputError
from mggcn.graph._building import Changes, EdgeOptions, build, check_types
from mggcn.graph._checks import (
    CHUNK,
    check_arrays,
    check_bounds,
    check_graph,
    check_relation_types,
    check_relations,
    row_blocks,
)
from mggcn.graph._entries import WAYS, Direction, EdgeSchema, Entries, IntArray, starts_of_groups
from mggcn.graph._numbers import node_numbers

_THREAD_CHUNK = 1 << 20  # entries
_PREFIX = "relation_"

Keep = Callable[[IntArray, IntArray, NDArray[np.uint16] | None], NDArray[np.bool_]]


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph in compressed sparse rows, with read-only arrays: arrays that the caller could change are copied.

    Args:
        indptr: [num_nodes + 1] int64, where each row starts.
        indices: [num_stored] int32 (int64 only above 2**31 nodes), the neighbours.
        direction: ``both`` for an undirected graph (every edge is stored in both rows), ``directed`` if every edge is
            stored in both rows and ``relations`` say which way it goes, ``in`` if row v lists only the sources of the
            edges into v, ``out`` if it lists only the targets of the edges out of v.
        relations: the relations to the neighbours in each row and their weights; None if nothing is known of an edge.
        types: the names of the types of edges.
        checked: skip the checks and the copies, for arrays that are known to be valid and that nobody else writes to;
            :func:`dataclasses.replace` does not keep it.
    """

    indptr: NDArray[np.int64]
    indices: IntArray
    direction: Direction = "both"
    relations: Entries | None = None
    types: tuple[str, ...] = ()
    checked: InitVar[bool] = False

    def __post_init__(self, checked: bool) -> None:
        if not checked:
            check_arrays(self.indptr, self.indices, self.direction)
            check_types(self.types)
            check_relation_types(self.relations, self.direction, len(self.types))
        for name in ("indptr", "indices"):
            array = getattr(self, name)
            object.__setattr__(self, name, locked(array) if checked else read_only(array))
        if self.relations is not None:
            is_shared = self.relations.number is None
            entries = replace(self.relations, indptr=self.indptr, indices=self.indices) if is_shared else self.relations
            object.__setattr__(self, "relations", entries.owned(checked=checked))
        if not checked:
            check_graph(self.indptr, self.indices, self.direction)
            if self.relations is not None:
                check_relations(self.relations, self.indptr, self.indices, self.direction, len(self.types))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # copies and unpickled arrays can be written to
        self.__post_init__(checked=True)

    def check_bounds(self) -> None:
        """Raise InputError unless all rows and neighbours exist, which kernels rely on; cheap, for mapped files."""
        check_types(self.types)
        check_relation_types(self.relations, self.direction, len(self.types))
        check_bounds(Entries(self.indptr, self.indices), self.num_nodes, 1)
        if self.relations is not None:
            check_bounds(self.relations, self.num_nodes, len(self.schema.relations))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that make up the graph, by name, as :meth:`from_arrays` takes them."""
        found: dict[str, NDArray[Any]] = {"indptr": self.indptr, "indices": self.indices}
        if self.relations is not None:
            shared = () if self.relations.number is not None else ("indptr", "indices")
            parts = self.relations.arrays().items()
            found |= {_PREFIX + name: array for name, array in parts if name not in shared}
        return found

    @classmethod
    def from_arrays(
        cls,
        arrays: Mapping[str, NDArray[Any]],
        direction: Direction = "both",
        types: Sequence[str] = (),
        *,
        checked: bool = False,
    ) -> "Graph":
        """The graph that these arrays of :meth:`arrays` make up."""
        indptr, indices = arrays["indptr"], arrays["indices"]
        parts = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
        relations = Entries(**{"indptr": indptr, "indices": indices, **parts}) if parts else None
        return cls(indptr, indices, direction, relations, tuple(types), checked=checked)

    @property
    def checksums(self) -> dict[str, str]:
        """The checksum of each array."""
        return {name: checksum(array) for name, array in self.arrays().items()}

    @classmethod
    def from_edges(
        cls,
        source: ArrayLike,
        target: ArrayLike,
        num_nodes: int,
        *,
        direction: Direction = "both",
        weight: ArrayLike | None = None,
        edge_type: ArrayLike | None = None,
        types: Sequence[str] = (),
    ) -> "Graph":
        """Build a graph from [E] end points; removes self-loops and joins duplicates.

        Args:
            source: of each edge.
            target: of each edge.
            num_nodes: the number of nodes.
            direction: ``both`` makes the edges symmetric, ``directed`` keeps which way each goes; see :class:`Graph`.
            weight: [E] weights of 0 or more, 0 for no edge; those of parallel edges are added, also those of an
                undirected edge's two directions unless all edges are given twice, with one weight.
            edge_type: [E] the type of each edge, a number; edges of different types are not parallel.
            types: the names of the types; their numbers by default.
        """
        return cls.from_edges_counted(
            source, target, num_nodes, direction=direction, weight=weight, edge_type=edge_type, types=types
        )[0]

    @classmethod
    def from_edges_counted(
        cls, source: ArrayLike, target: ArrayLike, num_nodes: int, **options: Unpack[EdgeOptions]
    ) -> "tuple[Graph, Changes]":
        """Return the graph of :meth:`from_edges`, and how many edges were removed, joined and reversed.

        The two directions of an undirected edge are no duplicates of each other.
        """
        rows, names, changes = build(source, target, num_nodes, **options)
        direction = options.get("direction", "both")
        return cls(rows.indptr, rows.indices, direction, rows.relations, names, checked=True), changes

    @property
    def num_nodes(self) -> int:
        """The number of nodes, isolated ones included."""
        return self.indptr.size - 1

    @property
    def num_stored(self) -> int:
        """The number of stored neighbours: twice the edges of an undirected graph."""
        return self.indices.size

    @property
    def num_edges(self) -> int:
        """The number of edges: an undirected edge counts once, and edges of different types or directions apart."""
        entries = self.num_stored if self.relations is None else self.relations.indices.size
        return entries // 2 if self.is_symmetric else entries

    @property
    def is_symmetric(self) -> bool:
        """Whether a node is a neighbour of all its neighbours."""
        return self.direction in ("both", "directed")

    @property
    def schema(self) -> EdgeSchema:
        """What is known of each edge."""
        is_weighted = self.relations is not None and self.relations.weight is not None
        return EdgeSchema(self.direction == "directed", is_weighted, self.types)

    @property
    def _num_ways(self) -> int:
        """The relations of each type."""
        return len(WAYS) if self.direction == "directed" else 1

    @cached_property
    def degrees(self) -> NDArray[np.int64]:
        """[num_nodes] neighbours of each node; where rows list one direction only, incoming and outgoing edges."""
        stored = np.diff(self.indptr)
        if self.is_symmetric:
            return stored
        return stored + np.bincount(self.indices, minlength=self.num_nodes)

    @property
    def type_counts(self) -> list[int]:
        """The number of edges of each type."""
        counts = np.zeros(max(len(self.types), 1) * len(WAYS), np.int64)
        for part in self._relation_chunks("number"):
            counts += np.bincount(part, minlength=counts.size)
        sums = counts[: len(self.types) * self._num_ways].reshape(-1, self._num_ways).sum(axis=1)
        return [int(count) // (2 if self.is_symmetric else 1) for count in sums]

    @property
    def weight_range(self) -> tuple[float, float, float] | None:
        """The sum of the weights of all edges, the least and the largest; None without weights or edges."""
        parts = [
            (part.sum(dtype=np.float64), part.min(), part.max())
            for part in self._relation_chunks("weight")
            if part.size
        ]
        if not parts:
            return None
        sums, least, largest = zip(*parts, strict=True)
        return float(sum(sums)) / (2 if self.is_symmetric else 1), float(min(least)), float(max(largest))

    def _relation_chunks(self, name: str) -> Iterator[NDArray[Any]]:
        """An array of the relations, some entries at a time; nothing if it is not there."""
        arrays = {} if self.relations is None else self.relations.arrays()
        if name in arrays:
            yield from (arrays[name][start : start + CHUNK] for start in range(0, arrays[name].size, CHUNK))

    def row(self, node: int) -> IntArray:
        """The neighbours of one node."""
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def relations_of(self, node: int) -> "Entries":
        """The relations in the row of one node."""
        entries = self.relations if self.relations is not None else Entries(self.indptr, self.indices)
        return entries.rows(node, node + 1)

    def neighbour_weights(self, start: int = 0, stop: int | None = None) -> NDArray[np.float32]:
        """The weight of each neighbour in rows start … stop - 1, the sum over the edges of all types and both ways.

        It is the same in both rows of an edge, to the last bit.
        """
        stop = self.num_nodes if stop is None else stop
        if self.relations is None:
            return np.ones(int(self.indptr[stop] - self.indptr[start]), np.float32)
        if self.relations.number is None:
            return self.relations.rows(start, stop).weights()
        parts = [np.empty(0, np.float32)]
        for low, high in row_blocks(self.relations.indptr[start : stop + 1]):
            block = self.relations.rows(start + low, start + high)
            if block.number is None or not block.number.size:
                continue
            # both ways of each type first: the other row has them in the other order, and a + b is b + a
            of_type = starts_of_groups(block.row_numbers(), block.indices, block.number // self._num_ways)
            sums = np.add.reduceat(block.weights(np.float64), of_type)
            first = starts_of_groups(block.row_numbers()[of_type], block.indices[of_type])
            parts.append(np.add.reduceat(sums, first).astype(np.float32))
        return np.concatenate(parts)

    def matrix(self, relations: Sequence[int] | None = None) -> csr_array:
        """[num_nodes, num_nodes] float32: the sums of the weights of the edges of some relations, or of all."""
        shape = (self.num_nodes, self.num_nodes)
        entries = self.relations
        wanted = None if entries is None else entries.wanted(relations)
        if entries is None or wanted is None:
            return csr_array((self.neighbour_weights(), self.indices, self.indptr), shape=shape)
        ends = np.zeros(wanted.size + 1, np.int64)
        np.cumsum(wanted, out=ends[1:])
        matrix = csr_array((entries.weights()[wanted], entries.indices[wanted], ends[entries.indptr]), shape=shape)
        matrix.sum_duplicates()
        return matrix

    def subgraph(self, nodes: ArrayLike) -> "Graph":
        """The graph of all nodes with only the edges between ``nodes``, numbers or a mask; others become isolated."""
        return self._filtered(self._between(nodes))

    def subgraph_parts(self, nodes: ArrayLike) -> Iterator[dict[str, NDArray[Any]]]:
        """The arrays of :meth:`subgraph`, some rows at a time; the 0 before the end of the first row is left out."""
        return self._parts(self._between(nodes), map)

    def towards(self, end: Literal["in", "out"]) -> "Graph":
        """The graph whose rows list only the edges of a directed graph into, or out of, each node; types are kept."""
        return self._filtered(self._of_way(end), end)

    def parts_towards(self, end: Literal["in", "out"]) -> Iterator[dict[str, NDArray[Any]]]:
        """The arrays of :meth:`towards`, some rows at a time, as in :meth:`subgraph_parts`."""
        return self._parts(self._of_way(end), map, end)

    def with_types(self, types: Sequence[str]) -> "Graph":
        """The same graph with types numbered as in ``types``, which names all of its own, and perhaps more."""
        entries, ways = self.relations, self._num_ways
        if entries is None or entries.number is None:
            raise InputError("types: the edges of this graph have none")
        position = np.array([list(types).index(name) for name in self.types], np.int64)
        number = (position[entries.number // ways] * ways + entries.number % ways).astype(np.uint16)
        arrays = {**self.arrays(), _PREFIX + "number": number}
        if (np.diff(position) < 0).any():
            order = np.lexsort((number, entries.indices, entries.row_numbers()))
            arrays |= {name: arrays[name][order] for name in (_PREFIX + "number", _PREFIX + "weight") if name in arrays}
        return Graph.from_arrays(arrays, self.direction, types, checked=True)

    def _between(self, nodes: ArrayLike) -> Keep:
        member = np.zeros(self.num_nodes, bool)
        member[node_numbers(nodes, self.num_nodes)] = True
        return lambda rows, neighbours, _: member[rows] & member[neighbours]

    def _of_way(self, end: Literal["in", "out"]) -> Keep:
        if self.direction != "directed":
            raise InputError(
                f"direction: edges {end} of nodes need a directed graph, but this one is {self.direction!r}"
            )
        way = WAYS.index(end)
        return lambda _rows, _neighbours, number: number % 2 == way  # type: ignore[operator,return-value]

    def _filtered(self, keep: Keep, end: Literal["in", "out"] | None = None) -> "Graph":
        first = {name: np.zeros(1, np.int64) for name in self.arrays() if name.endswith("indptr")}
        with ThreadPoolExecutor() as pool:
            parts = [first, *self._parts(keep, pool.map, end, _THREAD_CHUNK)]
        names = parts[-1] if len(parts) > 1 else self.arrays()
        empty = {name: array[:0] for name, array in self.arrays().items()}
        arrays = {
            name: np.concatenate([part[name] if name in part else empty[name] for part in parts]) for name in names
        }
        return Graph.from_arrays(arrays, end or self.direction, self.types, checked=True)

    def _parts(
        self, keep: Keep, run: Callable[..., Any], end: Literal["in", "out"] | None = None, most: int = CHUNK
    ) -> Iterator[dict[str, NDArray[Any]]]:
        """The arrays of a graph with only some entries; ``run`` maps the work over blocks of rows."""
        totals = {"indptr": 0, _PREFIX + "indptr": 0}
        entries = self.relations if self.relations is not None else Entries(self.indptr, self.indices)
        for part in run(partial(self._part, keep, entries, end), row_blocks(entries.indptr, most)):
            for name in totals.keys() & part.keys():
                part[name] += totals[name]
                totals[name] = int(part[name][-1])
            yield part

    def _part(
        self, keep: Keep, entries: Entries, end: Literal["in", "out"] | None, block: tuple[int, int]
    ) -> dict[str, NDArray[Any]]:
        """The arrays of a block of rows with only some entries; rows end where they do in the block."""
        found = entries.rows(*block)
        rows = found.row_numbers()
        kept = keep(rows + block[0], found.indices, found.number)
        rows, neighbours = rows[kept], found.indices[kept]
        ends = np.bincount(rows, minlength=block[1] - block[0]).cumsum()
        weight = {} if found.weight is None else {_PREFIX + "weight": found.weight[kept]}
        if found.number is None:
            return {"indptr": ends, "indices": neighbours, **weight}
        first, number = starts_of_groups(rows, neighbours), found.number[kept]
        adjacency = {"indptr": np.bincount(rows[first], minlength=ends.size).cumsum(), "indices": neighbours[first]}
        if end is not None and not self.types:
            return adjacency | weight
        number = number if end is None else number // 2
        return (
            adjacency | {_PREFIX + "indptr": ends, _PREFIX + "indices": neighbours, _PREFIX + "number": number} | weight
        )

    def row_blocks(self, most: int = CHUNK) -> Iterator[tuple[int, int]]:
        """Ranges of all rows, each of at most ``most`` rows and entries; a row with more entries is a range."""
        return row_blocks(self.indptr, most)

    def edges(self) -> tuple[IntArray, IntArray]:
        """The (row, column) end points of every stored neighbour, each [num_stored]."""
        rows = np.repeat(np.arange(self.num_nodes, dtype=self.indices.dtype), np.diff(self.indptr))
        return rows, self.indices

"""NetworkX graphs as data sets: node attributes are read as the columns of a node table."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mggcn.data._columns import Chunk, shown
from mggcn.data._dataset import Dataset
from mggcn.data._objects import require
from mggcn.data._tables import TableColumns as TableColumns
from mggcn.data._tables import from_tables
from mggcn.errors import InputError, prefix_errors, unknown
from mggcn.graph import Direction

if TYPE_CHECKING:
    import networkx

_ID, _SOURCE, _TARGET = "(key)", "(source)", "(target)"  # no attribute is called so
_DEFAULTS = ("label", "split")  # only these may be missing from all nodes


def from_networkx(
    graph: "networkx.Graph",
    columns: TableColumns,
    name: str,
    seed: int | None,
    direction: Direction | None,
    inductive: bool,
    source: str,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_networkx`."""
    try:
        import networkx  # noqa: F401
    except ImportError:
        raise InputError("from_networkx needs NetworkX: pip install 'mggcn[networkx]'") from None
    require(graph, "networkx.Graph", "from_networkx takes a graph of NetworkX")
    if not graph.is_directed():
        if direction not in (None, "both"):
            raise InputError(f"{name}: direction {direction!r} needs a DiGraph; the edges of this graph have none")
        direction = "both"
    with prefix_errors(name):
        keys = list(graph.nodes)
        if not keys:
            raise InputError("the graph has no nodes")
        attributes = _attributes(graph)
        for attribute in (columns.label, columns.split):
            if attribute not in attributes and attribute not in _DEFAULTS:
                raise unknown("node attribute", attribute, attributes)
        for key, value in zip(keys, attributes.get(columns.label, ()), strict=False):
            if value is not None and not np.isscalar(value):
                raise InputError(
                    f"{columns.label} of node {key!r}: {shown(value)} looks like several labels of one node"
                )
        expanded = {attribute: _expanded(attribute, values, keys) for attribute, values in attributes.items()}
        features = columns.features
        if not isinstance(features, str):
            for attribute in features:
                if attribute not in attributes:
                    raise unknown("node attribute", attribute, attributes)
            features = [column for attribute in features for column in expanded[attribute]]
        nodes: dict[str, list[Any]] = {_ID: keys}
        for parts in expanded.values():
            if shared := nodes.keys() & parts:
                raise InputError(f"two features are called {min(shared)!r}")
            nodes |= parts
        ends = [[str(edge[side]) for edge in graph.edges()] for side in (0, 1)]
        values_of_edges: dict[str, list[Any]] = {
            str(attribute): [] for *_, data in graph.edges(data=True) for attribute in sorted(data)
        }
        tables = (
            _Table("the graph", {_SOURCE: ends[0], _TARGET: ends[1], **values_of_edges}, []),
            _Table("nodes", nodes, keys),
        )
        wanted = replace(columns, id=_ID, source=_SOURCE, target=_TARGET, features=features)
        data = from_tables(
            *tables,
            wanted,
            name=name,
            seed=seed,
            direction=direction,
            source=source,
            lists_edges_once=False,
        )
    is_numbered = keys == list(range(len(keys)))
    return replace(
        data, node_ids=None if is_numbered else data.node_ids, id_name="id", inductive=inductive, checked=True
    )


@dataclass(frozen=True)
class _Table:
    """Columns in memory; ``keys`` are those of the nodes, for messages."""

    name: str
    columns: Mapping[str, Sequence[Any]]
    keys: Sequence[Any]

    def __str__(self) -> str:
        return self.name

    @property
    def names(self) -> Sequence[str]:
        """The columns."""
        return list(self.columns)

    @property
    def categorical(self) -> Sequence[str]:
        """None: attributes have no type that says so."""
        return ()

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """All rows."""
        columns = {column: self.columns[column] for column in wanted}
        yield Chunk(columns, len(columns[wanted[0]]), lambda row: f"node {self.keys[row]!r}" if self.keys else "edge")


def _attributes(graph: "networkx.Graph") -> dict[str, list[Any]]:
    """The attributes of all nodes: [num_nodes] values each, None where a node has no such attribute."""
    nodes = [data for _, data in graph.nodes(data=True)]
    names = dict.fromkeys(name for data in nodes for name in data)
    for name in names:
        if not isinstance(name, str):
            raise InputError(f"node attribute {name!r}: its name must be text")
    return {name: [data.get(name) for data in nodes] for name in names}


def _expanded(attribute: str, values: list[Any], keys: list[Any]) -> dict[str, list[Any]]:
    """The column of an attribute, or several columns if it is a list of numbers at each node, such as an embedding."""
    lengths = [len(value) if isinstance(value, list | tuple | np.ndarray) else -1 for value in values]
    width = max(lengths)
    if width < 0:
        return {attribute: values}
    for key, value, length in zip(keys, values, lengths, strict=True):
        if length not in (width, -1) or (length < 0 and value is not None) or np.ndim(value) > 1:
            raise InputError(f"{attribute} of node {key!r} is {value!r}, not a list of {width} numbers")
    rows = [[None] * width if value is None else list(value) for value in values]
    return {f"{attribute}_{index}": [row[index] for row in rows] for index in range(width)}

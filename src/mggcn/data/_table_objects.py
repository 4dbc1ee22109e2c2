"""pandas data frames and NetworkX graphs as data sets, read like tables of files.

Neither library is imported here: whoever has such an object has imported it.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from mggcn.data._checks import check_kind
from mggcn.data._columns import Cells, Chunk
from mggcn.data._dataset import Dataset
from mggcn.data._edge_columns import NO_WEIGHTS
from mggcn.data._table_files import InputTable
from mggcn.data._tables import TableColumns, from_tables
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction

if TYPE_CHECKING:
    import networkx
    from pandas import DataFrame, Series

_NO_ID = "nodes has no column 'id', and id_column names no other"
_NUMBERS = {"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}
_ID, _SOURCE, _TARGET = "(key)", "(source)", "(target)"  # no attribute is called so


def _in_memory(
    name: str,
    names: Sequence[str],
    num_rows: int,
    cells: Callable[[str], Cells],
    at: Callable[[int], str],
    categorical: Sequence[str] = (),
) -> InputTable:
    """A table of one chunk: ``cells`` returns those of a column, and ``at`` what messages call a row."""

    def read(wanted: Sequence[str]) -> list[Chunk]:
        return [Chunk({column: cells(column) for column in wanted}, num_rows, at)]

    return InputTable(name, name, names, read, categorical)


def from_pandas(
    edges: "DataFrame",
    nodes: "DataFrame | None",
    columns: TableColumns,
    name: str,
    seed: int | None,
    direction: Direction | None,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_pandas`."""
    tables = _frame(edges, "edges"), None if nodes is None else _frame(nodes, "nodes", columns.id)
    index: Any = nodes.index if nodes is not None and columns.id not in nodes.columns else None
    is_assumed = index is not None and index.name != columns.id
    is_row_number = is_assumed and index.name is None and index.dtype.kind in "iu"  # as pandas gives them
    return from_tables(
        *tables,
        columns,
        name=name,
        seed=seed,
        direction=direction,
        ids="" if index is None else f"index ({_NO_ID})" if is_assumed else f"index {index.name!r}",
        notes=[f"the ids are the numbers in the index: {_NO_ID}"] if is_row_number else (),
    )


def _frame(frame: Any, name: str, id_column: str = "") -> InputTable:
    """A data frame as a table; its index is a column, too, if that holds the ids."""
    check_kind(frame, f"from_pandas takes data frames of pandas as {name}", "pandas.DataFrame")
    names = list(frame.columns)
    for column in names:
        if not isinstance(column, str):
            raise InputError(f"{name}: column {column!r} must have a text as its name")
        if names.count(column) > 1:
            raise InputError(f"{name}: column {column!r} is there twice")
    if id_column not in names and id_column in ("id", frame.index.name):
        names.insert(0, id_column)
    return _in_memory(
        name,
        names,
        len(frame),
        cells=lambda column: _cells(frame[column] if column in frame.columns else frame.index.to_series()),
        at=lambda row: f"{name}.loc[{frame.index[row]!r}]",
        categorical=[column for column, kind in frame.dtypes.items() if str(kind) == "category"],
    )


def _cells(column: "Series") -> Cells:
    """An array of numbers, booleans or times if nothing is lost by it, else Python objects with None if empty."""
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if isinstance(dtype, np.dtype) and kind in "iufbM":
        return np.asarray(column.to_numpy())
    if kind == "M" and getattr(dtype, "tz", None) is not None:
        return np.asarray(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    if kind in _NUMBERS and not column.isna().any():
        return np.asarray(column, dtype=_NUMBERS[kind])
    objects: list[Any] = column.astype(object).where(column.notna(), None).tolist()
    return objects


def from_networkx(
    graph: "networkx.Graph",
    columns: TableColumns,
    name: str,
    seed: int | None,
    direction: Direction | None,
    inductive: bool,
    source: str,
    *,
    weights: bool,
) -> Dataset:
    """See :meth:`mggcn.data.Dataset.from_networkx`."""
    check_kind(graph, "from_networkx takes a graph of NetworkX", "networkx.Graph")
    if not graph.is_directed():
        if direction not in (None, "both"):
            raise InputError(f"{name}: direction {direction!r} needs a DiGraph; the edges of this graph have none")
        direction = "both"
    keys = list(graph.nodes)
    rows = [data for _, data in graph.nodes(data=True)]
    edges = list(graph.edges(data=True))
    cells: dict[str, list[Any]] = {
        column: [str(edge[side]) for edge in edges] for side, column in enumerate((_SOURCE, _TARGET))
    }
    names = list(dict.fromkeys(str(attribute) for *_, values in edges for attribute in sorted(values)))
    cells |= {key: [values.get(key) for *_, values in edges] for key in (columns.weight, columns.kind) if key in names}
    if not weights or (columns.weight in cells and _are_ones(cells[columns.weight])):
        names = [column for column in names if column != columns.weight or column == columns.kind]
        columns = replace(columns, weight=NO_WEIGHTS)
    with prefix_errors(name):
        expanded = {}
        for attribute in dict.fromkeys(attribute for row in rows for attribute in row):
            if not isinstance(attribute, str):
                raise InputError(f"node attribute {attribute!r}: its name must be text")
            values = [row.get(attribute) for row in rows]
            is_feature = attribute not in (columns.label, columns.split)
            expanded[attribute] = _expanded(attribute, values, keys) if is_feature else {attribute: values}
        features = columns.features
        if not isinstance(features, str):
            features = [column for attribute in features for column in expanded.get(attribute, [attribute])]
        nodes: dict[str, list[Any]] = {_ID: keys}
        for parts in expanded.values():
            if shared := nodes.keys() & parts:
                raise InputError(f"two features are called {min(shared)!r}")
            nodes |= parts
        data = from_tables(
            _in_memory(
                "the graph",
                [_SOURCE, _TARGET, *names],
                len(edges),
                cells.__getitem__,
                lambda row: f"edge {edges[row][:2]!r}",
            ),
            _in_memory("nodes", list(nodes), len(keys), nodes.__getitem__, lambda row: f"node {keys[row]!r}"),
            replace(columns, id=_ID, source=_SOURCE, target=_TARGET, features=features),
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


def _are_ones(values: Sequence[Any]) -> bool:
    """Whether these can be left out as weights, because all of them are the number 1."""
    return all(isinstance(value, int | float | np.number) and value == 1 for value in values)


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

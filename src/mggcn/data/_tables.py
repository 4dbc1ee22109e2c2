"""A data set from a table of edges and a table of nodes, whatever holds the tables.

Nodes keep the order of their table; predictions list them by their ids.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mggcn.data._cells import text_of
from mggcn.data._columns import Chunk, Encoder, FeatureTable
from mggcn.data._dataset import Dataset
from mggcn.data._from_arrays import from_arrays, ignored_edge_data
from mggcn.data._labels import Codes, is_integer, read_labels, read_parts
from mggcn.data._split import NO_SPLIT, UNLABELLED
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction

FeatureChoice = Literal["all", "none", "structural"] | Sequence[str]

LABEL, SPLIT = "label", "split"


class Source(Protocol):
    """A table that can be read from its start more than once; as text, it is what messages call it."""

    @property
    def names(self) -> Sequence[str]:
        """The columns."""

    @property
    def categorical(self) -> Sequence[str]:
        """The columns whose type says that their values are categories."""

    @property
    def name(self) -> str:
        """A short name, for the data set's source."""

    def chunks(self, wanted: Sequence[str]) -> Iterator[Chunk]:
        """The rows of the wanted columns."""


@dataclass(frozen=True)
class TableColumns:
    """Which columns to read, see :func:`mggcn.data._read_tables.read_tables`."""

    id: str = "id"
    source: str = "source"
    target: str = "target"
    label: str = LABEL
    split: str = SPLIT
    features: FeatureChoice = "all"
    categories: Sequence[str] = ()


def from_tables(
    edges: Source,
    nodes: Source | None,
    columns: TableColumns,
    *,
    name: str,
    seed: int | None,
    direction: Direction | None,
    stacklevel: int,
    source: str = "",
    ids: str = "",
    notes: Sequence[str] = (),
    lists_edges_once: bool = True,
) -> Dataset:
    """Build a data set; without ``nodes`` its nodes are the ends of the edges, in the order they appear.

    ``stacklevel`` is that of warnings; 3 is the caller of the function that calls this one. ``source`` is one line on
    where the data came from, the names of the tables if empty. ``ids`` says where the ids are, a column if empty.
    ``lists_edges_once`` is that of ``from_arrays``.
    """
    table = _read_nodes(nodes, columns) if nodes is not None else _without_nodes(columns)
    ids = ids or f"column {columns.id!r}"
    edge_index = _read_edges(edges, columns, table.numbers, None if nodes is None else ids)
    if not table.numbers:
        raise InputError(f"{nodes or edges}: no nodes")
    keys = list(table.numbers)
    x = np.empty((len(keys), 0), np.float32) if table.features == "none" else None
    others = [column for column in edges.names if column not in (columns.source, columns.target)]
    with prefix_errors(str(nodes or edges)):
        y, classes, unusual = read_labels(table.labels) if nodes else (np.full(len(keys), UNLABELLED, np.int64), (), [])
        parts, unlabelled = read_parts(table.parts, y) if classes else (NO_SPLIT, None)
        if unlabelled is not None:
            raise unlabelled_part(keys[unlabelled[0]], unlabelled[1])
        return from_arrays(
            name,
            len(keys),
            edge_index,
            table.x or x,
            y=y,
            classes=classes,
            parts=parts,
            seed=seed,
            direction=direction,
            lists_edges_once=lists_edges_once,
            source=source or (f"{nodes.name} and {edges.name}" if nodes else edges.name),
            notes=[*ignored_edge_data(others, edges.name), *notes, *unusual],
            stacklevel=stacklevel + 1,
            node_ids=np.array(keys, dtype=np.int64 if all(map(is_integer, keys)) else str),
            id_name=columns.id,
        )


@dataclass
class _NodeTable:
    """The node table: the label and part of each node, its features, and node numbers by id.

    ``features`` says what they are if no column is one: ``none`` or ``structural``.
    """

    labels: Codes
    parts: Codes
    features: str
    numbers: dict[str, int] = field(default_factory=dict)
    x: FeatureTable | None = None


def _read_nodes(nodes: Source, columns: TableColumns) -> _NodeTable:
    features, kind, optional, encoder = node_columns(nodes, columns)
    table = _NodeTable(Codes.of_labels(columns.label), Codes.of_parts(columns.split), kind)
    for chunk in nodes.chunks([columns.id, *optional, *features]):
        _take_ids(chunk, columns.id, table.numbers)
        table.labels.add(chunk)
        table.parts.add(chunk)
        encoder.survey(chunk)
    if features:
        table.x = encoder.encode(nodes.chunks(features))
    return table


def node_columns(nodes: Source, columns: TableColumns) -> tuple[Sequence[str], str, list[str], Encoder]:
    """The feature columns of a node table, what to do without any, the other columns to read, and the encoder."""
    others = (columns.id, columns.label, columns.split)
    features, kind = chosen_features(columns, [name for name in nodes.names if name not in others])
    # A column that is only assumed to be there may be missing.
    optional = [
        column
        for column, default in ((columns.label, LABEL), (columns.split, SPLIT))
        if column in nodes.names or column != default
    ]
    categories = [*columns.categories, *(name for name in features if name in nodes.categorical)]
    return features, kind, optional, Encoder(features, categories)


def _without_nodes(columns: TableColumns) -> _NodeTable:
    return _NodeTable(Codes.of_labels(columns.label), Codes.of_parts(columns.split), features_without_nodes(columns))


def features_without_nodes(columns: TableColumns) -> str:
    """What the features of an edge list are, ``none`` or ``structural``; InputError if columns of nodes are named."""
    for what, name, default in (("label", columns.label, LABEL), ("split", columns.split, SPLIT)):
        if name != default:
            raise InputError(f"{what} column {name!r}: there is no node table")
    features, kind = chosen_features(columns, [])
    Encoder(features, columns.categories)  # raises InputError if there are any
    return kind


def chosen_features(columns: TableColumns, names: Sequence[str]) -> tuple[Sequence[str], str]:
    """The columns that are features, and what to do if there are none: ``none`` or ``structural``."""
    if isinstance(columns.features, str):
        if columns.features not in ("all", "none", "structural"):
            raise InputError(f"features: {columns.features!r} is not all, none, structural or a list of columns")
        return (names if columns.features == "all" else []), "none" if columns.features == "none" else "structural"
    for name in columns.features:
        if columns.features.count(name) > 1:
            raise InputError(f"features: {name!r} is there twice")
        if name not in names:
            raise InputError(f"features: {name!r} is not one of the columns {', '.join(map(repr, names)) or '(none)'}")
    return columns.features, "none"


def _take_ids(chunk: Chunk, column: str, numbers: dict[str, int]) -> None:
    for row, key in enumerate(texts_of(chunk, column)):
        if not key:
            raise InputError(f"{chunk.at(row)}: column {column!r} is empty")
        if key in numbers:
            raise InputError(f"{chunk.at(row)}: {column} {key!r} is listed twice")
        numbers[key] = len(numbers)


def _read_edges(edges: Source, columns: TableColumns, numbers: dict[str, int], ids: str | None) -> NDArray[np.int64]:
    """[2, E] the node numbers of the ends; ids that ``numbers`` does not have are added if ``ids`` is None."""
    names = (columns.source, columns.target)
    parts, unknown, first = [np.empty((2, 0), np.int64)], 0, ("", "", "")
    for chunk in edges.chunks(names):
        texts = [texts_of(chunk, column) for column in names]
        if ids is None:
            for key in (key for pair in zip(*texts, strict=True) for key in pair if key):
                numbers.setdefault(key, len(numbers))
        ends = np.array([[numbers.get(key, -1) for key in keys] for keys in texts], np.int64)
        missing = ends < 0
        if missing.any():
            if ids is None:
                side, row = np.argwhere(missing)[0].tolist()
                raise InputError(f"{chunk.at(row)}: {names[side]} is empty")
            row, side = np.argwhere(missing.T)[0].tolist()
            first = first if unknown else (chunk.at(row), names[side], texts[side][row])
            unknown += int(missing.sum())
        parts.append(ends)
    edge_index = np.concatenate(parts, axis=1)
    if unknown:
        raise unknown_ends(*first, unknown, edge_index.size, str(ids))
    return edge_index


def unknown_ends(where: str, column: str, key: str, count: int, total: int, ids: str) -> InputError:
    """The error for ends of edges that are not in the node table: the first one, how many there are of all ends."""
    return InputError(
        f"{where}: {column} {key!r} is not an id of the node table; {count:,} of {total:,} ends of edges "
        f"({count / total:.1%}) are not in its {ids}"
    )


def unlabelled_part(node: str, part: str) -> InputError:
    """The error for a node in a part of the split that has no label."""
    return InputError(f"node {node!r} is in split {part} but has no label")


def texts_of(chunk: Chunk, column: str) -> list[str]:
    """The values of a column as text, empty if the table has no such column."""
    values: Any = chunk.columns.get(column)
    if values is None:
        return [""] * chunk.num_rows
    return [text_of(value) for value in (values.tolist() if _is_plain(values) else values)]


def _is_plain(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "iufb"

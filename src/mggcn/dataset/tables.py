"""A data set from a table of edges and a table of nodes, whatever holds the tables.

Nodes keep the order of their table; predictions list them by their ids.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset.arrays import from_arrays, ignored_edge_data
from mggcn.dataset.cells import text_of
from mggcn.dataset.columns import Chunk, Encoder, FeatureTable
from mggcn.dataset.dataset import Dataset
from mggcn.dataset.split import NO_SPLIT, PARTS, UNLABELLED
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
    """Which columns to read, see :func:`mggcn.datasets.table.read_tables`."""

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
    lists_edges_once: bool = True,
) -> Dataset:
    """Build a data set; without ``nodes`` its nodes are the ends of the edges, in the order they appear.

    ``stacklevel`` is that of warnings; 3 is the caller of the function that calls this one. ``source`` is one line on
    where the data came from, the names of the tables if empty. ``lists_edges_once`` is that of ``from_arrays``.
    """
    table = _read_nodes(nodes, columns) if nodes is not None else _without_nodes(columns)
    edge_index = _read_edges(edges, columns, table.numbers, is_open=nodes is None)
    if not table.numbers:
        raise InputError(f"{nodes or edges}: no nodes")
    ids = list(table.numbers)
    x = np.empty((len(ids), 0), np.float32) if table.features == "none" else None
    classes, y = _classes(table.labels or [""] * len(ids))
    others = [column for column in edges.names if column not in (columns.source, columns.target)]
    with prefix_errors(str(nodes or edges)):
        return from_arrays(
            name,
            len(ids),
            edge_index,
            table.x or x,
            y=y,
            classes=classes,
            parts=_parts(table, y) if classes else NO_SPLIT,
            seed=seed,
            direction=direction,
            lists_edges_once=lists_edges_once,
            source=source or (f"{nodes.name} and {edges.name}" if nodes else edges.name),
            notes=[*ignored_edge_data(others, edges.name), *minus_one_note(classes)],
            stacklevel=stacklevel + 1,
            node_ids=np.array(ids, dtype=np.int64 if all(map(is_integer, ids)) else str),
            id_name=columns.id,
        )


@dataclass
class _NodeTable:
    """The node table: node numbers by id, the label and part of each node, and its features.

    ``features`` says what they are if no column is one: ``none`` or ``structural``.
    """

    numbers: dict[str, int] = field(default_factory=dict)
    labels: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    features: str = "structural"
    x: FeatureTable | None = None


def _read_nodes(nodes: Source, columns: TableColumns) -> _NodeTable:
    features, kind, optional, encoder = node_columns(nodes, columns)
    table = _NodeTable(features=kind)
    for chunk in nodes.chunks([columns.id, *optional, *features]):
        _take_ids(chunk, columns.id, table.numbers)
        table.labels += texts_of(chunk, columns.label)
        table.parts += _take_parts(chunk, columns.split)
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
    return _NodeTable(features=features_without_nodes(columns))


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


def _take_parts(chunk: Chunk, column: str) -> list[str]:
    parts = texts_of(chunk, column)
    for row, part in enumerate(parts):
        if part and part not in PARTS:
            raise InputError(f"{chunk.at(row)}: column {column!r}: {part!r} is not one of {', '.join(PARTS)} or empty")
    return parts


def _read_edges(edges: Source, columns: TableColumns, numbers: dict[str, int], is_open: bool) -> NDArray[np.int64]:
    """[2, E] the node numbers of the ends; ids that ``numbers`` does not have are added if ``is_open``, else errors."""
    parts = [np.empty((2, 0), np.int64)]
    for chunk in edges.chunks([columns.source, columns.target]):
        texts = [texts_of(chunk, column) for column in (columns.source, columns.target)]
        if is_open:
            for key in (key for pair in zip(*texts, strict=True) for key in pair if key):
                numbers.setdefault(key, len(numbers))
        ends = []
        for column, keys in zip((columns.source, columns.target), texts, strict=True):
            nodes = [numbers.get(key, -1) for key in keys]
            if -1 in nodes:
                row = nodes.index(-1)
                problem = "is empty" if is_open else f"{keys[row]!r} is not an id of the node table"
                raise InputError(f"{chunk.at(row)}: {column} {problem}")
            ends.append(nodes)
        parts.append(np.array(ends, dtype=np.int64))
    return np.concatenate(parts, axis=1)


def sorted_classes(labels: Iterable[str]) -> list[str]:
    """The different labels without the empty one, in the order of their numbers if all are numbers."""
    present = set(labels) - {""}
    return sorted(present, key=int) if all(is_integer(name) for name in present) else sorted(present)


def _classes(labels: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    names = sorted_classes(labels)
    numbers = {name: number for number, name in enumerate(names)} | {"": UNLABELLED}
    return tuple(names), np.array([numbers[label] for label in labels], dtype=np.int64)


def minus_one_note(classes: Sequence[str]) -> list[str]:
    """The note on a label that means "no label" in PyG, but is a class here."""
    is_class = len(classes) > 2 and str(UNLABELLED) in classes
    return ["the label -1 is a class; leave it empty where there is no label"] if is_class else []


def _parts(table: _NodeTable, y: NDArray[np.int64]) -> Sequence[NDArray[np.int64] | None]:
    if not any(table.parts):
        return NO_SPLIT
    part_of_node = np.array(table.parts)
    unlabelled = np.flatnonzero((part_of_node != "") & (y == UNLABELLED))
    if unlabelled.size:
        node = int(unlabelled[0])
        raise InputError(f"node {list(table.numbers)[node]!r} is in split {part_of_node[node]} but has no label")
    train, val, test = (np.flatnonzero(part_of_node == part) for part in PARTS)
    return [train, val if val.size else None, test]


def is_integer(text: str) -> bool:
    """Whether the text is an int64 in its plain form, so that nothing is lost by keeping the number."""
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 20
    return plain and str(int(text)) == text and abs(int(text)) < 2**63


def texts_of(chunk: Chunk, column: str) -> list[str]:
    """The values of a column as text, empty if the table has no such column."""
    values: Any = chunk.columns.get(column)
    if values is None:
        return [""] * chunk.num_rows
    return [text_of(value) for value in (values.tolist() if _is_plain(values) else values)]


def _is_plain(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "iufb"

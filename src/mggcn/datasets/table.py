"""A node table and an edge list, CSV or Parquet, as a data set.

Every column of the node table except id, label and split is a feature and keeps its name. Nodes keep the order of the
table; predictions list them by their ids.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.dataset import PARTS, UNLABELLED, Dataset
from mggcn.dataset.arrays import from_arrays, ignored_edge_data
from mggcn.dataset.split import NO_SPLIT
from mggcn.datasets import columns
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Direction


def read_tables(
    edges: str | Path,
    nodes: str | Path,
    *,
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    label_column: str = "label",
    split_column: str = "split",
    name: str | None = None,
    seed: int = 0,
    direction: Direction = "both",
) -> Dataset:
    """Read a data set from two tables.

    Args:
        edges: the edge list; a note says which columns other than source and target are ignored.
        nodes: the node table, one row per node.
        id_column: of ``nodes``: integers or strings, unique.
        source_column: of ``edges``: ids of ``nodes``.
        target_column: of ``edges``: ids of ``nodes``.
        label_column: of ``nodes``: class names, empty if unknown. Without this column no node is labelled.
        split_column: of ``nodes``: train, val, test or empty. Without this column the split is drawn by ``seed``.
        name: the name of the data set; the node table's file name without its ending if None.
        seed: of the split or validation part that is drawn if the table contains none.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`.
    """
    edge_file, node_file = Path(edges), Path(nodes)
    table = _read_nodes(node_file, id_column, label_column, split_column)
    edge_index = _read_edges(edge_file, source_column, target_column, table.numbers)
    classes, y = _classes(table.labels)
    ids = list(table.numbers)
    others = [name for name in columns.header(edge_file) if name not in (source_column, target_column)]
    with prefix_errors(node_file):
        return from_arrays(
            name or node_file.stem,
            len(table.numbers),
            edge_index,
            np.concatenate(table.x),
            y=y,
            classes=classes,
            parts=_parts(table, y) if classes else NO_SPLIT,
            seed=seed,
            direction=direction,
            source=f"{node_file.name} and {edge_file.name}",
            notes=ignored_edge_data(others, edge_file.name),
            node_ids=np.array(ids, dtype=np.int64 if all(map(_is_integer, ids)) else str),
            id_name=id_column,
            feature_names=tuple(table.features),
        )


@dataclass
class _NodeTable:
    """The node table: names of features, node numbers by id, and the features, label and part of each node."""

    features: list[str]
    numbers: dict[str, int] = field(default_factory=dict)
    x: list[NDArray[np.float32]] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)


def _read_nodes(path: Path, id_column: str, label_column: str, split_column: str) -> _NodeTable:
    names = columns.header(path)
    features = [name for name in names if name not in (id_column, label_column, split_column)]
    if id_column in names and not features:
        raise InputError(f"{path}: no feature columns beside {', '.join(map(repr, names))}")
    optional = [name for name in (label_column, split_column) if name in names]
    table = _NodeTable(features)
    for chunk in columns.chunks(path, [id_column, *optional, *features]):
        with prefix_errors(path):
            _take_ids(chunk, id_column, table.numbers)
            table.x.append(_take_features(chunk, features))
            table.labels += _texts(chunk, label_column)
            table.parts += _take_parts(chunk, split_column)
    if not table.numbers:
        raise InputError(f"{path}: no nodes")
    return table


def _take_ids(chunk: columns.Chunk, column: str, numbers: dict[str, int]) -> None:
    for row, key in enumerate(_texts(chunk, column)):
        if not key:
            raise InputError(f"{chunk.at(row)}: column {column!r} is empty")
        if key in numbers:
            raise InputError(f"{chunk.at(row)}: {column} {key!r} is listed twice")
        numbers[key] = len(numbers)


def _take_features(chunk: columns.Chunk, names: list[str]) -> NDArray[np.float32]:
    x = np.empty((len(chunk.positions), len(names)), dtype=np.float32)
    for index, name in enumerate(names):
        values = chunk.columns[name]
        try:
            with np.errstate(over="ignore"):
                x[:, index] = np.array(values, dtype=np.float64)
        except (ValueError, TypeError, OverflowError):
            _raise_not_a_number(chunk, name)
        if not np.isfinite(x[:, index]).all():
            row = int(np.flatnonzero(~np.isfinite(x[:, index]))[0])
            raise InputError(f"{chunk.at(row)}: column {name!r}: {_text(values[row])!r} is not a finite 32-bit number")
    return x


def _raise_not_a_number(chunk: columns.Chunk, name: str) -> None:
    for row, value in enumerate(chunk.columns[name]):
        try:
            number = float(value)
        except (ValueError, TypeError, OverflowError):
            number = math.nan
        if math.isnan(number):
            raise InputError(f"{chunk.at(row)}: column {name!r}: {value!r} is not a number") from None
    raise InputError(f"column {name!r}: not a column of numbers") from None


def _take_parts(chunk: columns.Chunk, column: str) -> list[str]:
    parts = _texts(chunk, column)
    for row, part in enumerate(parts):
        if part and part not in PARTS:
            raise InputError(f"{chunk.at(row)}: column {column!r}: {part!r} is not one of {', '.join(PARTS)} or empty")
    return parts


def _read_edges(path: Path, source: str, target: str, numbers: dict[str, int]) -> NDArray[np.int64]:
    parts = [np.empty((2, 0), np.int64)]
    for chunk in columns.chunks(path, [source, target]):
        ends = []
        for column in (source, target):
            keys = _texts(chunk, column)
            nodes = [numbers.get(key, -1) for key in keys]
            if -1 in nodes:
                row = nodes.index(-1)
                raise InputError(f"{path}: {chunk.at(row)}: {column} {keys[row]!r} is not an id of the node table")
            ends.append(nodes)
        parts.append(np.array(ends, dtype=np.int64))
    return np.concatenate(parts, axis=1)


def _classes(labels: list[str]) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    present = set(labels) - {""}
    names = sorted(present, key=int) if all(_is_integer(name) for name in present) else sorted(present)
    numbers = {name: number for number, name in enumerate(names)} | {"": UNLABELLED}
    return tuple(names), np.array([numbers[label] for label in labels], dtype=np.int64)


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


def _is_integer(text: str) -> bool:
    """Whether the text is an int64 in its plain form, so that nothing is lost by keeping the number."""
    digits = text.removeprefix("-")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 20
    return plain and str(int(text)) == text and abs(int(text)) < 2**63


def _texts(chunk: columns.Chunk, column: str) -> list[str]:
    """Return the values of a column as text, empty if the table has no such column."""
    return [_text(value) for value in chunk.columns.get(column, [""] * len(chunk.positions))]


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else "" if value is None else str(value)

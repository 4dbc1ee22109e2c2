"""A data set from a table of edges and a table of nodes, whatever holds the tables and whatever fits into memory.

There is one pass over the tables, :meth:`TableImport.read`. The numbers of ids, the graph and the features are made in
memory or, by :mod:`mggcn.data._tables_on_disk`, in files; the results are the same. Nodes keep the order of their
table; predictions list them by their ids.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mggcn.data._columns import BLOCK, Chunk, ColumnEncoding, Encoder, encoding_notes, feature_names, fill, text_of
from mggcn.data._dataset import Dataset
from mggcn.data._edge_columns import WEIGHT, WITHOUT_WEIGHTS, EdgeColumns
from mggcn.data._features import Features
from mggcn.data._folder import save
from mggcn.data._from_arrays import (
    MadeFeatures,
    all_notes,
    ignored_edge_data,
    split_and_source,
    structural,
    weights_note,
)
from mggcn.data._labels import Codes, is_integer, read_labels, read_parts
from mggcn.data._split import NO_SPLIT, PARTS, UNLABELLED
from mggcn.data._table_files import InputTable, Paths
from mggcn.errors import DataWarning, InputError, prefix_errors, warn_caller
from mggcn.graph import Changes, Direction, Graph

FeatureChoice = Literal["all", "none", "structural"] | Sequence[str]
OnRows = Callable[[str, int, int | None], None]
"""Called with a stage, the number of its rows that are done, and the number of all of them if that is known."""

LABEL, SPLIT = "label", "split"
_WITHOUT_NAME = re.compile(r"\s*|Unnamed: \d+|__index_level_\d+__")  # the latter two are how pandas names them


@dataclass(frozen=True)
class TableColumns:
    """Which columns to read, see :func:`read_tables`."""

    id: str = "id"
    source: str = "source"
    target: str = "target"
    label: str = LABEL
    split: str = SPLIT
    features: FeatureChoice = "all"
    categories: Sequence[str] = ()
    weight: str = WEIGHT
    kind: str | None = None
    without_weights: str = WITHOUT_WEIGHTS


def read_tables(
    edges: Paths,
    nodes: Paths | None = None,
    *,
    id_column: str = "id",
    source_column: str = "source",
    target_column: str = "target",
    label_column: str = "label",
    split_column: str = "split",
    features: FeatureChoice = "all",
    categories: Sequence[str] = (),
    weight_column: str = WEIGHT,
    type_column: str | None = None,
    name: str | None = None,
    seed: int = 0,
    direction: Direction | None = None,
    out: Path | None = None,
    memory: str | None = None,
    overwrite: bool = False,
    on_rows: OnRows = lambda *_: None,
) -> Dataset:
    """Read a data set from two tables, into memory or into a dataset folder.

    A table is a file (CSV or TSV, maybe with .gz; with DuckDB, which ``pip install 'mggcn[tables]'`` brings, also
    Parquet, JSON, and .zst), a pattern such as ``edges-*.csv``, or a list of these.

    Args:
        edges: the edge list; a note says which of its columns are ignored.
        nodes: the node table, one row per node. Without it the nodes are the ends of the edges, without labels.
        id_column: of ``nodes``: integers or strings, unique.
        source_column: of ``edges``: ids of ``nodes``.
        target_column: of ``edges``: ids of ``nodes``.
        label_column: of ``nodes``: class names, empty if unknown. Without this column no node is labelled.
        split_column: of ``nodes``: train, val, test or empty. Without this column the split is drawn by ``seed``.
        features: ``all``, every other column of ``nodes``, or structural features if there is none; a list of columns;
            ``structural``, see :func:`mggcn.data._structure.structural_features`; or ``none``.
        categories: feature columns whose values are categories even if they are numbers, dates, or many; text is.
        weight_column: of ``edges``: numbers of 0 or more; 0 is no edge, and the weights of parallel edges are added. A
            column of this name is used by default, and a note says so; ``none`` reads no weights. Weights that are
            all 1 are left out.
        type_column: of ``edges``: texts or numbers that name at most 255 types of edges.
        name: the name of the data set; that of ``out``, else the file name of the nodes, else of the edges, without its
            ending if None.
        seed: of the split or validation part that is drawn if the table contains none.
        direction: ``directed`` keeps which way each edge goes; for the others see :class:`mggcn.graph.Graph`. None is
            ``both``, with a note on the number of edges without a reverse.
        out: the dataset folder to write.
        memory: with ``out``, the limit of DuckDB and of the arrays in memory together, such as ``2GB``; neither table
            is then in memory, files of about their size are beside ``out`` meanwhile, and the data set is mapped. The
            folder is the same as without it.
        overwrite: replace an existing dataset folder.
        on_rows: reports the progress of an import with ``memory``.
    """
    columns = TableColumns(
        id=id_column,
        source=source_column,
        target=target_column,
        label=label_column,
        split=split_column,
        features=features,
        categories=tuple(categories),
        weight=weight_column,
        kind=type_column,
    )
    if memory is not None:
        if out is None:
            raise InputError("memory: is for tables that are written to a folder; give out, too")
        from mggcn.data._tables_on_disk import import_tables

        return import_tables(
            edges, nodes, columns, out, memory, name, seed, direction, overwrite=overwrite, on_rows=on_rows
        )
    node_table, edge_table = None if nodes is None else InputTable.of(nodes), InputTable.of(edges)
    stem = out.resolve().name if out else (node_table or edge_table).name.partition(".")[0]
    dataset = from_tables(edge_table, node_table, columns, name=name or stem, seed=seed, direction=direction)
    return dataset if out is None else save(dataset, out, overwrite=overwrite)


def from_tables(
    edges: InputTable,
    nodes: InputTable | None,
    columns: TableColumns,
    *,
    name: str,
    seed: int | None,
    direction: Direction | None,
    source: str = "",
    ids: str = "",
    notes: Sequence[str] = (),
    lists_edges_once: bool = True,
) -> Dataset:
    """Build a data set in memory; without ``nodes`` its nodes are the ends of the edges, in the order they appear.

    ``source`` is one line on where the data came from, the names of the tables if empty. ``ids`` says where the ids
    are, a column if empty. ``lists_edges_once`` is that of ``from_arrays``.
    """
    job = TableImport(edges, nodes, columns, ids)
    fields = job.read(name, seed, direction, source, notes, lists_edges_once=lists_edges_once)
    with prefix_errors(job.subject):
        return Dataset(name, job.graph(), node_ids=job.node_ids(), **fields)


class TableImport:
    """A pass over two tables; :mod:`mggcn.data._tables_on_disk` replaces the methods that need memory.

    Without a node table the nodes are the ends of the edges, in the order they appear. ``ids`` says where the ids are,
    for errors, a column of the node table if empty; ``on_rows`` reports progress.
    """

    def __init__(
        self,
        edges: InputTable,
        nodes: InputTable | None,
        columns: TableColumns,
        ids: str = "",
        on_rows: OnRows = lambda *_: None,
    ) -> None:
        self.edges, self.nodes, self.columns, self.on_rows = edges, nodes, columns, on_rows
        self._ids_in = ids or f"column {columns.id!r}"
        self.ends = (columns.source, columns.target)
        self.of_edges = EdgeColumns(edges, self.ends, columns.weight, columns.kind, columns.without_weights)
        self.subject = (nodes or edges).label
        self._numbers: dict[str, int] = {}
        self._edge_parts = [np.empty((2, 0), np.int64)]
        self._weights, self._codes = [np.empty(0, np.float32)], [np.empty(0, np.uint8)]

    def read(
        self,
        name: str,
        seed: int | None,
        direction: Direction | None,
        source: str = "",
        notes: Sequence[str] = (),
        *,
        lists_edges_once: bool = True,
    ) -> dict[str, Any]:
        """Read both tables; return the fields of the data set but its graph and ids, and give its notes as warnings.

        Errors name the file, the line and the column.
        """
        edges, nodes, columns = self.edges, self.nodes, self.columns
        labels, parts_of_nodes = Codes(columns.label), Codes(columns.split, PARTS)
        features, kind, optional, encoder = _node_columns(nodes, columns)
        if nodes is not None:
            for chunk in self.chunks("nodes", nodes, [columns.id, *optional, *features]):
                self.add_nodes(chunk)
                for reader in (labels, parts_of_nodes, encoder):
                    reader.add(chunk)
            encoder.columns  # noqa: B018 - raises InputError before the edges are read
        for chunk in self.chunks("edges", edges, [*self.ends, *self.of_edges.names]):
            self.add_edges(chunk)
        num_nodes = self.number_nodes()
        if num_nodes == 0:
            raise InputError(f"{self.subject}: no nodes")
        changed = self.build_graph(direction or "both")
        with prefix_errors(self.subject):
            y, classes, unusual = read_labels(labels) if nodes else (np.full(num_nodes, UNLABELLED, np.int64), (), [])
            parts, unlabelled = read_parts(parts_of_nodes, y) if classes else (NO_SPLIT, None)
            if unlabelled is not None:
                node, part = unlabelled
                raise InputError(f"node {self.id_of(node)!r} is in split {part} but has no label")
            source = source or (f"{nodes.name} and {edges.name}" if nodes else edges.name)
            split, source = split_and_source(y, classes, parts, seed, source)
        if features:
            x, encoding, filled = self.encode(encoder, features, split.train if split else None)
            made = MadeFeatures(x, feature_names(encoding), encoding, filled, [*encoding_notes(encoding)])
        elif kind == "none":
            made = MadeFeatures(np.empty((num_nodes, 0), np.float32))
        else:
            made = structural(self.graph())
        used = (*self.ends, *self.of_edges.names)
        others = [_shown(column, number) for number, column in enumerate(edges.names, 1) if column not in used]
        if self.of_edges.weight is not None:
            origin = f"column {self.of_edges.weight!r} of {edges.name}"
            note = f"weights of edges: {origin} is always 1, so there are none"
            if self.of_edges.is_weighted:
                note = weights_note(origin, columns.without_weights)
            made = replace(made, notes=[note, *made.notes])
        shown, notes = all_notes(
            [*ignored_edge_data(others, edges.name), *notes, *unusual],
            made,
            changed,
            direction=direction,
            lists_edges_once=lists_edges_once,
            is_weighted=self.of_edges.is_weighted,
        )
        for text in shown:
            warn_caller(f"{name}: {text}", DataWarning)
        return {
            "x": made.x,
            "y": y,
            "classes": classes,
            "split": split,
            "id_name": columns.id,
            "source": source,
            "feature_names": made.names,
            "encoding": made.encoding,
            "notes": notes,
        }

    def chunks(self, stage: str, table: InputTable, wanted: Sequence[str], total: int | None = None) -> Iterator[Chunk]:
        """The rows of the wanted columns, with progress."""
        done = 0
        for chunk in table.chunks(wanted):
            yield chunk
            done += chunk.num_rows
            self.on_rows(stage, done, total)

    def keys_of(self, chunk: Chunk, column: str) -> list[str]:
        """The ids in a column as text; InputError if one is empty."""
        values: Any = chunk.columns[column]
        is_plain = isinstance(values, np.ndarray) and values.dtype.kind in "iufb"
        keys = [text_of(value) for value in (values.tolist() if is_plain else values)]
        if "" in keys:
            raise InputError(f"{chunk.at(keys.index(''))}: column {column!r} is empty")
        return keys

    def add_nodes(self, chunk: Chunk) -> None:
        """Number the ids of some rows of the node table."""
        for row, key in enumerate(self.keys_of(chunk, self.columns.id)):
            if key in self._numbers:
                raise self.repeated_id(chunk.at(row), key)
            self._numbers[key] = len(self._numbers)

    def add_edges(self, chunk: Chunk) -> None:
        """Take the ends, weights and types of some edges."""
        ends = [self.keys_of(chunk, column) for column in self.ends]
        weights, codes = self.of_edges.weights(chunk), self.of_edges.codes(chunk)
        if weights is not None:
            self._weights.append(weights)
        if codes is not None:
            self._codes.append(codes)
        if self.nodes is None:
            for key in chain.from_iterable(zip(*ends, strict=True)):
                self._numbers.setdefault(key, len(self._numbers))
        self._edge_parts.append(np.array([[self._numbers.get(key, -1) for key in keys] for keys in ends], np.int64))

    def number_nodes(self) -> int:
        """The number of nodes; InputError if an id is listed twice."""
        return len(self._numbers)

    def build_graph(self, direction: Direction) -> Changes:
        """Build the graph; return how edges were removed, joined and reversed."""
        source, target = edge_index = np.concatenate(self._edge_parts, axis=1)
        unknown = np.argwhere(edge_index.T < 0)
        if len(unknown):
            row, side = unknown[0].tolist()
            raise self.unknown_end(row, side, len(unknown), edge_index.shape[1])
        self._graph, changed = Graph.from_edges_counted(
            source,
            target,
            len(self._numbers),
            direction=direction,
            weight=np.concatenate(self._weights) if self.of_edges.is_weighted else None,
            edge_type=self.of_edges.numbers[np.concatenate(self._codes)] if self.of_edges.kind is not None else None,
            types=self.of_edges.types,
        )
        return changed

    def id_of(self, node: int) -> str:
        """The id of a node."""
        return list(self._numbers)[node]

    def node_ids(self) -> NDArray[np.generic]:
        """The ids of all nodes."""
        keys = list(self._numbers)
        return np.array(keys, dtype=np.int64 if all(map(is_integer, keys)) else str)

    def graph(self) -> Graph:
        """The graph in memory."""
        return self._graph

    def encode(
        self, encoder: Encoder, names: Sequence[str], train: NDArray[np.int64] | None
    ) -> tuple["Features | None", tuple[ColumnEncoding, ...], list[str]]:
        """Read columns of the node table as features, with the mean over ``train`` in empty cells, and a note on them.

        The features are None if they are in a file.
        """
        x = encoder.encode(self.nodes.chunks(names) if self.nodes else ())
        return x, *fill(lambda: (x[start : start + BLOCK] for start in range(0, len(x), BLOCK)), encoder.columns, train)

    def unknown_end(self, row: int, side: int, count: int, num_edges: int) -> InputError:
        """The error for ends of edges that are not in the node table: the first one, how many there are of all ends."""
        where, key = self.cell(self.edges, self.ends[side], row)
        return InputError(
            f"{where}: {self.ends[side]} {key!r} is not an id of the node table; {count:,} of {2 * num_edges:,} "
            f"ends of edges ({count / num_edges / 2:.1%}) are not in its {self._ids_in}"
        )

    def repeated_id(self, where: str, key: str) -> InputError:
        """The error for an id that two nodes have."""
        return InputError(f"{where}: {self.columns.id} {key!r} is listed twice")

    def cell(self, table: InputTable, column: str, number: int) -> tuple[str, str]:
        """Where the cell in the row of this number is, and its text; the table is read again for it."""
        for chunk in table.chunks([column]):
            if number < chunk.num_rows:
                value = chunk.columns[column][number]
                return chunk.at(number), text_of(value.item() if isinstance(value, np.generic) else value)
            number -= chunk.num_rows
        raise IndexError(number)


def _shown(column: str, number: int) -> str:
    """A column as notes list it: by its position in the table if it has no name."""
    return f"column {number}" if _WITHOUT_NAME.fullmatch(column) else column


def _node_columns(nodes: InputTable | None, columns: TableColumns) -> tuple[Sequence[str], str, list[str], Encoder]:
    """The feature columns of a node table, what to do without any, the other columns to read, and the encoder."""
    # A column that is only assumed to be there may be missing.
    named = (("label", columns.label, LABEL), ("split", columns.split, SPLIT))
    if nodes is None:
        for what, column, default in named:
            if column != default:
                raise InputError(f"{what} column {column!r}: there is no node table")
    names, categorical = ([], ()) if nodes is None else (nodes.names, nodes.categorical)
    others = (columns.id, columns.label, columns.split)
    features, kind = _chosen_features(columns, [name for name in names if name not in others])
    optional = [column for _, column, default in named if column in names or column != default]
    categories = [*columns.categories, *(name for name in features if name in categorical)]
    return features, kind, optional, Encoder(features, categories)


def _chosen_features(columns: TableColumns, names: Sequence[str]) -> tuple[Sequence[str], str]:
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

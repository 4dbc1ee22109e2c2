"""A data set from a table of edges and a table of nodes, whatever holds the tables and whatever fits into memory.

There is one pass over the tables, :meth:`TableImport.read`. The numbers of ids, the graph and the features are made in
memory or, by :mod:`mggcn.data._tables_on_disk`, in files; the results are the same. Nodes keep the order of their
table; predictions list them by their ids.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from mggcn.data._columns import Chunk, Encoder, encoding_notes, feature_names, text_of
from mggcn.data._dataset import Dataset
from mggcn.data._folder import save
from mggcn.data._from_arrays import MadeFeatures, all_notes, ignored_edge_data, split_and_source, structural
from mggcn.data._labels import Codes, is_integer, read_labels, read_parts
from mggcn.data._split import NO_SPLIT, UNLABELLED, Split
from mggcn.data._table_files import Paths, Table
from mggcn.errors import DataWarning, InputError, prefix_errors
from mggcn.graph import Direction, Graph

FeatureChoice = Literal["all", "none", "structural"] | Sequence[str]
OnRows = Callable[[str, int, int | None], None]
"""Called with a stage, the number of its rows that are done, and the number of all of them if that is known."""

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
    """Which columns to read, see :func:`read_tables`."""

    id: str = "id"
    source: str = "source"
    target: str = "target"
    label: str = LABEL
    split: str = SPLIT
    features: FeatureChoice = "all"
    categories: Sequence[str] = ()


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
        edges: the edge list; a note says which columns other than source and target are ignored.
        nodes: the node table, one row per node. Without it the nodes are the ends of the edges, without labels.
        id_column: of ``nodes``: integers or strings, unique.
        source_column: of ``edges``: ids of ``nodes``.
        target_column: of ``edges``: ids of ``nodes``.
        label_column: of ``nodes``: class names, empty if unknown. Without this column no node is labelled.
        split_column: of ``nodes``: train, val, test or empty. Without this column the split is drawn by ``seed``.
        features: ``all``, every other column of ``nodes``, or structural features if there is none; a list of columns;
            ``structural``, see :func:`mggcn.data._structure.structural_features`; or ``none``.
        categories: feature columns whose values are categories even if they are numbers, dates, or many; text is.
        name: the name of the data set; that of ``out``, else the file name of the nodes, else of the edges, without its
            ending if None.
        seed: of the split or validation part that is drawn if the table contains none.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a note on the
            number of edges without a reverse.
        out: the dataset folder to write.
        memory: with ``out``, the limit of DuckDB and of the arrays in memory together, such as ``2GB``; neither table
            is then in memory, files of about their size are beside ``out`` meanwhile, and the data set is mapped. The
            folder is the same as without it.
        overwrite: replace an existing dataset folder.
        on_rows: reports the progress of an import with ``memory``.
    """
    columns = TableColumns(
        id_column, source_column, target_column, label_column, split_column, features, tuple(categories)
    )
    if memory is not None:
        if out is None:
            raise InputError("memory: is for tables that are written to a folder; give out, too")
        from mggcn.data._tables_on_disk import import_tables

        return import_tables(
            edges, nodes, columns, out, memory, name, seed, direction, overwrite=overwrite, on_rows=on_rows
        )
    node_table, edge_table = None if nodes is None else Table.of(nodes), Table.of(edges)
    stem = out.resolve().name if out else (node_table or edge_table).files[0].name.partition(".")[0]
    dataset = from_tables(
        edge_table, node_table, columns, name=name or stem, seed=seed, direction=direction, stacklevel=3
    )
    return dataset if out is None else save(dataset, out, overwrite=overwrite)


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
    """Build a data set in memory; without ``nodes`` its nodes are the ends of the edges, in the order they appear.

    ``stacklevel`` is that of warnings; 3 is the caller of the function that calls this one. ``source`` is one line on
    where the data came from, the names of the tables if empty. ``ids`` says where the ids are, a column if empty.
    ``lists_edges_once`` is that of ``from_arrays``.
    """
    job = _InMemory(edges, nodes, columns, ids)
    content = job.read(seed, direction, source, notes, lists_edges_once=lists_edges_once)
    with prefix_errors(job.subject):
        dataset = job.dataset(name, content)
    content.warn(name, stacklevel + 1)
    return dataset


@dataclass(frozen=True)
class Content:
    """What an import has read of a data set beside its ids and its graph; ``shown`` are the notes that are warnings."""

    y: NDArray[np.int64]
    classes: tuple[str, ...]
    split: Split | None
    source: str
    features: MadeFeatures
    notes: tuple[str, ...]
    shown: Sequence[str]

    def warn(self, name: str, stacklevel: int) -> None:
        """Give the notes as warnings."""
        for text in self.shown:
            warnings.warn(f"{name}: {text}", DataWarning, stacklevel=stacklevel)


class TableImport(ABC):
    """One import of two tables: a pass over them, whose parts that need memory are left to subclasses.

    Args:
        edges: the edge list.
        nodes: the node table; without it the nodes are the ends of the edges, in the order they appear.
        columns: which columns to read.
        ids: says where the ids are, for errors; a column of the node table if empty.
        on_rows: reports progress.
    """

    def __init__(
        self,
        edges: Source,
        nodes: Source | None,
        columns: TableColumns,
        ids: str = "",
        on_rows: OnRows = lambda *_: None,
    ) -> None:
        self.edges, self.nodes, self.columns, self.on_rows = edges, nodes, columns, on_rows
        self._ids = ids or f"column {columns.id!r}"
        self.ends = (columns.source, columns.target)
        self.subject = str(nodes or edges)

    @abstractmethod
    def add_nodes(self, chunk: Chunk) -> None:
        """Take the ids of some rows of the node table."""

    @abstractmethod
    def add_edges(self, chunk: Chunk) -> None:
        """Take the ids of both ends of some edges."""

    @abstractmethod
    def number_nodes(self) -> int:
        """Number the nodes and return how many they are; InputError if an id is listed twice."""

    @abstractmethod
    def build_graph(self, direction: Direction) -> Sequence[int]:
        """Build the graph; return how many self-loops and duplicate edges were removed and reverses of edges added."""

    @abstractmethod
    def id_of(self, node: int) -> str:
        """The id of a node."""

    @abstractmethod
    def graph(self) -> Graph:
        """The graph in memory, for structural features."""

    @abstractmethod
    def encode(self, encoder: Encoder, names: Sequence[str], train: NDArray[np.int64] | None) -> MadeFeatures:
        """Read columns of the node table as features, with the mean over ``train`` in empty cells."""

    def read(
        self,
        seed: int | None,
        direction: Direction | None,
        source: str = "",
        notes: Sequence[str] = (),
        *,
        lists_edges_once: bool = True,
    ) -> Content:
        """Read both tables; errors name the file, the line and the column."""
        edges, nodes, columns = self.edges, self.nodes, self.columns
        labels, parts_of_nodes = Codes.of_labels(columns.label), Codes.of_parts(columns.split)
        features: Sequence[str] = ()
        if nodes is None:
            kind, encoder = _features_without_nodes(columns), Encoder([])
        else:
            features, kind, optional, encoder = _node_columns(nodes, columns)
            done = 0
            for chunk in nodes.chunks([columns.id, *optional, *features]):
                self.add_nodes(chunk)
                labels.add(chunk)
                parts_of_nodes.add(chunk)
                encoder.survey(chunk)
                done += chunk.num_rows
                self.on_rows("nodes", done, None)
            encoder.columns  # noqa: B018 - raises InputError before the edges are read
        done = 0
        for chunk in edges.chunks(self.ends):
            self.add_edges(chunk)
            done += chunk.num_rows
            self.on_rows("edges", done, None)
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
            made = self.encode(encoder, features, split.train if split else None)
        elif kind == "none":
            made = MadeFeatures(np.empty((num_nodes, 0), np.float32))
        else:
            made = structural(self.graph())
        others = [column for column in edges.names if column not in self.ends]
        shown, notes = all_notes(
            [*ignored_edge_data(others, edges.name), *notes, *unusual],
            made,
            changed,
            direction=direction,
            lists_edges_once=lists_edges_once,
        )
        return Content(y, classes, split, source, made, notes, shown)

    def unknown_ends(self, where: str, column: str, key: str, count: int, total: int) -> InputError:
        """The error for ends of edges that are not in the node table: the first one, how many there are of all ends."""
        return InputError(
            f"{where}: {column} {key!r} is not an id of the node table; {count:,} of {total:,} ends of edges "
            f"({count / total:.1%}) are not in its {self._ids}"
        )

    def empty_id(self, where: str) -> InputError:
        """The error for a node without an id."""
        return InputError(f"{where}: column {self.columns.id!r} is empty")

    def repeated_id(self, where: str, key: str) -> InputError:
        """The error for an id that two nodes have."""
        return InputError(f"{where}: {self.columns.id} {key!r} is listed twice")


class _InMemory(TableImport):
    """An import in memory: a dictionary numbers the ids."""

    def __init__(self, edges: Source, nodes: Source | None, columns: TableColumns, ids: str) -> None:
        super().__init__(edges, nodes, columns, ids)
        self._numbers: dict[str, int] = {}
        self._edge_parts = [np.empty((2, 0), np.int64)]
        self._num_unknown, self._first_unknown = 0, ("", "", "")

    def add_nodes(self, chunk: Chunk) -> None:
        for row, key in enumerate(_texts_of(chunk, self.columns.id)):
            if not key:
                raise self.empty_id(chunk.at(row))
            if key in self._numbers:
                raise self.repeated_id(chunk.at(row), key)
            self._numbers[key] = len(self._numbers)

    def add_edges(self, chunk: Chunk) -> None:
        texts = [_texts_of(chunk, column) for column in self.ends]
        if self.nodes is None:
            for key in (key for pair in zip(*texts, strict=True) for key in pair if key):
                self._numbers.setdefault(key, len(self._numbers))
        ends = np.array([[self._numbers.get(key, -1) for key in keys] for keys in texts], np.int64)
        missing = ends < 0
        if missing.any():
            if self.nodes is None:
                side, row = np.argwhere(missing)[0].tolist()
                raise InputError(f"{chunk.at(row)}: {self.ends[side]} is empty")
            if not self._num_unknown:
                row, side = np.argwhere(missing.T)[0].tolist()
                self._first_unknown = (chunk.at(row), self.ends[side], texts[side][row])
            self._num_unknown += int(missing.sum())
        self._edge_parts.append(ends)

    def number_nodes(self) -> int:
        return len(self._numbers)

    def build_graph(self, direction: Direction) -> Sequence[int]:
        edge_index = np.concatenate(self._edge_parts, axis=1)
        if self._num_unknown:
            raise self.unknown_ends(*self._first_unknown, self._num_unknown, edge_index.size)
        source, target = edge_index
        self._graph, *changed = Graph.from_edges_counted(source, target, len(self._numbers), direction=direction)
        return changed

    def id_of(self, node: int) -> str:
        return list(self._numbers)[node]

    def graph(self) -> Graph:
        return self._graph

    def encode(self, encoder: Encoder, names: Sequence[str], train: NDArray[np.int64] | None) -> MadeFeatures:
        table = encoder.encode(self.nodes.chunks(names) if self.nodes else ())
        encoding, filled = table.fill(train)
        return MadeFeatures(table.x, feature_names(encoding), encoding, filled, [*encoding_notes(encoding)])

    def dataset(self, name: str, content: Content) -> Dataset:
        """The data set."""
        keys = list(self._numbers)
        return Dataset(
            name,
            self._graph,
            content.features.x,
            content.y,
            content.classes,
            content.split,
            node_ids=np.array(keys, dtype=np.int64 if all(map(is_integer, keys)) else str),
            id_name=self.columns.id,
            source=content.source,
            feature_names=content.features.names,
            encoding=content.features.encoding,
            notes=content.notes,
        )


def _node_columns(nodes: Source, columns: TableColumns) -> tuple[Sequence[str], str, list[str], Encoder]:
    """The feature columns of a node table, what to do without any, the other columns to read, and the encoder."""
    others = (columns.id, columns.label, columns.split)
    features, kind = _chosen_features(columns, [name for name in nodes.names if name not in others])
    # A column that is only assumed to be there may be missing.
    optional = [
        column
        for column, default in ((columns.label, LABEL), (columns.split, SPLIT))
        if column in nodes.names or column != default
    ]
    categories = [*columns.categories, *(name for name in features if name in nodes.categorical)]
    return features, kind, optional, Encoder(features, categories)


def _features_without_nodes(columns: TableColumns) -> str:
    """What the features of an edge list are, ``none`` or ``structural``; InputError if columns of nodes are named."""
    for what, name, default in (("label", columns.label, LABEL), ("split", columns.split, SPLIT)):
        if name != default:
            raise InputError(f"{what} column {name!r}: there is no node table")
    features, kind = _chosen_features(columns, [])
    Encoder(features, columns.categories)  # raises InputError if there are any
    return kind


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


def _texts_of(chunk: Chunk, column: str) -> list[str]:
    """The values of a column as text, empty if the table has no such column."""
    values: Any = chunk.columns.get(column)
    if values is None:
        return [""] * chunk.num_rows
    return [text_of(value) for value in (values.tolist() if _is_plain(values) else values)]


def _is_plain(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "iufb"

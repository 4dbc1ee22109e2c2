"""A node table and an edge list as a dataset folder, without either in memory.

The tables are read in chunks as :func:`mggcn.data.read_tables` reads them, with the same results; ids go to disk,
 where DuckDB joins, mirrors and sorts the edges. In memory are labels and split, and some columns of features.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, connect, first_row, megabytes, one_line_errors
from mggcn._io.temporary import claimed, draft_folder
from mggcn.data._columns import Column, encoding_notes, feature_names
from mggcn.data._dataset import Dataset
from mggcn.data._folder import load_folder
from mggcn.data._from_arrays import ignored_edge_data, one_way_note, removed_note
from mggcn.data._ids_on_disk import IdsOnDisk, ids_of
from mggcn.data._labels import read_labels, read_parts
from mggcn.data._meta import Meta
from mggcn.data._sorted_edges import OnRows, first_unknown, limit_of_duckdb, number_ends, write_graph
from mggcn.data._split import NO_SPLIT, UNLABELLED, complete_split
from mggcn.data._streamed_nodes import StreamedNodes, cell, position
from mggcn.data._table_files import CHUNK, Paths, Table
from mggcn.data._tables import FeatureChoice, TableColumns, features_without_nodes, unknown_ends, unlabelled_part
from mggcn.data._writer import FolderWriter, check_free, writing
from mggcn.errors import DataWarning, InputError, prefix_errors, require
from mggcn.graph import Direction, Graph

_ENDS = ("source", "target")
_STRUCTURE_BYTES = (108, 36)  # of the graph and structural features: for each node, for each stored entry


def import_tables(
    edges: Paths,
    nodes: Paths | None,
    out: Path,
    *,
    memory: str,
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
    overwrite: bool = False,
    on_rows: OnRows = lambda *_: None,
) -> Dataset:
    """Write two tables as a dataset folder, with the same bytes as through :func:`mggcn.data._read_tables.read_tables`.

    Args:
        edges: the edge list.
        nodes: the node table, one row per node; without it the nodes are the ends of the edges, without labels.
        out: the folder to write; files of about the size of the tables are beside it meanwhile.
        memory: the limit of DuckDB and of the arrays in memory together, such as ``2GB``.
        id_column: this and the following are as in :func:`mggcn.data._read_tables.read_tables`.
        source_column: see there.
        target_column: see there.
        label_column: see there.
        split_column: see there.
        features: see there.
        categories: see there.
        name: the name of the data set; the name of the folder if None.
        seed: of the split or validation part that is drawn if the table contains none.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a note on the
            number of edges without a reverse.
        overwrite: replace an existing dataset folder.
        on_rows: is called with a stage, its rows done and their total, None if that is not known.

    Returns:
        The data set, mapped.
    """
    for library in ("duckdb", "pyarrow"):
        require(library, "tables")
    limit = megabytes(memory)
    check_free(out, overwrite=overwrite)
    node_table, edge_table = None if nodes is None else Table.of(nodes), Table.of(edges)
    columns = TableColumns(
        id_column, source_column, target_column, label_column, split_column, features, tuple(categories)
    )
    title = name or out.resolve().name
    with claimed(out), draft_folder(out) as work:
        job = _Import(
            edge_table, node_table, columns, work, limit, seed, direction or "both", direction is None, on_rows
        )
        with writing(out, overwrite=overwrite) as folder:
            notes = job.write(folder, title)
    for text in notes:
        warnings.warn(f"{title}: {text}", DataWarning, stacklevel=2)
    return load_folder(out, mmap=True)


@dataclass(frozen=True)
class _Features:
    """What was written as features: their names, columns, the note on empty cells, and one on where they come from."""

    names: tuple[str, ...] = ()
    encoding: tuple[Column, ...] = ()
    filled: tuple[str, ...] = ()
    made: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Import:
    """One import: the arguments of :func:`import_tables`, with ``memory`` in megabytes, and a folder for its files."""

    edges: Table
    nodes: Table | None
    columns: TableColumns
    work: Path
    memory: int
    seed: int
    direction: Direction
    notes_one_way: bool
    on_rows: OnRows

    def write(self, folder: FolderWriter, name: str) -> list[str]:
        """Write all arrays and ``meta.json``; return the notes that are warnings."""
        table = None if self.nodes is None else StreamedNodes(self.nodes, self.columns, self.on_rows)
        kind = features_without_nodes(self.columns) if table is None else table.kind
        node_ids, edge_ids = IdsOnDisk(self.work, "nodes", ["id"]), IdsOnDisk(self.work, "edges", ["source", "target"])
        if table is not None:
            table.read(node_ids)
        limit = limit_of_duckdb(self.memory, node_ids.num_rows)
        self._read_edges(edge_ids)
        subject = str(self.nodes or self.edges)
        database = connect(self.work, limit)
        try:
            num_nodes, nodes, (*removed, added) = self._write_graph(database, node_ids, edge_ids, folder)
            with prefix_errors(subject):
                y, classes, unusual = (
                    read_labels(table.labels) if table else (np.full(num_nodes, UNLABELLED, np.int64), (), [])
                )
                parts, unlabelled = read_parts(table.parts, y) if table and classes else (NO_SPLIT, None)
                if unlabelled is not None:
                    query = f"SELECT id FROM ({nodes}) WHERE number = {unlabelled[0]}"  # noqa: S608
                    (node,) = first_row(database, query)
                    raise unlabelled_part(str(node), unlabelled[1])
        finally:
            database.close()
        with prefix_errors(subject):
            split, note = complete_split(y, parts, self.seed) if classes else (None, "no labels")
        features = self._write_features(folder, table, kind, num_nodes, split.train if split else None)
        folder.write("y", y)
        if split is not None:
            folder.write_split(split)
        others = [column for column in self.edges.names if column not in (self.columns.source, self.columns.target)]
        notes = [*ignored_edge_data(others, self.edges.name), *unusual, *features.filled]
        one_way = one_way_note(added) if self.notes_one_way else []
        source = f"{self.nodes.name} and {self.edges.name}" if self.nodes else self.edges.name
        folder.finish(
            Meta(
                name=name,
                num_features=len(features.names),
                direction=self.direction,
                classes=list(classes),
                inductive=False,
                source="; ".join(filter(None, [source, note])),
                split_seed=split.seed if split else None,
                split_shares=list(split.shares) if split else [],
                id_name=self.columns.id,
                feature_names=list(features.names),
                encoding=list(features.encoding),
                notes=[*notes, *features.made, *one_way, *removed_note(*removed)],
            )
        )
        return notes

    def _read_edges(self, ids: IdsOnDisk) -> None:
        columns = (self.columns.source, self.columns.target)
        for chunk in self.edges.chunks(columns):
            ends = [ids_of(chunk.columns[column]) for column in columns]
            for column, keys in zip(columns, ends, strict=True):
                if self.nodes is None and not isinstance(keys, np.ndarray) and "" in keys:
                    raise InputError(f"{chunk.at(keys.index(''))}: {column} is empty")
            ids.append(ends)
            self.on_rows("edges", ids.num_rows, None)
        ids.close()

    def _write_graph(
        self, database: Database, node_ids: IdsOnDisk, edge_ids: IdsOnDisk, folder: FolderWriter
    ) -> tuple[int, str, tuple[int, int, int]]:
        """Write graph and ids; return the number of nodes, SQL for their ids, and how many edges changed."""
        as_text = node_ids.has_text or edge_ids.has_text
        edges = edge_ids.query(as_text=as_text)
        if self.nodes is None:
            nodes, num_nodes = self._number_nodes(database, edges)
        else:
            nodes, num_nodes = node_ids.query(as_text=as_text), node_ids.num_rows
            if not node_ids.is_sorted:
                self._check_unique(database, nodes, self.nodes)
        if num_nodes == 0:
            raise InputError(f"{self.nodes or self.edges}: no nodes")
        if self.nodes is not None and node_ids.counts_up and not as_text:
            ends = (f"CASE WHEN {end} BETWEEN 0 AND {num_nodes - 1} THEN {end} END AS {end}" for end in _ENDS)
            edges = f"SELECT number, {', '.join(ends)} FROM ({edges})"  # noqa: S608
        else:
            self.on_rows("joined edges", 0, edge_ids.num_rows)
            edges = number_ends(database, edges, nodes, self.work)
            self.on_rows("joined edges", edge_ids.num_rows, edge_ids.num_rows)
        unknown = first_unknown(database, edges)
        if unknown is not None:
            column = self.columns.source if unknown[1] == "source" else self.columns.target
            key = cell(self.edges, column, unknown[0])
            where = position(self.edges, column, unknown[0])
            ids = f"column {self.columns.id!r}"
            raise unknown_ends(where, column, key, unknown[2], 2 * edge_ids.num_rows, ids)
        changed = write_graph(database, edges, num_nodes, folder, self.direction, self.on_rows)
        has_text = as_text if self.nodes is None else node_ids.has_text
        _write_ids(database, nodes, folder, num_nodes, has_text=has_text)
        return num_nodes, nodes, changed

    def _number_nodes(self, database: Database, edges: str) -> tuple[str, int]:
        """Number the ends of the edges in the order in which they appear; return SQL for them, and their number."""
        ends = " UNION ALL ".join(
            f"SELECT {end} AS id, number * 2 + {side} AS place FROM ({edges})"  # noqa: S608
            for side, end in enumerate(_ENDS)
        )
        path = str(self.work / "numbered-nodes.parquet").replace("'", "''")
        with one_line_errors("numbering the nodes"):
            database.execute(
                f"COPY (SELECT id, row_number() OVER (ORDER BY place) - 1 AS number "  # noqa: S608
                f"FROM (SELECT id, min(place) AS place FROM ({ends}) GROUP BY id)) TO '{path}' (FORMAT parquet)"
            )
            (count,) = first_row(database, f"SELECT count(*) FROM read_parquet('{path}')")  # noqa: S608
        return f"SELECT id, number FROM read_parquet('{path}')", int(count)  # noqa: S608

    def _check_unique(self, database: Database, nodes: str, table: Table) -> None:
        repeated = f"FROM ({nodes}) GROUP BY id HAVING count(*) > 1"
        with one_line_errors("the search for repeated node ids"):
            if first_row(database, f"SELECT id {repeated} LIMIT 1") is None:
                return
            second = f"SELECT min(number, 2)[2] AS number {repeated}"
            (number,) = first_row(database, f"SELECT min(number) FROM ({second})")  # noqa: S608
        key, where = (read(table, self.columns.id, number) for read in (cell, position))
        raise InputError(f"{where}: {self.columns.id} {key!r} is listed twice")

    def _write_features(
        self,
        folder: FolderWriter,
        table: StreamedNodes | None,
        kind: str,
        num_nodes: int,
        train: NDArray[np.int64] | None,
    ) -> _Features:
        if table is not None and table.has_features:
            encoding, filled = table.write_features(folder, num_nodes, train, self.memory * 10**6 // 4)
            return _Features(feature_names(encoding), encoding, tuple(filled), tuple(encoding_notes(encoding)))
        if kind == "none":
            folder.write("x", np.empty((num_nodes, 0), np.float32))
            return _Features()
        from mggcn.data._structure import structural_features

        per_node, per_entry = _STRUCTURE_BYTES
        num_entries = folder.num_rows("indices")
        needed = (num_nodes * per_node + num_entries * per_entry) // 10**6
        if needed > self.memory:
            raise InputError(
                f"features: structural ones of this graph need {needed}MB, more than memory={self.memory}MB; "
                "allow more, or choose features='none'"
            )
        indptr, indices = (np.load(folder.path / f"{part}.npy") for part in ("indptr", "indices"))
        x, names = structural_features(Graph(indptr, indices, self.direction, checked=True))
        folder.write("x", x)
        return _Features(names, made=(f"structural features, made of the edges: {', '.join(names)}",))


def _write_ids(database: Database, nodes: str, folder: FolderWriter, num_nodes: int, *, has_text: bool) -> None:
    with one_line_errors("the ids of the nodes"):
        kind = np.dtype(np.int64)
        if has_text:
            query = f"SELECT max(length(id)), bool_and(length(id) = strlen(id)) FROM ({nodes})"  # noqa: S608
            length, is_ascii = first_row(database, query)
            kind = np.dtype(f"{'S' if is_ascii else 'U'}{length}")
        ids = folder.array("ids", kind, num_rows=num_nodes)
        cast = "VARCHAR" if has_text else "BIGINT"
        for batch in database.sql(f"SELECT id::{cast} FROM ({nodes}) ORDER BY number").arrow(CHUNK):  # noqa: S608
            column = batch.column(0)
            ids.append(np.array(column.to_pylist(), kind) if has_text else column.to_numpy())
        ids.close()

"""Edges in a database as the graph of a dataset folder: DuckDB sorts them, and their rows are written in batches."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from mggcn._io.database import Database, first_row, one_line_errors
from mggcn.data._csr_writer import CsrWriter
from mggcn.data._tables import OnRows
from mggcn.data._writer import FolderWriter
from mggcn.errors import InputError
from mggcn.graph import Changes, Direction, IntArray, Joiner, ways

MOST_NODES = 2**31 - 1
_BATCH = 1 << 20


def write_graph(
    database: Database, edges: str, num_nodes: int, folder: FolderWriter, direction: Direction, on_rows: OnRows
) -> Changes:
    """Write a graph without directions, weights and types; return how edges were removed, joined and reversed.

    An entry is one 64-bit number, (row · num_nodes + neighbour) · 2, plus 1 if it is the mirror image of an edge:
    sorting these numbers sorts the rows, and the last bit says which edges were there twice.

    ``edges`` is SQL for a table of node numbers, ``source`` and ``target``, which is read more than once.
    """
    _check_size(num_nodes)
    with one_line_errors("sorting the edges"):
        query = f"SELECT count(*), count(*) FILTER (source = target) FROM ({edges})"
        num_rows, num_loops = first_row(database, query)
        num_proper = num_rows - num_loops
        ends = ("target", "source") if direction == "in" else ("source", "target")
        parts = [(*ends, 0), (*ends[::-1], 1)] if direction == "both" else [(*ends, 0)]
        entries = " UNION ALL ".join(
            f"SELECT ({row}::UBIGINT * {num_nodes} + {other}::UBIGINT) * 2 + {mirrored} AS entry "
            f"FROM ({edges}) WHERE source <> target"
            for row, other, mirrored in parts
        )
        total = num_proper * len(parts)
        on_rows("sorted edges", 0, total)
        graph = CsrWriter(folder, num_nodes, direction)
        num_distinct, num_stored, done, last = 0, 0, 0, -1
        for arrow in database.sql(f"{entries} ORDER BY entry").arrow(_BATCH):
            done += arrow.num_rows
            batch = _without_repeats(arrow.column(0).to_numpy(), last)
            if batch.size:
                num_distinct += int(np.count_nonzero(batch & np.uint64(1) == 0))
                pairs = _without_repeats(batch >> np.uint64(1), last >> 1)
                num_stored += pairs.size
                rows, others = np.divmod(pairs, np.uint64(num_nodes))
                graph.append(rows.astype(np.int64), others.astype(np.int64))
                last = int(batch[-1])
            on_rows("sorted edges", done, total)
        graph.close()
    return Changes(num_loops, num_proper - num_distinct, num_stored - num_distinct)


def write_relations(
    database: Database,
    edges: str,
    num_nodes: int,
    folder: FolderWriter,
    direction: Direction,
    on_rows: OnRows,
    *,
    is_weighted: bool,
    numbers: NDArray[np.uint8],
) -> Changes:
    """Write a graph with directions, weights or types; return how edges were removed, joined and reversed.

    ``edges`` is SQL as in :func:`write_graph`. It has a column ``weight`` if edges are weighted. Unless ``numbers`` are
    empty it has a column ``type``: the position in ``numbers`` of the number of the edge's type.
    """
    _check_size(num_nodes)
    with one_line_errors("sorting the edges"):
        kept = "source <> target" + (" AND weight > 0" if is_weighted else "")
        query = f"SELECT count(*), count(*) FILTER (source = target), count(*) FILTER ({kept}) FROM ({edges})"
        num_rows, num_loops, num_proper = first_row(database, query)
        kind = f"({numbers.tolist()})[type::BIGINT + 1]" if numbers.size else "0"
        weight = "weight" if is_weighted else "1::FLOAT"
        entries = [
            f"SELECT {row}::UBIGINT * {num_nodes} + {other}::UBIGINT AS pair, {side} AS side, {weight} AS weight "
            f"FROM ({edges}) WHERE {kept}"
            for row, other, side in _sides(kind, direction)
        ]
        total = num_proper * len(entries)
        on_rows("sorted edges", 0, total)
        has_numbers = bool(numbers.size) or direction == "directed"
        graph = CsrWriter(folder, num_nodes, direction, has_numbers=has_numbers, is_weighted=is_weighted)
        joiner = Joiner(weighted=is_weighted, undirected=direction == "both")
        num_stored, done = 0, 0

        def write(rows: IntArray, others: IntArray, number: NDArray[np.uint16], sums: NDArray[np.float32]) -> int:
            graph.append(rows, others, number if has_numbers else None, sums if is_weighted else None)
            return rows.size

        for arrow in database.sql(f"{' UNION ALL '.join(entries)} ORDER BY pair, side, weight").arrow(_BATCH):
            pair, side, weights = (column.to_numpy() for column in arrow.columns)
            rows, others = (ends.astype(np.int64) for ends in np.divmod(pair, np.uint64(num_nodes)))
            num_stored += write(*joiner.append(rows, others, side >> 1, side & 1, weights))
            done += arrow.num_rows
            on_rows("sorted edges", done, total)
        num_stored += write(*joiner.close())
        graph.close(joiner.scale)
    return Changes(
        loops=num_loops,
        duplicates=num_proper - joiner.num_given // (2 if direction == "directed" else 1),
        reverses=num_stored - joiner.num_given,
        zeros=num_rows - num_loops - num_proper,
        sums=joiner.num_sums,
    )


def _sides(kind: str, direction: Direction) -> Iterator[tuple[str, str, str]]:
    """The row and the neighbour of each entry of an edge, and relation · 2 + 1 if it is mirrored, in SQL."""
    for in_target, relations, mirrored in ways(np.arange(2), direction):
        first, step = int(relations[0]), int(relations[1] - relations[0])
        ends = ("target", "source") if in_target else ("source", "target")
        yield *ends, f"(({kind}) * {2 * step} + {2 * first + mirrored})::USMALLINT"


def _check_size(num_nodes: int) -> None:
    if num_nodes > MOST_NODES:
        raise InputError(f"{num_nodes:,} nodes are more than can be sorted, {MOST_NODES:,}")


def _without_repeats(values: NDArray[np.uint64], last: int) -> NDArray[np.uint64]:
    """Sorted values without those that equal the one before; ``last`` is before the first, negative if none is."""
    keep = np.empty(values.size, bool)
    keep[1:] = values[1:] != values[:-1]
    keep[:1] = last < 0 or values[:1] != np.uint64(last)
    return values[keep]

"""A node table and an edge list in files as a data set; :mod:`mggcn.data._table_files` says which files."""

from collections.abc import Sequence

from mggcn.data._dataset import Dataset
from mggcn.data._table_files import Paths, Table
from mggcn.data._tables import FeatureChoice, TableColumns, from_tables
from mggcn.graph import Direction


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
) -> Dataset:
    """Read a data set from two tables.

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
        name: the name of the data set; the file name of the nodes, else of the edges, without its ending if None.
        seed: of the split or validation part that is drawn if the table contains none.
        direction: which neighbours a node has, see :class:`mggcn.graph.Graph`; None is ``both``, with a note on the
            number of edges without a reverse.
    """
    columns = TableColumns(
        id_column, source_column, target_column, label_column, split_column, features, tuple(categories)
    )
    node_table, edge_table = None if nodes is None else Table.of(nodes), Table.of(edges)
    stem = (node_table or edge_table).files[0].name.partition(".")[0]
    return from_tables(edge_table, node_table, columns, name=name or stem, seed=seed, direction=direction, stacklevel=3)

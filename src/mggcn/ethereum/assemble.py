"""From the last stages to a data set: the graph, the 13 features, labels, a split, and the table of accounts.

The graph is undirected, as in the paper: two accounts are neighbours if ether went either way. The attributes of its
edges keep the direction: the entry in row v that names u tells of the transactions from v to u, with count 0 where
there were none. ``edge_value`` is in ether, rounded once to a float; the exact wei are in ``edges.parquet``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.dataset import UNLABELLED, Dataset, Split
from mggcn.errors import InputError
from mggcn.ethereum import features
from mggcn.ethereum.checks import arrow_schema
from mggcn.ethereum.exact import ETHER, quotient
from mggcn.ethereum.labelling import Labels
from mggcn.ethereum.tables import FEATURES
from mggcn.ethereum.values import WEI
from mggcn.graph import Graph, index_dtype

SHARES = (0.7, 0.1, 0.2)
"""Of train, val and test, as in the paper."""

_BATCH = 1 << 16
_EDGES = {
    "src": "int64",
    "dst": "int64",
    "count": "int64",
    "value_wei": WEI,
    "first_time": "int64",
    "last_time": "int64",
    "fee_wei": WEI,
}
_EDGE_TYPES: dict[str, type[np.generic]] = {
    "count": np.int64,
    "value": np.float64,
    "first": np.int64,
    "last": np.int64,
}


@dataclass(frozen=True)
class Accounts:
    """The nodes in the order of their numbers.

    Args:
        names: [n] addresses.
        x: [n, 13] features.
        y: [n] class numbers.
    """

    names: NDArray[np.generic]
    x: NDArray[np.float32]
    y: NDArray[np.int64]


def read_accounts(files: Sequence[Path], labels: Labels | None, table: Path) -> Accounts:
    """Read the stage ``features``, and write it with a column ``label`` as ``table``."""
    names: list[NDArray[np.generic]] = []
    x: list[NDArray[np.float32]] = []
    y: list[NDArray[np.int64]] = []
    schema = arrow_schema(FEATURES | {"label": "string"})
    with parquet.ParquetWriter(table, schema, compression="zstd") as writer:
        for batch in _batches(files):
            accounts: list[str] = batch["address"].to_pylist()
            given = [None if labels is None else labels.names.get(account) for account in accounts]
            columns = [*batch.columns, pyarrow.array(given, pyarrow.string())]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            names.append(np.array(accounts, np.str_ if not "".join(accounts).isascii() else np.bytes_))
            x.append(features.signed_log(features.matrix(batch)))
            y.append(np.full(len(accounts), UNLABELLED) if labels is None else labels.numbers(accounts))
    return Accounts(np.concatenate(names), np.concatenate(x), np.concatenate(y))


def read_graph(
    files: Sequence[Path], num_nodes: int, work: Path, table: Path
) -> tuple[Graph, dict[str, NDArray[np.generic]]]:
    """The graph and its edges' attributes from the sorted stage ``links``, in arrays that lie on the disk.

    Writes the directed edges with their exact values as ``table``.
    """
    stored = sum(parquet.ParquetFile(file).metadata.num_rows for file in files)
    indices = _on_disk(work / "indices", index_dtype(num_nodes), stored)
    attributes = {name: _on_disk(work / name, kind, stored) for name, kind in _EDGE_TYPES.items()}
    degrees = np.zeros(num_nodes, np.int64)
    start = 0
    with parquet.ParquetWriter(table, arrow_schema(_EDGES), compression="zstd") as writer:
        for batch in _batches(files):
            pairs = batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))
            stop = start + pairs.num_rows
            indices[start:stop] = pairs["other"].to_numpy()
            attributes["count"][start:stop] = pairs["out_count"].to_numpy()
            attributes["value"][start:stop] = quotient(pairs["out_wei"], unit=ETHER)
            attributes["first"][start:stop] = pairs["out_first"].to_numpy()
            attributes["last"][start:stop] = pairs["out_last"].to_numpy()
            np.add.at(degrees, pairs["node"].to_numpy(), 1)
            edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
            columns = [
                edges[name] for name in ("node", "other", "out_count", "out_wei", "out_first", "out_last", "fee")
            ]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=writer.schema))
            start = stop
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    graph = Graph(indptr, indices[:start], "both")
    return graph, {name: values[:start] for name, values in attributes.items()}


def assemble(
    accounts: Accounts,
    graph: Graph,
    attributes: dict[str, NDArray[np.generic]],
    labels: Labels | None,
    *,
    name: str,
    source: str,
    seed: int,
) -> Dataset:
    """The data set, with a stratified split of its labelled accounts; classes that no account has are left out."""
    labelled = accounts.y != UNLABELLED
    present = np.unique(accounts.y[labelled])
    y = np.where(labelled, np.searchsorted(present, accounts.y), UNLABELLED)
    classes = () if labels is None else tuple(labels.classes[one] for one in present)
    return Dataset(
        name=name,
        graph=graph,
        x=accounts.x,
        y=y,
        classes=classes,
        split=None if labels is None else _split(y, classes, seed),
        node_ids=accounts.names,
        id_name="address",
        source=source,
        feature_names=features.NAMES,
        edge_attributes=attributes,
    )


def _split(y: NDArray[np.int64], classes: Sequence[str], seed: int) -> Split:
    try:
        return Split.stratified(y, seed, SHARES)
    except InputError as error:
        counts = [f"{name} {np.sum(y == number)}" for number, name in enumerate(classes)]
        known = ", ".join(counts) or "none"
        raise InputError(
            f"too few labelled accounts have a transaction ({known}) for a 7:1:2 split ({error})"
        ) from None


def _batches(files: Sequence[Path]) -> Iterator[Any]:
    for file in files:
        yield from parquet.ParquetFile(file).iter_batches(_BATCH)


def _on_disk(path: Path, kind: type[np.generic], size: int) -> NDArray[Any]:
    return np.memmap(path, kind, "w+", shape=size) if size else np.empty(0, kind)

"""Makes a data set from the last stages: the graph, 13 features, labels, a split, and the tables beside them.

The graph is undirected, as in the paper: two accounts are neighbours if ether went either way. Edge attributes keep the
direction: the entry of neighbour u in row v describes the transactions from v to u, with count 0 if there were none.
``edge_value`` is in ether, rounded once to a float; the exact wei are in ``edges.parquet``.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.dataset import UNLABELLED, Dataset, Split
from mggcn.errors import InputError
from mggcn.ethereum import features
from mggcn.ethereum._engines import stage_files
from mggcn.ethereum._tables import FEATURES
from mggcn.ethereum._values import INT, TEXT, WEI
from mggcn.ethereum.features import ETHER, quotient
from mggcn.graph import Graph, index_dtype

ACCOUNTS, EDGES = "accounts.parquet", "edges.parquet"

_BATCH = 1 << 16
_SHARES = (0.7, 0.1, 0.2)  # of train, val and test, as in the paper
_EDGE_TABLE = {
    "node": ("src", INT),
    "other": ("dst", INT),
    "out_count": ("count", INT),
    "out_wei": ("value_wei", WEI),
    "out_first": ("first_time", INT),
    "out_last": ("last_time", INT),
    "fee": ("fee_wei", WEI),
}
"""The columns of ``edges.parquet``, by the column of the stage ``links`` that each comes from."""


def assemble(work: Path, labels: Mapping[str, str], *, name: str, source: str, seed: int) -> Dataset:
    """Return the data set with a stratified split of its labelled accounts, and write the tables beside it to ``work``.

    There is no split if ``labels``, the class of each account, is empty. Classes without an account are left out.
    """
    names, x, account_labels = _read_accounts(work, labels)
    classes = sorted({label for label in account_labels if label is not None})
    numbers: dict[str | None, int] = {None: UNLABELLED, **{label: number for number, label in enumerate(classes)}}
    y = np.array([numbers[label] for label in account_labels], np.int64)
    graph, attributes = _read_graph(work, y.size)
    return Dataset(
        name=name,
        graph=graph,
        x=x,
        y=y,
        classes=tuple(classes),
        split=_split(y, classes, seed) if labels else None,
        node_ids=names,
        id_name="address",
        source=source,
        feature_names=features.NAMES,
        edge_attributes=attributes,
    )


def _read_accounts(
    work: Path, labels: Mapping[str, str]
) -> tuple[NDArray[np.generic], NDArray[np.float32], list[str | None]]:
    """Return names, features and labels; write the stage ``features`` with the column ``label`` to a table."""
    names: list[NDArray[np.generic]] = []
    x: list[NDArray[np.float32]] = []
    account_labels: list[str | None] = []
    schema = ibis.schema(FEATURES | {"label": TEXT}).to_pyarrow()
    with parquet.ParquetWriter(work / ACCOUNTS, schema, compression="zstd") as writer:
        for batch in _batches(stage_files(work, "features")):
            accounts: list[str] = batch["address"].to_pylist()
            label_column = [labels.get(account) for account in accounts]
            columns = [*batch.columns, pyarrow.array(label_column, pyarrow.string())]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            names.append(np.array(accounts, np.bytes_ if "".join(accounts).isascii() else np.str_))
            x.append(features.signed_log(features.matrix(batch)))
            account_labels += label_column
    return np.concatenate(names), np.concatenate(x), account_labels


def _read_graph(work: Path, num_nodes: int) -> tuple[Graph, dict[str, NDArray[np.generic]]]:
    """Return the graph and its edge attributes from the sorted stage ``links``; write the directed edges to a table."""
    files = stage_files(work, "links")
    num_rows = sum(parquet.ParquetFile(file).metadata.num_rows for file in files)
    indices = _on_disk(work / "indices", index_dtype(num_nodes), num_rows)
    attributes = {
        name: _on_disk(work / name, np.float64 if name == "value" else np.int64, num_rows)
        for name in ("count", "value", "first", "last")
    }
    degrees = np.zeros(num_nodes, np.int64)
    start = 0
    schema = ibis.schema(dict(_EDGE_TABLE.values())).to_pyarrow()
    with parquet.ParquetWriter(work / EDGES, schema, compression="zstd") as writer:
        for batch in _batches(files):
            pairs = batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))
            stop = start + pairs.num_rows
            indices[start:stop] = pairs["other"].to_numpy()
            for name in ("count", "first", "last"):
                attributes[name][start:stop] = pairs[f"out_{name}"].to_numpy()
            attributes["value"][start:stop] = quotient(pairs["out_wei"], unit=ETHER)
            np.add.at(degrees, pairs["node"].to_numpy(), 1)
            edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
            columns = [edges[name] for name in _EDGE_TABLE]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            start = stop
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    graph = Graph(indptr, indices[:start], "both")
    return graph, {name: values[:start] for name, values in attributes.items()}


def _split(y: NDArray[np.int64], classes: Sequence[str], seed: int) -> Split:
    try:
        return Split.stratified(y, seed, _SHARES)
    except InputError as error:
        counts = ", ".join(f"{name} {np.sum(y == number)}" for number, name in enumerate(classes)) or "none"
        raise InputError(
            f"too few labelled accounts have a transaction ({counts}) for a 7:1:2 split ({error})"
        ) from None


def _batches(files: Sequence[Path]) -> Iterator[Any]:
    for file in files:
        yield from parquet.ParquetFile(file).iter_batches(_BATCH)


def _on_disk(path: Path, dtype: type[np.generic], size: int) -> NDArray[Any]:
    return np.memmap(path, dtype, "w+", shape=size) if size else np.empty(0, dtype)

"""Snapshot: the accounts of a build as of one date, read from the stages that an engine computed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.ethereum import features
from mggcn.ethereum._engines import stage_files
from mggcn.ethereum._tables import FEATURES
from mggcn.ethereum._values import INT, TEXT, WEI
from mggcn.graph import Graph, index_dtype

ACCOUNTS, EDGES = "accounts.parquet", "edges.parquet"
_BATCH = 1 << 16
_ENDS = {"from_address": "node", "to_address": "other"}
_EDGE_TABLE = {
    "node": ("src", INT),
    "other": ("dst", INT),
    "out_count": ("count", INT),
    "out_wei": ("value_wei", WEI),
    "out_first": ("first_time", INT),
    "out_last": ("last_time", INT),
    "fee": ("fee_wei", WEI),
}
"""The columns of ``edges.parquet`` after the addresses of its ends, by the column of ``links`` each comes from."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The accounts as of one date.

    Attributes:
        names: [n] in sorted order.
        x: [n, 13] features.
        labels: [n] known labels, None where there is none.
        graph: undirected.
        attributes: of the edges.
    """

    names: NDArray[Any]
    x: NDArray[np.float32]
    labels: list[str | None]
    graph: Graph
    attributes: dict[str, NDArray[Any]]

    @classmethod
    def read(cls, work: Path, labels: Mapping[str, str]) -> "Snapshot":
        """Read the last stages in ``work``, and write the tables ``accounts.parquet`` and ``edges.parquet`` there.

        Args:
            work: the folder of the stages.
            labels: the class of each labelled account.
        """
        names, x, account_labels = _read_accounts(work, labels)
        return cls(names, x, account_labels, *_read_graph(work, names))

    def positions(self, names: NDArray[Any]) -> NDArray[np.int64]:
        """[m] the numbers of accounts, -1 for those that this snapshot does not have."""
        nearest = np.minimum(np.searchsorted(self.names, names), self.names.size - 1)
        return np.where(self.names[nearest] == names, nearest, -1)


def _read_accounts(work: Path, labels: Mapping[str, str]) -> tuple[NDArray[Any], NDArray[Any], list[str | None]]:
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


def _read_graph(work: Path, names: NDArray[Any]) -> tuple[Graph, dict[str, NDArray[Any]]]:
    """Return the graph and its edge attributes from the sorted stage ``links``; write the directed edges to a table."""
    files, num_nodes = stage_files(work, "links"), names.size
    num_rows = sum(parquet.ParquetFile(file).metadata.num_rows for file in files)
    indices = _on_disk(work / "indices", index_dtype(num_nodes), num_rows)
    attributes = {
        name: _on_disk(work / name, np.float64 if name == "value" else np.int64, num_rows)
        for name in ("count", "value", "first", "last")
    }
    degrees = np.zeros(num_nodes, np.int64)
    start = 0
    schema = ibis.schema(dict.fromkeys(_ENDS, TEXT) | dict(_EDGE_TABLE.values())).to_pyarrow()
    with parquet.ParquetWriter(work / EDGES, schema, compression="zstd") as writer:
        for batch in _batches(files):
            pairs = batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))
            stop = start + pairs.num_rows
            indices[start:stop] = pairs["other"].to_numpy()
            for name in ("count", "first", "last"):
                attributes[name][start:stop] = pairs[f"out_{name}"].to_numpy()
            attributes["value"][start:stop] = features.quotient(pairs["out_wei"], unit=features.ETHER)
            np.add.at(degrees, pairs["node"].to_numpy(), 1)
            edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
            ends = [_text(names[edges[end].to_numpy()]) for end in _ENDS.values()]
            columns = [*ends, *(edges[name] for name in _EDGE_TABLE)]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            start = stop
    indptr = np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64)
    graph = Graph(indptr, indices[:start], "both")
    return graph, {name: values[:start] for name, values in attributes.items()}


def _text(names: NDArray[Any]) -> Any:
    """Names of accounts as a column of text."""
    column = pyarrow.array(names, pyarrow.binary() if names.dtype.kind == "S" else pyarrow.string())
    return column.cast(pyarrow.string())


def _batches(files: Sequence[Path]) -> Iterator[Any]:
    for file in files:
        yield from parquet.ParquetFile(file).iter_batches(_BATCH)


def _on_disk(path: Path, dtype: type[np.generic], size: int) -> NDArray[Any]:
    return np.memmap(path, dtype, "w+", shape=size) if size else np.empty(0, dtype)

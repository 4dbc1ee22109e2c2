"""From the stages ``features`` and ``links`` to the arrays and tables of a dataset folder, batch by batch."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pyarrow
import pyarrow.compute
from numpy.typing import NDArray
from pyarrow import parquet

from mggcn.dataset import BACKGROUND, UNLABELLED, Split, draw_background
from mggcn.dataset.features import check_finite
from mggcn.engines.stages import stage_files
from mggcn.errors import InputError
from mggcn.ethereum import features
from mggcn.ethereum._tables import FEATURES
from mggcn.ethereum._values import INT, TEXT, WEI
from mggcn.storage import CsrWriter, FolderWriter, Meta

_ACCOUNTS, _EDGES = "accounts.parquet", "edges.parquet"
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


def assemble(
    folder: FolderWriter,
    work: Path,
    labels: Mapping[str, str],
    background: int,
    *,
    name: str,
    source: str,
    seed: int,
    notes: Sequence[str] = (),
) -> None:
    """Write the data set with a stratified split of its labelled accounts, and the tables beside it.

    There is no split if ``labels``, the class of each account, is empty. Classes without an account are left out.
    """
    y, classes = _write_accounts(folder, work, labels)
    _write_graph(folder, work, y.size)
    if background and np.any(y != UNLABELLED):
        indptr = np.load(folder.path / "indptr.npy", mmap_mode="r")
        y[draw_background(y, np.diff(indptr), background, seed)] = len(classes)
        classes.append(BACKGROUND)
    folder.write("y", y)
    split = _split(y, classes, seed) if labels else None
    if split is not None:
        folder.write_split(split)
    folder.finish(
        Meta(
            name=name,
            num_features=len(features.NAMES),
            direction="both",
            classes=classes,
            inductive=False,
            source=source,
            split_seed=seed if split else None,
            split_shares=list(split.shares) if split else [],
            id_name="address",
            feature_names=list(features.NAMES),
            notes=list(notes),
        )
    )


def _write_accounts(folder: FolderWriter, work: Path, labels: Mapping[str, str]) -> tuple[NDArray[np.int64], list[str]]:
    """Write ids, features and the stage ``features`` with the column ``label``; return class numbers and classes."""
    files = stage_files(work, "features")
    num_accounts, start = sum(parquet.ParquetFile(file).metadata.num_rows for file in files), 0
    ids = folder.array("ids", _id_type(files), num_rows=num_accounts)
    x = folder.array("x", np.float32, (len(features.NAMES),), num_accounts)
    names = sorted(set(labels.values()))
    numbers: dict[str | None, int] = {None: UNLABELLED, **{label: number for number, label in enumerate(names)}}
    y = np.empty(num_accounts, np.int64)
    schema = ibis.schema(FEATURES | {"label": TEXT}).to_pyarrow()
    with parquet.ParquetWriter(folder.path / _ACCOUNTS, schema, compression="zstd") as writer:
        for batch in _batches(files):
            accounts: list[str] = batch["address"].to_pylist()
            label_column = [labels.get(account) for account in accounts]
            columns = [*batch.columns, pyarrow.array(label_column, pyarrow.string())]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
            ids.append(np.array(accounts, ids.dtype))
            rows = features.signed_log(features.matrix(batch))
            check_finite(rows, start)
            x.append(rows)
            y[start : start + len(accounts)] = [numbers[label] for label in label_column]
            start += len(accounts)
    folder.add_table(_ACCOUNTS, folder.path / _ACCOUNTS)
    present = np.unique(y[y != UNLABELLED])
    y[y != UNLABELLED] = np.searchsorted(present, y[y != UNLABELLED])
    return y, [names[number] for number in present]


def _id_type(files: Sequence[Path]) -> np.dtype[Any]:
    """The type of the longest address: bytes if all are ASCII, else text."""
    length, is_ascii = 1, True
    for batch in _batches(files, ["address"]):
        length = max(length, pyarrow.compute.max(pyarrow.compute.utf8_length(batch["address"])).as_py() or 0)
        is_ascii = is_ascii and bool(pyarrow.compute.all(pyarrow.compute.string_is_ascii(batch["address"])).as_py())
    return np.dtype(f"{'S' if is_ascii else 'U'}{length}")


def _write_graph(folder: FolderWriter, work: Path, num_nodes: int) -> None:
    """Write the graph and its edge attributes from the sorted stage ``links``, and the directed edges as a table."""
    files = stage_files(work, "links")
    num_pairs = sum(_pairs(batch).num_rows for batch in _batches(files, ["node", "other"]))
    graph = CsrWriter(folder, num_nodes, num_entries=num_pairs)
    attributes = {
        name: folder.array(f"edge_{name}", np.float64 if name == "value" else np.int64, num_rows=num_pairs)
        for name in ("count", "value", "first", "last")
    }
    schema = ibis.schema(dict(_EDGE_TABLE.values())).to_pyarrow()
    with parquet.ParquetWriter(folder.path / _EDGES, schema, compression="zstd") as writer:
        for batch in _batches(files):
            pairs = _pairs(batch)
            graph.append(pairs["node"].to_numpy(), pairs["other"].to_numpy())
            for name in ("count", "first", "last"):
                attributes[name].append(pairs[f"out_{name}"].to_numpy())
            attributes["value"].append(features.quotient(pairs["out_wei"], unit=features.ETHER))
            edges = pairs.filter(pyarrow.compute.greater(pairs["out_count"], 0))
            columns = [edges[name] for name in _EDGE_TABLE]
            writer.write_batch(pyarrow.RecordBatch.from_arrays(columns, schema=schema))
    graph.close()
    folder.add_table(_EDGES, folder.path / _EDGES)


def _pairs(batch: Any) -> Any:
    """The links between two accounts."""
    return batch.filter(pyarrow.compute.not_equal(batch["node"], batch["other"]))


def _split(y: NDArray[np.int64], classes: Sequence[str], seed: int) -> Split:
    try:
        return Split.stratified(y, seed, _SHARES)
    except InputError as error:
        counts = ", ".join(f"{name} {np.sum(y == number)}" for number, name in enumerate(classes)) or "none"
        raise InputError(
            f"too few labelled accounts have a transaction ({counts}) for a 7:1:2 split ({error})"
        ) from None


def _batches(files: Sequence[Path], columns: list[str] | None = None) -> Iterator[Any]:
    for file in files:
        yield from parquet.ParquetFile(file).iter_batches(_BATCH, columns=columns)

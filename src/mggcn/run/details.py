"""The columns of a table of predictions that say what is known of a node, why it has its class, and who said so."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn import storage
from mggcn.dataset import Dataset
from mggcn.run.reasons import NUM_REASONS
from mggcn.run.run import Run


def ranks_of(probabilities: NDArray[np.float64]) -> NDArray[np.int64]:
    """[n] the rank of each node among those with the same most probable class, from 1 for the most probable."""
    labels, highest = probabilities.argmax(axis=1), probabilities.max(axis=1)
    order = np.lexsort((np.arange(labels.size), -highest, labels))
    starts = np.searchsorted(labels[order], labels[order])  # the first position of a class
    ranks = np.empty(labels.size, np.int64)
    ranks[order] = np.arange(labels.size) - starts + 1
    return ranks


def known_labels(data: Dataset, nodes: NDArray[np.int64]) -> NDArray[np.object_]:
    """[n] the names of known labels, None where there is none."""
    return np.array([*data.classes, None], object)[data.y[nodes]]  # the label -1 selects the last entry


def reason_columns(count: int, rows: NDArray[np.int64], reasons: Sequence[Sequence[str]]) -> dict[str, NDArray[Any]]:
    """The columns ``reason_1`` to ``reason_3`` of a table, None where there is none.

    Args:
        count: the number of rows.
        rows: those that have reasons.
        reasons: of these rows.
    """
    columns = np.full((NUM_REASONS, count), None, object)
    for row, of_row in zip(rows.tolist(), reasons, strict=True):
        columns[: len(of_row), row] = of_row
    return {f"reason_{number}": column for number, column in enumerate(columns, 1)}


def origin(runs: Sequence[Run], data: Dataset, count: int) -> dict[str, NDArray[Any]]:
    """The columns ``model``, ``data`` and ``scored_at``, equal in all rows."""
    named = [run.path.name if run.path else f"{run.record.method}-seed{run.record.seed}" for run in runs]
    texts = {
        "model": " + ".join(named),
        "data": f"{data.name} {storage.digest(data)[:12]}",
        "scored_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    return {name: np.full(count, text, object) for name, text in texts.items()}

"""The columns of a table of predictions that say what is known of a node, why it has its class, and who said so."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset
from mggcn.runs._alerts import Thresholds
from mggcn.runs._predictions import Predictions
from mggcn.runs._reasons import NUM_REASONS
from mggcn.runs._run import Run


def ranks_of(labels: NDArray[np.integer[Any]], highest: NDArray[np.float64]) -> NDArray[np.int64]:
    """[n] the rank of each node among those with the same most probable class, from 1 for the most probable.

    Args:
        labels: [n] the most probable class.
        highest: [n] its probability.
    """
    ranks = np.empty(labels.size, np.int64)
    for label in range(int(labels.max(initial=-1)) + 1):
        nodes = np.flatnonzero(labels == label)
        ranks[nodes[np.argsort(-highest[nodes], kind="stable")]] = np.arange(1, nodes.size + 1)
    return ranks


@dataclass(frozen=True, eq=False)
class Details:
    """The further columns of a table of predictions.

    Attributes:
        runs: that gave the predictions.
        data: the graph.
        ranks: [n] of each row within its class.
        reasoned: the rows that have reasons, in order.
        reasons: of these rows.
        chosen: the thresholds of alerts, if there are any.
    """

    runs: Sequence[Run]
    data: Dataset
    ranks: NDArray[np.int64]
    reasoned: NDArray[np.int64]
    reasons: Sequence[Sequence[str]]
    chosen: Thresholds | None = None

    def added(self, chunks: Iterable[Predictions]) -> Iterator[Predictions]:
        """The chunks of the table with these columns."""
        texts = origin(self.runs, self.data, 1)
        start = 0
        for chunk in chunks:
            count = chunk.nodes.size
            details = {"label": known_labels(self.data, chunk.nodes), "rank": self.ranks[start : start + count]}
            if self.chosen is not None:
                details["alert"] = self.chosen.alerts(chunk.probabilities)
            first, last = np.searchsorted(self.reasoned, [start, start + count])
            details |= reason_columns(count, self.reasoned[first:last] - start, self.reasons[first:last])
            details |= {name: np.full(count, text[0], object) for name, text in texts.items()}
            yield replace(chunk, details=details)
            start += count


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
        "data": f"{data.name} {data.digest[:12]}",
        "scored_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
    }
    return {name: np.full(count, text, object) for name, text in texts.items()}

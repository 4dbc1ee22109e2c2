"""Predictions of many nodes, which come in chunks and are read again when all are there, as ranks need all of them."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

from mggcn.data import Dataset
from mggcn.runs._predictions import Predictions

_IN_MEMORY = 1 << 26  # bytes; more are in a temporary file


class Scored:
    """Keeps predictions: 10 bytes of a node in memory, and its probabilities in a temporary file if they are many.

    Attributes:
        labels: [count] the most probable class of each node.
        highest: [count] its probability.

    Args:
        data: the graph, which has the ids.
        folder: for that file, which no other process sees.
        count: the number of nodes.
    """

    def __init__(self, data: Dataset, folder: Path | None, count: int) -> None:
        self._data = data
        self._file = tempfile.SpooledTemporaryFile(_IN_MEMORY, dir=None if folder is None else str(folder))  # noqa: SIM115
        self._chunks: list[Predictions] = []
        self._num_kept = 0
        self.labels: NDArray[np.int16] = np.empty(count, np.int16)
        self.highest: NDArray[np.float64] = np.empty(count)

    def __enter__(self) -> "Scored":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def append(self, chunk: Predictions) -> None:
        """Keep the predictions of some nodes, which follow those before."""
        np.save(self._file, chunk.probabilities)
        np.save(self._file, chunk.parts.astype(np.bytes_))
        rows = slice(self._num_kept, self._num_kept + chunk.nodes.size)
        self.labels[rows], self.highest[rows] = chunk.labels, chunk.probabilities.max(axis=1)
        self._num_kept = rows.stop
        kept = {name: getattr(chunk, name)[:0].copy() for name in ("ids", "probabilities", "parts")}  # no views
        self._chunks.append(replace(chunk, **kept))

    def __iter__(self) -> Iterator[Predictions]:
        self._file.seek(0)
        for chunk in self._chunks:
            p, parts = np.load(self._file), np.load(self._file).astype(str)
            yield replace(chunk, ids=self._data.ids_of(chunk.nodes), probabilities=p, parts=parts)

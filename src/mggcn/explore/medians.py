"""A node's features against the medians of classes, over the training nodes of each."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.dataset import UNLABELLED, Dataset, Features

MOST_NODES = 10_000
"""Of a class with more training nodes, so many are looked at, evenly spaced."""


@dataclass(frozen=True, eq=False)
class Medians:
    """What is usual.

    Attributes:
        medians: [classes, features], 0 for a class without training nodes.
        deviation: [features] the standard deviation over the training nodes of all classes, 1 where they all agree.
    """

    medians: NDArray[np.float32]
    deviation: NDArray[np.float32]

    @classmethod
    def of(cls, dataset: Dataset) -> "Medians":
        """Look at the training nodes, or at all labelled ones where there is no split."""
        nodes = dataset.split.train if dataset.split else np.flatnonzero(dataset.y != UNLABELLED)
        medians = np.zeros((dataset.num_classes, dataset.num_features), np.float32)
        looked_at = []
        for label in range(dataset.num_classes):
            own = _thinned(nodes[dataset.y[nodes] == label])
            looked_at.append(own)
            if own.size:
                medians[label] = _median(dataset.x[own])
        return cls(medians, _deviation(dataset.x[np.concatenate(looked_at)]))

    def differences(self, row: NDArray[np.float32], label: int) -> NDArray[np.float32]:
        """[features] how far a row is from the medians of a class, in standard deviations."""
        return np.asarray((row - self.medians[label]) / self.deviation, np.float32)


def features_of(dataset: Dataset, node: int) -> NDArray[np.float32]:
    """[features] of one node, written out."""
    row = dataset.x[[node]]
    return np.asarray(row if isinstance(row, np.ndarray) else row.toarray(), np.float32).reshape(-1)


def _thinned(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return nodes if nodes.size <= MOST_NODES else nodes[np.linspace(0, nodes.size - 1, MOST_NODES).astype(np.int64)]


def _median(x: Features) -> NDArray[np.float32]:
    if isinstance(x, np.ndarray):
        return np.asarray(np.median(x, axis=0), np.float32)
    found = np.zeros(x.shape[1], np.float32)
    often = np.flatnonzero(2 * np.bincount(x.indices, minlength=x.shape[1]) >= x.shape[0])  # elsewhere it is zero
    found[often] = np.median(csr_array(x[:, often]).toarray(), axis=0)
    return found


def _deviation(x: Features) -> NDArray[np.float32]:
    if isinstance(x, np.ndarray):
        spread = x.std(axis=0, dtype=np.float64)
    else:
        wide = x.astype(np.float64)
        squares = np.asarray(wide.power(2).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(squares - np.asarray(wide.mean(axis=0)).ravel() ** 2, 0))
    return np.asarray(np.where(spread > 0, spread, 1), np.float32)

"""The medians of each class's features over its training nodes, to which a node's features are compared."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mggcn.data import UNLABELLED, Dataset, Features

_MAX_NODES = 10_000  # per class; of more training nodes an evenly spaced selection is used


@dataclass(frozen=True, eq=False)
class Medians:
    """The medians of each class, and the standard deviations over the training nodes of all classes."""

    medians: NDArray[np.float32]  # [classes, features], 0 for a class without training nodes
    deviation: NDArray[np.float32]  # [features], 1 for a constant feature

    @classmethod
    def of(cls, dataset: Dataset) -> "Medians":
        """Compute them from the training nodes, or from all labelled nodes if there is no split."""
        nodes = dataset.split.train if dataset.split else np.flatnonzero(dataset.y != UNLABELLED)
        by_class = [_thinned(nodes[dataset.y[nodes] == label]) for label in range(dataset.num_classes)]
        medians = np.zeros((dataset.num_classes, dataset.num_features), np.float32)
        for label, members in enumerate(by_class):
            if members.size:
                medians[label] = _median(dataset.x[members])
        return cls(medians, _deviation(dataset.x[np.concatenate(by_class)]))


def features_of(dataset: Dataset, node: int) -> NDArray[np.float32]:
    """[features] of one node, dense."""
    row = dataset.x[[node]]
    return np.asarray(row if isinstance(row, np.ndarray) else row.toarray(), np.float32).reshape(-1)


def _thinned(nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return nodes if nodes.size <= _MAX_NODES else nodes[np.linspace(0, nodes.size - 1, _MAX_NODES).astype(np.int64)]


def _median(x: Features) -> NDArray[np.float32]:
    if isinstance(x, np.ndarray):
        return np.asarray(np.median(x, axis=0), np.float32)
    medians = np.zeros(x.shape[1], np.float32)
    frequent = np.flatnonzero(2 * np.bincount(x.indices, minlength=x.shape[1]) >= x.shape[0])  # others have median 0
    medians[frequent] = np.median(csr_array(x[:, frequent]).toarray(), axis=0)
    return medians


def _deviation(x: Features) -> NDArray[np.float32]:
    if isinstance(x, np.ndarray):
        deviation = x.std(axis=0, dtype=np.float64)
    else:
        x = x.astype(np.float64)
        squares = np.asarray(x.power(2).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(squares - np.asarray(x.mean(axis=0)).ravel() ** 2, 0))
    return np.asarray(np.where(deviation > 0, deviation, 1), np.float32)

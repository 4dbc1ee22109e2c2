"""The labels of a data set as a run's classes."""

import numpy as np
from numpy.typing import NDArray

from mggcn.data import UNLABELLED, Dataset


def labels_in(dataset: Dataset, classes: tuple[str, ...], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """[n] the labels of nodes as indices into ``classes``; -1 for unlabelled nodes and for other classes."""
    return _as_indices(dataset.y[nodes], dataset.classes, classes)


def _as_indices(y: NDArray[np.int64], names: tuple[str, ...], classes: tuple[str, ...]) -> NDArray[np.int64]:
    index = {name: label for label, name in enumerate(classes)}
    labels = np.array([*(index.get(name, UNLABELLED) for name in names), UNLABELLED], np.int64)
    return labels[y]  # the label -1 selects the last entry

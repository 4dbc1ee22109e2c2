"""Scikit-learn's handwritten digits as a graph of nearest neighbours. Nothing is downloaded."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mggcn.data._dataset import Dataset
from mggcn.data._split import Split
from mggcn.graph import Graph

NEIGHBOURS = 10


def load(_root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Load 1,797 images of 64 pixels in 10 classes, joined to their 10 nearest; a stratified 60/20/20 split."""
    from sklearn.datasets import load_digits

    pixels, labels = load_digits(return_X_y=True)
    nearest = _nearest(pixels)
    y = labels.astype(np.int64)
    return Dataset(
        name="digits",
        graph=Graph.from_edges(np.repeat(np.arange(y.size), NEIGHBOURS), nearest.ravel(), y.size),
        x=(pixels / 16).astype(np.float32),
        y=y,
        classes=tuple(str(digit) for digit in range(10)),
        split=Split.stratified(y, seed),
        source=f"scikit-learn's digits; graph of {NEIGHBOURS} nearest neighbours; 60/20/20 split of seed {seed}",
    )


def _nearest(points: NDArray[np.float64]) -> NDArray[np.int64]:
    """[n, NEIGHBOURS] the nearest other points by exact distances between whole numbers, of equal ones the first."""
    squares = (points**2).sum(axis=1)
    distances = squares[:, None] + squares - 2 * points @ points.T
    np.fill_diagonal(distances, np.inf)
    return np.argsort(distances, axis=1, kind="stable")[:, :NEIGHBOURS]

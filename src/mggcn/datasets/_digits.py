"""Scikit-learn's handwritten digits as a graph of nearest neighbours. Nothing is downloaded."""

from pathlib import Path

import numpy as np

from mggcn.dataset import Dataset, Split
from mggcn.graph import Graph

NEIGHBOURS = 10


def load(_root: Path | None, seed: int, _mmap: bool | None) -> Dataset:
    """Load 1,797 images of 64 pixels in 10 classes, joined to their 10 nearest; a stratified 60/20/20 split."""
    from sklearn.datasets import load_digits
    from sklearn.neighbors import NearestNeighbors

    pixels, labels = load_digits(return_X_y=True)
    nearest = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(pixels).kneighbors(return_distance=False)
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

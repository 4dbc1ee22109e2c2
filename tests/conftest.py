"""Fixtures shared by all tests."""

import os
from pathlib import Path

import numpy as np
import pytest
import torch

from mggcn.dataset import Dataset, Split
from mggcn.graph import Graph

# Without a GPU the Triton kernels run in Triton's interpreter, which must be chosen before they are imported.
if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"


@pytest.fixture
def small() -> Dataset:
    """The data set of :func:`small_dataset`."""
    return small_dataset()


def small_dataset() -> Dataset:
    """Sixty nodes in three classes: features follow the class, edges mostly do, two nodes are isolated."""
    rng = np.random.default_rng(7)
    n, classes = 60, 3
    y = np.arange(n) % classes
    source, target = rng.integers(0, n - 2, 300), rng.integers(0, n - 2, 300)
    keep = (y[source] == y[target]) | (rng.random(300) < 0.1)
    x = (np.eye(classes)[y] + rng.normal(0, 0.7, (n, classes))).astype(np.float32)
    order = rng.permutation(n)
    split = Split.of(np.sort(order[:30]), np.sort(order[30:42]), np.sort(order[42:]))
    ids = np.array([f"node-{i}" for i in range(n)])
    graph = Graph.from_edges(source[keep], target[keep], n)
    return Dataset("small", graph, x, y.astype(np.int64), ("red", "green", "blue"), split, ids)


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder of real data files: $MGGCN_DATA, else a folder ``shared/data`` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    root = Path(os.environ.get("MGGCN_DATA", beside))
    if not (root / "planetoid").is_dir():
        pytest.skip("no real data files: set MGGCN_DATA to a folder that holds planetoid/")
    return root

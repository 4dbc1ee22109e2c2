"""Reddit from the two raw files that PyG and DGL share: posts as nodes, joined where one user commented on both."""

from functools import partial
from pathlib import Path

import numpy as np

from mggcn.dataset import Dataset, Split, as_features
from mggcn.datasets.blame import blaming
from mggcn.datasets.converted import kept
from mggcn.datasets.npz import read_fields
from mggcn.datasets.pyg_files import raw_folder
from mggcn.errors import InputError
from mggcn.graph import Graph

DATA, GRAPH = "reddit_data.npz", "reddit_graph.npz"
_TRAIN, _VAL, _TEST = 1, 2, 3


def load(root: Path | None, _seed: int, mmap: bool) -> Dataset:
    """Load Reddit, converted to a dataset folder the first time."""
    return kept(Path("converted") / "reddit", partial(_build, root), root=root, mmap=mmap)


def read(folder: Path) -> Dataset:
    """Read ``reddit_data.npz`` (feature, label, node_types) and ``reddit_graph.npz`` (row, col)."""
    data = read_fields(folder / DATA, ("feature", "label", "node_types"))
    ends = read_fields(folder / GRAPH, ("row", "col"))
    num_nodes = data["label"].size
    with blaming(folder / GRAPH):
        graph = Graph.from_edges(ends["row"], ends["col"], num_nodes)
    with blaming(folder / DATA):
        y, types = data["label"].astype(np.int64), data["node_types"]
        if types.shape != (num_nodes,):
            raise InputError(f"node_types: shape {types.shape} for {num_nodes} labels")
        split = Split(*(np.flatnonzero(types == kind) for kind in (_TRAIN, _VAL, _TEST)))
        return Dataset(
            name="reddit",
            graph=graph,
            x=as_features(data["feature"]),
            y=y,
            classes=tuple(f"class {label}" for label in range(int(y.max()) + 1)),
            split=split,
            inductive=True,
            source=f"{DATA} and {GRAPH} as PyG's Reddit fetches them; published split, inductive",
        )


def _build(root: Path | None) -> Dataset:
    return read(raw_folder("Reddit", (DATA, GRAPH), root))

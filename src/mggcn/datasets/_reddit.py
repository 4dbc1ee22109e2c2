"""Reddit from the two raw files that PyG and DGL share: nodes are posts, joined if one user commented on both."""

from pathlib import Path

import numpy as np

from mggcn.dataset import Dataset, Split, as_features, numbered_classes
from mggcn.datasets.npz import read_fields
from mggcn.errors import InputError, prefix_errors
from mggcn.graph import Graph

FILES = ("reddit_data.npz", "reddit_graph.npz")
_TRAIN, _VAL, _TEST = 1, 2, 3


def read(folder: Path, name: str) -> Dataset:
    """Read ``reddit_data.npz`` (feature, label, node_types) and ``reddit_graph.npz`` (row, col)."""
    data_file, graph_file = (folder / file for file in FILES)
    data = read_fields(data_file, ("feature", "label", "node_types"))
    ends = read_fields(graph_file, ("row", "col"))
    num_nodes = data["label"].size
    with prefix_errors(graph_file):
        graph = Graph.from_edges(ends["row"], ends["col"], num_nodes)
    with prefix_errors(data_file):
        y, types = data["label"].astype(np.int64), data["node_types"]
        if types.shape != (num_nodes,):
            raise InputError(f"node_types: shape {types.shape} for {num_nodes} labels")
        split = Split(*(np.flatnonzero(types == kind) for kind in (_TRAIN, _VAL, _TEST)))
        return Dataset(
            name=name,
            graph=graph,
            x=as_features(data["feature"]),
            y=y,
            classes=numbered_classes(y),
            split=split,
            inductive=True,
            source=f"{' and '.join(FILES)} as PyG's Reddit fetches them; published split, inductive",
        )

"""The data that a peer trains on, read from the ``.npy`` files of a dataset folder."""

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor


class TrainingData:
    """The graph, features, labels and training nodes of a dataset folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.indptr = torch.from_numpy(np.load(folder / "indptr.npy"))
        self.indices = torch.from_numpy(np.load(folder / "indices.npy").astype(np.int64))
        self.y = torch.from_numpy(np.load(folder / "y.npy"))
        self.train = torch.from_numpy(np.load(folder / "train.npy"))
        self.num_nodes, self.num_classes = self.y.numel(), int(self.y.max()) + 1

    @cached_property
    def x(self) -> Tensor:
        """[num_nodes, num_features] dense features."""
        return torch.from_numpy(_features(self.folder, self.num_nodes))

    @property
    def degrees(self) -> Tensor:
        """[num_nodes] the number of neighbours that each row lists."""
        return self.indptr.diff()

    @property
    def train_mask(self) -> Tensor:
        """[num_nodes] whether a node is trained on."""
        mask = torch.zeros(self.num_nodes, dtype=torch.bool)
        mask[self.train] = True
        return mask

    def edges(self, *, loops: bool = False) -> Tensor:
        """[2, num_stored]: from each neighbour to the node whose row lists it; ``loops`` adds one at every node."""
        nodes = torch.arange(self.num_nodes)
        edges = torch.stack([self.indices, torch.repeat_interleave(nodes, self.degrees)])
        return torch.cat([edges, torch.stack([nodes, nodes])], dim=1) if loops else edges


def _features(folder: Path, num_nodes: int) -> Any:
    if (folder / "x.npy").is_file():
        return np.load(folder / "x.npy")
    indptr, columns, values = (np.load(folder / f"x_{part}.npy") for part in ("indptr", "indices", "data"))
    width = json.loads((folder / "meta.json").read_text())["num_features"]
    x = np.zeros((num_nodes, width), np.float32)
    x[np.repeat(np.arange(num_nodes), np.diff(indptr)), columns] = values
    return x

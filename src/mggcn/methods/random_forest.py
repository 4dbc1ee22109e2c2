"""Random forests (Breiman) on each node's own features: a baseline for graph methods on tabular features.

Inputs are x; no blocks. scikit-learn grows the trees on the training nodes when the method is prepared, so that there
are no epochs; the trees are stored as tensors.

Differs from scikit-learn: one more tree, which gives every class the same probability, so that no probability is 0.

Reference: Breiman: Random Forests, Machine Learning 45, 2001.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.methods._trees import OfTrees, Trees
from mggcn.methods.method import GraphView
from mggcn.nn.rows import Rows


@dataclass(frozen=True)
class RandomForest(OfTrees):
    """Random forest on the features of each node; of training's settings only ``scaling`` and ``threads`` matter.

    Attributes:
        balanced: weight each class by the inverse of its share of a tree's training nodes.
    """

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        """A forest, still without trees."""
        return Forest(in_channels, out_channels)

    def grow(self, x: Any, labels: NDArray[np.int64], view: GraphView) -> Mapping[str, NDArray[Any]]:
        """The trees of scikit-learn's forest; a class without training nodes has the share 0."""
        from sklearn.ensemble import RandomForestClassifier

        grown = RandomForestClassifier(
            self.trees,
            max_depth=self.max_depth or None,
            min_samples_leaf=self.min_leaf,
            class_weight="balanced_subsample" if self.balanced else None,
            random_state=view.key.fold("forest").value >> 32,
            n_jobs=view.threads or -1,
        ).fit(x, labels)
        trees = [tree.tree_ for tree in grown.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        index, is_leaf = np.arange(starts[-1]), np.concatenate([tree.children_left < 0 for tree in trees])
        below = np.concatenate([tree.children_left + start for tree, start in zip(trees, starts, strict=False)])
        above = np.concatenate([tree.children_right + start for tree, start in zip(trees, starts, strict=False)])
        counts = np.concatenate([tree.value[:, 0, :] for tree in trees])
        share = np.zeros((index.size, view.num_classes))
        share[:, grown.classes_] = counts / counts.sum(axis=1, keepdims=True)
        return {
            "feature": np.where(is_leaf, 0, np.concatenate([tree.feature for tree in trees])),
            "threshold": np.concatenate([tree.threshold for tree in trees]),
            "below": np.where(is_leaf, index, below),
            "above": np.where(is_leaf, index, above),
            "share": share,
            "roots": starts[:-1],
        }


class Forest(Trees):
    """Trees whose leaves give class shares, which are averaged."""

    share: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, "share", out_channels)
        self.out_channels = out_channels

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, out_channels] the logarithm of the mean share over the trees and one uniform tree."""
        total = functional.embedding_bag(self.leaves(x), self.share, mode="sum")
        return torch.log((total + 1 / self.out_channels) / (self.roots.numel() + 1))

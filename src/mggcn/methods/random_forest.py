"""Random forests (Breiman) on each node's own features: a baseline for graph methods on tabular features.

Inputs are x; no blocks. scikit-learn grows the trees on the training nodes when the method is prepared, so that there
are no epochs; the trees are stored as tensors.

Differs from scikit-learn: one more tree, which gives every class the same probability, so that no probability is 0.

Reference: Breiman: Random Forests, Machine Learning 45, 2001.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from mggcn.data import UNLABELLED, Features
from mggcn.errors import InputError
from mggcn.methods.method import GraphView, Method
from mggcn.nn.forest import Forest
from mggcn.sampling.full import RowSampler
from mggcn.training import Count, NaturalNumber, View, Views, inputs_of


@dataclass(frozen=True)
class RandomForest(Method):
    """Random forest on the features of each node; of training's settings only ``scaling`` and ``threads`` matter.

    Attributes:
        trees: the number of trees.
        max_depth: the largest depth of a tree; 0 for no limit.
        min_leaf: the smallest number of training nodes in a leaf.
        balanced: weight each class by the inverse of its share of a tree's training nodes.
    """

    trees: Count = 200
    max_depth: NaturalNumber = 0
    min_leaf: Count = 1
    balanced: bool = False

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        """A forest, still without trees."""
        return Forest(in_channels, out_channels)

    def prepare(self, view: GraphView) -> Views:
        """The features; the trees are grown at the first call."""
        if isinstance(view.model, Forest) and not view.model.is_planted:
            self._grow(view, view.model)
        inputs = inputs_of([view.x], replace(view.compute, precision="fp32"))  # rounding may cross a threshold
        return Views.same(View(inputs, RowSampler()))

    def _grow(self, view: GraphView, forest: Forest) -> None:
        from sklearn.ensemble import RandomForestClassifier

        nodes = np.flatnonzero(view.known_labels != UNLABELLED)
        grown = RandomForestClassifier(
            self.trees,
            max_depth=self.max_depth or None,
            min_samples_leaf=self.min_leaf,
            class_weight="balanced_subsample" if self.balanced else None,
            random_state=view.key.fold("forest").value >> 32,
            n_jobs=view.threads or -1,
        ).fit(_short_indices(view.x[nodes]), view.known_labels[nodes])
        forest.plant([_arrays(tree.tree_, grown.classes_, forest.out_channels) for tree in grown.estimators_])


def _short_indices(x: Features) -> Features:
    """Features as scikit-learn's trees accept them: CSR with 32-bit indices, or dense."""
    if isinstance(x, np.ndarray):
        return x
    if x.nnz > np.iinfo(np.int32).max:
        raise InputError(
            f"random forest: {x.nnz:,} feature values of training nodes are more than scikit-learn accepts"
        )
    return csr_array((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def _arrays(tree: Any, present: NDArray[np.int64], num_classes: int) -> dict[str, NDArray[Any]]:
    """A scikit-learn tree, with a share for every class, including classes without training nodes."""
    counts = tree.value[:, 0, :]
    share = np.zeros((counts.shape[0], num_classes))
    share[:, present] = counts / counts.sum(axis=1, keepdims=True)
    return {
        "feature": tree.feature,
        "threshold": tree.threshold,
        "below": tree.children_left,
        "above": tree.children_right,
        "share": share,
    }

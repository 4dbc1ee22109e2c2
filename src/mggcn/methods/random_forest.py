"""Random forests (Breiman) on each node's own features: a baseline for graph methods on tabular features.

Inputs are x; no blocks. scikit-learn grows the trees on the training nodes when the method is prepared, so that there
are no epochs; the trees are stored as tensors.

Differs from scikit-learn: one more tree, which gives every class the same probability, so that no probability is 0.

Reference: Breiman: Random Forests, Machine Learning 45, 2001.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.data import UNLABELLED
from mggcn.methods.method import GraphView, Method
from mggcn.nn.rows import Rows, to_dense
from mggcn.sampling.neighbor import RowSampler
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
        if isinstance(view.model, Forest) and not view.model.roots.numel():
            self._grow(view, view.model)
        inputs = inputs_of([view.x], replace(view.compute, precision="fp32"))  # rounding may cross a threshold
        return Views.same(View(inputs, RowSampler()))

    def _grow(self, view: GraphView, forest: "Forest") -> None:
        from sklearn.ensemble import RandomForestClassifier

        nodes = np.flatnonzero(view.known_labels != UNLABELLED)
        x = view.x[nodes]
        if not isinstance(x, np.ndarray):  # scikit-learn's trees accept 32-bit indices only
            x = csr_array((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)
        grown = RandomForestClassifier(
            self.trees,
            max_depth=self.max_depth or None,
            min_samples_leaf=self.min_leaf,
            class_weight="balanced_subsample" if self.balanced else None,
            random_state=view.key.fold("forest").value >> 32,
            n_jobs=view.threads or -1,
        ).fit(x, view.known_labels[nodes])
        forest.plant(grown)


class Forest(nn.Module):
    """Decision trees on the features of a node, whose class shares are averaged; empty until trees are planted.

    All trees are in one table of tree nodes. An inner node sends rows whose value of its feature is at most its
    threshold to ``below`` and others to ``above``; a leaf sends every row to itself.
    """

    feature: Tensor
    threshold: Tensor
    below: Tensor
    above: Tensor
    share: Tensor
    roots: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels = in_channels, out_channels
        for name in ("feature", "below", "above", "roots"):
            self.register_buffer(name, torch.empty(0, dtype=torch.int64))
        self.register_buffer("threshold", torch.empty(0, dtype=torch.float64))
        self.register_buffer("share", torch.empty(0, out_channels, dtype=torch.float64))
        self.register_load_state_dict_pre_hook(_make_room)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_post_hook(_check)  # type: ignore[no-untyped-call]

    def plant(self, grown: Any) -> None:
        """Store the trees of scikit-learn's forest; a class without training nodes has the share 0."""
        trees = [tree.tree_ for tree in grown.estimators_]
        starts = np.cumsum([0, *(tree.node_count for tree in trees)])
        index, is_leaf = np.arange(starts[-1]), np.concatenate([tree.children_left < 0 for tree in trees])
        below = np.concatenate([tree.children_left + start for tree, start in zip(trees, starts, strict=False)])
        above = np.concatenate([tree.children_right + start for tree, start in zip(trees, starts, strict=False)])
        counts = np.concatenate([tree.value[:, 0, :] for tree in trees])
        share = np.zeros((index.size, self.out_channels))
        share[:, grown.classes_] = counts / counts.sum(axis=1, keepdims=True)
        arrays = {
            "feature": np.where(is_leaf, 0, np.concatenate([tree.feature for tree in trees])),
            "threshold": np.concatenate([tree.threshold for tree in trees]),
            "below": np.where(is_leaf, index, below),
            "above": np.where(is_leaf, index, above),
            "share": share,
            "roots": starts[:-1],
        }
        for name, array in arrays.items():
            setattr(self, name, torch.from_numpy(array).to(getattr(self, name)))

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, out_channels] the logarithm of the mean share over the trees and one uniform tree."""
        rows = to_dense(x)
        trees = self.roots.numel()
        position = self.roots.repeat(rows.shape[0])  # [n * trees]
        active = torch.arange(position.numel(), device=position.device)
        while active.numel():
            node = position[active]
            values = rows[active // trees, self.feature[node]]
            child = torch.where(values.double() <= self.threshold[node], self.below[node], self.above[node])
            position[active] = child
            active = active[child != node]
        total = functional.embedding_bag(position.view(-1, trees), self.share, mode="sum")
        return torch.log((total + 1 / self.out_channels) / (trees + 1))


def _make_room(module: nn.Module, state: Mapping[str, Any], prefix: str, *_: object) -> None:
    """Resize buffers to those about to be loaded, if only the number of tree nodes differs."""
    for name, old in list(module.named_buffers(recurse=False)):
        new = state.get(prefix + name)
        if new is not None and new.shape[1:] == old.shape[1:] and new.dim() == old.dim():
            setattr(module, name, old.new_empty(new.shape))


def _check(forest: Forest, _: object) -> None:
    """Raise RuntimeError, as for other weights that do not fit, unless every row ends at a leaf."""
    index = torch.arange(forest.feature.numel(), device=forest.feature.device)
    sizes = {getattr(forest, name).shape[0] for name in ("feature", "threshold", "below", "above", "share")}
    is_leaf = (forest.below == index) & (forest.above == index) if sizes == {index.numel()} else None
    if (
        is_leaf is None
        or not bool((is_leaf | ((forest.below > index) & (forest.above > index))).all())
        or not _all_in(torch.cat([forest.below, forest.above, forest.roots]), index.numel())
        or not _all_in(forest.feature, forest.in_channels)
    ):
        raise RuntimeError("the table of tree nodes is no forest")


def _all_in(values: Tensor, stop: int) -> bool:
    return bool(((values >= 0) & (values < stop)).all())

"""LightGBM on each node's own features: boosted trees, the usual choice for tables of accounts or customers.

Inputs are x; no blocks. LightGBM, which the extra ``boosting`` installs, grows the trees on the training nodes when the
method is prepared, so that there are no epochs; the trees are stored as tensors, and predictions do not need LightGBM.

The number of trees is a setting: validation nodes do not stop the training. Equal data give equal trees for every seed,
because all rows and features are used for each tree; above 200,000 training nodes the seed selects those that LightGBM
reads for its bins.

Reference: Ke and others: LightGBM: A Highly Efficient Gradient Boosting Decision Tree, NIPS 2017.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mggcn.block import Block
from mggcn.errors import InputError
from mggcn.methods._trees import OfTrees, Trees
from mggcn.methods.method import GraphView
from mggcn.nn.rows import Rows
from mggcn.training import Count, Positive

_MOST_LEAVES = 131072


@dataclass(frozen=True)
class LightGBM(OfTrees):
    """LightGBM on the features of each node; of training's settings only ``scaling`` and ``threads`` matter.

    Attributes:
        trees: the number of trees, for each class if there are more than two.
        leaves: the largest number of leaves of a tree.
        shrinkage: the share of a tree that is added to those before it (LightGBM's ``learning_rate``).
    """

    trees: Count = 100
    min_leaf: Count = 20
    leaves: Count = 31
    shrinkage: Positive = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.leaves <= _MOST_LEAVES:
            raise InputError(f"leaves: {self.leaves} is not between 2 and {_MOST_LEAVES:,}")

    def model(self, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG002
        """The module, still without trees."""
        return Boosted(in_channels, out_channels)

    def grow(self, x: Any, labels: NDArray[np.int64], view: GraphView) -> Mapping[str, NDArray[Any]]:
        """The trees of LightGBM, for a binary objective if there are two classes."""
        try:
            import lightgbm
        except ImportError:
            raise InputError("lightgbm needs LightGBM: pip install 'mggcn[boosting]'") from None
        from sklearn.utils.class_weight import compute_sample_weight

        is_binary = view.num_classes == 2
        options = {
            **({"objective": "binary"} if is_binary else {"objective": "multiclass", "num_class": view.num_classes}),
            "num_leaves": self.leaves,
            "learning_rate": self.shrinkage,
            "max_depth": self.max_depth or -1,
            "min_data_in_leaf": self.min_leaf,
            "seed": view.key.fold("boosting").value >> 33,
            "num_threads": view.threads or 0,
            "deterministic": True,
            "force_row_wise": True,
            "verbosity": -1,
        }
        weights = compute_sample_weight("balanced", labels) if self.balanced else None
        rows = lightgbm.Dataset(x, labels, weight=weights, params=options)
        grown = lightgbm.train(options, rows, num_boost_round=self.trees)
        trees = [tree["tree_structure"] for tree in grown.dump_model()["tree_info"]]  # round by round, a tree a class
        return _table(trees, grown.num_model_per_iteration())


class Boosted(Trees):
    """Trees whose leaves give values, which are added up for each class; ``roots`` is [rounds, classes].

    With two classes there are trees for the second alone, and the first has the score 0.
    """

    value: Tensor

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, "value", 1)
        self.is_binary = out_channels == 2
        self.roots = torch.empty(0, 1 if self.is_binary else out_channels, dtype=torch.int64)

    def forward(self, x: Rows, blocks: Sequence[Block]) -> Tensor:  # noqa: ARG002
        """[n, out_channels] the logarithms of the probabilities."""
        values = self.value[:, 0][self.leaves(x)]  # [n, trees]
        scores = values.view(len(values), *self.roots.shape).sum(1)
        if self.is_binary:
            scores = torch.cat([torch.zeros_like(scores), scores], 1)
        return torch.log_softmax(scores, dim=1)


def _table(roots: Sequence[Mapping[str, Any]], classes: int) -> dict[str, NDArray[Any]]:
    """The buffers of :class:`Boosted` for trees as LightGBM's JSON has them; children are behind their parents."""
    rows: list[tuple[int, float, int, int, float]] = []
    starts = []
    for root in roots:
        starts.append(len(rows))
        rows += _tree(root, len(rows))
    feature, threshold, below, above, value = (np.array(column) for column in zip(*rows, strict=True))
    table = {"feature": feature, "threshold": threshold, "below": below, "above": above, "value": value[:, None]}
    return table | {"roots": np.array(starts).reshape(-1, classes)}


def _tree(root: Mapping[str, Any], start: int) -> Iterator[tuple[int, float, int, int, float]]:
    """Feature, threshold, child below, child above and value of each node of a tree, numbered from ``start``."""
    nodes = [root]
    for index, node in enumerate(nodes, start):
        if "left_child" in node:
            below = start + len(nodes)
            nodes += [node["left_child"], node["right_child"]]
            yield node["split_feature"], node["threshold"], below, below + 1, 0.0
        else:
            yield 0, 0.0, index, index, node["leaf_value"]

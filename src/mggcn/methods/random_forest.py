"""Random forests (Breiman) on each node's own features: what graph methods on tables of features must beat.

Inputs are x, as it is; no blocks. scikit-learn grows the trees on the training nodes when the method is prepared, so
that nothing is left to train by epochs; they are kept as tensors.

Differs from scikit-learn: one more tree, which gives every class the same share, so that no probability is 0.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import nn

from mggcn.dataset import UNLABELLED, Features
from mggcn.errors import InputError
from mggcn.methods.network import at_least_one
from mggcn.methods.recipe import GraphView, Recipe
from mggcn.nn.forest import Forest
from mggcn.sampling import RowSampler
from mggcn.train import View, Views
from mggcn.train.inputs import inputs_of


@dataclass(frozen=True)
class Config:
    """The random forest's settings; of those of training only ``scaling`` and ``threads`` have an effect.

    Attributes:
        trees: how many.
        max_depth: of a tree, in questions; 0 for no limit.
        min_leaf: training nodes in a leaf, at least.
        balanced: weigh each class by the inverse of its share of a tree's training nodes.
    """

    trees: int = 200
    max_depth: int = 0
    min_leaf: int = 1
    balanced: bool = False

    def __post_init__(self) -> None:
        at_least_one(self, "trees", "min_leaf")
        if self.max_depth < 0:
            raise InputError(f"max_depth: {self.max_depth} is less than 0")


def defaults(dataset: str) -> dict[str, object]:  # noqa: ARG001
    """Features as they are, since a tree asks no more of a feature than its order."""
    return {"scaling": "none"}


def model(config: Config, in_channels: int, out_channels: int, generator: torch.Generator | None) -> nn.Module:  # noqa: ARG001
    """A forest without trees yet."""
    return Forest(out_channels)


def views(config: Config, scene: GraphView) -> Views:
    """Prepare the features, and grow the trees the first time."""
    if isinstance(scene.model, Forest) and not scene.model.is_planted:
        _grow(config, scene, scene.model)
    inputs = inputs_of([scene.x], replace(scene.place, precision="fp32"))  # a rounded value may change sides
    view = View(inputs, RowSampler())
    return Views(view, view)


def _grow(config: Config, scene: GraphView, forest: Forest) -> None:
    from sklearn.ensemble import RandomForestClassifier

    nodes = np.flatnonzero(scene.known != UNLABELLED)
    if nodes.size == 0:
        raise InputError("random forest: no training labels")
    grown = RandomForestClassifier(
        config.trees,
        max_depth=config.max_depth or None,
        min_samples_leaf=config.min_leaf,
        class_weight="balanced_subsample" if config.balanced else None,
        random_state=scene.key.fold("forest").value >> 32,
        n_jobs=scene.place.threads or -1,
    ).fit(_short_indices(scene.x[nodes]), scene.known[nodes])
    forest.plant([_arrays(one.tree_, grown.classes_, forest.out_channels) for one in grown.estimators_])


def _short_indices(x: Features) -> Features:
    """Features as scikit-learn's trees take them: places of sparse ones in 32 bits."""
    if isinstance(x, np.ndarray):
        return x
    if x.nnz > np.iinfo(np.int32).max:
        raise InputError(f"random forest: {x.nnz:,} feature values of training nodes are more than scikit-learn takes")
    return csr_array((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def _arrays(tree: Any, present: NDArray[np.int64], num_classes: int) -> dict[str, NDArray[Any]]:
    """A tree of scikit-learn's, with a share for every class, those without training nodes included."""
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


RECIPE = Recipe(Config, model, views, defaults)

"""Decision trees on the features of a node, grown by another library and stored as tensors.

Inputs are x; no blocks. The trees are grown on the training nodes when the method is prepared, so that there are no
epochs.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor, nn

from mggcn.data import UNLABELLED
from mggcn.methods.method import GraphView, Method
from mggcn.nn.rows import Rows, to_dense
from mggcn.sampling.neighbor import RowSampler
from mggcn.training import Count, NaturalNumber, View, Views, inputs_of


@dataclass(frozen=True)
class OfTrees(Method):
    """The settings that methods of trees share; of training's settings only ``scaling`` and ``threads`` matter.

    Attributes:
        trees: the number of trees.
        max_depth: the largest depth of a tree; 0 for no limit.
        min_leaf: the smallest number of training nodes in a leaf.
        balanced: weight each class by the inverse of its share of the training nodes.
    """

    trees: Count = 200
    max_depth: NaturalNumber = 0
    min_leaf: Count = 1
    balanced: bool = False

    @abstractmethod
    def grow(self, x: Any, labels: NDArray[np.int64], view: GraphView) -> Mapping[str, NDArray[Any]]:
        """The buffers of :class:`Trees` grown on the features and labels of the training nodes."""

    def prepare(self, view: GraphView) -> Views:
        """The features; the trees are grown at the first call."""
        trees = view.model
        if isinstance(trees, Trees) and not trees.roots.numel():
            nodes = np.flatnonzero(view.known_labels != UNLABELLED)
            x = view.x[nodes]
            if not isinstance(x, np.ndarray):  # both libraries accept 32-bit indices only
                x = csr_matrix((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)
            trees.plant(self.grow(x, view.known_labels[nodes], view))
        inputs = inputs_of([view.x], replace(view.compute, precision="fp32"))  # rounding may cross a threshold
        return Views.same(View(inputs, RowSampler()))


class Trees(nn.Module):
    """Decision trees in one table of tree nodes; empty until trees are planted.

    An inner node sends rows whose value of its feature is at most its threshold to ``below`` and others to ``above``; a
    leaf sends every row to itself.

    Args:
        in_channels: the number of features.
        leaf: the name of the buffer of what a leaf gives.
        width: the number of values that a leaf gives.
    """

    feature: Tensor
    threshold: Tensor
    below: Tensor
    above: Tensor
    roots: Tensor

    def __init__(self, in_channels: int, leaf: str, width: int) -> None:
        super().__init__()
        self.in_channels = in_channels
        for name in ("feature", "below", "above", "roots"):
            self.register_buffer(name, torch.empty(0, dtype=torch.int64))
        self.register_buffer("threshold", torch.empty(0, dtype=torch.float64))
        self.register_buffer(leaf, torch.empty(0, width, dtype=torch.float64))
        self.register_load_state_dict_pre_hook(_make_room)  # type: ignore[no-untyped-call]
        self.register_load_state_dict_post_hook(_check)  # type: ignore[no-untyped-call]

    def plant(self, table: Mapping[str, NDArray[Any]]) -> None:
        """Store trees."""
        for name, array in table.items():
            setattr(self, name, torch.from_numpy(array).to(getattr(self, name)))

    def leaves(self, x: Rows) -> Tensor:
        """[n, trees] the leaf that each row reaches in each tree."""
        rows = to_dense(x)
        trees = self.roots.numel()
        position = self.roots.flatten().repeat(rows.shape[0])  # [n * trees]
        active = torch.arange(position.numel(), device=position.device)
        while active.numel():
            node = position[active]
            values = rows[active // trees, self.feature[node]]
            child = torch.where(values.double() <= self.threshold[node], self.below[node], self.above[node])
            position[active] = child
            active = active[child != node]
        return position.view(-1, trees)


def _make_room(module: nn.Module, state: Mapping[str, Any], prefix: str, *_: object) -> None:
    """Resize buffers to those about to be loaded, if only the number of tree nodes differs."""
    for name, old in list(module.named_buffers(recurse=False)):
        new = state.get(prefix + name)
        if new is not None and new.shape[1:] == old.shape[1:] and new.dim() == old.dim():
            setattr(module, name, old.new_empty(new.shape))


def _check(trees: Trees, _: object) -> None:
    """Raise RuntimeError, as for other weights that do not fit, unless every row ends at a leaf."""
    index = torch.arange(trees.feature.numel(), device=trees.feature.device)
    sizes = {buffer.shape[0] for name, buffer in trees.named_buffers(recurse=False) if name != "roots"}
    is_leaf = (trees.below == index) & (trees.above == index) if sizes == {index.numel()} else None
    if (
        is_leaf is None
        or not bool((is_leaf | ((trees.below > index) & (trees.above > index))).all())
        or not _all_in(torch.cat([trees.below, trees.above, trees.roots.flatten()]), index.numel())
        or not _all_in(trees.feature, trees.in_channels)
    ):
        raise RuntimeError("the table of tree nodes is no forest")


def _all_in(values: Tensor, stop: int) -> bool:
    return bool(((values >= 0) & (values < stop)).all())

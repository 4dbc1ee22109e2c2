"""A random forest as tensors: trees grown elsewhere, stored and evaluated like the weights of any other model."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from mggcn.block import Block
from mggcn.nn.rows import Rows, to_dense


class Forest(nn.Module):
    """Decision trees on the features of a node, whose class shares are averaged; empty until trees are planted.

    All trees are in one table of tree nodes. An inner node sends rows whose value of its feature is at most its
    threshold to ``below`` and others to ``above``; a leaf sends every row to itself.

    Args:
        in_channels: number of features.
        out_channels: number of classes.
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

    @property
    def is_planted(self) -> bool:
        """Whether it has trees."""
        return self.roots.numel() > 0

    def plant(self, trees: Sequence[Mapping[str, NDArray[Any]]]) -> None:
        """Store trees.

        Args:
            trees: for each tree ``feature``, ``threshold``, ``below`` and ``above`` [nodes], and ``share``
                [nodes, classes]; the root comes first, and a leaf's ``below`` is negative.
        """
        sizes = [tree["feature"].size for tree in trees]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        joined = {name: np.concatenate([tree[name] for tree in trees]) for name in ("feature", "threshold", "share")}
        index, is_leaf = np.arange(starts[-1]), np.concatenate([tree["below"] < 0 for tree in trees])
        for name in ("below", "above"):
            moved = [tree[name] + start for tree, start in zip(trees, starts, strict=False)]
            joined[name] = np.where(is_leaf, index, np.concatenate(moved))
        joined["feature"] = np.where(is_leaf, 0, joined["feature"])
        for name, array in {**joined, "roots": starts[:-1]}.items():
            old = getattr(self, name)
            setattr(self, name, torch.from_numpy(np.ascontiguousarray(array)).to(old))

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

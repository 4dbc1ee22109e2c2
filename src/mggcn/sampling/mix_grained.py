"""Batches for MG-GCN: picks by Algorithm 1, then a coarse block per middle layer and a skip block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, Block
from mggcn.kernels.pick import Explore, PickTable
from mggcn.keys import Key
from mggcn.sampling import grains


@dataclass(frozen=True, eq=False)
class MixGrainedSampler:
    """Draws S(v) for every target and turns it into blocks.

    Args:
        table: the prepared graph.
        picks: the paper's M.
        layers: of the model; the first, fine one needs no block.
        include_target: whether the skip mean counts the target.
        padding: what stands for missing picks, see :func:`mggcn.sampling.grains.skip`.
        fixed_key: draw with this key every time instead of the epoch's, so that the picks stay the same.
        threads: of the kernels; all cores when None. The result does not depend on it.
        coarse_self: whether every row hears itself in coarse blocks, see :func:`mggcn.sampling.grains.coarse`.
        has_fine: whether the first layer is fine, see :func:`mggcn.sampling.grains.schedule`.
        has_skip: whether the last layer is a skip connection.
        explore: whose neighbours are picked, see :meth:`mggcn.kernels.pick.PickTable.draw`.
    """

    table: PickTable
    picks: int
    layers: int = 2
    include_target: bool = True
    padding: grains.Padding = "target"
    fixed_key: Key | None = None
    threads: int | None = None
    coarse_self: bool = False
    has_fine: bool = True
    has_skip: bool = True
    explore: Explore = "both"

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; all picks are drawn in the call."""
        if isinstance(targets, Tensor):
            targets = targets.cpu().numpy()
        if self._schedule == ("fine",):
            members = targets[:, None]
        else:
            key = self.fixed_key or key
            members = self.table.draw(targets, self.picks, key, explore=self.explore, threads=self.threads)
        return self._assemble(targets, members, batch_size)

    def _assemble(self, targets: NDArray[np.int64], members: NDArray[Any], batch_size: int) -> Iterator[Batch]:
        for start in range(0, targets.size, batch_size):
            part = members[start : start + batch_size]
            chosen = torch.from_numpy(targets[start : start + batch_size])
            yield Batch(grains.rows(part), self.blocks(part), chosen)

    def blocks(self, picks: NDArray[Any]) -> tuple[Block, ...]:
        """The blocks of a batch, one per layer that is not fine, from its [b, 1 + picks] picks."""
        blocks: list[Block] = []
        coarse: Block | None = None
        for grain in self._schedule:
            if grain in ("coarse", "near") and coarse is None:
                graph, include_self = self.table.graph, self.coarse_self
                coarse = grains.coarse(graph, picks, include_self=include_self, threads=self.threads)
            if grain == "coarse" and coarse is not None:
                blocks.append(coarse)
            elif grain == "near" and coarse is not None:
                blocks.append(grains.near(coarse, picks.shape[0]))
            elif grain == "skip":
                blocks.append(grains.skip(picks, include_target=self.include_target, padding=self.padding))
        return tuple(blocks)

    @property
    def _schedule(self) -> tuple[grains.Grain, ...]:
        return grains.schedule(self.layers, has_fine=self.has_fine, has_skip=self.has_skip)

"""Batches for MG-GCN: picks by Algorithm 1, then a coarse block per middle layer and a skip block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mggcn._io.arrays import shared_tensor
from mggcn.block import Batch, Block, CPUSampler
from mggcn.kernels.pick import Explore, PickTable
from mggcn.keys import Key
from mggcn.sampling import grains


@dataclass(frozen=True, eq=False)
class MixGrainedSampler(CPUSampler, draws_per_target=True):
    """Draws S(v) for every target and makes blocks from it.

    Args:
        table: the prepared graph.
        picks: the paper's M.
        layers: the number of layers of the model; the first, fine layer needs no block.
        include_target: whether the skip mean includes the target.
        padding: how missing picks are counted, see :func:`mggcn.sampling.grains.skip`.
        fixed_key: draw with this key in every pass instead of the pass's key, so that the picks stay the same.
        threads: of the kernels; all cores when None. The result does not depend on it.
        coarse_self: whether every row is a sender of itself in coarse blocks, see :func:`mggcn.sampling.grains.coarse`.
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
            batch_targets = shared_tensor(targets[start : start + batch_size])
            yield Batch(grains.rows(part), self.blocks(part), batch_targets)

    def blocks(self, picks: NDArray[Any]) -> tuple[Block, ...]:
        """The blocks of a batch, one per layer that is not fine, from its [b, 1 + picks] picks."""
        blocks: dict[grains.Grain, Block] = {}
        if "coarse" in self._schedule or "near" in self._schedule:
            graph, include_self = self.table.graph, self.coarse_self
            blocks["coarse"] = grains.coarse(graph, picks, include_self=include_self, threads=self.threads)
            blocks["near"] = grains.near(blocks["coarse"], picks.shape[0])
        if "skip" in self._schedule:
            blocks["skip"] = grains.skip(picks, include_target=self.include_target, padding=self.padding)
        return tuple(blocks[grain] for grain in self._schedule if grain != "fine")

    @property
    def _schedule(self) -> tuple[grains.Grain, ...]:
        return grains.schedule(self.layers, has_fine=self.has_fine, has_skip=self.has_skip)

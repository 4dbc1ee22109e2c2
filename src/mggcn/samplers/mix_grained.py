"""Batches for MG-GCN: picks by Algorithm 1, then a coarse block per middle layer and a skip block."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn import grains
from mggcn.block import Batch, Block
from mggcn.kernels.pick import PickTable
from mggcn.keys import Key


@dataclass(frozen=True, eq=False)
class MixGrainedSampler:
    """Draws S(v) for every target and turns it into blocks.

    Args:
        table: the prepared graph.
        picks: the paper's M.
        layers: of the model; the first, fine one needs no block.
        include_target: whether the skip mean counts the target.
        padding: what stands for missing picks, see :func:`mggcn.grains.skip`.
        fixed_key: draw with this key every time instead of the epoch's, so that the picks stay the same.
        threads: of the kernels; all cores when None. The result does not depend on it.
    """

    table: PickTable
    picks: int
    layers: int = 2
    include_target: bool = True
    padding: grains.Padding = "target"
    fixed_key: Key | None = None
    threads: int | None = None

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``; all picks are drawn in the call."""
        if isinstance(targets, Tensor):
            targets = targets.cpu().numpy()
        if "skip" in grains.schedule(self.layers):
            members = self.table.draw(targets, self.picks, self.fixed_key or key, threads=self.threads)
        else:
            members = targets[:, None]
        return self._assemble(targets, members, batch_size)

    def _assemble(self, targets: NDArray[np.int64], members: NDArray[Any], batch_size: int) -> Iterator[Batch]:
        for start in range(0, targets.size, batch_size):
            part = members[start : start + batch_size]
            chosen = torch.from_numpy(targets[start : start + batch_size])
            yield Batch(grains.rows(part), self.blocks(part), chosen)

    def blocks(self, picks: NDArray[Any]) -> tuple[Block, ...]:
        """The blocks of a batch, one per layer after the first, from its [b, 1 + picks] picks."""
        schedule = grains.schedule(self.layers)
        blocks: list[Block] = []
        if "coarse" in schedule:
            blocks = [grains.coarse(self.table.graph, picks, threads=self.threads)] * schedule.count("coarse")
        if "skip" in schedule:
            blocks.append(grains.skip(picks, include_target=self.include_target, padding=self.padding))
        return tuple(blocks)

"""Shares: each rank draws its part of every batch, and weighs it by the size of the whole batch."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, Nodes, Sampler
from mggcn.keys import Key
from mggcn.training._ranks import Ranks


@dataclass(frozen=True, eq=False)
class Shares:
    """Draws this rank's share of every batch of a sampler, so that losses of the ranks add up to that of one process.

    All ranks have the same number of batches. A rank without a share of the last one, which can be smaller than the
    number of ranks, has an empty batch in its place.

    Args:
        sampler: declares ``draws_per_target``: what it draws for a target does not depend on the rest of the batch.
        ranks: the processes that train together.
        labels: [num_nodes] on the model's device.
        class_weight: [num_classes] or None.
    """

    sampler: Sampler
    ranks: Ranks
    labels: Tensor
    class_weight: Tensor | None

    @property
    def device(self) -> torch.device:
        """The device on which the sampler draws."""
        return self.sampler.device

    def batches(self, targets: Nodes | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:
        """One pass over ``targets``, which all ranks have in the same order; ``batch_size`` is that of all ranks."""
        count = len(targets)
        sizes = [min(batch_size, count - start) for start in range(0, count, batch_size)]
        rows = self._rows(sizes, batch_size)
        own = targets[torch.from_numpy(rows).to(targets.device)] if isinstance(targets, Tensor) else targets[rows]
        size = self.ranks.part(batch_size)
        drawn = self.sampler.batches(own, key, size.stop - size.start)
        return self._weighted(drawn, sizes, self._factors(targets, sizes))

    def _rows(self, sizes: list[int], batch_size: int) -> NDArray[np.int64]:
        """The positions of this rank's targets."""
        parts = [self.ranks.part(size) for size in sizes]
        ranges = [np.arange(part.start, part.stop) + n * batch_size for n, part in enumerate(parts)]
        return np.concatenate(ranges) if ranges else np.empty(0, np.int64)

    def _factors(self, targets: Nodes | Tensor, sizes: list[int]) -> Tensor:
        """[batches] the factor of a target's loss in every batch: 1 over the sum of the whole batch's weights."""
        counts = torch.tensor(sizes, device=self.labels.device)
        if self.class_weight is None:
            return 1 / counts.float()
        nodes = torch.as_tensor(targets).long().to(self.labels.device)
        number = torch.repeat_interleave(torch.arange(len(sizes), device=counts.device), counts)
        totals = torch.zeros(len(sizes), device=counts.device, dtype=torch.float64)
        return (1 / totals.index_add(0, number, self.class_weight[self.labels[nodes]].double())).float()

    def _weighted(self, drawn: Iterator[Batch], sizes: list[int], factors: Tensor) -> Iterator[Batch]:
        if factors.is_cuda:
            factors.record_stream(torch.cuda.current_stream())
        nothing = torch.empty(0, dtype=torch.int64, device=self.device)
        for size, factor in zip(sizes, factors, strict=True):
            part = self.ranks.part(size)
            batch = next(drawn) if part.stop > part.start else Batch(nothing, (), nothing)
            yield replace(batch, weight=factor.expand(batch.targets.numel()).contiguous(), count=size)

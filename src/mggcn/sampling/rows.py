"""Batches of targets without blocks, for models that read only the target's own features."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, CPUSampler, node_ids
from mggcn.keys import Key


@dataclass(frozen=True)
class RowSampler(CPUSampler):
    """Cuts the targets into batches without blocks."""

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``."""
        nodes = torch.from_numpy(node_ids(targets))
        return (Batch(part, (), part) for part in torch.split(nodes, batch_size))

"""Targets alone: for models that read nothing but their own rows."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.block import Batch, node_numbers
from mggcn.keys import Key


@dataclass(frozen=True)
class RowSampler:
    """Cuts targets into batches without blocks."""

    @property
    def device(self) -> torch.device:
        """The CPU."""
        return torch.device("cpu")

    def batches(self, targets: NDArray[np.int64] | Tensor, key: Key, batch_size: int) -> Iterator[Batch]:  # noqa: ARG002
        """One pass over ``targets``."""
        chosen = torch.from_numpy(node_numbers(targets))
        return (Batch(part, (), part) for part in torch.split(chosen, batch_size))

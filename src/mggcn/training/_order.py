"""The order in which an epoch visits its targets: sorted by a hash of the position, the same on every device."""

from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mggcn.keys import GOLDEN, MIX_1, MIX_2, Key, folds

Targets: TypeAlias = NDArray[np.int64] | Tensor


def shuffled(targets: Targets, key: Key) -> Targets:
    """The targets, sorted by ``fold(key, position)`` on the device that holds them."""
    if isinstance(targets, Tensor):
        return targets[torch.argsort(_folds_on(targets.device, key.value, targets.numel()), stable=True)]
    return targets[np.argsort(folds(key.value, targets.size), kind="stable")]


def _folds_on(device: torch.device, value: int, count: int) -> Tensor:
    """The hashes as signed integers in the order of the unsigned ones."""
    z = torch.arange(1, count + 1, device=device) * _signed(GOLDEN) + _signed(value)
    z = (z ^ _shift(z, 30)) * _signed(MIX_1)
    z = (z ^ _shift(z, 27)) * _signed(MIX_2)
    return z ^ _shift(z, 31) ^ -(1 << 63)


def _shift(z: Tensor, bits: int) -> Tensor:
    """An unsigned right shift."""
    return (z >> bits) & ((1 << (64 - bits)) - 1)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value

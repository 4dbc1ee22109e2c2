"""Dropout of hidden units."""

import torch
from torch import Tensor
from torch.nn import functional

from mggcn.kernels import dropout as kernel
from mggcn.keys import MASK, Key


def dropout(h: Tensor, share: float, training: bool) -> Tensor:
    """Set a share of hidden units to zero and scale the others up, in training only.

    On a CPU torch's generator is read once per call, for the key of the kernel; on a GPU it is torch's dropout.

    Args:
        h: [n, channels].
        share: in [0, 1).
        training: whether the module is in training.
    """
    if not (training and share):
        return h
    if h.device.type != "cpu" or h.dtype != torch.float32:
        return functional.dropout(h, share)
    key = Key(int(torch.randint(-(2**63), 2**63 - 1, ())) & MASK)
    return kernel.dropout(h, torch.arange(h.shape[0]), share, key, threads=torch.get_num_threads())

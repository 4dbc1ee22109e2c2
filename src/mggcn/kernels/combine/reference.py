"""A grouped layer: concat(σ(h_t), mean of σ(h) over the group of t) times W, with σ the leaky ReLU."""

import torch
from torch import Tensor
from torch.nn import functional


def combine(h: Tensor, group: int, slope: float) -> Tensor:
    """[group · b, channels] to [b, 2 · channels]; row ``i·b + t`` is member i of group t, and member 0 is t."""
    active = functional.leaky_relu(h, slope).view(group, -1, h.shape[1])
    return torch.cat([active[0], active.mean(dim=0)], dim=1)


def combine_project(h: Tensor, group: int, slope: float, weight: Tensor) -> Tensor:
    """The combination times a [2 · channels, out] matrix: [b, out]."""
    return combine(h, group, slope) @ weight

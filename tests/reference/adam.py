"""Adam (Kingma and Ba, Algorithm 1) with an L2 penalty, in plain torch."""

import torch
from torch import Tensor


def step(weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor, count: int, lr: float, decay: float) -> None:
    """Update a tensor and its two moments in place; ``count`` is the number of this step, from 1."""
    beta_1, beta_2, epsilon = 0.9, 0.999, 1e-8
    gradient = gradient + decay * weight
    first.mul_(beta_1).add_((1 - beta_1) * gradient)
    second.mul_(beta_2).add_((1 - beta_2) * gradient * gradient)
    size = lr / (1 - beta_1**count)
    root = torch.sqrt(second) / (1 - beta_2**count) ** 0.5
    weight.sub_(size * first / (root + epsilon))

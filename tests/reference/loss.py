"""Cross-entropy and its gradient in plain torch."""

import torch
from torch import Tensor
from torch.nn import functional


def cross_entropy(
    scores: Tensor, labels: Tensor, class_weight: Tensor | None, smoothing: float = 0.0
) -> tuple[Tensor, Tensor]:
    """The mean loss of [b, classes] scores and its gradient [b, classes], weighted by class if weights are given."""
    leaf = scores.detach().clone().requires_grad_(True)
    loss = functional.cross_entropy(leaf, labels.long(), weight=class_weight, label_smoothing=smoothing)
    (gradient,) = torch.autograd.grad(loss, leaf)
    return loss.detach(), gradient

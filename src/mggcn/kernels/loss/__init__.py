"""Cross-entropy with its gradient, fused."""

import numpy as np
import torch
from torch import Tensor


def cross_entropy(
    scores: Tensor, labels: Tensor, targets: Tensor, class_weight: Tensor | None, total: Tensor
) -> Tensor:
    """The gradient of the mean cross-entropy; b times the loss is added to a running total.

    Args:
        scores: [b, classes], detached.
        labels: [num_nodes].
        targets: [b] the nodes whose labels count.
        class_weight: [classes]; the mean is then weighted.
        total: [1] the running total.

    Returns:
        [b, classes] the gradient of the scores.
    """
    gradient = torch.empty_like(scores)
    if scores.device.type == "cpu":
        from mggcn.kernels.loss import cpu

        weight = torch.ones(scores.shape[1]) if class_weight is None else class_weight
        chosen = labels[targets.long()].numpy()
        total += scores.shape[0] * cpu.cross_entropy(
            scores.numpy(), chosen, np.asarray(weight, np.float32), gradient.numpy()
        )
    else:
        from mggcn.kernels.loss import gpu

        gpu.cross_entropy(scores, labels, targets, class_weight, total, gradient)
    return gradient

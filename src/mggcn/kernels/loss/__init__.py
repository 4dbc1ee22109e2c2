"""Cross-entropy with its gradient, fused."""

import numpy as np
import torch
from torch import Tensor


def cross_entropy(
    scores: Tensor, labels: Tensor, targets: Tensor, class_weight: Tensor | None, tally: Tensor
) -> Tensor:
    """The gradient of the mean cross-entropy; b times the loss, and one batch, are added to a tally.

    Args:
        scores: [b, classes], detached.
        labels: [num_nodes].
        targets: [b] the nodes whose labels count.
        class_weight: [classes]; the mean is then weighted.
        tally: [2] the sum of the losses of all targets so far, and the number of batches so far.

    Returns:
        [b, classes] the gradient of the scores.
    """
    gradient = torch.empty_like(scores)
    if scores.device.type == "cpu":
        from mggcn.kernels.loss import cpu

        weight = torch.ones(scores.shape[1]) if class_weight is None else class_weight
        chosen = labels[targets.long()].numpy()
        loss = cpu.cross_entropy(scores.numpy(), chosen, np.asarray(weight, np.float32), gradient.numpy())
        tally[0] += scores.shape[0] * loss
        tally[1] += 1
    else:
        from mggcn.kernels.loss import gpu

        gpu.cross_entropy(scores, labels, targets, class_weight, tally, gradient)
    return gradient

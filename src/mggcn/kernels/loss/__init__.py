"""Cross-entropy and its gradient in one kernel."""

import torch
from torch import Tensor

from mggcn.kernels.loss import cpu


def cross_entropy(
    scores: Tensor,
    labels: Tensor,
    targets: Tensor,
    class_weight: Tensor | None,
    tally: Tensor,
    smoothing: float = 0.0,
) -> Tensor:
    """Compute the gradient of the mean cross-entropy, and add b times the loss and one batch to a tally.

    Args:
        scores: [b, classes], detached.
        labels: [num_nodes].
        targets: [b] the node of each row of scores.
        class_weight: [classes]; the mean is then weighted.
        tally: [2] the sum of the losses of all targets so far, and the number of batches so far.
        smoothing: the share of a target's probability that is spread evenly over all classes.

    Returns:
        [b, classes] the gradient of the scores.
    """
    gradient = torch.empty_like(scores)
    if scores.device.type == "cpu":
        cpu.cross_entropy(scores, labels, targets, class_weight, tally, gradient, smoothing)
    else:
        from mggcn.kernels.loss import gpu

        gpu.cross_entropy(scores, labels, targets, class_weight, tally, gradient, smoothing)
    return gradient

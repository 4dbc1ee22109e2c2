"""Cross-entropy and its gradient in one kernel; on a CPU torch computes the exponentials, with vector instructions."""

import numpy as np
import torch
from torch import Tensor

from mggcn.kernels._compiled import compiled


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
    if scores.device.type != "cpu":
        from mggcn.kernels.gpu import loss as gpu

        gradient = torch.empty_like(scores)
        gpu.cross_entropy(scores, labels, targets, class_weight, tally, gradient, smoothing)
        return gradient
    weight = np.ones(scores.shape[1], np.float32) if class_weight is None else class_weight.numpy()
    logs = torch.log_softmax(scores, dim=1)
    gradient = torch.exp(logs)
    _finish(smoothing, logs.numpy(), labels.numpy(), targets.numpy(), weight, tally.numpy(), gradient.numpy())
    return gradient


@compiled
def _finish(smoothing, logs, labels, targets, weight, tally, out):
    """Replace the probabilities in ``out`` by the gradient, and add up the loss from their logarithms."""
    b, classes = out.shape
    mean = weight.mean()
    share = 0.0
    for t in range(b):
        share += weight[labels[targets[t]]]
    total = 0.0
    for t in range(b):
        label, row = labels[targets[t]], out[t]
        if smoothing == 0.0:
            factor = np.float32(weight[label] / share)
            total -= factor * logs[t, label]
            for c in range(classes):
                row[c] *= factor
            row[label] -= factor
            continue
        own = (1 - smoothing) * weight[label]
        mass = own + smoothing * mean
        total -= own * logs[t, label] / share
        for c in range(classes):
            spread = smoothing / classes * weight[c]
            total -= spread * logs[t, c] / share
            row[c] = (mass * row[c] - spread) / share
        row[label] -= own / share
    tally[0] += b * total
    tally[1] += 1

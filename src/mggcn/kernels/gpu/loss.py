"""Cross-entropy and its gradient in Triton: one launch, which adds the loss to a running total on the device."""

import triton
import triton.language as tl
from torch import Tensor

from mggcn.kernels.gpu._early import options, wait_for_inputs

ROWS = tl.constexpr(4)


@triton.jit
def _cross_entropy(
    scores,
    labels,
    targets,
    weight,
    share,
    tally,
    out,
    b,
    smoothing,
    CLASSES: tl.constexpr,
    WIDTH: tl.constexpr,
    WEIGHTED: tl.constexpr,
    SMOOTHED: tl.constexpr,
    EARLY: tl.constexpr,
):
    wait_for_inputs(EARLY)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)[None, :]
    inside = row < b
    cells = row[:, None] * CLASSES + column
    mask = inside[:, None] & (column < CLASSES)
    label = tl.load(labels + tl.load(targets + row, mask=inside, other=0), mask=inside, other=0)
    value = tl.load(scores + cells, mask=mask, other=float("-inf")).to(tl.float32)
    value = tl.where(inside[:, None], value, 0.0)
    largest = tl.max(value, axis=1)
    power = tl.exp(value - largest[:, None])
    norm = tl.sum(power, axis=1)
    is_label = column == label[:, None]
    label_value = tl.sum(tl.where(is_label, value, 0.0), axis=1)
    factor = 1.0 / b
    if WEIGHTED:
        factor = tl.load(weight + label, mask=inside, other=0.0) / tl.load(share)
    factor = tl.where(inside, factor, 0.0)
    log_norm = tl.log(norm) + largest
    if SMOOTHED:
        spread = smoothing / CLASSES / b
        if WEIGHTED:
            spread = smoothing / CLASSES * tl.load(weight + column, mask=column < CLASSES, other=0.0) / tl.load(share)
        wanted = tl.where(mask, tl.where(is_label, (1 - smoothing) * factor[:, None], 0.0) + spread, 0.0)
        gradient = tl.sum(wanted, axis=1)[:, None] * power / norm[:, None] - wanted
        loss = tl.sum(wanted * tl.where(mask, log_norm[:, None] - value, 0.0), axis=1)
    else:
        gradient = factor[:, None] * (power / norm[:, None] - tl.where(is_label, 1.0, 0.0))
        loss = factor * (tl.log(norm) - (label_value - largest))
    tl.store(out + cells, gradient, mask=mask)
    tl.atomic_add(tally, tl.sum(loss, axis=0) * b)
    if tl.program_id(0) == 0:
        tl.store(tally + 1, tl.load(tally + 1) + 1.0)


def cross_entropy(
    scores: Tensor,
    labels: Tensor,
    targets: Tensor,
    weight: Tensor | None,
    tally: Tensor,
    out: Tensor,
    smoothing: float = 0.0,
) -> None:
    """Fill ``out`` with the gradient of the mean loss and add b times that loss and one batch to ``tally`` [2]."""
    b, classes = scores.shape
    share = weight[labels[targets]].sum() if weight is not None else tally
    arrays = (scores, labels, targets, tally if weight is None else weight, share, tally, out)
    sizes = {"CLASSES": classes, "WIDTH": triton.next_power_of_2(classes)}
    kinds = {"WEIGHTED": weight is not None, "SMOOTHED": smoothing > 0}
    _cross_entropy[(triton.cdiv(b, ROWS.value),)](*arrays, b, smoothing, **sizes, **kinds, **options(scores))

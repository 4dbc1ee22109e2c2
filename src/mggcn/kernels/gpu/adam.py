"""Adam in Triton. The number of the step is on the device, so that a captured step can be replayed."""

from collections.abc import Sequence

import triton
import triton.language as tl
from torch import Tensor

from mggcn.kernels.gpu._early import options, wait_for_inputs

_CELLS = 512


@triton.jit
def _update(weight, gradient, first, second, size, block, count, lr, decay, CELLS: tl.constexpr):
    cell = block * CELLS + tl.arange(0, CELLS)
    inside = cell < size
    number = tl.load(count).to(tl.float32)
    correction_1 = 1.0 - tl.exp2(number * -0.15200309344504997)  # log2 of 0.9
    correction_2 = 1.0 - tl.exp2(number * -0.0014434169109660206)  # log2 of 0.999
    w = tl.load(weight + cell, mask=inside, other=0.0)
    g = tl.load(gradient + cell, mask=inside, other=0.0).to(tl.float32) + decay * w
    m = 0.9 * tl.load(first + cell, mask=inside, other=0.0) + 0.1 * g
    v = 0.999 * tl.load(second + cell, mask=inside, other=0.0) + 0.001 * g * g
    tl.store(first + cell, m, mask=inside)
    tl.store(second + cell, v, mask=inside)
    update = lr / correction_1 * m / (tl.sqrt(v) / tl.sqrt(correction_2) + 1e-8)
    tl.store(weight + cell, w - update, mask=inside)


@triton.jit
def _step(weights, gradients, firsts, seconds, sizes, count, lr, decay, CELLS: tl.constexpr, EARLY: tl.constexpr):
    wait_for_inputs(EARLY)
    block = tl.program_id(0)
    for i in tl.static_range(len(weights)):
        if block >= 0 and block < tl.cdiv(sizes[i], CELLS):
            _update(weights[i], gradients[i], firsts[i], seconds[i], sizes[i], block, count, lr, decay, CELLS)
        block -= tl.cdiv(sizes[i], CELLS)


def step(
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    firsts: Sequence[Tensor],
    seconds: Sequence[Tensor],
    count: Tensor,
    lr: float,
    decay: float,
) -> None:
    """Update tensors and their moments in place, all in one launch; ``count`` [1] holds the number of this step."""
    sizes = tuple(weight.numel() for weight in weights)
    arrays = (tuple(tensors) for tensors in (weights, gradients, firsts, seconds))
    grid = (sum(triton.cdiv(size, _CELLS) for size in sizes),)
    _step[grid](*arrays, sizes, count, lr, decay, CELLS=_CELLS, **options(count))

"""Adam in Triton. The number of the step is on the device, so that a captured step can be replayed."""

import triton
import triton.language as tl
from torch import Tensor

_CELLS = 512


@triton.jit
def _step(weight, gradient, first, second, count, lr, decay, size, CELLS: tl.constexpr):
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
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


def step(
    weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor, count: Tensor, lr: float, decay: float
) -> None:
    """Update a tensor and its moments in place; ``count`` [1] holds the number of this step."""
    size = weight.numel()
    _step[(triton.cdiv(size, _CELLS),)](weight, gradient, first, second, count, lr, decay, size, CELLS=_CELLS)

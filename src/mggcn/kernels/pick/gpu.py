"""The pick kernel in Triton: bit-identical to the reference, all targets of an epoch in one launch.

A program draws for ``LANES`` targets at once, one per lane; a target's set S is a row of registers [LANES, WIDTH]. The
searches run until the last lane is done.
"""

import triton
import triton.language as tl
from torch import Tensor

from mggcn.kernels.pick.reference import TRIALS
from mggcn.keys import GOLDEN, MIX_1, MIX_2, Key

LANES = 32


@triton.jit
def _fold(value, n, golden: tl.constexpr, mix_1: tl.constexpr, mix_2: tl.constexpr):
    z = value + tl.full([], golden, tl.uint64) * (n.to(tl.uint64) + 1)
    z = (z ^ (z >> 30)) * tl.full([], mix_1, tl.uint64)
    z = (z ^ (z >> 27)) * tl.full([], mix_2, tl.uint64)
    return z ^ (z >> 31)


@triton.jit
def _first_above(sums, low, high, value):
    """In sums[low … high] the first place above value, lane by lane; ``high`` where low == high."""
    while tl.max((low < high).to(tl.int32)) > 0:
        middle = (low + high) // 2
        found = tl.load(sums + middle, mask=low < high, other=0)
        above = found > value
        active = low < high
        high = tl.where(active & above, middle, high)
        low = tl.where(active & (found <= value), middle + 1, low)
    return low


@triton.jit
def _holds(indptr, indices, row, node, active):
    """Whether each sorted row holds each node; False where inactive."""
    low = tl.load(indptr + row, mask=active, other=0)
    end = tl.load(indptr + row + 1, mask=active, other=0)
    high = end
    while tl.max(tl.max((low < high).to(tl.int32), axis=1), axis=0) > 0:
        middle = (low + high) // 2
        less = tl.load(indices + middle, mask=low < high, other=0) < node
        searching = low < high
        high = tl.where(searching & (less == 0), middle, high)
        low = tl.where(searching & less, middle + 1, low)
    return active & (low < end) & (tl.load(indices + low, mask=active & (low < end), other=-1) == node)


@triton.jit
def _is_candidate(
    indptr,
    indices,
    chosen,
    column,
    size,
    place,
    w,
    active,
    SYMMETRIC: tl.constexpr,
):
    """Whether w [LANES] is outside S and no member before ``place`` neighbours it."""
    inside = tl.max(((chosen == w[:, None]) & (column < size)).to(tl.int32), axis=1) > 0
    check = (column < place[:, None]) & (active & (inside == 0))[:, None]
    row = chosen
    node = tl.broadcast_to(w[:, None], chosen.shape)
    if SYMMETRIC:
        mine = tl.load(indptr + chosen + 1, mask=check, other=0) - tl.load(indptr + chosen, mask=check, other=0)
        other = tl.load(indptr + node + 1, mask=check, other=0) - tl.load(indptr + node, mask=check, other=0)
        row = tl.where(other < mine, node, chosen)
        node = tl.where(other < mine, chosen, node)
    earlier = tl.max(_holds(indptr, indices, row, node, check).to(tl.int32), axis=1) > 0
    return active & (inside == 0) & (earlier == 0)


@triton.jit
def _enumerate(
    indptr,
    indices,
    weights,
    chosen,
    column,
    size,
    value,
    active,
    SYMMETRIC: tl.constexpr,
):
    """List the candidates of the active lanes, first to sum their weights, then to take one; -1 where none is left."""
    total = tl.zeros_like(value).to(tl.int64)
    left = total
    found = total - 1
    for sweep in tl.static_range(2):
        if sweep == 1:
            left = tl.umulhi(value, total.to(tl.uint64)).to(tl.int64)
        for place in range(size):
            member = tl.sum(tl.where(column == place, chosen, 0), axis=1)
            edge = tl.load(indptr + member, mask=active, other=0)
            end = tl.load(indptr + member + 1, mask=active, other=0)
            while tl.max((edge < end).to(tl.int32)) > 0:
                here = edge < end
                w = tl.load(indices + edge, mask=here, other=0).to(tl.int64)
                good = _is_candidate(
                    indptr, indices, chosen, column, size, tl.zeros_like(w) + place, w, here, SYMMETRIC
                )
                weight = tl.where(good, tl.load(weights + w, mask=good, other=0), 0)
                if sweep == 0:
                    total += weight
                else:
                    takes = good & (left >= 0) & (left < weight)
                    found = tl.where(takes, w, found)
                    left -= weight
                edge += 1
    return found


@triton.jit(do_not_specialize=["key_low", "key_high"])
def _pick(
    indptr,
    indices,
    sums,
    weights,
    targets,
    key_low,
    key_high,
    out,
    count,
    batch_size,
    PICKS: tl.constexpr,
    WIDTH: tl.constexpr,
    LANES: tl.constexpr,
    TRIALS: tl.constexpr,
    SYMMETRIC: tl.constexpr,
    GOLDEN: tl.constexpr,
    MIX_1: tl.constexpr,
    MIX_2: tl.constexpr,
):
    lane = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = lane < count
    target = tl.load(targets + lane, mask=inside, other=0).to(tl.int64)
    key = (key_high.to(tl.uint32, bitcast=True).to(tl.uint64) << 32) | key_low.to(tl.uint32, bitcast=True).to(tl.uint64)
    stream = _fold(key, target, GOLDEN, MIX_1, MIX_2)
    column = tl.arange(0, WIDTH)[None, :]
    chosen = tl.where(column == 0, target[:, None], -1)
    alive = inside
    for step in range(PICKS):
        size = step + 1
        member = (column < size) & alive[:, None]
        start = tl.load(indptr + chosen, mask=member, other=0)
        stop = tl.load(indptr + chosen + 1, mask=member, other=0)
        totals = tl.load(sums + stop - 1, mask=member & (stop > start), other=0).to(tl.int64)
        running = tl.cumsum(totals, axis=1)
        total = tl.sum(totals, axis=1)
        alive = alive & (total > 0)
        found = tl.zeros_like(target) - 1
        waiting = alive
        trial = 0
        while (trial < TRIALS) & (tl.max(waiting.to(tl.int32)) > 0):
            counter = tl.zeros_like(target) + (step * (TRIALS + 1) + trial)
            point = tl.umulhi(_fold(stream, counter, GOLDEN, MIX_1, MIX_2), total.to(tl.uint64)).to(tl.int64)
            place = tl.sum(((running <= point[:, None]) & (column < size)).to(tl.int64), axis=1)
            left = point - tl.sum(tl.where(column < place[:, None], totals, 0), axis=1)
            here = column == place[:, None]
            low = tl.sum(tl.where(here, start, 0), axis=1)
            high = tl.sum(tl.where(here, stop, 0), axis=1)
            edge = _first_above(sums, tl.where(waiting, low, 0), tl.where(waiting, high, 0), left)
            w = tl.load(indices + edge, mask=waiting, other=0).to(tl.int64)
            good = _is_candidate(indptr, indices, chosen, column, size, place, w, waiting, SYMMETRIC)
            found = tl.where(good, w, found)
            waiting = waiting & (good == 0)
            trial += 1
        if tl.max(waiting.to(tl.int32)) > 0:
            counter = tl.zeros_like(target) + (step * (TRIALS + 1) + TRIALS)
            value = _fold(stream, counter, GOLDEN, MIX_1, MIX_2)
            listed = _enumerate(indptr, indices, weights, chosen, column, size, value, waiting, SYMMETRIC)
            found = tl.where(waiting, listed, found)
        alive = alive & (found >= 0)
        chosen = tl.where((column == size) & alive[:, None], found[:, None], chosen)
    rows = tl.where(chosen < 0, target[:, None], chosen)
    first = lane // batch_size * batch_size
    size = tl.minimum(count - first, batch_size)
    place = first * (PICKS + 1) + (lane - first)
    tl.store(out + place[:, None] + column * size[:, None], rows, mask=inside[:, None] & (column <= PICKS))


def pick(
    indptr: Tensor,
    indices: Tensor,
    sums: Tensor,
    weights: Tensor,
    symmetric: bool,
    targets: Tensor,
    picks: int,
    key: Key,
    batch_size: int,
    out: Tensor,
) -> None:
    """Fill ``out`` [len(targets) · (1 + picks)] batch by batch, in each the targets first."""
    count = targets.numel()
    _pick[(triton.cdiv(count, LANES),)](
        indptr,
        indices,
        sums,
        weights,
        targets,
        _signed(key.value & 0xFFFFFFFF),
        _signed(key.value >> 32),
        out,
        count,
        batch_size,
        PICKS=picks,
        WIDTH=triton.next_power_of_2(picks + 1),
        LANES=LANES,
        TRIALS=TRIALS,
        SYMMETRIC=symmetric,
        GOLDEN=GOLDEN,
        MIX_1=MIX_1,
        MIX_2=MIX_2,
        num_warps=1,
    )


def _signed(half: int) -> int:
    """Half a key as the 32-bit integer of the same bits."""
    return half - (1 << 32) if half >> 31 else half

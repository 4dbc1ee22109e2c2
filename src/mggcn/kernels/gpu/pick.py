"""The pick kernel in Triton: bit-identical to the reference, all targets of an epoch in one launch.

A program draws for ``LANES`` targets at once, one per lane; the set S of a target is a row of registers [LANES, WIDTH].
The searches run until the last lane is done.

For the sub-graphs that picks induce, each lane searches for one pair of members.
"""

import triton
import triton.language as tl
from torch import Tensor

from mggcn import keys
from mggcn.kernels import pick as on_cpu

LANES, TRIALS = tl.constexpr(32), tl.constexpr(on_cpu.TRIALS)
BREADTH, DEPTH = tl.constexpr(on_cpu.BREADTH), tl.constexpr(on_cpu.DEPTH)
_LANES = 128  # of the sub-graphs
GOLDEN, MIX_1, MIX_2 = tl.constexpr(keys.GOLDEN), tl.constexpr(keys.MIX_1), tl.constexpr(keys.MIX_2)


@triton.jit
def _fold(value, n):
    z = value + tl.full([], GOLDEN, tl.uint64) * (n.to(tl.uint64) + 1)
    z = (z ^ (z >> 30)) * tl.full([], MIX_1, tl.uint64)
    z = (z ^ (z >> 27)) * tl.full([], MIX_2, tl.uint64)
    return z ^ (z >> 31)


@triton.jit
def _first_above(sums, low, high, value):
    """The first index in sums[low … high] above value, for each lane; ``high`` where low == high."""
    while tl.max((low < high).to(tl.int32)) > 0:
        middle = (low + high) // 2
        running = tl.load(sums + middle, mask=low < high, other=0)
        active = low < high
        high = tl.where(active & (running > value), middle, high)
        low = tl.where(active & (running <= value), middle + 1, low)
    return low


@triton.jit
def is_neighbour(indptr, indices, u, w, active, SYMMETRIC: tl.constexpr):
    """Whether each w is in N(u), False where inactive; in a symmetric graph, the shorter of both rows is searched."""
    row, node = u, w
    if SYMMETRIC:
        u_degree = tl.load(indptr + u + 1, mask=active, other=0) - tl.load(indptr + u, mask=active, other=0)
        w_degree = tl.load(indptr + w + 1, mask=active, other=0) - tl.load(indptr + w, mask=active, other=0)
        row = tl.where(w_degree < u_degree, w, u)
        node = tl.where(w_degree < u_degree, u, w)
    low = tl.load(indptr + row, mask=active, other=0)
    end = tl.load(indptr + row + 1, mask=active, other=0)
    high = end
    while tl.max((low < high).to(tl.int32)) > 0:
        middle = (low + high) // 2
        less = tl.load(indices + middle, mask=low < high, other=0) < node
        searching = low < high
        high = tl.where(searching & (less == 0), middle, high)
        low = tl.where(searching & less, middle + 1, low)
    inside = active & (low < end)
    return inside & (tl.load(indices + low, mask=inside, other=-1) == node)


@triton.jit
def _is_candidate(indptr, indices, members, column, size, first, index, w, active, SYMMETRIC: tl.constexpr):
    """Whether w [LANES] is outside S and not a neighbour of a member from ``first`` on and before ``index``."""
    inside = tl.max(((members == w[:, None]) & (column < size)).to(tl.int32), axis=1) > 0
    check = (column >= first) & (column < index[:, None]) & (active & (inside == 0))[:, None]
    node = tl.broadcast_to(w[:, None], members.shape)
    earlier = tl.max(is_neighbour(indptr, indices, members, node, check, SYMMETRIC).to(tl.int32), axis=1) > 0
    return active & (inside == 0) & (earlier == 0)


@triton.jit
def _enumerate(indptr, indices, sums, members, column, size, first, end, value, active, SYMMETRIC: tl.constexpr):
    """List the candidates next to members first … end - 1, to sum their weights, then to take one; -1 if none."""
    total = tl.zeros_like(value).to(tl.int64)
    left = total
    node = total - 1
    for sweep in tl.static_range(2):
        if sweep == 1:
            left = tl.umulhi(value, total.to(tl.uint64)).to(tl.int64)
        for index in range(first, end):
            member = tl.sum(tl.where(column == index, members, 0), axis=1)
            start = tl.load(indptr + member, mask=active, other=0)
            edge = start
            stop = tl.load(indptr + member + 1, mask=active, other=0)
            while tl.max((edge < stop).to(tl.int32)) > 0:
                here = edge < stop
                w = tl.load(indices + edge, mask=here, other=0).to(tl.int64)
                position = tl.zeros_like(w) + index
                good = _is_candidate(indptr, indices, members, column, size, first, position, w, here, SYMMETRIC)
                before = tl.load(sums + edge - 1, mask=good & (edge > start), other=0).to(tl.int64)
                weight = tl.where(good, tl.load(sums + edge, mask=good, other=0).to(tl.int64) - before, 0)
                if sweep == 0:
                    total += weight
                else:
                    takes = good & (left >= 0) & (left < weight)
                    node = tl.where(takes, w, node)
                    left -= weight
                edge += 1
    return node


@triton.jit(do_not_specialize=["key_low", "key_high"])
def _pick(
    indptr,
    indices,
    sums,
    targets,
    names,
    key_low,
    key_high,
    out,
    count,
    batch_size,
    PICKS: tl.constexpr,
    WIDTH: tl.constexpr,
    SYMMETRIC: tl.constexpr,
    EXPLORE: tl.constexpr,
):
    lane = tl.program_id(0).to(tl.int64) * LANES + tl.arange(0, LANES)
    inside = lane < count
    target = tl.load(targets + lane, mask=inside, other=0).to(tl.int64)
    key = (key_high.to(tl.uint32, bitcast=True).to(tl.uint64) << 32) | key_low.to(tl.uint32, bitcast=True).to(tl.uint64)
    stream = _fold(key, tl.load(names + lane, mask=inside, other=0))
    column = tl.arange(0, WIDTH)[None, :]
    members = tl.where(column == 0, target[:, None], -1)
    alive = inside
    for step in range(PICKS):
        size = step + 1
        first = step if EXPLORE == DEPTH else 0
        end = 1 if EXPLORE == BREADTH else size
        is_member = (column >= first) & (column < end) & alive[:, None]
        start = tl.load(indptr + members, mask=is_member, other=0)
        stop = tl.load(indptr + members + 1, mask=is_member, other=0)
        totals = tl.load(sums + stop - 1, mask=is_member & (stop > start), other=0).to(tl.int64)
        running = tl.cumsum(totals, axis=1)
        total = tl.sum(totals, axis=1)
        alive = alive & (total > 0)
        node = tl.zeros_like(target) - 1
        waiting = alive
        trial = 0
        while (trial < TRIALS) & (tl.max(waiting.to(tl.int32)) > 0):
            counter = tl.zeros_like(target) + (step * (TRIALS + 1) + trial)
            point = tl.umulhi(_fold(stream, counter), total.to(tl.uint64)).to(tl.int64)
            index = tl.sum(((running <= point[:, None]) & (column < end)).to(tl.int64), axis=1)
            left = point - tl.sum(tl.where(column < index[:, None], totals, 0), axis=1)
            here = column == index[:, None]
            low = tl.sum(tl.where(here, start, 0), axis=1)
            high = tl.sum(tl.where(here, stop, 0), axis=1)
            edge = _first_above(sums, tl.where(waiting, low, 0), tl.where(waiting, high, 0), left)
            w = tl.load(indices + edge, mask=waiting, other=0).to(tl.int64)
            good = _is_candidate(indptr, indices, members, column, size, first, index, w, waiting, SYMMETRIC)
            node = tl.where(good, w, node)
            waiting = waiting & (good == 0)
            trial += 1
        if tl.max(waiting.to(tl.int32)) > 0:
            counter = tl.zeros_like(target) + (step * (TRIALS + 1) + TRIALS)
            value = _fold(stream, counter)
            arrays = (indptr, indices, sums, members)
            listed = _enumerate(*arrays, column, size, first, end, value, waiting, SYMMETRIC)
            node = tl.where(waiting, listed, node)
        alive = alive & (node >= 0)
        members = tl.where((column == size) & alive[:, None], node[:, None], members)
    rows = tl.where(members < 0, target[:, None], members)
    first = lane // batch_size * batch_size
    size = tl.minimum(count - first, batch_size)
    cell = first * (PICKS + 1) + (lane - first)
    tl.store(out + cell[:, None] + column * size[:, None], rows, mask=inside[:, None] & (column <= PICKS))


def pick(
    table: on_cpu.DevicePickTable,
    explore: int,
    targets: Tensor,
    picks: int,
    key: keys.Key,
    batch_size: int,
    out: Tensor,
) -> None:
    """Fill ``out`` [len(targets) · (1 + picks)] batch by batch, in each the targets first."""
    count, halves = targets.numel(), (_signed(key.value & 0xFFFFFFFF), _signed(key.value >> 32))
    names = targets if table.names is None else table.names[targets]
    width = triton.next_power_of_2(picks + 1)
    constants = {"PICKS": picks, "WIDTH": width, "SYMMETRIC": table.symmetric, "EXPLORE": explore}
    arrays = (table.indptr, table.indices, table.sums, targets, names, *halves, out)
    _pick[(triton.cdiv(count, LANES.value),)](*arrays, count, batch_size, **constants, num_warps=1)


def _signed(half: int) -> int:
    """Half a key as the 32-bit integer of the same bits."""
    return half - (1 << 32) if half >> 31 else half


@triton.jit
def _induce(indptr, indices, members, out, b, cells, SIZE: tl.constexpr, SYMMETRIC: tl.constexpr, LANES: tl.constexpr):
    cell = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = cell < cells
    row, j = cell // SIZE, cell % SIZE
    t = row % b
    target = tl.load(members + t, mask=inside, other=0).to(tl.int64)
    u = tl.load(members + row, mask=inside, other=0).to(tl.int64)
    w = tl.load(members + j * b + t, mask=inside, other=0).to(tl.int64)
    active = inside & ((j == 0) | (w != target))
    tl.store(out + cell, is_neighbour(indptr, indices, u, w, active, SYMMETRIC).to(tl.int8), mask=inside)


def induce(indptr: Tensor, indices: Tensor, symmetric: bool, members: Tensor, out: Tensor) -> None:
    """Fill ``out`` [s · b, s], int8, from [s, b] members: row i · b + t, column j is 1 if j is in N(i) in set t."""
    s, b = members.shape
    grid = (triton.cdiv(s * b * s, _LANES),)
    _induce[grid](indptr, indices, members, out, b, s * b * s, SIZE=s, SYMMETRIC=symmetric, LANES=_LANES)
